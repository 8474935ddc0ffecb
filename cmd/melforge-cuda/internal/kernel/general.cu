// Mels of every other kind: any window, hop and framing, and transforms of 2·n
// points where n has no prime factors but 2, 3 and 5. A team of threads computes a
// frame, all in double precision; what a clip needs as a whole comes after.
#include <cuda_fp16.h>

#include "recipe.cuh"
#include "stockham.cuh"
#include "whole.cuh"

extern __shared__ __align__(16) unsigned char memory[];

namespace {

// source is where in a clip of n samples sample i comes from; -1 is a zero.
__device__ int source(const Recipe& r, int i, int n) {
  if (r.mirror) {
    const int end = r.longest ? r.longest : n;
    if (end == 1) i = 0;
    while (i < 0 || i >= end) i = i < 0 ? -i : 2 * (end - 1) - i;
  }
  return i >= 0 && i < n ? i : -1;
}

// Frame is the samples of one frame: those of a clip of n samples from begin on.
struct Frame {
  const Recipe& r;
  const short* clip;
  int n, begin;
  double mean;  // of its samples, where that is taken away

  __device__ __forceinline__ Frame(const Recipe& r, const short* clip, int n, int begin) : r(r), clip(clip), n(n), begin(begin), mean(0) {
    if (r.centre) {  // every warp of a team for itself
      int sum = 0;
      for (int i = threadIdx.x % 32; i < r.window; i += 32) sum += clip[begin + i];
      mean = double(__reduce_add_sync(~0u, sum)) / r.window;
    }
  }

  // inside says whether it and the sample before it lie within the clip.
  __device__ __forceinline__ bool inside() const { return begin > 0 && begin + r.fft <= n; }

  // emphasised is what sample x counts after the one before it.
  __device__ __forceinline__ double emphasised(double x, double before, double frame_before) const {
    if (r.emphasis != 0) x -= r.emphasis * before;
    if (r.centre || r.frame_emphasis != 0) x = x - mean - r.frame_emphasis * (frame_before - mean);
    return x;
  }

  // any is sample i of any frame, windowed by w.
  __device__ double any(int i, double w) const {
    const int from = w != 0 ? source(r, begin + i, n) : -1;
    if (from < 0) return 0;
    const double x = clip[from], before = from > 0 ? clip[from - 1] : 0;
    return emphasised(x, before, i > 0 && from > 0 ? before : x) * w;
  }

