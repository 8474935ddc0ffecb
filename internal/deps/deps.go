package deps

import (
	_ "github.com/amitybell/piper-voice-jenny"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	_ "github.com/go-audio/wav"
	_ "github.com/k2-fsa/sherpa-onnx-go-linux"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/rs/zerolog"
	_ "github.com/spf13/cobra"
	_ "github.com/spf13/pflag"
	_ "github.com/x448/float16"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "golang.org/x/text/unicode/norm"
	_ "gonum.org/v1/gonum/dsp/fourier"
	_ "gonum.org/v1/hdf5"
)
