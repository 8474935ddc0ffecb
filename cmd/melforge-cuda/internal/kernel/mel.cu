// The kernels that the worker runs. scripts/cuda-kernels compiles this file into
// the images beside it.
#include "mel.cuh"

extern "C" __global__ void __launch_bounds__(2 * kThreads, 1)
    mel(const short* pcm, __half* out, int* loudest, int* softest, const Tile* tiles, long long count, const Tables* tables) {
  mels<double>(pcm, out, loudest, softest, tiles, int(count), tables, nullptr);
}

// prepare makes the records of tiles from a table in the host's memory, so that
// the queue that copies samples need not: clips as (at, samples, out, frames),
// and then tiles as (clip, first frame). It also clears the extremes.
extern "C" __global__ void __launch_bounds__(256)
    prepare(const uint4* host, long long clips, Tile* tiles, long long count, int* loudest, int* softest) {
  const uint2* firsts = reinterpret_cast<const uint2*>(host + clips);
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < count; i += gridDim.x * blockDim.x) {
    uint2 t = firsts[i];
    uint4 c = host[t.x];
    tiles[i] = {int(t.x), int(t.y), min(kTile, int(c.w - t.y)), 0, int(c.x), int(c.y), int(c.z), int(c.w)};
    softest[i] = kMost;
  }
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < clips; i += gridDim.x * blockDim.x) loudest[i] = kLeast;
}

// floors raises what lies below the clip's floor, a warp a tile, and writes the
// value of the clip's padding after its last frame.
extern "C" __global__ void __launch_bounds__(128)
    floors(__half* __restrict__ out, const int* __restrict__ loudest, const int* __restrict__ softest, const Tile* __restrict__ tiles,
           long long count, const Tables* __restrict__ tables) {
  const int i = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (i >= count) return;
  const Bands& b = tables->bands;
  const int soft = softest[i], mels = b.mels;
  const Tile t = tiles[i];
  const float least = __int_as_float(ordered(loudest[t.clip])) - b.range;
  if (t.first == 0 && lane == 0) {
    float silence = fmaf(log2_of(b.least), b.scale, b.bias);
    out[t.out + t.total * mels] = __float2half_rn(fmaxf(silence, least));
  }
  if (__int_as_float(ordered(soft)) >= least) return;
  const __half2 low = __float2half2_rn(least);
  const int words = t.frames * mels / 8;
  uint4* to = reinterpret_cast<uint4*>(out + t.out + t.first * mels);
#pragma unroll 4
  for (int j = lane; j < words; j += 32) {
    uint4 was = to[j], now = was;
    __half2* h = reinterpret_cast<__half2*>(&now);
#pragma unroll
    for (int k = 0; k < 4; k++) h[k] = __hmax2(h[k], low);
    if (now.x != was.x || now.y != was.y || now.z != was.z || now.w != was.w) to[j] = now;
  }
}

// spin never ends. It is how the tests provoke a kernel that hangs.
extern "C" __global__ void spin(volatile int* flag) {
  while (*flag != 1) {
  }
}
