// Arguments of the kernels that walk over strided operands, and the integer arithmetic they do it with.
#pragma once

#include "base/macros.h"
#include "cuda/runtime/portability.h"

namespace strided {
namespace cuda {

constexpr int kThreads = 256;    // of a block, for all kernels that do not say otherwise
constexpr int kMaxAxes = 12;     // of one launch; an iteration with more is split (a merged one hardly ever has)
constexpr int kMaxOperands = 5;  // one output, up to four inputs
constexpr int64_t kMaxItems = int64_t(1) << 31;  // of one launch: indices are 32-bit, only addresses are 64-bit

// Division by a number that the host knows, for n < 2^31. T. Granlund and P. L. Montgomery, "Division by invariant
// integers using multiplication", PLDI 1994: with 2^(s-1) < d <= 2^s and m = floor(2^32 (2^s - d) / d) + 1, n / d =
// (floor(m n / 2^32) + n) / 2^s.
struct Divisor {
  uint32_t d = 1, magic = 1, shift = 0;

  Divisor() = default;
  explicit Divisor(uint32_t divisor) : d(divisor) {
    while (shift < 31 && (uint32_t(1) << shift) < d) ++shift;
    magic = static_cast<uint32_t>((uint64_t(1) << 32) * ((uint64_t(1) << shift) - d) / d + 1);
  }
  __host__ __device__ uint32_t divide(uint32_t n) const { return (multiply_high(n, magic) + n) >> shift; }
};

// One launch: n items, their places for every operand, and what else the kernel must know.
struct LoopArgs {
  uint32_t n = 0;
  uint32_t tail = 0;  // vector kernels: elements in the last item, when it is not full
  int32_t ndim = 1;
  uint8_t constant = 0;  // bit k: operand k is one value, in value[k] or (data[k] not null) on the device
  uint8_t splat = 0;     // bit k: a vector kernel's operand that does not move along the innermost axis
  uint8_t cast = 0;      // bit k: stored in dtype[k], not in the loop's type
  uint8_t dtype[kMaxOperands] = {};
  Divisor size[kMaxAxes];
  int32_t stride[kMaxAxes][kMaxOperands] = {};  // bytes from one item to the next
  char* data[kMaxOperands] = {};
  alignas(16) char value[kMaxOperands][16] = {};
  double params[4] = {};
};

// Byte offsets of item i for the first N operands.
template <int N>
__device__ inline void find_offsets(const LoopArgs& a, uint32_t i, int64_t (&at)[N]) {
  for (int k = 0; k < N; ++k) at[k] = 0;
  int d = 0;
#pragma unroll 1
  for (; d < a.ndim - 1; ++d) {
    const uint32_t outer = a.size[d].divide(i), here = i - outer * a.size[d].d;
    for (int k = 0; k < N; ++k) at[k] += static_cast<int64_t>(here) * a.stride[d][k];
    i = outer;
  }
  for (int k = 0; k < N; ++k) at[k] += static_cast<int64_t>(i) * a.stride[d][k];
}

}  // namespace cuda
}  // namespace strided
