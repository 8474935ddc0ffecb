package datasets

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path"
	"strings"

	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/manifests"
)

// indexFile is a JSON lines file on its way into the index folder, under a
// name that holds its hash: a committed one is never changed, so dataset.json
// names the old or the new one and both are whole.
type indexFile struct {
	folder Folder
	name   string // well known, as in manifest.jsonl
	f      *os.File
	buf    *bufio.Writer
	lines  *manifests.BulkWriter
	sum    hash.Hash
	crc    hash.Hash32
	size   countWriter
}

func (f Folder) newIndexFile(name string) (*indexFile, error) {
	file, err := os.Create(commit.Temp(f.Path(path.Join(indexDir, name))))
	if err != nil {
		return nil, err
	}
	x := &indexFile{folder: f, name: name, f: file, sum: sha256.New(), crc: crc32.New(castagnoli)}
	x.buf = bufio.NewWriterSize(io.MultiWriter(file, x.sum, x.crc, &x.size), 1<<20)
	x.lines = manifests.NewBulkWriter(x.buf)
	return x, nil
}

// seal writes what is still buffered, syncs and closes the file.
func (x *indexFile) seal() error {
	err := x.lines.Close()
	if err == nil {
		err = x.buf.Flush()
	}
	if err == nil {
		err = x.f.Sync()
	}
	return errors.Join(err, x.f.Close())
}

// place gives the sealed file its name. The caller syncs the folder.
func (x *indexFile) place() error {
	return commit.Adopt(x.point(), x.f.Name(), x.folder.Path(x.file()))
}

// point names the commits of this file.
func (x *indexFile) point() string {
	stem, _, _ := strings.Cut(x.name, ".")
	return stem
}

// file is where the sealed content belongs, relative to the folder.
func (x *indexFile) file() string { return indexFileName(x.name, [sha256.Size]byte(x.sum.Sum(nil))) }

// describe is what dataset.json says of the sealed file.
func (x *indexFile) describe() manifests.File {
	return manifests.File{File: x.file(), Bytes: int64(x.size), CRC32C: fmt.Sprintf("%08x", x.crc.Sum32()), Lines: x.lines.Lines()}
}

// indexFileName is where the content of that hash belongs, relative to the
// folder, as in index/manifest-0c02d09a84459033.jsonl.
func indexFileName(name string, sum [sha256.Size]byte) string {
	stem, ext, _ := strings.Cut(name, ".")
	return path.Join(indexDir, stem+"-"+hex.EncodeToString(sum[:8])+"."+ext)
}

// discard removes what was not committed.
func (x *indexFile) discard() {
	_ = x.lines.Close()
	_ = x.f.Close()
	_ = os.Remove(x.f.Name())
}

// link makes name another name of file at the top of the folder, for tools that
// do not read dataset.json; by a copy where the file system has no hard links.
// Committing dataset.json syncs the top folder.
func (f Folder) link(point, file, name string) error {
	tmp := commit.Temp(f.Path(name))
	_ = os.Remove(tmp)
	if err := os.Link(f.Path(file), tmp); err == nil {
		return commit.Place(point, f.Path(name))
	}
	return commit.File(point, f.Path(name), func(w io.Writer) error {
		src, err := os.Open(f.Path(file))
		if err != nil {
			return err
		}
		_, err = io.Copy(w, src)
		return errors.Join(err, src.Close())
	})
}

type countWriter int64

func (c *countWriter) Write(p []byte) (int, error) {
	*c += countWriter(len(p))
	return len(p), nil
}
