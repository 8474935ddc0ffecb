// Log-mel spectrograms: int16 samples in, FP16 frames out.
//
// A group of ten warps computes tiles of 32 frames of one clip, a lane a frame,
// so that every access to shared memory is free of bank conflicts and every
// table value is the same for a whole warp. A block has two groups where shared
// memory suffices: while one waits, the other computes. The 400-point FFT of real samples
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

#include "exchange.cuh"
#include "fft.cuh"
#include "group.cuh"

// A block's Shared. Not in the namespace below: nvcc would put a number of its
// own into the name, another each time.
extern __shared__ __align__(16) unsigned char memory[];

namespace {

constexpr int kTile = 32;  // frames
constexpr int kHop = 160;
constexpr int kFFT = 400;
constexpr int kBins = kFFT / 2 + 1;
constexpr int kMaxMels = 128;
constexpr int kGroups = 64;  // of four bins, of all quads of bands
// A tile's samples, two a word. A word of padding after every hop puts the
// frames of a warp into different banks.
constexpr int kWords = ((kTile - 1) * kHop + kFFT) / 2;
constexpr int kHopWords = kHop / 2;
constexpr int kPaddedWords = kWords + kWords / kHopWords + 1;

// Bands is the part of the tables that is the same in both precisions. Half a
// warp computes a pair of bands, so a warp a quad of them.
struct Bands {
  float4 weight[kGroups][2][2];  // of four bins, for each half warp in two bands
  int quad[kMaxMels / 4];        // the first bins of both halves, the groups << 16, the first of its groups << 24
  int number[kMaxMels / 4];      // which bands these are, over four
  int share[kWarps + 2];         // the first quad of each warp
  float scale, bias;             // out = log2(power)·scale + bias
  float least;                   // power that the logarithm sees
  float range;                   // from the clip's maximum down to the floor, scaled
  int mels;
  int longest;                   // samples of a padded clip; 0: clips are not padded
  int reciprocal;                // of half the mels, times 65536
  int unused;
};

template <typename T>
struct Turns {
  T twiddle[20][10][2];  // column, row-1: exp(-2πi·column·row/400), up to row 9 times scale
  T scale[4];            // half of 1/32768, and in double 2^64 times too large
};

// Tables is laid out by tables.go.
struct Tables {
  Bands bands;
  Turns<double> turns;
  Turns<float> turns1;

  __device__ const Turns<double>& of(double) const { return turns; }
  __device__ const Turns<float>& of(float) const { return turns1; }
};

// Tile is the work of a block at a time.
struct alignas(16) Tile {
  int clip, first, frames, unused;  // its clip, the first of its frames there, and how many
  int at, samples, out, total;      // the clip: where its samples begin, how many, where its frames go, how many
};

// Common is the part of shared memory that the groups of a block use together.
template <typename T>
struct Common {
  Bands bands;
  Turns<T> turns;
};

// Shared is a group's part of it.
template <typename T>
struct Shared {
  union {
    Exchange<T> exchange;
    float power[kBins + 3][32];
  };
  unsigned samples[(kPaddedWords + 3) / 4 * 4];
  unsigned out[32 * (kMaxMels / 2 + 1)];
  Tile tile[4];                 // before, now, next and after next
  Gate words, columns, frames;
  volatile int round[kWarps];   // in which each warp is
  int first, step, rounds;      // the group's tiles: first, first + step, …
};

// Shared of tables.go must know.
static_assert(sizeof(Common<double>) == 7664 && sizeof(Shared<double>) == 96192, "as in tables.go");
static_assert(sizeof(Common<float>) == 6048 && sizeof(Shared<float>) == 70592, "as in tables.go");

constexpr int kLeast = -2147483647 - 1, kMost = 2147483647;  // before and after any value, ordered

// ordered maps floats to ints of the same order, and back.
__device__ int ordered(int bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }

// sample is a sample of the clip, padded with zeros if clips are, and mirrored
// at both ends.
__device__ __forceinline__ unsigned sample(const short* x, int i, int n, int longest) {
  const int end = longest ? longest : n;
  if (end == 1) i = 0;
  while (i < 0 || i >= end) i = i < 0 ? -i : 2 * (end - 1) - i;
  return i < n ? (unsigned short)x[i] : 0;
}

// fetch begins to bring a tile's samples into shared memory: a thread the same
// word of every fourth hop.
__device__ __forceinline__ void fetch(unsigned* samples, const short* pcm, const Tile& t, int longest) {
  static_assert(kThreads == 4 * kHopWords, "four hops at a time");
  constexpr int kRounds = (kWords + kThreads - 1) / kThreads;
  const int thread = Place().thread;
  const short* x = pcm + t.at;
  const int start = t.first * kHop - kFFT / 2;
  unsigned* to = samples + thread + thread / kHopWords;
  if (start >= 0 && start + 2 * kWords <= t.samples) {
    const short* from = x + start + 2 * thread;
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
#pragma unroll
    for (int j = 0; j < kRounds; j++) {
      if (j < kRounds - 1 || thread < kWords - (kRounds - 1) * kThreads)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at + j * 16 * (kHopWords + 1)), "l"(from + j * 2 * kThreads) : "memory");
    }
    return;
  }
