package loop

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
)

// Curve is the course of a run, to be drawn.
type Curve struct {
	Title       string
	Steps       []Step
	Evaluations []Evaluation
	// Facts are shown beside it, a name and a value each.
	Facts [][2]string
}

// columns is how many points of a curve are drawn: more cannot be seen.
const columns = 640

// point is a mean over neighbouring steps, with the least and the most of them.
type point struct{ x, low, mean, high float64 }

// thin gives at most n points of the losses.
func thin(steps []Step, n int) []point {
	if len(steps) == 0 {
		return nil
	}
	n = min(n, len(steps))
	points := make([]point, n)
	for i := range points {
		part := steps[i*len(steps)/n : (i+1)*len(steps)/n]
		p := point{low: math.Inf(1), high: math.Inf(-1)}
		for _, s := range part {
			p.x += float64(s.Step) / float64(len(part))
			p.mean += s.Loss / float64(len(part))
			p.low, p.high = min(p.low, s.Loss), max(p.high, s.Loss)
		}
		points[i] = p
	}
	return points
}

// frame maps values to a picture of the given size.
type frame struct {
	x0, x1, y0, y1           float64 // the values at its edges
	left, top, width, height float64
}

func (f frame) x(v float64) float64 { return f.left + f.width*(v-f.x0)/max(f.x1-f.x0, 1e-12) }
func (f frame) y(v float64) float64 {
	return f.top + f.height*(1-(v-f.y0)/max(f.y1-f.y0, 1e-12))
}

// page is what the template shows.
type page struct {
	Curve
	Line, Band     string
	Marks          []mark
	XTicks, YTicks []mark
	Width, Height  int
}

type mark struct {
	X, Y  float64
	Label string
}

// WriteHTML draws the curve as a page of its own: no script, nothing to fetch.
func (c Curve) WriteHTML(w io.Writer) error {
	points := thin(c.Steps, columns)
	f := frame{left: 64, top: 16, width: 800, height: 320}
	p := page{Curve: c, Width: 900, Height: 380}
	if len(points) > 0 {
		f.x0, f.x1 = points[0].x, points[len(points)-1].x
		for _, q := range points {
			f.y1 = max(f.y1, q.high)
		}
		p.draw(f, points)
	}
	return pageTemplate.Execute(w, p)
}

func (p *page) draw(f frame, points []point) {
	var line, upper, lower strings.Builder
	for i, q := range points {
		fmt.Fprintf(&line, "%.1f,%.1f ", f.x(q.x), f.y(q.mean))
		fmt.Fprintf(&upper, "%.1f,%.1f ", f.x(q.x), f.y(q.high))
		back := points[len(points)-1-i]
		fmt.Fprintf(&lower, "%.1f,%.1f ", f.x(back.x), f.y(back.low))
	}
	p.Line, p.Band = line.String(), upper.String()+lower.String()
	for i := range 5 {
		part := float64(i) / 4
		x, y := f.x0+part*(f.x1-f.x0), f.y0+part*(f.y1-f.y0)
		p.XTicks = append(p.XTicks, mark{X: f.x(x), Y: f.top + f.height + 20, Label: fmt.Sprintf("%.0f", x)})
		p.YTicks = append(p.YTicks, mark{X: f.left - 8, Y: f.y(y), Label: fmt.Sprintf("%.3g", y)})
	}
	// Evaluations are drawn from 0 at the bottom to 1 at the top.
	rates := f
	rates.y0, rates.y1 = 0, 1
	for _, e := range p.Evaluations {
		label := fmt.Sprintf("step %d: %s %.4g", e.Step, e.Name, e.Value)
		p.Marks = append(p.Marks, mark{X: f.x(float64(e.Step)), Y: rates.y(min(1, max(0, e.Value))), Label: label})
	}
}

var pageTemplate = template.Must(template.New("curve").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Title}}</title>
<style>
body{font:14px/1.5 system-ui,sans-serif;max-width:920px;margin:2em auto;padding:0 1em;color:#222;background:#fff}
svg text{font-size:12px;fill:#555}td{padding:.1em 1.5em .1em 0}td+td{font-variant-numeric:tabular-nums}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}svg text{fill:#aaa}}
</style></head><body>
<h1>{{.Title}}</h1>
<svg viewBox="0 0 {{.Width}} {{.Height}}" role="img" aria-label="loss by step">
{{range .YTicks}}<line x1="64" x2="864" y1="{{.Y}}" y2="{{.Y}}" stroke="#8884" /><text x="{{.X}}" y="{{.Y}}" dy="4" text-anchor="end">{{.Label}}</text>
{{end}}{{range .XTicks}}<text x="{{.X}}" y="{{.Y}}" text-anchor="middle">{{.Label}}</text>
{{end}}<polygon points="{{.Band}}" fill="#3b82f633" />
<polyline points="{{.Line}}" fill="none" stroke="#3b82f6" stroke-width="1.5" />
{{range .Marks}}<circle cx="{{.X}}" cy="{{.Y}}" r="4" fill="#f59e0b"><title>{{.Label}}</title></circle>
{{end}}<text x="464" y="376" text-anchor="middle">step</text>
</svg>
<p>Blue: loss, with its least and most between drawn points.{{if .Marks}} Orange: evaluations, 0 at the bottom and 1 at the top.{{end}}</p>
<table>{{range .Facts}}<tr><td>{{index . 0}}</td><td>{{index . 1}}</td></tr>
{{end}}</table>
</body></html>
`))
