// Conversions to the dtypes of a list, for the two units that share them.
#pragma once

#include "backend/op.h"
#include "cuda/pointwise/copy.h"

namespace strided {
namespace cuda {

// Pairs of these have a vector kernel; others are read one element at a time.
template <class T>
struct IsCommon
    : std::bool_constant<std::is_same_v<T, bool> || std::is_same_v<T, uint8_t> || IsSigned<T>::value || is_reduced<T>> {
};
using CommonTypes = Filter<IsCommon, DTypesOf<kinds::real>>::type;

template <class To, class From>
void fill_conversion(CopyTable& table) {
  if constexpr (!std::is_same_v<To, From>)
    table.convert[index_of(dtype_of<To>)][index_of(dtype_of<From>)] = vector_kernel_of<Convert<To, From>>();
}
template <class To>
void fill_conversions_to(CopyTable& table) {
  table.convert_any[index_of(dtype_of<To>)] = kernel_of<Convert<To, To>>();
  if constexpr (IsIn<To, CommonTypes>::value)
    for_each(CommonTypes{}, [&](auto tag, int) { fill_conversion<To, typename decltype(tag)::type>(table); });
}
// To all dtypes of some kinds.
template <unsigned Kinds>
void fill_conversions(CopyTable& table) {
  for_each(DTypes{}, [&](auto tag, int) {
    using To = typename decltype(tag)::type;
    if constexpr ((DTypeTraits<To>::kind & Kinds) != 0) fill_conversions_to<To>(table);
  });
}

}  // namespace cuda
}  // namespace strided
