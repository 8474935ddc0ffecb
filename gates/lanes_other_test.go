//go:build !amd64

package gates

// fastKernels are none here.
func fastKernels() map[string]kernel { return map[string]kernel{} }
