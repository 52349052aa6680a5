#include "cuda/pointwise/copy_types.h"

namespace strided {
namespace cuda {

void fill_copy_integers(CopyTable& table) {
  // bool to bool is no plain move: what is not 0 becomes 1
  table.convert[index_of(DType::Bool)][index_of(DType::Bool)] = vector_kernel_of<Convert<bool, bool>>();
  for_each(List<bool, uint8_t, int8_t, int16_t, int32_t, int64_t>{},
           [&](auto tag, int) { fill_conversions_to<typename decltype(tag)::type>(table, CommonTypes{}); });
  for_each(List<uint16_t, uint32_t, uint64_t>{},
           [&](auto tag, int) { fill_conversions_to<typename decltype(tag)::type>(table, List<>{}); });
}

}  // namespace cuda
}  // namespace strided
