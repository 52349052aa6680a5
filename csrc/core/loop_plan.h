// An iteration as a backend sees it that runs it as a whole: no tensors, only pointers, strides and sizes.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace strided {

// A planned iteration (Iter after plan()): axes innermost first, none of size 1, neighbours merged where memory allows.
// Operands are outputs first.
struct LoopPlan {
  static constexpr int kMaxOperands = 8;
  struct Operand {
    char* data = nullptr;              // the first element; of an immediate operand: one value, in host memory
    const int64_t* strides = nullptr;  // bytes, one for each axis; not read for an immediate operand
    DType dtype = DType::Float32;      // as stored; it may differ from the loop's
    bool immediate = false;            // a number, or a 0-d tensor of the CPU
  };
  const char* name = "";  // of the operation, for errors
  int device = 0;
  int ndim = 0;
  const int64_t* shape = nullptr;
  int n_operands = 0;
  Operand operand[kMaxOperands];

  int64_t numel() const {
    int64_t n = 1;
    for (int i = 0; i < ndim; ++i) n *= shape[i];
    return n;
  }
};

}  // namespace strided
