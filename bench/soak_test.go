package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/melforge/melforge/tts"
)

// BenchmarkSoak makes 10,000 espeak utterances and reports what the process
// holds after the first tenth and at the end. Memory, descriptors and child
// processes must not grow with the work.
func BenchmarkSoak(b *testing.B) {
	o := newOverhead(b, tts.Options{}, "espeak/en-us")
	const n, parts = 10_000, 10
	for b.Loop() {
		var first, last load
		for part := range parts {
			o.texts = o.texts[:0]
			for i := range n / parts {
				o.texts = append(o.texts, fmt.Sprintf("Utterance %d of part %d.", i, part))
			}
			o.pipeline(b)
			last = measure(b)
			if part == 0 {
				first = last
			}
		}
		b.ReportMetric(first.mb, "MB-at-1000")
		b.ReportMetric(last.mb, "MB-at-10000")
		b.ReportMetric(float64(first.files), "files-at-1000")
		b.ReportMetric(float64(last.files), "files-at-10000")
		b.ReportMetric(float64(last.children), "children-left")
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "clips/s")
}

// load is what the process holds.
type load struct {
	mb              float64
	files, children int
}

func measure(b *testing.B) load {
	runtime.GC()
	var l load
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(status)) {
		var kb float64
		if k, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kb); k == 1 {
			l.mb = kb / 1000
		}
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		b.Fatal(err)
	}
	l.files = len(files)
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range tasks {
		c, _ := os.ReadFile(t) // a thread may end meanwhile
		l.children += len(strings.Fields(string(c)))
	}
	return l
}
