// The reductions for one instruction set.
#include "cpu/reduce/reduce.inc"

namespace strided {
inline namespace STRIDED_ISA {

void fill_reduce(KernelTable& table) {
  for_each(LoopDTypes{}, [&](auto tag, int) { fill_reduce_for<typename decltype(tag)::type>(table); });
}

}  // namespace STRIDED_ISA
}  // namespace strided
