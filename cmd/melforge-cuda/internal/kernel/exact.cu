// The kernels of mel.cu with the unrounded values besides, for tests. They are
// images of their own, so that a worker need not load or compile them.
#include "mel.cuh"

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    mel_exact(const short* pcm, __half* out, int* loudest, const uint4* clips, const uint2* tiles, long long count, const Tables* tables, float* exact) {
  mels<double, true>(pcm, out, loudest, clips, tiles, count, tables, exact);
}

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    mel_single_exact(const short* pcm, __half* out, int* loudest, const uint4* clips, const uint2* tiles, long long count, const Tables* tables, float* exact) {
  mels<float, true>(pcm, out, loudest, clips, tiles, count, tables, exact);
}
