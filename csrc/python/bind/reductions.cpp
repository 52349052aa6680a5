// Reductions, scans and softmax.
#include <string>

#include "backend/elementwise.h"
#include "base/warning.h"
#include "core/promotion.h"
#include "ops/reduce/batch_norm.h"
#include "ops/reduce/pool.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/row_norm.h"
#include "ops/reduce/scan.h"
#include "python/bind/bind.h"
#include "python/signature.h"

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
template <class R, R (*F)(const Tensor&, const Dims&, const std::optional<Scalar>&, bool), const char* Name>
struct Spread {
  static R checked(const Tensor& x, const Dims& dims, const std::optional<Scalar>& correction, bool keepdim) {
    R result = F(x, dims, correction, keepdim);
    int64_t results;
    if constexpr (std::is_same_v<R, Tensor>) results = result.numel();
    else results = std::get<0>(result).numel();
    if (static_cast<double>(results == 0 ? 0 : x.numel() / results) <= (correction ? correction->real() : 1))
      warn(concat(Name,
                  "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
                  "numel divided by output numel)."));
    return result;
  }
  static R with_correction(const Tensor& x, const OptionalDims& dims, const std::optional<Scalar>& correction,
                           bool keepdim) {
    if (dims && !correction) return checked(x, *dims, Scalar(1), keepdim);  // PyTorch's form with unbiased=True
    return checked(x, dims.value_or(Dims()), correction, keepdim);
  }
  static R with_unbiased(const Tensor& x, const OptionalDims& dims, bool unbiased, bool keepdim) {
    return checked(x, dims.value_or(Dims()), unbiased ? 1 : 0, keepdim);
  }
  static R of_all(const Tensor& x, bool unbiased) { return checked(x, {}, unbiased ? 1 : 0, false); }
};
constexpr char kVar[] = "var", kStd[] = "std", kVarMean[] = "var_mean", kStdMean[] = "std_mean";

Pair max_along(const Tensor& x, int64_t dim, bool keepdim) { return max(x, dim, keepdim); }
Pair min_along(const Tensor& x, int64_t dim, bool keepdim) { return min(x, dim, keepdim); }
Tensor max_of(const Tensor& x, const Tensor& other) { return elementwise<Maximum>(x, other); }
Tensor min_of(const Tensor& x, const Tensor& other) { return elementwise<Minimum>(x, other); }
Tensor max_all(const Tensor& x) { return max(x); }
Tensor min_all(const Tensor& x) { return min(x); }

Tensor logsumexp_along(const Tensor& x, const Dims& dims, bool keepdim) { return logsumexp(x, dims, keepdim); }

// torch.norm: p is a number, 'fro' (2, of all axes listed), 'nuc' (of matrices; linalg.matrix_norm knows it) or None
// (2).
PyObject* norm(const Tensor& x, PyObject* p, const OptionalDims& dims, bool keepdim, OptionalDType dtype) {
  Scalar order = 2;
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
    order = detail::From<Scalar>::get(p);
  }
  return wrap(vector_norm(x, order, dims.value_or(Dims()), keepdim, dtype));
}

#define STRIDED_AXES \
  "dim: an int or several; None or () reduces all axes. keepdim leaves reduced axes with size 1. IndexError for an\n" \
  "axis out of range, RuntimeError for one listed twice."

// ---------------------------------------------------------------- functions that follow from a struct

// A reduction and the places of its arguments.
struct Binding {
  const ReductionDef* def;
  int dim = -1, keepdim = -1, dtype = -1, param = -1;
};
const Binding& binding_of(const Overload& o) { return *static_cast<const Binding*>(o.context); }

bool accepts(const Overload& o, int k, PyObject* arg) {
  const Binding& b = binding_of(o);
  if (k == 0) return is_tensor(arg);
  if (arg == Py_None) return o.params[k].optional;
  if (k == b.dim)
    return o.params[k].type.find("[]") != std::string::npos ? detail::accepts_dims(arg) : is_integer_like(arg);
  if (k == b.keepdim) return detail::accepts_bool(arg);
  return k == b.dtype ? is_dtype(arg) : detail::accepts_double(arg);
}

