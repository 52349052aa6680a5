#include "cuda/pointwise/elementwise.h"

namespace strided {
namespace cuda {

void fill_elementwise_unsigned(ElementwiseTable& table) {
  for_each(BoolAndUnsigned{},
           [&](auto tag, int) { fill_elementwise<typename decltype(tag)::type>(table, ElementwiseOps{}); });
}

}  // namespace cuda
}  // namespace strided
