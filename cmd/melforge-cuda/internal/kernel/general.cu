// Mels of every other kind: any window, hop and framing, and transforms of 2·n
// points where n has no prime factors but 2, 3 and 5. A warp computes a frame, all
// in double precision; what a clip needs as a whole comes after. It is simpler
// than mel.cu, and slower.
#include <cuda_fp16.h>

#include "stockham.cuh"

extern __shared__ __align__(16) unsigned char memory[];

// Recipe is laid out by recipe.go: this, then the window, the twiddles
// exp(-2πi·k/fft), and the weights of the bands.
struct Recipe {
  int fft, hop, start, window;  // start: the first sample of frame 0; window: samples that a frame has
  int mirror, longest;          // whether a clip goes on mirrored beyond its ends; where it ends after zeros, or 0
  int mels, radices, radix[12];
  int centre, magnitude, normalize, unused;
  double emphasis, frame_emphasis, root_add;
  double log_add, log_least, scale, bias;  // out = log2(max(x + log_add, log_least))·scale + bias
  double range;                            // from the clip's maximum down to the floor, scaled
  double silence, spare;                   // what no power gives
  int first[512], size[512], at[512];      // of each band: its first bin, its bins, the first of its weights
};

struct Tile {
  int clip, first, frames, unused;
  int at, samples, out, total;
};

namespace {

__device__ const double* window_of(const Recipe* r) { return reinterpret_cast<const double*>(r + 1); }
__device__ const double2* twiddles_of(const Recipe* r) { return reinterpret_cast<const double2*>(window_of(r) + r->fft); }
__device__ const double* weights_of(const Recipe* r) { return reinterpret_cast<const double*>(twiddles_of(r) + r->fft); }

// source is where in a clip of n samples sample i comes from; -1 is a zero.
__device__ int source(const Recipe* r, int i, int n) {
  if (r->mirror) {
    const int end = r->longest ? r->longest : n;
    if (end == 1) i = 0;
    while (i < 0 || i >= end) i = i < 0 ? -i : 2 * (end - 1) - i;
  }
  return i >= 0 && i < n ? i : -1;
}

// fill leaves a frame's windowed samples in x.
__device__ void fill(const Recipe* r, const short* clip, int n, int begin, double* x, int lane) {
  double mean = 0;
  if (r->centre) {
    int sum = 0;
    for (int i = lane; i < r->window; i += 32) sum += clip[begin + i];
    mean = double(__reduce_add_sync(~0u, sum)) / r->window;
  }
  const double* window = window_of(r);
  for (int i = lane; i < r->fft; i += 32) {
    const double w = window[i];
    double v = 0;
    if (const int at = source(r, begin + i, n); w != 0 && at >= 0) {
      v = clip[at];
      if (r->emphasis != 0 && at > 0) v -= r->emphasis * clip[at - 1];
      if (r->centre || r->frame_emphasis != 0) v = v - mean - r->frame_emphasis * (clip[i > 0 ? at - 1 : at] - mean);
    }
    x[i] = v * w;
  }
}

// spectrum turns the transform z of n complex values, which are 2n real ones, into
// powers or magnitudes.
__device__ void spectrum(const Recipe* r, const double2* z, double* power, int lane) {
  const int n = r->fft / 2;
  const double2* turns = twiddles_of(r);
  for (int k = lane; k <= n; k += 32) {
    const double2 a = z[k == n ? 0 : k], b = z[k == 0 ? 0 : n - k];
    const double er = 0.5 * (a.x + b.x), ei = 0.5 * (a.y - b.y), dr = 0.5 * (a.y + b.y), di = -0.5 * (a.x - b.x);
    const double2 t = turns[k];
    const double re = er + (dr * t.x - di * t.y), im = ei + (dr * t.y + di * t.x);
    const double p = re * re + im * im;
    power[k] = r->magnitude ? sqrt(p + r->root_add) : p;
  }
}

}  // namespace

