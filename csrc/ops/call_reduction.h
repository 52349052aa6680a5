// How a reduction is called: the table of reductions, the axes, the one way to a backend. Unrecorded.
#pragma once

#include <string>

#include "backend/reduce.h"
#include "tensor/tensor.h"

namespace strided {

// A row of the table made by folding ReductionOps.
struct ReductionDef {
  const ReduceInfo* info;
  int id;
  int on_integers = -1;  // the reduction that serves for them, where it is another one
  bool supported[kNumDTypes];
  DType out_dtype[2][kNumDTypes];  // of the results for each dtype reduced
  void (*check)(double param);     // null: any
  std::string node_name[2];        // "SumBackward0", and its name when axes are listed
  std::string saved_names[2];  // what these show: "dim keepdim self result self_sym_sizes", '-' for what they do not
};
const ReductionDef& reduction_def(int reduction_id);

// x, read as `compute` dtype, reduced over the axes whose bits are set. `second`, when not null, becomes
// the second result; `first` = false leaves out the first one (an undefined tensor is returned).
Tensor call_reduction(const ReductionDef& def, const Tensor& x, uint64_t axes, bool keepdim, DType compute,
                      double param, Tensor* second = nullptr, bool first = true);

// Axes as bits; empty `dims` are all axes. IndexError, RuntimeError for an axis listed twice.
uint64_t axis_mask(const char* op, const Dims& dims, int ndim);

}  // namespace strided
