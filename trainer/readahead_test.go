package trainer

import "testing"

func TestReadaheadEnds(t *testing.T) {
	var a readahead
	a.faults.Store(-1) // as if something was waited for since
	asked := 0
	for a.wanted() {
		if asked++; asked > 1000*patience {
			t.Fatal("asking does not end")
		}
	}
	if asked < patience {
		t.Errorf("asked for %d batches after a wait, want %d", asked, patience)
	}
}
