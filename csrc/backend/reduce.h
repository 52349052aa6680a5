// Every reduction: one struct each, and the list they stand in. No tensor in here, so that device code includes it too.
//
// One declaration per reduction.
// A struct says
//   State<T>               what is carried while elements of dtype T are reduced; trivially copyable
//   map<S>(x, p)           the State of one element (compute type of T);
//                          index-carrying ones have map<S>(x, p, position)
//   combine(a, b)          the State of a's elements followed by b's; associative up to rounding
//   identity<S>()          the State of no elements
//   finish<T>(s, n, p)     the stored result of n elements; second<T>(s) a second result, where there is one
//   vjp(g, s)              the gradient, in words of ops/reduce/gradients.h; none: the result has no derivative
//   check(p)               raises for a value that the parameter may not have
//   OnIntegers             the reduction that serves for bool and integers, where it is another one
// and `info`, from which follow the function and method, its keywords, out=, documentation and C++ call.
// p is the op's one parameter (the correction of a variance). The CPU's loops (cpu/reduce/reduce.inc) choose
// their way by `walk`; Lane<T> is a narrower State that holds up to kReduceChunk elements, so that more of them fit a
// vector.
#pragma once

#include "backend/op.h"
#include "base/dims.h"
#include "base/error.h"
#include "base/math.h"
#include "base/math_complex.h"