Notation notation(const Overload& o, int k) {
  const Binding& b = binding_of(o);
  if (k == 0) return {"Tensor", false};
  return {k == b.dim       ? "int int[]"
          : k == b.keepdim ? "bool"
          : k == b.dtype   ? "dtype"
                           : "float int",
          o.params[k].optional};
}

PyObject* invoke(const Overload& o, PyObject* const* args) {
  const Binding& b = binding_of(o);
  ReduceArguments arguments;
  if (args[b.dim] != Py_None) arguments.dims = detail::to_dims(args[b.dim]);
  if (b.keepdim >= 0) arguments.keepdim = PyObject_IsTrue(args[b.keepdim]) == 1;
  if (b.dtype >= 0 && args[b.dtype] != Py_None) arguments.dtype = to_dtype(args[b.dtype]);
  if (b.param >= 0) arguments.param = detail::to_double(args[b.param]);
  return wrap(reduced(*b.def, unwrap(args[0]), arguments));
}

void bind_struct(const ReductionDef& def) {
  const ReduceInfo& info = *def.info;
  const bool star = std::string(info.arguments).find('*') != std::string::npos;
  const std::string text =
      std::string(info.name) + "(Tensor input, " + info.arguments + (star ? "" : ", *") + ", Tensor? out=None)";
  std::string about;
  if (text.find("int[]") != std::string::npos)
    about += std::string("\n\ndim: an int or several; None reduces all axes, and () ") +
             (info.no_axes == NoAxes::All ? "does too." : "reduces none.");
  if (text.find("keepdim") != std::string::npos) about += " keepdim leaves reduced axes with size 1.";
  about += "\nIndexError for an axis out of range, RuntimeError for one listed twice.";
  std::string doc = info.doc;
  const size_t example = doc.find("\n\n>>>");
  doc.insert(example == std::string::npos ? doc.size() : example, about);
  auto* binding = new Binding{&def};  // for good, as the functions
  const Overload parsed = parse_signature(text.c_str());
  for (int k = 1; k + 1 < static_cast<int>(parsed.params.size()); ++k) {
    const std::string& name = parsed.params[k].name;
    (name == "dim"       ? binding->dim
     : name == "keepdim" ? binding->keepdim
     : name == "dtype"   ? binding->dtype
                         : binding->param) = k;
  }
  const detail::Callable callable{detail::kAllButOut, accepts, invoke, notation, {"Tensor", 0}};
  register_overload(text.c_str(), doc.c_str(), kBoth, callable, binding);
}

void bind_structs() {
  for (int i = 0; i < kNumReductions; ++i)
    if (reduction_def(i).info->arguments) bind_struct(reduction_def(i));
}

void bind_means() {
  def<&with_dtype<&nanmean>>(
      "nanmean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None)",
      "Mean of the elements that are not NaN; NaN where there are none. Floating input only.\n\n" STRIDED_AXES
      "\n\n>>> strided.nanmean(strided.tensor([1., float('nan'), 3.]))\ntensor(2.)");
}

template <class R, R (*F)(const Tensor&, const Dims&, const std::optional<Scalar>&, bool), const char* Name>
void bind_spread(const char* doc) {
  using S = Spread<R, F, Name>;
  const std::string name = Name;
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
  bind_spread<Tensor, &var, kVar>("Variance of the elements. " STRIDED_SPREAD
                                  "\n\n>>> strided.var(strided.tensor([1., 2., 3.]))\ntensor(1.)");
  bind_spread<Tensor, &strided::std, kStd>("Standard deviation of the elements. " STRIDED_SPREAD
                                           "\n\n>>> strided.std(strided.tensor([1., 2., 3.]))\ntensor(1.)");
  bind_spread<Pair, &var_mean, kVarMean>(
      "Variance and mean of the elements. " STRIDED_SPREAD
      "\n\n>>> strided.var_mean(strided.tensor([1., 2., 3.]))\n(tensor(1.), tensor(2.))");
  bind_spread<Pair, &std_mean, kStdMean>(
      "Standard deviation and mean of the elements. " STRIDED_SPREAD
      "\n\n>>> strided.std_mean(strided.tensor([1., 2., 3.]))\n(tensor(1.), tensor(2.))");
}

