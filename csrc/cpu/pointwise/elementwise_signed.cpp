#include "cpu/pointwise/loops.inc"

namespace strided {
inline namespace STRIDED_ISA {

void fill_elementwise_signed(KernelTable& table) {
  for_each(List<int8_t, int16_t, int32_t, int64_t>{},
           [&](auto tag, int) { fill_elementwise_for<typename decltype(tag)::type>(table); });
}

}  // namespace STRIDED_ISA
}  // namespace strided
