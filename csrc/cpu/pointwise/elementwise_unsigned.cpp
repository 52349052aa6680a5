// The elementwise ops of unsigned integers and bool for one instruction set.
#include "cpu/pointwise/loops.inc"

namespace strided {
inline namespace STRIDED_ISA {

void fill_elementwise_unsigned(KernelTable& table) {
  for_each(BoolAndUnsigned{}, [&](auto tag, int) { fill_elementwise_for<typename decltype(tag)::type>(table); });
}

}  // namespace STRIDED_ISA
}  // namespace strided
