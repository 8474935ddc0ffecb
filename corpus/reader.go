package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Options says how to read a corpus.
type Options struct {
	Format string // one of Formats; "" or "auto" detects it
}

// Reader reads a corpus record by record. It is not safe for concurrent use.
type Reader struct {
	name    string // of the corpus, for errors
	folder  string // to which audio paths are relative
	format  string
	records records
	closer  func() error
	err     error // what ended the reading
}

// records is a format being read. next returns io.EOF at the end and a
// *BadLine for a record that cannot be used; Reader fills in its id.
type records interface {
	next() (Line, error)
}

// Open opens a corpus: a file, a folder of wavs, or "-" for standard input.
func Open(path string, o Options) (*Reader, error) {
	format, err := formatName(o.Format)
	if err != nil {
		return nil, err
	}
	r := &Reader{name: path, folder: filepath.Dir(path), format: format}
	if err := r.open(path); err != nil {
		return nil, fmt.Errorf("corpus %s: %w", path, err)
	}
	return r, nil
}

func (r *Reader) open(path string) error {
	if path != "-" {
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("no such file or folder, check the path: %w", err)
		}
		if err != nil {
			return err
		}
		if info.IsDir() {
			return r.openFolder(path)
		}
	}
	if r.format == Wavs {
		return errors.New("format wavs wants a folder: give the folder that holds the wavs")
	}
	src, err := openSource(path)
	if err != nil {
		return err
	}
	if err := r.start(src); err != nil {
		return errors.Join(err, src.close())
	}
	return nil
}

// start detects the format of src, unless it is named, and reads its header.
func (r *Reader) start(src *source) error {
	head, err := src.head()
	if err != nil {
		return err
	}
	if err := refuseBinary(head); err != nil {
		return err
	}
	if r.format == "" {
		if r.format, err = detect(src.ext, head); err != nil {
			return err
		}
	}
	r.closer = src.close
	r.records, err = newRecords(r.format, &scanner{buf: src.buf})
	return err
}

func newRecords(format string, scan *scanner) (records, error) {
	switch format {
	case CSV:
		return newCSV(scan)
	case TSV:
		return newTSV(scan)
	case CommonVoice:
		return newCommonVoice(scan)
	case LJSpeech:
		return &lines{scan, parseLJSpeech}, nil
	case JSONL:
		return &lines{scan, parseJSON}, nil
	case NeMo:
		return &lines{scan, parseNeMo}, nil
	}
	return &lines{scan, parseTxt}, nil
}

// Next returns the next record, and io.EOF after the last one. A *BadLine is
// one record that cannot be used, and Next may be called again. Any other error
// ends the reading and says after which line.
func (r *Reader) Next() (Line, error) {
	if r.err != nil {
		return Line{}, r.err
	}
	l, err := r.records.next()
	if err == nil {
		err = r.finish(&l)
	}
	if err == nil {
		return l, nil
	}
	if bad, ok := errors.AsType[*BadLine](err); ok {
		if bad.ID == "" {
			bad.ID = l.ID
		}
		return Line{}, bad
	}
	if err != io.EOF {
		err = fmt.Errorf("corpus %s: %w", r.name, err)
	}
	r.err = err
	return Line{}, err
}

// finish does to a record what is the same for every format.
func (r *Reader) finish(l *Line) error {
	err := l.check()
	if err == nil && l.Text == "" && r.format != Wavs {
		err = reject(Empty, "the text is blank")
	}
	if bad, ok := err.(*BadLine); ok {
		bad.Number = l.Number
	}
	if l.Audio != "" && !filepath.IsAbs(l.Audio) {
		l.Audio = filepath.Join(r.folder, l.Audio)
	}
	return err
}

// Format is the format being read, named or detected.
func (r *Reader) Format() string { return r.format }

// Close closes the corpus. Standard input stays open.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	err := r.closer()
	r.closer = nil
	if err != nil {
		return fmt.Errorf("corpus %s: %w", r.name, err)
	}
	return nil
}

// lines makes a record of each physical line.
type lines struct {
	scan  *scanner
	parse func(raw []byte) (Line, error)
}

func (f *lines) next() (Line, error) {
	raw, err := f.scan.next()
	if err != nil {
		return Line{}, err
	}
	if raw.bad != nil {
		return Line{}, raw.bad
	}
	l, err := f.parse(raw.text)
	// What is wrong with the bytes says more than what it did to the parsing;
	// of the record only its id is still wanted.
	if unfit := vet(raw.text); unfit != nil {
		l, err = Line{ID: strings.ToValidUTF8(l.ID, "\uFFFD")}, unfit
	}
	return numbered(l, raw.number, err)
}

// numbered gives a record, good or bad, its line number.
func numbered(l Line, number int, err error) (Line, error) {
	l.Number = number
	if bad, ok := err.(*BadLine); ok {
		bad.Number = number
	}
	return l, err
}

func parseTxt(raw []byte) (Line, error) {
	return Line{Text: string(bytes.TrimSpace(raw))}, nil
}
