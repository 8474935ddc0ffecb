package kernel

import _ "embed" // for the images

// Image is compiled kernels: as machine code for the GPUs that are common now,
// which loads at once, and as PTX, which the driver compiles for any other of
// capability 8.0 or later.
type Image struct{ Native, PTX string }

// Mel is the kernels of mel.cu.
func Mel() Image { return Image{melNative, melPTX} }

// Single is the kernel of single.cu.
func Single() Image { return Image{singleNative, singlePTX} }

// Generals is the kernels of general.cu.
func Generals() Image { return Image{generalNative, generalPTX} }

// Exact is the kernels of exact.cu, for tests.
func Exact() Image { return Image{exactNative, exactPTX} }

var (
	//go:embed mel.fatbin
	melNative string
	//go:embed mel.ptx
	melPTX string
	//go:embed single.fatbin
	singleNative string
	//go:embed single.ptx
	singlePTX string
	//go:embed general.fatbin
	generalNative string
	//go:embed general.ptx
	generalPTX string
	//go:embed exact.fatbin
	exactNative string
	//go:embed exact.ptx
	exactPTX string
)
