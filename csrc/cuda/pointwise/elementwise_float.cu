#include "cuda/pointwise/elementwise.h"

namespace strided {
namespace cuda {

void fill_elementwise_float(ElementwiseTable& table) { fill_elementwise<float>(table, ElementwiseOps{}); }

}  // namespace cuda
}  // namespace strided
