// What needs a clip as a whole: its floor, or the mean and the deviation of its
// bands. Every tile leaves what it knows of that, and when all have, every tile
// puts it together: always of the same tiles in the same order, however clips
// come into batches.
#pragma once

#include "recipe.cuh"

namespace {

// leave_sums leaves the mean of each band over the tile's frames and the squares
// of what they differ from it. The block has written the values before.
__device__ void leave_sums(const double* values, int frames, int mels, double* sums) {
  for (int b = threadIdx.x; b < mels; b += blockDim.x) {
    double sum = 0, squares = 0;
#pragma unroll 8
    for (int f = 0; f < frames; f++) sum += values[f * mels + b];
    const double mean = sum / frames;
#pragma unroll 8
    for (int f = 0; f < frames; f++) {
      const double d = values[f * mels + b] - mean;
      squares = fma(d, d, squares);
    }
    sums[b] = mean, sums[mels + b] = squares;
  }
}

// leave_most leaves the largest of what the threads have.
__device__ void leave_most(double most, double* room, double* sums) {
#pragma unroll
  for (int n = 16; n > 0; n /= 2) most = fmax(most, __shfl_xor_sync(~0u, most, n));
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int w = 1; w < int(blockDim.x) / 32; w++) most = fmax(most, room[w]);
  sums[0] = most;
}

// Moments is the mean of a band over a clip, and its deviation with 1e-5 added.
struct Moments {
  double mean, deviation;
};

// Parts divides the tiles of a clip among the threads of a block that have the
// same band.
struct Parts {
  int mels, count, band, part;
  double* room;  // of as many values as the block has threads

  __device__ Parts(int mels, double* room) : mels(mels), count(blockDim.x / mels), band(threadIdx.x % mels), part(threadIdx.x / mels), room(room) {}

  // sum adds what of gives for each of the tiles: every thread its part, and then
  // the parts in their order.
  template <typename Of>
  __device__ __forceinline__ double sum(int tiles, Of of) const {
    double mine = 0;
    if (part < count) {
#pragma unroll 8
      for (int i = part; i < tiles; i += count) mine += of(i);
    }
    __syncthreads();
    room[threadIdx.x] = mine;
    __syncthreads();
    double all = 0;
    for (int p = 0; p < count; p++) all += room[p * mels + band];
    return all;
  }

  // moments puts together what the tiles of a clip of so many frames have left.
  __device__ __forceinline__ Moments moments(const double* sums, int frames) const {
    const int tiles = (frames + kTile - 1) / kTile;
    const double* mine = sums + band;
    const auto weight = [&](int i) { return double(min(kTile, frames - i * kTile)); };
    const double mean = sum(tiles, [&](int i) { return weight(i) * mine[i * 2 * mels]; }) / frames;
    const double squares = sum(tiles, [&](int i) {
      const double d = mine[i * 2 * mels] - mean;
      return fma(weight(i) * d, d, mine[(i * 2 + 1) * mels]);
    });
    return {mean, 1e-5 + (frames > 1 ? sqrt(squares / (frames - 1)) : 0)};
  }
};

// most_of is the largest that a clip's tiles have left, and silence.
__device__ double most_of(const Recipe& r, const double* sums, int frames, double* room) {
  const int tiles = (frames + kTile - 1) / kTile;
  double most = r.silence;
  for (int i = threadIdx.x; i < tiles; i += blockDim.x) most = fmax(most, sums[i * 2 * r.mels]);
  room[threadIdx.x] = most;
  for (int n = blockDim.x / 2; n > 0; n /= 2) {
    __syncthreads();
    if (int(threadIdx.x) < n) room[threadIdx.x] = fmax(room[threadIdx.x], room[threadIdx.x + n]);
  }
  __syncthreads();
  return room[0];
}

}  // namespace
