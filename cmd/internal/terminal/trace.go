package terminal

import (
	"fmt"
	"sync"

	"github.com/melforge/melforge/internal/timeline"
)

// Trace has what the program does recorded in a file, if one is named, until stop
// is called for the first time. A trace that cannot be written to its end is no
// reason to fail: that is said in a warning.
func (u *UI) Trace(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	end, err := timeline.File(path)
	if err != nil {
		return nil, Usagef("--trace: %v", err)
	}
	return sync.OnceFunc(func() {
		if err := end(); err != nil {
			u.Log.Warn().Err(err).Str("trace", path).Msg("the trace is not complete")
			return
		}
		u.Message("trace", map[string]string{"file": path}, fmt.Sprintf("trace: %s (open it in Perfetto, ui.perfetto.dev, or chrome://tracing)\n", path))
	}), nil
}
