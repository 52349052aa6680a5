#include "cuda/pointwise/elementwise.h"
#include "cuda/pointwise/pointwise_run.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {

#define STRIDED_UNITS(X) X(float) X(double) X(half) X(bfloat16) X(complex64) X(complex128) X(signed) X(unsigned)
#define STRIDED_DECLARE(unit) void fill_elementwise_##unit(ElementwiseTable& table);
STRIDED_UNITS(STRIDED_DECLARE)
#undef STRIDED_DECLARE

const ElementwiseTable& elementwise_table() {
  static const ElementwiseTable& table = *[] {
    auto* t = new ElementwiseTable;
#define STRIDED_FILL(unit) fill_elementwise_##unit(*t);
    STRIDED_UNITS(STRIDED_FILL)
#undef STRIDED_FILL
    // Special functions of the 16-bit floats are computed in float anyway: its kernels serve, casting as they load.
    for (auto& row : t->kernel)
      for (int k = 0; k < kNumDTypes; ++k)
        if (!row[k].general) row[k] = row[index_of(compute_dtype_of(static_cast<DType>(k)))];
    return t;
  }();
  return table;
}
#undef STRIDED_UNITS

void elementwise(const LoopPlan& plan, int op, DType compute, const double* params) {
  run_pointwise(elementwise_table().kernel[op][index_of(compute)], plan, params);
}

}  // namespace cuda
}  // namespace strided
