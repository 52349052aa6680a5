#include "cuda/pointwise/elementwise.h"

namespace strided {
namespace cuda {

void fill_elementwise_double(ElementwiseTable& table) { fill_elementwise<double>(table, ElementwiseOps{}); }

}  // namespace cuda
}  // namespace strided
