// Discrete Fourier transforms of 20 and 10 values, all in registers. Good and
// Thomas's way needs no twiddles: of 20 = 4·5, n = 5a+4b gives
// exp(-2πi·nk/20) = i^(-ak)·exp(-2πi·bk/5).
#pragma once

// The cosines of 72° and 144°, and their sines. In constant memory an
// instruction takes them as an operand.
__constant__ double kTurns[4] = {0.30901699437494742410, -0.80901699437494742410, 0.95105651629515357212, 0.58778525229247312917};

namespace {

// real5 transforms five whole numbers: the sum, and the values of k = 1 and 2.
template <typename T>
__device__ __forceinline__ void real5(int x0, int x1, int x2, int x3, int x4, T& sum, T& r1, T& i1, T& r2, T& i2) {
  const T c1 = T(kTurns[0]), c2 = T(kTurns[1]), s1 = T(kTurns[2]), s2 = T(kTurns[3]);
  const T x = T(x0), t1 = T(x1 + x4), t2 = T(x2 + x3), t3 = T(x1 - x4), t4 = T(x2 - x3);
  sum = x + (t1 + t2);
  r1 = fma(c2, t2, fma(c1, t1, x)), i1 = -fma(s2, t4, s1 * t3);
  r2 = fma(c1, t2, fma(c2, t1, x)), i2 = fma(s1, t4, -s2 * t3);
}

// whole20 transforms 20 whole numbers: re[0..10], im[1..9]. As long as there are
// only sums, they are exact.
template <typename T>
__device__ __forceinline__ void whole20(const int (&x)[20], T (&re)[11], T (&im)[11]) {
  int sums[5], others[5], d[5], e[5];
#pragma unroll
  for (int b = 0; b < 5; b++) {
    const int x0 = x[4 * b], x1 = x[(4 * b + 5) % 20], x2 = x[(4 * b + 10) % 20], x3 = x[(4 * b + 15) % 20];
    const int odd = x1 + x3;
    sums[b] = x0 + x2 + odd, others[b] = x0 + x2 - odd;
    d[b] = x0 - x2, e[b] = x1 - x3;
  }
  T r1, i1, r2, i2, s1, j1, s2, j2;
  real5(sums[0], sums[1], sums[2], sums[3], sums[4], re[0], r1, i1, r2, i2);
  re[4] = r1, im[4] = -i1, re[8] = r2, im[8] = -i2;
  real5(others[0], others[1], others[2], others[3], others[4], re[10], re[6], im[6], re[2], im[2]);
  real5(d[0], d[1], d[2], d[3], d[4], re[5], r1, i1, r2, i2);
  real5(e[0], e[1], e[2], e[3], e[4], im[5], s1, j1, s2, j2);
  im[5] = -im[5];
  re[1] = r1 + j1, im[1] = i1 - s1;
  re[9] = r1 - j1, im[9] = -(i1 + s1);
  re[3] = r2 + j2, im[3] = s2 - i2;
  re[7] = r2 - j2, im[7] = i2 + s2;
}

// real20 transforms 20 real values: re[0..10], im[1..9].
template <typename T>
__device__ __forceinline__ void real20(const T (&x)[20], T (&re)[11], T (&im)[11]) {
  const T c1 = T(kTurns[0]), c2 = T(kTurns[1]), s1 = T(kTurns[2]), s2 = T(kTurns[3]);
  T y0[4], r1[4], i1[4], r2[4], i2[4];
#pragma unroll
  for (int a = 0; a < 4; a++) {
    T x0 = x[5 * a], x1 = x[(5 * a + 4) % 20], x2 = x[(5 * a + 8) % 20], x3 = x[(5 * a + 12) % 20], x4 = x[(5 * a + 16) % 20];
    T t1 = x1 + x4, t2 = x2 + x3, t3 = x1 - x4, t4 = x2 - x3;
    y0[a] = x0 + (t1 + t2);
    r1[a] = fma(c2, t2, fma(c1, t1, x0));
    r2[a] = fma(c1, t2, fma(c2, t1, x0));
    i1[a] = -fma(s2, t4, s1 * t3);
    i2[a] = fma(s1, t4, -s2 * t3);
  }
  T s = y0[0] + y0[2], t = y0[1] + y0[3];
  re[0] = s + t, im[0] = 0;
  re[10] = s - t, im[10] = 0;
  re[5] = y0[0] - y0[2], im[5] = y0[3] - y0[1];
  T sr = r1[0] + r1[2], si = i1[0] + i1[2], dr = r1[0] - r1[2], di = i1[0] - i1[2];
  T tr = r1[1] + r1[3], ti = i1[1] + i1[3], er = r1[1] - r1[3], ei = i1[1] - i1[3];
  re[4] = sr + tr, im[4] = -(si + ti);
  re[1] = dr + ei, im[1] = di - er;
  re[6] = sr - tr, im[6] = si - ti;
  re[9] = dr - ei, im[9] = -(di + er);
  sr = r2[0] + r2[2], si = i2[0] + i2[2], dr = r2[0] - r2[2], di = i2[0] - i2[2];
  tr = r2[1] + r2[3], ti = i2[1] + i2[3], er = r2[1] - r2[3], ei = i2[1] - i2[3];
  re[8] = sr + tr, im[8] = -(si + ti);
  re[3] = dr + ei, im[3] = -(di - er);
  re[2] = sr - tr, im[2] = si - ti;
  re[7] = dr - ei, im[7] = di + er;
}

// complex5 transforms five complex values.
template <typename T>
__device__ __forceinline__ void complex5(T r0, T i0, T r1, T i1, T r2, T i2, T r3, T i3, T r4, T i4, T (&re)[5], T (&im)[5]) {
  const T c1 = T(kTurns[0]), c2 = T(kTurns[1]), s1 = T(kTurns[2]), s2 = T(kTurns[3]);
  T t1r = r1 + r4, t1i = i1 + i4, t2r = r2 + r3, t2i = i2 + i3;
  T t3r = r1 - r4, t3i = i1 - i4, t4r = r2 - r3, t4i = i2 - i3;
  re[0] = r0 + (t1r + t2r), im[0] = i0 + (t1i + t2i);
  T p1r = fma(c2, t2r, fma(c1, t1r, r0)), p1i = fma(c2, t2i, fma(c1, t1i, i0));
  T p2r = fma(c1, t2r, fma(c2, t1r, r0)), p2i = fma(c1, t2i, fma(c2, t1i, i0));
  T q1r = fma(s2, t4r, s1 * t3r), q1i = fma(s2, t4i, s1 * t3i);
  T q2r = fma(-s1, t4r, s2 * t3r), q2i = fma(-s1, t4i, s2 * t3i);
  re[1] = p1r + q1i, im[1] = p1i - q1r;
  re[4] = p1r - q1i, im[4] = p1i + q1r;
  re[2] = p2r + q2i, im[2] = p2i - q2r;
  re[3] = p2r - q2i, im[3] = p2i + q2r;
}

// complex20 transforms 20 complex values in place, in natural order.
template <typename T>
__device__ __forceinline__ void complex20(T (&re)[20], T (&im)[20]) {
  T yr[4][5], yi[4][5];
#pragma unroll
  for (int a = 0; a < 4; a++) {
    const int n0 = 5 * a, n1 = (n0 + 4) % 20, n2 = (n0 + 8) % 20, n3 = (n0 + 12) % 20, n4 = (n0 + 16) % 20;
    complex5(re[n0], im[n0], re[n1], im[n1], re[n2], im[n2], re[n3], im[n3], re[n4], im[n4], yr[a], yi[a]);
  }
#pragma unroll
  for (int k = 0; k < 5; k++) {
    T sr = yr[0][k] + yr[2][k], si = yi[0][k] + yi[2][k], dr = yr[0][k] - yr[2][k], di = yi[0][k] - yi[2][k];
    T tr = yr[1][k] + yr[3][k], ti = yi[1][k] + yi[3][k], er = yr[1][k] - yr[3][k], ei = yi[1][k] - yi[3][k];
    re[16 * k % 20] = sr + tr, im[16 * k % 20] = si + ti;
    re[(16 * k + 5) % 20] = dr + ei, im[(16 * k + 5) % 20] = di - er;
    re[(16 * k + 10) % 20] = sr - tr, im[(16 * k + 10) % 20] = si - ti;
    re[(16 * k + 15) % 20] = dr - ei, im[(16 * k + 15) % 20] = di + er;
  }
}

// complex10 transforms 10 complex values in place, in natural order.
template <typename T>
__device__ __forceinline__ void complex10(T (&re)[10], T (&im)[10]) {
  T yr[2][5], yi[2][5];
#pragma unroll
  for (int a = 0; a < 2; a++) {
    const int n0 = 5 * a, n1 = (n0 + 2) % 10, n2 = (n0 + 4) % 10, n3 = (n0 + 6) % 10, n4 = (n0 + 8) % 10;
    complex5(re[n0], im[n0], re[n1], im[n1], re[n2], im[n2], re[n3], im[n3], re[n4], im[n4], yr[a], yi[a]);
  }
#pragma unroll
  for (int k = 0; k < 10; k++) {
    const T sign = k % 2 ? T(-1) : T(1);
    re[k] = fma(sign, yr[1][k % 5], yr[0][k % 5]), im[k] = fma(sign, yi[1][k % 5], yi[0][k % 5]);
  }
}

}  // namespace
