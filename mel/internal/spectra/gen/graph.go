package main

import "math"

// op is what a node computes.
type op int

const (
	load  op = iota // a vector from memory, at ref
	fixed           // one number from the table, in every lane, at ref
	add             // a + b
	sub             // a - b
	mul             // a · b
	fma             // a · b + c
	fnma            // c - a · b
	fms             // a · b - c
	fnms            // -(a · b) - c
)

// ref is a place in memory: a pointer's name and bytes from it.
type ref struct {
	base string
	off  int
}

// node is a value of the computation. The product of a node always has its
// fixed factor, if any, as b.
type node struct {
	op      op
	a, b, c *node
	at      ref // of load and fixed
	id      int // in order of creation
	lazy    bool
}

func (n *node) args() []*node {
	var out []*node
	for _, x := range []*node{n.a, n.b, n.c} {
		if x != nil {
			out = append(out, x)
		}
	}
	return out
}

// inMemory says that n need not be computed, only read.
func (n *node) inMemory() bool { return n.op == load || n.op == fixed }

// windowed says that n is a sample times its window, a product that an addition
// can take in.
func (n *node) windowed() bool { return n.op == mul && n.b.at.base == "window" }

// order is the nodes that the stores need, as they are to be computed.
func (g *graph) order() []*node {
	needed := map[*node]bool{}
	var need func(n *node)
	need = func(n *node) {
		if !needed[n] {
			needed[n] = true
			for _, a := range n.args() {
				need(a)
			}
		}
	}
	for _, s := range g.stores {
		need(s.value)
	}
	var out []*node
	done := map[*node]bool{}
	var emit func(n *node)
	emit = func(n *node) {
		if done[n] || n.inMemory() {
			return
		}
		done[n] = true
		for _, a := range n.args() {
			emit(a)
		}
		out = append(out, n)
	}
	for _, n := range g.nodes {
		if needed[n] && !n.lazy {
			emit(n)
		}
	}
	return out
}

// store is a result and where it goes.
type store struct {
	value *node
	at    ref
}

// graph is the computation of one loop body. Its nodes are computed in the
// order of their creation, but lazy ones only when they are needed first.
type graph struct {
	lazy      bool // nodes made now are lazy
	nodes     []*node
	stores    []store
	constants *constants
	fixedAt   map[ref]*node
}

// constants are the numbers that the butterflies multiply by; they open the
// table that the kernel is given.
type constants struct{ values []float64 }

func (c *constants) offset(v float64) int {
	for i, have := range c.values {
		if have == v {
			return 8 * i
		}
	}
	c.values = append(c.values, v)
	return 8 * (len(c.values) - 1)
}

func newGraph(c *constants) *graph { return &graph{constants: c, fixedAt: map[ref]*node{}} }

func (g *graph) node(n node) *node {
	n.id, n.lazy = len(g.nodes), g.lazy
	g.nodes = append(g.nodes, &n)
	return &n
}

func (g *graph) load(base string, off int) *node { return g.node(node{op: load, at: ref{base, off}}) }

// fixed is the number at off from base, one node however often it is asked for.
func (g *graph) fixed(base string, off int) *node {
	at := ref{base, off}
	if g.fixedAt[at] == nil {
		g.fixedAt[at] = g.node(node{op: fixed, at: at})
	}
	return g.fixedAt[at]
}

func (g *graph) constant(v float64) *node { return g.fixed("constants", g.constants.offset(v)) }

func (g *graph) add(a, b *node) *node     { return g.node(node{op: add, a: a, b: b}) }
func (g *graph) sub(a, b *node) *node     { return g.node(node{op: sub, a: a, b: b}) }
func (g *graph) mul(a, b *node) *node     { return g.node(node{op: mul, a: a, b: b}) }
func (g *graph) fma(a, b, c *node) *node  { return g.node(node{op: fma, a: a, b: b, c: c}) }
func (g *graph) fnma(a, b, c *node) *node { return g.node(node{op: fnma, a: a, b: b, c: c}) }

// neg is -n: computed in n's place where that is possible and n has no other
// use, and else by a multiplication.
func (g *graph) neg(n *node) *node {
	opposite := map[op]op{fma: fnms, fnms: fma, fnma: fms, fms: fnma}
	if n.op == sub {
		return g.sub(n.b, n.a)
	}
	o, ok := opposite[n.op]
	if !ok {
		return g.mul(n, g.constant(-1))
	}
	return g.node(node{op: o, a: n.a, b: n.b, c: n.c})
}

func (g *graph) store(v *node, base string, off int) {
	g.stores = append(g.stores, store{v, ref{base, off}})
}

// cx is a complex value; a nil part is zero.
type cx struct{ re, im *node }

func (g *graph) cadd(x, y cx) cx { return cx{g.add0(x.re, y.re), g.add0(x.im, y.im)} }
func (g *graph) csub(x, y cx) cx { return cx{g.sub0(x.re, y.re), g.sub0(x.im, y.im)} }

func (g *graph) add0(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case b.windowed():
		return g.fma(b.a, b.b, a)
	}
	return g.add(a, b)
}

func (g *graph) sub0(a, b *node) *node {
	switch {
	case b == nil:
		return a
	case a == nil:
		return g.neg(b)
	case b.windowed():
		return g.fnma(b.a, b.b, a)
	}
	return g.sub(a, b)
}

// plusI is x + i·s·y, for s = ±1.
func (g *graph) plusI(x, y cx, s int) cx {
	if s < 0 {
		return cx{g.add0(x.re, y.im), g.sub0(x.im, y.re)}
	}
	return cx{g.sub0(x.re, y.im), g.add0(x.im, y.re)}
}

// twiddle is x·(c + i·d).
func (g *graph) twiddle(x cx, c, d *node) cx {
	if x.im == nil {
		return cx{g.mul(x.re, c), g.mul(x.re, d)}
	}
	return cx{g.fnma(x.im, d, g.mul(x.re, c)), g.fma(x.im, c, g.mul(x.re, d))}
}

// turn is x·exp(-2πi·k/n) for known k and n.
func (g *graph) turn(x cx, k, n int) cx {
	k = ((k % n) + n) % n
	switch {
	case k == 0:
		return x
	case 4*k == n && x.im == nil:
		return cx{nil, g.neg(x.re)}
	case 4*k == n:
		return cx{x.im, g.neg(x.re)}
	}
	s, c := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
	return g.twiddle(x, g.constant(c), g.constant(s))
}

// power is |x|².
func (g *graph) power(x cx) *node {
	if x.im == nil {
		return g.mul(x.re, x.re)
	}
	return g.fma(x.im, x.im, g.mul(x.re, x.re))
}
