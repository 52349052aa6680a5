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
// p is the op's one parameter (the correction of a variance). Lane<T> is a narrower State that holds up to kReduceChunk
// elements, so that more of them fit a vector. Loops take `combine` from Fold.
#pragma once

#include "backend/reduce_folds.h"
#include "base/error.h"

namespace strided {

// The loops that run it: one State for all elements; a value with its position; the mean, then deviations; the greatest
// element, then exponentials.
enum class ReduceAlgorithm : uint8_t { Fold, Index, Moments, LogSumExp };
enum class OnEmpty : uint8_t { Identity, Error };  // what a reduction of no elements gives
enum class NoAxes : uint8_t { All, None };         // what dim=() reduces

struct ReduceInfo {
  const char* name;
  unsigned kinds;
  OnEmpty empty;
  const char* doc;

  // What most reductions leave as it is. A declaration names what it changes: ReduceInfo{...}.saving(Saves::Both).
  ReduceAlgorithm algorithm = ReduceAlgorithm::Fold;
  int outputs = 1;
  const char* arguments = nullptr;  // nullptr: it is no public function; functions of ops/reduce use it
  Saves saves = Saves::Nothing;
  Promote promote = Promote::Same;
  NoAxes no_axes = NoAxes::All;
  const char* refusal = nullptr;
  bool numbered = false;

