// The kernels that the worker runs. scripts/cuda-kernels compiles this file into
// the images beside it.
#include "mel.cuh"

// The kernels, in double and in single precision.
extern "C" __global__ void __launch_bounds__(kThreads, 2)
    mel(const short* pcm, __half* out, int* loudest, const uint4* clips, const uint2* tiles, long long count, const Tables* tables) {
  mels<double, false>(pcm, out, loudest, clips, tiles, count, tables, nullptr);
}

extern "C" __global__ void __launch_bounds__(kThreads, 3)
    mel_single(const short* pcm, __half* out, int* loudest, const uint4* clips, const uint2* tiles, long long count, const Tables* tables) {
  mels<float, false>(pcm, out, loudest, clips, tiles, count, tables, nullptr);
}

// prepare copies a table from the host's memory, so that the queue that copies
// samples need not, and clears the maxima. size is in words of 16 bytes.
extern "C" __global__ void __launch_bounds__(256) prepare(const uint4* host, uint4* table, long long size, int* loudest, long long clips) {
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < size; i += gridDim.x * blockDim.x) table[i] = host[i];
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < clips; i += gridDim.x * blockDim.x) loudest[i] = kLeast;
}

// floors raises what lies below the clip's floor, a block a tile, and writes
// the value of the clip's padding after its last frame.
extern "C" __global__ void __launch_bounds__(128)
    floors(__half* __restrict__ out, const int* __restrict__ loudest, const uint4* __restrict__ clips, const uint2* __restrict__ tiles,
           const Tables* __restrict__ tables) {
  Tile t = tile_at(tiles, clips, blockIdx.x);
  const int mels = tables->mels;
  const float least = __int_as_float(ordered(loudest[t.clip])) - tables->range;
  const __half2 low = __float2half2_rn(least);
  const int count = min(kTile, t.frames - t.first) * mels / 8;
  uint4* to = reinterpret_cast<uint4*>(out + t.out + (long long)t.first * mels);
  for (int i = threadIdx.x; i < count; i += 128) {
    uint4 was = to[i], now = was;
    __half2* h = reinterpret_cast<__half2*>(&now);
#pragma unroll
    for (int j = 0; j < 4; j++) h[j] = __hmax2(h[j], low);
    if (now.x != was.x || now.y != was.y || now.z != was.z || now.w != was.w) to[i] = now;
  }
  if (t.first == 0 && threadIdx.x == 0) {
    float silence = fmaf(__log2f(tables->least), tables->scale, tables->bias);
    out[t.out + (long long)t.frames * mels] = __float2half_rn(fmaxf(silence, least));
  }
}

// spin never ends. It is how the tests provoke a kernel that hangs.
extern "C" __global__ void spin(volatile int* flag) {
  while (*flag != 1) {
  }
}
