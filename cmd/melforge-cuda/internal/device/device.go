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

	fast                       bool // the kernels mel and floors compute, not general and finish
	prepare, mel, floors, spin cu.Function
	general, finish            cu.Function

	tables cu.DevicePtr
	blocks int // of the kernel mel that the device runs at once
	groups int // of each
	shared int // bytes of shared memory that each has

	in, compute, out cu.Stream
	buffers          []*buffer
	next             int // the buffer whose turn it is
	started          int // pieces
	clocks           chan *clock

	Chunk  int           // samples that a buffer holds
	Module time.Duration // what loading the kernels took
	Native bool          // whether they were native code
	Single bool          // whether the transform runs in single precision
}

// Context is a device that this process may use. To make it takes half of the
// time until a device is ready, and needs no setup.
type Context struct {
	index      int
	handle     cu.CUContext
	processors int
}

// NewContext makes a context of the device with that index, for the calling
// thread.
func NewContext(index int) (*Context, error) {
	dev, err := cu.GetDevice(index)
	if err != nil {
		return nil, fmt.Errorf("device %d: %w", index, err)
	}
	c := &Context{index: index}
	if c.handle, err = dev.MakeContext(cu.SchedBlockingSync); err != nil {
		return nil, fmt.Errorf("device %d: no context: %w", index, err)
	}
	c.processors, err = dev.Attribute(cu.MultiprocessorCount)
	return c, err
}

// Open makes the device of the setup ready, with a context.
func Open(s wire.Setup, memory []byte) (*Device, error) {
	c, err := NewContext(s.Device)
	if err != nil {
		return nil, err
	}
	return c.Open(s, memory)
}

// Open makes the device ready: it pins memory and takes what it needs of the
// device's memory, less where that is short.
func (c *Context) Open(s wire.Setup, memory []byte) (_ *Device, err error) {
	if s.Device != c.index {
		return nil, fmt.Errorf("device %d: the context is of device %d", s.Device, c.index)
	}
	d := &Device{setup: s, memory: memory, ctx: c.handle}
	if err := pin(memory); err != nil {
		return nil, err
	}
	if err := d.load(c.processors); err != nil {
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
	module, native, err := d.loadImage(kernel.Mel())
	if err != nil {
		return err
	}
	d.Native = native
	if err := functions(module, map[string]*cu.Function{"prepare": &d.prepare, "floors": &d.floors, "spin": &d.spin}); err != nil {
		return err
	}
	tables, err := d.choose(module, processors)
	if err != nil {
		return err
	}
	d.Module = time.Since(start)
	if d.tables, err = cu.MemAlloc(int64(len(tables))); err != nil {
		return fmt.Errorf("allocate the tables: %w", err)
	}
	if err := cu.MemcpyHtoD(d.tables, unsafe.Pointer(&tables[0]), int64(len(tables))); err != nil {
		return fmt.Errorf("copy the tables: %w", err)
	}
	return cu.Synchronize() // a copy from memory that is not pinned may still be on its way
}

// functions finds a module's kernels by their names.
func functions(module cu.Module, all map[string]*cu.Function) error {
	for name, f := range all {
		var err error
		if *f, err = module.Function(name); err != nil {
			return fmt.Errorf("kernel %s: %w", name, err)
		}
	}
	return nil
}

// generalise takes the kernels for what the kernel mel does not compute, and
// returns their table.
func (d *Device) generalise() ([]byte, error) {
	g, err := kernel.NewGeneral(d.setup.Config)
	if err != nil {
		return nil, err
	}
	module, _, err := d.loadImage(kernel.Generals())
	if err != nil {
		return nil, err
	}
	if err := functions(module, map[string]*cu.Function{g.Kernel: &d.general, "finish": &d.finish}); err != nil {
		return nil, err
	}
	recipe, size, err := module.Global("recipe")
	if err != nil {
		return nil, fmt.Errorf("the kernels' recipe: %w", err)
	}
	if size != int64(len(g.Recipe)) {
		return nil, fmt.Errorf("the kernels' recipe has %d bytes, not %d", size, len(g.Recipe))
	}
	d.shared = g.Shared
	return g.Tables, cu.MemcpyHtoD(recipe, pointer(g.Recipe), size)
}

// loadImage loads native code, or compiles for a GPU that is newer or rarer.
func (d *Device) loadImage(i kernel.Image) (m cu.Module, native bool, err error) {
	if !d.setup.Compile {
		if m, err = cu.LoadData(i.Native); err == nil {
			return m, true, nil
		}
	}
	if m, err = cu.LoadData(i.PTX); err != nil {
		return m, false, fmt.Errorf("compile the kernels: %w", err)
	}
	return m, false, nil
}

// choose takes the kernel mel where it computes the configuration, in double
// precision, or in single if told to or if the device has too little shared
// memory; else the kernels for the rest. It returns their table. Single precision
// is for values within a dynamic range only: far below a clip's maximum it has
// nothing to say.
func (d *Device) choose(module cu.Module, processors int) ([]byte, error) {
	c := d.setup.Config
	if d.fast = kernel.Fast(c); !d.fast {
		return d.generalise()
	}
	ranged := c.DynamicRange > 0
	err := errors.New("single precision is asked for")
	if !d.setup.Single || !ranged {
		err = d.use(module, processors)
	}
	switch {
	case err != nil && !ranged:
		d.fast = false
		return d.generalise()
	case err != nil:
		d.Single = true
		if module, _, err = d.loadImage(kernel.Single()); err != nil {
			return nil, err
		}
		if err = d.use(module, processors); err != nil {
			return nil, err
		}
	}
	return kernel.Tables(c)
}

// use takes a module's kernel mel, with as many groups to a block as fit.
func (d *Device) use(module cu.Module, processors int) (err error) {
	if d.mel, err = module.Function("mel"); err != nil {
		return fmt.Errorf("kernel mel: %w", err)
	}
	d.groups = kernel.MaxGroups
	if g := d.setup.Groups; g > 0 && g < d.groups {
		d.groups = g
	}
	for ; ; d.groups-- {
		d.shared = kernel.Shared(d.groups, d.Single)
		if err = allowShared(d.mel, d.shared); err == nil || d.groups == 1 {
			break
		}
	}
	if err != nil {
		return err
	}
	each, err := d.mel.MaxActiveBlocksPerMultiProcessor(d.groups*kernel.Threads, int64(d.shared))
	if err != nil {
		return fmt.Errorf("kernel mel: %w", err)
	}
	if each < 1 {
		return errors.New("kernel mel does not fit this device")
	}
	d.blocks = each * processors
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
		b, err := newBuffer(l, !d.fast)
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