namespace strided {

// Most elements one call of ReduceKernel::accumulate reduces to one State.
constexpr int64_t kReduceChunk = 16384;

enum class ReduceAlgorithm : uint8_t { Fold, Index, Moments, LogSumExp };
enum class OnEmpty : uint8_t { Identity, Error };  // what a reduction of no elements gives

enum class NoAxes : uint8_t { All, None };  // what dim=() reduces

struct ReduceInfo {
  const char* name;
  unsigned kinds;
  OnEmpty empty;
  ReduceAlgorithm walk;
  int outputs;
  const char* doc;
  // What follows `input` in the signature of the public function, without out=: dim, keepdim, dtype, and perhaps one
  // number, which is the parameter. Null: functions of ops/reduce use the reduction.
  const char* arguments = nullptr;
  Saves saves = Saves::Nothing;
  Promote promote = Promote::Same;
  NoAxes no_axes = NoAxes::All;
  // RuntimeError for other kinds; {which} is "Input" or "Optional" (dtype=), {dtype} its name. Null:
  // NotImplementedError.
  const char* refusal = nullptr;
  bool numbered = false;  // the node is called NameBackward1, not 0, when axes are listed
};

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

#define STRIDED_REDUCTION_TREE \
  "\n\nChunks are combined in a fixed binary tree: the result is bitwise the same for any number of threads, and " \
  "rounding errors grow with the logarithm of the number of elements (N. J. Higham, SIAM J. Sci. Comput. 14, 1993)."

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
struct Sum : SumFold {
  using Fold = SumFold;
  static constexpr ReduceInfo info{
      "sum",
      kinds::all,
      OnEmpty::Identity,
      ReduceAlgorithm::Fold,
      1,
      "Sum of the elements. bool and integers are added as int64 (uint64 as uint64), or in `dtype`, to which the input "
      "is cast first. The sum of nothing is 0." STRIDED_REDUCTION_TREE
      "\n\n>>> strided.sum(strided.ones(2, 3), 0)\ntensor([2., 2., 2.])",
      "int[]? dim=None, bool keepdim=False, *, dtype? dtype=None",
      Saves::Nothing,
      Promote::Same,
      NoAxes::All,
      nullptr,
      true};
  template <class T, class S>
  STRIDED_HD static reduce::wide_t<T> finish(S s, int64_t, double) {
    return reduce::wide_t<T>(s);
  }
};
struct Mean : SumFold {
  using Fold = SumFold;
  static constexpr ReduceInfo info{
      "mean",
      kinds::floating,
      OnEmpty::Identity,
      ReduceAlgorithm::Fold,
      1,
      "Arithmetic mean of the elements, NaN of nothing. Floating and complex input only, or such a `dtype` to compute "
      "in; RuntimeError otherwise." STRIDED_REDUCTION_TREE
      "\n\n>>> strided.mean(strided.tensor([1., 2., 6.]))\ntensor(3.)",
      "int[]? dim=None, bool keepdim=False, *, dtype? dtype=None",
      Saves::Nothing,
      Promote::Same,
      NoAxes::All,
      "mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. Got: "
      "{dtype}",
      true};
  template <class T, class S>
  STRIDED_HD static T finish(S s, int64_t n, double) {
    const double d = static_cast<double>(n);
    if constexpr (is_complex_v<T>) return T(static_cast<real_t<T>>(s.re / d), static_cast<real_t<T>>(s.im / d));
    else return T(static_cast<S>(s / d));
  }
  template <class V>
  static V vjp(const V& g, const ReduceSaved<V>& s) {
    return expanded(g, s) / s.count;
  }
};
struct NanSum : NanSumFold {
  using Fold = NanSumFold;
  using OnIntegers = Sum;
  static constexpr ReduceInfo info{"nansum",
                                   kinds::Float,
                                   OnEmpty::Identity,
                                   ReduceAlgorithm::Fold,
                                   1,
                                   "Sum of the elements that are not NaN; otherwise as sum. Not for complex numbers."
                                   "\n\n>>> strided.nansum(strided.tensor([1., float('nan'), 2.]))\ntensor(3.)",
                                   "int[]? dim=None, bool keepdim=False, *, dtype? dtype=None",
                                   Saves::Inputs,
                                   Promote::Same,
                                   NoAxes::All,
                                   "nansum on CPU does not support complex inputs"};
  template <class T, class S>
  STRIDED_HD static T finish(S s, int64_t, double) {
    return T(s);
  }
};
struct Prod : ProdFold {
  using Fold = ProdFold;
  static constexpr ReduceInfo info{
      "prod",
      kinds::all,
      OnEmpty::Identity,
      ReduceAlgorithm::Fold,
      1,
      "Product of the elements, of bool and integers as int64 (modulo 2^64), or in `dtype`. The product of nothing is 1. "
      "dim: one axis; without it, all.\n\n>>> strided.prod(strided.tensor([[1, 2], [3, 4]]), 1)\ntensor([ 2, 12])",
      "int? dim=None, bool keepdim=False, *, dtype? dtype=None",
      Saves::Both,
      Promote::Same,
      NoAxes::All,
      nullptr,
      true};
  template <class T, class S>
  STRIDED_HD static reduce::wide_t<T> finish(S s, int64_t, double) {
    return reduce::wide_t<T>(s);
  }
};
struct AMax : MaxFold {
  using Fold = MaxFold;
  static constexpr ReduceInfo info{
      "amax",
      kinds::real,
      OnEmpty::Error,
      ReduceAlgorithm::Fold,
      1,
      "Largest element along the axes; NaN where there is one. Its gradient is shared evenly among ties. Real dtypes, bool "
      "included; an axis of size 0 is an IndexError."
      "\n\n>>> strided.amax(strided.tensor([[1, 5], [4, 2]]), 1)\ntensor([5, 4])",
      "int[]? dim=None, bool keepdim=False",
      Saves::Both};
  template <class T, class S>
  STRIDED_HD static T finish(S s, int64_t, double) {
    return reduce::stored<T>(s);
  }
  template <class V>
  static V vjp(const V& g, const ReduceSaved<V>& s) {
    return shared_among_ties(g, s);
  }
};
struct AMin : MinFold {
  using Fold = MinFold;
  static constexpr ReduceInfo info{
      "amin",
      kinds::real,
      OnEmpty::Error,
      ReduceAlgorithm::Fold,
      1,
      "Smallest element along the axes; NaN where there is one. Its gradient is shared evenly among ties. Real dtypes, bool "
      "included; an axis of size 0 is an IndexError."
      "\n\n>>> strided.amin(strided.tensor([[1, 5], [4, 2]]), 1)\ntensor([1, 2])",
      "int[]? dim=None, bool keepdim=False",
      Saves::Both};
  template <class T, class S>
  STRIDED_HD static T finish(S s, int64_t, double) {
    return reduce::stored<T>(s);
  }
  template <class V>
  static V vjp(const V& g, const ReduceSaved<V>& s) {
    return shared_among_ties(g, s);
  }
};
struct CountNonzero : CountFold {
  using Fold = CountFold;
  static constexpr ReduceInfo info{
      "count_nonzero",
      kinds::all,
      OnEmpty::Identity,
      ReduceAlgorithm::Fold,
      1,
      "Number of elements that are not zero (NaN is not), as int64."
      "\n\n>>> strided.count_nonzero(strided.tensor([[0, 1], [2, 0]]), dim=0)\ntensor([1, 1])",
      "int[]? dim=None"};
  template <class T, class S>
  STRIDED_HD static int64_t finish(S s, int64_t, double) {
    return static_cast<int64_t>(s);
  }
};
// uint8 is PyTorch's old bool, and gives uint8.
struct All : CountFold {
  using Fold = CountFold;
  static constexpr ReduceInfo info{
      "all",
      kinds::all,
      OnEmpty::Identity,
      ReduceAlgorithm::Fold,
      1,
      "Whether every element is true (not zero); true of nothing. The result is bool, uint8 for uint8."
      "\n\n>>> strided.all(strided.tensor([[True, False], [True, True]]), 1)\ntensor([False,  True])",
      "int[]? dim=None, bool keepdim=False",
      Saves::Nothing,
      Promote::Same,
      NoAxes::None};
  template <class T, class S>
  STRIDED_HD static std::conditional_t<std::is_same_v<T, uint8_t>, uint8_t, bool> finish(S s, int64_t n, double) {
    return s == static_cast<S>(n);
  }
};
struct Any : CountFold {
  using Fold = CountFold;
  static constexpr ReduceInfo info{
      "any",
      kinds::all,
      OnEmpty::Identity,
      ReduceAlgorithm::Fold,
      1,
      "Whether some element is true (not zero); false of nothing. The result is bool, uint8 for uint8."
      "\n\n>>> strided.any(strided.tensor([[True, False], [False, False]]), 1)\ntensor([ True, False])",
      "int[]? dim=None, bool keepdim=False",
      Saves::Nothing,
      Promote::Same,
      NoAxes::None};
  template <class T, class S>
  STRIDED_HD static std::conditional_t<std::is_same_v<T, uint8_t>, uint8_t, bool> finish(S s, int64_t, double) {
    return s != 0;
  }
};

// Elements in 64 bits: floats as double, integers with their sign.
struct HashTensor {
  using Fold = HashTensor;
  static constexpr ReduceInfo info{
      "hash_tensor",
      kinds::real,
      OnEmpty::Error,
      ReduceAlgorithm::Fold,
      1,
      "Exclusive or of the elements' bits, as uint64: floats are taken as float64, integers as int64. mode: 0, the only "
      "one. RuntimeError without elements, IndexError for an axis of size 0."
      "\n\n>>> strided.hash_tensor(strided.tensor([1, 2, 4]))\ntensor(7, dtype=torch.uint64)",
      "int[]? dim=None, *, bool keepdim=False, int mode=0"};
  template <class T>
  using State = uint64_t;
  template <class T>
  using Lane = uint64_t;
  static void check(double mode) { STRIDED_CHECK(mode == 0, RuntimeError, "Unknown hash_tensor mode: ", mode); }
  template <class S>
  STRIDED_HD static S identity() {
    return 0;
  }
  template <class S, class C>
  STRIDED_HD static S map(C x, double) {
    if constexpr (std::is_floating_point_v<C>) return math::to_bits(static_cast<double>(x));
    else return reduce::widen<S>(x);
  }
  template <class S>
  STRIDED_HD static S combine(S a, S b) {
    return a ^ b;
  }
  template <class T, class S>
  STRIDED_HD static uint64_t finish(S s, int64_t, double) {
    return s;
  }
};

// The vector norms by their order; order 0 is a count, other orders are sums of powers, and of complex numbers only
// order 2 has a kernel (the others take the magnitudes first).
template <class T>
using norm_state_t = real_t<compute_t<T>>;
template <class T>
using norm_result_t = typename StoredType<T, norm_state_t<T>>::type;

struct NormSum : SumFold {
  template <class T>
  using State = norm_state_t<T>;
  template <class T>
  using Lane = State<T>;
};
struct Norm1 : NormSum {
  using Fold = Norm1;
  static constexpr ReduceInfo info{"norm1", kinds::Float,        OnEmpty::Identity, ReduceAlgorithm::Fold,
                                   1,       "Sum of magnitudes."};
  template <class S, class C>
  STRIDED_HD static S map(C x, double) {
    return math::abs(x);
  }
  template <class T, class S>
  STRIDED_HD static norm_result_t<T> finish(S s, int64_t, double) {
    return norm_result_t<T>(s);
  }
};
struct Norm2 : NormSum {
  using Fold = Norm2;
  static constexpr ReduceInfo info{"norm2",
                                   kinds::floating,
                                   OnEmpty::Identity,
                                   ReduceAlgorithm::Fold,
                                   1,
                                   "Square root of the sum of squared magnitudes."};
  template <class S, class C>
  STRIDED_HD static S map(C x, double) {
    if constexpr (is_complex_v<C>) return x.re * x.re + x.im * x.im;
    else return x * x;
  }
  template <class T, class S>
  STRIDED_HD static norm_result_t<T> finish(S s, int64_t, double) {
    return norm_result_t<T>(math::sqrt(s));
  }
};
struct NormInf : MaxFold {
  using Fold = NormInf;
  static constexpr ReduceInfo info{"norminf", kinds::Float,        OnEmpty::Error, ReduceAlgorithm::Fold,
                                   1,         "Largest magnitude."};
  template <class T>
  using State = norm_state_t<T>;
  template <class T>
  using Lane = State<T>;
  template <class S, class C>
  STRIDED_HD static S map(C x, double) {
    return math::abs(x);
  }
  template <class T, class S>
  STRIDED_HD static norm_result_t<T> finish(S s, int64_t, double) {
    return norm_result_t<T>(s);
  }
};
struct NormNegInf : MinFold {
  using Fold = NormNegInf;
  static constexpr ReduceInfo info{"normneginf",         kinds::Float, OnEmpty::Error, ReduceAlgorithm::Fold, 1,
                                   "Smallest magnitude."};
  template <class T>
  using State = norm_state_t<T>;
  template <class T>
  using Lane = State<T>;
  template <class S, class C>
  STRIDED_HD static S map(C x, double) {
    return math::abs(x);
  }
  template <class T, class S>
  STRIDED_HD static norm_result_t<T> finish(S s, int64_t, double) {
    return norm_result_t<T>(s);
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
struct MaxIndex : IndexFold<MaxFold> {
  using Fold = MaxFold;
  static constexpr ReduceInfo info{"max",
                                   kinds::real,
                                   OnEmpty::Error,
                                   ReduceAlgorithm::Index,
                                   2,
                                   "Largest element and its first position; NaN if there is one."};
};
struct MinIndex : IndexFold<MinFold> {
  using Fold = MinFold;
  static constexpr ReduceInfo info{"min",
                                   kinds::real,
                                   OnEmpty::Error,
                                   ReduceAlgorithm::Index,
                                   2,
                                   "Smallest element and its first position; NaN if there is one."};
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
struct Var : MomentsFold {
  using Fold = MomentsFold;
  static constexpr ReduceInfo info{
      "var", kinds::Float, OnEmpty::Identity, ReduceAlgorithm::Moments, 2, "Variance, and the mean."};
  template <class T, class S>
  STRIDED_HD static T finish(S s, int64_t, double p) {
    return T(static_cast<compute_t<T>>(variance(s, p)));
  }
};
struct Std : MomentsFold {
  using Fold = MomentsFold;
  static constexpr ReduceInfo info{
      "std", kinds::Float, OnEmpty::Identity, ReduceAlgorithm::Moments, 2, "Standard deviation, and the mean."};
  template <class T, class S>
  STRIDED_HD static T finish(S s, int64_t, double p) {
    return T(static_cast<compute_t<T>>(math::sqrt(variance(s, p))));
  }
};

struct LogSumExp {
  using Fold = LogSumExp;
  static constexpr ReduceInfo info{
      "logsumexp",
      kinds::Float,
      OnEmpty::Identity,
      ReduceAlgorithm::LogSumExp,
      1,
      "log(sum(exp(input))) along the axes, computed so that it does not overflow; -inf of nothing. Integers are taken "
      "as the default dtype.\n\n>>> strided.logsumexp(strided.zeros(4), 0)\ntensor(1.3863)",
      "int[] dim, bool keepdim=False",
      Saves::Both,
      Promote::Floating};
  template <class T>
  using State = ScaledSum<compute_t<T>>;
  template <class S>
  STRIDED_HD static S identity() {
    return S{-math::infinity<decltype(S::max)>(), 0};
  }
  template <class A>
  STRIDED_HD static A shift(A max) {
    return math::isinf(max) ? A(0) : max;
  }
  template <class S, class C>
  STRIDED_HD static S map(C x, double) {
    return S{x, math::exp(x - shift(x))};
  }
  template <class S>
  STRIDED_HD static S combine(S a, S b) {
    const auto max = MaxFold::combine(a.max, b.max);
    const auto m = shift(max);
    // exp(-inf) = 0 takes out a part of nothing but -inf.
    return {max, a.sum * math::exp(a.max - m) + b.sum * math::exp(b.max - m)};
  }
  template <class T, class S>
  STRIDED_HD static T finish(S s, int64_t, double) {
    return T(math::log(s.sum) + shift(s.max));
  }
  template <class V>
  static V vjp(const V& g, const ReduceSaved<V>& s) {
    return expanded(g, s) * weights_of_exp(s);
  }
};

using ReductionOps = List<Sum, Mean, NanSum, Prod, AMax, AMin, CountNonzero, All, Any, Norm1, Norm2, NormInf,
                          NormNegInf, MaxIndex, MinIndex, Var, Std, LogSumExp, HashTensor>;

#undef STRIDED_REDUCTION_TREE

}  // namespace STRIDED_ISA

constexpr int kNumReductions = ReductionOps::size;
template <class Op>
constexpr int reduction_id = IndexOf<Op, ReductionOps>::value;

template <class Op, class T>
constexpr bool reduction_supports = (Op::info.kinds & kind_of(dtype_of<T>)) != 0;

}  // namespace strided
