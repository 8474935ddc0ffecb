package augment

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/melforge/melforge/audio"
)

// DefaultLimit is how much memory the samples of a recipe's files may take
// where nothing else is said: 512 MiB are 4.6 hours of noise at 16 kHz.
const DefaultLimit = 512 << 20

// maxFile is the size from which on a file is refused unread.
const maxFile = 1 << 30

// maxImpulse is the longest impulse response in seconds: more is not a room but
// the wrong folder.
const maxImpulse = 10

// Assets are the noises and impulse responses of a recipe, in memory, at the
// rate of the clips. They are safe for concurrent use; the zero Assets serve
// recipes without files.
type Assets struct {
	rate     int
	noises   []*noise   // sorted by name
	impulses []*impulse // sorted by name
	bank     bank
}

type noise struct {
	Asset
	samples []int16
}

// impulse is the answer of a room to a click, scaled to make the direct sound 1.
type impulse struct {
	Asset
	taps   []float64
	direct int // index of the direct sound, the largest of the taps
}

// tag is a number that stands for the file's content.
func (a Asset) tag() uint64 {
	v, err := strconv.ParseUint(a.Hash[:16], 16, 64)
	if err != nil {
		panic("augment: a hash that LoadAssets did not make: " + a.Hash)
	}
	return v
}

func (a *Assets) noiseList() []*noise {
	if a == nil {
		return nil
	}
	return a.noises
}

func (a *Assets) impulseList() []*impulse {
	if a == nil {
		return nil
	}
	return a.impulses
}

// LoadAssets reads the folders that r names, with their subfolders, and
// converts their wav files to rate. It refuses to hold more than limit bytes;
// 0 stands for [DefaultLimit].
func LoadAssets(r Recipe, rate int, limit int64) (*Assets, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if err := checkRate(rate); err != nil {
		return nil, err
	}
	if limit == 0 {
		limit = DefaultLimit
	}
	l := loader{rate: rate, left: limit, limit: limit}
	a := &Assets{rate: rate}
	if r.Noise.Probability > 0 {
		err := l.folder(r.Noise.Dir, 2, func(f Asset, p audio.PCM) error {
			a.noises = append(a.noises, &noise{f, p.Samples})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("noise: %w", err)
		}
	}
	if r.Reverb.Probability > 0 {
		err := l.folder(r.Reverb.Dir, 8, func(f Asset, p audio.PCM) error {
			if p.Seconds() > maxImpulse {
				return fmt.Errorf("%.1f s long: an impulse response has at most %d s", p.Seconds(), maxImpulse)
			}
			a.impulses = append(a.impulses, newImpulse(f, p.Samples))
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("impulse responses: %w", err)
		}
	}
	return a, nil
}

// newImpulse scales samples, which are not all zero, to 1 at their largest.
func newImpulse(f Asset, samples []int16) *impulse {
	i := &impulse{Asset: f, taps: make([]float64, len(samples))}
	for k, s := range samples {
		if math.Abs(float64(s)) > math.Abs(float64(samples[i.direct])) {
			i.direct = k
		}
	}
	for k, s := range samples {
		i.taps[k] = float64(s) / float64(samples[i.direct])
	}
	return i
}

type loader struct {
	rate        int
	left, limit int64
	resampler   audio.Resampler
}

// folder hands every wav file below dir to keep, in the order of their names.
// Each sample kept costs width bytes.
func (l *loader) folder(dir string, width int64, keep func(Asset, audio.PCM) error) error {
	names, err := wavs(dir)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s: no wav files in it", dir)
	}
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		hash, pcm, err := l.file(path)
		if err == nil {
			if l.left -= width * int64(len(pcm.Samples)); l.left < 0 {
				return fmt.Errorf("%s: the files up to this one take more than %d MiB in memory: use fewer of them, or raise the limit", path, l.limit>>20)
			}
			err = keep(Asset{File: name, Hash: hash}, pcm)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// file reads one wav file and converts it. Its errors do not name it.
func (l *loader) file(path string) (hash string, p audio.PCM, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", p, unwrapPath(err)
	}
	if info.Size() > maxFile {
		return "", p, fmt.Errorf("%d MiB: split it into files below %d MiB", info.Size()>>20, maxFile>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", p, unwrapPath(err)
	}
	if p, err = audio.DecodeWAV(data); err != nil {
		return "", p, err
	}
	p = l.resampler.Resample(p, l.rate)
	if audio.Measure(p).Peak == 0 {
		return "", p, errors.New("silent: remove it from the folder")
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), p, nil
}

// unwrapPath leaves the path out of an error that the caller will put it to.
func unwrapPath(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// wavs lists the wav files below dir by their paths in it, sorted, with slashes.
func wavs(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.EqualFold(filepath.Ext(path), ".wav") {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		names = append(names, filepath.ToSlash(rel))
		return nil
	})
	slices.Sort(names)
	return names, err
}
