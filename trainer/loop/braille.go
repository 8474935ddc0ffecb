package loop

import (
	"fmt"
	"strings"
)

// Text draws the losses for a terminal in braille, which has two by four dots
// a character, with the largest and the smallest at its left.
func (c Curve) Text(width, height int) string {
	points := thin(c.Steps, 2*width)
	if len(points) == 0 || width < 1 || height < 1 {
		return ""
	}
	low, high := points[0].mean, points[0].mean
	for _, p := range points {
		low, high = min(low, p.mean), max(high, p.mean)
	}
	used := (len(points) + 1) / 2
	f := frame{y0: low, y1: high, height: float64(4*height - 1)}
	cells := make([][]rune, height)
	for i := range cells {
		cells[i] = []rune(strings.Repeat("\u2800", used))
	}
	for x, p := range points {
		y := int(f.y(p.mean) + 0.5)
		cells[y/4][x/2] |= dots[x%2][y%4]
	}
	label := func(i int) string {
		switch i {
		case 0:
			return fmt.Sprintf("%8.3g ", high)
		case height - 1:
			return fmt.Sprintf("%8.3g ", low)
		}
		return strings.Repeat(" ", 9)
	}
	var b strings.Builder
	for i, row := range cells {
		b.WriteString(strings.TrimRight(label(i)+string(row), " \u2800") + "\n")
	}
	first, last := fmt.Sprintf("step %d", c.Steps[0].Step), fmt.Sprint(c.Steps[len(c.Steps)-1].Step)
	fmt.Fprintf(&b, "%9s%s%*s\n", "", first, max(len(last)+1, used-len(first)), last)
	return b.String()
}

// dots are the bits of Unicode's braille patterns, by column and row.
var dots = [2][4]rune{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}
