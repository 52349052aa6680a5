// The tensor cores' warp instructions on the host, lane by lane from the published layout of their fragments (PTX ISA,
// sections on mma.m16n8k8, mma.m16n8k16 and ldmatrix).
#pragma once

#include "cuda_emulation.h"

namespace cuda_emulation {

// C(16x8) += A(16xk) B(kx8). k is 16 with two 16-bit elements in a register, or 8 with one of 32 bits. Products are
// added in ascending k, in double, and rounded once: the hardware's own order is not documented.
template <int k, class Value>
void mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], Value value,
         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  constexpr unsigned per_register = k / 8, bytes = 4 / per_register;
  char all_a[32 * 16], all_b[32 * 16];
  std::memcpy(all_a, exchange(0xffffffffu, a, sizeof(a), Site{file, line}), sizeof(all_a));
  std::memcpy(all_b, exchange(0xffffffffu, b, sizeof(b), Site{file, line}), sizeof(all_b));
  const unsigned g = lane() / 4, t = lane() % 4;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = g + i / 2 * 8, column = 2 * t + i % 2;
    double sum = c[i];
    for (unsigned l = 0; l < k; ++l) {
      const unsigned half = l / (k / 2), in_half = l % (k / 2);  // registers 2 and 3 of A and 1 of B have the upper k
      const unsigned owner = in_half / per_register, place = in_half % per_register * bytes;
      const char* x = all_a + 16 * (row % 8 * 4 + owner) + 4 * (row / 8 + 2 * half) + place;
      const char* y = all_b + 16 * (column * 4 + owner) + 4 * half + place;
      sum += static_cast<double>(value(x)) * static_cast<double>(value(y));
    }
    c[i] = static_cast<float>(sum);
  }
}

inline void load_matrices(uint32_t (&r)[4], const void* row, bool transposed, const char* file = __builtin_FILE(),
                          int line = __builtin_LINE()) {
  if (reinterpret_cast<uintptr_t>(row) % 16) fail("ldmatrix: a row that is not aligned to 16 bytes", Site{file, line});
  const char* rows[32];
  const char* slots = exchange(0xffffffffu, &row, sizeof(row), Site{file, line});
  for (unsigned i = 0; i < 32; ++i) rows[i] = from_lane<const char*>(slots, i);
  const unsigned g = lane() / 4, t = lane() % 4;
  for (unsigned j = 0; j < 4; ++j) {
    char* to = reinterpret_cast<char*>(&r[j]);
    for (unsigned e = 0; e < 2; ++e)
      std::memcpy(to + 2 * e, transposed ? rows[8 * j + 2 * t + e] + 2 * g : rows[8 * j + g] + 2 * (2 * t + e), 2);
  }
}

}  // namespace cuda_emulation
