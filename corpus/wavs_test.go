package corpus

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folder makes files with their content below a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestWavs(t *testing.T) {
	root := folder(t, map[string]string{
		"b.wav": "", "b.txt": "\ufeff a text\r\nof two lines\r\n",
		"a/2.wav": "", "a/1.WAV": "", "a/1.txt": "one", "a.wav": "", "a-.wav": "", "a0.wav": "",
		"a/deep/er/x.wav": "", "empty/readme.txt": "", "c.txt": "no wav", "d.mp3": "", "d.txt": "",
		"e.wav": "", "e.txt": "\xff", "f.wav": "", "f.txt": strings.Repeat("x", maxLine+1),
		"g.wav": "", "g.txt": " \n", "h.wav": "", "h.txt": "\x00", "i.wav": "", "i.txt/x": "",
		" j .wav": "", "._b.wav": "", ".hidden/k.wav": "", "n\xff.wav": "", "metadata.csv": "",
	})
	r, lines, bad := readPath(t, root, Wavs)
	if r.Format() != Wavs {
		t.Error(r.Format())
	}
	want := []Line{
		{Number: 1, ID: " j ", Audio: " j .wav"},
		{Number: 2, ID: "a-", Audio: "a-.wav"},
		{Number: 3, ID: "a", Audio: "a.wav"},
		{Number: 4, ID: "a/1", Audio: "a/1.WAV", Text: "one"},
		{Number: 5, ID: "a/2", Audio: "a/2.wav"},
		{Number: 6, ID: "a/deep/er/x", Audio: "a/deep/er/x.wav"},
		{Number: 7, ID: "a0", Audio: "a0.wav"},
		{Number: 8, ID: "b", Audio: "b.wav", Text: "a text\nof two lines"},
		{Number: 11, ID: "g", Audio: "g.wav"},
	}
	for i := range want {
		want[i].Audio = root + "/" + want[i].Audio
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got %v\nwant %v", lines, want)
	}
	wantBad := []string{"9 invalid-utf8 e", "10 too-long f", "12 nul-byte h", "13 unreadable i", "14 invalid-utf8 n\uFFFD"}
	if !slices.Equal(bad, wantBad) {
		t.Errorf("got %q\nwant %q", bad, wantBad)
	}
}

func TestWavsSortedAsPaths(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"x", "x/y", "x-1", "x.1", "x0", "x/y/z", "X", "é"} {
		files[name+".wav"] = ""
	}
	_, lines, _ := readPath(t, folder(t, files), "")
	var got []string
	for _, l := range lines {
		got = append(got, l.Audio)
	}
	if len(got) != len(files) || !slices.IsSorted(got) {
		t.Errorf("got %v", got)
	}
}

func TestFolderRefused(t *testing.T) {
	tests := []struct {
		files        map[string]string
		format, want string
	}{
		{nil, "", "no .wav in this folder"},
		{map[string]string{"a/b/c.txt": ""}, Wavs, "no .wav in this folder"},
		{map[string]string{"a.wav": ""}, CSV, "format csv wants a file"},
		{map[string]string{"wavs/a.wav": "", "metadata.csv": ""}, "", "give that file for its texts"},
	}
	for _, tt := range tests {
		_, err := Open(folder(t, tt.files), Options{Format: tt.format})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}
