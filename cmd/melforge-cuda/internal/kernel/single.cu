// The kernel of mel.cu in single precision, an image of its own so that a worker
// that does not need it need not load or compile it.
#include "mel.cuh"

extern "C" __global__ void __launch_bounds__(2 * kThreads, 1)
    mel(const short* pcm, __half* out, int* loudest, int* softest, const Tile* tiles, long long count, const Tables* tables) {
  mels<float>(pcm, out, loudest, softest, tiles, int(count), tables, nullptr);
}
