#include "cuda/pointwise/elementwise.h"

namespace strided {
namespace cuda {

void fill_elementwise_complex128(ElementwiseTable& table) {
  fill_elementwise<Complex<double>>(table, ElementwiseOps{});
}

}  // namespace cuda
}  // namespace strided
