// The kernels of mel.cu and single.cu with the unrounded values besides, for
// tests.
#define EVERY_LANE_PASSES
#include "mel.cuh"

extern "C" __global__ void __launch_bounds__(2 * kThreads, 1)
    mel_exact(const short* pcm, __half* out, int* loudest, int* softest, const Tile* tiles, long long count, const Tables* tables, float* exact) {
  mels<double>(pcm, out, loudest, softest, tiles, int(count), tables, exact);
}

extern "C" __global__ void __launch_bounds__(2 * kThreads, 1)
    mel_single_exact(const short* pcm, __half* out, int* loudest, int* softest, const Tile* tiles, long long count, const Tables* tables, float* exact) {
  mels<float>(pcm, out, loudest, softest, tiles, int(count), tables, exact);
}
