package wire

// Device is a GPU as melforge-cuda --probe prints it.
type Device struct {
	Index      int    `json:"index"`
	Name       string `json:"name"`
	UUID       string `json:"uuid"`
	Capability string `json:"capability"` // "9.0"
	Processors int    `json:"processors"` // multiprocessors
	L2         int    `json:"l2"`         // bytes of cache
	Memory     int64  `json:"memory"`     // bytes
	Driver     int    `json:"driver"`     // the CUDA version that it supports, as 13000
	Problem    string `json:"problem,omitempty"`
}

// Bandwidth is what melforge-cuda --bandwidth prints: bytes a second between
// pinned host memory and the device.
type Bandwidth struct {
	In   float64 `json:"in"`   // host to device, alone
	Out  float64 `json:"out"`  // device to host, alone
	Both float64 `json:"both"` // both ways at once, the sum
	Free int64   `json:"free"` // bytes of the device's memory that nobody uses
}

// Rates is what melforge-cuda --bench prints, measured in one run. Clips are
// the longest that the configuration has.
type Rates struct {
	Chunk      int     `json:"chunk"`        // samples
	Bus        float64 `json:"bus"`          // clips/s: samples to the device and nothing else
	BusBytes   float64 `json:"bus_bytes"`    // bytes/s of the same
	Duplex     float64 `json:"duplex"`       // clips/s: samples to the device and frames back at once, and no computing
	DeviceOnly float64 `json:"device_only"`  // clips/s: samples and frames stay on the device
	HostToHost float64 `json:"host_to_host"` // clips/s: from the ring and back into it
	Timing     Timing  `json:"timing"`       // of the host-to-host part, in all
	Elapsed    float64 `json:"elapsed"`      // seconds of it
	DeviceUsed int64   `json:"device_used"`  // bytes of the device's memory that the worker holds
	HostPinned int64   `json:"host_pinned"`  // bytes
	Module     float64 `json:"module"`       // seconds of it for the kernels' compilation or loading
	Native     bool    `json:"native"`       // whether they were loaded as native code
	Single     bool    `json:"single"`       // whether they transform in single precision
}
