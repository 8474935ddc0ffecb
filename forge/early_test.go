package forge

import (
	"os/exec"
	"testing"

	"github.com/melforge/melforge/augment"
	"github.com/melforge/melforge/manifests"
)

// TestSpokenEarly wants a clip that was spoken for the sake of a version of it to
// count as spoken when its own turn comes, once.
func TestSpokenEarly(t *testing.T) {
	if _, err := exec.LookPath("espeak-ng"); err != nil {
		t.Skip("espeak-ng is not installed")
	}
	b := newBench(t, 1)
	plain := manifests.Item{State: manifests.StateNew, Line: 1, ID: "a", Key: manifests.NewKey("a"), Text: "An early clip.", Voice: "espeak/en-us", Speed: 1, Pitch: 1}
	version := plain
	version.ID, version.Key, version.Base, version.Augment = "a2", manifests.NewKey("a2"), plain.Key, new(augment.Drawn)
	for i, c := range []struct {
		item              manifests.Item
		spoken, augmented bool
	}{{version, false, true}, {plain, true, false}} {
		s := manifests.ShardPlan{Name: []string{"00001-v", "00002-p"}[i], Clips: 1}
		r, err := b.forge.MakeItems(t.Context(), b.folder, b.plan, s, []manifests.Item{c.item})
		if err != nil || len(r.Made) != 1 || r.Made[0].Spoken != c.spoken || r.Made[0].Augmented != c.augmented {
			t.Errorf("%s: %+v, %+v, %v; want spoken %v, augmented %v", c.item.ID, r.Made, r.Rejects, err, c.spoken, c.augmented)
		}
	}
	b.forge.early.Range(func(path, _ any) bool {
		t.Errorf("%v is not counted", path)
		return true
	})
}
