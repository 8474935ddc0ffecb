package timeline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

type event struct {
	Phase string `json:"ph"`
	Name  string
	PID   int
	TID   int
	TS    float64
	Dur   float64
	Args  struct {
		Name string
		Of   string
		Sort int `json:"sort_index"`
	}
}

func parse(t *testing.T, b []byte) []event {
	t.Helper()
	var all []event
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return all
}

// TestRows wants every span in the trace as it was, and none over another in its
// row.
func TestRows(t *testing.T) {
	var b bytes.Buffer
	stop := To(&b)
	r := now.Load()
	type span struct{ from, to time.Duration }
	random := rand.New(rand.NewPCG(1, 2))
	var spans []span
	for range 2000 {
		from := time.Duration(random.IntN(1e6)) * time.Microsecond
		spans = append(spans, span{from, from + time.Duration(random.IntN(2e4))*time.Microsecond})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.to, b.to) })
	for i, s := range spans {
		r.add([]string{"even", "odd"}[i%2], "work", "a \"name\"\n", r.zero.Add(s.from), r.zero.Add(s.to))
	}
	r.add("even", "before the beginning", "", r.zero.Add(-time.Second), r.zero.Add(-time.Millisecond))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	rows := map[[2]int][]event{}
	n := 0
	for _, e := range parse(t, b.Bytes()) {
		if e.Phase == "M" {
			if names[e.Args.Name] = true; e.Name == "thread_sort_index" && e.Args.Sort != e.TID {
				t.Errorf("row %d is drawn as %d", e.TID, e.Args.Sort)
			}
			continue
		}
		if s := spans[n]; e.TS != micros(s.from) || e.Dur != micros(s.to-s.from) || e.Name != "work" || e.Args.Of != "a \"name\"\n" {
			t.Fatalf("span %d: %+v, want %v", n, e, s)
		}
		n++
		rows[[2]int{e.PID, e.TID}] = append(rows[[2]int{e.PID, e.TID}], e)
	}
	if n != len(spans) || !names["even"] || !names["odd 1"] {
		t.Errorf("%d spans of %d; names %v", n, len(spans), names)
	}
	for row, all := range rows {
		slices.SortFunc(all, func(a, b event) int { return cmp.Compare(a.TS, b.TS) })
		for i := 1; i < len(all); i++ {
			if all[i].TS < all[i-1].TS+all[i-1].Dur-1e-6 {
				t.Fatalf("row %v: %+v over %+v", row, all[i], all[i-1])
			}
		}
	}
	if len(rows) > 120 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestOff(t *testing.T) {
	start := time.Now()
	if n := testing.AllocsPerRun(100, func() { Add("track", "name", "of", start) }); n != 0 {
		t.Errorf("%g allocations without a timeline", n)
	}
	var a, b bytes.Buffer
	stop := To(&a)
	if err := To(&b)(); err == nil {
		t.Error("two timelines at a time")
	}
	r := now.Load()
	if err := stop(); err != nil || len(parse(t, a.Bytes())) != 0 {
		t.Errorf("an empty timeline: %s, %v", &a, err)
	}
	r.add("late", "late", "", start, time.Now())
	if len(parse(t, a.Bytes())) != 0 {
		t.Errorf("what came late: %s", &a)
	}
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestFull(t *testing.T) {
	stop := To(full{})
	for range 10000 {
		Add("track", "name", "of", time.Now())
	}
	if err := stop(); !errors.Is(err, errFull) {
		t.Errorf("%v, want %v", err, errFull)
	}
}
