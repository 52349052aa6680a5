// An iteration as a backend sees it that runs it as a whole: no tensors, only pointers, strides and sizes.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace strided {

// A 2-d inner loop over homogeneous operands: outputs first, then inputs. strides[k] is the byte stride of operand k
// along n0, strides[nops + k] along n1. `params` points at the op's parameter struct, or is null.
using Loop2d = void (*)(char** data, const int64_t* strides, int64_t n0, int64_t n1, const void* params);

// Which function asks, for errors, and the index of the device that answers. Every plan starts with it.
struct OpContext {
  const char* name = "";
  int device = 0;
};

// A planned iteration (TensorIterator after plan()): axes innermost first, none of size 1, neighbours merged where
// memory allows. Operands are outputs first.
struct LoopPlan : OpContext {
  static constexpr int kMaxOperands = 8;
  struct Operand {
    char* data = nullptr;              // the first element; of an immediate operand: one value, in host memory
    const int64_t* strides = nullptr;  // bytes, one for each axis; not read for an immediate operand
    DType dtype = DType::Float32;      // as stored; it may differ from the loop's
    bool immediate = false;            // a number, or a 0-d tensor of the CPU
  };
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

// Orders axes so that memory is walked in order, innermost first: axes[i] becomes an axis of `shape`. The first operand
// that tells two axes apart decides; axes that none tells apart stay in row-major order. strides[k]: bytes over
// `shape`.
void order_axes(int ndim, const int64_t* shape, int n_operands, const int64_t* const* strides, int* axes);
// The same, without axes of size 1, and with neighbours merged where the strides of all operands allow it. Returns the
// number of merged axes: their sizes go to `merged`, and `axes` gets for each the axis of `shape` whose strides it has.
int merge_axes(int ndim, const int64_t* shape, int n_operands, const int64_t* const* strides, int64_t* merged,
               int* axes);

}  // namespace strided
