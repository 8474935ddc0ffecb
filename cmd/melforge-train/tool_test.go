package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/gomlx/ml/model"
	"golang.org/x/sys/unix"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/trainer/hf"
	"github.com/melforge/melforge/trainer/whisper"
)

// The tests run the real tool: this test binary, started as melforge-train.
const asTool = "MELFORGE_TRAIN_TEST_AS_TOOL"

// scratch is for what all tests share; it is gone after them.
var scratch string

func TestMain(m *testing.M) {
	if os.Getenv(asTool) != "" {
		main()
		return
	}
	dir, err := os.MkdirTemp("", "melforge-train")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// outcome is what a run of the tool gave.
type outcome struct {
	code        int
	out, stderr string
}

// tool prepares the tool with arguments.
func tool(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asTool+"=1", "MELFORGE_PJRT_PLUGIN=", "PJRT_PLUGIN_LIBRARY_PATH=")
	return cmd
}

func run(t testing.TB, args ...string) outcome {
	t.Helper()
	cmd := tool(args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}

// ok runs the tool and wants success.
func ok(t testing.TB, args ...string) string {
	t.Helper()
	o := run(t, args...)
	if o.code != exitDone {
		t.Fatalf("melforge-train %s: exit %d\n%s%s", strings.Join(args, " "), o.code, o.out, o.stderr)
	}
	return o.out
}

// messages decodes --json output by message type.
func messages(t testing.TB, out string) map[string][]map[string]any {
	t.Helper()
	got := map[string][]map[string]any{}
	for l := range strings.Lines(out) {
		var m map[string]any
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			t.Fatalf("not a JSON line: %q: %v", l, err)
		}
		kind, _ := m["message_type"].(string)
		if kind == "" {
			t.Fatalf("no message_type: %q", l)
		}
		got[kind] = append(got[kind], m)
	}
	return got
}

// losses are those of the steps in --json output.
func losses(t testing.TB, out string) map[int]float64 {
	t.Helper()
	got := map[int]float64{}
	for _, m := range messages(t, out)["step"] {
		got[int(m["step"].(float64))] = m["loss"].(float64)
	}
	return got
}

var buildForge = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "melforge")
	cmd := exec.Command("go", "build", "-tags", "osusergo", "-ldflags", "-s -w", "-o", path, "../melforge")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // it writes shards, even where the trainer is tested without
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build ../melforge: %w\n%s", err, out)
	}
	return path, nil
})

// forge runs the real melforge.
func forge(t testing.TB, args ...string) {
	t.Helper()
	path, err := buildForge()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("melforge %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// tones makes a dataset of sounds of about so many seconds, each with one of
// the texts.
func tones(t testing.TB, seconds, level float64, texts []string, args ...string) string {
	t.Helper()
	wavs, dir := t.TempDir(), filepath.Join(t.TempDir(), "data")
	for i, text := range texts {
		pcm := audio.PCM{Rate: 16000, Samples: make([]int16, int(16000*seconds)+400*i)}
		for k := range pcm.Samples {
			pcm.Samples[k] = int16(level * math.Sin(float64(k)*(0.05+0.02*float64(i))))
		}
		name := filepath.Join(wavs, fmt.Sprintf("clip%02d", i))
		write(t, name+".wav", audio.AppendWAV(nil, pcm))
		write(t, name+".txt", []byte(text))
	}
	forge(t, append([]string{"mel", wavs, "--out", dir, "--max-rejects", "100%"}, args...)...)
	return dir
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// pretrained is a Hugging Face folder of the tests of package hf: its tokenizer
// is real, small.
const pretrained = "../../trainer/hf/testdata/tiny"

// tinyWhisper makes a Hugging Face folder of a very small
// Whisper that takes 80 mels, 150 frames and 24 labels; fields change that.
func tinyWhisper(t testing.TB, change map[string]any) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(pretrained, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	fields["num_mel_bins"], fields["max_source_positions"] = 80, 75
	maps.Copy(fields, change)
	if b, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	c := whisper.Default()
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	store := model.NewStore()
	if err := c.Randomize(store, 3); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f := &hf.Folder{Dir: pretrained, Config: c}
	if err := f.Save(dir, store, hf.F32); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "config.json"), b)
	if err := os.Remove(filepath.Join(dir, "preprocessor_config.json")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// exitAfter runs the tool with --json and signals it when it has made so many
// steps: os.Interrupt is Ctrl-C.
func exitAfter(t testing.TB, signal os.Signal, steps int, args ...string) outcome {
	t.Helper()
	cmd := tool(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	// A small pipe: however slowly this test gets to read, the tool cannot be
	// many steps ahead of it.
	if _, err := unix.FcntlInt(pipe.(*os.File).Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		fmt.Fprintln(&out, lines.Text())
		if strings.Contains(lines.Text(), fmt.Sprintf(`"message_type":"step","step":%d,`, steps)) {
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}
