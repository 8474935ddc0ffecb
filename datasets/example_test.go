package datasets_test

import (
	"fmt"
	"log"

	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/shards"
)

// How a program in Go reads a dataset.
func Example() {
	folder := datasets.At("dataset")
	d, err := folder.MustLoad()
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range folder.Entries(d) {
		if err != nil {
			log.Fatal(err)
		}
		r, err := shards.Open(folder.Path(e.Shard))
		if err != nil {
			log.Fatal(err)
		}
		m, err := r.Read(e.Index) // m.Frames: FP16 bits, row-major [m.N][m.NMels]
		if err != nil {
			log.Fatal(err)
		}
		x := m.Padded(nil, d.Mel.PaddedFrames()) // [n_mels][3000], as Hugging Face gives it
		fmt.Println(e.ID, m.N, len(x))
		if err := r.Close(); err != nil {
			log.Fatal(err)
		}
	}
}
