package speech

import (
	"fmt"
	"strings"

	sherpa "github.com/k2-fsa/sherpa-onnx-go-linux"

	"github.com/melforge/melforge/cmd/melforge-tts/internal/pack"
	"github.com/melforge/melforge/tts/wire"
)

// earRate is the rate at which the recogniser hears.
const earRate = 16000

// ear writes down what it hears.
type ear struct {
	recognizer *sherpa.OfflineRecognizer // for any number of streams at once
}

func (s *Speaker) hear(r wire.Request, samples []int16) ([]byte, error) {
	if r.Rate != earRate {
		return nil, fmt.Errorf("sound of %d Hz, want %d", r.Rate, earRate)
	}
	e, err := s.listen()
	if err != nil {
		return nil, err
	}
	var words []string
	for _, piece := range pieces(samples) {
		words = append(words, strings.Fields(e.write(piece))...)
	}
	return wire.Reply{Text: strings.Join(words, " ")}.Encode(nil)
}

// listen loads the recogniser once.
func (s *Speaker) listen() (*ear, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ear != nil {
		return s.ear, nil
	}
	files, err := pack.OpenEar(s.c.Cache)
	if err != nil {
		return nil, err
	}
	c := sherpa.OfflineRecognizerConfig{DecodingMethod: "greedy_search"}
	c.FeatConfig.SampleRate, c.FeatConfig.FeatureDim = earRate, 80
	c.ModelConfig.Moonshine.Encoder = files.Encoder
	c.ModelConfig.Moonshine.MergedDecoder = files.Decoder
	c.ModelConfig.Tokens = files.Tokens
	c.ModelConfig.NumThreads = 1
	r := sherpa.NewOfflineRecognizer(&c)
	if r == nil {
		return nil, fmt.Errorf("sherpa-onnx cannot load the recogniser %s", files.Encoder)
	}
	s.ear = &ear{recognizer: r}
	return s.ear, nil
}

// write hears a piece between two short silences: without them the first and
// last words are heard less well.
func (e *ear) write(samples []int16) string {
	const silence = earRate / 4
	sound := make([]float32, len(samples)+2*silence)
	for i, s := range samples {
		sound[silence+i] = float32(s) / 32768
	}
	stream := sherpa.NewOfflineStream(e.recognizer)
	defer sherpa.DeleteOfflineStream(stream)
	stream.AcceptWaveform(earRate, sound)
	e.recognizer.Decode(stream)
	return stream.GetResult().Text
}

// pieces cuts sound into what the recogniser was made for, sentences: what it
// takes grows with the square of their length. It cuts where it is quietest.
func pieces(samples []int16) [][]int16 {
	const longest, shortest, window = 20 * earRate, 10 * earRate, earRate / 20
	var all [][]int16
	for len(samples) > longest {
		best, least := longest, int64(-1)
		for at := shortest; at+window <= longest; at += window / 2 {
			var energy int64
			for _, s := range samples[at : at+window] {
				energy += int64(s) * int64(s)
			}
			if least < 0 || energy <= least {
				best, least = at+window/2, energy
			}
		}
		all = append(all, samples[:best])
		samples = samples[best:]
	}
	return append(all, samples)
}
