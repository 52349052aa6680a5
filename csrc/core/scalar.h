// A Python number: it has a kind (bool, integer, floating, complex) but no dtype, and promotes weakly.
#pragma once

#include "core/convert.h"

namespace strided {

class Scalar {
 public:
  enum class Kind : uint8_t { Bool, Int, UInt, Float, Complex };  // UInt: an integer beyond int64

  Scalar() : Scalar(int64_t(0)) {}
  Scalar(bool v) : kind_(Kind::Bool) { i_ = v; }
  Scalar(int v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(int64_t v) : kind_(Kind::Int) { i_ = v; }
  Scalar(uint64_t v) : kind_(v >> 63 ? Kind::UInt : Kind::Int) { i_ = static_cast<int64_t>(v); }
  Scalar(double v) : kind_(Kind::Float) { re_ = v; }
  Scalar(double re, double im) : kind_(Kind::Complex) {
    re_ = re;
    im_ = im;
  }

  Kind kind() const { return kind_; }
  bool is_integral() const { return kind_ <= Kind::UInt; }
  bool is_complex() const { return kind_ == Kind::Complex; }
  bool is_bool() const { return kind_ == Kind::Bool; }
  bool is_floating() const { return kind_ == Kind::Float; }
  DType dtype(DType default_float) const;  // the dtype of tensor(scalar)

  double real() const {
    return kind_ == Kind::UInt ? static_cast<double>(static_cast<uint64_t>(i_))
           : is_integral()     ? static_cast<double>(i_)
                               : re_;
  }
  double imag() const { return is_complex() ? im_ : 0.0; }
  int64_t to_int() const { return is_integral() ? i_ : convert<int64_t>(re_); }
  bool to_bool() const { return is_integral() ? i_ != 0 : re_ != 0 || imag() != 0; }

  template <class T>
  T to() const {
    if constexpr (is_complex_v<T>) {
      return T(static_cast<real_t<T>>(real()), static_cast<real_t<T>>(imag()));
    } else if constexpr (std::is_same_v<T, bool>) {
      return to_bool();
    } else if constexpr (std::is_integral_v<T>) {
      return is_integral() ? static_cast<T>(i_) : convert<T>(re_);
    } else {
      return T(static_cast<compute_t<T>>(real()));
    }
  }

 private:
  Kind kind_;
  union {
    int64_t i_;
    double re_;
  };
  double im_ = 0;
};

inline DType Scalar::dtype(DType default_float) const {
  switch (kind_) {
    case Kind::Bool: return DType::Bool;
    case Kind::Int: return DType::Int64;
    case Kind::UInt: return DType::UInt64;
    case Kind::Float: return default_float;
    case Kind::Complex: return complex_of(default_float);
  }
  __builtin_unreachable();
}

inline std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool: return out << (s.to_bool() ? "True" : "False");
    case Scalar::Kind::Int: return out << s.to_int();
    case Scalar::Kind::UInt: return out << static_cast<uint64_t>(s.to_int());
    case Scalar::Kind::Float: return out << s.real();
    case Scalar::Kind::Complex: return out << '(' << s.real() << (s.imag() < 0 ? "" : "+") << s.imag() << "j)";
  }
  return out;
}

// An integer, or a floating-point number truncated, of any sign.
using Wide = __int128;
inline Wide to_wide(const Scalar& s) {
  const int64_t bits = s.to_int();
  return s.kind() == Scalar::Kind::UInt ? static_cast<Wide>(static_cast<uint64_t>(bits)) : static_cast<Wide>(bits);
}
// 1 for an integer above what an integer dtype holds, -1 for one below, 0 for one that it holds.
int beyond(const Scalar& s, DType t);
// Raises PyTorch's RuntimeError for a number that a dtype cannot hold: out of range, or complex for a real dtype.
// Unsigned dtypes take negative integers modulo 2^n, but none below -greatest. Everything is some bool.
void check_fits(const Scalar& s, DType t);

// A number as one element of a dtype: how each number becomes an operand.
struct Element {
  alignas(16) char bytes[16];
  Element(const Scalar& s, DType t, OutOfRange rule = OutOfRange::Wrap);
};

}  // namespace strided
