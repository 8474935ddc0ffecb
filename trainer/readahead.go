package trainer

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// readahead decides whether the kernel is to be asked for clips before they are
// read. That takes a tenth of the time of reading them if they are in memory
// already, so it is done only for a while after something had to be waited for.
type readahead struct {
	faults atomic.Int64 // of this process that had to wait for a disk
	left   atomic.Int64 // batches that are still to be asked for
}

// patience is how many batches are asked for after a wait.
const patience = 64

// wanted says whether to ask for another batch.
func (a *readahead) wanted() bool {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return true
	}
	if now := int64(u.Majflt); a.faults.Swap(now) != now {
		a.left.Store(patience)
	}
	return a.left.Add(-1) >= 0
}
