// The elementwise ops of the 16-bit floats for one instruction set.
#include "cpu/pointwise/loops.inc"

namespace strided {
inline namespace STRIDED_ISA {

void fill_elementwise_half(KernelTable& table) {
  for_each(ReducedFloats{}, [&](auto tag, int) { fill_elementwise_for<typename decltype(tag)::type>(table); });
}

}  // namespace STRIDED_ISA
}  // namespace strided
