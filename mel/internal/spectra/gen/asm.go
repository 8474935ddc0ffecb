package main

import (
	"fmt"
	"io"
	"slices"
)

// isa is an instruction set to write a kernel in.
type isa struct {
	name      string
	register  string // the letter of its vectors
	registers int
	lanes     int
	broadcast bool // instructions can read one number into every lane
}

var (
	avx2   = isa{name: "AVX2", register: "Y", registers: 16, lanes: 4}
	avx512 = isa{name: "AVX512", register: "Z", registers: 32, lanes: 8, broadcast: true}
)

// pointers are the registers that hold what a ref starts from.
var pointers = map[string]string{"work": "DI", "row": "R8", "tile": "SI", "window": "R9", "twiddles": "R9", "constants": "DX", "spill": "DI"}

// writer turns a graph into instructions, keeping values in registers while it
// can and else, furthest next use first, in the spill area.
type writer struct {
	isa
	out     io.Writer
	spill   int           // where the spill area starts, from work
	uses    map[*node]int // to come
	next    map[*node][]int
	now     int
	in      []*node // the value in each register
	pinned  []bool
	slots   map[*node]int // values that memory holds too
	free    []int         // slots
	slotMax int
	stored  map[string]bool // pointers through which this body has stored
}

func newWriter(out io.Writer, i isa, spill int) *writer {
	return &writer{isa: i, out: out, spill: spill}
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(w.out, "\t"+format+"\n", args...) }

func (w *writer) reg(i int) string { return fmt.Sprintf("%s%d", w.register, i) }

// read is the address of what n loads. Results go where the arguments were, so
// nothing may be read once they do.
func (w *writer) read(n *node) string {
	if n.op == load && w.stored[n.at.base] {
		panic("a load after a store")
	}
	return w.address(n.at)
}

func (w *writer) address(r ref) string { return fmt.Sprintf("%d(%s)", r.off, pointers[r.base]) }

func (w *writer) slotRef(slot int) ref { return ref{"spill", w.spill + slot*8*lanes} }

// body writes the graph once.
func (w *writer) body(g *graph) {
	order := g.order()
	w.uses, w.next, w.slots = map[*node]int{}, map[*node][]int{}, map[*node]int{}
	w.stored = map[string]bool{}
	w.in, w.pinned = make([]*node, w.registers), make([]bool, w.registers)
	use := func(n *node, at int) {
		w.uses[n]++
		w.next[n] = append(w.next[n], at)
	}
	stored := map[*node][]ref{}
	for i, n := range order {
		for _, a := range n.args() {
			use(a, i)
		}
	}
	for _, s := range g.stores {
		stored[s.value] = append(stored[s.value], s.at)
		if s.value.inMemory() {
			panic("a store of what is in memory")
		}
	}
	for i, n := range order {
		w.now = i
		r := w.compute(n)
		for _, at := range stored[n] {
			w.printf("VMOVUPD %s, %s", w.reg(r), w.address(at))
			w.stored[at.base] = true
		}
		if w.uses[n] == 0 {
			w.in[r] = nil
		}
		clear(w.pinned)
	}
}

// compute writes n's instruction and returns the register of the result.
func (w *writer) compute(n *node) int {
	switch n.op {
	case add, mul:
		a, b := n.a, n.b
		if w.wantsMemory(a) && !w.wantsMemory(b) {
			a, b = b, a
		}
		return w.binary(map[op]string{add: "VADDPD", mul: "VMULPD"}[n.op], n, a, b)
	case sub:
		return w.binary("VSUBPD", n, n.a, n.b)
	}
	return w.fused(n)
}

// wantsMemory says that reading n from memory costs no more than its register.
func (w *writer) wantsMemory(n *node) bool {
	if w.find(n) >= 0 || w.uses[n] > 1 && n.op != fixed {
		return false
	}
	return n.op == load || n.op == fixed && w.broadcast || w.inSlot(n)
}

func (w *writer) inSlot(n *node) bool { _, ok := w.slots[n]; return ok }

