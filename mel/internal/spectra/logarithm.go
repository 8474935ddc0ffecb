package spectra

import "math"

// poly is P in ln(1+f) ≈ f·P(f) for 1+f from √½ to √2, off by less than 5e-9.
var poly = [9]float64{
	0.9999998805470591, -0.49999972830086137, 0.3333500950606187, -0.2500328797168222, 0.1993884114206868,
	-0.1653290706920718, 0.15067591856790943, -0.1457712041661977, 0.08692928856300997,
}

// logarithm holds what the kernels need to take one, in the order they know.
// A number is split into 2^e and 1+f by moving its bits so that a carry into
// the exponent happens at √½.
type logarithm struct {
	floor   float64
	origin  uint64 // √½'s bits less 64 exponents, so that what is left is positive
	mask    uint64 // of the fraction
	lowest  uint64 // √½'s bits
	magic   uint64 // 2^52: or-ed to an integer, it makes a float64 of it
	unmagic float64
	one     float64
	ln2     float64 // in the base asked for
	poly    [9]float64
}

func newLogarithm(p Params) logarithm {
	half := math.Float64bits(math.Sqrt(0.5))
	l := logarithm{
		floor:  max(p.Floor, 0x1p-60),
		origin: half - 64<<52, mask: 1<<52 - 1, lowest: half,
		magic: math.Float64bits(1 << 52), unmagic: 1<<52 + 64, one: 1,
		ln2: math.Ln2 / math.Log(p.Base), poly: poly,
	}
	for i := range l.poly {
		l.poly[i] /= math.Log(p.Base)
	}
	return l
}

// of is the logarithm of x or, if that is greater, of the floor.
func (l *logarithm) of(x float64) float32 { return float32(l.exact(x)) }

// exact is that before it is rounded.
func (l *logarithm) exact(x float64) float64 {
	bits := math.Float64bits(max(x, l.floor)) - l.origin
	e := math.Float64frombits(bits>>52|l.magic) - l.unmagic
	f := math.Float64frombits(bits&l.mask+l.lowest) - l.one
	p := l.poly[8]
	for i := 7; i >= 0; i-- {
		p = math.FMA(p, f, l.poly[i])
	}
	return math.FMA(e, l.ln2, float64(p*f))
}

// Log is the logarithm that p takes of x.
func (p *Plan) Log(x float64) float32 { return p.log.of(x) }
