package bench

import (
	"context"
	"os"
	"testing"

	"github.com/melforge/melforge/mel"
)

func TestMelMeasuresEveryWayAndLeavesNothing(t *testing.T) {
	cfg, err := mel.Preset("whisper-80")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := mel.NewCPU(cfg, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	dir := t.TempDir()
	r, err := Mel{Engine: engine, Folder: dir, Clip: 0.5, Seconds: 1e-3, Workers: 2}.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for name, rate := range map[string]float64{
		"memory": r.Memory.Clips, "files": r.Files.Clips, "reading": r.Reading.Clips, "shards": r.Shards.Clips, "read": r.Read.Rate, "write": r.Write.Rate,
	} {
		if !(rate > 0) {
			t.Errorf("%s: rate %g", name, rate)
		}
	}
	if want := int64(wavClips * (44 + 2*8000)); r.Read.Bytes != want {
		t.Errorf("%d bytes were read, want %d", r.Read.Bytes, want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := (Mel{Engine: engine, Folder: dir, Clip: 31, Workers: 1}).Run(context.Background()); err == nil {
		t.Error("clips longer than the configuration takes were measured")
	}
}

func TestWavsAreAsAsked(t *testing.T) {
	w, err := MakeWavs(context.Background(), t.TempDir(), 100, 16000, 0.1, 0.3)
	if err != nil {
		t.Fatal(err)
	}
	if w.Audio < 15 || w.Audio > 25 {
		t.Errorf("%g s of audio in 100 files of 0.1 to 0.3 s", w.Audio)
	}
	r, err := RawRead(context.Background(), w.Paths, 3)
	if err != nil || r.Bytes != w.Bytes {
		t.Errorf("%d bytes written, %d read, %v", w.Bytes, r.Bytes, err)
	}
	if _, err := MakeWavs(context.Background(), t.TempDir(), 0, 16000, 1, 2); err == nil {
		t.Error("no files were made without a word")
	}
}

func TestRawWriteLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	r, err := RawWrite(context.Background(), dir, 3<<20+1, 2, 2)
	if err != nil || r.Bytes != 3<<20+1 || r.Files != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
