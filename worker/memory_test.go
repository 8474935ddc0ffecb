package worker

import (
	"strings"
	"testing"
)

func TestMemoryIsShared(t *testing.T) {
	m, err := NewMemory(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	other, err := OpenMemory(m.Name(), 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	m.Bytes()[12345] = 67
	if got := other.Bytes()[12345]; got != 67 {
		t.Errorf("the other side sees %d", got)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if got := m.Bytes()[12345]; got != 67 {
		t.Errorf("after the other side's end: %d", got)
	}
}

func TestOpenMemoryRefuses(t *testing.T) {
	m, err := NewMemory(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for name, size := range map[string]int{m.Name(): 8192, "/proc/self/fd/987654": 1} {
		if _, err := OpenMemory(name, size); err == nil || !strings.Contains(err.Error(), "the parent's memory") {
			t.Errorf("%s, %d bytes: %v", name, size, err)
		}
	}
}

func BenchmarkNewMemory(b *testing.B) {
	for b.Loop() {
		m, err := NewMemory(200 << 20)
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
