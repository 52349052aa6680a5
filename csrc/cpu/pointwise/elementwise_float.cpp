// The elementwise ops of float32 for one instruction set.
#include "cpu/pointwise/loops.inc"

namespace strided {
inline namespace STRIDED_ISA {

void fill_elementwise_float(KernelTable& table) {
  for_each(List<float>{}, [&](auto tag, int) { fill_elementwise_for<typename decltype(tag)::type>(table); });
}

}  // namespace STRIDED_ISA
}  // namespace strided
