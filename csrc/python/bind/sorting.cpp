// Sorting, selecting, searching, counting.
#include "base/warning.h"
#include "core/promotion.h"
#include "ops/factory.h"
#include "ops/record.h"
#include "ops/sort/sort.h"
#include "python/bind/bind.h"

namespace strided::python {
namespace {

using OptionalInt = std::optional<int64_t>;
using OptionalTensor = std::optional<Tensor>;

// Every sort is stable.
ValuesAndIndices sort_stably(const Tensor& x, std::optional<bool>, int64_t dim, bool descending) {
  auto [values, indices] = sort(x, dim, descending);
  return {shown_as("SortBackward1", values), indices};
}
ValuesAndIndices sort_by(const Tensor& x, int64_t dim, bool descending, std::optional<bool> stable) {
  return stable ? sort_stably(x, stable, dim, descending) : sort(x, dim, descending);
}
Tensor argsort_by(const Tensor& x, int64_t dim, bool descending, bool) { return argsort(x, dim, descending); }
Tensor argsort_stably(const Tensor& x, bool, int64_t dim, bool descending) { return argsort(x, dim, descending); }
ValuesAndIndices topk_by(const Tensor& x, int64_t k, OptionalInt dim, bool largest, bool) {
  return topk(x, k, dim.value_or(-1), largest);
}
ValuesAndIndices kthvalue_along(const Tensor& x, int64_t k, OptionalInt dim, bool keepdim) {
  return kthvalue(x, k, dim.value_or(-1), keepdim);
}

using All = Tensor(const Tensor&);
using Along = ValuesAndIndices(const Tensor&, int64_t, bool);
template <class Signature>
constexpr Signature* pick(Signature* f) {
  return f;
}

// A tensor, or a tuple of those that were asked for.
PyObject* as_tuple(const Distinct& d) {
  if (!d.inverse.defined() && !d.counts.defined()) return wrap(d.values);
  const Tensor* parts[3] = {&d.values};
  int n = 1;
  if (d.inverse.defined()) parts[n++] = &d.inverse;
  if (d.counts.defined()) parts[n++] = &d.counts;
  PyObject* tuple = PyTuple_New(n);
  for (int i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple, i, wrap(*parts[i]));
  return tuple;
}
PyObject* unique_of(const Tensor& x, bool, bool return_inverse, bool return_counts, OptionalInt dim) {
  return as_tuple(unique(x, return_inverse, return_counts, dim));
}
PyObject* unique_neighbours(const Tensor& x, bool return_inverse, bool return_counts, OptionalInt dim) {
  return as_tuple(unique_consecutive(x, return_inverse, return_counts, dim));
}

// A number is searched for as a 0-d tensor of a dtype that keeps it, given what it is compared with.
Tensor value_for(const Operand& value, const Tensor& row) {
  if (value.tensor) return *value.tensor;
  ResultType result;
  result.add_tensor(row.dtype(), false);
  result.add_scalar(value.scalar);
  return scalar_tensor(value.scalar, result.get(), row.device());
}
// Of searchsorted and bucketize, as PyTorch.
void warn_of_gaps(const char* which, const Tensor& x) {
  if (x.is_contiguous()) return;
  warn_once(concat("torch.searchsorted(): ", which,
                   " tensor is non-contiguous, this will lower the performance due to extra data copy when converting "
                   "non-contiguous tensor to contiguous, please use contiguous ",
                   which, " tensor if possible. This message will only appear once per program."));
}
Tensor search(const Tensor& row, const Operand& values, bool out_int32, bool right,
              const std::optional<std::string>& side, const OptionalTensor& sorter) {
  const Tensor x = value_for(values, row);
  warn_of_gaps("input value", x);
  warn_of_gaps("boundary", row);
  if (sorter) warn_of_gaps("sorter", *sorter);
  return searchsorted(row, x, out_int32, right, side, sorter);
}
Tensor bucket(const Operand& x, const Tensor& boundaries, bool out_int32, bool right) {
  const Tensor values = value_for(x, boundaries);
  warn_of_gaps("input value", values);
  warn_of_gaps("boundary", boundaries);
  return bucketize(values, boundaries, out_int32, right);
}
Tensor is_in(const Operand& elements, const Operand& tests, bool, bool invert) { return isin(elements, tests, invert); }

std::tuple<Tensor, Tensor> histogram_in(const Tensor& x, int64_t bins, PyObject* range, const OptionalTensor& weight,
                                        bool density) {
  std::optional<std::vector<double>> pair;
  if (range != Py_None) {
    PyObject* items = PySequence_Fast(range, "histogram(): range must be a tuple of floats");
    if (!items) throw PythonError{};
    pair.emplace();
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i)
      pair->push_back(PyFloat_AsDouble(PySequence_Fast_GET_ITEM(items, i)));
    Py_DECREF(items);
    if (PyErr_Occurred()) throw PythonError{};
  }
  return histogram(x, bins, pair, weight, density);
}
std::tuple<Tensor, Tensor> histogram_between(const Tensor& x, const Tensor& edges, const OptionalTensor& weight,
                                             bool density) {
  return histogram(x, edges, weight, density);
}

#define STRIDED_ORDER "NaN counts as greatest, both zeros as equal. Real dtypes; IndexError for an axis out of range."

void bind_orders() {
  const char* sort_doc =
      "Elements sorted along an axis: named tuple (values, indices), indices being int64 positions in the input. Always\n"
      "stable. " STRIDED_ORDER
      "\n\nRadix sort of order-preserving keys (D. E. Knuth, The Art of Computer Programming 3, section 5.2.5).\n\n"
      ">>> strided.sort(strided.tensor([3, 1, 2])).indices\ntensor([1, 2, 0])";
  def<&sort_by>(
      "sort(Tensor input, int dim=-1, bool descending=False, *, bool? stable=None, Tensor[]? out=None) -> (values, indices)",
      sort_doc);
  def<&sort_stably>(
      "sort(Tensor input, *, bool? stable, int dim=-1, bool descending=False, Tensor[]? out=None) -> (values, indices)",
      sort_doc);
  const char* argsort_doc = "Positions (int64) that sort the input along an axis. Always stable.\n" STRIDED_ORDER
                            "\n\n>>> strided.argsort(strided.tensor([3, 1, 2]))\ntensor([1, 2, 0])";
  def<&argsort_by>("argsort(Tensor input, int dim=-1, bool descending=False, bool stable=False)", argsort_doc);
  def<&argsort_stably>("argsort(Tensor input, *, bool stable, int dim=-1, bool descending=False)", argsort_doc);
  def<&msort>("msort(Tensor input, *, Tensor? out=None)",
              "Elements sorted along the first axis.\n" STRIDED_ORDER
              "\n\n>>> strided.msort(strided.tensor([3, 1, 2]))\ntensor([1, 2, 3])");
  def<&topk_by>(
      "topk(Tensor input, int k, int? dim=None, bool largest=True, bool sorted=True, *, Tensor[]? out=None) -> (values, indices)",
      "The k largest (smallest) elements along an axis, by default the last, in descending (ascending) order, with their positions\n"
      "(int64); of equal ones the first. RuntimeError when k is larger than the axis.\n" STRIDED_ORDER
      "\n\n>>> strided.topk(strided.tensor([5, 1, 4, 2]), 2).values\ntensor([5, 4])");
}

void bind_selections() {
  def<&kthvalue_along>(
      "kthvalue(Tensor input, int k, int? dim=None, bool keepdim=False, *, Tensor[]? out=None) -> (values, indices)",
      "The k-th smallest element (k counts from 1) along an axis, by default the last, and its first position (int64).\n"
      "RuntimeError when k is not in [1, size].\n" STRIDED_ORDER
      "\n\n>>> strided.kthvalue(strided.tensor([1., 3., 2.]), 2).values\ntensor(2.)");
  const char* median_doc =
      "The lower of the two middle elements: of all, or along an axis as named tuple (values, indices). NaN where there is one.\n"
      "Not for bool and complex.\n\n>>> strided.median(strided.tensor([4, 1, 3, 2]))\ntensor(2)";
  def<pick<All>(&median)>("median(Tensor input)", median_doc);
  def<pick<Along>(&median)>(
      "median(Tensor input, int dim, bool keepdim=False, *, Tensor[]? out=None) -> (values, indices)", median_doc);
  const char* nanmedian_doc =
      "The lower of the two middle elements among those that are not NaN: of all, or along an axis as named tuple (values,\n"
      "indices).\n\n>>> strided.nanmedian(strided.tensor([4., float('nan'), 3.]))\ntensor(3.)";
  def<pick<All>(&nanmedian)>("nanmedian(Tensor input)", nanmedian_doc);
  def<pick<Along>(&nanmedian)>(
      "nanmedian(Tensor input, int dim, bool keepdim=False, *, Tensor[]? out=None) -> (values, indices)",
      nanmedian_doc);
  def<&mode>(
      "mode(Tensor input, int dim=-1, bool keepdim=False, *, Tensor[]? out=None) -> (values, indices)",
      "The most frequent element along an axis, the smallest of equally frequent ones, and its last position (int64).\n\n"
      ">>> strided.mode(strided.tensor([3, 1, 3, 2])).values\ntensor(3)");
  const char* quantile_doc =
      "The q-quantiles of all elements or along an axis, q in [0, 1] being a number or a 1-d tensor (then the first axis of the\n"
      "result). Among n sorted values a quantile stands at q (n - 1); between two of them `interpolation` decides: 'linear', 'lower',\n"
      "'higher', 'midpoint' or 'nearest'. NaN where there is one. float32 and float64; RuntimeError otherwise.\n"
      "R. J. Hyndman, Y. Fan, The American Statistician 50 (1996), definition 7.\n\n>>> strided.quantile(strided.tensor([1., 2., 3., 4.]), 0.5)\ntensor(2.5000)";
  def<&quantile>(
      "quantile(Tensor input, TensorOrNumber q, int? dim=None, bool keepdim=False, *, str interpolation='linear', Tensor? out=None)",
      quantile_doc);
  def<&nanquantile>(
      "nanquantile(Tensor input, TensorOrNumber q, int? dim=None, bool keepdim=False, *, str interpolation='linear', Tensor? out=None)",
      "quantile of the elements that are not NaN; NaN where there are none.\n\n"
      ">>> strided.nanquantile(strided.tensor([1., float('nan'), 3.]), 0.5)\ntensor(2.)");
}

void bind_searches() {
  def<&unique_of>(
      "unique(Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor; Tensor[] if return_inverse or return_counts",
      "The distinct elements, or slices along an axis, in ascending order. With return_inverse also, for every element, the\n"
      "position of its like; with return_counts how often each occurs (both int64; then a tuple). Each NaN is distinct.\n\n"
      ">>> strided.unique(strided.tensor([3, 1, 3]), return_counts=True)\n(tensor([1, 3]), tensor([1, 2]))");
  def<&unique_neighbours>(
      "unique_consecutive(Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor; Tensor[] if return_inverse or return_counts",
      "The input with all but the first of neighbouring equal elements (or slices along an axis) left out; return_inverse and\n"
      "return_counts as in unique.\n\n>>> strided.unique_consecutive(strided.tensor([1, 1, 2, 2, 1]))\ntensor([1, 2, 1])");
  def<&search>(
      "searchsorted(Tensor sorted_sequence, TensorOrNumber input, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None, Tensor? out=None)",
      "Positions in a sorted row before (right: after) which equal values stand, so that inserting `input` there keeps the order.\n"
      "sorted_sequence: 1-d, or with input's sizes but for the last axis, a row for each row of values. sorter: positions that\n"
      "sort the sequence. int64, or int32. RuntimeError for shapes that do not fit.\n\n"
      ">>> strided.searchsorted(strided.tensor([1, 3, 5]), strided.tensor([3, 6]))\ntensor([1, 3])",
      kFunction);
  def<&bucket>(
      "bucketize(TensorOrNumber input, Tensor boundaries, *, bool out_int32=False, bool right=False, Tensor? out=None)",
      "The bucket of each value among sorted 1-d boundaries: boundaries[i - 1] < v <= boundaries[i], with right=True\n"
      "boundaries[i - 1] <= v < boundaries[i].\n\n>>> strided.bucketize(strided.tensor([1, 4, 6]), strided.tensor([1, 3, 5]))\ntensor([0, 2, 3])",
      kFunction);
  def<&is_in>(
      "isin(TensorOrNumber elements, TensorOrNumber test_elements, *, bool assume_unique=False, bool invert=False, Tensor? out=None)",
      "Whether each element is among test_elements (with invert, whether it is not): bool, of elements' shape. NaN is in nothing.\n\n"
      ">>> strided.isin(strided.tensor([1, 2, 3]), strided.tensor([3, 1]))\ntensor([ True, False,  True])",
      kFunction);
  for (const char* operands :
       {"Number element, TensorOrNumber test_elements", "TensorOrNumber elements, Number test_element"})
    def<&is_in>(
        ("isin(" + std::string(operands) + ", *, bool assume_unique=False, bool invert=False, Tensor? out=None)")
            .c_str(),
        "The same for one number.", kFunction);
}

void bind_counts() {
  def<&histc>(
      "histc(Tensor input, int bins=100, Number min=0, Number max=0, *, Tensor? out=None)",
      "Counts of the elements in equal bins from min to max (equal: of the elements themselves), in the input's dtype. Elements\n"
      "outside and NaN are left out. Floating input; RuntimeError for bins < 1, min > max or a range that is not finite.\n\n"
      ">>> strided.histc(strided.tensor([1., 2., 1.]), bins=4, min=0, max=3)\ntensor([0., 2., 1., 0.])");
  const char* histogram_doc =
      "Counts (sums of `weight`) of the elements in bins, and the edges of the bins: named tuple (hist, bin_edges). bins: a number of\n"
      "equal bins over `range` (by default that of the elements), or their edges. Bins are open on the right but for the last one.\n"
      "density: divided by the sum and by the widths. Floating input.\n\n>>> strided.histogram(strided.tensor([1., 2., 4.]), 3).hist\ntensor([1., 1., 1.])";
  def<&histogram_in>(
      "histogram(Tensor input, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False, Tensor[]? out=None) -> (hist, bin_edges)",
      histogram_doc);
  def<&histogram_between>(
      "histogram(Tensor input, Tensor bins, *, Tensor? weight=None, bool density=False, Tensor[]? out=None) -> (hist, bin_edges)",
      histogram_doc);
  def<&bincount>(
      "bincount(Tensor input, Tensor? weights=None, int minlength=0)",
      "How often each of 0, 1, 2, ... occurs in a 1-d tensor of non-negative integers (int64), or the sum of its weights (float32 for\n"
      "float32 weights, else float64). At least minlength long. RuntimeError for other input.\n\n"
      ">>> strided.bincount(strided.tensor([1, 1, 3]))\ntensor([0, 2, 0, 1])");
}

}  // namespace

void bind_sorting() {
  bind_orders();
  bind_selections();
  bind_searches();
  bind_counts();
}

}  // namespace strided::python
