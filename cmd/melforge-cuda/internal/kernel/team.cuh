// The threads that compute a frame together: a warp, or for long transforms
// several.
#pragma once

namespace {

struct Team {
  int index, thread, size;  // in the block, in the team, of it

  __device__ explicit Team(int size) : index(threadIdx.x / size), thread(threadIdx.x % size), size(size) {}

  // meet is a barrier of the team.
  __device__ __forceinline__ void meet() const {
    if (size == 32)
      __syncwarp();
    else
      asm volatile("bar.sync %0, %1;" ::"r"(1 + index), "r"(size) : "memory");
  }
};

}  // namespace
