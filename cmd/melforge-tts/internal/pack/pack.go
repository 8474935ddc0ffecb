// Package pack turns a Piper voice as it is distributed into the files that
// sherpa-onnx loads, and keeps them in a cache folder.
package pack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/melforge/melforge/commit"
)

// layout is part of the cache folder's name: a change of what is written there
// raises it.
const layout = 1

// The files of a prepared voice.
const (
	modelFile  = "model.onnx"
	tokensFile = "tokens.txt"
	sumsFile   = "sums.json" // written last, the hash of each of the others
)

// Voice is a voice ready to be loaded.
type Voice struct {
	Model  string // path of the ONNX file, with sherpa-onnx's metadata
	Tokens string // path of the phoneme table
	Hash   string // of both files' contents
}

// Open returns the voice packed in archive (tar.zst), from the cache if it is
// there and whole. Any number of processes may open one voice at once.
func Open(cache, name string, archive []byte) (Voice, error) {
	sum := sha256.Sum256(archive)
	dir := filepath.Join(cache, fmt.Sprintf("%s-%x-%d", name, sum[:8], layout))
	if v, err := verify(dir); err == nil {
		return v, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Voice{}, fmt.Errorf("voice cache: %w", err)
	}
	unlock, err := lock(filepath.Join(cache, name+".lock"))
	if err != nil {
		return Voice{}, fmt.Errorf("voice cache: %w", err)
	}
	defer unlock()
	if v, err := verify(dir); err == nil { // somebody was faster
		return v, nil
	}
	if err := build(dir, archive); err != nil {
		return Voice{}, fmt.Errorf("unpack voice %s into %s: %w", name, cache, err)
	}
	return verify(dir)
}

// verify returns the voice in dir if every file is what was written.
func verify(dir string) (Voice, error) {
	b, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return Voice{}, err
	}
	var sums map[string]string
	if err := json.Unmarshal(b, &sums); err != nil {
		return Voice{}, fmt.Errorf("%s: %w", filepath.Join(dir, sumsFile), err)
	}
	all := sha256.New()
	for _, name := range []string{modelFile, tokensFile} {
		sum, err := hashFile(filepath.Join(dir, name))
		if err != nil {
			return Voice{}, err
		}
		if sum != sums[name] {
			return Voice{}, fmt.Errorf("%s is damaged", filepath.Join(dir, name))
		}
		fmt.Fprintf(all, "%s %s\n", name, sum)
	}
	return Voice{
		Model:  filepath.Join(dir, modelFile),
		Tokens: filepath.Join(dir, tokensFile),
		Hash:   hex.EncodeToString(all.Sum(nil)),
	}, nil
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// build makes dir anew beside its place and moves it there. The lock is held.
func build(dir string, archive []byte) error {
	files, err := prepare(archive)
	if err != nil {
		return err
	}
	tmp := commit.Temp(dir)
	if err := errors.Join(os.RemoveAll(tmp), os.RemoveAll(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return err
	}
	for name, b := range files {
		path := filepath.Join(tmp, name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
		if err := commit.SyncFile(path); err != nil {
			return err
		}
	}
	if err := commit.SyncDir(tmp); err != nil {
		return err
	}
	return commit.Rename("voice", dir)
}

// prepare returns the files of a prepared voice.
func prepare(archive []byte) (map[string][]byte, error) {
	packed, err := unpack(archive, "voice.onnx", "voice.json")
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(packed["voice.json"])
	if err != nil {
		return nil, err
	}
	tokens, err := c.tokens()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		modelFile:  append(packed["voice.onnx"], c.metadata()...),
		tokensFile: tokens,
	}
	sums := make(map[string]string)
	for name, b := range files {
		sum := sha256.Sum256(b)
		sums[name] = hex.EncodeToString(sum[:])
	}
	files[sumsFile], err = json.Marshal(sums)
	return files, err
}

// lock waits for the lock file. The kernel frees it if its holder dies.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if err != syscall.EINTR {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}
