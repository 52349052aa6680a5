#include "cuda/reduce/reduce.h"

namespace strided {
namespace cuda {

void fill_reduce_unsigned(ReduceTable& table) {
  for_each(List<bool, uint8_t, uint16_t, uint32_t, uint64_t>{},
           [&](auto tag, int) { fill_reduce<typename decltype(tag)::type>(table); });
}

}  // namespace cuda
}  // namespace strided
