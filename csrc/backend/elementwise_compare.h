// Elementwise ops that answer or combine truth values and bits: comparisons, classification, logic, bitwise arithmetic.
// None has a gradient.
#pragma once

#include "backend/elementwise_base.h"

namespace strided {
inline namespace STRIDED_ISA {

// ---- comparisons: the result is bool --------------------------------------------------------------------------------

struct Eq {
  static constexpr Info info{"eq", Promote::Same, kinds::all, Saves::Nothing,
                             "input == other, as bool. NaN equals nothing, 0.0 equals -0.0."};
  template <class T>
  STRIDED_HD static bool fwd(T a, T b) {
    return a == b;
  }
};

struct Ne {
  static constexpr Info info =
      Info{"ne", Promote::Same, kinds::all, Saves::Nothing, "input != other, as bool; True for NaN."}.with_aliases(
          "not_equal");
  template <class T>
  STRIDED_HD static bool fwd(T a, T b) {
    return a != b;
  }
};

struct Lt {
  static constexpr Info info =
      Info{"lt", Promote::Same, kinds::real, Saves::Nothing, "input < other, as bool; False for NaN."}.with_aliases(
          "less");
  template <class T>
  STRIDED_HD static bool fwd(T a, T b) {
    return a < b;
  }
};

struct Le {
  static constexpr Info info =
      Info{"le", Promote::Same, kinds::real, Saves::Nothing, "input <= other, as bool; False for NaN."}.with_aliases(
          "less_equal");
  template <class T>
  STRIDED_HD static bool fwd(T a, T b) {
    return a <= b;
  }
};

struct Gt {
  static constexpr Info info =
      Info{"gt", Promote::Same, kinds::real, Saves::Nothing, "input > other, as bool; False for NaN."}.with_aliases(
          "greater");
  template <class T>
  STRIDED_HD static bool fwd(T a, T b) {
    return a > b;
  }
};

struct Ge {
  static constexpr Info info =
      Info{"ge", Promote::Same, kinds::real, Saves::Nothing, "input >= other, as bool; False for NaN."}.with_aliases(
          "greater_equal");
  template <class T>
  STRIDED_HD static bool fwd(T a, T b) {
    return a >= b;
  }
};

struct Isclose {
  static constexpr Info info =
      Info{"isclose", Promote::Same, kinds::all, Saves::Nothing,
           "|input - other| <= atol + rtol * |other|, as bool. Equal infinities are close; NaN is close "
           "to NaN with `equal_nan` only."}
          .with_params("float rtol=1e-05, float atol=1e-08, bool equal_nan=False")
          .without_inplace();
  template <class T>
  STRIDED_HD static bool fwd(T a, T b, const double* p) {
    if constexpr (std::is_integral_v<T>) {
      // The distance of two 64-bit integers fits the unsigned type.
      const uint64_t distance = a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
                                      : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
      const double size = math::abs(static_cast<double>(b));
      return a == b || static_cast<double>(distance) <= p[1] + p[0] * size;
    } else {
      using R = real_t<T>;
      const R distance = math::abs(a - b), allowed = R(p[1]) + math::abs(R(p[0]) * math::abs(b));
      const bool near = math::isfinite(distance) & (distance <= allowed);
      const bool both_nan = (p[2] != 0) & math::isnan(a) & math::isnan(b);
      return (a == b) | near | both_nan;
    }
  }
};

// ---- classification: the result is bool -----------------------------------------------------------------------------

struct Isnan {
  static constexpr Info info = Info{"isnan", Promote::Same, kinds::all, Saves::Nothing,
                                    "Is the element NaN, or a complex number with a NaN part?"}
                                   .without_inplace();
  template <class T>
  STRIDED_HD static bool fwd([[maybe_unused]] T x) {
    if constexpr (std::is_integral_v<T>) return false;
    else return math::isnan(x);
  }
};

struct Isinf {
  static constexpr Info info = Info{"isinf", Promote::Same, kinds::all, Saves::Nothing,
                                    "Is the element infinite, or a complex number with an infinite part?"}
                                   .without_inplace();
  template <class T>
  STRIDED_HD static bool fwd([[maybe_unused]] T x) {
    if constexpr (std::is_integral_v<T>) return false;
    else return math::isinf(x);
  }
};

struct Isreal {
  static constexpr Info info = Info{"isreal", Promote::Same, kinds::all, Saves::Nothing,
                                    "Is the element real: not a complex number with an imaginary part other than zero?"}
                                   .without_inplace();
  template <class T>
  STRIDED_HD static bool fwd([[maybe_unused]] T x) {
    if constexpr (is_complex_v<T>) return x.im == 0;
    else return true;
  }
};

struct Isfinite {
  static constexpr Info info =
      Info{"isfinite", Promote::Same, kinds::all, Saves::Nothing,
           "Is the element finite: neither infinite nor NaN (a complex number: in both parts)?"}
          .without_inplace();
  template <class T>
  STRIDED_HD static bool fwd([[maybe_unused]] T x) {
    if constexpr (std::is_integral_v<T>) return true;
    else return math::isfinite(x);
  }
};

struct Isposinf {
  static constexpr Info info =
      Info{"isposinf", Promote::Same, kinds::real, Saves::Nothing, "Is the element +infinity?"}.without_inplace();
  template <class T>
  STRIDED_HD static bool fwd([[maybe_unused]] T x) {
    if constexpr (std::is_integral_v<T>) return false;
    else return x == math::infinity<T>();
  }
};

struct Isneginf {
  static constexpr Info info =
      Info{"isneginf", Promote::Same, kinds::real, Saves::Nothing, "Is the element -infinity?"}.without_inplace();
  template <class T>
  STRIDED_HD static bool fwd([[maybe_unused]] T x) {
    if constexpr (std::is_integral_v<T>) return false;
    else return x == -math::infinity<T>();
  }
};

struct Signbit {
  static constexpr Info info = Info{"signbit", Promote::Same, kinds::real, Saves::Nothing,
                                    "Is the sign bit set? True for -0.0 and for a NaN with a sign, unlike x < 0."}
                                   .without_inplace();
  STRIDED_HD static bool fwd(bool) { return false; }
  template <class T>
  STRIDED_HD static bool fwd(T x) {
    if constexpr (is_int_v<T>) return integer::is_negative(x);
    else return math::signbit(x);
  }
};

// ---- logic: anything other than 0 is true, NaN included; the result is bool -----------------------------------------

struct LogicalNot {
  static constexpr Info info{"logical_not", Promote::Same, kinds::all, Saves::Nothing,
                             "True where the element is 0, as bool."};
  template <class T>
  STRIDED_HD static bool fwd(T x) {
    return !is_true(x);
  }
};

struct LogicalAnd {
  static constexpr Info info{"logical_and", Promote::Same, kinds::all, Saves::Nothing,
                             "True where both elements are not 0, as bool."};
  template <class T>
  STRIDED_HD static bool fwd(T a, T b) {
    return is_true(a) & is_true(b);
  }
};

struct LogicalOr {
  static constexpr Info info{"logical_or", Promote::Same, kinds::all, Saves::Nothing,
                             "True where at least one element is not 0, as bool."};
  template <class T>
  STRIDED_HD static bool fwd(T a, T b) {
    return is_true(a) | is_true(b);
  }
};

struct LogicalXor {
  static constexpr Info info{"logical_xor", Promote::Same, kinds::all, Saves::Nothing,
                             "True where exactly one element is not 0, as bool."};
  template <class T>
  STRIDED_HD static bool fwd(T a, T b) {
    return is_true(a) != is_true(b);
  }
};

// ---- bits -----------------------------------------------------------------------------------------------------------

struct BitwiseNot {
  static constexpr Info info{"bitwise_not", Promote::Same, kinds::Bool | kinds::Int, Saves::Nothing,
                             "Every bit of the element inverted; for bool, its logical not."};
  STRIDED_HD static bool fwd(bool x) { return !x; }
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return static_cast<T>(~x);
  }
};

struct BitwiseAnd {
  static constexpr Info info{"bitwise_and", Promote::Same, kinds::Bool | kinds::Int, Saves::Nothing,
                             "Bitwise and; for bool, the logical and."};
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    return static_cast<T>(a & b);
  }
};

