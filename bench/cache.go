package bench

import (
	"context"
	"os"

	"golang.org/x/sync/errgroup"
)

// SyncAll has files written to the disk.
func SyncAll(ctx context.Context, paths []string) error {
	return eachFile(ctx, paths, func(f *os.File) error { return f.Sync() })
}

// DropFromCache has the system forget what it holds of files in memory, so that
// the next to read them reads the disk. It says which share of a sample of them
// is held all the same.
func DropFromCache(ctx context.Context, paths []string) (left float64, err error) {
	err = eachFile(ctx, paths, func(f *os.File) error {
		if err := f.Sync(); err != nil { // what is not on the disk cannot be forgotten
			return err
		}
		return forget(f)
	})
	if err != nil || len(paths) == 0 {
		return 0, err
	}
	var held, all int
	for i := 0; i < len(paths); i += max(1, len(paths)/sampled) {
		h, n, err := resident(paths[i])
		if err != nil {
			return 0, err
		}
		held, all = held+h, all+n
	}
	return float64(held) / float64(max(1, all)), nil
}

// sampled is how many files are looked at after they were dropped.
const sampled = 256

// eachFile opens files and works on several at a time.
func eachFile(ctx context.Context, paths []string, work func(*os.File) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for _, p := range paths {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			f, err := os.Open(p)
			if err != nil {
				return err
			}
			defer f.Close()
			return work(f)
		})
	}
	return g.Wait()
}
