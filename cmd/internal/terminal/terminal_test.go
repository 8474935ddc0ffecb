package terminal

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newUI is a UI whose output can be looked at, after flags.
func newUI(t *testing.T, args ...string) (u *UI, out, errw *bytes.Buffer) {
	t.Helper()
	out, errw = new(bytes.Buffer), new(bytes.Buffer)
	u = New("prog", out, errw)
	f := pflag.NewFlagSet("prog", pflag.ContinueOnError)
	u.AddFlags(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return u, out, errw
}

func TestMessages(t *testing.T) {
	u, out, _ := newUI(t)
	u.Message("kind", struct{ A int }{3}, "a text\n")
	u, json, _ := newUI(t, "--json")
	u.Message("kind", struct{ A int }{3}, "a text\n")
	u.Message("empty", struct{}{}, "")
	u.Message("broken", func() {}, "")
	if out.String() != "a text\n" {
		t.Errorf("text: %q", out)
	}
	if want := `{"message_type":"kind","A":3}` + "\n" + `{"message_type":"empty"}` + "\n"; json.String() != want {
		t.Errorf("JSON: %q, want %q", json, want)
	}
}

func TestFailAndInterrupted(t *testing.T) {
	u, _, errw := newUI(t)
	u.Fail(errors.New("it broke"), "mend it")
	u.Interrupted("nothing was done", "all is kept")
	u.GoOn = "prog again"
	u.Interrupted("nothing was done", "all is kept")
	want := "prog: it broke\n      mend it\ninterrupted: nothing was done\ninterrupted: all is kept; to go on: prog again\n"
	if errw.String() != want {
		t.Errorf("%q, want %q", errw, want)
	}
	u, out, _ := newUI(t, "--json")
	u.Fail(errors.New("it broke"), "mend it")
	if want := `{"message_type":"error","error":"it broke","hint":"mend it"}` + "\n"; out.String() != want {
		t.Errorf("%q, want %q", out, want)
	}
}

func TestStatusOftenIsSeldom(t *testing.T) {
	u, _, errw := newUI(t)
	for range 1000 {
		u.StatusOften("working", false)
	}
	u.StatusOften("done", true)
	if lines := strings.Count(errw.String(), "\n"); lines >= 1000 || !strings.HasSuffix(errw.String(), "done\n") {
		t.Errorf("%d lines, the last: %q", lines, errw.String()[errw.Len()-8:])
	}
}

func TestLevels(t *testing.T) {
	for level, good := range map[string]bool{"debug": true, "error": true, "loud": false, "": false} {
		u, _, _ := newUI(t, "--log-level", level)
		var usage *Usage
		if err := u.Setup(); (err == nil) != good || err != nil && !errors.As(err, &usage) {
			t.Errorf("--log-level %q: %v", level, err)
		}
	}
}

func TestUsage(t *testing.T) {
	if Misuse(nil) != nil {
		t.Error("no error became one")
	}
	if err := Usagef("file: %w", fs.ErrNotExist); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v hides its cause", err)
	}
	c := &cobra.Command{Use: "do"}
	for n, want := range map[int]string{0: "name the thing", 1: "", 2: "one thing, not 2"} {
		err := OneArg("thing")(c, make([]string, n))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d arguments: %v, want %q", n, err, want)
		}
	}
}

func TestBuild(t *testing.T) {
	// A test's binary does not say which modules are in it.
	if b, _ := ReadBuild("github.com/spf13/cobra"); b.Version != Release || b.Go == "" || b.Dataset < 1 {
		t.Errorf("%+v", b)
	}
}
