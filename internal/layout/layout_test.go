// Package layout holds the test of the direction of imports. It is the drawing
// of the architecture that cannot go stale.
package layout

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/melforge/melforge/"

// mayImport says, for each folder, which others it may look at and why it is
// no more. A folder that is not listed may not import any of ours.
var mayImport = map[string][]string{
	"audio":   {},                          // samples know nothing of what is made of them
	"commit":  {},                          // files know nothing of their content
	"worker":  {},                          // nor does a worker process of its work
	"corpus":  {},                          // texts come from outside
	"mel":     {"audio"},                   // features of samples
	"tts":     {"audio", "worker"},         // speech makes samples, in a worker where it must
	"gates":   {"audio"},                   // judges samples
	"augment": {"audio"},                   // changes samples
	"gpu":     {"commit", "mel", "worker"}, // an engine in a worker

	"manifests": {"augment", "gates", "mel"},                                                              // contracts name configurations, not engines
	"shards":    {"commit", "manifests", "mel"},                                                           // one file format
	"datasets":  {"audio", "commit", "manifests", "mel", "shards"},                                        // the folder and its rules
	"plan":      {"augment", "commit", "corpus", "datasets", "gates", "manifests", "mel", "tts"},          // decides, never works
	"forge":     {"audio", "augment", "commit", "datasets", "gates", "manifests", "mel", "shards", "tts"}, // works, never decides

	"trainer": {"commit", "manifests", "mel", "shards"}, // reads what the others made, and makes nothing of it again

	"transforms": {"datasets", "forge", "manifests", "mel", "tts"}, // Beam around the forge
	"pipelines":  {"manifests", "transforms"},                      // the graphs
}

// onlyIn says which folders may import a package from outside, and why.
var onlyIn = map[string][]string{
	"github.com/apache/beam/":                {"transforms", "pipelines", "cmd", "bench"}, // the rest runs without Beam
	"gonum.org/v1/hdf5":                      {"shards"},                                  // one owner of the C library
	"github.com/k2-fsa/sherpa-onnx-go-linux": {"cmd/melforge-tts"},                        // it can end its process
	"github.com/amitybell/":                  {"cmd/melforge-tts"},
	"gorgonia.org/cu":                        {"cmd/melforge-cuda"},             // it ends its process where there is no GPU
	"github.com/gomlx/":                      {"trainer", "cmd/melforge-train"}, // making a dataset needs no tensors
	"github.com/go-audio/":                   {"audio"},
	"github.com/spf13/":                      {"cmd"},
	"github.com/rs/zerolog":                  {"cmd"}, // libraries return errors, commands log
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func TestImportDirection(t *testing.T) {
	for _, p := range packages(t) {
		dir := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(dir, "internal/") {
			continue
		}
		for _, imp := range p.Imports {
			if ours, ok := strings.CutPrefix(imp, module); ok {
				checkOurs(t, dir, ours)
			}
			for outside, folders := range onlyIn {
				if strings.HasPrefix(imp, outside) && !slices.ContainsFunc(folders, func(f string) bool { return within(dir, f) }) {
					t.Errorf("%s imports %s, which only %q may", dir, imp, folders)
				}
			}
		}
	}
}

func checkOurs(t *testing.T, dir, ours string) {
	folder, _, _ := strings.Cut(dir, "/")
	target, _, _ := strings.Cut(ours, "/")
	if folder == "cmd" || folder == "bench" || folder == target || target == "internal" {
		return // commands and benchmarks may use everything, everybody what is internal
	}
	if !slices.Contains(mayImport[folder], target) {
		t.Errorf("%s imports %s: only %q are allowed", dir, ours, mayImport[folder])
	}
}

func within(dir, folder string) bool { return dir == folder || strings.HasPrefix(dir, folder+"/") }

// TestTrainerIsLight holds the trainer to what a machine that only trains has:
// the dataset and perhaps a GPU. The tag is how the Makefile builds it.
func TestTrainerIsLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-tags", "nohdf5", "-deps", module+"cmd/melforge-train").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		for _, heavy := range []string{"gonum.org/v1/hdf5", "github.com/apache/beam/", "gorgonia.org/cu"} {
			if strings.HasPrefix(dep, heavy) {
				t.Errorf("melforge-train links %s", dep)
			}
		}
	}
}

func packages(t *testing.T) []pkg {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < len(mayImport) {
		t.Fatalf("go list found %d packages, want at least %d", len(all), len(mayImport))
	}
	return all
}