#pragma unroll 1
  for (int j = 0; j < kRounds; j++) {
    int i = thread + j * kThreads, at = start + 2 * i;
    if (i < kWords) to[j * 4 * (kHopWords + 1)] = sample(x, at, t.samples, longest) | sample(x, at + 1, t.samples, longest) << 16;
  }
}

// copy begins to copy tables, by all threads of the block.
template <typename A>
__device__ __forceinline__ void copy(A* to, const A* from) {
  static_assert(sizeof(A) % 16 == 0, "whole words");
  for (int i = threadIdx.x; i < int(sizeof(A) / 16); i += blockDim.x) bring(reinterpret_cast<uint4*>(to) + i, reinterpret_cast<const uint4*>(from) + i);
}

// load begins to bring a tile's record, by two threads of a group.
__device__ __forceinline__ void load(Tile* to, const Tile* tiles, int i) {
  const unsigned thread = Place().thread;
  if (thread < 2) bring(reinterpret_cast<uint4*>(to) + thread, reinterpret_cast<const uint4*>(tiles + i) + thread);
}

// column transforms and windows one column, and leaves its rows, turned for the
// second pass, in the exchange once that is free.
//
// The window is Hann's, ½ - ¼(e + 1/e) with e = exp(2πi·i/400). What that does to
// the turned rows D of a column that was not windowed is ½(D[k] - ½(D[k-1] + D[k+1])):
// so there is no table of it to read.
template <int kHalf, typename T>
__device__ __forceinline__ void column(const Turns<T>& turns, Shared<T>& s, const unsigned (&words)[20], int n, int lane, unsigned parity) {
  int x[20];
  T re[11], im[11];
#pragma unroll
  for (int i = 0; i < 20; i++) x[i] = kHalf ? int(words[i]) >> 16 : int(short(words[i]));
  whole20(x, re, im);
  if (kHalf == 0) s.frames.wait(parity ^ 1);
  const T half = T(0.5), scale = turns.scale[0];
  const T(*turn)[2] = turns.twiddle[n];
  const T last = re[10] * scale, edge = fma(-re[9], turn[0][0], fma(-im[9], turn[0][1], last));
  T before_re = re[0] * scale, before_im = 0;  // D[k-1]
  T re_k = fma(re[1], turn[0][0], -im[1] * turn[0][1]), im_k = fma(re[1], turn[0][1], im[1] * turn[0][0]);
  s.exchange.put(0, n, lane, before_re - re_k, edge);
#pragma unroll
  for (int k = 1; k < 10; k++) {
    const T c = turn[k][0], d = turn[k][1];
    const T after_re = k == 9 ? last * c : fma(re[k + 1], c, -im[k + 1] * d);
    const T after_im = k == 9 ? last * d : fma(re[k + 1], d, im[k + 1] * c);
    s.exchange.put(k, n, lane, fma(-half, before_re + after_re, re_k), k == 1 ? fma(-half, after_im, im_k) : fma(-half, before_im + after_im, im_k));
    before_re = re_k, before_im = im_k;
    re_k = after_re, im_k = after_im;
  }
}

// edge_rows transforms rows 0 and 10, whose input v is real, into powers: bins
// 0, 20, … 200, and then 10, 50, … 370, which stands for 400-370 = 30. Row 10 is
// Σ v[n]·exp(-2πi·n(2k+1)/40); for even k that is a transform of only 10 values,
// (v[n] - i·v[n+10])·exp(-2πi·n/40), and odd ks mirror even ones.
template <typename T>
__device__ __forceinline__ void edge_rows(const Turns<T>& turns, const Shared<T>& s, float (&power)[21], int lane) {
  T zr[10], zi[10];
#pragma unroll
  for (int n = 0; n < 10; n++) {
    const T a = s.exchange.im(0, n, lane), b = s.exchange.im(0, n + 10, lane);
    const T c = turns.twiddle[n][9][0], d = turns.twiddle[n][9][1];
    zr[n] = fma(a, c, b * d), zi[n] = fma(a, d, -b * c);
  }
  complex10(zr, zi);
#pragma unroll
  for (int k = 0; k < 10; k++) power[11 + k] = square(zr[k], zi[k]);
  T x[20], re[11], im[11];
#pragma unroll
  for (int n = 0; n < 20; n++) x[n] = s.exchange.re(0, n, lane);
  real20(x, re, im);
#pragma unroll
  for (int k = 0; k < 11; k++) power[k] = square(re[k], im[k]);
}

