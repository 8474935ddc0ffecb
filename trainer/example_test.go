package trainer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/melforge/melforge/trainer"
)

// A training loop: batches of FP16 mels with their texts, and the state that
// goes into a checkpoint.
func Example() {
	d, err := trainer.Open("../python/tests/data/tiny", trainer.Options{Verify: true})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	l, err := trainer.NewLoader(d, trainer.LoaderOptions{Batch: 2, Seed: 1, Half: true, Frames: d.Mel().PaddedFrames()})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	for {
		b, err := l.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break // the next call would begin the next epoch
		}
		if err != nil {
			log.Fatal(err)
		}
		for k := range b.Len() {
			fmt.Printf("step %d: %s\n", b.Step, b.Clip(k).Text)
		}
		fmt.Println(len(b.Half) == b.Len()*b.Mels*b.Width, b.Mels, b.Width)
		b.Release()
	}
	state, err := json.Marshal(l.State())
	if err != nil {
		log.Fatal(err)
	}
	var s trainer.State
	if err := json.Unmarshal(state, &s); err != nil {
		log.Fatal(err)
	}
	fmt.Println("next epoch:", s.Epoch, l.Resume(s))
	// Output:
	// step 0: Yes, please.
	// step 0: A full moon.
	// true 80 3000
	// step 1: Tea for two.
	// step 1: It rains again.
	// true 80 3000
	// step 2: Hello there.
	// true 80 3000
	// next epoch: 1 <nil>
}