void bind_extremes() {
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
      "Not for bool and complex. IndexError without elements.\n\n>>> strided.argmax(strided.tensor([[1, 5], [7, 2]]))\ntensor(2)",
      kBoth | kPositions);
  def<&argmin>(
      "argmin(Tensor input, int? dim=None, bool keepdim=False, *, Tensor? out=None)",
      "First position (int64) of the smallest element along an axis, or in the flattened tensor; NaN counts as smallest.\n"
      "Not for bool and complex. IndexError without elements.\n\n>>> strided.argmin(strided.tensor([[1, 5], [0, 2]]))\ntensor(2)",
      kBoth | kPositions);
}

void bind_norms() {
  def<&norm>(
      "norm(Tensor input, Number|str? p='fro', int[]? dim=None, bool keepdim=False, dtype? dtype=None, Tensor? out=None) -> Tensor",
      "Vector norm of the elements along the axes: (sum |x|^p)^(1/p). p: a number; inf and -inf give the largest and smallest\n"
      "magnitude, 0 the count of nonzeros; 'fro' is 2; 'nuc' is the nuclear norm of matrices. Floating and complex input;\n"
      "RuntimeError otherwise. The result is real.\n\n" STRIDED_AXES
      "\n\n>>> strided.norm(strided.tensor([3., 4.]))\ntensor(5.)");
  def<&dist>(
      "dist(Tensor input, Tensor other, Number p=2)",
      "The p-norm of input - other.\n\n>>> strided.dist(strided.tensor([1., 2.]), strided.tensor([4., 6.]))\ntensor(5.)");
}

Tensor avg_pool_of_lines(const Tensor& x, const Dims& kernel, const std::optional<Dims>& stride, const Dims& padding,
                         bool ceil_mode, bool count_include_pad) {
  return avg_pool<1>(x, kernel, stride, padding, ceil_mode, count_include_pad, std::nullopt);
}

template <int axes>
void bind_pools() {
  const std::string n = std::to_string(axes) + "d",
                    start = "(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, ";
  const std::string maxima = start + "int[] dilation=1, bool ceil_mode=False)",
                    means = start + "bool ceil_mode=False, bool count_include_pad=True";
  def<&max_pool<axes>>(("_max_pool" + n + maxima).c_str(), "nn.functional.max_pool1d to max_pool3d.", kFunction);
  def<&max_pool_with_indices<axes>>(("_max_pool" + n + "_with_indices" + maxima).c_str(),
                                    "The same, and the places of the maxima.", kFunction);
  constexpr const char* doc = "nn.functional.avg_pool1d to avg_pool3d.";
  if constexpr (axes == 1) def<&avg_pool_of_lines>(("_avg_pool1d" + means + ")").c_str(), doc, kFunction);
  else def<&avg_pool<axes>>(("_avg_pool" + n + means + ", int? divisor_override=None)").c_str(), doc, kFunction);
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
      "Logarithms of the running sums of exponentials, computed so that they do not overflow. Floating or complex "
      "input; complex numbers are added one after the other.\n\n"
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
  def<&normalise_rows>(
      "_normalise_rows(Tensor x, Tensor? weight, Tensor? bias, int n, int share, int period, float eps)",
      "Layer normalisation of rows of n elements, the mean and 1 / sqrt(var + eps) of each.", kFunction);
  const std::string channels =
      "(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, bool training=False, float momentum=0.1, float eps=1e-05)";
  def<&batch_norm>(("_batch_norm" + channels).c_str(), "nn.functional.batch_norm.", kFunction);
  def<&normalise_channels>(("_normalise_channels" + channels).c_str(), "The same, with one element a channel too.",
                           kFunction);
  bind_pools<1>();
  bind_pools<2>();
  bind_pools<3>();
  constexpr const char* layers =
      "(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05)";
  def<&layer_norm>((std::string("_layer_norm") + layers).c_str(), "nn.functional.layer_norm.", kFunction);
  def<&native_layer_norm>((std::string("_native_layer_norm") + layers).c_str(),
                          "The same, the means and 1 / sqrt(var + eps) as they were computed.", kFunction);
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
  bind_structs();
  bind_means();
  bind_spreads();
  bind_extremes();
  bind_norms();
  bind_scans();
}

}  // namespace strided::python
