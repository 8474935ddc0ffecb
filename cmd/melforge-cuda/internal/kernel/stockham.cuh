// Discrete Fourier transforms of n complex values in shared memory, by a warp, in
// Stockham's way: each pass reads one place and writes the other, and the result
// is in natural order.
#pragma once

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

// pass_of does one pass of radix kR when the radices before have a product of
// done. turns are the 2n roots of one.
template <int kR>
__device__ void pass_of(int n, int done, const double2* from, double2* to, const double2* turns, int lane) {
  const int step = n / kR;
  for (int i = lane; i < step; i += 32) {
    const int p = i / done, q = i - p * done;
    double2 v[kR];
#pragma unroll
    for (int j = 0; j < kR; j++) v[j] = from[i + step * j];
    small(v);
    double2* out = to + q + done * kR * p;
    out[0] = v[0];
#pragma unroll
    for (int j = 1; j < kR; j++) out[done * j] = v[j] * turns[2 * done * p * j];
  }
}

__device__ void pass(int radix, int n, int done, const double2* from, double2* to, const double2* turns, int lane) {
  switch (radix) {
    case 2: return pass_of<2>(n, done, from, to, turns, lane);
    case 3: return pass_of<3>(n, done, from, to, turns, lane);
    case 4: return pass_of<4>(n, done, from, to, turns, lane);
    default: return pass_of<5>(n, done, from, to, turns, lane);
  }
}

}  // namespace
