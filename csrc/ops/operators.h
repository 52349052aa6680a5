// The arithmetic of Tensor in C++, as backward formulas write it. Every function here is recorded.
#pragma once

#include "ops/call.h"
#include "ops/copy.h"
#include "ops/factory.h"

namespace strided {

#define STRIDED_OPERATOR(symbol, Op) \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return elementwise<Op>(a, b); } \
  template <class N, class = std::enable_if_t<std::is_arithmetic_v<N> || std::is_same_v<N, Scalar>>> \
  Tensor operator symbol(const Tensor& a, const N& b) { \
    return elementwise<Op>(a, Scalar(b)); \
  } \
  template <class N, class = std::enable_if_t<std::is_arithmetic_v<N> || std::is_same_v<N, Scalar>>> \
  Tensor operator symbol(const N& a, const Tensor& b) { \
    return elementwise<Op>(Scalar(a), b); \
  }
STRIDED_OPERATOR(+, Add)
STRIDED_OPERATOR(-, Sub)
STRIDED_OPERATOR(*, Mul)
STRIDED_OPERATOR(/, Div)
#undef STRIDED_OPERATOR

inline Tensor operator-(const Tensor& x) { return elementwise<Neg>(x); }
inline Tensor conj(const Tensor& x) { return is_complex(x.dtype()) ? elementwise<ConjPhysical>(x) : x; }
inline Tensor zero_like(const Tensor& x) { return zeros_like(x); }
// x where the condition holds, else 0
Tensor masked(const Tensor& x, const Tensor& condition);
// The imaginary unit times x; zeros for a real x
inline Tensor times_i(const Tensor& x) { return is_complex(x.dtype()) ? x * Scalar(0.0, 1.0) : zeros_like(x); }
[[noreturn]] inline Tensor no_derivative(const Tensor&, const char* what) {
  STRIDED_THROW(NotImplementedError, "the derivative for '", what, "' is not implemented.");
}

inline namespace STRIDED_ISA {
template <class Op, class... V>
auto apply(const V&... v) {
  if constexpr ((std::is_same_v<V, Tensor> || ...)) return elementwise<Op>(v...);
  else return Op::fwd(v...);
}
template <class Op, class... V>
auto apply_with(const double* params, const V&... v) {
  if constexpr ((std::is_same_v<V, Tensor> || ...)) {
    const Operand in[] = {Operand(v)...};
    return call_elementwise(op_def(elementwise_id<Op>), in, params);
  } else {
    return Op::fwd(v..., params);
  }
}
}  // namespace STRIDED_ISA

}  // namespace strided
