#include "cuda/reduce/reduce.h"

namespace strided {
namespace cuda {

void fill_reduce_floats(ReduceTable& table) {
  for_each(List<float, double>{}, [&](auto tag, int) { fill_reduce<typename decltype(tag)::type>(table); });
}

}  // namespace cuda
}  // namespace strided
