// Distinct elements, searching in sorted rows, counting in bins.
#include <algorithm>
#include <cmath>

#include "backend/backend.h"
#include "backend/bins.h"
#include "core/promotion.h"
#include "ops/index/index.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"
#include "ops/sort/sort.h"

namespace strided {
namespace {

void check_ordered(const char* op, DType dtype) {
  STRIDED_CHECK(!is_complex(dtype), NotImplementedError, "\"", op, "\" not implemented for '", cpp_name_of(dtype), "'");
  check_has_loops(op, dtype);
}

// Groups of equal slices along an axis of x, sorted or as neighbours; without an axis, of elements. Unrecorded.
Distinct distinct(const char* op, const Tensor& x, bool return_inverse, bool return_counts, std::optional<int64_t> dim,
                  bool ordered) {
  check_ordered(op, x.dtype());
  NoGradGuard guard;
  Tensor slices;  // the axis first
  int axis = 0;
  if (dim) {
    axis = wrap_axis(op, *dim, x.ndim());
    STRIDED_CHECK(x.ndim() > 0, IndexError, "Dimension specified as ", *dim, " but tensor has no dimensions");
    slices = contiguous(movedim(x, {axis}, {0}));
  } else {
    slices = contiguous(reshape(x, {x.numel()}));
  }
  const int64_t n = slices.size(0), m = n == 0 ? 1 : slices.numel() / n;
  STRIDED_CHECK(n == 0 || m > 0, RuntimeError,
                "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");

  Distinct out;
  const Device device = x.device();
  if (!dim && ordered && !return_inverse && !return_counts) {
    const Tensor all = empty({n}, x.dtype(), device);
    int64_t count = 0;
    backend(device).unique_values({op, device.index, x.dtype(), slices.data(), n, 1, all.data()}, &count);
    out.values = count == n ? all : clone(narrow(all, 0, 0, count));
    return out;
  }
  const Tensor order = ordered ? empty({n}, DType::Int64, device) : Tensor();
  const Tensor group = empty({n}, DType::Int64, device), starts = empty({n}, DType::Int64, device);
  UniquePlan plan{op, device.index, x.dtype(), slices.data(), n, m};
  plan.order = ordered ? order.data_as<int64_t>() : nullptr;
  plan.group = group.data_as<int64_t>();
  plan.starts = starts.data_as<int64_t>();
  int64_t groups = 0;
  backend(device).unique_rows(plan, &groups);
  const Tensor begins = narrow(starts, 0, 0, groups);
  const Tensor values = index_select(slices, 0, ordered ? index_select(order, 0, begins) : begins);
  out.values = dim ? contiguous(movedim(values, {0}, {axis})) : values;
  if (return_inverse) {
    const Tensor inverse =
        ordered ? scatter_(empty({n}, DType::Int64, x.device()), 0, order, Operand(group), {}) : group;
    out.inverse = dim ? inverse : reshape(inverse, x.shape());
  }
  if (return_counts) {
    const Tensor ends = full({groups}, Scalar(n), DType::Int64, x.device());
    if (groups > 1) copy_into(narrow(ends, 0, 0, groups - 1), narrow(begins, 0, 1, groups - 1));
    out.counts = ends - begins;
  }
  return out;
}

// Tensor operands in one dtype, PyTorch's promotion deciding.
DType common_dtype(const Operand& a, const Operand& b) {
  ResultType result;
  for (const Operand* o : {&a, &b}) {
    if (o->tensor) result.add_tensor(o->tensor->dtype(), o->tensor->ndim() == 0);
    else result.add_scalar(o->scalar);
  }
  return result.get();
}
Tensor as_tensor(const Operand& x, DType dtype, Device device) {
  return x.tensor ? to_dtype(*x.tensor, dtype) : full({}, x.scalar, dtype, device);
}

}  // namespace

Distinct unique(const Tensor& x, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
  const Distinct out = distinct("unique", x, return_inverse, return_counts, dim, true);
  record_no_derivative(dim ? "UniqueDimBackward0" : "Unique2Backward0", dim ? "unique_dim" : "_unique2", {out.values},
                       {x});
  return out;
}
Distinct unique_consecutive(const Tensor& x, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
  const Distinct out = distinct("unique_consecutive", x, return_inverse, return_counts, dim, false);
  record_no_derivative("UniqueConsecutiveBackward0", "unique_consecutive", {out.values}, {x});
  return out;
}

Tensor searchsorted(const Tensor& sequence, const Tensor& values, bool out_int32, bool right,
                    const std::optional<std::string>& side, const std::optional<Tensor>& sorter) {
  const char* op = "torch.searchsorted()";
  if (side) {
    STRIDED_CHECK(*side == "left" || *side == "right", RuntimeError, op,
                  ": side can only be 'left' or 'right' but got ", *side);
    STRIDED_CHECK(*side == "right" || !right, RuntimeError, op,
                  ": side and right can't be set to opposites, got side of ", *side, " while right was True");
    right = *side == "right";
  }
  STRIDED_CHECK(sequence.ndim() > 0, RuntimeError, op,
                ": boundaries tensor should have positive dimension, but got 0 dimension");
  check_same_device("searchsorted", sequence, values);
  bool rows_match = sequence.ndim() == 1 || sequence.ndim() == values.ndim();
  for (int i = 0; i + 1 < sequence.ndim() && rows_match; ++i) rows_match = sequence.size(i) == values.size(i);
  STRIDED_CHECK(rows_match, RuntimeError, op,
                ": boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
                "value tensor must match, but we got "
                "boundaries tensor ",
                sequence.shape(), " and input value tensor ", values.shape());
  NoGradGuard guard;
  Tensor order;
  if (sorter) {
    check_same_device("searchsorted", sequence, *sorter);
    STRIDED_CHECK(sorter->shape() == sequence.shape(), RuntimeError, op,
                  ": boundary and sorter must have the same size, but got boundary tensor ", sequence.shape(),
                  "and got sorter tensor ", sorter->shape());
    STRIDED_CHECK(sorter->dtype() == DType::Int64, RuntimeError, op,
                  ": sorter must be a tensor of long dtype but got dtype ", sorter->dtype());
    order = contiguous(*sorter);
  }
  const DType dtype = common_dtype(sequence, values);
  const Tensor rows = contiguous(to_dtype(sequence, dtype)), x = contiguous(to_dtype(values, dtype));
  check_ordered("searchsorted", dtype);
  Tensor out = empty(values.shape(), DType::Int64, values.device());
  const bool one_row = sequence.ndim() == 1;
  const int64_t n = sequence.shape().back(), m = one_row ? x.numel() : values.shape().back();
  const int64_t* const i = sorter ? order.data_as<int64_t>() : nullptr;
  int64_t row_count = 1;
  for (int axis = 0; axis + 1 < sequence.ndim(); ++axis) row_count *= sequence.size(axis);
  backend(x.device())
      .search({op, x.device().index, dtype, rows.data(), i, n, row_count, x.data(), m, out.data()},
              right ? Search::Right : Search::Left);
  return out_int32 ? to_dtype(out, DType::Int32) : out;
}

Tensor bucketize(const Tensor& x, const Tensor& boundaries, bool out_int32, bool right) {
  STRIDED_CHECK(boundaries.ndim() == 1, RuntimeError, "boundaries tensor must be 1 dimension, but got dim(",
                boundaries.ndim(), ")");
  return searchsorted(boundaries, x, out_int32, right);
}

Tensor isin(Operand elements, Operand tests, bool invert) {
  const DType dtype = common_dtype(elements, tests);
  STRIDED_CHECK(!is_complex(dtype), RuntimeError,
                "Unsupported input type encountered for isin(): ", cpp_name_of(dtype));
  NoGradGuard guard;
  const Device device = elements.tensor ? elements.tensor->device() : tests.tensor ? tests.tensor->device() : Device{};
  if (elements.tensor && tests.tensor) check_same_device("isin", *elements.tensor, *tests.tensor);
  for (const Operand* number : {&elements, &tests}) {
    if (number->tensor || !is_integer(dtype) || !number->scalar.is_integral()) continue;
    const int side = beyond(number->scalar, dtype);
    if (side > 0 || (side < 0 && info_of(dtype).is_signed))  // no element can be equal to it
      return full(elements.tensor ? elements.tensor->shape() : Dims(), Scalar(invert), DType::Bool, device);
  }
  const Tensor x = contiguous(as_tensor(elements, dtype, device)), in = contiguous(as_tensor(tests, dtype, device));
  check_ordered("isin", dtype);
  const int64_t n = in.numel();
  const Tensor row = empty({n}, dtype, device);
  Tensor out = empty(x.shape(), DType::Bool, device);
  const Backend& on = backend(device);
  on.sort({"isin", device.index, dtype, in.data(), n, n > 0 ? 1 : 0, row.data()}, n, false);
  on.search({"isin", device.index, dtype, row.data(), nullptr, n, 1, x.data(), x.numel(), out.data()},
            invert ? Search::NotIn : Search::In);
  return out;
}

// ---------------------------------------------------------------- bins

namespace {

struct Range {
  double low, high;
};
// The range of the values, widened by `margin` when it is a single point; [0, 1] of nothing.
Range range_of(const char* op, const char* what, const Tensor& x, double margin) {
  Range r{0, 1};
  if (x.numel() > 0 && !x.device().is_meta()) {
    NoGradGuard guard;
    const auto [low, high] = aminmax(flatten(x, 0, -1));
    r = {item(low).real(), item(high).real()};
  }
  STRIDED_CHECK(std::isfinite(r.low) && std::isfinite(r.high), RuntimeError, op, ": ", what, "range of [", r.low, ", ",
                r.high, "] is not finite");
  if (r.low == r.high) r = {r.low - margin, r.high + margin};
  return r;
}

// Sums of weights (or counts) by bin; bins outside [0, n) are left out.
Tensor count_bins(const Tensor& bin, int64_t n, const Tensor& weight, DType dtype) {
  const Tensor inside = elementwise<LogicalAnd>(elementwise<Ge>(bin, Scalar(0)), elementwise<Lt>(bin, Scalar(n)));
  const Tensor kept = masked_select(bin, inside);
  const Tensor w =
      weight.defined() ? to_dtype(masked_select(weight, inside), dtype) : ones(kept.shape(), dtype, bin.device());
  return index_add(zeros({n}, dtype, bin.device()), 0, kept, w, Scalar(1));
}

void check_binnable(const char* kernel, const Tensor& x, int64_t bins) {
  STRIDED_CHECK(is_floating(x.dtype()), NotImplementedError, "\"", kernel, "\" not implemented for '",
                cpp_name_of(x.dtype()), "'");
  STRIDED_CHECK(bins > 0, RuntimeError, "torch.histogram(): bins must be > 0, but got ", bins, " for dimension 0");
}

// Unrecorded.
std::tuple<Tensor, Tensor> count_between(const Tensor& x, const Tensor& edges, const std::optional<Tensor>& weight,
                                         bool density) {
  NoGradGuard guard;
  if (weight)
    STRIDED_CHECK(weight->shape() == x.shape(), RuntimeError,
                  "histogram: weight must have the shape of the input, got ", weight->shape(), " for input of shape ",
                  x.shape());
  const Tensor flat = flatten(x, 0, -1);
  const int64_t n = edges.size(0) - 1;
  // Bins are open on the right, but for the last one. Nothing outside of the first and the last edge counts (nor NaN),
  // whatever order the edges have.
  const Tensor found = elementwise<ClampMax>(searchsorted(edges, flat, false, true) - 1, Scalar(n - 1));
  const Tensor inside =
      elementwise<LogicalAnd>(elementwise<Ge>(flat, select(edges, 0, 0)), elementwise<Le>(flat, select(edges, 0, n)));
  const Tensor bin = masked_fill(found, elementwise<LogicalNot>(inside), Scalar(-1));
  Tensor hist = count_bins(bin, n, weight ? flatten(*weight, 0, -1) : Tensor(), DType::Float64);
  if (density) hist = hist / sum(hist) / to_dtype(narrow(edges, 0, 1, n) - narrow(edges, 0, 0, n), DType::Float64);
  return {to_dtype(hist, x.dtype()), edges};
}

}  // namespace

Tensor histc(const Tensor& x, int64_t bins, const Scalar& min, const Scalar& max) {
  Range r{min.real(), max.real()};
  STRIDED_CHECK(r.low <= r.high, RuntimeError, "torch.histc: max must be larger than min");
  check_binnable("histogram_cpu", x, bins);
  NoGradGuard guard;
  const bool of_values = r.low == r.high && x.numel() > 0;
  if (of_values) r = range_of("torch.histc", "", x, 1);
  else if (r.low == r.high) r = {r.low - 1, r.high + 1};
  STRIDED_CHECK(std::isfinite(r.low) && std::isfinite(r.high), RuntimeError, "torch.histc: range of [", r.low, ", ",
                r.high, "] is not finite");
  STRIDED_CHECK(std::isfinite(r.high - r.low), RuntimeError, "torch.histc: the width of the range [", r.low, ", ",
                r.high, "] is not finite");
  Tensor kept = to_dtype(flatten(x, 0, -1), compute_dtype_of(x.dtype()));
  const auto count_in_bins = count_in_bins_of(x.device());
  if (count_in_bins != nullptr && bins <= BinsPlan::kMostBins) {
    kept = contiguous(kept);
    const Tensor counts = empty({bins}, DType::Int64, x.device());
    count_in_bins({kept.dtype(), kept.data(), kept.numel(), bins, r.low, r.high, counts.data_as<int64_t>()});
    return to_dtype(counts, x.dtype());
  }
  if (!of_values)
    kept = masked_select(
        kept, elementwise<LogicalAnd>(elementwise<Ge>(kept, Scalar(r.low)), elementwise<Le>(kept, Scalar(r.high))));
  if (r.high - r.low > BinsPlan::kWidestInFloat)
    kept = to_dtype(kept, DType::Float64);  // differences would overflow float
  const Tensor place = to_dtype((kept - r.low) * static_cast<double>(bins) / (r.high - r.low), DType::Int64);
  const Tensor bin = elementwise<ClampMin>(elementwise<ClampMax>(place, Scalar(bins - 1)), Scalar(0));
  return to_dtype(bincount(bin, std::nullopt, bins), x.dtype());
}

std::tuple<Tensor, Tensor> histogram(const Tensor& x, int64_t bins, const std::optional<std::vector<double>>& range,
                                     const std::optional<Tensor>& weight, bool density) {
  check_binnable("histogramdd", x, bins);
  // There is one edge more than bins.
  STRIDED_CHECK(bins < INT64_MAX, RuntimeError, "torch.histogramdd: bins must be below 2^63 - 1, but got ", bins);
  Range r;
  if (range) {
    STRIDED_CHECK(range->size() == 2, RuntimeError,
                  "torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got ",
                  range->size());
    r = {(*range)[0], (*range)[1]};
    STRIDED_CHECK(std::isfinite(r.low) && std::isfinite(r.high), RuntimeError,
                  "torch.histogramdd: dimension 0's range [", r.low, ", ", r.high, "] is not finite");
    STRIDED_CHECK(r.low <= r.high, RuntimeError, "torch.histogramdd: min should not exceed max, but got min ", r.low,
                  " max ", r.high, " for dimension 0");
    if (r.low == r.high) r = {r.low - 0.5, r.high + 0.5};
  } else {
    r = range_of("torch.histogramdd", "dimension 0's ", x, 0.5);
  }
  const auto out =
      count_between(x, linspace(Scalar(r.low), Scalar(r.high), bins + 1, x.dtype(), x.device()), weight, density);
  record_no_derivative("NotImplemented", "histogram", {std::get<0>(out), std::get<1>(out)},
                       {x, weight.value_or(Tensor())});
  return out;
}

std::tuple<Tensor, Tensor> histogram(const Tensor& x, const Tensor& edges, const std::optional<Tensor>& weight,
                                     bool density) {
  STRIDED_CHECK(edges.ndim() == 1, RuntimeError, "torch.histogramdd: bins tensor should have one dimension, but got ",
                edges.ndim(), " dimensions in the bins tensor for dimension 0");
  check_binnable("histogramdd", x, edges.size(0) - 1);
  STRIDED_CHECK(
      edges.dtype() == x.dtype(), RuntimeError,
      "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype ",
      info_of(x.dtype()).written, " and bins for dimension 0 with dtype ", info_of(edges.dtype()).written);
  Tensor own;
  {
    NoGradGuard guard;
    own = clone(edges);
  }
  const auto out = count_between(x, own, weight, density);
  record_no_derivative("NotImplemented", "histogram", {std::get<0>(out), std::get<1>(out)},
                       {x, edges, weight.value_or(Tensor())});
  return out;
}

Tensor bincount(const Tensor& x, const std::optional<Tensor>& weights, int64_t minlength) {
  STRIDED_CHECK(is_integer(x.dtype()), NotImplementedError, "\"bincount_cpu\" not implemented for '",
                cpp_name_of(x.dtype()), "'");
  STRIDED_CHECK(minlength >= 0, RuntimeError, "minlength should be >= 0");
  STRIDED_CHECK(x.ndim() == 1, RuntimeError, "bincount only supports 1-d non-negative integral inputs.");
  int64_t n = minlength;
  const Tensor at = to_dtype(x, DType::Int64);
  if (!weights && x.numel() <= ShortLoops::kMost && backend(x.device()).short_loops && at.is_contiguous()) {
    const auto* values = at.data_as<int64_t>();
    const int64_t m = at.numel(), most = std::max<int64_t>(64, 4 * m);
    const bool few = std::all_of(values, values + m, [=](int64_t v) { return v >= 0 && v < most; });
    if (few) {  // no plan, and no second look for the largest one's row
      for (int64_t k = 0; k < m; ++k) n = std::max(n, values[k] + 1);
      const Tensor counts = zeros({n}, DType::Int64, x.device());
      auto* count = counts.data_as<int64_t>();
      for (int64_t k = 0; k < m; ++k) ++count[values[k]];
      return counts;
    }
  }
  if (x.numel() > 0) {
    const auto [low, high] = aminmax(at);
    const int64_t least = item(low).to_int(), greatest = item(high).to_int();
    STRIDED_CHECK(least >= 0, RuntimeError, "bincount only supports 1-d non-negative integral inputs.");
    STRIDED_CHECK(greatest < INT64_MAX, RuntimeError, "bincount: the largest value is too large, got ", greatest);
    n = std::max(n, greatest + 1);
  }
  if (!weights)
    return index_add_(zeros({n}, DType::Int64, x.device()), 0, at,
                      expand(scalar_tensor(Scalar(1), DType::Int64, x.device()), x.shape()), Scalar(1));
  STRIDED_CHECK(weights->shape() == x.shape(), RuntimeError, "weights should be 1-d and have the same length as input");
  const DType dtype = weights->dtype() == DType::Float32 ? DType::Float32 : DType::Float64;
  Tensor out;
  {
    NoGradGuard guard;
    out = index_add_(zeros({n}, dtype, x.device()), 0, at, to_dtype(*weights, dtype), Scalar(1));
  }
  record_no_derivative("NotImplemented", "bincount", {out}, {*weights});
  return out;
}

}  // namespace strided
