package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
)

// The tests run the real tool: this test binary, started as melforge.
const asTool = "MELFORGE_TEST_AS_TOOL"

func TestMain(m *testing.M) {
	if os.Getenv(asTool) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// tool prepares the tool with arguments; env adds to the environment.
func tool(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), asTool+"=1"), env...)
	return cmd
}

// outcome is what a run of the tool gave.
type outcome struct {
	code        int
	out, stderr string
}

func run(t testing.TB, args ...string) outcome { return runEnv(t, nil, args...) }

func runEnv(t testing.TB, env []string, args ...string) outcome {
	t.Helper()
	cmd := tool(env, args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}

// ok runs the tool and wants success.
func ok(t testing.TB, args ...string) string {
	t.Helper()
	o := run(t, args...)
	if o.code != exitDone {
		t.Fatalf("melforge %s: exit %d\n%s%s", strings.Join(args, " "), o.code, o.out, o.stderr)
	}
	return o.out
}

func needEspeak(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("espeak-ng"); err != nil {
		t.Skip("espeak-ng is not installed: make setup installs it")
	}
}

// speak are the arguments of a run with the fast voice.
func speak(corpus, dir string, more ...string) []string {
	return append([]string{"run", corpus, "--out", dir, "--voice", "espeak/en-us"}, more...)
}

// lines makes n different texts.
func lines(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("Sentence number %d of the test.", i+1)
	}
	return out
}

func corpusFile(t testing.TB, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// tree reads every file of the dataset in dir. The folder of work in progress
// is not part of it, nor is anything that dataset.json does not name.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			if rel == ".melforge" {
				return filepath.SkipDir
			}
			return nil
		}
		b, err := os.ReadFile(path)
		files[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sameTree wants two datasets to be equal to the byte.
func sameTree(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for name := range want {
		switch b, ok := got[name]; {
		case !ok:
			t.Errorf("%s: %s is missing", what, name)
		case b != want[name]:
			t.Errorf("%s: %s differs", what, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is too much", what, name)
		}
	}
}

func load(t testing.TB, dir string) *manifests.Dataset {
	t.Helper()
	d, err := datasets.At(dir).MustLoad()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func entries(t testing.TB, dir string) []manifests.Entry {
	t.Helper()
	var out []manifests.Entry
	for e, err := range datasets.At(dir).Entries(load(t, dir)) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func rejects(t testing.TB, dir string) []manifests.Reject {
	t.Helper()
	var out []manifests.Reject
	for r, err := range datasets.At(dir).Rejects(load(t, dir)) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// messages decodes --json output by message type, the last of each.
func messages(t testing.TB, out string) map[string]map[string]any {
	t.Helper()
	got := map[string]map[string]any{}
	for l := range strings.Lines(out) {
		var m map[string]any
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			t.Fatalf("not a JSON line: %q: %v", l, err)
		}
		kind, _ := m["message_type"].(string)
		if kind == "" {
			t.Fatalf("no message_type: %q", l)
		}
		got[kind] = m
	}
	return got
}

// smallDisk is a real file system that is soon full.
func smallDisk(t testing.TB) string {
	t.Helper()
	mnt := t.TempDir()
	if err := syscall.Mount("tmpfs", mnt, "tmpfs", 0, "size=700k"); err != nil {
		t.Skipf("cannot mount a small file system (%v): run as root", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mnt, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return mnt
}
