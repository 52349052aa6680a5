#include "cuda/reduce/reduce.h"

namespace strided {
namespace cuda {

void fill_reduce_signed(ReduceTable& table) {
  for_each(List<int8_t, int16_t, int32_t, int64_t>{},
           [&](auto tag, int) { fill_reduce<typename decltype(tag)::type>(table); });
}

}  // namespace cuda
}  // namespace strided