// inner_row transforms one of the rows between into powers: bins row, row+20, …
// and, by symmetry, 200-row, 180-row, ….
template <typename T>
__device__ __forceinline__ void inner_row(const Shared<T>& s, float (&power)[21], int row, int lane) {
  T re[20], im[20];
#pragma unroll
  for (int n = 0; n < 20; n++) s.exchange.get(row, n, lane, re[n], im[n]);
  complex20(re, im);
#pragma unroll
  for (int k = 0; k < 20; k++) power[k] = square(re[k], im[k]);
}

// keep writes the powers where the exchange was.
template <typename T>
__device__ __forceinline__ void keep(Shared<T>& s, const float (&power)[21], int row, int lane) {
  if (row == kWarps) {
#pragma unroll
    for (int k = 0; k < 11; k++) s.power[20 * k][lane] = power[k];
#pragma unroll
    for (int k = 0; k < 10; k++) s.power[k < 5 ? 40 * k + 10 : 390 - 40 * k][lane] = power[11 + k];
  } else {
#pragma unroll
    for (int k = 0; k < 20; k++) s.power[k < 10 ? 20 * k + row : 400 - 20 * k - row][lane] = power[k];
  }
}

__device__ __forceinline__ float log2_of(float normal) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(normal));
  return y;
}

// logs is two powers on the output's scale.
__device__ __forceinline__ float2 logs(const Bands& b, float2 power) {
  return make_float2(fmaf(log2_of(fmaxf(power.x, b.least)), b.scale, b.bias), fmaf(log2_of(fmaxf(power.y, b.least)), b.scale, b.bias));
}

__device__ __forceinline__ void add(float2& sum, float2 p, float w) { sum.x = fmaf(p.x, w, sum.x), sum.y = fmaf(p.y, w, sum.y); }

// bands computes a warp's quads of bands, half a warp two bands of two frames a
// lane, and leaves their FP16 values in shared memory. The extremes go to loudest
// and softest, and with exact the values before their rounding and floor there.
template <typename T>
__device__ __forceinline__ void bands(const Bands& t, Shared<T>& s, const Tile& tile, int warp, int lane, int* loudest, int* softest, float* exact) {
  const int row_words = t.mels / 2, last = t.share[warp + 1];
  const int side = lane / 16, frame = lane % 16 * 2;
  const bool one = frame < tile.frames, both = frame + 1 < tile.frames;
  float most = -3.4e38f, low = 3.4e38f;
#pragma unroll 1
  for (int j = t.share[warp]; j < last; j++) {
    const int quad = t.quad[j], pair = 2 * t.number[j] + side;
    const float4* w = t.weight[quad >> 24][side];
    const float* p = &s.power[quad >> 8 * side & 255][frame];
    const float* end = p + (quad >> 16 & 255) * 128;
    float2 a = {0, 0}, b = {0, 0};
#pragma unroll 1
    do {
      const float4 u = w[0], v = w[1];
      const float2 p0 = *reinterpret_cast<const float2*>(p), p1 = *reinterpret_cast<const float2*>(p + 32);
      const float2 p2 = *reinterpret_cast<const float2*>(p + 64), p3 = *reinterpret_cast<const float2*>(p + 96);
      add(a, p0, u.x), add(b, p0, v.x);
      add(a, p1, u.y), add(b, p1, v.y);
      add(a, p2, u.z), add(b, p2, v.z);
      add(a, p3, u.w), add(b, p3, v.w);
      p += 128, w += 4;
    } while (p != end);
    a = logs(t, a), b = logs(t, b);
    if (exact) {
      float* e = exact + tile.out + (long long)(tile.first + frame) * (2 * row_words) + 2 * pair;
      if (one) e[0] = a.x, e[1] = b.x;
      if (both) e[2 * row_words] = a.y, e[2 * row_words + 1] = b.y;
    }
    if (one) most = fmaxf(most, fmaxf(a.x, b.x)), low = fminf(low, fminf(a.x, b.x));
    if (both) most = fmaxf(most, fmaxf(a.y, b.y)), low = fminf(low, fminf(a.y, b.y));
    const __half2 h = __floats2half2_rn(a.x, b.x), k = __floats2half2_rn(a.y, b.y);
    unsigned* to = &s.out[frame * (row_words + 1) + pair];
    to[0] = *reinterpret_cast<const unsigned*>(&h), to[row_words + 1] = *reinterpret_cast<const unsigned*>(&k);
  }
  const int top = __reduce_max_sync(~0u, ordered(__float_as_int(most)));
  const int bottom = __reduce_min_sync(~0u, ordered(__float_as_int(low)));
  if (lane == 0) {
    atomicMax(&loudest[tile.clip], top);
    atomicMin(softest, bottom);
  }
}

