// How the warps of a block work together. They form groups that go their own ways.
#pragma once

namespace {

constexpr int kWarps = 10;  // of a group
constexpr int kThreads = 32 * kWarps;

// thread_now is this thread's number in the block. It is read anew, since all
// registers are needed for other things meanwhile.
__device__ __forceinline__ unsigned thread_now() {
  unsigned thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

// Place is where a thread works.
struct Place {
  unsigned group, thread, warp, lane;  // the block's group, and in it the thread, its warp and its lane

  __device__ __forceinline__ Place() {
    thread = thread_now();
    group = thread >= kThreads;
    thread -= group * kThreads;
    warp = thread / 32, lane = thread % 32;
  }
};

// meet is a barrier of the group.
__device__ __forceinline__ void meet() {
  asm volatile("bar.sync %0, %1;" ::"r"(1 + int(thread_now() >= kThreads)), "n"(kThreads) : "memory");
}

// One lane passes a gate for its warp. compute-sanitizer follows threads and not
// warps, and would see races: so in the kernels for tests all do.
#ifdef EVERY_LANE_PASSES
constexpr int kPassing = 32;
#else
constexpr int kPassing = 1;
#endif

// Gate is a barrier in two halves: a warp passes it, goes on with something else,
// and waits for the others later. It opens once in every round, when all warps
// of a group have passed.
struct Gate {
  unsigned long long state;

  __device__ unsigned at() const { return (unsigned)__cvta_generic_to_shared(&state); }

  // init is called by one thread, before a barrier of the block.
  __device__ void init() { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at()), "r"(kWarps * kPassing) : "memory"); }

  // pass is called by whole warps. What they did before it others see after wait.
  __device__ __forceinline__ void pass(int lane) {
    __syncwarp();
    if (lane < kPassing) asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at()) : "memory");
  }

  // wait returns when all have passed in a round of that parity. Before the first
  // round the parity 1 counts as past.
  __device__ __forceinline__ void wait(unsigned parity) const {
    unsigned open;
    do {
#if __CUDA_ARCH__ >= 900
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
#else
      asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
#endif
                   : "=r"(open) : "r"(at()), "r"(parity) : "memory");
    } while (!open);
  }
};

// bring begins to copy 16 bytes into shared memory.
__device__ __forceinline__ void bring(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}

// loaded waits for what this thread began to bring.
__device__ __forceinline__ void loaded() { asm volatile("cp.async.wait_all;" ::: "memory"); }

}  // namespace
