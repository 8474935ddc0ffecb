package gates

import "golang.org/x/sys/cpu"

// fastKernels are those in assembly that this machine can run.
func fastKernels() map[string]kernel {
	all := map[string]kernel{}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all["AVX2"] = filter256
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ {
		all["AVX-512"] = filter512
	}
	return all
}
