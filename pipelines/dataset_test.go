package pipelines

import (
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/melforge/melforge/transforms"
)

// TestPortable wants only primitives that every runner has: no state, no
// timers, no side inputs, no splittable DoFns.
func TestPortable(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	Dataset(s, transforms.Job{Dir: "/nowhere"})
	edges, _, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	allowed := "Impulse ParDo CoGBK Flatten Reshuffle"
	for _, e := range edges {
		if !strings.Contains(allowed, string(e.Op)) {
			t.Errorf("%s is a %s: runners may not have it", e.Name(), e.Op)
		}
		if e.DoFn != nil && e.DoFn.IsSplittable() {
			t.Errorf("%s is splittable", e.Name())
		}
		if len(e.Input) > 1 && e.Op != "Flatten" {
			t.Errorf("%s has side inputs", e.Name())
		}
	}
}