struct BitwiseOr {
  static constexpr Info info{"bitwise_or", Promote::Same, kinds::Bool | kinds::Int, Saves::Nothing,
                             "Bitwise or; for bool, the logical or."};
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    return static_cast<T>(a | b);
  }
};

struct BitwiseXor {
  static constexpr Info info{"bitwise_xor", Promote::Same, kinds::Bool | kinds::Int, Saves::Nothing,
                             "Bitwise exclusive or; for bool, inequality."};
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

struct BitwiseLeftShift {
  static constexpr Info info{"bitwise_left_shift", Promote::Same, kinds::Int, Saves::Nothing,
                             "input << other. A shift that is negative, or not less than the number of bits, gives 0."};
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    return integer::shift_left(a, b);
  }
};

struct BitwiseRightShift {
  static constexpr Info info{
      "bitwise_right_shift", Promote::Same, kinds::Int, Saves::Nothing,
      "input >> other, filling with the sign. A shift that is negative, or not less than the number "
      "of bits, gives -1 for negative elements, else 0."};
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    return integer::shift_right(a, b);
  }
};

using CompareOps = List<Eq, Ne, Lt, Le, Gt, Ge, Isclose, Isnan, Isinf, Isreal, Isfinite, Isposinf, Isneginf, Signbit,
                        LogicalNot, LogicalAnd, LogicalOr, LogicalXor, BitwiseNot, BitwiseAnd, BitwiseOr, BitwiseXor,
                        BitwiseLeftShift, BitwiseRightShift>;

}  // namespace STRIDED_ISA
}  // namespace strided
