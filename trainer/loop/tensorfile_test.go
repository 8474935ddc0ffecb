package loop

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
)

func TestTensorsRoundTrip(t *testing.T) {
	var values []tensor
	for name, d := range fileTypes {
		x := tensors.FromShape(shapes.Make(d, 2, 3))
		if err := x.MutableBytes(func(b []byte) {
			for i := range b {
				b[i] = byte(i % 2)
			}
		}); err != nil {
			t.Fatal(err)
		}
		values = append(values, tensor{"/of/" + name, x})
	}
	values = append(values, tensor{"/scalar", tensors.FromScalar(int64(7))}, tensor{"/empty", tensors.FromShape(shapes.Make(dtypes.Float32, 0, 4))})
	path := t.TempDir() + "/x.safetensors"
	var b bytes.Buffer
	if err := writeTensors(&b, map[string]string{"a": "b"}, values); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, b.Bytes())
	f, err := openTensors(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if f.metadata["a"] != "b" || len(f.places) != len(values) {
		t.Errorf("metadata %v, %d tensors", f.metadata, len(f.places))
	}
	for _, v := range values {
		got, err := f.read(v.name)
		if err != nil || !got.Equal(v.value) {
			t.Errorf("%s: %v, want %v, error %v", v.name, got, v.value, err)
		}
	}
}

func FuzzReadHeader(f *testing.F) {
	var b bytes.Buffer
	if err := writeTensors(&b, map[string]string{"position": "{}"}, []tensor{{"/w", tensors.FromValue([]float32{1, 2})}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff{}"))
	f.Add([]byte("\x40\x00\x00\x00\x00\x00\x00\x00" + `{"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}} `))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, places, start, err := readHeader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for name, p := range places {
			if p.Offsets[0] < 0 || start+p.Offsets[1] > int64(len(b)) || int64(p.shape().ByteSize()) != p.Offsets[1]-p.Offsets[0] {
				t.Errorf("%q lies at %v in a file of %d bytes", name, p.Offsets, len(b))
			}
		}
	})
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

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