  // pair is samples i and i+1 of a frame inside the clip, windowed by w.
  __device__ __forceinline__ double2 pair(int i, double2 w) const {
    const short* x = clip + begin + i;
    const double first = x[0], second = x[1];
    double before = 0;
    if (r.emphasis != 0 || r.frame_emphasis != 0) before = x[-1];
    return make_double2(emphasised(first, before, i > 0 ? before : first) * w.x, emphasised(second, first, first) * w.y);
  }
};

// fill leaves the windowed samples of a frame in z, two to each of n values.
__device__ __forceinline__ void fill(const Team& team, const Frame& f, const Tables* tables, int n, double2* z) {
  if (f.inside()) {
#pragma unroll 4
    for (int i = team.thread; i < n; i += team.size) z[spot(i)] = f.pair(2 * i, tables->window(i));
  } else {
#pragma unroll 1
    for (int i = team.thread; i < n; i += team.size) {
      const double2 w = tables->window(i);
      z[spot(i)] = make_double2(f.any(2 * i, w.x), f.any(2 * i + 1, w.y));
    }
  }
  team.meet();
}

// spectrum turns the transform z of n complex values, which are 2n real ones, into
// powers or magnitudes in its place: two bins at a time, for they are made of the
// same values.
template <int kEach>
__device__ __forceinline__ void spectrum(const Team& team, const Recipe& r, const Tables* tables, int n, double2* z) {
  constexpr int kMine = kEach / 2 + 1;
  double p[kMine], q[kMine];
#pragma unroll
  for (int m = 0; m < kMine; m++) {
    const int k = min(team.thread + m * team.size, n / 2);
    const double2 a = z[spot(k)], b = z[spot(k == 0 ? 0 : n - k)], t = tables->root(r, k);
    const double er = 0.5 * (a.x + b.x), ei = 0.5 * (a.y - b.y), dr = 0.5 * (a.y + b.y), di = -0.5 * (a.x - b.x);
    const double u = dr * t.x - di * t.y, v = dr * t.y + di * t.x;
    p[m] = (er + u) * (er + u) + (v + ei) * (v + ei), q[m] = (er - u) * (er - u) + (v - ei) * (v - ei);
    if (r.magnitude) p[m] = sqrt(p[m] + r.root_add), q[m] = sqrt(q[m] + r.root_add);
  }
  team.meet();
  double* power = &z->x;
#pragma unroll
  for (int m = 0; m < kMine; m++) {
    const int k = team.thread + m * team.size;
    if (k <= n / 2) power[k] = p[m], power[n - k] = q[m];
  }
  team.meet();
}

// bands leaves a frame's values in row, and returns the larger of most and the
// thread's.
__device__ __forceinline__ double bands(const Team& team, const Recipe& r, const Tables* tables, const double2* z, double* row, double most) {
  for (int b = team.thread; b < (r.mels + 31) / 32 * 32; b += team.size) {
    const int g = b / 32, bins = r.bins[g];
    const double* w = tables->weights(r, g) + b % 32;
    const double* power = &z->x + tables->first[b];
    double sum = 0;
#pragma unroll 4
    for (int k = 0; k < bins; k++) sum = fma(w[32 * k], power[k], sum);
    if (b >= r.mels) continue;
    const double value = log2(fmax(sum + r.log_add, r.log_least)) * r.scale + r.bias;
    row[b] = value, most = fmax(most, value);
  }
  return most;
}

// tile computes one, and leaves values before the floor and the normalisation in
// values, and what the tile knows of them in sums.
template <typename Transform>
__device__ __forceinline__ void tile(const short* pcm, double* values, double* sums, const Tile& t, const Tables* tables, const Recipe& r) {
  const Team team(Transform::kN ? 32 : r.team);
  const int n = Transform::kN ? Transform::kN : r.fft / 2;
  double2* z = reinterpret_cast<double2*>(memory) + team.index * spot(n);
  double* rows = values + t.out + (long long)t.first * r.mels;
  double most = r.silence;
  for (int f = team.index; f < t.frames; f += blockDim.x / team.size) {
    fill(team, Frame(r, pcm + t.at, t.samples, r.start + (t.first + f) * r.hop), tables, n, z);
    Transform::of(team, r, z, tables->turns(r));
    spectrum<Transform::kEach>(team, r, tables, n, z);
    most = bands(team, r, tables, z, rows + f * r.mels, most);
    team.meet();
  }
  __syncthreads();
  if (r.normalize)
    leave_sums(rows, t.frames, r.mels, sums);
  else if (r.range > 0)
    leave_most(most, reinterpret_cast<double*>(memory), sums);
}

}  // namespace

// A block computes a tile: general256 and general512 those with transforms of as
// many complex values, and general all others.
#define GENERAL(name, blocks, ...)                                                                                                \
  extern "C" __global__ void __launch_bounds__(128, blocks)                                                                       \
      name(const short* __restrict__ pcm, double* __restrict__ values, double* __restrict__ sums, const Tile* __restrict__ tiles, \
           const Tables* __restrict__ tables) {                                                                                   \
    tile<__VA_ARGS__>(pcm, values, sums + (long long)blockIdx.x * 2 * recipe.mels, tiles[blockIdx.x], tables, recipe);            \
  }
GENERAL(general256, 6, Fixed<8, 8, 8, 4>)
GENERAL(general512, 4, Fixed<16, 8, 8, 8>)
GENERAL(general, 3, Any)
#undef GENERAL

// finish does what needs the whole clip, a block a tile, when all tiles are
// computed. It leaves the result in values and, in FP16 and with the padding's value
// behind it, in out.
extern "C" __global__ void __launch_bounds__(512)
    finish(double* __restrict__ values, const double* __restrict__ sums, __half* __restrict__ out, const Tile* __restrict__ tiles) {
  const Recipe& r = recipe;
  __shared__ double room[512];
  __shared__ Moments moments[kMaxMels];
  const Tile t = tiles[blockIdx.x];
  const double* clip = sums + (long long)(blockIdx.x - t.first / kTile) * 2 * r.mels;  // what its tiles left
  const int begin = t.out + t.first * r.mels, count = t.frames * r.mels;
  double pad = 0, least = -1.7e308;
  if (r.normalize) {
    const Parts parts(r.mels, room);
    const Moments m = parts.moments(clip, t.total);
    if (parts.part == 0) moments[parts.band] = m;
    __syncthreads();
  } else {
    if (r.range > 0) least = most_of(r, clip, t.total, room) - r.range;
    pad = fmax(r.silence, least);
  }
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    double v = values[begin + i];
    if (r.normalize) {
      const Moments m = moments[i % r.mels];
      v = (v - m.mean) / m.deviation;
    }
    values[begin + i] = v = fmax(v, least);
    out[begin + i] = __float2half_rn(float(v));
  }
  if (t.first == 0 && threadIdx.x == 0) out[t.out + t.total * r.mels] = __float2half_rn(float(pad));
}
