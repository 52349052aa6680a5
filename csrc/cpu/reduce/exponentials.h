// Rows of scores, for attention (cpu/gemm/attention.cpp).
#pragma once

#include <cstdint>

#include "base/half.h"

namespace strided {

// Of float32 and float64.
struct ScoreKernels {
  static constexpr int64_t kPiece = 32;
  // Replaces each element by exp(element - largest one), and gives their sum; n is a multiple of kPiece.
  double (*exponentials)(void* row, int64_t n) = nullptr;
  // Adds a mask, `step` elements from one to the next; false where it is -inf throughout.
  bool (*add_mask)(void* row, const void* mask, int64_t step, int64_t n) = nullptr;
  void (*narrow)(BFloat16* to, const float* row, int64_t n) = nullptr;  // of float32
};
extern ScoreKernels score_kernels[2];

}  // namespace strided
