package bench

import (
	"bytes"
	"context"
	"encoding/json"
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
	Rate     int  // of the wavs
	Workers  int  // that read and write raw
	Cold     bool // measure once more, with the wavs on the disk
}

// EndToEndReport is what was measured. The wavs are in the page cache, but for
// Cold.
type EndToEndReport struct {
	Files  int     `json:"files"`
	Audio  float64 `json:"audio_seconds"`
	Shards int     `json:"shards"`
	Passage
	Write Raw   `json:"raw_write"` // as many bytes as the shards have, in as many files, synced
	Cold  *Cold `json:"cold,omitempty"`
}

// Passage is one run of the tool, beside reading the same wavs raw.
type Passage struct {
	Seconds float64 `json:"seconds"` // from the start of the process to its end
	Rate    float64 `json:"files_per_second"`
	CPU     float64 `json:"cpu_seconds"` // of all cores, its workers' included
	Read    Raw     `json:"raw_read"`
	// OfRaw is what reading and writing those bytes raw takes over what the
	// tool took: 1 would be a tool that costs nothing.
	OfRaw float64 `json:"of_raw"`
	// Phases is when the tool came how far, by its own clock.
	Phases map[string]float64 `json:"phases"`
}

// Cold is a run on wavs that were dropped from the page cache before they were
// read raw, and again before the tool ran.
type Cold struct {
	Passage
	// InCache is the share of them that was there all the same, of the larger of
	// both times: some file systems keep what they are asked to drop.
	InCache float64 `json:"in_cache"`
}

// Run measures.
func (e EndToEnd) Run(ctx context.Context) (EndToEndReport, error) {
	dir, err := os.MkdirTemp(e.Folder, "melforge-bench-")
	if err != nil {
		return EndToEndReport{}, err
	}
	defer os.RemoveAll(dir)
	in := filepath.Join(dir, "wavs")
	if err := os.Mkdir(in, 0o755); err != nil {
		return EndToEndReport{}, err
	}
	wavs, err := MakeWavs(ctx, in, e.Files, e.Rate, e.Shortest, e.Longest)
	if err != nil {
		return EndToEndReport{}, err
	}
	// Or their writing would be measured with what follows.
	if err := SyncAll(ctx, wavs.Paths); err != nil {
		return EndToEndReport{}, err
	}
	r := EndToEndReport{Files: len(wavs.Paths), Audio: wavs.Audio}
	out := filepath.Join(dir, "dataset")
	if r.Read, err = RawRead(ctx, wavs.Paths, e.Workers); err != nil {
		return r, err
	}
	if err := e.tool(ctx, in, out, &r.Passage); err != nil {
		return r, err
	}
	size, shards, err := shardBytes(out, r.Files)
	if err != nil {
		return r, err
	}
	r.Shards = shards
	if r.Write, err = RawWrite(ctx, dir, size, shards, min(shards, e.Workers)); err != nil {
		return r, err
	}
	r.compare(r.Files, r.Write)
	if e.Cold {
		r.Cold, err = e.cold(ctx, wavs.Paths, in, filepath.Join(dir, "cold"), r.Write)
	}
	return r, err
}

// cold measures with the wavs on the disk.
func (e EndToEnd) cold(ctx context.Context, paths []string, in, out string, write Raw) (*Cold, error) {
	c := new(Cold)
	drop := func() error {
		left, err := DropFromCache(ctx, paths)
		c.InCache = max(c.InCache, left)
		return err
	}
	err := drop()
	if err == nil {
		c.Read, err = RawRead(ctx, paths, e.Workers)
	}
	if err == nil {
		err = drop()
	}
	if err == nil {
		err = e.tool(ctx, in, out, &c.Passage)
	}
	c.compare(len(paths), write)
	return c, err
}

// compare fills in the ratios.
func (p *Passage) compare(files int, write Raw) {
	p.Rate = float64(files) / p.Seconds
	p.OfRaw = (p.Read.Seconds + write.Seconds) / p.Seconds
}

// tool runs melforge mel.
func (e EndToEnd) tool(ctx context.Context, in, out string, p *Passage) error {
	args := append(append([]string(nil), e.Tool[1:]...), in, "--out", out, "--max-rejects", "0", "--json")
	cmd := exec.CommandContext(ctx, e.Tool[0], args...)
	var said, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &wrong
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s%s", e.Tool[0], strings.Join(args, " "), err, &said, &wrong)
	}
	p.Seconds = time.Since(start).Seconds()
	p.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	lines := bytes.Split(bytes.TrimSpace(said.Bytes()), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &struct {
		Phases *map[string]float64 `json:"phases"`
	}{&p.Phases}); err != nil {
		return fmt.Errorf("%s ended with %q: %w", e.Tool[0], lines[len(lines)-1], err)
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
