package gates

// lanes is into how many runs a sound is cut that are filtered side by side.
// Each sample's result waits for the one before, so that a processor has little
// to do with a single run.
const lanes = 8

// forget is after how many hops the filters have forgotten what was before: in
// 0.2 s it has faded to 1e-20 of its size, beyond what a float64 can hold.
const forget = 2

// runs says where the lanes begin: hop starts[i], each of them length hops long.
// Together they cover all hops, and every lane but the first begins forget hops
// before the first that only it has.
func runs(hops int) (starts [lanes]int, length int) {
	length = min((hops+(lanes-1)*forget+lanes-1)/lanes, hops)
	for i := range starts {
		starts[i] = i * (hops - length) / (lanes - 1)
	}
	return starts, length
}

// kernel filters lanes that begin at the given offsets in samples, length hops
// of them, and stores the energies of the first hop of every lane, then those of
// the second, and so on.
type kernel func(dst []float64, w *weighting, samples []int16, offsets *[lanes]int, hop, length int)

// filterPlain is the kernel that every machine can run.
func filterPlain(dst []float64, w *weighting, samples []int16, offsets *[lanes]int, hop, length int) {
	for lane, from := range offsets {
		var s state
		for i := range length {
			dst[i*lanes+lane] = w.energyFrom(&s, samples[from+i*hop:][:hop])
		}
	}
}

// energies returns the energy of every whole hop of the weighted sound.
func (w *weighting) energies(samples []int16, hop int) []float64 {
	return w.energiesBy(bestKernel(hop), samples, hop)
}

func (w *weighting) energiesBy(k kernel, samples []int16, hop int) []float64 {
	parts := make([]float64, len(samples)/hop)
	starts, length := runs(len(parts))
	offsets := starts
	for i := range offsets {
		offsets[i] *= hop
	}
	scaled := w.scaled()
	energies := make([]float64, lanes*length)
	k(energies, &scaled, samples, &offsets, hop, length)
	for lane := lanes - 1; lane >= 0; lane-- {
		from := min(forget, starts[lane]) // the first lane has nothing to forget
		for i := from; i < length; i++ {
			parts[starts[lane]+i] = energies[i*lanes+lane]
		}
	}
	return parts
}