// store writes a tile's frames, which lie in shared memory.
template <typename T>
__device__ __forceinline__ void store(const Bands& b, const Shared<T>& s, const Tile& t, __half* out) {
  const int thread = Place().thread;
  const int row_words = b.mels / 2, step = kThreads + (b.reciprocal * kThreads >> 16);
  const int words = t.frames * row_words;
  unsigned* to = reinterpret_cast<unsigned*>(out + t.out) + t.first * row_words + thread;
  const unsigned* from = &s.out[thread + (b.reciprocal * thread >> 16)];
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (thread + j * kThreads < words) to[j * kThreads] = from[j * step];
  }
#pragma unroll 1
  for (int j = 4; thread + j * kThreads < words; j++) to[j * kThreads] = from[j * step];
}

// begin prepares shared memory: it brings the tables and the records of a group's
// first tiles.
template <typename T>
__device__ __forceinline__ void begin(Common<T>& c, Shared<T>& s, const Tile* tiles, int count, const Tables* tables) {
  const Place at;
  const int groups = blockDim.x / kThreads, first = blockIdx.x * groups + at.group, step = gridDim.x * groups;
  if (at.thread == 0) {
    s.words.init(), s.columns.init(), s.frames.init();
    s.first = first, s.step = step, s.rounds = (count - first + step - 1) / step;
  }
  if (at.lane == 0) s.round[at.warp] = 0;
  copy(&c.bands, &tables->bands);
  copy(&c.turns, &tables->of(T()));
  if (first < count) load(&s.tile[0], tiles, first);
  if (first + step < count) load(&s.tile[1], tiles, first + step);
  loaded();
  __syncthreads();
}

// mels computes all tiles, a group of ten warps one after the other. loudest holds
// a clip's maximum, ordered, and softest a tile's minimum: they must be kLeast and
// kMost before.
template <typename T>
__device__ __forceinline__ void mels(const short* __restrict__ pcm, __half* __restrict__ out, int* __restrict__ loudest, int* __restrict__ softest,
                                     const Tile* __restrict__ tiles, int count, const Tables* __restrict__ tables, float* __restrict__ exact) {
  Common<T>& c = *reinterpret_cast<Common<T>*>(memory);
  Shared<T>& s = *reinterpret_cast<Shared<T>*>(memory + sizeof(Common<T>) + Place().group * sizeof(Shared<T>));
  begin(c, s, tiles, count, tables);
  if (s.rounds <= 0) return;
  fetch(s.samples, pcm, s.tile[0], c.bands.longest);
  loaded();
  meet();
  for (;;) {
    {
      const Place at;
      const unsigned parity = s.round[at.warp] & 1;
      unsigned words[20];
#pragma unroll
      for (int r = 0; r < 20; r++) words[r] = s.samples[at.lane * (kHopWords + 1) + at.warp + 10 * r + r / 8];
      s.words.pass(at.lane);
      column<0>(c.turns, s, words, 2 * at.warp, at.lane, parity);
      column<1>(c.turns, s, words, 2 * at.warp + 1, at.lane, parity);
      s.columns.pass(at.lane);
    }
    {
      const int round = s.round[Place().warp];
      s.words.wait(round & 1);
      if (round + 1 < s.rounds) fetch(s.samples, pcm, s.tile[(round + 1) & 3], c.bands.longest);
      if (round > 0) store(c.bands, s, s.tile[(round - 1) & 3], out);
      if (round + 2 < s.rounds) load(&s.tile[(round + 2) & 3], tiles, s.first + (round + 2) * s.step);
      s.columns.wait(round & 1);
    }
    {
      float power[21];
      const Place at;
      if (at.warp == kWarps - 1)
        edge_rows(c.turns, s, power, at.lane);
      else
        inner_row(s, power, at.warp + 1, at.lane);
      meet();  // the powers take the place of what was just read
      const Place again;
      keep(s, power, again.warp + 1, again.lane);
    }
    loaded();
    meet();
    const Place at;
    const int round = s.round[at.warp];
    bands(c.bands, s, s.tile[round & 3], at.warp, at.lane, loudest, softest + s.first + round * s.step, exact);
    if (round + 1 == s.rounds) {
      meet();
      store(c.bands, s, s.tile[round & 3], out);
      return;
    }
    __syncwarp();  // every lane has read its round
    if (at.lane == 0) s.round[at.warp] = round + 1;
    s.frames.pass(at.lane);
  }
}

}  // namespace
