package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/melforge/melforge/tts/wire"
)

// EarName is what the recogniser is added as.
const EarName = "moonshine"

// The files of a prepared recogniser.
const (
	encoderFile = "encoder.onnx"
	decoderFile = "decoder.onnx"
)

var earFiles = []string{encoderFile, decoderFile, tokensFile}

// Ear is a recogniser ready to be loaded.
type Ear struct {
	Encoder, Decoder, Tokens string // paths
	Hash                     string // of the files' contents
}

// OpenEar returns the recogniser that was added to the cache.
func OpenEar(cache string) (Ear, error) {
	dir := filepath.Join(cache, wire.EarsDir, EarName)
	hash, err := verify(dir, earFiles)
	if errors.Is(err, fs.ErrNotExist) {
		return Ear{}, fmt.Errorf("no recogniser here: `melforge voices add %s` fetches it: %w", EarName, err)
	}
	if err != nil {
		return Ear{}, err
	}
	return Ear{
		Encoder: filepath.Join(dir, encoderFile), Decoder: filepath.Join(dir, decoderFile),
		Tokens: filepath.Join(dir, tokensFile), Hash: hash,
	}, nil
}
