package pack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/melforge/melforge/tts/wire"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAddFile(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	path := write(t, filepath.Join(dir, "en_GB my voice!.onnx"), "MODEL")
	write(t, path+".json", goodConfig)
	name, err := AddFile(cache, path)
	if err != nil || !strings.HasPrefix(name, "en_GB-my-voice--") {
		t.Fatalf("AddFile = %q, %v", name, err)
	}
	v, err := Added(cache, name)
	if err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile(v.Model)
	if err != nil || !bytes.HasPrefix(model, []byte("MODEL\x72")) {
		t.Errorf("model %q, %v", model, err)
	}
	info, err := os.ReadFile(filepath.Join(cache, wire.VoicesDir, name, wire.InfoFile))
	if err != nil || !strings.Contains(string(info), `"lang": "en-gb"`) {
		t.Errorf("info %s, %v", info, err)
	}
	// Elsewhere, with the other name for the description: the same voice.
	moved := write(t, filepath.Join(t.TempDir(), "en_GB my voice!.onnx"), "MODEL")
	write(t, strings.TrimSuffix(moved, ".onnx")+".json", goodConfig)
	if again, err := AddFile(t.TempDir(), moved); err != nil || again != name {
		t.Errorf("elsewhere it is %q, %v; want %q", again, err, name)
	}
	// Other content, other voice; one that is prepared stays as it is.
	ready := "MODEL" + string(config{}.metadata())
	write(t, path, ready)
	other, err := AddFile(cache, path)
	if err != nil || other == name {
		t.Fatalf("another model: %q, %v", other, err)
	}
	if v, err = Added(cache, other); err != nil {
		t.Fatal(err)
	}
	if model, err := os.ReadFile(v.Model); err != nil || string(model) != ready {
		t.Errorf("a prepared model became %q, %v", model, err)
	}
	if err := os.Truncate(v.Model, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := Added(cache, other); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("damaged: %v", err)
	}
}

func TestAddFileRefuses(t *testing.T) {
	for want, text := range map[string]string{
		"needs its description": "", "missing": "{}", "x.onnx.json": "{",
		"only voices with espeak": strings.Replace(goodConfig, `"num_speakers"`, `"phoneme_type":"text","num_speakers"`, 1),
	} {
		path := write(t, filepath.Join(t.TempDir(), "x.onnx"), "M")
		if text != "" {
			write(t, path+".json", text)
		}
		if _, err := AddFile(t.TempDir(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	for _, name := range []string{"", "..", "../jenny", "a/b", ".x", "none"} {
		if _, err := Added(t.TempDir(), name); err == nil {
			t.Errorf("voice %q is there", name)
		}
	}
}

func tgz(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
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
	return write(t, filepath.Join(t.TempDir(), "p.tgz"), b.String())
}

func TestExtract(t *testing.T) {
	hash := func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }
	path := tgz(t, map[string]string{"package/a": "0123456789", "package/b": "whole", "../c": "x"})
	got, err := extract(path, []piece{{"package/a", 2, 5, hash("234")}, {"package/b", 0, 0, hash("whole")}, {"package/a", 5, 10, hash("56789")}})
	if err != nil || string(got[0]) != "234" || string(got[1]) != "whole" || string(got[2]) != "56789" {
		t.Errorf("%q, %v", got, err)
	}
	for _, p := range []piece{{"package/a", 2, 5, hash("other")}, {"package/a", 2, 11, hash("")}, {"package/none", 0, 0, hash("x")}} {
		if _, err := extract(path, []piece{p}); err == nil {
			t.Errorf("%+v was found", p)
		}
	}
	if _, err := extract(write(t, filepath.Join(t.TempDir(), "x"), "no gzip"), nil); err == nil {
		t.Error("garbage was unpacked")
	}
	for _, name := range []string{"libritts", EarName, "nobody"} {
		for _, file := range []string{"", path} {
			cache := t.TempDir()
			if err := AddPackage(cache, name, file); err == nil {
				t.Errorf("%s came out of %q", name, file)
			}
			if left, _ := filepath.Glob(filepath.Join(cache, "*", "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		}
	}
}

func TestVocabulary(t *testing.T) {
	literal := base64.StdEncoding.EncodeToString([]byte("<unk>\n<s>\n</s>\n<0x41>\n▁the"))
	b, err := vocabulary([]byte(`var x="abc",v="` + literal + `",y=1`))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	at := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	if len(lines) != moonshineTokens || lines[0] != at("<unk>")+" 0" || lines[3] != at("A")+" 3" || lines[4] != at("▁the")+" 4" {
		t.Errorf("%d lines, %q", len(lines), lines[:5])
	}
	for _, bad := range []string{"", "no literal", literal, `"` + literal[:len(literal)-3] + `"`} {
		if _, err := vocabulary([]byte(bad)); err == nil {
			t.Errorf("%.20q has a vocabulary", bad)
		}
	}
}
