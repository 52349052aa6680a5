// The elementwise ops of signed integers for one instruction set.
#include "cpu/pointwise/loops.inc"

namespace strided {
inline namespace STRIDED_ISA {

void fill_elementwise_signed(KernelTable& table) {
  for_each(SignedIntegers{}, [&](auto tag, int) { fill_elementwise_for<typename decltype(tag)::type>(table); });
}

}  // namespace STRIDED_ISA
}  // namespace strided