  constexpr ReduceInfo with_algorithm(ReduceAlgorithm way) const { return changed(*this, &ReduceInfo::algorithm, way); }
  constexpr ReduceInfo with_outputs(int n) const { return changed(*this, &ReduceInfo::outputs, n); }
  // What follows `input` in the signature of the public function, without out=: dim, keepdim, dtype, and perhaps one
  // number, which is the parameter.
  constexpr ReduceInfo with_arguments(const char* text) const { return changed(*this, &ReduceInfo::arguments, text); }
  constexpr ReduceInfo saving(Saves what) const { return changed(*this, &ReduceInfo::saves, what); }
  constexpr ReduceInfo promoting(Promote how) const { return changed(*this, &ReduceInfo::promote, how); }
  constexpr ReduceInfo with_no_axes(NoAxes what) const { return changed(*this, &ReduceInfo::no_axes, what); }
  // The RuntimeError for other kinds, where it is not NotImplementedError; {which} is "Input" or "Optional" (dtype=),
  // {dtype} its name.
  constexpr ReduceInfo with_refusal(const char* text) const { return changed(*this, &ReduceInfo::refusal, text); }
  // The node is called NameBackward1, not 0, when axes are listed.
  constexpr ReduceInfo with_numbered_node() const { return changed(*this, &ReduceInfo::numbered, true); }
};

inline namespace STRIDED_ISA {

#define STRIDED_REDUCTION_TREE \
  "\n\nChunks are combined in a fixed binary tree: the result is bitwise the same for any number of threads, and " \
  "rounding errors grow with the logarithm of the number of elements (N. J. Higham, SIAM J. Sci. Comput. 14, 1993)."

struct Sum : SumFold {
  using Fold = SumFold;
  static constexpr ReduceInfo info =
      ReduceInfo{"sum", kinds::all, OnEmpty::Identity,
                 "Sum of the elements. bool and integers are added as int64 (uint64 as uint64), or in `dtype`, to "
                 "which the input is cast first. The sum of nothing is 0." STRIDED_REDUCTION_TREE
                 "\n\n>>> strided.sum(strided.ones(2, 3), 0)\ntensor([2., 2., 2.])"}
          .with_arguments("int[]? dim=None, bool keepdim=False, *, dtype? dtype=None")
          .with_numbered_node();
  template <class T, class S>
  STRIDED_HD static reduce::wide_t<T> finish(S s, int64_t, double) {
    return reduce::wide_t<T>(s);
  }
};
struct Mean : SumFold {
  using Fold = SumFold;
  static constexpr ReduceInfo info =
      ReduceInfo{"mean", kinds::floating, OnEmpty::Identity,
                 "Arithmetic mean of the elements, NaN of nothing. Floating and complex input only, or such a "
                 "`dtype` to compute in; RuntimeError otherwise." STRIDED_REDUCTION_TREE
                 "\n\n>>> strided.mean(strided.tensor([1., 2., 6.]))\ntensor(3.)"}
          .with_arguments("int[]? dim=None, bool keepdim=False, *, dtype? dtype=None")
          .with_refusal(
              "mean(): could not infer output dtype. {which} dtype must be either a floating point or complex "
              "dtype. Got: {dtype}")
          .with_numbered_node();
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
  static constexpr ReduceInfo info =
      ReduceInfo{"nansum", kinds::Float, OnEmpty::Identity,
                 "Sum of the elements that are not NaN; otherwise as sum. Not for complex numbers."
                 "\n\n>>> strided.nansum(strided.tensor([1., float('nan'), 2.]))\ntensor(3.)"}
          .with_arguments("int[]? dim=None, bool keepdim=False, *, dtype? dtype=None")
          .saving(Saves::Inputs)
          .with_refusal("nansum on CPU does not support complex inputs");
  template <class T, class S>
  STRIDED_HD static T finish(S s, int64_t, double) {
    return T(s);
  }
};
struct Prod : ProdFold {
  using Fold = ProdFold;
  static constexpr ReduceInfo info =
      ReduceInfo{"prod", kinds::all, OnEmpty::Identity,
                 "Product of the elements, of bool and integers as int64 (modulo 2^64), or in `dtype`. The product "
                 "of nothing is 1. dim: one axis; without it, all."
                 "\n\n>>> strided.prod(strided.tensor([[1, 2], [3, 4]]), 1)\ntensor([ 2, 12])"}
          .with_arguments("int? dim=None, bool keepdim=False, *, dtype? dtype=None")
          .saving(Saves::Both)
          .with_numbered_node();
  template <class T, class S>
  STRIDED_HD static reduce::wide_t<T> finish(S s, int64_t, double) {
    return reduce::wide_t<T>(s);
  }
};
struct AMax : MaxFold {
  using Fold = MaxFold;
  static constexpr ReduceInfo info =
      ReduceInfo{"amax", kinds::real, OnEmpty::Error,
                 "Largest element along the axes; NaN where there is one. Its gradient is shared evenly among ties. "
                 "Real dtypes, bool included; an axis of size 0 is an IndexError."
                 "\n\n>>> strided.amax(strided.tensor([[1, 5], [4, 2]]), 1)\ntensor([5, 4])"}
          .with_arguments("int[]? dim=None, bool keepdim=False")
          .saving(Saves::Both);
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
  static constexpr ReduceInfo info =
      ReduceInfo{"amin", kinds::real, OnEmpty::Error,
                 "Smallest element along the axes; NaN where there is one. Its gradient is shared evenly among ties. "
                 "Real dtypes, bool included; an axis of size 0 is an IndexError."
                 "\n\n>>> strided.amin(strided.tensor([[1, 5], [4, 2]]), 1)\ntensor([1, 2])"}
          .with_arguments("int[]? dim=None, bool keepdim=False")
          .saving(Saves::Both);
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
  static constexpr ReduceInfo info =
      ReduceInfo{"count_nonzero", kinds::all, OnEmpty::Identity,
                 "Number of elements that are not zero (NaN is not), as int64."
                 "\n\n>>> strided.count_nonzero(strided.tensor([[0, 1], [2, 0]]), dim=0)\ntensor([1, 1])"}
          .with_arguments("int[]? dim=None");
  template <class T, class S>
  STRIDED_HD static int64_t finish(S s, int64_t, double) {
    return static_cast<int64_t>(s);
  }
};
// uint8 is PyTorch's old bool, and gives uint8.
struct All : CountFold {
  using Fold = CountFold;
  static constexpr ReduceInfo info =
      ReduceInfo{"all", kinds::all, OnEmpty::Identity,
                 "Whether every element is true (not zero); true of nothing. The result is bool, uint8 for uint8."
                 "\n\n>>> strided.all(strided.tensor([[True, False], [True, True]]), 1)\ntensor([False,  True])"}
          .with_arguments("int[]? dim=None, bool keepdim=False")
          .with_no_axes(NoAxes::None);
  template <class T, class S>
  STRIDED_HD static std::conditional_t<std::is_same_v<T, uint8_t>, uint8_t, bool> finish(S s, int64_t n, double) {
    return s == static_cast<S>(n);
  }
};
struct Any : CountFold {
  using Fold = CountFold;
  static constexpr ReduceInfo info =
      ReduceInfo{"any", kinds::all, OnEmpty::Identity,
                 "Whether some element is true (not zero); false of nothing. The result is bool, uint8 for uint8."
                 "\n\n>>> strided.any(strided.tensor([[True, False], [False, False]]), 1)\ntensor([ True, False])"}
          .with_arguments("int[]? dim=None, bool keepdim=False")
          .with_no_axes(NoAxes::None);
  template <class T, class S>
  STRIDED_HD static std::conditional_t<std::is_same_v<T, uint8_t>, uint8_t, bool> finish(S s, int64_t, double) {
    return s != 0;
  }
};

// Elements in 64 bits: floats as double, integers with their sign.
struct HashTensor {
  using Fold = HashTensor;
  static constexpr ReduceInfo info =
      ReduceInfo{"hash_tensor", kinds::real, OnEmpty::Error,
                 "Exclusive or of the elements' bits, as uint64: floats are taken as float64, integers as int64. "
                 "mode: 0, the only one. RuntimeError without elements, IndexError for an axis of size 0."
                 "\n\n>>> strided.hash_tensor(strided.tensor([1, 2, 4]))\ntensor(7, dtype=torch.uint64)"}
          .with_arguments("int[]? dim=None, *, bool keepdim=False, int mode=0");
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

template <class Fold>
struct MagnitudeFold : Fold {
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
struct Norm1 : MagnitudeFold<SumFold> {
  using Fold = Norm1;
  static constexpr ReduceInfo info{"norm1", kinds::Float, OnEmpty::Identity, "Sum of magnitudes."};
};
struct Norm2 : MagnitudeFold<SumFold> {
  using Fold = Norm2;
  static constexpr ReduceInfo info{"norm2", kinds::floating, OnEmpty::Identity,
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
struct NormInf : MagnitudeFold<MaxFold> {
  using Fold = NormInf;
  static constexpr ReduceInfo info{"norminf", kinds::Float, OnEmpty::Error, "Largest magnitude."};
};
struct NormNegInf : MagnitudeFold<MinFold> {
  using Fold = NormNegInf;
  static constexpr ReduceInfo info{"normneginf", kinds::Float, OnEmpty::Error, "Smallest magnitude."};
};

struct MaxIndex : IndexFold<MaxFold> {
  using Fold = MaxFold;
  static constexpr ReduceInfo info =
      ReduceInfo{"max", kinds::real, OnEmpty::Error, "Largest element and its first position; NaN if there is one."}
          .with_algorithm(ReduceAlgorithm::Index)
          .with_outputs(2);
};
struct MinIndex : IndexFold<MinFold> {
  using Fold = MinFold;
  static constexpr ReduceInfo info =
      ReduceInfo{"min", kinds::real, OnEmpty::Error, "Smallest element and its first position; NaN if there is one."}
          .with_algorithm(ReduceAlgorithm::Index)
          .with_outputs(2);
};

struct Var : MomentsFold {
  using Fold = MomentsFold;
  static constexpr ReduceInfo info = ReduceInfo{"var", kinds::Float, OnEmpty::Identity, "Variance, and the mean."}
                                         .with_algorithm(ReduceAlgorithm::Moments)
                                         .with_outputs(2);
  template <class T, class S>
  STRIDED_HD static T finish(S s, int64_t, double p) {
    return T(static_cast<compute_t<T>>(variance(s, p)));
  }
};
struct Std : MomentsFold {
  using Fold = MomentsFold;
  static constexpr ReduceInfo info =
      ReduceInfo{"std", kinds::Float, OnEmpty::Identity, "Standard deviation, and the mean."}
          .with_algorithm(ReduceAlgorithm::Moments)
          .with_outputs(2);
  template <class T, class S>
  STRIDED_HD static T finish(S s, int64_t, double p) {
    return T(static_cast<compute_t<T>>(math::sqrt(variance(s, p))));
  }
};

struct LogSumExp {
  using Fold = LogSumExp;
  static constexpr ReduceInfo info =
      ReduceInfo{"logsumexp", kinds::Float, OnEmpty::Identity,
                 "log(sum(exp(input))) along the axes, computed so that it does not overflow; -inf of nothing. "
                 "Integers are taken as the default dtype."
                 "\n\n>>> strided.logsumexp(strided.zeros(4), 0)\ntensor(1.3863)"}
          .with_algorithm(ReduceAlgorithm::LogSumExp)
          .with_arguments("int[] dim, bool keepdim=False")
          .saving(Saves::Both)
          .promoting(Promote::Floating);
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
