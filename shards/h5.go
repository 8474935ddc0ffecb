//go:build cgo && linux && !nohdf5

package shards

/*
#cgo LDFLAGS: -lhdf5
#cgo linux,amd64 CFLAGS: -I/usr/include/hdf5/serial
#cgo linux,amd64 LDFLAGS: -L/usr/lib/x86_64-linux-gnu/hdf5/serial
#cgo linux,arm64 CFLAGS: -I/usr/include/hdf5/serial
#cgo linux,arm64 LDFLAGS: -L/usr/lib/aarch64-linux-gnu/hdf5/serial
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

// The printer that was set for this thread, so that it can be put back.
typedef struct { H5E_auto2_t print; void *data; } printer;

static printer silence(void) {
	printer p = {NULL, NULL};
	H5Eget_auto2(H5E_DEFAULT, &p.print, &p.data);
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	return p;
}
static void restore(printer p) { H5Eset_auto2(H5E_DEFAULT, p.print, p.data); }

typedef struct { char *buf; size_t cap, len; } text;

static herr_t append_error(unsigned n, const H5E_error2_t *e, void *p) {
	text *t = p;
	if (t->len + 1 >= t->cap || !e->desc) return 0;
	int w = snprintf(t->buf + t->len, t->cap - t->len, "%s%s", t->len ? "; " : "", e->desc);
	if (w > 0) t->len += (size_t)w;
	return 0;
}
static void errors(char *buf, size_t cap) {
	text t = {buf, cap, 0};
	buf[0] = 0;
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, append_error, &t);
	H5Eclear2(H5E_DEFAULT);
}

// No time stamps (same input, same bytes); strong close (nothing stays open); the
// stdio driver, because the default one wants a real path and memory has none.
static hid_t create_file(const char *name, hsize_t threshold, hsize_t alignment) {
	hid_t c = H5Pcreate(H5P_FILE_CREATE), a = H5Pcreate(H5P_FILE_ACCESS), f = -1;
	if (c >= 0 && a >= 0 && H5Pset_obj_track_times(c, 0) >= 0 &&
	    H5Pset_libver_bounds(a, H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0 &&
	    H5Pset_alignment(a, threshold, alignment) >= 0 &&
	    H5Pset_fapl_stdio(a) >= 0 &&
	    H5Pset_fclose_degree(a, H5F_CLOSE_STRONG) >= 0)
		f = H5Fcreate(name, H5F_ACC_TRUNC, c, a);
	hid_t kept = H5Eget_current_stack(); // closing would clear the errors
	H5Pclose(c);
	H5Pclose(a);
	H5Eset_current_stack(kept);
	return f;
}

// Fields come first, while the type is still four bytes wide.
static herr_t to_float16(hid_t t) {
	return H5Tset_fields(t, 15, 10, 5, 0, 10) < 0 || H5Tset_size(t, 2) < 0 || H5Tset_ebias(t, 15) < 0 ? -1 : 0;
}
static herr_t to_utf8(hid_t t) {
	return H5Tset_size(t, H5T_VARIABLE) < 0 || H5Tset_cset(t, H5T_CSET_UTF8) < 0 ? -1 : 0;
}

// HDF5 forbids leaving variable-length data without a fill value.
static herr_t to_contiguous(hid_t p, int fill) {
	if (H5Pset_obj_track_times(p, 0) < 0 || H5Pset_layout(p, H5D_CONTIGUOUS) < 0 ||
	    H5Pset_alloc_time(p, H5D_ALLOC_TIME_EARLY) < 0) return -1;
	return fill ? 0 : H5Pset_fill_time(p, H5D_FILL_TIME_NEVER);
}
static herr_t create_dataset(hid_t f, const char *name, hid_t type, hid_t space, hid_t dcpl) {
	hid_t d = H5Dcreate2(f, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
	return d < 0 ? -1 : H5Dclose(d);
}
static herr_t write_all(hid_t d, hid_t type, const void *values) {
	return H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
}
static long long dataset_offset(hid_t d) {
	haddr_t a = H5Dget_offset(d);
	return a == HADDR_UNDEF ? -1 : (long long)a;
}
static ssize_t open_objects(hid_t f) { return H5Fget_obj_count(f, H5F_OBJ_ALL); }
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// library is held during every use of libhdf5: many builds of it are not safe
// for threads, and those that are take a lock of their own.
var library sync.Mutex

// withLibrary runs f with libhdf5 to itself and with its printing to stderr off.
// Both the printing and the error texts belong to the OS thread, which the
// goroutine therefore keeps.
func withLibrary(f func() error) error {
	library.Lock()
	defer library.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := C.silence()
	defer C.restore(p)
	return f()
}

// failed is the error of the libhdf5 call that has just failed, in libhdf5's
// words: any later call would clear them.
func failed(op string) error {
	var buf [2048]C.char
	C.errors(&buf[0], C.size_t(len(buf)))
	text := C.GoString(&buf[0])
	if text == "" {
		text = "no reason given"
	}
	return fmt.Errorf("%s: hdf5: %s", op, text)
}

// wrap gives an identifier made here to a constructor of gonum's package whose
// parameter has that package's own unexported type: T is inferred.
func wrap[T ~int64, R any](construct func(T) R, id int64) R { return construct(T(id)) }

// createFile makes an empty file with the properties that gonum's CreateFile
// cannot set. Objects of threshold bytes and more start at multiples of align.
func createFile(path string, threshold, align int64) (*hdf5.File, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	id := C.create_file(name, C.hsize_t(threshold), C.hsize_t(align))
	if id < 0 {
		return nil, failed("create")
	}
	// Identifier.File holds a reference of its own, so ours goes.
	f := wrap(hdf5.NewDatatype, int64(id)).File()
	if C.H5Fclose(id) < 0 || f == nil {
		return nil, failed("create")
	}
	return f, nil
}

// closeFile closes f after making sure that it takes nothing else with it: an
// object left open would otherwise be closed without its error being seen.
func closeFile(f *hdf5.File) error {
	n := C.open_objects(C.hid_t(f.ID()))
	if f.Close() != nil {
		return failed("close")
	}
	if n != 1 {
		return fmt.Errorf("close: %d hdf5 objects were still open", n-1)
	}
	return nil
}

// float16 is IEEE binary16, little-endian: numpy's '<f2'.
func float16() (*hdf5.Datatype, error) {
	return derive(hdf5.T_IEEE_F32LE, "float16 type", func(t C.hid_t) C.herr_t { return C.to_float16(t) })
}

// utf8Text is text of any length, which h5py reads as str.
func utf8Text() (*hdf5.Datatype, error) {
	return derive(hdf5.T_C_S1, "text type", func(t C.hid_t) C.herr_t { return C.to_utf8(t) })
}

func derive(base *hdf5.Datatype, what string, change func(C.hid_t) C.herr_t) (*hdf5.Datatype, error) {
	t, err := base.Copy()
	if err != nil {
		return nil, failed(what)
	}
	if change(C.hid_t(t.ID())) < 0 {
		return nil, errors.Join(failed(what), t.Close())
	}
	return t, nil
}

// createDataset allocates a contiguous dataset. Gonum's CreateDatasetWith does
// the same but leaks a type each time; its OpenDataset does not.
func createDataset(f *hdf5.File, name string, t *hdf5.Datatype, dims ...uint) (*hdf5.Dataset, error) {
	space, err := hdf5.CreateSimpleDataspace(dims, nil)
	if err != nil {
		return nil, failed(name)
	}
	defer space.Close()
	list, err := hdf5.NewPropList(hdf5.P_DATASET_CREATE)
	if err != nil {
		return nil, failed(name)
	}
	defer list.Close()
	fill := C.int(0)
	if t.Class() == hdf5.T_STRING {
		fill = 1
	}
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	if C.to_contiguous(C.hid_t(list.ID()), fill) < 0 ||
		C.create_dataset(C.hid_t(f.ID()), cname, C.hid_t(t.ID()), C.hid_t(space.ID()), C.hid_t(list.ID())) < 0 {
		return nil, failed(name)
	}
	d, err := f.OpenDataset(name)
	if err != nil {
		return nil, failed(name)
	}
	return d, nil
}

// offsetOf is where a contiguous dataset starts in its file, or -1 for an empty one.
func offsetOf(d *hdf5.Dataset) int64 { return int64(C.dataset_offset(C.hid_t(d.ID()))) }

// writeNumbers fills a dataset of u64. Gonum's Write does the same but loses the
// reason of a failure.
func writeNumbers(d *hdf5.Dataset, values []uint64) error {
	if C.write_all(C.hid_t(d.ID()), C.hid_t(hdf5.T_NATIVE_UINT64.ID()), unsafe.Pointer(&values[0])) < 0 {
		return failed("write")
	}
	return nil
}

// writeStrings fills a dataset of variable-length text. One call for all, because
// the order of calls decides the order in the file.
func writeStrings(d *hdf5.Dataset, t *hdf5.Datatype, values []string) error {
	total := 0
	for _, v := range values {
		total += len(v) + 1
	}
	pointers := (**C.char)(C.calloc(C.size_t(len(values)), C.size_t(unsafe.Sizeof((*C.char)(nil)))))
	defer C.free(unsafe.Pointer(pointers))
	bytes := (*byte)(C.calloc(C.size_t(total), 1))
	defer C.free(unsafe.Pointer(bytes))
	ps, bs := unsafe.Slice(pointers, len(values)), unsafe.Slice(bytes, total)
	for i, v := range values {
		ps[i] = (*C.char)(unsafe.Pointer(&bs[0]))
		bs = bs[copy(bs, v)+1:]
	}
	if C.write_all(C.hid_t(d.ID()), C.hid_t(t.ID()), unsafe.Pointer(pointers)) < 0 {
		return failed("write")
	}
	return nil
}
