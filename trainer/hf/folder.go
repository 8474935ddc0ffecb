// Package hf reads and writes models as Hugging Face keeps them: a folder with
// config.json, safetensors, tokenizer.json, generation_config.json and
// preprocessor_config.json.
package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/melforge/melforge/trainer/whisper"
)

const (
	configFile       = "config.json"
	generationFile   = "generation_config.json"
	preprocessorFile = "preprocessor_config.json"
	tokenizerFile    = "tokenizer.json"
	weightsFile      = "model.safetensors"
	indexFile        = "model.safetensors.index.json"
)

// maxJSON bounds the files that are read whole. The largest tokenizer.json of a
// Whisper has 4 MB.
const maxJSON = 256 << 20

// Folder is a Whisper in a folder. Its weights stay there until Load.
type Folder struct {
	Dir        string
	Config     whisper.Config
	Generation Generation

	weights map[string]string // tensor to file
}

// Open reads everything but the weights and the tokenizer, and checks that the
// weights are all there: of the right names, shapes and types.
func Open(dir string) (*Folder, error) {
	f := &Folder{Dir: dir}
	data, err := readJSON(dir, configFile)
	if err != nil {
		return nil, fmt.Errorf("%w: a Hugging Face model folder is needed", err)
	}
	if f.Config, err = parseConfig(data); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, configFile), err)
	}
	if err := f.openGeneration(); err != nil {
		return nil, err
	}
	if err := f.checkPreprocessor(); err != nil {
		return nil, err
	}
	if f.weights, err = findWeights(dir); err != nil {
		return nil, err
	}
	if err := f.checkWeights(); err != nil {
		return nil, err
	}
	return f, nil
}

func parseConfig(data []byte) (whisper.Config, error) {
	c := whisper.Default()
	c.ModelType = ""
	if err := json.Unmarshal(data, &c); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// checkPreprocessor holds the feature extractor to the model, where there is
// one: its bins, and 16 kHz.
func (f *Folder) checkPreprocessor() error {
	data, err := readJSON(f.Dir, preprocessorFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	path := filepath.Join(f.Dir, preprocessorFile)
	var p struct {
		Bins *int `json:"feature_size"`
		Rate *int `json:"sampling_rate"`
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if p.Bins != nil && *p.Bins != f.Config.Mels {
		return fmt.Errorf("%s: feature_size is %d and %s says num_mel_bins %d", path, *p.Bins, configFile, f.Config.Mels)
	}
	if p.Rate != nil && *p.Rate != 16000 {
		return fmt.Errorf("%s: sampling_rate is %d, and Whisper's is 16000", path, *p.Rate)
	}
	return nil
}

// readJSON reads a file of the folder that is small unless it is not what its
// name says.
func readJSON(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, name)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxJSON {
		return nil, fmt.Errorf("%s has %d bytes, too many for such a file", path, info.Size())
	}
	return os.ReadFile(path)
}
