package nearest

import "testing"

func TestOf(t *testing.T) {
	flags := []string{"voice", "shard-size", "seed", "jobs"}
	for name, want := range map[string]string{
		"voices": "voice", "vioce": "voice", "shardsize": "shard-size", "sed": "seed", "voice": "voice",
		"colour": "", "": "",
	} {
		if got := Of(name, 2, flags); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"a", "a", 0}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
