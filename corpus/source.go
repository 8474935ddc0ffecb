package corpus

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

const (
	// headSize is how much of a corpus is looked at before reading it, and
	// the size of its buffer.
	headSize = 64 << 10
	// maxWindow is the largest zstd window taken, that of zstd --ultra -22.
	maxWindow = 128 << 20
)

// source is an open corpus file, uncompressed and without its byte order mark.
type source struct {
	ext     string // in lower case, without .gz or .zst
	buf     *bufio.Reader
	closers []io.Closer
}

// openSource opens a file, or standard input for "-".
func openSource(path string) (*source, error) {
	if path == "-" {
		return newSource("", os.Stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s, err := newSource(innerExt(path), f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.closers = append(s.closers, f)
	return s, nil
}

// newSource reads from r, which stays the caller's to close.
func newSource(ext string, r io.Reader) (*source, error) {
	s := &source{ext: ext, buf: bufio.NewReaderSize(r, headSize)}
	if err := s.decompress(); err != nil {
		return nil, err
	}
	if err := s.skipMark(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// innerExt is the extension that tells the format.
func innerExt(path string) string {
	path = strings.ToLower(filepath.Base(path))
	switch ext := filepath.Ext(path); ext {
	case ".gz", ".gzip", ".zst", ".zstd":
		path = strings.TrimSuffix(path, ext)
	}
	return filepath.Ext(path)
}

// decompress goes by the first bytes, because downloads lose their extension.
func (s *source) decompress() error {
	magic, _ := s.buf.Peek(4) // an error comes again with the first read
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(s.buf)
		if err != nil {
			return fmt.Errorf("damaged gzip file: %w", err)
		}
		s.buf = bufio.NewReaderSize(z, headSize) // its Close frees nothing and repeats a read error
	case isZstd(magic):
		z, err := zstd.NewReader(s.buf, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return fmt.Errorf("damaged zstd file: %w", err)
		}
		s.buf = bufio.NewReaderSize(z, headSize)
		s.closers = append(s.closers, z.IOReadCloser())
	}
	return nil
}

// isZstd knows a frame and a skippable frame, with which pzstd starts.
func isZstd(magic []byte) bool {
	if len(magic) < 4 {
		return false
	}
	return bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
		magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18})
}

// skipMark skips a UTF-8 byte order mark and refuses the others.
func (s *source) skipMark() error {
	mark, _ := s.buf.Peek(3)
	switch {
	case bytes.Equal(mark, []byte("\xef\xbb\xbf")):
		_, err := s.buf.Discard(3)
		return err
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		return errors.New("the text is UTF-16: convert it first, with: iconv -f UTF-16 -t UTF-8 IN > OUT")
	}
	return nil
}

// head is the beginning of the text, at most headSize bytes of it.
func (s *source) head() ([]byte, error) {
	head, err := s.buf.Peek(headSize)
	if len(head) > 0 {
		return head, nil // an error after these bytes comes again with its line
	}
	if err == io.EOF {
		return nil, errors.New("corpus is empty: give a file with at least one text")
	}
	return nil, fmt.Errorf("nothing can be read: %w", err)
}

func (s *source) close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// archives are files that people take for a corpus, by their first bytes.
var archives = []struct{ magic, advice string }{
	{"PK\x03\x04", "a zip archive: unpack it first"},
	{"\xfd7zXZ\x00", "compressed with xz: unpack it with unxz first"},
	{"BZh91AY&SY", "compressed with bzip2: unpack it with bunzip2 first"},
	{"PAR1", "a Parquet file: export it as jsonl first"},
	{"RIFF", "a wav: give its folder instead"},
	{"\x89HDF\r\n\x1a\n", "an HDF5 file, not a text"},
}

// refuseBinary is an error when head is no text: when it has NULs and most of
// its bytes are on lines with a NUL or invalid UTF-8. One such line among good
// ones is a bad line, not a binary file.
func refuseBinary(head []byte) error {
	nul, bad := false, 0
	for line := range bytes.Lines(head) {
		if bytes.IndexByte(line, 0) >= 0 {
			nul = true
			bad += len(line)
		} else if !utf8.Valid(line) {
			bad += len(line)
		}
	}
	if !nul || 2*bad <= len(head) {
		return nil
	}
	for _, a := range archives {
		if bytes.HasPrefix(head, []byte(a.magic)) {
			return fmt.Errorf("looks binary (%s)", a.advice)
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return errors.New("looks binary (a tar archive: unpack it first)")
	}
	return errors.New("looks binary: a corpus is UTF-8 text, plain or compressed with gzip or zstd; " +
		"if it is UTF-16, convert it with: iconv -f UTF-16LE -t UTF-8 IN > OUT")
}
