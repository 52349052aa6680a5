// What the library does, one function for each family: the slots of the seam (seam.h) are filled with these. All of them
// return when the work is queued on the current stream of the device, unless they say that they wait.
#pragma once

#include "cuda/allocator.h"
#include "cuda/seam.h"

namespace strided {
namespace cuda {

// Op number `op` of ops/elementwise.h, computed in the given dtype. Operands may be stored in others.
void elementwise(int op, DType compute, const LoopPlan& plan, const double* params);

// Operands to, from, of any two dtypes. An immediate `from` fills.
void copy(const LoopPlan& plan);

// Reduction number `op` of ops/reduce.h, computed in the given dtype.
void reduce(int op, DType compute, const ReducePlan& plan);

// dense = named[index]. An index out of range is left out and reported (report.h), here and below.
void take(const IndexPlan& plan);
// named[index] = dense. Of several elements for one place the last in row-major order stays.
void put(const IndexPlan& plan);
// named[index] = op(named[index], dense). Sums and products of floating point are made in row-major order.
void combine(const IndexPlan& plan, Combine op);

// Operands to, condition (bool), a, b: to = condition ? a : b.
void select(const LoopPlan& plan);
// Operands to, counts (int64): to /= count, rounding down for integers; a count below 2 changes nothing.
void divide_by_counts(const LoopPlan& plan);

// The set elements of a contiguous mask of n bytes. Waits for their number.
class SetElements {
 public:
  SetElements(const char* name, int device, const char* mask, int64_t n);
  int64_t count() const { return count_; }
  void positions(int64_t* to) const;                           // in ascending order
  void compress(char* to, const char* from, int64_t itemsize) const;  // the elements of contiguous `from` in their places

 private:
  const char* name_;
  int device_;
  const char* mask_;
  int64_t n_, count_;
  Workspace starts_;
};

// to[i] = floor(position[i] / inner) mod size
void unravel(const char* name, int device, int64_t* to, const int64_t* position, int64_t n, int64_t inner, int64_t size);

}  // namespace cuda
}  // namespace strided
