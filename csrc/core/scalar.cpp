#include "core/scalar.h"

#include <cmath>
#include <limits>

namespace strided {
namespace {

Wide greatest_integer(DType t) { return (Wide(1) << (8 * size_of(t) - is_signed(t))) - 1; }
Wide least_integer(DType t) { return is_signed(t) ? -greatest_integer(t) - 1 : 0; }

bool real_fits(double v, DType t) { return !(std::fabs(v) > info_of(t).greatest) || std::isinf(v); }

bool fits(const Scalar& s, DType t) {
  if (is_bool(t)) return true;
  if (is_complex(t)) return real_fits(s.real(), real_of(t)) && real_fits(s.imag(), real_of(t));
  if (s.imag() != 0) return false;
  if (is_floating(t)) return real_fits(s.real(), t);
  const Wide greatest = greatest_integer(t), least = is_signed(t) ? -greatest - 1 : -greatest;
  if (s.is_integral()) return to_wide(s) >= least && to_wide(s) <= greatest;
  // A floating-point number is not taken modulo 2^n. No double lies between greatest and greatest + 1 in 64 bits.
  const double v = s.real(), above = static_cast<double>(greatest + 1);
  const bool below = size_of(t) == 8 ? v < above : v <= above - 1;
  return v >= static_cast<double>(least_integer(t)) && below;  // false for NaN
}

}  // namespace

int beyond(const Scalar& s, DType t) {
  const Wide v = to_wide(s);
  return v > greatest_integer(t) ? 1 : v < least_integer(t) ? -1 : 0;
}

void check_fits(const Scalar& s, DType t) {
  STRIDED_CHECK(fits(s, t), RuntimeError, "value cannot be converted to type ", info_of(t).written,
                " without overflow");
}

Element::Element(const Scalar& s, DType t, OutOfRange rule) {
  if (rule == OutOfRange::Raise) check_fits(s, t);
  dispatch(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T v = s.to<T>();
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      if (rule == OutOfRange::Saturate && s.is_integral()) {
        const int side = beyond(s, t);
        if (side) v = side > 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
      }
    std::memcpy(bytes, &v, sizeof(T));
  });
}

}  // namespace strided
