// Values with the operators of arithmetic, for lowerings that read like formulas.
#pragma once

#include <cmath>

#include "xla/ops.h"

namespace strided::xla {

struct Num {
  Value v;
  explicit Num(Value value) : v(std::move(value)) {}
  // A number of the same dtype; integers take the nearest one that they have.
  Num like(double x) const {
    if (is_integral(v->dtype) && !(std::fabs(x) < 0x1p31)) return Num(nearest(x, v->dtype, v->shape));
    return Num(constant(x, v->dtype, v->shape));
  }
  bool complex() const { return is_complex(v->dtype); }
  bool integral() const { return is_integral(v->dtype); }
  bool is_bool() const { return v->dtype == DType::Bool; }
  bool is_signed() const { return kDTypeInfo[index_of(v->dtype)].is_signed; }
};

#define STRIDED_XLA_BINARY(name, op) \
  inline Num name(const Num& a, const Num& b) { return Num(binary(op, a.v, b.v)); } \
  inline Num name(const Num& a, double b) { return name(a, a.like(b)); } \
  inline Num name(double a, const Num& b) { return name(b.like(a), b); }
STRIDED_XLA_BINARY(operator+, "stablehlo.add")
STRIDED_XLA_BINARY(operator-, "stablehlo.subtract")
STRIDED_XLA_BINARY(operator*, "stablehlo.multiply")
STRIDED_XLA_BINARY(operator/, "stablehlo.divide")
STRIDED_XLA_BINARY(operator&, "stablehlo.and")
STRIDED_XLA_BINARY(operator|, "stablehlo.or")
STRIDED_XLA_BINARY(operator^, "stablehlo.xor")
STRIDED_XLA_BINARY(power, "stablehlo.power")
STRIDED_XLA_BINARY(mod, "stablehlo.remainder")  // with the sign of a
STRIDED_XLA_BINARY(atan2, "stablehlo.atan2")
#undef STRIDED_XLA_BINARY

#define STRIDED_XLA_COMPARE(name, direction) \
  inline Num name(const Num& a, const Num& b) { return Num(compare(direction, a.v, b.v)); } \
  inline Num name(const Num& a, double b) { return name(a, a.like(b)); }
STRIDED_XLA_COMPARE(operator<, "LT")
STRIDED_XLA_COMPARE(operator<=, "LE")
STRIDED_XLA_COMPARE(operator>, "GT")
STRIDED_XLA_COMPARE(operator>=, "GE")
STRIDED_XLA_COMPARE(operator==, "EQ")
STRIDED_XLA_COMPARE(operator!=, "NE")
#undef STRIDED_XLA_COMPARE

inline Num operator-(const Num& a) { return Num(unary("stablehlo.negate", a.v)); }
inline Num operator~(const Num& a) { return Num(unary("stablehlo.not", a.v)); }
inline Num call(const char* op, const Num& a) { return Num(unary(op, a.v)); }
inline Num call(const char* op, const Num& a, const Num& b) { return Num(binary(op, a.v, b.v)); }

inline Num where(const Num& condition, const Num& a, const Num& b) { return Num(select(condition.v, a.v, b.v)); }
inline Num where(const Num& condition, const Num& a, double b) { return where(condition, a, a.like(b)); }
inline Num where(const Num& condition, double a, const Num& b) { return where(condition, b.like(a), b); }
inline Num nan(const Num& a) { return a != a; }
inline Num cast(const Num& a, DType dtype) { return Num(convert(a.v, dtype)); }
inline Num real(const Num& a) {
  return a.complex() ? Num(add("stablehlo.real", {a.v}, real_of(a.v->dtype), a.v->shape)) : a;
}
inline Num imag(const Num& a) { return Num(add("stablehlo.imag", {a.v}, real_of(a.v->dtype), a.v->shape)); }
inline Num complex(const Num& re, const Num& im) {
  return Num(add("stablehlo.complex", {re.v, im.v}, complex_of(re.v->dtype), re.v->shape));
}
inline Num abs(const Num& a) {
  if (a.integral() && !a.is_signed()) return a;
  return Num(add("stablehlo.abs", {a.v}, real_of(a.v->dtype), a.v->shape));
}
inline Num conj(const Num& a) { return a.complex() ? complex(real(a), -imag(a)) : a; }
inline Num square(const Num& a) { return a.complex() ? real(a) * real(a) + imag(a) * imag(a) : a * a; }  // |a|^2
inline Num sqrt(const Num& a) { return call("stablehlo.sqrt", a); }
inline Num exp(const Num& a) { return call("stablehlo.exponential", a); }
inline Num expm1(const Num& a) { return call("stablehlo.exponential_minus_one", a); }
inline Num log(const Num& a) { return call("stablehlo.log", a); }
inline Num log1p(const Num& a) { return call("stablehlo.log_plus_one", a); }
inline Num sigmoid(const Num& a) { return call("stablehlo.logistic", a); }
inline Num sin(const Num& a) { return call("stablehlo.sine", a); }
inline Num cos(const Num& a) { return call("stablehlo.cosine", a); }
inline Num tanh(const Num& a) { return call("stablehlo.tanh", a); }
inline Num floor(const Num& a) { return call("stablehlo.floor", a); }
inline Num ceil(const Num& a) { return call("stablehlo.ceil", a); }
inline Num sign(const Num& a) { return call("stablehlo.sign", a); }
inline Num erfc(const Num& a) { return call("chlo.erfc", a); }
inline Num trunc(const Num& a) { return where(a < 0.0, ceil(a), floor(a)); }
inline Num smaller(const Num& a, const Num& b) { return call("stablehlo.minimum", a, b); }  // NaN stays
inline Num larger(const Num& a, const Num& b) { return call("stablehlo.maximum", a, b); }
inline Num finite(const Num& a) { return Num(add("stablehlo.is_finite", {a.v}, DType::Bool, a.v->shape)); }

inline Num sum(const Num& a, const Dims& axes) {
  return Num(fold("stablehlo.add", a.v, constant_int(0, a.v->dtype), axes));
}
inline Num most(const Num& a, const Dims& axes, double least = 0) {  // the greatest element, or `least`
  return Num(fold("stablehlo.maximum", a.v, constant(least, a.v->dtype), axes));
}

}  // namespace strided::xla
