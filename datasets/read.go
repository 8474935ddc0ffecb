package datasets

import (
	"bufio"
	"io"
	"iter"
	"os"

	"github.com/melforge/melforge/manifests"
)

// Entries reads the manifest that d names, in order.
func (f Folder) Entries(d *manifests.Dataset) iter.Seq2[manifests.Entry, error] {
	return read(f, d.Manifest.File, manifests.Entries)
}

// Rejects reads the rejects that d names, in order.
func (f Folder) Rejects(d *manifests.Dataset) iter.Seq2[manifests.Reject, error] {
	return read(f, d.Rejects.File, manifests.Rejects)
}

func read[T any](f Folder, file string, lines func(io.Reader, string) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		path := f.Path(file)
		r, err := os.Open(path)
		if err != nil {
			var zero T
			yield(zero, err)
			return
		}
		defer r.Close()
		for v, err := range lines(bufio.NewReaderSize(r, 1<<20), path) {
			if !yield(v, err) {
				return
			}
		}
	}
}
