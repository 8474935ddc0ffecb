//go:build !amd64

package spectra

// Available are the kernels that this machine can run, the fastest last.
func Available() []Kernels { return []Kernels{Plain()} }
