#include "cpu/reduce/reduce.inc"

namespace strided {
inline namespace STRIDED_ISA {

void fill_reduce(KernelTable& table) {
#define X(E, T, name, cname) fill_reduce_for<T>(table);
  STRIDED_DTYPES(X)
#undef X
}

}  // namespace STRIDED_ISA
}  // namespace strided
