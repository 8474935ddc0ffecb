package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestCommitted holds the committed kernels to be what this generator writes.
func TestCommitted(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what gen writes: run go generate in mel/internal/spectra", name)
		}
	}
}
