// Discrete Fourier transforms of n complex values in shared memory, by a team of
// threads that all hold a few of them, in Stockham's way: the result is in natural
// order. A team reads everything before it writes anything, so that one place
// suffices.
#pragma once

#include "recipe.cuh"
#include "team.cuh"

namespace {

__device__ __forceinline__ double2 operator+(double2 a, double2 b) { return make_double2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ double2 operator-(double2 a, double2 b) { return make_double2(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ double2 operator*(double2 a, double2 b) { return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ __forceinline__ double2 operator*(double a, double2 b) { return make_double2(a * b.x, a * b.y); }
__device__ __forceinline__ double2 clockwise(double2 a) { return make_double2(a.y, -a.x); }  // by a quarter

// small transforms a few values in place.
__device__ __forceinline__ void small(double2 (&v)[2]) {
  const double2 a = v[0];
  v[0] = a + v[1], v[1] = a - v[1];
}

__device__ __forceinline__ void small(double2 (&v)[3]) {
  const double2 s = v[1] + v[2], d = 0.86602540378443864676 * clockwise(v[1] - v[2]), m = v[0] - 0.5 * s;
  v[0] = v[0] + s, v[1] = m + d, v[2] = m - d;
}

__device__ __forceinline__ void small(double2 (&v)[4]) {
  const double2 s = v[0] + v[2], d = v[0] - v[2], t = v[1] + v[3], e = clockwise(v[1] - v[3]);
  v[0] = s + t, v[1] = d + e, v[2] = s - t, v[3] = d - e;
}

__device__ __forceinline__ void small(double2 (&v)[5]) {
  const double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410, s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
  const double2 t1 = v[1] + v[4], t2 = v[2] + v[3], t3 = clockwise(v[1] - v[4]), t4 = clockwise(v[2] - v[3]);
  const double2 p = v[0] + (c1 * t1 + c2 * t2), q = v[0] + (c2 * t1 + c1 * t2);
  const double2 a = s1 * t3 + s2 * t4, b = s2 * t3 - s1 * t4;
  v[0] = v[0] + (t1 + t2), v[1] = p + a, v[2] = q + b, v[3] = q - b, v[4] = p - a;
}

__device__ __forceinline__ void small(double2 (&v)[8]) {
  const double half = 0.70710678118654752440;  // of a right angle: its cosine
  double2 even[4] = {v[0], v[2], v[4], v[6]}, odd[4] = {v[1], v[3], v[5], v[7]};
  small(even), small(odd);
  odd[1] = half * (odd[1] + clockwise(odd[1]));
  odd[2] = clockwise(odd[2]);
  odd[3] = half * (clockwise(odd[3]) - odd[3]);
#pragma unroll
  for (int k = 0; k < 4; k++) v[k] = even[k] + odd[k], v[k + 4] = even[k] - odd[k];
}

// spot is where value i lies: with one place in nine empty, the eight that a
// quarter of a warp reads or writes at a time lie in banks of their own in all
// passes of radix 8 and 4.
__device__ __forceinline__ int spot(int i) { return i + (i >> 3); }

// pass does one pass of radix kR over z when the radices before have a product of
// done. A thread has up to kEach values. What output j of a butterfly p is turned
// by is turns[(j - 1)·(n / kR / done) + p]; it returns the next pass's.
template <int kR, int kEach>
__device__ __forceinline__ const double2* pass(const Team& team, int n, int done, double2* z, const double2* turns) {
  constexpr int kMine = (kEach + kR - 1) / kR;
  const int step = n / kR, groups = step / done;
  double2 v[kMine][kR];
#pragma unroll
  for (int m = 0; m < kMine; m++) {
    const int i = team.thread + m * team.size;
#pragma unroll
    for (int j = 0; j < kR; j++) v[m][j] = i < step ? z[spot(i + step * j)] : make_double2(0, 0);
    small(v[m]);
  }
  team.meet();
#pragma unroll
  for (int m = 0; m < kMine; m++) {
    const int i = team.thread + m * team.size, p = i / done, at = i + (kR - 1) * done * p;
    if (i < step) z[spot(at)] = v[m][0];
#pragma unroll
    for (int j = 1; j < kR; j++) {
      if (i < step) z[spot(at + done * j)] = groups > 1 ? v[m][j] * turns[(j - 1) * groups + p] : v[m][j];
    }
  }
  team.meet();
  return turns + (kR - 1) * groups;
}

// Fixed transforms z in its place by a warp, in passes that the compiler knows.
template <int kValues, int... kRadices>
struct Fixed {
  static constexpr int kEach = kValues, kN = (1 * ... * kRadices);  // values of a thread, and of all

  static __device__ __forceinline__ void of(const Team& team, const Recipe&, double2* z, const double2* turns) {
    int done = 1;
    ((turns = pass<kRadices, kEach>(team, kN, done, z, turns), done *= kRadices), ...);
  }
};

// Any is for all others, by a team that has up to 16 each.
struct Any {
  static constexpr int kEach = 16, kN = 0;

  static __device__ __forceinline__ void of(const Team& team, const Recipe& r, double2* z, const double2* turns) {
    for (int i = 0, done = 1; i < r.radices; done *= r.radix[i++]) turns = one(r.radix[i], team, r.fft / 2, done, z, turns);
  }

  static __device__ __forceinline__ const double2* one(int radix, const Team& team, int n, int done, double2* z, const double2* turns) {
    switch (radix) {
      case 2: return pass<2, kEach>(team, n, done, z, turns);
      case 3: return pass<3, kEach>(team, n, done, z, turns);
      case 4: return pass<4, kEach>(team, n, done, z, turns);
      case 5: return pass<5, kEach>(team, n, done, z, turns);
      default: return pass<8, kEach>(team, n, done, z, turns);
    }
  }
};

}  // namespace
