// What depends on the precision of the transform.
#pragma once

namespace {

// Exchange holds the complex values between the passes: row, column, frame. In
// row 0 a value is the real parts of rows 0 and 10.
template <typename T>
struct Exchange;

template <>
struct Exchange<float> {
  float2 values[10][20][32];

  __device__ __forceinline__ void put(int row, int n, int lane, float re, float im) { values[row][n][lane] = make_float2(re, im); }
  __device__ __forceinline__ void get(int row, int n, int lane, float& re, float& im) const {
    float2 v = values[row][n][lane];
    re = v.x, im = v.y;
  }
  __device__ __forceinline__ float re(int row, int n, int lane) const { return values[row][n][lane].x; }
  __device__ __forceinline__ float im(int row, int n, int lane) const { return values[row][n][lane].y; }
};

// Of a double's mantissa 36 bits travel, so that shared memory has room and time
// for more. An imaginary part's last bits are not its own.
template <>
struct Exchange<double> {
  uint2 imaginary[10][20][32];  // with the low bits of both
  unsigned real[10][20][32];

  __device__ __forceinline__ void put(int row, int n, int lane, double re, double im) {
    imaginary[row][n][lane] = make_uint2(__byte_perm(__double2loint(re), __double2loint(im), 0x7632), __double2hiint(im));
    real[row][n][lane] = __double2hiint(re);
  }
  __device__ __forceinline__ void get(int row, int n, int lane, double& re, double& im) const {
    uint2 v = imaginary[row][n][lane];
    re = __hiloint2double(real[row][n][lane], v.x << 16);
    im = __hiloint2double(v.y, v.x);
  }
  __device__ __forceinline__ double re(int row, int n, int lane) const {
    return __hiloint2double(real[row][n][lane], imaginary[row][n][lane].x << 16);
  }
  __device__ __forceinline__ double im(int row, int n, int lane) const {
    uint2 v = imaginary[row][n][lane];
    return __hiloint2double(v.y, v.x);
  }
};

// square is the power of a value. The little that is added counts nothing, and
// keeps silence from zero.
__device__ __forceinline__ float square(float re, float im) { return fmaf(re, re, fmaf(im, im, 0x1p-100f)); }

// Doubles come 2^64 times too large: so the bits of their power, moved by three,
// are those of a float, without the slow conversion.
__device__ __forceinline__ float square(double re, double im) {
  double p = fma(re, re, fma(im, im, 0x1p28));
  return __uint_as_float(__funnelshift_l(__double2loint(p), __double2hiint(p), 3));
}

}  // namespace
