package gpu

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"testing"
)

var digest = flag.String("digest", "", "file that holds, or gets, a digest of what the engine computes")

// TestDigest wants the bytes that another run of it gave, whatever disturbed
// either: other programs that fill the device, a lower level, smaller batches.
func TestDigest(t *testing.T) {
	if *digest == "" {
		t.Skip("no -digest is given")
	}
	sum := sha256.New()
	for _, m := range computeAll(t, start(t, options(t, "worker"), "whisper-80"), lengths(400), 16) {
		if err := binary.Write(sum, binary.LittleEndian, append(m.Frames, m.Pad)); err != nil {
			t.Fatal(err)
		}
	}
	got := fmt.Sprintf("%x", sum.Sum(nil))
	want, err := os.ReadFile(*digest)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(*digest, []byte(got), 0o600)
		want = []byte(got)
	}
	if err != nil || string(want) != got {
		t.Errorf("%s, want %s (%v)", got, want, err)
	}
}
