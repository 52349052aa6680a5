#include "cuda/pointwise/elementwise.h"

namespace strided {
namespace cuda {

void fill_elementwise_signed(ElementwiseTable& table) {
  for_each(List<int8_t, int16_t, int32_t, int64_t>{},
           [&](auto tag, int) { fill_elementwise<typename decltype(tag)::type>(table, ElementwiseOps{}); });
}

}  // namespace cuda
}  // namespace strided
