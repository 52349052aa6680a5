// Random numbers on the device.
//
// Device random numbers.
// Philox (core/philox.h) makes blocks of four words from a seed and a position, so any thread can make any part.
// Element i of a tensor takes its words from block offset + i / 4, or offset + i / 2 where it needs two words; the
// generator's offset then moves on by the blocks used. The numbers follow from seed, offset and size alone: they are
// the same on every device, and the same here and under emulation as far as they are made by arithmetic; those made by
// logarithms and cosines may differ in the last places. They are not PyTorch's. Laws that need an unknown number of
// draws take, for element i, the subsequence i + 1.
#pragma once

#include "core/philox.h"
#include "cuda/pointwise/pointwise.h"

namespace strided {
namespace cuda {

struct RandomArgs {
  uint64_t seed = 0, offset = 0;
  const uint64_t* captured = nullptr;  // not null: the seed, and what is added to the offset (Note [Captured work])
  int64_t n = 0;
  double a = 0, b = 1;
  int64_t base = 0;
  uint64_t range = 0;

  __device__ Philox philox() const { return Philox(captured ? captured[0] : seed); }
  __device__ uint64_t first_block() const { return captured ? captured[1] + offset : offset; }
};

__device__ inline double unit53(uint64_t draw) {
  return static_cast<double>(static_cast<int64_t>(draw >> 11)) * 0x1p-53;
}  // in [0, 1)
__device__ inline float unit24(uint32_t draw) {
  return static_cast<float>(static_cast<int32_t>(draw >> 8)) * 0x1p-24f;
}  // in [0, 1)
__device__ inline uint64_t pair_of(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

// The words of a thread's block, as draws of 32 or 64 bits.
template <class Draw>
struct Draws {
  static constexpr int count = static_cast<int>(16 / sizeof(Draw));
  Draw draw[count];
  __device__ Draws(const RandomArgs& a, uint64_t block) {
    const auto words = a.philox()(0, a.first_block() + block);
    if constexpr (sizeof(Draw) == 4) {
      for (int j = 0; j < count; ++j) draw[j] = words.word[j];
    } else {
      for (int j = 0; j < count; ++j) draw[j] = pair_of(words.word[2 * j], words.word[2 * j + 1]);
    }
  }
};

}  // namespace cuda
}  // namespace strided
