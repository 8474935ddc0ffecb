package loop

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/melforge/melforge/trainer/safetensors"
)

// writeTensors writes a file of the values and opens it.
func writeTensors(t *testing.T, values map[string]*tensors.Tensor) *safetensors.File {
	t.Helper()
	var sources []safetensors.Source
	for name, value := range values {
		s, err := source(name, value)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, s)
	}
	var b bytes.Buffer
	if err := safetensors.Write(&b, nil, sources); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.NewFile("x", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTensorsRoundTrip(t *testing.T) {
	values := map[string]*tensors.Tensor{
		"/scalar": tensors.FromScalar(int64(7)), "/empty": tensors.FromShape(shapes.Make(dtypes.Float32, 0, 4)),
		"/last/empty": tensors.FromShape(shapes.Make(dtypes.Float32, 4, 0)),
	}
	for kind, d := range fileTypes {
		x := tensors.FromShape(shapes.Make(d, 2, 3))
		if err := x.MutableBytes(func(b []byte) {
			for i := range b {
				b[i] = byte(i % 2)
			}
		}); err != nil {
			t.Fatal(err)
		}
		values["/of/"+string(kind)] = x
	}
	f := writeTensors(t, values)
	if len(f.Names()) != len(values) {
		t.Errorf("%d tensors of %d", len(f.Names()), len(values))
	}
	for name, want := range values {
		got, err := readValue(f, name)
		if err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, want %v, error %v", name, got, want, err)
		}
	}
}

func TestTypesThatCannotBeSaved(t *testing.T) {
	_, err := source("/w", tensors.FromShape(shapes.Make(dtypes.Complex64, 2)))
	if err == nil || !strings.Contains(err.Error(), "variable /w: type Complex64 cannot be saved") {
		t.Errorf("error %v", err)
	}
	header := `{"/w":{"dtype":"C64","shape":[0],"data_offsets":[0,0]}}`
	data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	f, err := safetensors.NewFile("x", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readValue(f, "/w"); err == nil || err.Error() != `x: variable /w: unknown type "C64"` {
		t.Errorf("error %v", err)
	}
}

func TestCurve(t *testing.T) {
	c := Curve{Title: `a <b> & "c"`, Facts: [][2]string{{"samples/s", "12"}}}
	if c.Text(40, 6) != "" {
		t.Error("an empty curve was drawn")
	}
	for i := range 2000 {
		c.Steps = append(c.Steps, Step{Step: i + 1, Loss: 5 / float64(i/100+1)})
	}
	c.Evaluations = []Evaluation{{Step: 1000, Name: "wer", Value: 0.25}}
	var b bytes.Buffer
	if err := c.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	for _, want := range []string{"<svg", "<polyline points=", "step 1000: wer 0.25", "a &lt;b&gt; &amp;", "samples/s"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"http://", "https://", "<script", "NaN", "ZgotmplZ"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	text := c.Text(40, 6)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) != 7 || !strings.HasPrefix(lines[0], "       5 ") || !strings.Contains(lines[6], "2000") {
		t.Errorf("drawn:\n%s", text)
	}
	// The first step is at the top left, the last at the bottom right.
	if first := []rune(lines[0])[9]; first&(dots[0][0]|dots[1][0]) == 0 {
		t.Errorf("no dot at the top left:\n%s", text)
	}
	if last := []rune(lines[5]); last[len(last)-1]&(dots[0][3]|dots[1][3]) == 0 || len(last) != 9+40 {
		t.Errorf("no dot at the bottom right:\n%s", text)
	}
}

func TestThinKeepsExtremes(t *testing.T) {
	steps := make([]Step, 10000)
	for i := range steps {
		steps[i] = Step{Step: i + 1, Loss: 1}
	}
	steps[777].Loss = 9
	most := 0.0
	for _, p := range thin(steps, 100) {
		most = max(most, p.high)
	}
	if most != 9 {
		t.Errorf("the peak of 9 became %v", most)
	}
}
