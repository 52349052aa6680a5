// Reductions, scans and softmax.
#include <string>

#include "backend/elementwise.h"
#include "core/promotion.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/scan.h"
#include "python/bind/bind.h"

namespace strided::python {
namespace {

using OptionalDims = std::optional<Dims>;
using OptionalInt = std::optional<int64_t>;
using OptionalDType = std::optional<DType>;
using Pair = std::tuple<Tensor, Tensor>;

// dim=None, like an empty list, means all axes.
template <Tensor (*F)(const Tensor&, const Dims&, bool, OptionalDType)>
Tensor with_dtype(const Tensor& x, const OptionalDims& dims, bool keepdim, OptionalDType dtype) {
  return F(x, dims.value_or(Dims()), keepdim, dtype);
}
template <Tensor (*F)(const Tensor&, const Dims&, bool, OptionalDType)>
Tensor everything(const Tensor& x, OptionalDType dtype) {
  return F(x, {}, false, dtype);
}
template <Tensor (*F)(const Tensor&, const Dims&, bool)>
Tensor plain(const Tensor& x, const OptionalDims& dims, bool keepdim) {
  return F(x, dims.value_or(Dims()), keepdim);
}
// PyTorch's prod takes one axis.
Tensor prod_along(const Tensor& x, int64_t dim, bool keepdim, OptionalDType dtype) {
  return prod(x, {dim}, keepdim, dtype);
}

template <class R, R (*F)(const Tensor&, const Dims&, double, bool)>
struct Spread {
  static R with_correction(const Tensor& x, const OptionalDims& dims, const std::optional<Scalar>& correction,
                           bool keepdim) {
    return F(x, dims.value_or(Dims()), correction ? correction->real() : 1.0, keepdim);
  }
  static R with_unbiased(const Tensor& x, const OptionalDims& dims, bool unbiased, bool keepdim) {
    return F(x, dims.value_or(Dims()), unbiased ? 1 : 0, keepdim);
  }
  static R of_all(const Tensor& x, bool unbiased) { return F(x, {}, unbiased ? 1 : 0, false); }
};

Pair max_along(const Tensor& x, int64_t dim, bool keepdim) { return max(x, dim, keepdim); }
Pair min_along(const Tensor& x, int64_t dim, bool keepdim) { return min(x, dim, keepdim); }
Tensor max_of(const Tensor& x, const Tensor& other) { return elementwise<Maximum>(x, other); }
Tensor min_of(const Tensor& x, const Tensor& other) { return elementwise<Minimum>(x, other); }
Tensor max_all(const Tensor& x) { return max(x); }
Tensor min_all(const Tensor& x) { return min(x); }

Tensor count_nonzero_along(const Tensor& x, const OptionalDims& dims) {
  return count_nonzero(x, dims.value_or(Dims()));
}
Tensor logsumexp_along(const Tensor& x, const Dims& dims, bool keepdim) { return logsumexp(x, dims, keepdim); }

// torch.norm: p is a number, 'fro' (2, of all axes listed), 'nuc' (of matrices; linalg.matrix_norm knows it) or None
// (2).
PyObject* norm(const Tensor& x, PyObject* p, const OptionalDims& dims, bool keepdim, OptionalDType dtype) {
  double order = 2;
  if (PyUnicode_Check(p)) {
    const std::string name = detail::to_string(p);
    if (name == "nuc") {
      STRIDED_CHECK(x.ndim() == 2 || (dims && dims->size() == 2), RuntimeError,
                    "norm(): the nuclear norm is one of matrices, got a tensor of ", x.ndim(),
                    " dimensions and no two axes");
      PyObject* args[] = {wrap(x), p, wrap_tuple(dims ? *dims : Dims{-2, -1}), PyBool_FromLong(keepdim)};
      PyObject* found = call_function("linalg.matrix_norm", args, 4);
      for (int i : {0, 2, 3}) Py_XDECREF(args[i]);
      if (!found) throw PythonError{};
      return found;
    }
    STRIDED_CHECK(name == "fro", RuntimeError, "linalg.matrix_norm: Order ", name, " not supported.");
  } else if (p != Py_None) {
    if (!is_number(p) && !is_tensor(p))
      STRIDED_THROW(TypeError, "norm(): argument 'p' must be a number, 'fro' or 'nuc', not ", Py_TYPE(p)->tp_name);
    order = detail::From<Scalar>::get(p).real();
  }
  return wrap(vector_norm(x, order, dims.value_or(Dims()), keepdim, dtype));
}

#define STRIDED_AXES \
  "dim: an int or several; None or () reduces all axes. keepdim leaves reduced axes with size 1. IndexError for an\n" \
  "axis out of range, RuntimeError for one listed twice."
#define STRIDED_TREE \
  "\n\nChunks are combined in a fixed binary tree: the result is bitwise the same for any number of threads, and\n" \
  "rounding errors grow with the logarithm of the number of elements (N. J. Higham, SIAM J. Sci. Comput. 14, 1993)."

void bind_sums() {
  const char* sum_doc =
      "Sum of the elements. bool and integers are added as int64 (uint64 as uint64), or in `dtype`, to which the input is cast\n"
      "first. The sum of nothing is 0.\n\n" STRIDED_AXES STRIDED_TREE
      "\n\n>>> strided.sum(strided.ones(2, 3), 0)\ntensor([2., 2., 2.])";
  def<&everything<&sum>>("sum(Tensor input, *, dtype? dtype=None)", sum_doc);
  def<&with_dtype<&sum>>(
      "sum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None)", sum_doc);
  def<&with_dtype<&nansum>>(
      "nansum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None)",
      "Sum of the elements that are not NaN; otherwise as sum. Not for complex numbers.\n\n" STRIDED_AXES
      "\n\n>>> strided.nansum(strided.tensor([1., float('nan'), 2.]))\ntensor(3.)");
  const char* prod_doc =
      "Product of the elements, of bool and integers as int64 (modulo 2^64), or in `dtype`. The product of nothing is 1.\n"
      "dim: one axis; without it, all.\n\n>>> strided.prod(strided.tensor([[1, 2], [3, 4]]), 1)\ntensor([ 2, 12])";
  def<&everything<&prod>>("prod(Tensor input, *, dtype? dtype=None)", prod_doc);
  def<&prod_along>("prod(Tensor input, int dim, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None)", prod_doc);
  const char* mean_doc =
      "Arithmetic mean of the elements, NaN of nothing. Floating and complex input only, or such a `dtype` to compute in;\n"
      "RuntimeError otherwise.\n\n" STRIDED_AXES STRIDED_TREE
      "\n\n>>> strided.mean(strided.tensor([1., 2., 6.]))\ntensor(3.)";
  def<&with_dtype<&mean>>(
      "mean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None)", mean_doc);
  def<&with_dtype<&nanmean>>(
      "nanmean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None)",
      "Mean of the elements that are not NaN; NaN where there are none. Floating input only.\n\n" STRIDED_AXES
      "\n\n>>> strided.nanmean(strided.tensor([1., float('nan'), 3.]))\ntensor(2.)");
  def<&count_nonzero_along>("count_nonzero(Tensor input, int[]? dim=None)",
                            "Number of elements that are not zero (NaN is not), as int64.\n\n" STRIDED_AXES
                            "\n\n>>> strided.count_nonzero(strided.tensor([[0, 1], [2, 0]]), dim=0)\ntensor([1, 1])");
}

template <class R, R (*F)(const Tensor&, const Dims&, double, bool)>
void bind_spread(const std::string& name, const char* doc) {
  using S = Spread<R, F>;
  const std::string out = std::is_same_v<R, Tensor> ? ", Tensor? out=None" : "";
  def<&S::with_correction>(
      (name + "(Tensor input, int[]? dim=None, *, Number? correction=None, bool keepdim=False" + out + ")").c_str(),
      doc);
  def<&S::with_unbiased>(
      (name + "(Tensor input, int[]? dim=None, bool unbiased=True, bool keepdim=False" + out + ")").c_str(), doc);
  def<&S::of_all>((name + "(Tensor input, bool unbiased)").c_str(), doc);
}

void bind_spreads() {
#define STRIDED_SPREAD \
  "The sum of squared deviations is divided by n - correction (unbiased=False stands for correction=0);\n" \
  "NaN when that is not positive and there is nothing to divide. Floating and complex input; RuntimeError\n" \
  "otherwise.\n\n" STRIDED_AXES \
  "\n\nTwo passes over each cached chunk, chunks combined by the formula of T. F. Chan, G. H. Golub,\n" \
  "R. J. LeVeque (1979)."
  bind_spread<Tensor, &var>("var", "Variance of the elements. " STRIDED_SPREAD
                                   "\n\n>>> strided.var(strided.tensor([1., 2., 3.]))\ntensor(1.)");
  bind_spread<Tensor, &strided::std>("std", "Standard deviation of the elements. " STRIDED_SPREAD
                                            "\n\n>>> strided.std(strided.tensor([1., 2., 3.]))\ntensor(1.)");
  bind_spread<Pair, &var_mean>("var_mean",
                               "Variance and mean of the elements. " STRIDED_SPREAD
                               "\n\n>>> strided.var_mean(strided.tensor([1., 2., 3.]))\n(tensor(1.), tensor(2.))");
  bind_spread<Pair, &std_mean>("std_mean",
                               "Standard deviation and mean of the elements. " STRIDED_SPREAD
                               "\n\n>>> strided.std_mean(strided.tensor([1., 2., 3.]))\n(tensor(1.), tensor(2.))");
}

void bind_extremes() {
  const char* amax_doc =
      "Largest element along the axes; NaN where there is one. Its gradient is shared evenly among ties. Real dtypes, bool\n"
      "included; an axis of size 0 is an IndexError.\n\n" STRIDED_AXES
      "\n\n>>> strided.amax(strided.tensor([[1, 5], [4, 2]]), 1)\ntensor([5, 4])";
  def<&plain<&amax>>("amax(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor? out=None)", amax_doc);
  const char* amin_doc =
      "Smallest element along the axes; NaN where there is one. Its gradient is shared evenly among ties. Real dtypes, bool\n"
      "included; an axis of size 0 is an IndexError.\n\n" STRIDED_AXES
      "\n\n>>> strided.amin(strided.tensor([[1, 5], [4, 2]]), 1)\ntensor([1, 2])";
  def<&plain<&amin>>("amin(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor? out=None)", amin_doc);
  def<&aminmax>(
      "aminmax(Tensor input, *, int? dim=None, bool keepdim=False, Tensor[]? out=None) -> (min, max)",
      "Smallest and largest element, of all or along one axis. RuntimeError when there is nothing to compare.\n\n"
      ">>> strided.aminmax(strided.tensor([3, 1, 2])).max\ntensor(3)");
  const char* max_doc =
      "Three functions. max(input): the largest element of all. max(input, dim): named tuple (values, indices) of the largest\n"
      "elements along an axis and their first positions (int64). max(input, other): elementwise, as maximum.\n"
      "NaN wins. RuntimeError without elements, IndexError for an axis of size 0.\n\n"
      ">>> strided.max(strided.tensor([[1, 5], [4, 2]]), 1).indices\ntensor([1, 0])";
  def<&max_all>("max(Tensor input, *, Tensor? out=None)", max_doc);
  def<&max_along>("max(Tensor input, int dim, bool keepdim=False, *, Tensor[]? out=None) -> (values, indices)",
                  max_doc);
  def<&max_of>("max(Tensor input, Tensor other, *, Tensor? out=None)", max_doc);
  const char* min_doc =
      "Three functions. min(input): the smallest element of all. min(input, dim): named tuple (values, indices) of the smallest\n"
      "elements along an axis and their first positions (int64). min(input, other): elementwise, as minimum.\n"
      "NaN wins. RuntimeError without elements, IndexError for an axis of size 0.\n\n"
      ">>> strided.min(strided.tensor([[1, 5], [4, 2]]), 1).indices\ntensor([0, 1])";
  def<&min_all>("min(Tensor input, *, Tensor? out=None)", min_doc);
  def<&min_along>("min(Tensor input, int dim, bool keepdim=False, *, Tensor[]? out=None) -> (values, indices)",
                  min_doc);
  def<&min_of>("min(Tensor input, Tensor other, *, Tensor? out=None)", min_doc);
  def<&argmax>(
      "argmax(Tensor input, int? dim=None, bool keepdim=False, *, Tensor? out=None)",
      "First position (int64) of the largest element along an axis, or in the flattened tensor; NaN counts as largest.\n"
      "Not for bool and complex. IndexError without elements.\n\n>>> strided.argmax(strided.tensor([[1, 5], [7, 2]]))\ntensor(2)");
  def<&argmin>(
      "argmin(Tensor input, int? dim=None, bool keepdim=False, *, Tensor? out=None)",
      "First position (int64) of the smallest element along an axis, or in the flattened tensor; NaN counts as smallest.\n"
      "Not for bool and complex. IndexError without elements.\n\n>>> strided.argmin(strided.tensor([[1, 5], [0, 2]]))\ntensor(2)");
}

void bind_truth() {
  def<&all>(
      "all(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor? out=None)",
      "Whether every element is true (not zero); true of nothing. The result is bool, uint8 for uint8.\n"
      "dim: an int or several; None reduces all axes, () none.\n\n>>> strided.all(strided.tensor([[True, False], [True, True]]), 1)\ntensor([False,  True])");
  def<&any>(
      "any(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor? out=None)",
      "Whether some element is true (not zero); false of nothing. The result is bool, uint8 for uint8.\n"
      "dim: an int or several; None reduces all axes, () none.\n\n>>> strided.any(strided.tensor([[True, False], [False, False]]), 1)\ntensor([ True, False])");
}

void bind_norms() {
  def<&norm>(
      "norm(Tensor input, Number|str? p='fro', int[]? dim=None, bool keepdim=False, dtype? dtype=None, Tensor? out=None) -> Tensor",
      "Vector norm of the elements along the axes: (sum |x|^p)^(1/p). p: a number; inf and -inf give the largest and smallest\n"
      "magnitude, 0 the count of nonzeros; 'fro' is 2; 'nuc' is the nuclear norm of matrices. Floating and complex input;\n"
      "RuntimeError otherwise. The result is real.\n\n" STRIDED_AXES
      "\n\n>>> strided.norm(strided.tensor([3., 4.]))\ntensor(5.)");
  def<&dist>(
      "dist(Tensor input, Tensor other, float p=2)",
      "The p-norm of input - other.\n\n>>> strided.dist(strided.tensor([1., 2.]), strided.tensor([4., 6.]))\ntensor(5.)");
  def<&logsumexp_along>(
      "logsumexp(Tensor input, int[] dim, bool keepdim=False, *, Tensor? out=None)",
      "log(sum(exp(input))) along the axes, computed so that it does not overflow; -inf of nothing. Integers are taken as the\n"
      "default dtype.\n\n" STRIDED_AXES "\n\n>>> strided.logsumexp(strided.zeros(4), 0)\ntensor(1.3863)");
}

void bind_scans() {
  def<&cumsum>(
      "cumsum(Tensor input, int dim, *, dtype? dtype=None, Tensor? out=None)",
      "Running sums along an axis, in `dtype` or, for bool and integers, int64. float32 is added in double, the 16-bit floats in\n"
      "float.\n\n>>> strided.cumsum(strided.tensor([1, 2, 3]), 0)\ntensor([1, 3, 6])");
  def<&cumsum_>("cumsum_(Tensor self, int dim, *, dtype? dtype=None)", "In-place form of cumsum.", kMethod);
  def<&cumprod>("cumprod(Tensor input, int dim, *, dtype? dtype=None, Tensor? out=None)",
                "Running products along an axis, in `dtype` or, for bool and integers, int64.\n\n"
                ">>> strided.cumprod(strided.tensor([1, 2, 3]), 0)\ntensor([1, 2, 6])");
  def<&cumprod_>("cumprod_(Tensor self, int dim, *, dtype? dtype=None)", "In-place form of cumprod.", kMethod);
  def<&logcumsumexp>(
      "logcumsumexp(Tensor input, int dim, *, Tensor? out=None)",
      "Logarithms of the running sums of exponentials, computed so that they do not overflow. Floating input.\n\n"
      ">>> strided.logcumsumexp(strided.zeros(3), 0)\ntensor([0.0000, 0.6931, 1.0986])");
  def<&cummax>(
      "cummax(Tensor input, int dim, *, Tensor[]? out=None) -> (values, indices)",
      "Running maximum along an axis and its position (int64), the last one among equals; NaN wins. Real dtypes.\n\n"
      ">>> strided.cummax(strided.tensor([1, 3, 2]), 0).values\ntensor([1, 3, 3])");
  def<&cummin>(
      "cummin(Tensor input, int dim, *, Tensor[]? out=None) -> (values, indices)",
      "Running minimum along an axis and its position (int64), the last one among equals; NaN wins. Real dtypes.\n\n"
      ">>> strided.cummin(strided.tensor([3, 1, 2]), 0).values\ntensor([3, 1, 1])");
  def<&diff>(
      "diff(Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None, *, Tensor? out=None)",
      "The n-th forward difference along an axis: x[i + 1] - x[i], n times; of bool, whether they differ. prepend and append are\n"
      "joined to the input first. RuntimeError for a 0-d tensor, a negative n or shapes that do not fit.\n\n"
      ">>> strided.diff(strided.tensor([1, 4, 9, 16]))\ntensor([3, 5, 7])");
  const char* softmax_doc =
      "exp(x) / sum(exp(x)) along an axis, the largest element subtracted first so that nothing overflows. Floating input, or a\n"
      "floating `dtype` to cast it to first.\n\n>>> strided.softmax(strided.zeros(2, 2), dim=1)\ntensor([[0.5000, 0.5000],\n        [0.5000, 0.5000]])";
  def<&softmax>("softmax(Tensor input, int dim, dtype? dtype=None, *, Tensor? out=None)", softmax_doc);
  const char* log_softmax_doc =
      "The logarithm of softmax along an axis: x - logsumexp(x). Floating input, or a floating `dtype` to cast it to first.\n\n"
      ">>> strided.log_softmax(strided.zeros(2), dim=0)\ntensor([-0.6931, -0.6931])";
  def<&log_softmax>("log_softmax(Tensor input, int dim, dtype? dtype=None, *, Tensor? out=None)", log_softmax_doc);
  def<&softmax>("special.softmax(Tensor input, int dim, dtype? dtype=None)", softmax_doc, kFunction);
  def<&log_softmax>("special.log_softmax(Tensor input, int dim, dtype? dtype=None)", log_softmax_doc, kFunction);
  def<&logsumexp_along>("special.logsumexp(Tensor input, int[] dim, bool keepdim=False, *, Tensor? out=None)",
                        "The same as logsumexp.", kFunction);
}

}  // namespace

void bind_reductions() {
  bind_sums();
  bind_spreads();
  bind_extremes();
  bind_truth();
  bind_norms();
  bind_scans();
}

}  // namespace strided::python
