// Package terminal is how the commands speak to whoever started them: text or
// JSON lines on stdout; progress, errors and logs on stderr.
package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// UI speaks for one invocation of a command.
type UI struct {
	// JSON prints messages as JSON lines instead of text.
	JSON bool
	// TTY says that a person watches stderr.
	TTY bool
	Log zerolog.Logger
	// GoOn is how to continue after an interruption, set once work started.
	GoOn string

	program   string
	level     string
	out, errw io.Writer
	line      bool      // a progress line stands unfinished on the terminal
	last      time.Time // when progress was last shown
}

// New makes the UI of a program.
func New(program string, out, errw io.Writer) *UI {
	u := &UI{program: program, out: out, errw: errw, Log: zerolog.Nop()}
	if f, ok := errw.(*os.File); ok {
		u.TTY = term.IsTerminal(int(f.Fd()))
	}
	return u
}

// AddFlags adds --json and --log-level.
func (u *UI) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&u.JSON, "json", false, "print one JSON object a line, each with a message_type")
	f.StringVar(&u.level, "log-level", "warn", "log to stderr from this level on: debug, info, warn, error")
}

// Setup applies the flags.
func (u *UI) Setup() error {
	level, err := zerolog.ParseLevel(u.level)
	if err != nil || u.level == "" {
		return Usagef("--log-level %s: want debug, info, warn or error", u.level)
	}
	w := u.errw
	if !u.JSON {
		w = zerolog.ConsoleWriter{Out: u.errw, NoColor: !u.TTY, TimeFormat: "15:04:05"}
	}
	u.Log = zerolog.New(w).Level(level).With().Timestamp().Logger()
	return nil
}

// Message prints v as a JSON line of the given type, or the text.
func (u *UI) Message(kind string, v any, text string) {
	if !u.JSON {
		u.clearLine()
		if text != "" {
			fmt.Fprint(u.out, text)
		}
		return
	}
	b, err := Typed(kind, v)
	if err != nil {
		u.Log.Error().Err(err).Str("message_type", kind).Msg("cannot encode a message")
		return
	}
	fmt.Fprintf(u.out, "%s\n", b)
}

// Typed is v's JSON object with its message_type first.
func Typed(kind string, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf(`{"message_type":%q`, kind)
	if rest := strings.TrimPrefix(string(b), "{"); rest != "}" {
		return []byte(head + "," + rest), nil
	}
	return []byte(head + "}"), nil
}

// Status shows progress: over the last line on a terminal, else as a line.
func (u *UI) Status(text string) {
	u.last = time.Now()
	if u.TTY {
		fmt.Fprintf(u.errw, "\r\x1b[K%s", text)
		u.line = true
		return
	}
	fmt.Fprintln(u.errw, text)
}

// StatusOften shows progress that comes faster than people read, a few times a
// second on a terminal, else every few seconds; the last of it surely.
func (u *UI) StatusOften(text string, last bool) {
	pause := 5 * time.Second
	if u.TTY {
		pause = 200 * time.Millisecond
	}
	if last || time.Since(u.last) >= pause {
		u.Status(text)
	}
}

func (u *UI) clearLine() {
	if u.line {
		fmt.Fprint(u.errw, "\r\x1b[K")
		u.line = false
	}
}

// Fail reports the error that ends the command.
func (u *UI) Fail(err error, hint string) {
	if u.JSON {
		u.Message("error", map[string]string{"error": err.Error(), "hint": hint}, "")
		return
	}
	u.clearLine()
	fmt.Fprintf(u.errw, "%s: %v\n", u.program, err)
	if hint != "" {
		fmt.Fprintf(u.errw, "%*s%s\n", len(u.program)+2, "", hint)
	}
}

// Interrupted says what became of the work: nothing if none was begun, else
// what is kept, and how to go on.
func (u *UI) Interrupted(nothing, kept string) {
	text := nothing
	if u.GoOn != "" {
		text = kept + "; to go on: " + u.GoOn
	}
	if u.JSON {
		u.Message("interrupted", map[string]string{"go_on": u.GoOn}, "")
		return
	}
	u.clearLine()
	fmt.Fprintf(u.errw, "interrupted: %s\n", text)
}
