package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// wavTree walks a folder of wavs in the order of their paths. It holds the
// names of one folder a level, never the whole tree.
type wavTree struct {
	root   string
	levels []level
	found  string // the wav that next will return
	number int
	err    error // why found is not set
}

// level is a folder being walked, its names sorted, folders ending in "/".
type level struct {
	folder string // relative to the root, "" or ending in "/"
	names  []string
}

// openFolder starts on a folder of wavs.
func (r *Reader) openFolder(root string) error {
	switch _, err := os.Stat(filepath.Join(root, "metadata.csv")); {
	case r.format != "" && r.format != Wavs:
		return fmt.Errorf("a folder, and format %s wants a file: give the file inside it", r.format)
	case r.format == "" && err == nil:
		return errors.New("the folder holds metadata.csv: give that file for its texts, or use --format wavs to take the wavs without them")
	}
	t := &wavTree{root: root}
	if err := t.enter(""); err != nil {
		return err
	}
	t.advance()
	if t.err == io.EOF {
		return errors.New("no .wav in this folder or below it: give a folder of wavs or a corpus file")
	}
	if t.err != nil {
		return t.err
	}
	r.format, r.folder, r.records = Wavs, root, t
	return nil
}

func isWav(name string) bool { return strings.EqualFold(path.Ext(name), ".wav") }

// enter lists a folder. Only names are kept, read in portions, as there may be
// a million. Hidden ones are skipped: they are leftovers of other programs.
func (t *wavTree) enter(folder string) error {
	f, err := os.Open(filepath.Join(t.root, folder))
	if err != nil {
		return err
	}
	defer f.Close()
	var names []string
	for {
		entries, err := f.ReadDir(1024)
		for _, e := range entries {
			switch name := e.Name(); {
			case strings.HasPrefix(name, "."):
			case e.IsDir():
				names = append(names, name+"/")
			case isWav(name):
				names = append(names, name)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	slices.Sort(names) // with "/" after folders this is the order of whole paths
	t.levels = append(t.levels, level{folder, names})
	return nil
}

// advance sets found to the next wav, or err.
func (t *wavTree) advance() {
	for len(t.levels) > 0 {
		top := &t.levels[len(t.levels)-1]
		if len(top.names) == 0 {
			t.levels = t.levels[:len(t.levels)-1]
			continue
		}
		name := top.folder + top.names[0]
		top.names = top.names[1:]
		if !strings.HasSuffix(name, "/") {
			t.found = name
			return
		}
		if t.err = t.enter(name); t.err != nil {
			t.err = fmt.Errorf("stopped after wav %d: %w", t.number, t.err)
			return
		}
	}
	t.err = io.EOF
}

func (t *wavTree) next() (Line, error) {
	if t.err != nil {
		return Line{}, t.err
	}
	name := t.found
	t.number++
	t.advance()
	l := Line{ID: strings.TrimSuffix(name, path.Ext(name)), Audio: name}
	if !utf8.ValidString(name) {
		l.ID = strings.ToValidUTF8(l.ID, "\uFFFD")
		return numbered(l, t.number, reject(InvalidUTF8, "the file name %q is not UTF-8", name))
	}
	text, err := readText(filepath.Join(t.root, l.ID+".txt"))
	l.Text = text
	return numbered(l, t.number, err)
}

// readText reads the text beside a wav, "" when there is none.
func readText(name string) (string, error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", reject(Unreadable, "%v", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLine+1))
	if err != nil {
		return "", reject(Unreadable, "%v", err)
	}
	if len(text) > maxLine {
		return "", reject(TooLong, "%s has more than %d bytes", name, maxLine)
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	if len(text) == 0 {
		return "", nil
	}
	if err := vet(text); err != nil {
		return "", err
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n"), nil
}
