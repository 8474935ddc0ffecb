package loop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/melforge/melforge/commit"
)

// Step is what one step says of itself.
type Step struct {
	Step  int     `json:"step"`
	Epoch int     `json:"epoch"`
	Loss  float64 `json:"loss"`
	Rate  float64 `json:"learning_rate"`
	Norm  float64 `json:"gradient_norm"` // before clipping
	// Samples is the number of clips in it.
	Samples int `json:"samples"`
	// Wait is the time without a batch to work on; Work is all the rest of the
	// step. Compile, which is apart from both, is for new shapes, and at first for
	// bringing the weights to the device.
	Wait    float64 `json:"wait_seconds"`
	Work    float64 `json:"work_seconds"`
	Compile float64 `json:"compile_seconds,omitempty"`
	// Device is the part of Work from giving the backend the step until it was
	// computed.
	Device float64 `json:"device_seconds"`
	// HandOver is the time that the batches took to the device. It passes while the
	// step before is computed, and is in Wait where that is not so.
	HandOver float64 `json:"hand_over_seconds"`
}

// Share is the part of the step spent waiting for data.
func (s Step) Share() float64 { return share(s.Wait, s.Work) }

// Evaluation is one evaluation: the smaller its value, the better the model.
type Evaluation struct {
	Step    int     `json:"step"`
	Name    string  `json:"metric"`
	Value   float64 `json:"value"`
	Seconds float64 `json:"seconds"`
	// Best says that no evaluation before was better.
	Best bool `json:"best"`
	// Detail is for reports only.
	Detail any `json:"detail,omitempty"`
}

// Summary sums up the steps of one run. Those before a resumed checkpoint do
// not count.
type Summary struct {
	Steps     int     `json:"steps"` // of this run
	Last      int     `json:"last_step"`
	Samples   int64   `json:"samples"`
	FirstLoss float64 `json:"first_loss"`
	LastLoss  float64 `json:"last_loss"`
	Wait      float64 `json:"wait_seconds"`
	Work      float64 `json:"work_seconds"`
	Compile   float64 `json:"compile_seconds"`
	Device    float64 `json:"device_seconds"`
	HandOver  float64 `json:"hand_over_seconds"`
	// Median is a step's time, waiting included, which a few slow steps do not
	// change, as the first is on a GPU.
	Median     float64     `json:"median_step_seconds"`
	Evaluate   float64     `json:"evaluate_seconds"`
	Save       float64     `json:"save_seconds"`
	Wall       float64     `json:"wall_seconds"`
	Best       *Evaluation `json:"best,omitempty"`
	Checkpoint string      `json:"checkpoint,omitempty"`
	// Stopped says why it ended before its last step, "" if it did not.
	Stopped string `json:"stopped,omitempty"`
}

// Share is the part of the steps' time spent waiting for data.
func (s Summary) Share() float64 { return share(s.Wait, s.Work) }

// StepsPerSecond counts waiting and work, not compilation.
func (s Summary) StepsPerSecond() float64 { return per(float64(s.Steps), s.Wait+s.Work) }

// SamplesPerSecond is the same for clips.
func (s Summary) SamplesPerSecond() float64 { return per(float64(s.Samples), s.Wait+s.Work) }

func share(wait, work float64) float64 { return per(wait, wait+work) }

func per(n, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return n / seconds
}

func (s *Summary) add(x Step) {
	if s.Steps == 0 {
		s.FirstLoss = x.Loss
	}
	s.Steps++
	s.Last, s.LastLoss = x.Step, x.Loss
	s.Samples += int64(x.Samples)
	s.Wait += x.Wait
	s.Work += x.Work
	s.Compile += x.Compile
	s.Device += x.Device
	s.HandOver += x.HandOver
}

// median of times, which it sorts.
func median(times []float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return (times[len(times)/2] + times[(len(times)-1)/2]) / 2
}

// stepsName is the file of all steps of a run, a JSON line each.
const stepsName = "steps.jsonl"

// journal keeps every step, so that a curve covers a run however often it was
// interrupted.
type journal struct {
	steps []Step
	file  *os.File
}

// openJournal takes up the journal in dir after the step that a checkpoint
// stands at: steps that were lost will be made again.
func openJournal(dir string, after int) (*journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, stepsName)
	j := &journal{}
	if after > 0 {
		var err error
		if j.steps, err = readSteps(path, after); err != nil {
			return nil, err
		}
	}
	err := commit.File("journal", path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		for _, s := range j.steps {
			if err := enc.Encode(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	j.file, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	return j, err
}

// readSteps reads up to a step. A last line that a killed run left unfinished is
// not an error.
func readSteps(path string, upTo int) ([]Step, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var steps []Step
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var s Step
		if json.Unmarshal(lines.Bytes(), &s) != nil || s.Step > upTo {
			break
		}
		steps = append(steps, s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return steps, nil
}

func (j *journal) add(s Step) error {
	j.steps = append(j.steps, s)
	if j.file == nil {
		return nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(b, '\n'))
	return err
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// seconds since start.
func seconds(start time.Time) float64 { return time.Since(start).Seconds() }
