package trainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"
)

// LoaderOptions say what batches a Loader gives. Only Batch has no default.
type LoaderOptions struct {
	// Batch is the clips in a batch of one rank.
	Batch int
	// Seed, Sequential and Buckets decide the order: see Order.
	Seed       int64
	Sequential bool
	Buckets    int
	// Rank is which of World processes this is; World 0 is 1.
	Rank, World int
	// DropLast leaves out the last clips of an epoch, too few for a whole step of
	// all ranks. Otherwise they are divided evenly: some batches are smaller.
	DropLast bool
	// Frames is the width of batches: Mel().PaddedFrames() for the reference's
	// arrays. 0: as wide as the longest clip of the batch, rounded up to Multiple.
	Frames, Multiple int
	// Half gives FP16 bits instead of float32.
	Half bool
	// Augment masks the clips; nil: not.
	Augment *SpecAugment
	// Prepare runs in a worker on each batch when its array is complete, for
	// what else a step needs, such as labels: it leaves that in Value.
	Prepare func(*Batch) error
	// Prefetch is the bytes of batches that are read ahead; 0: 256 MiB. One batch
	// is, however large.
	Prefetch int
	// Workers read at the same time; 0: as many as processors, up to four. They
	// change nothing but speed.
	Workers int
	// Alloc gives the memory of batches, for example page-locked for a GPU, aligned
	// to 4 bytes; nil: ordinary memory. Memory is reused and goes to Free, which
	// may be nil, at the end. Calls come one at a time.
	Alloc func(bytes int) ([]byte, error)
	Free  func([]byte)
	// Fixed does not look for a grown dataset after each epoch. Nor does a Loader
	// that is one of several ranks, as they could see different versions: there
	// call Refresh in all of them between epochs.
	Fixed bool
}

func (o *LoaderOptions) complete() error {
	o.World = max(o.World, 1)
	o.Multiple = max(o.Multiple, 1)
	if o.Prefetch == 0 {
		o.Prefetch = 256 << 20
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), 4)
	}
	switch {
	case o.Batch < 1:
		return fmt.Errorf("a batch of %d clips: want 1 or more", o.Batch)
	case o.Rank < 0 || o.Rank >= o.World:
		return fmt.Errorf("rank %d of %d: want 0 to %d", o.Rank, o.World, o.World-1)
	case o.Buckets < 0 || o.Frames < 0 || o.Prefetch < 0 || o.Workers < 0:
		return fmt.Errorf("negative options: buckets %d, frames %d, prefetch %d, workers %d", o.Buckets, o.Frames, o.Prefetch, o.Workers)
	case o.Augment != nil:
		return o.Augment.validate()
	}
	return nil
}

// Loader gives the batches of one epoch after the other, read ahead by workers.
// It is for one goroutine.
type Loader struct {
	d       *Dataset
	opts    LoaderOptions
	staging *staging

	epoch  int
	start  int      // position that the epoch is begun at
	pinned *version // that it is begun with; nil: the dataset's own
	run    *run     // the epoch under way

	readahead readahead
}

// NewLoader prepares a loader of d; reading begins with the first Next.
func NewLoader(d *Dataset, opts LoaderOptions) (*Loader, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	l := &Loader{d: d, opts: opts, staging: newStaging(opts)}
	if err := l.fits(d.now.Load()); err != nil {
		return nil, err
	}
	return l, nil
}

// fits looks for what no batch could hold.
func (l *Loader) fits(v *version) error {
	if p := l.plan(v); p.dropLast && p.steps(0) == 0 {
		return fmt.Errorf("%s: %d clips are too few for a step of %d, and DropLast would leave out all: take smaller batches", v.dir, p.n, p.perStep())
	}
	if i := v.longest(); l.opts.Frames > 0 && v.frames(i) > l.opts.Frames {
		return fmt.Errorf("%s: clip %s has %d frames, more than the %d of a batch: leave it out with Options.Keep, or take longer batches",
			v.dir, v.clip(i).ID, v.frames(i), l.opts.Frames)
	}
	return nil
}

// Next gives the next batch. At the end of an epoch it gives io.EOF, and the
// call after that begins the next epoch. A clip that cannot be read is an error
// that comes again until Resume; if only ctx was done, a later call goes on. An
// error of Refresh, which follows each epoch, comes in place of io.EOF.
func (l *Loader) Next(ctx context.Context) (*Batch, error) {
	start := time.Now()
	if l.staging.ended() {
		return nil, errors.New("the loader is closed")
	}
	if l.run == nil {
		if err := l.begin(); err != nil {
			return nil, err
		}
	}
	b, err := l.run.next(ctx)
	if errors.Is(err, io.EOF) {
		if err := l.end(); err != nil {
			return nil, err
		}
	}
	if b != nil {
		b.Wait = time.Since(start)
	}
	return b, err
}

// version is what the epoch is, or would be, read from.
func (l *Loader) version() *version {
	switch {
	case l.run != nil:
		return l.run.v
	case l.pinned != nil:
		return l.pinned
	}
	return l.d.now.Load()
}

func (l *Loader) begin() error {
	v := l.version()
	if err := l.fits(v); err != nil {
		return err
	}
	p := l.plan(v)
	p.start = l.start
	o := Order{Seed: l.opts.Seed, Epoch: l.epoch, Sequential: l.opts.Sequential, Buckets: l.opts.Buckets, Batch: l.opts.Batch}
	p.order = o.Indices(p.n, v.frames)
	l.run = newRun(l, v, p)
	l.run.work(l.opts.Workers)
	return nil
}

// plan is that of a whole epoch, without its order.
func (l *Loader) plan(v *version) plan {
	return plan{batch: l.opts.Batch, world: l.opts.World, dropLast: l.opts.DropLast, n: v.len()}
}

// end makes ready for the next epoch.
func (l *Loader) end() error {
	l.run.stop()
	l.run, l.pinned = nil, nil
	l.epoch, l.start = l.epoch+1, 0
	if l.opts.World > 1 || l.opts.Fixed {
		return nil
	}
	_, err := l.d.Refresh()
	return err
}

// Steps is the number of batches of a whole epoch.
func (l *Loader) Steps() int { return l.plan(l.version()).steps(l.opts.Rank) }

// State is where the loader is: after the last batch that Next gave.
func (l *Loader) State() State {
	v := l.version()
	s := State{
		Version: stateVersion, Epoch: l.epoch, Position: l.start,
		Order: l.opts.stateOrder(), Manifest: v.manifest, Entries: v.len(),
	}
	if l.run != nil {
		s.Position = l.run.position()
	}
	return s
}

// Resume goes on where s was taken, if need be in the version of the dataset
// that it was taken in, which is there until melforge gc removes it.
func (l *Loader) Resume(s State) error {
	if err := s.validate(l.opts.stateOrder()); err != nil {
		return err
	}
	v, err := l.d.pinned(s.Manifest)
	if err != nil {
		return err
	}
	if v.len() != s.Entries {
		return fmt.Errorf("the state is of %d clips, but %d of that dataset can be read or are kept now", s.Entries, v.len())
	}
	if err := l.fits(v); err != nil {
		return err
	}
	if l.run != nil {
		l.run.stop()
	}
	l.run, l.pinned, l.epoch, l.start = nil, v, s.Epoch, s.Position
	return nil
}

// Close ends the workers and frees the memory. Batches that were not released
// stay valid until they are.
func (l *Loader) Close() {
	if l.run != nil {
		l.run.stop()
		l.run = nil
	}
	l.staging.close()
}
