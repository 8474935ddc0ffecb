//go:build cuda

// Package device computes mels on one GPU: samples from pinned host memory over
// the bus, the kernels, and frames back, each on its own stream.
package device

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/melforge/melforge/cmd/melforge-cuda/internal/kernel"
	"github.com/melforge/melforge/gpu/wire"
)

// Device is one GPU, ready to compute. Its methods must be called on the thread
// that opened it, but for Wait.
type Device struct {
	setup  wire.Setup
	memory []byte // shared with the parent, pinned
	ctx    cu.CUContext

	prepare, mel, floors, spin cu.Function
	name                       string // of the kernel mel that was chosen

	tables cu.DevicePtr
	blocks int // of the kernel mel that the device runs at once
	shared int // bytes of shared memory that each has

	in, compute, out cu.Stream
	buffers          []*buffer
	next             int // the buffer whose turn it is
	clocks           chan *clock

	Chunk  int           // samples that a buffer holds
	Module time.Duration // what loading the kernels took
	Native bool          // whether they were native code
	Single bool          // whether the transform runs in single precision
}

// Open makes the device of the setup ready: it pins memory and takes what it
// needs of the device's memory, less where that is short.
func Open(s wire.Setup, memory []byte) (*Device, error) {
	d := &Device{setup: s, memory: memory}
	dev, err := cu.GetDevice(s.Device)
	if err != nil {
		return nil, fmt.Errorf("device %d: %w", s.Device, err)
	}
	if d.ctx, err = dev.MakeContext(cu.SchedBlockingSync); err != nil {
		return nil, fmt.Errorf("device %d: no context: %w", s.Device, err)
	}
	processors, err := dev.Attribute(cu.MultiprocessorCount)
	if err != nil {
		return nil, err
	}
	if err := pin(memory); err != nil {
		return nil, err
	}
	if err := d.load(processors); err != nil {
		return nil, err
	}
	for _, stream := range []*cu.Stream{&d.in, &d.compute, &d.out} {
		if *stream, err = cu.MakeStream(cu.NonBlocking); err != nil {
			return nil, fmt.Errorf("make a stream: %w", err)
		}
	}
	if err := d.allocate(); err != nil {
		return nil, err
	}
	return d, d.makeClocks(4 * s.Buffers)
}

// load loads the kernels and their tables.
func (d *Device) load(processors int) error {
	start := time.Now()
	module, native, err := loadImage(kernel.Mel())
	if err != nil {
		return err
	}
	d.Native = native
	for name, f := range map[string]*cu.Function{"prepare": &d.prepare, "floors": &d.floors, "spin": &d.spin} {
		if *f, err = module.Function(name); err != nil {
			return fmt.Errorf("kernel %s: %w", name, err)
		}
	}
	if err := d.choose(module, processors); err != nil {
		return err
	}
	d.Module = time.Since(start)
	tables, err := kernel.Tables(d.setup.Config)
	if err != nil {
		return err
	}
	if d.tables, err = cu.MemAlloc(int64(len(tables))); err != nil {
		return fmt.Errorf("allocate the tables: %w", err)
	}
	if err := cu.MemcpyHtoD(d.tables, unsafe.Pointer(&tables[0]), int64(len(tables))); err != nil {
		return fmt.Errorf("copy the tables: %w", err)
	}
	return cu.Synchronize() // a copy from memory that is not pinned may still be on its way
}

// loadImage loads native code, or compiles for a GPU that is newer or rarer.
func loadImage(i kernel.Image) (m cu.Module, native bool, err error) {
	if m, err = cu.LoadData(i.Native); err == nil {
		return m, true, nil
	}
	if m, err = cu.LoadData(i.PTX); err != nil {
		return m, false, fmt.Errorf("compile the kernels: %w", err)
	}
	return m, false, nil
}

// choose takes the kernels in double precision, or those in single if told to
// or if the device has too little shared memory.
func (d *Device) choose(module cu.Module, processors int) error {
	err := errors.New("single precision is asked for")
	if !d.setup.Single {
		err = d.use(module, processors, "mel", kernel.SharedDouble)
	}
	if err != nil {
		d.Single = true
		err = d.use(module, processors, "mel_single", kernel.SharedSingle)
	}
	return err
}

func (d *Device) use(module cu.Module, processors int, name string, shared int) (err error) {
	if d.mel, err = module.Function(name); err != nil {
		return fmt.Errorf("kernel %s: %w", name, err)
	}
	if err := allowShared(d.mel, shared); err != nil {
		return err
	}
	each, err := d.mel.MaxActiveBlocksPerMultiProcessor(kernel.Threads, int64(shared))
	if err != nil {
		return fmt.Errorf("kernel %s: %w", name, err)
	}
	if each < 1 {
		return fmt.Errorf("kernel %s does not fit this device", name)
	}
	d.name, d.blocks, d.shared = name, each*processors, shared
	return nil
}

// allocate takes the buffers, halving them until they fit.
func (d *Device) allocate() error {
	least := wire.NewLayout(d.setup.Config, 1, 1).Samples
	for d.Chunk = max(d.setup.Chunk, least); ; d.Chunk = max(d.Chunk/2, least) {
		err := d.take()
		if err == nil {
			return nil
		}
		d.free()
		if !errors.Is(err, cu.OutOfMemory) {
			return err
		}
		if d.Chunk == least {
			return fmt.Errorf("not even %d buffers of one clip fit the device's memory: %w; end other programs on device %d or choose another with --devices",
				d.setup.Buffers, err, d.setup.Device)
		}
		fmt.Fprintf(os.Stderr, "warning: device %d is out of memory: halving its batches to %d samples\n", d.setup.Device, max(d.Chunk/2, least))
	}
}

func (d *Device) take() error {
	l := wire.NewLayout(d.setup.Config, 1, d.Chunk)
	for range d.setup.Buffers {
		b, err := newBuffer(l)
		d.buffers = append(d.buffers, b)
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Device) free() {
	for _, b := range d.buffers {
		b.free()
	}
	d.buffers = nil
}

// Attach lets the calling goroutine, which must be locked to its thread, Wait.
func (d *Device) Attach() error { return cu.SetCurrentContext(d.ctx) }

// Used is the device memory that the buffers take, in bytes.
func (d *Device) Used() int64 {
	var n int64
	for _, b := range d.buffers {
		n += b.bytes()
	}
	return n
}
