// What the library does, one function for each family: the slots of the seam (seam.h) are filled with these. All of them
// return when the work is queued on the current stream of the device, unless they say that they wait.
#pragma once

#include "cuda/seam.h"

namespace strided {
namespace cuda {

// Op number `op` of ops/elementwise.h, computed in the given dtype. Operands may be stored in others.
void elementwise(int op, DType compute, const LoopPlan& plan, const double* params);

// Operands to, from, of any two dtypes. An immediate `from` fills.
void copy(const LoopPlan& plan);

// Reduction number `op` of ops/reduce.h, computed in the given dtype.
void reduce(int op, DType compute, const ReducePlan& plan);

}  // namespace cuda
}  // namespace strided