// general computes tiles, a block one, and leaves values before the floor and the
// normalisation in values.
extern "C" __global__ void __launch_bounds__(128)
    general(const short* __restrict__ pcm, double* __restrict__ values, const Tile* __restrict__ tiles, const Recipe* __restrict__ r) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, n = r->fft / 2;
  double2* x = reinterpret_cast<double2*>(memory) + warp * 2 * n;
  double2* y = x + n;
  const Tile t = tiles[blockIdx.x];
  for (int f = warp; f < t.frames; f += blockDim.x / 32) {
    fill(r, pcm + t.at, t.samples, r->start + (t.first + f) * r->hop, &x->x, lane);
    __syncwarp();
    double2 *from = x, *to = y;
    for (int i = 0, done = 1; i < r->radices; done *= r->radix[i++]) {
      pass(r->radix[i], n, done, from, to, twiddles_of(r), lane);
      __syncwarp();
      double2* other = from;
      from = to, to = other;
    }
    double* power = &to->x;
    spectrum(r, from, power, lane);
    __syncwarp();
    double* row = values + t.out + (long long)(t.first + f) * r->mels;
    for (int b = lane; b < r->mels; b += 32) {
      const double* w = weights_of(r) + r->at[b];
      double sum = 0;
      for (int k = 0; k < r->size[b]; k++) sum = fma(w[k], power[r->first[b] + k], sum);
      row[b] = log2(fmax(sum + r->log_add, r->log_least)) * r->scale + r->bias;
    }
    __syncwarp();
  }
}

namespace {

// sum_of adds what the threads of a band have, in their order.
__device__ double sum_of(double* room, double mine, int bands, int band, int parts, bool works) {
  __syncthreads();
  if (works) room[threadIdx.x] = mine;
  __syncthreads();
  double sum = 0;
  if (works)
    for (int p = 0; p < parts; p++) sum += room[p * bands + band];
  return sum;
}

// normalize brings each band to mean 0 and deviation 1 over the clip, with 1e-5
// added to the deviation.
__device__ void normalize(double* values, int frames, int mels, double* room) {
  const int parts = blockDim.x / mels, band = threadIdx.x % mels, part = threadIdx.x / mels;
  const bool works = part < parts;
  double mine = 0;
  for (int f = part; works && f < frames; f += parts) mine += values[(long long)f * mels + band];
  const double mean = sum_of(room, mine, mels, band, parts, works) / frames;
  mine = 0;
  for (int f = part; works && f < frames; f += parts) {
    const double d = values[(long long)f * mels + band] - mean;
    mine = fma(d, d, mine);
  }
  const double squares = sum_of(room, mine, mels, band, parts, works);
  const double deviation = 1e-5 + (frames > 1 ? sqrt(squares / (frames - 1)) : 0);
  for (int f = part; works && f < frames; f += parts) {
    double* v = &values[(long long)f * mels + band];
    *v = (*v - mean) / deviation;
  }
}

// raise applies the floor, and returns it.
__device__ double raise(const Recipe* r, double* values, int count, double* room) {
  double most = r->silence;
  for (int i = threadIdx.x; i < count; i += blockDim.x) most = fmax(most, values[i]);
  room[threadIdx.x] = most;
  __syncthreads();
  for (int n = blockDim.x / 2; n > 0; n /= 2) {
    if (int(threadIdx.x) < n) room[threadIdx.x] = fmax(room[threadIdx.x], room[threadIdx.x + n]);
    __syncthreads();
  }
  const double floor = room[0] - r->range;
  for (int i = threadIdx.x; i < count; i += blockDim.x) values[i] = fmax(values[i], floor);
  return floor;
}

}  // namespace

// finish does what needs the whole clip, a block a clip: it is launched for every
// tile, and works at a clip's first. It leaves the result in values and, in FP16
// and with the padding's value behind it, in out.
extern "C" __global__ void __launch_bounds__(512)
    finish(double* __restrict__ values, __half* __restrict__ out, const Tile* __restrict__ tiles, const Recipe* __restrict__ r) {
  __shared__ double room[512];
  const Tile t = tiles[blockIdx.x];
  if (t.first != 0) return;
  double* mine = values + t.out;
  const int count = t.total * r->mels;
  double pad = 0;
  if (r->normalize) {
    normalize(mine, t.total, r->mels, room);
  } else {
    pad = r->silence;
    if (r->range > 0) pad = fmax(pad, raise(r, mine, count, room));
  }
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[t.out + i] = __float2half_rn(float(mine[i]));
  if (threadIdx.x == 0) out[t.out + count] = __float2half_rn(float(pad));
}
