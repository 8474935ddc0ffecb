// Command values computes mels for scripts that compare them with those of
// other programs. It is given a preset's name, and reads clips on standard
// input: a length (uint32) and so many samples (int16), little-endian like
// everything here. For each it writes the number of frames (uint32), the
// padding's value and the frames row-major (float32), as they are before FP16.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/melforge/melforge/mel"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "values:", err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) != 1 {
		return errors.New("give one preset's name")
	}
	c, err := mel.Preset(args[0])
	if err != nil {
		return err
	}
	in, out := bufio.NewReader(stdin), bufio.NewWriter(stdout)
	for {
		var n uint32
		if err := binary.Read(in, binary.LittleEndian, &n); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if int64(n) > int64(c.MaxSamples()) {
			return fmt.Errorf("clip of %d samples: %s takes at most %d", n, c.Name, c.MaxSamples())
		}
		samples := make([]int16, n)
		if err := binary.Read(in, binary.LittleEndian, samples); err != nil {
			return err
		}
		frames, pad, err := mel.Values(c, samples)
		if err != nil {
			return err
		}
		for _, v := range []any{uint32(len(frames) / c.NMels), pad, frames} {
			if err := binary.Write(out, binary.LittleEndian, v); err != nil {
				return err
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}
