#include "cpu/pointwise/loops.inc"

namespace strided {
inline namespace STRIDED_ISA {

void fill_elementwise_unsigned(KernelTable& table) {
  for_each(List<bool, uint8_t, uint16_t, uint32_t, uint64_t>{},
           [&](auto tag, int) { fill_elementwise_for<typename decltype(tag)::type>(table); });
}

}  // namespace STRIDED_ISA
}  // namespace strided
