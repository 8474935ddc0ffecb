package shards

import (
	"fmt"
	"slices"
)

// Keep makes the shard one of these rows alone, which are named in ascending
// order: a shard can be begun before it is known which of its clips pass. What
// Commit then makes is, to the last byte, what it would be had the others never
// been named. From then on Put counts these rows from 0; what was put of them
// before stays put. No Put may be under way.
//
// Rows move within the file, so that no more disk space is needed than for the
// shard as it was begun.
func (w *Writer) Keep(rows []int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if len(rows) == w.l.clips() {
		return nil
	}
	if err := w.keep(rows); err != nil {
		return w.fail(fmt.Errorf("leave out clips: %w", err))
	}
	return nil
}

func (w *Writer) keep(rows []int) error {
	l, err := w.l.only(rows)
	if err != nil {
		return err
	}
	h, err := newHead(&l)
	if err != nil {
		return err
	}
	taken, pad, sums := w.taken, w.pad, w.sums
	w.taken, w.pad, w.sums, w.written = make([]bool, len(rows)), make([]uint16, len(rows)), make([]uint32, len(rows)), 0
	var moves []move
	for i, row := range rows {
		if !taken[row] {
			continue
		}
		w.taken[i], w.pad[i], w.sums[i] = true, pad[row], sums[row]
		w.written++
		moves = append(moves, move{w.h.mel + w.l.at(row), h.mel + l.at(i), l.at(i+1) - l.at(i)})
	}
	if err := w.move(moves); err != nil {
		return err
	}
	w.l, w.h = l, h
	return h.write(w.f)
}

// only is the layout of some of the rows.
func (l *layout) only(rows []int) (layout, error) {
	some := layout{config: l.config, nMels: l.nMels, padded: l.padded}
	var frames []int
	last := -1
	for _, row := range rows {
		if row <= last || row >= l.clips() {
			return some, fmt.Errorf("row %d after row %d of %d", row, last, l.clips())
		}
		last = row
		some.keys, frames = append(some.keys, l.keys[row]), append(frames, l.frames(row))
		if l.padded > 0 {
			some.texts = append(some.texts, l.texts[row])
		}
	}
	return some, some.check(frames)
}

// move is a row's way within the file.
type move struct{ from, to, size int64 }

// move moves rows, none of which may overwrite one that is still to be moved.
// They close up, so that each goes further down than the one before it. Only
// where few frames are left can the head before them grow, for how libhdf5 aligns
// things; then the first ones go up.
func (w *Writer) move(moves []move) error {
	var row []byte
	do := func(m move) error {
		row = slices.Grow(row[:0], int(m.size))[:m.size]
		if _, err := w.f.ReadAt(row, m.from); err != nil {
			return err
		}
		_, err := w.f.WriteAt(row, m.to)
		return err
	}
	for i := len(moves) - 1; i >= 0; i-- {
		if m := moves[i]; m.to > m.from && m.size > 0 {
			if err := do(m); err != nil {
				return err
			}
		}
	}
	for _, m := range moves {
		if m.to < m.from && m.size > 0 {
			if err := do(m); err != nil {
				return err
			}
		}
	}
	return nil
}
