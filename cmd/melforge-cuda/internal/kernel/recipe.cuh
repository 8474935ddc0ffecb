// What the kernels of general.cu know of a configuration.
#pragma once

namespace {
constexpr int kTile = 32;  // frames
constexpr int kMaxMels = 512;
}  // namespace

// Recipe is laid out by recipe.go.
struct Recipe {
  int fft, hop, start, window;  // start: the first sample of frame 0; window: samples that a frame has
  int mirror, longest;          // whether a clip goes on mirrored beyond its ends; where it ends after zeros, or 0
  int mels, radices, radix[12];
  int centre, magnitude, normalize, team;  // team: threads that compute a frame
  double emphasis, frame_emphasis, root_add;
  double log_add, log_least, scale, bias;           // out = log2(max(x + log_add, log_least))·scale + bias
  double range;                                     // from the clip's maximum down to the floor, scaled
  double silence;                                   // what no power gives
  int turns, roots, weights, unused;                // where in the tables these begin, in values; the window comes first
  int bins[kMaxMels / 32], columns[kMaxMels / 32];  // of 32 bands: their bins, and where their weights begin
};

// The recipe of all clips. In constant memory an instruction takes it as an operand.
__constant__ Recipe recipe;

// Tables is what does not fit there: the first bin of each band; the window; what
// the passes of the transform turn by; exp(-2πi·k/fft) for k up to fft/4; and the
// weights of the bands, of 32 at a time: those of their first bins, then of their
// second, ….
struct Tables {
  int first[kMaxMels];
  double2 values[1];

  __device__ double2 window(int pair) const { return values[pair]; }
  __device__ const double2* turns(const Recipe& r) const { return values + r.turns; }
  __device__ double2 root(const Recipe& r, int k) const { return values[r.roots + k]; }
  __device__ const double* weights(const Recipe& r, int group) const { return &values[r.weights].x + r.columns[group]; }
};

struct Tile {
  int clip, first, frames, unused;
  int at, samples, out, total;
};
