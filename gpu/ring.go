package gpu

import (
	"context"
	"sync"
	"unsafe"

	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/worker"
)

// ahead is how many batches are with the device before the next waits to grow:
// one each that it copies in, computes and copies out, and one more that is ready.
const ahead = 4

// ring is the slots of one device. Everything is guarded by engine.mu.
type ring struct {
	engine *Engine
	device *device
	memory *worker.Memory
	layout wire.Layout

	idle    []*slot // empty ones
	open    *slot   // where clips are reserved; nil: take an idle one
	running int     // batches with the device
	load    int     // samples reserved and not yet computed
	dead    error   // why the device is not used any more
	calls   sync.WaitGroup
}

// slot is one batch in the making, in flight or being read.
type slot struct {
	index   int
	clips   []wire.Clip
	at, out int  // where the next clip begins
	filling int  // clips that are not asked for yet
	wanted  int  // clips that are
	held    int  // clips that are not released
	sealed  bool // nothing is added any more
	sent    bool
	done    chan struct{} // closed when the frames are there, or err is set
	over    bool          // done is closed
	err     error
}

func newRing(e *Engine, d *device, m *worker.Memory) *ring {
	r := &ring{engine: e, device: d, memory: m, layout: d.layout}
	for i := range d.layout.Slots {
		r.idle = append(r.idle, &slot{index: i})
	}
	return r
}

// reserve takes room for n samples, or returns nil if there is none now.
func (r *ring) reserve(n int) *clip {
	frames := r.engine.cfg.Frames(n)
	room, out := (n+wire.Align-1)/wire.Align*wire.Align, int(r.layout.OutOf(uint64(frames)))
	if s := r.open; s != nil && (s.at+room > r.layout.Samples || s.out+out > r.layout.Out) {
		r.seal(s)
	}
	if r.open == nil {
		if len(r.idle) == 0 {
			return nil
		}
		s := r.idle[len(r.idle)-1] // the last that was used is the likeliest to be in a cache
		r.idle = r.idle[:len(r.idle)-1]
		*s = slot{index: s.index, clips: s.clips[:0], done: make(chan struct{})}
		r.open = s
	}
	s := r.open
	place := wire.Clip{At: uint32(s.at), Samples: uint32(n), Out: uint32(s.out), Frames: uint32(frames)}
	s.clips = append(s.clips, place)
	s.at, s.out = s.at+room, s.out+out
	s.filling++
	s.held++
	r.load += n
	return &clip{ring: r, slot: s, place: place}
}

// seal ends the reserving in the open slot, and sends it if it is ready.
func (r *ring) seal(s *slot) {
	s.sealed = true
	r.open = nil
	r.send(s)
}

// consider seals the open slot if the device is short of work and all its clips
// are waited for. While the device is busy a batch grows; and one that has clips
// that are still being filled could not be sent anyway.
func (r *ring) consider() {
	if s := r.open; s != nil && s.wanted > 0 && s.filling == 0 && r.running < ahead {
		r.seal(s)
	}
}

// send sends a sealed slot to the device once all its clips are filled.
func (r *ring) send(s *slot) {
	if !s.sealed || s.sent || s.filling > 0 {
		return
	}
	s.sent = true
	if s.wanted == 0 { // all were released without being asked for
		r.finish(s, nil)
		return
	}
	r.running++
	r.calls.Go(func() {
		err := r.device.compute(context.Background(), wire.Batch{Slot: uint32(s.index), Clips: s.clips})
		r.engine.mu.Lock()
		defer r.engine.mu.Unlock()
		r.running--
		if err != nil && r.dead == nil {
			r.dead = err
			r.engine.serve() // from other devices, or with the error
		}
		r.finish(s, err)
		r.consider()
	})
}

// finish hands the frames out.
func (r *ring) finish(s *slot, err error) {
	for _, c := range s.clips {
		r.load -= int(c.Samples)
	}
	s.err, s.over = err, true
	close(s.done)
	r.recycle(s)
}

// recycle makes a slot idle again when nobody needs it any more.
func (r *ring) recycle(s *slot) {
	if s.over && s.held == 0 {
		s.over = false // only once
		r.idle = append(r.idle, s)
		r.engine.serve()
	}
}

// samples is a place's samples, in the shared memory.
func (r *ring) samples(slot int, c wire.Clip) []int16 {
	b := r.layout.SamplesOf(r.memory.Bytes(), slot)
	return unsafe.Slice((*int16)(unsafe.Pointer(&b[2*c.At])), c.Samples)
}

// frames is a place's frames and the padding's value, in the shared memory.
func (r *ring) frames(slot int, c wire.Clip) ([]uint16, uint16) {
	b := r.layout.OutputOf(r.memory.Bytes(), slot)
	n := int(c.Frames) * r.layout.NMels
	all := unsafe.Slice((*uint16)(unsafe.Pointer(&b[2*c.Out])), n+1)
	return all[:n:n], all[n]
}

func (r *ring) close() error {
	err := r.device.close() // ends the batches in flight
	r.calls.Wait()
	if cerr := r.memory.Close(); err == nil {
		err = cerr
	}
	return err
}
