// Scatters that merge 16-bit floats, for one instruction set: a processor's conversions take a tenth of the time of
// those in arithmetic.
#include "cpu/index/indexed.inc"
#include "cpu/kernels.h"

namespace strided {
inline namespace STRIDED_ISA {

void fill_indexed_half(KernelTable& table) {
  for_each(ReducedFloats{},
           [&](auto tag, int) { fill_merges<typename decltype(tag)::type>(table.index.scatter_reduce); });
}

}  // namespace STRIDED_ISA
}  // namespace strided
