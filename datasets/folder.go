// Package datasets owns the folder that a dataset lives in: where its files
// are, who may write to it, how its index is committed, and how it is checked
// and swept.
package datasets

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/melforge/melforge/manifests"
)

// Names within a dataset's folder.
const (
	IndexName    = "dataset.json"
	ManifestName = "manifest.jsonl"
	RejectsName  = "rejects.jsonl"

	wavDir   = "wavs"
	shardDir = "shards"
	indexDir = "index"
	// workDir holds the lock, the plan and the results of an unfinished run.
	workDir    = ".melforge"
	resultsDir = workDir + "/results"
	scratchDir = workDir + "/tmp"
)

// Folder is the place of a dataset.
type Folder struct{ dir string }

// At is the folder dir, which need not exist.
func At(dir string) Folder { return Folder{dir} }

// Dir is the folder's path as given.
func (f Folder) Dir() string { return f.dir }

// Path resolves a slash-separated path relative to the folder; an absolute
// path stays as it is.
func (f Folder) Path(rel string) string {
	if filepath.IsAbs(rel) {
		return rel
	}
	return filepath.Join(f.dir, filepath.FromSlash(rel))
}

// WavFile is where the wav of a key belongs, relative to the folder.
func WavFile(k manifests.Key) string {
	s := k.String()
	return path.Join(wavDir, s[:2], s+".wav")
}

// ShardFile is where a shard belongs, relative to the folder.
func ShardFile(name string) string { return path.Join(shardDir, name+".h5") }

// ItemsFile is the plan's items file, relative to the folder.
func ItemsFile() string { return path.Join(workDir, "items.jsonl") }

// ResultFile marks a shard as complete, relative to the folder.
func ResultFile(name string) string { return path.Join(resultsDir, name+".json") }

// Prepare makes the folder ready to be written to. It refuses a folder that
// holds something else.
func (f Folder) Prepare() error {
	if err := f.CheckOurs(); err != nil {
		return err
	}
	for _, d := range []string{"", wavDir, shardDir, indexDir, workDir, resultsDir} {
		if err := os.MkdirAll(f.Path(d), 0o755); err != nil {
			return fmt.Errorf("cannot write the dataset to %s: %w (choose another folder with --out)", f.dir, err)
		}
	}
	return nil
}

// Scratch makes an empty folder for temporary files of the run that holds the
// lock. Finish removes it, and so does the next run.
func (f Folder) Scratch() (string, error) {
	dir := f.Path(scratchDir)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.Mkdir(dir, 0o755)
}

// CheckOurs refuses a folder that is there, is not empty, and is no dataset.
func (f Folder) CheckOurs() error {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot use %s as a dataset folder: %w", f.dir, err)
	}
	for _, e := range entries {
		if e.Name() == IndexName || e.Name() == workDir {
			return nil
		}
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s holds files that are not a Melforge dataset (%s, …): choose an empty or new folder with --out",
			f.dir, entries[0].Name())
	}
	return nil
}

// Load reads dataset.json. Where there is none it gives nil and no error. The
// checksum stands for the version of the dataset that was read.
func (f Folder) Load() (d *manifests.Dataset, checksum string, err error) {
	b, err := os.ReadFile(f.Path(IndexName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	if d, err = manifests.DecodeDataset(b); err != nil {
		return nil, "", fmt.Errorf("%s: %w", f.Path(IndexName), err)
	}
	return d, Checksum(b), nil
}

// MustLoad is Load for commands that need a dataset.
func (f Folder) MustLoad() (*manifests.Dataset, error) {
	if st, err := os.Stat(f.dir); err != nil {
		return nil, err
	} else if !st.IsDir() {
		return nil, fmt.Errorf("%s is a file: name the dataset's folder", f.dir)
	}
	d, _, err := f.Load()
	if err == nil && d == nil {
		return nil, fmt.Errorf("%s has no %s: not a dataset, or its first run has not finished (run the same command again to go on)",
			f.dir, IndexName)
	}
	return d, err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC-32C of b in eight hex digits.
func Checksum(b []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli)) }
