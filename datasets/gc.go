package datasets

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/melforge/melforge/commit"
)

// Garbage is a file in the folder that nothing names any more.
type Garbage struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

// FindGarbage lists the files of this package's making that dataset.json and
// the manifest do not name: wavs, shards, old manifests, temporary files and
// the remains of unfinished runs. Files it did not make are left out.
func (f Folder) FindGarbage() ([]Garbage, error) {
	d, err := f.MustLoad()
	if err != nil {
		return nil, err
	}
	named := map[string]bool{d.Manifest.File: true, d.Rejects.File: true}
	for _, s := range d.Shards {
		named[s.File] = true
	}
	for e, err := range f.Entries(d) {
		if err != nil {
			return nil, err
		}
		named[e.Audio] = true
	}
	var found []Garbage
	for _, dir := range []string{wavDir, shardDir, indexDir, resultsDir, scratchDir} {
		err := f.walk(dir, func(rel string, size int64) {
			if !named[rel] {
				found = append(found, Garbage{rel, size})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for _, name := range []string{IndexName, ManifestName, RejectsName, ItemsFile()} {
		rel := filepath.ToSlash(commit.Temp(name))
		if name == ItemsFile() {
			rel = name
		}
		if st, err := os.Stat(f.Path(rel)); err == nil {
			found = append(found, Garbage{rel, st.Size()})
		}
	}
	return found, nil
}

// walk calls each for every regular file below dir.
func (f Folder) walk(dir string, each func(rel string, size int64)) error {
	return filepath.WalkDir(f.Path(dir), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(f.dir, path)
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		each(filepath.ToSlash(rel), st.Size())
		return nil
	})
}

// Remove deletes garbage. The caller holds the lock, so that nothing becomes
// named between the look and the deletion.
func (f Folder) Remove(g []Garbage) error {
	for _, x := range g {
		if err := os.Remove(f.Path(x.File)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// A wav folder that became empty goes too; one that did not stays.
		if d := filepath.Dir(f.Path(x.File)); filepath.Base(filepath.Dir(d)) == wavDir {
			_ = os.Remove(d)
		}
	}
	return nil
}
