package corpus

import (
	"io"
	"strings"
	"testing"
)

// BenchmarkMillion reads 1,000,000 lines an iteration.
func BenchmarkMillion(b *testing.B) {
	const million = 1_000_000
	const text = "Printing, in the only sense with which we are at present concerned."
	benchmarks := []struct{ format, header, record string }{
		{Txt, "", text + "\n"},
		{CSV, "id,text,speed\n", `LJ001-0001,"` + text + "\",1.1\n"},
		{TSV, "id\ttext\tspeed\n", "LJ001-0001\t" + text + "\t1.1\n"},
		{JSONL, "", `{"id":"LJ001-0001","text":"` + text + `","speed":1.1}` + "\n"},
		{LJSpeech, "", "LJ001-0001|" + text + "|" + text + "\n"},
	}
	for _, bb := range benchmarks {
		b.Run(bb.format, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(million * int64(len(bb.record)))
			for b.Loop() {
				src, err := newSource("", io.MultiReader(strings.NewReader(bb.header), &repeat{record: bb.record, n: million}))
				if err != nil {
					b.Fatal(err)
				}
				r := &Reader{format: bb.format, folder: "data"}
				if err := r.start(src); err != nil {
					b.Fatal(err)
				}
				n := 0
				for ; err == nil; n++ {
					_, err = r.Next()
				}
				if err != io.EOF || n != million+1 {
					b.Fatal(n, err)
				}
			}
		})
	}
}
