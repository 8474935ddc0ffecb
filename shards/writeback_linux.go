package shards

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// writebackSize is how many bytes are written before the disk is told.
const writebackSize = 2 << 20

// writeback has the kernel begin to write to disk while rows still come: left to
// itself it waits for the sync at the end, and then so does the caller.
type writeback struct {
	waiting int64 // bytes that the disk was not told of
	busy    sync.WaitGroup
	started chan struct{}
}

// wrote counts n more bytes of f. Calls must not overlap.
func (w *writeback) wrote(f *os.File, n int64) {
	if w.waiting += n; w.waiting < writebackSize {
		return
	}
	if w.started == nil {
		w.started = make(chan struct{}, 1)
	}
	select {
	case w.started <- struct{}{}:
	default:
		return // the last call still waits for the disk's queue
	}
	w.waiting = 0
	w.busy.Go(func() {
		// Only a hint: an error will come again, from the sync.
		_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
		<-w.started
	})
}

// wait returns when no call into the kernel is under way.
func (w *writeback) wait() { w.busy.Wait() }
