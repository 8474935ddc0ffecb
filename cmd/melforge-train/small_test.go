package main

import (
	"strings"
	"testing"

	"github.com/melforge/melforge/trainer/whisper"
)

func TestLabelWidths(t *testing.T) {
	for _, c := range []struct{ max, n, want int }{
		{448, 1, 32}, {448, 32, 32}, {448, 33, 64}, {448, 79, 96}, {448, 300, 320}, {448, 321, 448}, {448, 448, 448}, {24, 5, 24}, {100, 97, 100}, {100, 3, 32},
	} {
		l := &labels{config: whisper.Config{MaxTarget: c.max}}
		if got := l.width(c.n); got != c.want {
			t.Errorf("room for %d of %d labels: %d, want %d", c.n, c.max, got, c.want)
		}
	}
}

func TestHelpHasExamples(t *testing.T) {
	for _, command := range []string{"ctc", "whisper", "compare"} {
		text := ok(t, command, "--help")
		for _, want := range []string{"Examples:", "melforge-train " + command, "--backend", "Exit codes:"} {
			if !strings.Contains(text, want) {
				t.Errorf("the help of %s lacks %q", command, want)
			}
		}
	}
	if !strings.Contains(ok(t, "version"), "GoMLX") {
		t.Error("version does not name GoMLX")
	}
}

func TestBenchRefuses(t *testing.T) {
	for _, x := range []struct{ flag, value, says string }{
		{"--size", "huge", "huge"},
		{"--stage", "half", "encoder, forward, backward or update"},
		{"--dtype", "float8", "float32 or bfloat16"},
		{"--labels", "449", "448"},
		{"--batch", "0", "1 or more"},
	} {
		refuse(t, []string{"bench", x.flag, x.value}, x.says)
	}
}
