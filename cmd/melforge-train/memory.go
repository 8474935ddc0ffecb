package main

import (
	"context"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
)

// deviceMemory is the bytes of a device's memory that running a compiled graph
// takes: arguments, results and what lies between. XLA knows it exactly; 0 where
// the backend does not say. GoMLX keeps XLA's answer in fields of its own, which
// are only read here, and a test wants them to be there.
func deviceMemory(e compute.Executable) int64 {
	v := reflect.ValueOf(e)
	for _, name := range []string{"exec", "OnDeviceMemoryUsageStats"} {
		for v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return 0
		}
		v = v.FieldByName(name)
	}
	return usage(v)
}

// usage adds up the fields of XLA's statistics.
func usage(v reflect.Value) (bytes int64) {
	if v.Kind() != reflect.Struct {
		return 0
	}
	for name, sign := range map[string]int64{"GeneratedCode": 1, "Inputs": 1, "Outputs": 1, "Temporary": 1, "Aliases": -1} {
		f := v.FieldByName(name)
		if f.Kind() != reflect.Int64 {
			return 0
		}
		bytes += sign * f.Int()
	}
	return bytes
}

// cardMemory asks the driver's tool for the memory of the card that is used, in
// bytes.
func cardMemory(ctx context.Context) (used, total float64, ok bool) {
	args := []string{"--query-gpu=memory.used,memory.total", "--format=csv,noheader,nounits"}
	if first, _, _ := strings.Cut(os.Getenv("CUDA_VISIBLE_DEVICES"), ","); first != "" {
		args = append(args, "--id="+first)
	}
	out, err := exec.CommandContext(ctx, "nvidia-smi", args...).Output()
	if err != nil {
		return 0, 0, false
	}
	line, _, _ := strings.Cut(string(out), "\n")
	a, b, found := strings.Cut(line, ",")
	used, err1 := strconv.ParseFloat(strings.TrimSpace(a), 64)
	total, err2 := strconv.ParseFloat(strings.TrimSpace(b), 64)
	return used * mebi, total * mebi, found && err1 == nil && err2 == nil
}

// Units of memory.
const (
	mebi = 1 << 20
	gibi = 1 << 30
)
