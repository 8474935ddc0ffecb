package kernel

import _ "embed" // for the images

// Image is compiled kernels: as machine code for the GPUs that are common now,
// which loads at once, and as PTX, which the driver compiles for any other of
// capability 8.0 or later.
type Image struct{ Native, PTX string }

// Mel is the kernels of mel.cu.
func Mel() Image { return Image{melNative, melPTX} }

// Exact is the kernels of exact.cu, for tests.
func Exact() Image { return Image{exactNative, exactPTX} }

var (
	//go:embed mel.fatbin
	melNative string
	//go:embed mel.ptx
	melPTX string
	//go:embed exact.fatbin
	exactNative string
	//go:embed exact.ptx
	exactPTX string
)
