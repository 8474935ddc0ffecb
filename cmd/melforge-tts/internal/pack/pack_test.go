package pack

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const goodConfig = `{"audio":{"sample_rate":22050},"espeak":{"voice":"en-gb"},"language":{"name_english":"English"},
"num_speakers":1,"phoneme_id_map":{"_":[0],"^":[1],"$":[2]," ":[3],"a":[4],"\n":[9]}}`

func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOpen(t *testing.T) {
	cache := t.TempDir()
	a := archive(t, map[string]string{"voice.onnx": "MODEL", "voice.json": goodConfig, "../../escape": "x"})
	want, err := Open(cache, "test", a)
	if err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile(want.Model)
	if err != nil || !bytes.HasPrefix(model, []byte("MODEL\x72")) || !bytes.Contains(model, []byte("\x0a\x0bsample_rate\x12\x0522050")) {
		t.Errorf("model %q, %v", model, err)
	}
	tokens, err := os.ReadFile(want.Tokens)
	if err != nil || string(tokens) != "_ 0\n^ 1\n$ 2\n  3\na 4\n" {
		t.Errorf("tokens %q, %v", tokens, err)
	}
	for what, damage := range map[string]func() error{
		"nothing":   func() error { return nil },
		"truncated": func() error { return os.Truncate(want.Model, 3) },
		"changed":   func() error { return os.WriteFile(want.Tokens, []byte("_ 1\n"), 0o644) },
		"no sums":   func() error { return os.Remove(filepath.Join(filepath.Dir(want.Model), sumsFile)) },
		"bad sums": func() error {
			return os.WriteFile(filepath.Join(filepath.Dir(want.Model), sumsFile), []byte("{"), 0o644)
		},
		"killed": func() error {
			return os.MkdirAll(filepath.Join(cache, ".tmp-"+filepath.Base(filepath.Dir(want.Model)), "x"), 0o755)
		},
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if what == "killed" {
			if err := os.Remove(want.Model); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := Open(cache, "test", a); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", what, got, err, want)
		}
	}
}

func TestOpenTogether(t *testing.T) {
	cache := t.TempDir()
	a := archive(t, map[string]string{"voice.onnx": strings.Repeat("M", 1<<20), "voice.json": goodConfig})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := Open(cache, "test", a); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestOpenRefuses(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"no file voice.onnx": {"voice.json": goodConfig},
		"voice.json":         {"voice.onnx": "M", "voice.json": "{"},
		"missing":            {"voice.onnx": "M", "voice.json": "{}"},
		"one number":         {"voice.onnx": "M", "voice.json": strings.Replace(goodConfig, "[4]", "[3]", 1)},
		"has 2 numbers":      {"voice.onnx": "M", "voice.json": strings.Replace(goodConfig, "[4]", "[4,5]", 1)},
	} {
		if _, err := Open(t.TempDir(), "test", archive(t, files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	if _, err := Open(t.TempDir(), "test", []byte("no archive")); err == nil {
		t.Error("garbage was unpacked")
	}
}
