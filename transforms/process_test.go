package transforms

import (
	"errors"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/melforge/melforge/mel"
)

// closing is an engine that tells of its end.
type closing struct {
	mel.Engine
	closed chan struct{}
}

var errClosing = errors.New("it did not end well")

func (c *closing) Close() error {
	close(c.closed) // panics if it comes twice
	return errors.Join(c.Engine.Close(), errClosing)
}

// TestSingle wants engines to end when all shards are made where no other
// pipeline can need them, once, and with their errors told at the end.
func TestSingle(t *testing.T) {
	for _, single := range []bool{false, true} {
		job, _ := given(t, 4, 2)
		engine := &closing{closed: make(chan struct{})}
		proc := Open(Host{Engine: func(_ Engine, c mel.Config, jobs int) (_ mel.Engine, err error) {
			engine.Engine, err = mel.NewCPU(c, jobs)
			return engine, err
		}})
		if single {
			proc.Single()
		}
		pipe, s := beam.NewPipelineWithRoot()
		WriteIndex(s, job, MakeShards(s, job, ListShards(s, job)))
		ptest.RunAndValidate(t, pipe)
		if single {
			<-engine.closed
		}
		select {
		case <-engine.closed:
			if !single {
				t.Error("the engine ended before the process did")
			}
		default:
		}
		if err := proc.Close(); !errors.Is(err, errClosing) {
			t.Errorf("single %v: %v", single, err)
		}
		if err := proc.Close(); err != nil {
			t.Errorf("closed again: %v", err)
		}
	}
}
