package datasets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/melforge/melforge/manifests"
)

func TestPaths(t *testing.T) {
	k := manifests.NewKey("x")
	if got, want := WavFile(k), "wavs/"+k.String()[:2]+"/"+k.String()+".wav"; got != want {
		t.Errorf("wav at %s, want %s", got, want)
	}
	f := At("/data")
	for in, want := range map[string]string{"a/b": "/data/a/b", "/x/y": "/x/y"} {
		if got := f.Path(in); got != want {
			t.Errorf("Path(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestCheckOurs(t *testing.T) {
	dir := t.TempDir()
	if err := At(filepath.Join(dir, "new")).CheckOurs(); err != nil {
		t.Errorf("a folder that does not exist: %v", err)
	}
	if err := At(dir).CheckOurs(); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := At(dir).CheckOurs(); err == nil || !strings.Contains(err.Error(), "not a Melforge dataset") {
		t.Errorf("somebody else's folder: %v", err)
	}
	if err := At(file).CheckOurs(); err == nil {
		t.Error("a file was taken for a folder")
	}
	if err := os.Mkdir(filepath.Join(dir, workDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := At(dir).CheckOurs(); err != nil {
		t.Errorf("a folder that a run has begun: %v", err)
	}
}

func TestLockIsExclusiveAndEnds(t *testing.T) {
	f := At(t.TempDir())
	if err := f.Prepare(); err != nil {
		t.Fatal(err)
	}
	l, err := f.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Lock(); err == nil || !strings.Contains(err.Error(), "another melforge") {
		t.Errorf("a second lock: %v", err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if l, err = f.Lock(); err != nil {
		t.Fatalf("after unlocking: %v", err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
}

// plan writes items and gives the plan that names them.
func plan(t testing.TB, f Folder, items ...manifests.Item) *manifests.Plan {
	t.Helper()
	if err := f.Prepare(); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	w := manifests.NewWriter(&b)
	for i := range items {
		if err := w.Write(&items[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(f.Path(ItemsFile()), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	_, base, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	return &manifests.Plan{
		Version: manifests.PlanVersion, Items: ItemsFile(), Base: base,
		Settings: manifests.Settings{Rate: 16000, ShardSize: 2},
	}
}

func item(state manifests.State, line int, key string) manifests.Item {
	return manifests.Item{State: state, Line: line, ID: key + string(rune('0'+line)), Key: manifests.NewKey(key)}
}

func made(key string) manifests.Made {
	k := manifests.NewKey(key)
	return manifests.Made{Key: k, Audio: WavFile(k), Clip: manifests.Clip{Samples: 16000, Bytes: 32044, CRC32C: "00000000"}}
}

func TestIndexJoinsPlanAndResults(t *testing.T) {
	f := At(t.TempDir())
	bad := manifests.NewKey("c")
	p := plan(t, f,
		item(manifests.StateNew, 1, "a"),
		manifests.Item{State: manifests.StateReject, Line: 2, ID: "r", Reject: &manifests.Reject{Line: 2, Stage: manifests.StageText, Reason: "empty"}},
		item(manifests.StateNew, 3, "c"), item(manifests.StateShared, 4, "a"), item(manifests.StateShared, 5, "c"),
	)
	d, err := f.Index(p, []manifests.Result{{
		Name: "00000-x", Made: []manifests.Made{made("a")},
		Rejects: []manifests.Reject{{Line: 3, Stage: manifests.StageAudio, Reason: "silent", Key: &bad}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if want := (manifests.Totals{Entries: 2, Clips: 1, Seconds: 2, Rejects: 3}); d.Totals != want {
		t.Errorf("totals are %+v, want %+v", d.Totals, want)
	}
	var lines []int
	for e, err := range f.Entries(d) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, e.Line)
	}
	for r, err := range f.Rejects(d) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, -r.Line)
	}
	if want := []int{1, 4, -2, -3, -5}; !slices.Equal(lines, want) {
		t.Errorf("lines are %v, want %v", lines, want)
	}
}

func TestIndexRefuses(t *testing.T) {
	f := At(t.TempDir())
	p := plan(t, f, item(manifests.StateNew, 1, "a"))
	if _, err := f.Index(p, nil); err == nil || !strings.Contains(err.Error(), "nothing made it") {
		t.Errorf("a clip that nobody made: %v", err)
	}
	if d, _, err := f.Load(); d != nil || err != nil {
		t.Errorf("a failed index left %v, %v", d, err)
	}
	p.Base = "12345678"
	if _, err := f.Index(p, []manifests.Result{{Made: []manifests.Made{made("a")}}}); err == nil || !strings.Contains(err.Error(), "changed while") {
		t.Errorf("a plan for another dataset: %v", err)
	}
}
