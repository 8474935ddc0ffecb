package main

import "math"

// split divides n into two factors, coprime if it can.
func split(n int) (a, b int) {
	switch {
	case n%20 == 0:
		return n / 5, 5
	case n == 8:
		return 2, 4
	}
	return n / 4, 4
}

// fft is the discrete Fourier transform of x: by butterflies, or by the two
// factors of its length. With coprime factors (Good and Thomas) no twiddles
// come between.
func (g *graph) fft(x []cx) []cx {
	n := len(x)
	switch n {
	case 2:
		return []cx{g.cadd(x[0], x[1]), g.csub(x[0], x[1])}
	case 4:
		return g.fft4(x)
	case 5:
		return g.fft5(x)
	}
	out := make([]cx, n)
	a, b := split(n)
	inner := g.inner(x, a, b, g.fft)
	for ka := range a {
		column := g.column(inner, ka, a, b)
		for kb, v := range g.fft(column) {
			out[g.outputIndex(ka, kb, a, b)] = v
		}
	}
	return out
}

// rfft is the first half of the transform, 0 to n/2, of real x.
func (g *graph) rfft(x []cx) []cx {
	n := len(x)
	if n <= 5 {
		return g.fft(x)[:n/2+1]
	}
	out := make([]cx, n/2+1)
	a, b := split(n)
	inner := g.inner(x, a, b, func(x []cx) []cx {
		half := g.rfft(x)
		full := append(half, make([]cx, len(x)-len(half))...)
		return full // the second half is never asked for
	})
	for ka := range a/2 + 1 {
		for kb, v := range g.fft(g.column(inner, ka, a, b)) {
			k := g.outputIndex(ka, kb, a, b)
			switch {
			case k <= n/2:
				out[k] = v
			case ka != 0 && 2*ka != a: // of a pair one is enough
				out[n-k] = cx{v.re, g.neg(v.im)}
			}
		}
	}
	out[0].im, out[n/2].im = nil, nil
	return out
}

func coprime(a, b int) bool {
	for b != 0 {
		a, b = b, a%b
	}
	return a == 1
}

// inner transforms the b interleaved sequences of length a.
func (g *graph) inner(x []cx, a, b int, fft func([]cx) []cx) [][]cx {
	inner := make([][]cx, b)
	for nb := range inner {
		in := make([]cx, a)
		for na := range in {
			if coprime(a, b) {
				in[na] = x[(b*na+a*nb)%(a*b)]
			} else {
				in[na] = x[b*na+nb]
			}
		}
		inner[nb] = fft(in)
	}
	return inner
}

// column is what the outer transform for ka works on.
func (g *graph) column(inner [][]cx, ka, a, b int) []cx {
	column := make([]cx, b)
	for nb := range column {
		column[nb] = inner[nb][ka]
		if !coprime(a, b) {
			column[nb] = g.turn(column[nb], nb*ka, a*b)
		}
	}
	return column
}

// outputIndex is the frequency at which output kb of column ka belongs.
func (g *graph) outputIndex(ka, kb, a, b int) int {
	if !coprime(a, b) {
		return ka + a*kb
	}
	for k := range a * b {
		if k%a == ka && k%b == kb {
			return k
		}
	}
	panic("no such frequency")
}

func (g *graph) fft4(x []cx) []cx {
	s02, d02 := g.cadd(x[0], x[2]), g.csub(x[0], x[2])
	s13, d13 := g.cadd(x[1], x[3]), g.csub(x[1], x[3])
	return []cx{g.cadd(s02, s13), g.plusI(d02, d13, -1), g.csub(s02, s13), g.plusI(d02, d13, +1)}
}

// fft5 is Winograd's with the last additions as fused multiplications.
func (g *graph) fft5(x []cx) []cx {
	sin1, sin2 := math.Sin(2*math.Pi/5), math.Sin(4*math.Pi/5)
	s14, d14 := g.cadd(x[1], x[4]), g.csub(x[1], x[4])
	s23, d23 := g.cadd(x[2], x[3]), g.csub(x[2], x[3])
	sum, diff := g.cadd(s14, s23), g.csub(s14, s23)
	mid := g.scaled(x[0], sum, -0.25)
	m1, m2 := g.scaled(mid, diff, math.Sqrt(5)/4), g.scaled(mid, diff, -math.Sqrt(5)/4)
	u := g.scaled(d14, d23, sin2/sin1)
	v := g.scaled(d23, d14, -sin2/sin1) // negative
	return []cx{
		g.cadd(x[0], sum),
		g.scaledI(m1, u, -sin1), g.scaledI(m2, v, +sin1),
		g.scaledI(m2, v, -sin1), g.scaledI(m1, u, +sin1),
	}
}

// scaled is x + k·y.
func (g *graph) scaled(x, y cx, k float64) cx {
	return cx{g.axpy(x.re, y.re, k), g.axpy(x.im, y.im, k)}
}

// scaledI is x + i·k·y.
func (g *graph) scaledI(x, y cx, k float64) cx {
	return cx{g.axpy(x.re, y.im, -k), g.axpy(x.im, y.re, k)}
}

func (g *graph) axpy(x, y *node, k float64) *node {
	switch {
	case y == nil:
		return x
	case x == nil:
		return g.mul(y, g.constant(k))
	case k < 0:
		return g.fnma(y, g.constant(-k), x)
	}
	return g.fma(y, g.constant(k), x)
}
