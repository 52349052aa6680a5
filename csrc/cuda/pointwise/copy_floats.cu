#include "cuda/pointwise/copy_types.h"

namespace strided {
namespace cuda {

void fill_copy_floats(CopyTable& table) {
  for_each(List<Half, BFloat16, float, double>{},
           [&](auto tag, int) { fill_conversions_to<typename decltype(tag)::type>(table, CommonTypes{}); });
  for_each(List<Complex<float>, Complex<double>>{},
           [&](auto tag, int) { fill_conversions_to<typename decltype(tag)::type>(table, List<>{}); });
}

}  // namespace cuda
}  // namespace strided
