//go:build cuda

package device

/*
#include <cuda.h>
#include <stdlib.h>

// What gorgonia.org/cu does not have.
static CUresult pin(void *p, size_t n) { return cuMemHostRegister(p, n, CU_MEMHOSTREGISTER_PORTABLE); }
static CUresult pinned(void **p, size_t n) { return cuMemHostAlloc(p, n, CU_MEMHOSTALLOC_PORTABLE); }
static CUresult allow_shared(CUfunction f, int n) {
	return cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, n);
}
static const char *says(CUresult r) {
	const char *s = 0;
	return cuGetErrorString(r, &s) == CUDA_SUCCESS && s ? s : "unknown error";
}
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"gorgonia.org/cu"
)

func result(what string, r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	return fmt.Errorf("%s: %s (CUDA error %d)", what, C.GoString(C.says(r)), int(r))
}

// pin makes memory of this process reachable for the device's copy engines.
func pin(memory []byte) error {
	if len(memory) == 0 {
		return errors.New("no memory to pin")
	}
	return result(fmt.Sprintf("pin %d bytes of host memory", len(memory)), C.pin(unsafe.Pointer(&memory[0]), C.size_t(len(memory))))
}

// pinned is n new bytes of pinned memory, for the life of the process.
func pinned(n int) ([]byte, error) {
	var p unsafe.Pointer
	if err := result(fmt.Sprintf("allocate %d bytes of pinned memory", n), C.pinned(&p, C.size_t(n))); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), n), nil
}

// allowShared lets a kernel use more shared memory than it gets unasked.
func allowShared(f cu.Function, bytes int) error {
	// cu.Function is a struct around the handle, and hands it to nobody.
	handle := *(*C.CUfunction)(unsafe.Pointer(&f))
	return result(fmt.Sprintf("%d bytes of shared memory a block", bytes), C.allow_shared(handle, C.int(bytes)))
}