// operand is n as the instruction's last source, from memory if that is as
// good, with the suffix that this needs.
func (w *writer) operand(n *node) (text, suffix string) {
	if !w.wantsMemory(n) {
		return w.reg(w.fetch(n)), ""
	}
	switch {
	case n.op == fixed:
		return w.read(n), ".BCST"
	case n.op == load:
		return w.read(n), ""
	}
	return w.address(w.slotRef(w.slots[n])), ""
}

func (w *writer) binary(name string, n, a, b *node) int {
	ra := w.fetch(a)
	tb, suffix := w.operand(b)
	w.spend(n)
	r := w.result(n)
	w.printf("%s%s %s, %s, %s", name, suffix, tb, w.reg(ra), w.reg(r))
	return r
}

// fused writes ±a·b±c in the form that overwrites a value no longer needed.
func (w *writer) fused(n *node) int {
	name := map[op]string{fma: "VFMADD", fnma: "VFNMADD", fms: "VFMSUB", fnms: "VFNMSUB"}[n.op]
	if w.uses[n.c] > 1 && w.uses[n.a] == 1 && n.a != n.b {
		// a = ±a·b ± c
		ra, rc := w.fetch(n.a), w.fetch(n.c)
		tb, suffix := w.operand(n.b)
		w.spend(n)
		w.in[ra] = n
		w.printf("%s132PD%s %s, %s, %s", name, suffix, tb, w.reg(rc), w.reg(ra))
		return ra
	}
	rc := w.fetch(n.c)
	if w.uses[n.c] > 1 {
		copied := w.take()
		w.printf("VMOVAPD %s, %s", w.reg(rc), w.reg(copied))
		rc = copied
	}
	w.pinned[rc] = true
	a, b := n.a, n.b
	if w.wantsMemory(a) && !w.wantsMemory(b) {
		a, b = b, a
	}
	ra := w.fetch(a)
	tb, suffix := w.operand(b)
	w.spend(n)
	w.in[rc] = n
	w.printf("%s231PD%s %s, %s, %s", name, suffix, tb, w.reg(ra), w.reg(rc))
	return rc
}

// find is the register that holds n, or -1.
func (w *writer) find(n *node) int { return slices.Index(w.in, n) }

// fetch brings n into a register and keeps it there for this instruction.
func (w *writer) fetch(n *node) int {
	r := w.find(n)
	if r < 0 {
		r = w.take()
		switch {
		case n.op == fixed:
			w.printf("VBROADCASTSD %s, %s", w.read(n), w.reg(r))
		case n.op == load:
			w.printf("VMOVUPD %s, %s", w.read(n), w.reg(r))
		case w.inSlot(n):
			w.printf("VMOVUPD %s, %s", w.address(w.slotRef(w.slots[n])), w.reg(r))
		default:
			panic("a value that is nowhere")
		}
		w.in[r] = n
	}
	w.pinned[r] = true
	return r
}

// spend counts this instruction's uses, and frees what has no more.
func (w *writer) spend(n *node) {
	for _, a := range n.args() {
		w.uses[a]--
		w.next[a] = w.next[a][1:]
		if w.uses[a] > 0 {
			continue
		}
		if r := w.find(a); r >= 0 {
			w.in[r] = nil
		}
		if slot, ok := w.slots[a]; ok {
			w.free = append(w.free, slot)
			delete(w.slots, a)
		}
	}
}

// result takes a register for n once its arguments are spent.
func (w *writer) result(n *node) int {
	clear(w.pinned)
	r := w.take()
	w.in[r] = n
	return r
}

// take frees a register, spilling the value needed last if none is.
func (w *writer) take() int {
	best, when := -1, -1
	for r, n := range w.in {
		if w.pinned[r] {
			continue
		}
		if n == nil {
			return r
		}
		if at := w.next[n][0]; at > when {
			best, when = r, at
		}
	}
	n := w.in[best]
	if !n.inMemory() && !w.inSlot(n) {
		slot := w.slotMax
		if len(w.free) > 0 {
			slot, w.free = w.free[len(w.free)-1], w.free[:len(w.free)-1]
		} else {
			w.slotMax++
		}
		w.slots[n] = slot
		w.printf("VMOVUPD %s, %s", w.reg(best), w.address(w.slotRef(slot)))
	}
	w.in[best] = nil
	return best
}
