//go:build cuda

package device

import (
	"fmt"

	"gorgonia.org/cu"

	"github.com/melforge/melforge/gpu/wire"
)

// Probe describes every GPU that the driver shows, the unusable ones with what
// is wrong. It makes no context, so that it is quick and takes no memory.
func Probe() ([]wire.Device, error) {
	n, err := cu.NumDevices()
	if err != nil {
		return nil, fmt.Errorf("count the devices: %w", err)
	}
	devices := make([]wire.Device, n)
	for i := range devices {
		devices[i] = describe(i)
	}
	return devices, nil
}

func describe(i int) wire.Device {
	d := wire.Device{Index: i, Driver: cu.Version()}
	dev, err := cu.GetDevice(i)
	if err != nil {
		d.Problem = err.Error()
		return d
	}
	fail := func(err error) {
		if err != nil && d.Problem == "" {
			d.Problem = err.Error()
		}
	}
	d.Name, err = dev.Name()
	fail(err)
	uuid, err := dev.UUID()
	fail(err)
	d.UUID = "GPU-" + uuid.String()
	d.Memory, err = dev.TotalMem()
	fail(err)
	attribute := func(a cu.DeviceAttribute) int {
		v, err := dev.Attribute(a)
		fail(err)
		return v
	}
	major, minor := attribute(cu.ComputeCapabilityMajor), attribute(cu.ComputeCapabilityMinor)
	d.Capability = fmt.Sprintf("%d.%d", major, minor)
	d.Processors, d.L2 = attribute(cu.MultiprocessorCount), attribute(cu.L2CacheSize)
	if d.Problem == "" && major < 8 {
		d.Problem = fmt.Sprintf("its capability is %s, and the kernels need 8.0 or later", d.Capability)
	}
	return d
}
