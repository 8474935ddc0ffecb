// Log-mel spectrograms: int16 samples in, FP16 frames out.
//
// A block of ten warps computes tiles of 32 frames of one clip, a lane a frame,
// so that every access to shared memory is free of bank conflicts and every
// table value is the same for a whole warp. The 400-point FFT of real samples
// is 20 by 20: a warp transforms two of the 20 columns, and after one exchange
// one of the rows. Samples are real, so 11 of the 20 rows suffice and each of
// their outputs is a bin of its own; there is nothing to untangle.
//
// The transform runs in double, or, where a device has too little shared memory
// for that, in single precision. What lies 80 dB below a clip's maximum counts,
// and there the rounding errors of float32 are 5e-5 of the result.
//
// Both the scaling and the rounding to FP16 are monotone. So the rounded values
// are written before the clip's maximum is known, and floors raises those that
// lie too far below it, as if the floor had been applied first.
#pragma once

#include <cuda_fp16.h>

#include "fft.cuh"

// A block's Shared. Not in the namespace below: nvcc would put a number of its
// own into the name, another each time.
extern __shared__ __align__(16) unsigned char memory[];

namespace {

constexpr int kWarps = 10;
constexpr int kThreads = 32 * kWarps;
constexpr int kTile = 32;  // frames
constexpr int kHop = 160;
constexpr int kFFT = 400;
constexpr int kBins = kFFT / 2 + 1;
constexpr int kMaxMels = 128;
constexpr int kWeights = 1024;
// A tile's samples, two a word. A word of padding after every hop puts the
// frames of a warp into different banks.
constexpr int kWords = ((kTile - 1) * kHop + kFFT) / 2;
constexpr int kHopWords = kHop / 2;
constexpr int kPaddedWords = kWords + kWords / kHopWords + 1;

// Tables is laid out by tables.go.
struct Tables {
  double window[20][20];      // column, row; over 32768
  double twiddle[20][10][2];  // column, row-1: exp(-2πi·column·row/400)
  float window1[20][20];      // the same in single precision
  float twiddle1[20][10][2];
  float weight[kWeights];     // of the bins of each band, in groups of four
  int band[kMaxMels];         // its first bin, its groups << 8, the first of its groups of weights << 16
  int share[kWarps + 2];      // the first band of each warp
  float scale, bias;          // out = log2(power)·scale + bias
  float least;                // power that the logarithm sees
  float range;                // from the clip's maximum down to the floor, scaled
  int mels;
  int longest;                // samples of a padded clip
};

// Near is the tables where a block reads them: in shared memory if they fit.
template <typename T>
struct Near;

template <>
struct Near<float> {
  float window[20][20], twiddle[20][10][2], weight[kWeights];

  __device__ void load(const Tables* t) {
    const float* from = t->window1[0];  // the three follow each other in Tables too
    for (int i = threadIdx.x; i < int(sizeof(*this) / 4); i += kThreads) window[0][i] = from[i];
  }
  __device__ const float* windows(const Tables*, int n) const { return window[n]; }
  __device__ const float* twiddles(const Tables*, int n) const { return twiddle[n][0]; }
  __device__ const float* weights(const Tables*) const { return weight; }
};

template <>
struct Near<double> {
  __device__ void load(const Tables*) {}
  __device__ const double* windows(const Tables* t, int n) const { return t->window[n]; }
  __device__ const double* twiddles(const Tables* t, int n) const { return t->twiddle[n][0]; }
  __device__ const float* weights(const Tables* t) const { return t->weight; }
};

// Pack is 16 bytes of a table, read at once.
template <typename T>
struct alignas(16) Pack {
  T v[16 / sizeof(T)];
};

template <typename T>
struct Shared {
  unsigned samples[(kPaddedWords + 3) / 4 * 4];
  union {
    T exchange[20][20][32];  // column, part, frame
    struct {
      float power[kBins][32];
      unsigned out[32 * (kMaxMels / 2 + 1)];
    } s;
  } u;
  Near<T> near;
};

constexpr int kLeast = -2147483647 - 1;  // before any value, ordered

// ordered maps floats to ints of the same order, and back.
__device__ int ordered(int bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }

// Tile is the work of a block at a time.
struct Tile {
  int clip, first;              // its clip, and the first of its frames
  int at, samples, out, frames; // the clip: where its samples begin, how many, where its frames go, how many
};

__device__ __forceinline__ Tile tile_at(const uint2* tiles, const uint4* clips, int i) {
  uint2 t = tiles[i];
  uint4 c = clips[t.x];
  return {int(t.x), int(t.y), int(c.x), int(c.y), int(c.z), int(c.w)};
}

// sample is a sample of the clip padded with zeros and mirrored at both ends.
__device__ __forceinline__ unsigned sample(const short* x, int i, int n, int longest) {
  if (i < 0) i = -i;
  if (i >= longest) i = 2 * (longest - 1) - i;
  return i >= 0 && i < n ? (unsigned short)x[i] : 0;
}

// fetch begins to bring a tile's samples into shared memory: a thread the same
// word of every fourth hop.
__device__ __forceinline__ void fetch(unsigned* samples, const short* pcm, const Tile& t, int longest) {
  static_assert(kThreads == 4 * kHopWords, "four hops at a time");
  constexpr int kRounds = (kWords + kThreads - 1) / kThreads;
  const short* x = pcm + t.at;
  const int start = t.first * kHop - kFFT / 2;
  unsigned* to = samples + threadIdx.x + threadIdx.x / kHopWords;
  if (start >= 0 && start + 2 * kWords <= t.samples) {
    const short* from = x + start + 2 * threadIdx.x;
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
#pragma unroll
    for (int j = 0; j < kRounds; j++) {
      if (j < kRounds - 1 || threadIdx.x < kWords - (kRounds - 1) * kThreads)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at + j * 16 * (kHopWords + 1)), "l"(from + j * 2 * kThreads));
    }
    return;
  }
