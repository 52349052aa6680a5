// What a backend that runs whole operations is asked to do: the part of the seam (ops/kernels.h) that an accelerator
// fills instead of the CPU's inner loops. No tensor crosses it, only pointers, strides and sizes.
//
// Note [Two kinds of backend]
// The CPU gets 2-d inner loops, chunks of reductions, ranges of masks: the host decides who does what. A device decides
// that itself and cannot be called a thousand times for one operation, so it gets the whole planned iteration, or the
// whole reduction, in one call, which returns as soon as the work is in the device's queue.
#pragma once

#include "core/dtype.h"
#include "ops/kernels.h"

namespace strided {

// A planned iteration (core/iter.h after plan()): axes innermost first, none of size 1, neighbours merged where memory
// allows. Operands are outputs first.
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

// A reduction of one operand, as asked for: axes outermost first, not merged.
struct ReducePlan {
  const char* name = "";
  int device = 0;
  const char* data = nullptr;
  DType dtype = DType::Float32;  // as stored; elements are cast to the dtype that is reduced
  int ndim = 0;
  const int64_t* shape = nullptr;
  const int64_t* strides = nullptr;  // bytes
  uint64_t axes = 0;                 // bit i: axis i is reduced
  char* out[2] = {};                 // contiguous over the axes that stay; either may be null
  double param = 0;
};

// Elements on their way between a dense operand and the places that index tensors name (Note [Index moves] in
// ops/index_move.h): a place is where the strides of `named` lead, plus index * stride for each index tensor.
struct IndexPlan {
  static constexpr int kMaxIndices = 8;
  struct Index {
    const int64_t* data = nullptr;
    const int64_t* strides = nullptr;  // bytes, over `shape`
    int64_t size = 0;                  // good are 0 ... size - 1, and -size ... -1 when they may wrap
    int64_t stride = 0;                // bytes from place to place
    int axis = 0;                      // for the error; -1: the tensor is taken as flat
  };
  const char* name = "";
  int device = 0;
  DType dtype = DType::Float32;  // of both sides
  bool wrap = true;
  int ndim = 0;
  const int64_t* shape = nullptr;  // of the dense side, outermost first, not merged
  char* dense = nullptr;
  const int64_t* dense_strides = nullptr;  // bytes
  char* named = nullptr;
  const int64_t* named_strides = nullptr;  // bytes; 0 along axes of the indices
  int n_indices = 1;
  Index index[kMaxIndices];
};

// Which evenly spaced numbers (Ramp in ops/kernels.h).
enum class RampKind : int8_t { Arange, Linspace, Logspace };

// Where a device's generator stands: the seed, and the blocks of four words already used.
struct PhiloxState {
  uint64_t seed, offset;
};

// All a device can do, in whole operations. Everything but `set_elements`, `random_choice` and `transfer` returns when
// the work is queued on the current stream of the device; what kernels find wrong is raised by the next call that
// waits.
struct DeviceKernels {
  void (*elementwise)(int op, DType compute, const LoopPlan& plan, const double* params) = nullptr;
  void (*copy)(const LoopPlan& plan) = nullptr;              // operands to, from; an immediate `from` fills
  void (*select)(const LoopPlan& plan) = nullptr;            // operands to, condition (bool), a, b
  void (*divide_by_counts)(const LoopPlan& plan) = nullptr;  // operands to, counts (int64)
  void (*reduce)(int op, DType compute, const ReducePlan& plan) = nullptr;
  void (*take)(const IndexPlan& plan) = nullptr;
  void (*put)(const IndexPlan& plan) = nullptr;
  void (*combine)(const IndexPlan& plan, Combine op) = nullptr;
  // The set elements of a contiguous mask: their number, and a handle to get positions (from null) or elements of
  // `from`; `to` null closes the handle.
  void (*set_elements)(const char* name, int device, const char* mask, int64_t n, void** handle,
                       int64_t* count) = nullptr;
  void (*write_set)(void* handle, char* to, const char* from, int64_t itemsize) = nullptr;
  // Zeroes the elements of matrices that are not on or below (keep_below), on or above the diagonal column - row ==
  // diagonal. Axes innermost first: columns, rows, then those of the batch; one operand.
  void (*clear_triangle)(const LoopPlan& plan, int64_t diagonal, bool keep_below) = nullptr;
  void (*unravel)(const char* name, int device, int64_t* to, const int64_t* position, int64_t n, int64_t inner,
                  int64_t size) = nullptr;
  void (*ramp)(const char* name, int device, RampKind kind, DType dtype, void* to, int64_t n,
               const Ramp& ramp) = nullptr;
  // *used: the blocks used, by which the generator's offset grows.
  void (*random_fill)(const char* name, int device, const RandomFill& what, DType dtype, void* to, int64_t n,
                      PhiloxState state, uint64_t* used) = nullptr;
  void (*random_bernoulli)(const char* name, int device, DType dtype, void* to, DType p_dtype, const void* p, int64_t n,
                           PhiloxState state, uint64_t* used) = nullptr;
  void (*random_poisson)(const char* name, int device, DType dtype, void* to, const void* rate, int64_t n,
                         PhiloxState state, uint64_t* used) = nullptr;
  void (*random_permutation)(const char* name, int device, DType dtype, void* to, int64_t n, PhiloxState state,
                             uint64_t* used) = nullptr;
  void (*random_choice)(const char* name, int device, DType dtype, int64_t* to, const void* weights, int64_t rows,
                        int64_t categories, int64_t samples, PhiloxState state, uint64_t* used,
                        WeightsFault* fault) = nullptr;
  // Contiguous bytes between devices, or the host (device -1). Waits, unless `non_blocking` and the memory allows it.
  void (*transfer)(void* to, int to_device, const void* from, int from_device, size_t bytes,
                   bool non_blocking) = nullptr;
};

}  // namespace strided
