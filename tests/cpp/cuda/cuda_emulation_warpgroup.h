// wgmma on the host: products of warpgroups, from the published layouts of their operands (PTX ISA, sections on
// wgmma.mma_async; the canonical layouts of its descriptors are in CUTLASS, mma_traits_sm90_gmma.hpp).
//
// Emulated warpgroups.
// A thread computes its elements of a product when it waits for it, the latest time at which shared memory may be read:
// memory that is written too early gives a wrong result. Until then its sums are NaN. What the hardware would not
// notice is an error: threads of a warpgroup that ask for different products, operands that are not aligned or lie
// outside, reading what a thread copied (cp.async) without its fence for the async proxy since, copying to where a
// product under way reads, sums that were not handed over by wgmma.fence, products that nobody waits for. What is not
// seen: a missing fence of the async proxy behind ordinary writes.
#pragma once

#include <string>

#include "cuda_emulation.h"

namespace cuda_emulation {

struct Wgmma {
  uint64_t a, b;  // descriptors
  int n;
  bool along_m, along_n;
  float (*value)(const char* element);
};

// sums[n / 2] += this thread's elements of A B.
void wgmma(float* sums, const Wgmma& what, const char* file = __builtin_FILE(), int line = __builtin_LINE());
void wgmma_fence(const char* file = __builtin_FILE(), int line = __builtin_LINE());
void wgmma_commit(const char* file = __builtin_FILE(), int line = __builtin_LINE());
void wgmma_wait(unsigned groups, const char* file = __builtin_FILE(), int line = __builtin_LINE());
void fence_async_proxy();
// Products that warpgroups asked for since the last call.
size_t count_products();

// What the machine tells: copies to shared memory when they are asked for and when they arrive, threads and blocks.
void begin_block(unsigned threads);
std::string end_block();  // what was wrong
void end_thread();
void begin_copy(const void* to, size_t bytes, Site site);
void end_copy(const void* to, size_t bytes);

}  // namespace cuda_emulation
