package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/melforge/melforge/datasets"
)

// EndToEnd measures `melforge mel` from wav files to a synced dataset: the
// tool itself, started as a user starts it.
type EndToEnd struct {
	Tool     []string // melforge mel, with the flags that choose engine and mel
	Folder   string   // for wavs and dataset, which are removed afterwards
	Files    int
	Shortest float64 // seconds
	Longest  float64
	Rate     int // of the wavs
	Workers  int // that read and write raw
}

// EndToEndReport is what one run measured. The wavs are in the page cache.
type EndToEndReport struct {
	Files   int     `json:"files"`
	Audio   float64 `json:"audio_seconds"`
	Shards  int     `json:"shards"`
	Seconds float64 `json:"seconds"` // from the start of the process to its end
	Rate    float64 `json:"files_per_second"`
	Read    Raw     `json:"raw_read"`  // the same wavs
	Write   Raw     `json:"raw_write"` // as many bytes as the shards have, in as many files, synced
	// OfRaw is what reading and writing those bytes raw takes over what the
	// tool took: 1 would be a tool that costs nothing.
	OfRaw float64 `json:"of_raw"`
}

// Run measures.
func (e EndToEnd) Run(ctx context.Context) (EndToEndReport, error) {
	dir, err := os.MkdirTemp(e.Folder, "melforge-bench-")
	if err != nil {
		return EndToEndReport{}, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "wavs"), filepath.Join(dir, "dataset")
	if err := os.Mkdir(in, 0o755); err != nil {
		return EndToEndReport{}, err
	}
	wavs, err := MakeWavs(ctx, in, e.Files, e.Rate, e.Shortest, e.Longest)
	if err != nil {
		return EndToEndReport{}, err
	}
	r := EndToEndReport{Files: len(wavs.Paths), Audio: wavs.Audio}
	if r.Read, err = RawRead(ctx, wavs.Paths, e.Workers); err != nil {
		return r, err
	}
	start := time.Now()
	if err := e.tool(ctx, in, out); err != nil {
		return r, err
	}
	r.Seconds = time.Since(start).Seconds()
	r.Rate = float64(r.Files) / r.Seconds
	bytes, shards, err := shardBytes(out, r.Files)
	if err != nil {
		return r, err
	}
	r.Shards = shards
	if r.Write, err = RawWrite(ctx, dir, bytes, shards, min(shards, e.Workers)); err != nil {
		return r, err
	}
	r.OfRaw = (r.Read.Seconds + r.Write.Seconds) / r.Seconds
	return r, nil
}

// tool runs melforge mel, whose words matter only where it fails.
func (e EndToEnd) tool(ctx context.Context, in, out string) error {
	args := append(append([]string(nil), e.Tool[1:]...), in, "--out", out, "--max-rejects", "0")
	cmd := exec.CommandContext(ctx, e.Tool[0], args...)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", e.Tool[0], strings.Join(args, " "), err, said)
	}
	return nil
}

// shardBytes says how large the dataset's shards are, and checks that no clip
// is missing: a measurement of half the work is none.
func shardBytes(dataset string, clips int) (bytes int64, n int, err error) {
	d, err := datasets.At(dataset).MustLoad()
	if err != nil {
		return 0, 0, err
	}
	for _, s := range d.Shards {
		bytes, clips = bytes+s.Bytes, clips-s.Clips
	}
	if clips != 0 {
		return 0, 0, errors.New("the dataset does not hold every wav: see its rejects.jsonl")
	}
	return bytes, len(d.Shards), nil
}