#pragma unroll 1
  for (int j = 0; j < kRounds; j++) {
    int i = threadIdx.x + j * kThreads, at = start + 2 * i;
    if (i < kWords) to[j * 4 * (kHopWords + 1)] = sample(x, at, t.samples, longest) | sample(x, at + 1, t.samples, longest) << 16;
  }
}

// value is one half of a word of samples. Biased to unsigned it is the low end
// of the mantissa of 2^23 or 2^52 + value, which beats the slow conversion
// instruction.
template <int kHalf>
__device__ __forceinline__ float value(unsigned biased, float) {
  return __uint_as_float(__byte_perm(biased, 0x4b000000u, kHalf ? 0x7632 : 0x7610)) - (8388608.0f + 32768.0f);
}

template <int kHalf>
__device__ __forceinline__ double value(unsigned biased, double) {
  return __hiloint2double(0x43300000, kHalf ? biased >> 16 : biased & 0xffff) - (4503599627370496.0 + 32768.0);
}

// column windows and transforms one column, and leaves its rows, turned for the
// second pass, in the exchange.
template <int kHalf, typename T>
__device__ __forceinline__ void column(Shared<T>& s, const Tables* t, const unsigned (&words)[20], int n, int lane) {
  constexpr int kPack = 16 / sizeof(T);
  T x[20], re[11], im[11];
  const Pack<T>* w = reinterpret_cast<const Pack<T>*>(s.near.windows(t, n));
#pragma unroll
  for (int i = 0; i < 20 / kPack; i++) {
    Pack<T> p = w[i];
#pragma unroll
    for (int j = 0; j < kPack; j++) x[kPack * i + j] = value<kHalf>(words[kPack * i + j], T()) * p.v[j];
  }
  real20(x, re, im);
  T(*to)[32] = s.u.exchange[n];
  to[0][lane] = re[0];
  to[1][lane] = re[10];
  const Pack<T>* turn = reinterpret_cast<const Pack<T>*>(s.near.twiddles(t, n));
#pragma unroll
  for (int i = 0; i < (18 + kPack - 1) / kPack; i++) {
    Pack<T> p = turn[i];
#pragma unroll
    for (int j = 0; j < kPack; j += 2) {
      const int k = (kPack * i + j) / 2 + 1;
      if (k < 10) {
        to[2 * k][lane] = fma(re[k], p.v[j], -im[k] * p.v[j + 1]);
        to[2 * k + 1][lane] = fma(re[k], p.v[j + 1], im[k] * p.v[j]);
      }
    }
  }
}

template <typename T>
__device__ __forceinline__ float square(T re, T im) {
  return float(fma(re, re, im * im));
}

// edge_rows transforms rows 0 and 10, whose input v is real, into powers: bins
// 0, 20, … 200, and then 10, 50, … 370, which stands for 400-370 = 30. Row 10 is
// Σ v[n]·exp(-2πi·n(2k+1)/40); for even k that is a transform of only 10 values,
// (v[n] - i·v[n+10])·exp(-2πi·n/40), and odd ks mirror even ones.
template <typename T>
__device__ __forceinline__ void edge_rows(const Shared<T>& s, const Tables* t, float (&power)[21], int lane) {
  T x[20], re[11], im[11];
#pragma unroll
  for (int n = 0; n < 20; n++) x[n] = s.u.exchange[n][0][lane];
  real20(x, re, im);
#pragma unroll
  for (int k = 0; k < 11; k++) power[k] = square(re[k], im[k]);
  T zr[10], zi[10];
#pragma unroll
  for (int n = 0; n < 10; n++) {
    T a = s.u.exchange[n][1][lane], b = s.u.exchange[n + 10][1][lane];
    const T* turn = s.near.twiddles(t, n) + 18;
    T c = turn[0], d = turn[1];
    zr[n] = fma(a, c, b * d), zi[n] = fma(a, d, -b * c);
  }
  complex10(zr, zi);
#pragma unroll
  for (int k = 0; k < 10; k++) power[11 + k] = square(zr[k], zi[k]);
}

