package bench

import (
	"context"
	"os"
	"runtime"
	"testing"
)

func TestDropFromCache(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lets files be dropped")
	}
	w, err := MakeWavs(context.Background(), t.TempDir(), 20, 16000, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if held, pages, err := resident(w.Paths[0]); err != nil || held != pages || pages < 8 {
		t.Fatalf("of a file that was just written %d of %d pages are in memory, %v", held, pages, err)
	}
	left, err := DropFromCache(context.Background(), w.Paths)
	if err != nil {
		t.Fatal(err)
	}
	if left == 1 {
		t.Skip("this file system keeps what it is asked to drop")
	}
	if left > 0.1 {
		t.Errorf("%g of the pages are still there", left)
	}
	if _, err := os.ReadFile(w.Paths[3]); err != nil {
		t.Fatal(err)
	}
	if held, pages, err := resident(w.Paths[3]); err != nil || held != pages {
		t.Errorf("of a file that was just read %d of %d pages are in memory, %v", held, pages, err)
	}
	if _, err := DropFromCache(context.Background(), []string{w.Paths[0] + "x"}); err == nil {
		t.Error("a file that is not there was dropped")
	}
}
