// Conversions to the dtypes of a list, for the two units that share them.
#pragma once

#include "backend/op.h"
#include "cuda/pointwise/copy.h"

namespace strided {
namespace cuda {

// Pairs of these have a vector kernel; others are read one element at a time.
using CommonTypes = List<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double>;

template <class To, class From>
void fill_conversion(CopyTable& table) {
  if constexpr (!std::is_same_v<To, From>)
    table.convert[index_of(dtype_of<To>)][index_of(dtype_of<From>)] = vector_kernel_of<Convert<To, From>>();
}
template <class To, class... From>
void fill_conversions_to(CopyTable& table, List<From...>) {
  table.convert_any[index_of(dtype_of<To>)] = kernel_of<Convert<To, To>>();
  (fill_conversion<To, From>(table), ...);
}

}  // namespace cuda
}  // namespace strided
