// What reductions are made of: the values they carry along (State), and the folds that several of them share. Names of
// the members: the top of backend/reduce.h.
#pragma once

#include "backend/op.h"
#include "base/dims.h"
#include "base/math.h"
#include "base/math_complex.h"

namespace strided {

// Most elements one call of ReduceKernel::accumulate reduces to one State.
constexpr int64_t kReduceChunk = 16384;

// What the gradient of a reduction may read.
template <class V>
struct ReduceSaved {
  V x, out;  // the operand and the result, as `saves` says
  Dims shape;
  uint64_t axes;  // the reduced ones, as bits
  bool keepdim;
  double count;  // of the elements behind each result
};

inline namespace STRIDED_ISA {

template <class A>
struct ValueIndex {
  A value;
  int64_t index;  // -1: no element yet
};
// Count, mean and sum of squared deviations. T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise
// algorithm for computing sample variances", Stanford STAN-CS-79-773 (1979).
struct Moments {
  double count, mean, m2;
};
// max and the sum of exp(x - max); an infinite max is not subtracted.
template <class A>
struct ScaledSum {
  A max, sum;
};

namespace reduce {

template <class A>
STRIDED_HD constexpr A lowest() {
  if constexpr (std::is_floating_point_v<A>) return -math::infinity<A>();
  else if constexpr (std::is_unsigned_v<A>) return A(0);
  else return static_cast<A>(A(1) << (8 * sizeof(A) - 1));
}
template <class A>
STRIDED_HD constexpr A highest() {
  if constexpr (std::is_floating_point_v<A>) return math::infinity<A>();
  else return static_cast<A>(~lowest<A>());
}

// The result of a reduction that keeps the dtype, from its State.
template <class T, class S>
STRIDED_HD T stored(S s) {
  if constexpr (std::is_same_v<T, bool>) return s != 0;
  else return T(s);
}
// Integers and bool are summed modulo 2^64; the result is int64, for uint64 itself.
template <class T>
using wide_t =
    std::conditional_t<!std::is_integral_v<T>, T, std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>;
template <class T>
using wide_state_t = std::conditional_t<std::is_integral_v<T>, uint64_t, compute_t<T>>;
template <class T>
using short_count_t = std::conditional_t<std::is_integral_v<T> && sizeof(T) <= 2, int32_t, wide_state_t<T>>;
// bool is compared as a byte.
template <class T>
using order_state_t = std::conditional_t<std::is_same_v<T, bool>, uint8_t, compute_t<T>>;
// Beside a position, narrow integers stand in 32 bits.
template <class T>
using indexed_state_t = std::conditional_t<std::is_integral_v<T> && sizeof(T) < 4, int32_t, compute_t<T>>;
// Counts up to kReduceChunk in lanes as wide as the elements.
template <class T>
using tally_t = std::conditional_t<sizeof(T) <= 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

template <class S, class C>
STRIDED_HD S widen(C x) {
  if constexpr (std::is_integral_v<C> && std::is_integral_v<S>) return static_cast<S>(static_cast<int64_t>(x));
  else return static_cast<S>(x);
}
template <class C>
STRIDED_HD bool nonzero(C x) {
  if constexpr (is_complex_v<C>) return (x.re != 0) | (x.im != 0);
  else return x != C(0);
}
template <class C>
STRIDED_HD bool is_nan(C x) {
  if constexpr (std::is_floating_point_v<C>) return x != x;
  else if constexpr (is_complex_v<C>) return (x.re != x.re) | (x.im != x.im);
  else return false;
}
// first ? a : b. Floats by their bits: GCC makes loads from a selected address of nested conditions, and these do not
// vectorise.
template <class A>
STRIDED_HD A select(bool first, A a, A b) {
  if constexpr (std::is_floating_point_v<A>) {
    using U = typename math::Bits<A>::U;
    const U mask = static_cast<U>(0) - static_cast<U>(first);
    return math::from_bits<A>((math::to_bits(a) & mask) | (math::to_bits(b) & ~mask));
  } else {
    return first ? a : b;
  }
}
// NaN is the greatest of all here, and stays.
template <class A>
STRIDED_HD bool greater(A a, A b) {
  if constexpr (std::is_floating_point_v<A>) return (a > b) | ((a != a) & (b == b));
  else return a > b;
}
template <class A>
STRIDED_HD bool less(A a, A b) {
  if constexpr (std::is_floating_point_v<A>) return (a < b) | ((a != a) & (b == b));
  else return a < b;
}

}  // namespace reduce

struct SumFold {
  template <class T>
  using State = reduce::wide_state_t<T>;
  template <class T>
  using Lane = reduce::short_count_t<T>;
  template <class S>
  STRIDED_HD static S identity() {
    return S(0);
  }
  template <class S, class C>
  STRIDED_HD static S map(C x, double) {
    return reduce::widen<S>(x);
  }
  template <class S>
  STRIDED_HD static S combine(S a, S b) {
    return a + b;
  }
  template <class V>
  static V vjp(const V& g, const ReduceSaved<V>& s) {
    return expanded(g, s);
  }
};
// The same, reading NaN as zero.
struct NanSumFold : SumFold {
  template <class S, class C>
  STRIDED_HD static S map(C x, double) {
    return reduce::is_nan(x) ? S(0) : reduce::widen<S>(x);
  }
  template <class V>
  static V vjp(const V& g, const ReduceSaved<V>& s) {
    return zero_at_nan(expanded(g, s), s.x);
  }
};
struct ProdFold {
  template <class T>
  using State = reduce::wide_state_t<T>;
  template <class T>
  using Lane = State<T>;
  template <class S>
  STRIDED_HD static S identity() {
    return S(1);
  }
  template <class S, class C>
  STRIDED_HD static S map(C x, double) {
    return reduce::widen<S>(x);
  }
  template <class S>
  STRIDED_HD static S combine(S a, S b) {
    return a * b;
  }
  template <class V>
  static V vjp(const V& g, const ReduceSaved<V>& s) {
    return product_gradient(g, s);
  }
};
struct MaxFold {
  template <class T>
  using State = reduce::order_state_t<T>;
  template <class T>
  using Lane = State<T>;
  template <class S>
  STRIDED_HD static S identity() {
    return reduce::lowest<S>();
  }
  template <class S, class C>
  STRIDED_HD static S map(C x, double) {
    return static_cast<S>(x);
  }
  template <class S>
  STRIDED_HD static S combine(S a, S b) {
    return reduce::select(reduce::is_nan(a), a, a > b ? a : b);
  }
  template <class S>
  STRIDED_HD static bool better(S a, S b) {
    return reduce::greater(a, b);
  }
};
struct MinFold : MaxFold {
  template <class S>
  STRIDED_HD static S identity() {
    return reduce::highest<S>();
  }
  template <class S>
  STRIDED_HD static S combine(S a, S b) {
    return reduce::select(reduce::is_nan(a), a, a < b ? a : b);
  }
  template <class S>
  STRIDED_HD static bool better(S a, S b) {
    return reduce::less(a, b);
  }
};
struct CountFold : SumFold {
  template <class T>
  using State = uint64_t;
  template <class T>
  using Lane = reduce::tally_t<T>;
  template <class S, class C>
  STRIDED_HD static S map(C x, double) {
    return static_cast<S>(reduce::nonzero(x));
  }
};
// Value and position of the first extreme element; NaN wins over all.
template <class F>
struct IndexFold {
  template <class T>
  using State = ValueIndex<reduce::indexed_state_t<T>>;
  template <class S>
  STRIDED_HD static S identity() {
    return S{F::template identity<decltype(S::value)>(), -1};
  }
  template <class S, class C>
  STRIDED_HD static S map(C x, double, int64_t position) {
    return S{static_cast<decltype(S::value)>(x), position};
  }
  template <class S>
  STRIDED_HD static S combine(S a, S b) {
    return a.index < 0 || (b.index >= 0 && F::better(b.value, a.value)) ? b : a;
  }
  template <class T, class S>
  STRIDED_HD static T finish(S s, int64_t, double) {
    return reduce::stored<T>(s.value);
  }
  template <class T, class S>
  STRIDED_HD static int64_t second(S s) {
    return s.index;
  }
};
struct MomentsFold {
  template <class T>
  using State = Moments;
  template <class S>
  STRIDED_HD static S identity() {
    return S{0, 0, 0};
  }
  template <class S, class C>
  STRIDED_HD static S map(C x, double) {
    return S{1, static_cast<double>(x), 0};
  }
  template <class S>
  STRIDED_HD static S combine(S a, S b) {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    const double n = a.count + b.count, d = b.mean - a.mean;
    return {n, a.mean + d * (b.count / n), a.m2 + b.m2 + d * d * (a.count * b.count / n)};
  }
  template <class T, class S>
  STRIDED_HD static T second(S s) {
    return T(static_cast<compute_t<T>>(s.count == 0 ? math::quiet_nan<double>() : s.mean));
  }

  STRIDED_HD static double variance(const Moments& s, double correction) {
    const double d = s.count - correction;
    return s.m2 / (d > 0 ? d : 0);
  }
};

}  // namespace STRIDED_ISA
}  // namespace strided
