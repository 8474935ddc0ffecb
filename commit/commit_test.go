package commit

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	var points []string
	OnReach(func(p string) { points = append(points, p) })
	defer OnReach(nil)
	for _, want := range []string{"first", "second"} {
		err := File("test", path, func(w io.Writer) error {
			_, err := io.WriteString(w, want)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	once := []string{"test.before-rename", "test.after-rename"}
	if want := slices.Concat(once, once); !slices.Equal(points, want) {
		t.Errorf("reached %q, want %q", points, want)
	}
	only(t, dir, "a.json")
}

func TestFileKeepsTheOldOneOnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := File("test", path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half of the ne")
		return boom
	})
	if !errors.Is(err, boom) {
		t.Errorf("error %v, want %v", err, boom)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the old file became %q", got)
	}
	only(t, dir, "a")
}

func TestTemp(t *testing.T) {
	tmp := Temp("/x/y/z.h5")
	if filepath.Dir(tmp) != "/x/y" {
		t.Errorf("%s is not beside its target", tmp)
	}
	if !IsTemp(tmp) || IsTemp("/x/y/z.h5") {
		t.Error("IsTemp does not tell them apart")
	}
}

// only wants exactly these names in dir: nothing temporary may stay behind.
func only(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("folder holds %q, want %q", got, want)
	}
}
