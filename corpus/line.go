package corpus

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Line is one usable record of a corpus.
type Line struct {
	Number int    // physical line where the record starts, from 1; for wavs the position in the folder
	ID     string // as given; "" when the corpus has none
	Text   string // as given, trimmed; "" only for a wav without a .txt beside it
	Lang   string
	Voice  string
	Speed  float64 // a factor, 1 is normal; 0 when not given
	Pitch  float64 // semitones; 0 when not given
	Audio  string  // path of the wav that goes with it, "" if none; nobody looked whether it exists
}

// The reasons of a BadLine. They are stable: reports and scripts count them.
const (
	Empty       = "empty"          // a blank line, or a record with a blank text
	TooLong     = "too-long"       // a physical line above 1 MiB
	InvalidUTF8 = "invalid-utf8"   // not UTF-8
	NulByte     = "nul-byte"       // a NUL in one of the fields
	BadCSV      = "bad-csv"        // quotes that do not follow RFC 4180
	BadJSON     = "bad-json"       // not a JSON object, or a field of the wrong type
	FieldCount  = "field-count"    // more or fewer fields than the header or the format has
	NoText      = "no-text-field"  // an object without a text
	NoAudio     = "no-audio-field" // a NeMo object without audio_filepath
	BadNumber   = "bad-number"     // a speed or pitch that is no usable number
	Unreadable  = "unreadable"     // the .txt beside a wav cannot be read
)

// BadLine is the error for one record that cannot be used. Reading goes on
// after it.
type BadLine struct {
	Number int    // as in Line
	ID     string // "" when the record has none or was not understood that far
	Reason string // one of the constants above
	Detail string // for people
}

// Error names the line, its id, the reason and the detail.
func (b *BadLine) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "line %d", b.Number)
	if b.ID != "" {
		fmt.Fprintf(&s, " (%s)", b.ID)
	}
	fmt.Fprintf(&s, ": %s", b.Reason)
	if b.Detail != "" {
		fmt.Fprintf(&s, ": %s", b.Detail)
	}
	return s.String()
}

// reject is a BadLine whose number and id the caller knows.
func reject(reason, detail string, args ...any) *BadLine {
	return &BadLine{Reason: reason, Detail: fmt.Sprintf(detail, args...)}
}

// setNumbers fills in the speed and pitch from their spelling, "" being none.
func (l *Line) setNumbers(speed, pitch string) error {
	var err error
	if l.Speed, err = parseNumber("speed", speed); err != nil {
		return err
	}
	// Zero would read as "not given", and no voice speaks backwards.
	if l.Speed < 0 || l.Speed == 0 && speed != "" {
		return reject(BadNumber, "speed %.40q is not above 0", speed)
	}
	l.Pitch, err = parseNumber("pitch", pitch)
	return err
}

func parseNumber(name, s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, reject(BadNumber, "%s %.40q is not a number", name, s)
	}
	return v, nil
}

// check refuses NULs here rather than in the raw line, because JSON can spell
// them as an escape.
func (l *Line) check() error {
	for _, s := range [...]string{l.Text, l.ID, l.Lang, l.Voice, l.Audio} {
		if strings.IndexByte(s, 0) >= 0 {
			return reject(NulByte, "a field holds a NUL byte")
		}
	}
	return nil
}
