//go:build !amd64

package gates

// bestKernel is the fastest kernel that this machine has for such hops.
func bestKernel(int) kernel { return filterPlain }
