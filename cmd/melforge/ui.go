package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rs/zerolog"
	"golang.org/x/term"
)

// ui speaks to the person or the program that started the tool: text or JSON
// lines on stdout, progress and errors on stderr, logs on stderr.
type ui struct {
	json  bool
	level string
	out   io.Writer
	errw  io.Writer
	tty   bool
	log   zerolog.Logger
	// goOn is how to continue after an interruption, set once work started.
	goOn string
	line bool // a progress line stands unfinished on the terminal
}

func newUI(out, errw io.Writer) *ui {
	u := &ui{out: out, errw: errw, log: zerolog.Nop()}
	if f, ok := errw.(*os.File); ok {
		u.tty = term.IsTerminal(int(f.Fd()))
	}
	return u
}

// setup applies the flags.
func (u *ui) setup() error {
	level, err := zerolog.ParseLevel(u.level)
	if err != nil || u.level == "" {
		return usagef("--log-level %s: want debug, info, warn or error", u.level)
	}
	w := u.errw
	if !u.json {
		w = zerolog.ConsoleWriter{Out: u.errw, NoColor: !u.tty, TimeFormat: "15:04:05"}
	}
	u.log = zerolog.New(w).Level(level).With().Timestamp().Logger()
	return nil
}

// message prints v as a JSON line of the given type, or the text.
func (u *ui) message(kind string, v any, text string) {
	if !u.json {
		u.clearLine()
		if text != "" {
			fmt.Fprint(u.out, text)
		}
		return
	}
	b, err := typed(kind, v)
	if err != nil {
		u.log.Error().Err(err).Str("message_type", kind).Msg("cannot encode a message")
		return
	}
	fmt.Fprintf(u.out, "%s\n", b)
}

// typed is v's JSON object with its message_type first.
func typed(kind string, v any) ([]byte, error) {
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

// status shows progress: over the last line on a terminal, else as a line.
func (u *ui) status(text string) {
	if u.tty {
		fmt.Fprintf(u.errw, "\r\x1b[K%s", text)
		u.line = true
		return
	}
	fmt.Fprintln(u.errw, text)
}

func (u *ui) clearLine() {
	if u.line {
		fmt.Fprint(u.errw, "\r\x1b[K")
		u.line = false
	}
}

// fail reports the error that ends the command.
func (u *ui) fail(err error, hint string) {
	if u.json {
		u.message("error", map[string]string{"error": err.Error(), "hint": hint}, "")
		return
	}
	u.clearLine()
	fmt.Fprintf(u.errw, "melforge: %v\n", err)
	if hint != "" {
		fmt.Fprintf(u.errw, "          %s\n", hint)
	}
}

func (u *ui) interrupted() {
	text := "nothing was begun"
	if u.goOn != "" {
		text = "what is complete is kept; to go on: " + u.goOn
	}
	if u.json {
		u.message("interrupted", map[string]string{"go_on": u.goOn}, "")
		return
	}
	u.clearLine()
	fmt.Fprintf(u.errw, "interrupted: %s\n", text)
}
