package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Raw is what the machine does with bytes and nothing else.
type Raw struct {
	Bytes   int64   `json:"bytes"`
	Files   int     `json:"files"`
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"bytes_per_second"`
}

func newRaw(bytes int64, files int, took time.Duration) Raw {
	return Raw{Bytes: bytes, Files: files, Seconds: took.Seconds(), Rate: float64(bytes) / took.Seconds()}
}

// RawRead reads every file from end to end with read(2), several at a time.
func RawRead(ctx context.Context, paths []string, workers int) (Raw, error) {
	var mu sync.Mutex
	var total int64
	next := make(chan string)
	start := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for range workers {
		g.Go(func() error {
			buf := make([]byte, 1<<20)
			var mine int64
			for p := range next {
				n, err := drain(p, buf)
				if err != nil {
					return err
				}
				mine += n
			}
			mu.Lock()
			total += mine
			mu.Unlock()
			return nil
		})
	}
	g.Go(func() error {
		defer close(next)
		for _, p := range paths {
			select {
			case next <- p:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	err := g.Wait()
	return newRaw(total, len(paths), time.Since(start)), err
}

func drain(path string, buf []byte) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var n int64
	for {
		k, err := f.Read(buf)
		n += int64(k)
		if k == 0 || err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
	}
}

// RawWrite writes that many bytes into files of a folder with write(2), syncs
// them and removes them again; several at a time.
func RawWrite(ctx context.Context, folder string, bytes int64, files, workers int) (Raw, error) {
	if files < 1 || bytes < 1 {
		return Raw{}, fmt.Errorf("write %d bytes into %d files: there is nothing to measure", bytes, files)
	}
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 131) // not zeros, which a file system may leave out
	}
	start := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	paths := make([]string, files)
	for i := range files {
		paths[i] = filepath.Join(folder, fmt.Sprintf("raw-%d", i))
		size := bytes/int64(files) + min(int64(1), bytes%int64(files))
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return fill(paths[i], size, block)
		})
	}
	err := g.Wait()
	took := time.Since(start)
	for _, p := range paths {
		if e := os.Remove(p); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return newRaw(bytes, files, took), err
}

func fill(path string, size int64, block []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for size > 0 && err == nil {
		var n int
		n, err = f.Write(block[:min(size, int64(len(block)))])
		size -= int64(n)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
