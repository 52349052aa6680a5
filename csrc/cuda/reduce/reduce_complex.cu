#include "cuda/reduce/reduce.h"

namespace strided {
namespace cuda {

void fill_reduce_complex(ReduceTable& table) {
  for_each(DTypesOf<kinds::Complex>{}, [&](auto tag, int) { fill_reduce<typename decltype(tag)::type>(table); });
}

}  // namespace cuda
}  // namespace strided
