// The elementwise ops of backend/elementwise.h as functions of elements (pointwise.h). A unit instantiates a list of
// ops for some dtypes.
#pragma once

#include "backend/elementwise.h"
#include "cuda/pointwise/pointwise.h"

namespace strided {
namespace cuda {

struct ElementwiseTable {
  PointwiseKernel kernel[kNumElementwise][kNumDTypes];
};

// Special functions are long; their time is arithmetic.
template <class Op, class T>
struct Elementwise {
  using Result = op_result_t<Op, T>;
  static constexpr int arity = op_arity<Op>;
  static constexpr bool vectors = !IsIn<Op, AllSpecialOps>::value, casts = true;
  template <size_t>
  using In = T;
  static constexpr DType dtype(int k) { return k == 0 ? dtype_of<Result> : dtype_of<T>; }

  __device__ static Result call(T a, const double* p) { return forward(p, a); }
  __device__ static Result call(T a, T b, const double* p) { return forward(p, a, b); }
  __device__ static Result call(T a, T b, T c, const double* p) { return forward(p, a, b, c); }
  __device__ static Result call(T a, T b, T c, T d, const double* p) { return forward(p, a, b, c, d); }

 private:
  template <class... V>
  __device__ static Result forward([[maybe_unused]] const double* p, V... v) {
    using C = operand_t<Op, T>;
    if constexpr (Op::info.params[0] != 0) return Result(Op::fwd(static_cast<C>(v)..., p));
    else return Result(Op::fwd(static_cast<C>(v)...));
  }
};

const ElementwiseTable& elementwise_table();

// The kernels of the ops of L that T has.
template <class T, class L>
void fill_elementwise(ElementwiseTable& table, L ops) {
  for_each(ops, [&](auto tag, int) {
    using Op = typename decltype(tag)::type;
    if constexpr (op_supports<Op, T>)
      table.kernel[elementwise_id<Op>][index_of(dtype_of<T>)] = kernel_of<Elementwise<Op, T>>();
  });
}

}  // namespace cuda
}  // namespace strided
