// The running reductions: one struct each, with the dtypes it has. The loops are the backends'
// (csrc/cpu/reduce/scan.cpp, csrc/cuda/reduce/scan.h). No Tensor inside, so .cu files include this too.
//
// A scan has a State for each of its dtypes: first() stands before any element, add() takes the element at a position,
// append() the state of elements that follow, so that a row can be taken in parts. value() is the result, position()
// the second one of a scan that has `positions`.
#pragma once

#include "backend/op.h"
#include "base/math.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace scan {

// Floats are added and multiplied in double, the 16-bit ones in float, integers modulo 2^64.
template <class T>
struct Wider {
  using type = compute_t<T>;
};
template <>
struct Wider<float> {
  using type = double;
};
template <>
struct Wider<Complex<float>> {
  using type = Complex<double>;
};
template <>
struct Wider<int64_t> {
  using type = uint64_t;
};

template <class Step, class T>
struct Fold {
  using A = typename Wider<T>::type;
  A a;
  STRIDED_HD static Fold first() { return {Step::template start<A>()}; }
  STRIDED_HD void add(T x, int64_t) { a = Step::step(a, static_cast<A>(x)); }
  STRIDED_HD void append(const Fold& next) { a = Step::step(a, next.a); }
  STRIDED_HD T value() const { return static_cast<T>(a); }
};

struct Sum {
  static constexpr bool positions = false;
  using Types = Concat<List<int64_t, uint64_t>, DTypesOf<kinds::floating>>::type;
  template <class T>
  using State = Fold<Sum, T>;
  template <class A>
  STRIDED_HD static A start() {
    return A(0);
  }
  template <class A>
  STRIDED_HD static A step(A a, A x) {
    return a + x;
  }
};
struct Product {
  static constexpr bool positions = false;
  using Types = Sum::Types;
  template <class T>
  using State = Fold<Product, T>;
  template <class A>
  STRIDED_HD static A start() {
    return A(1);
  }
  template <class A>
  STRIDED_HD static A step(A a, A x) {
    return a * x;
  }
};
// log(exp(a) + exp(x))
struct LogSum {
  static constexpr bool positions = false;
  using Types = DTypesOf<kinds::Float>;
  template <class T>
  using State = Fold<LogSum, T>;
  template <class A>
  STRIDED_HD static A start() {
    return -math::infinity<A>();
  }
  template <class A>
  STRIDED_HD static A step(A a, A x) {
    const A high = a != a || a > x ? a : x, low = a != a || a > x ? x : a;  // NaN counts as high
    const A sum = high + math::log1p(math::exp(low - high));
    return math::isinf(high) ? high : sum;
  }
};

// Does x take the place of the best one before it? Among equals the last one counts; NaN wins over all.
template <class Order, class A>
STRIDED_HD bool replaces(A x, A best) {
  return x != x || (best == best && Order::takes(x, best));
}
template <class Order, class T>
struct ExtremeState {
  using A = std::conditional_t<std::is_same_v<T, bool>, uint8_t, compute_t<T>>;
  A a;
  int64_t index;  // -1: no element yet
  STRIDED_HD static ExtremeState first() { return {A(0), -1}; }
  STRIDED_HD void add(T x, int64_t position) { append({static_cast<A>(x), position}); }
  STRIDED_HD void append(const ExtremeState& next) {
    if (next.index >= 0 && (index < 0 || replaces<Order>(next.a, a))) *this = next;
  }
  STRIDED_HD T value() const { return T(a); }
  STRIDED_HD int64_t position() const { return index; }
};
template <class Order>
struct Extreme {
  static constexpr bool positions = true;
  using Types = DTypesOf<kinds::real>;
  template <class T>
  using State = ExtremeState<Order, T>;
};
struct Highest {
  template <class A>
  STRIDED_HD static bool takes(A x, A best) {
    return x >= best;
  }
};
struct Lowest {
  template <class A>
  STRIDED_HD static bool takes(A x, A best) {
    return x <= best;
  }
};
using Max = Extreme<Highest>;
using Min = Extreme<Lowest>;

}  // namespace scan
}  // namespace STRIDED_ISA
}  // namespace strided