// inner_row transforms one of the rows between into powers: bins row, row+20, …
// and, by symmetry, 200-row, 180-row, ….
template <typename T>
__device__ __forceinline__ void inner_row(const Shared<T>& s, float (&power)[21], int row, int lane) {
  T re[20], im[20];
#pragma unroll
  for (int n = 0; n < 20; n++) re[n] = s.u.exchange[n][2 * row][lane], im[n] = s.u.exchange[n][2 * row + 1][lane];
  complex20(re, im);
#pragma unroll
  for (int k = 0; k < 20; k++) power[k] = square(re[k], im[k]);
}

// band is the power in one mel band. Groups of bins are padded with weights of
// zero.
__device__ __forceinline__ float band(const float (*power)[32], const float4* weights, int which, int lane) {
  const float* p = &power[which & 255][lane];
  const float4* w = weights + (which >> 16);
  float sum = 0;
#pragma unroll 1  // there are one to four
  for (int g = which >> 8 & 255; g > 0; g--) {
    float4 q = *w++;
    sum = fmaf(p[0], q.x, sum);
    sum = fmaf(p[32], q.y, sum);
    sum = fmaf(p[64], q.z, sum);
    sum = fmaf(p[96], q.w, sum);
    p += 128;
  }
  return sum;
}

// mels computes all tiles. loudest holds a clip's maximum, ordered; it must be
// kLeast before. With kExact the values before their rounding and floor go to
// exact.
template <typename T, bool kExact>
__device__ __forceinline__ void mels(const short* __restrict__ pcm, __half* __restrict__ out, int* __restrict__ loudest,
                                     const uint4* __restrict__ clips, const uint2* __restrict__ tiles, long long count,
                                     const Tables* __restrict__ t, float* __restrict__ exact) {
  Shared<T>& s = *reinterpret_cast<Shared<T>*>(memory);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int i = blockIdx.x;
  if (i >= count) return;
  s.near.load(t);
  const int mel_count = t->mels, longest = t->longest;
  const float scale = t->scale, bias = t->bias, least = t->least;
  const int first_band = t->share[warp], bands = t->share[warp + 1] - first_band;
  const int my_band = lane < bands ? t->band[first_band + lane] : 0;
  const float4* weights = reinterpret_cast<const float4*>(s.near.weights(t));
  Tile tile = tile_at(tiles, clips, i);
  fetch(s.samples, pcm, tile, longest);
  const int row_words = mel_count / 2, rows = kThreads / row_words;
  const int my_row = threadIdx.x / row_words, my_word = threadIdx.x % row_words;
  for (;;) {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    const int following = i + gridDim.x;
    Tile next = tile;
    if (following < count) next = tile_at(tiles, clips, following);
    {
      unsigned words[20];
#pragma unroll
      for (int r = 0; r < 20; r++) words[r] = s.samples[lane * (kHopWords + 1) + warp + 10 * r + r / 8] ^ 0x80008000u;
      column<0>(s, t, words, 2 * warp, lane);
      column<1>(s, t, words, 2 * warp + 1, lane);
    }
    __syncthreads();
    if (following < count) fetch(s.samples, pcm, next, longest);
    float power[21];
    const int row = warp + 1;
    if (warp == kWarps - 1)
      edge_rows(s, t, power, lane);
    else
      inner_row(s, power, row, lane);
    __syncthreads();  // the powers take the place of what was just read
    if (warp == kWarps - 1) {
#pragma unroll
      for (int k = 0; k < 11; k++) s.u.s.power[20 * k][lane] = power[k];
#pragma unroll
      for (int k = 0; k < 10; k++) s.u.s.power[k < 5 ? 40 * k + 10 : 390 - 40 * k][lane] = power[11 + k];
    } else {
#pragma unroll
      for (int k = 0; k < 20; k++) s.u.s.power[k < 10 ? 20 * k + row : 400 - 20 * k - row][lane] = power[k];
    }
    __syncthreads();
    const int frames = min(kTile, tile.frames - tile.first);
    float best = -3.4e38f;
    unsigned* to = &s.u.s.out[lane * (row_words + 1) + first_band / 2];
    for (int b = 0; b < bands; b += 2) {
      float v[2];
#pragma unroll
      for (int j = 0; j < 2; j++) {
        float sum = band(s.u.s.power, weights, __shfl_sync(~0u, my_band, b + j), lane);
        v[j] = fmaf(__log2f(fmaxf(sum, least)), scale, bias);
        if (kExact && lane < frames) exact[tile.out + (long long)(tile.first + lane) * mel_count + first_band + b + j] = v[j];
      }
      best = fmaxf(best, fmaxf(v[0], v[1]));
      __half2 h = __floats2half2_rn(v[0], v[1]);
      *to++ = *reinterpret_cast<unsigned*>(&h);
    }
    int key = __reduce_max_sync(~0u, lane < frames ? ordered(__float_as_int(best)) : kLeast);
    if (lane == 0) atomicMax(&loudest[tile.clip], key);
    __syncthreads();
    unsigned* rows_out = reinterpret_cast<unsigned*>(out + tile.out + (long long)tile.first * mel_count);
    for (int r = my_row; r < frames; r += rows) rows_out[r * row_words + my_word] = s.u.s.out[r * (row_words + 1) + my_word];
    if (following >= count) return;
    i = following, tile = next;
  }
}

}  // namespace
