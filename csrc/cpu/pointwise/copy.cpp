#include "cpu/pointwise/loops.inc"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

template <class To, size_t... From>
void fill_row(KernelTable& table, std::index_sequence<From...>) {
  ((table.copy[index_of(dtype_of<To>)][From] = copy_loop<To, typename TypeOf<static_cast<DType>(From)>::type>), ...);
}
template <size_t... To>
void fill_all(KernelTable& table, std::index_sequence<To...> types) {
  (fill_row<typename TypeOf<static_cast<DType>(To)>::type>(table, types), ...);
}

}  // namespace

void fill_copy(KernelTable& table) { fill_all(table, std::make_index_sequence<kNumDTypes>{}); }

}  // namespace STRIDED_ISA
}  // namespace strided
