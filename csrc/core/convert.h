// Conversion of one value between dtypes, defined for every input.
//   floating -> integer truncates toward zero. A value that does not fit the intermediate type (int32 for targets up to
//   32 bits, int64 for the wider ones and uint32), infinities and NaN become that type's minimum; narrower targets then
//   keep the low bits. This is what x86 does, and so what PyTorch shows there; here it holds on every machine.
//   integer -> narrower integer keeps the low bits; anything -> bool is `!= 0`; complex -> real drops the imaginary
//   part.
#pragma once

#include "core/dtype.h"

namespace strided {

// What a number becomes as an operand whose dtype cannot hold it.
enum class OutOfRange : uint8_t {
  Wrap,      // integers keep the low bits, floats become infinite
  Saturate,  // integers become the nearest number of the dtype, floats infinite
  Raise,     // PyTorch's RuntimeError (check_fits in core/scalar.h)
};

inline namespace STRIDED_ISA {

template <class I, class F>
STRIDED_HD I truncate(F x) {
  static_assert(std::is_same_v<I, int32_t> || std::is_same_v<I, int64_t>);
  constexpr F bound = static_cast<F>(std::is_same_v<I, int32_t> ? 2147483648.0 : 9223372036854775808.0);
  constexpr I lowest =
      std::is_same_v<I, int32_t> ? static_cast<I>(-2147483647 - 1) : static_cast<I>(-9223372036854775807LL - 1);
  const bool fits = x < bound && x >= -bound;
  const I t = static_cast<I>(fits ? x : F(0));
  return fits ? t : lowest;
}

template <class To, class From>
STRIDED_HD To convert(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (is_reduced<From>) {
    return convert<To>(static_cast<compute_t<From>>(v));
  } else if constexpr (is_reduced<To>) {
    return To(convert<compute_t<To>>(v));
  } else if constexpr (is_complex_v<From>) {
    if constexpr (is_complex_v<To>) return To(v);
    else if constexpr (std::is_same_v<To, bool>) return v.re != 0 || v.im != 0;
    else return convert<To>(v.re);
  } else if constexpr (is_complex_v<To>) {
    return To(static_cast<real_t<To>>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, uint64_t>) {
      return v >= From(9223372036854775808.0) && v < From(18446744073709551616.0)
                 ? static_cast<uint64_t>(v)
                 : static_cast<uint64_t>(truncate<int64_t>(v));
    } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint32_t>) {
      return static_cast<To>(truncate<int64_t>(v));
    } else {
      return static_cast<To>(truncate<int32_t>(v));
    }
  } else {
    return static_cast<To>(v);
  }
}

}  // namespace STRIDED_ISA
}  // namespace strided
