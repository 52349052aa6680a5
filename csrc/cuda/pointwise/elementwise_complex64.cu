#include "cuda/pointwise/elementwise.h"

namespace strided {
namespace cuda {

void fill_elementwise_complex64(ElementwiseTable& table) { fill_elementwise<Complex<float>>(table, ElementwiseOps{}); }

}  // namespace cuda
}  // namespace strided
