#include "cuda/reduce/reduce.h"

namespace strided {
namespace cuda {

void fill_reduce_unsigned(ReduceTable& table) {
  for_each(BoolAndUnsigned{}, [&](auto tag, int) { fill_reduce<typename decltype(tag)::type>(table); });
}

}  // namespace cuda
}  // namespace strided
