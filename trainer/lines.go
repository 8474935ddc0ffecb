package trainer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/melforge/melforge/manifests"
)

// lines is the manifest: the text of the file, and where in it and in the
// shards each clip is. Decoded, the lines of ten million clips would take ten
// gigabytes, and each rank on a machine would have its own; so a line is decoded
// when somebody asks for it.
type lines struct {
	m      *mapping
	places []place
}

// place is where a clip is.
type place struct {
	line               int64 // first byte of its line
	shard, row, frames int32
}

// readLines reads the manifest and checks it against its record.
func readLines(path string, want manifests.File, shards []manifests.Shard) (*lines, error) {
	m, err := mapFile(path, want.Bytes)
	if err != nil {
		return nil, fmt.Errorf("manifest %w", err)
	}
	l := &lines{m: m}
	if err := l.load(want, shards); err != nil {
		return nil, fmt.Errorf("manifest %w", errors.Join(err, m.close()))
	}
	return l, nil
}

func (l *lines) load(want manifests.File, shards []manifests.Shard) error {
	var sum string
	var parts []span
	err := l.m.read(func(text []byte) {
		sum, parts = checksum(text), divide(text, runtime.GOMAXPROCS(0))
	})
	if err != nil {
		return err
	}
	if sum != want.CRC32C {
		return fmt.Errorf("%s: crc32c %s, want %s: damaged or replaced; run the command that made the dataset again", l.m.path, sum, want.CRC32C)
	}
	numbers := make(map[string]int32, len(shards))
	for i, s := range shards {
		numbers[s.File] = int32(i)
	}
	found, errs := make([][]place, len(parts)), make([]error, len(parts))
	parallel(len(parts), func(i int) {
		err := l.m.read(func(text []byte) { found[i], errs[i] = scan(text, parts[i], numbers, shards) })
		if errs[i] = cmp.Or(err, errs[i]); errs[i] != nil {
			errs[i] = fmt.Errorf("%s: %w", l.m.path, errs[i])
		}
	})
	l.places = slices.Concat(found...)
	return errors.Join(errs...)
}

// checksum is written as in dataset.json.
func checksum(data []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// span is a part of the text from whole line to whole line.
type span struct{ first, end int }

// divide cuts text into at most n parts.
func divide(text []byte, n int) []span {
	var parts []span
	for first := 0; first < len(text); {
		end := min(first+len(text)/n, len(text)-1)
		end += len(lineAt(text, end)) + 1
		parts = append(parts, span{first, min(end, len(text))})
		first = end
	}
	return parts
}

// lineAt is the rest of a line from a byte on, without its end.
func lineAt(text []byte, first int) []byte {
	line, _, _ := bytes.Cut(text[first:], []byte{'\n'})
	return line
}

// scan finds the clips in a part of the text; lines without a mel are left out.
func scan(text []byte, s span, numbers map[string]int32, shards []manifests.Shard) ([]place, error) {
	var places []place
	for first := s.first; first < s.end; {
		e, err := decode(text, int64(first))
		if err != nil {
			return nil, err
		}
		if e.HasMel() {
			n, ok := numbers[e.Shard]
			if !ok {
				return nil, fmt.Errorf("the line at byte %d: dataset.json does not name its shard %s", first, e.Shard)
			}
			if e.Index < 0 || e.Index >= shards[n].Clips || e.Frames < 0 || int64(e.Frames) > min(shards[n].Frames, 1<<30) {
				return nil, fmt.Errorf("the line at byte %d: no row %d with %d frames in %s", first, e.Index, e.Frames, e.Shard)
			}
			places = append(places, place{int64(first), n, int32(e.Index), int32(e.Frames)})
		}
		first += len(lineAt(text, first)) + 1
	}
	return places, nil
}

// decode reads the line that begins at a byte.
func decode(text []byte, first int64) (e manifests.Entry, err error) {
	err = json.Unmarshal(lineAt(text, int(first)), &e)
	if err == nil && (e.ID == "" || e.Key.IsZero()) {
		err = errors.New("no id or no key")
	}
	if err != nil {
		return e, fmt.Errorf("the line at byte %d: %w", first, err)
	}
	return e, nil
}

// clip decodes the line of a clip.
func (l *lines) clip(i int) (Clip, error) {
	var e manifests.Entry
	var err error
	fault := l.m.read(func(text []byte) { e, err = decode(text, l.places[i].line) })
	if err = cmp.Or(fault, err); err != nil {
		return Clip{}, fmt.Errorf("manifest %s: %w", l.m.path, err)
	}
	return newClip(&e, i), nil
}

// keep leaves out the clips for which wanted is false.
func (l *lines) keep(wanted func(i int, p place) bool) {
	var kept []place
	for i, p := range l.places {
		if wanted(i, p) {
			kept = append(kept, p)
		}
	}
	l.places = kept
}

// parallel calls do for 0 to n-1, on all processors.
func parallel(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
