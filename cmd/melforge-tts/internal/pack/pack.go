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
	err := ensure(cache, name, dir, voiceFiles, func() (map[string][]byte, error) { return prepare(archive) })
	if err != nil {
		return Voice{}, err
	}
	return openVoice(dir)
}

// voiceFiles are what a voice is made of, and what its hash is of.
var voiceFiles = []string{modelFile, tokensFile}

func openVoice(dir string) (Voice, error) {
	hash, err := verify(dir, voiceFiles)
	if err != nil {
		return Voice{}, err
	}
	return Voice{Model: filepath.Join(dir, modelFile), Tokens: filepath.Join(dir, tokensFile), Hash: hash}, nil
}

// ensure sees to it that dir holds whole files of these names, if need be by
// writing what fill returns. Only one process at a time does that.
func ensure(cache, name, dir string, names []string, fill func() (map[string][]byte, error)) error {
	if _, err := verify(dir, names); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("voice cache: %w", err)
	}
	unlock, err := lock(filepath.Join(cache, name+".lock"))
	if err != nil {
		return fmt.Errorf("voice cache: %w", err)
	}
	defer unlock()
	if _, err := verify(dir, names); err == nil { // somebody was faster
		return nil
	}
	files, err := fill()
	if err == nil {
		err = build(dir, files, names)
	}
	if err != nil {
		return fmt.Errorf("unpack voice %s into %s: %w", name, cache, err)
	}
	return nil
}

// verify returns the hash of these files in dir if every one is what was
// written.
func verify(dir string, names []string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return "", err
	}
	var sums map[string]string
	if err := json.Unmarshal(b, &sums); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Join(dir, sumsFile), err)
	}
	all := sha256.New()
	for _, name := range names {
		sum, err := hashFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		if sum != sums[name] {
			return "", fmt.Errorf("%s is damaged", filepath.Join(dir, name))
		}
		fmt.Fprintf(all, "%s %s\n", name, sum)
	}
	return hex.EncodeToString(all.Sum(nil)), nil
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
func build(dir string, files map[string][]byte, names []string) error {
	sums := make(map[string]string)
	for _, name := range names {
		sum := sha256.Sum256(files[name])
		sums[name] = hex.EncodeToString(sum[:])
	}
	var err error
	if files[sumsFile], err = json.Marshal(sums); err != nil {
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

// prepare returns the files of the voice in an archive.
func prepare(archive []byte) (map[string][]byte, error) {
	packed, err := unpack(archive, "voice.onnx", "voice.json")
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(packed["voice.json"])
	if err != nil {
		return nil, fmt.Errorf("voice.json: %w", err)
	}
	return c.files(packed["voice.onnx"])
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
