// The elementwise ops of complex numbers for one instruction set.
#include "cpu/pointwise/loops.inc"

namespace strided {
inline namespace STRIDED_ISA {

void fill_elementwise_complex(KernelTable& table) {
  for_each(DTypesOf<kinds::Complex>{},
           [&](auto tag, int) { fill_elementwise_for<typename decltype(tag)::type>(table); });
}

}  // namespace STRIDED_ISA
}  // namespace strided
