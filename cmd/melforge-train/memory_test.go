//go:build cgo

package main

import (
	"reflect"
	"testing"

	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
)

// TestDeviceMemoryFields wants the fields that deviceMemory reads to be where it
// looks for them: another version of GoMLX could have moved them.
func TestDeviceMemoryFields(t *testing.T) {
	exec, ok := reflect.TypeFor[xla.Executable]().FieldByName("exec")
	if !ok || exec.Type != reflect.TypeFor[*pjrt.LoadedExecutable]() {
		t.Fatalf("an executable's exec is %v", exec.Type)
	}
	stats, ok := exec.Type.Elem().FieldByName("OnDeviceMemoryUsageStats")
	if !ok || stats.Type != reflect.TypeFor[pjrt.ExecutableMemoryUsageStats]() {
		t.Fatalf("its memory usage is %v", stats.Type)
	}
	m := pjrt.ExecutableMemoryUsageStats{GeneratedCode: 1, Inputs: 20, Outputs: 300, Aliases: 4, Temporary: 5000}
	if got := usage(reflect.ValueOf(m)); got != m.Requirements() {
		t.Errorf("%d bytes, and GoMLX says %d", got, m.Requirements())
	}
	if got := deviceMemory(&xla.Executable{}); got != 0 {
		t.Errorf("%d bytes of a graph that was never compiled", got)
	}
	if got := deviceMemory(nil); got != 0 {
		t.Errorf("%d bytes of no graph", got)
	}
}
