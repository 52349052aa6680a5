#include "ops/sort/sort.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "backend/backend.h"
#include "ops/index/index.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

void check_sortable(const char* op, const char* what, const Tensor& x) {
  if (!is_complex(x.dtype())) return check_has_loops(op, x.dtype());
  std::string device = name_of(x.device().type);
  for (char& c : device) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  STRIDED_THROW(RuntimeError, " ", what, " does not support complex dtypes on ", device);
}

// x with an axis last and contiguous, unrecorded, so that kernels see rows.
struct Rows {
  Tensor in;
  int64_t n, count;  // elements of a row, rows
  int axis;
  Rows(const char* op, const Tensor& x, int64_t dim) : axis(wrap_axis(op, dim, x.ndim())) {
    NoGradGuard guard;
    n = x.ndim() == 0 ? 1 : x.size(axis);
    in = contiguous(x.ndim() == 0 ? x : transpose(x, axis, -1));
    count = n == 0 ? 0 : x.numel() / n;
  }
  bool is_last(const Tensor& x) const { return axis == std::max(x.ndim() - 1, 0); }
  Dims row_shape(const Tensor& x, int64_t length) const {
    Dims shape = x.shape();
    if (!shape.empty()) {
      std::swap(shape[axis], shape.back());
      shape.back() = length;
    }
    return shape;
  }
};

// The first `keep` elements of each sorted row, and their positions; either may be undefined.
void sort_rows(const char* op, const Rows& rows, const Tensor& values, const Tensor& index, int64_t keep,
               bool descending) {
  if (rows.count == 0) return;
  const Tensor& in = rows.in;
  SortPlan plan{op, in.device().index, in.dtype(), in.data(), rows.n, rows.count};
  if (values.defined()) plan.values = values.data();
  if (index.defined()) plan.index = index.data_as<int64_t>();
  backend(in.device()).sort(plan, keep, descending);
}

// Rows put back where x has its axis: memory laid out as x's when the size is the same, else contiguous.
Tensor back(const Tensor& rows, const Rows& of, const Tensor& x, bool like_x) {
  if (x.ndim() == 0) return rows;
  const bool keep_order = like_x && !x.is_contiguous();
  if (of.is_last(x) && !keep_order) return rows;
  NoGradGuard guard;
  const Tensor view = transpose(rows, of.axis, -1);
  if (!keep_order) return contiguous(view);
  Tensor out = empty_strided(x.shape(), strides_like(x.layout()), rows.dtype(), x.device());
  copy_into(out, view);
  return out;
}

ValuesAndIndices sort_unrecorded(const char* op, const Tensor& x, int64_t dim, bool descending,
                                 bool values_wanted = true) {
  check_sortable(op, "Sort", x);
  const Rows rows(op, x, dim);
  Tensor index = empty(rows.in.shape(), DType::Int64, x.device());
  Tensor values = values_wanted ? empty(rows.in.shape(), x.dtype(), x.device()) : Tensor();
  sort_rows(op, rows, values, index, rows.n, descending);
  return {values_wanted ? back(values, rows, x, true) : values, back(index, rows, x, true)};
}

// The gradient of elements taken along an axis goes back to where they came from.
ValuesAndIndices record_taken(const char* node, const char* names, const Tensor& x, int64_t dim, int axis, bool keepdim,
                              Tensor values, Tensor index) {
  if (!needs_grad(x)) return {values, index};
  record_all(node, {values}, {x}, gradient_of_taken(x, dim, axis, keepdim, index, names));
  return {values, index};
}

}  // namespace

ValuesAndIndices sort(const Tensor& x, int64_t dim, bool descending) {
  auto [values, index] = sort_unrecorded("sort", x, dim, descending);
  return record_taken("SortBackward0", "dim - indices self_sym_sizes", x, dim, wrap_axis("sort", dim, x.ndim()), true,
                      values, index);
}

Tensor argsort(const Tensor& x, int64_t dim, bool descending) {
  return std::get<1>(sort_unrecorded("argsort", x, dim, descending, false));
}

Tensor msort(const Tensor& x) { return std::get<0>(sort(x, 0)); }

ValuesAndIndices topk(const Tensor& x, int64_t k, int64_t dim, bool largest) {
  check_sortable("topk", "topk", x);
  const Rows rows("topk", x, dim);
  STRIDED_CHECK(k >= 0 && k <= rows.n, RuntimeError, "selected index k out of range");
  const Dims shape = rows.row_shape(x, k);
  Tensor values = empty(shape, x.dtype(), x.device()), index = empty(shape, DType::Int64, x.device());
  sort_rows("topk", rows, values, index, x.ndim() == 0 ? 1 : k,
            largest);  // a number is its own first element, as in PyTorch
  return record_taken("TopkBackward0", "dim - indices self_sym_sizes", x, dim, rows.axis, true,
                      back(values, rows, x, false), back(index, rows, x, false));
}

namespace {

void check_selectable(const char* kernel, const Tensor& x) {
  STRIDED_CHECK(!is_complex(x.dtype()) && !is_bool(x.dtype()), NotImplementedError, "\"", kernel,
                "\" not implemented for '", cpp_name_of(x.dtype()), "'");
}

ValuesAndIndices select(const char* op, const char* node, const Tensor& x, int64_t dim, bool keepdim,
                        OrderStatistic what, int64_t k) {
  check_sortable(op, op, x);
  const Rows rows(op, x, dim);
  STRIDED_CHECK(rows.n > 0, IndexError, op, "(): Expected reduction dim ", rows.axis, " to have non-zero size.");
  if (what == OrderStatistic::Kth)
    STRIDED_CHECK(k >= 1 && k <= rows.n, RuntimeError, op, "(): selected number k out of range for dimension ",
                  rows.axis);
  Dims shape = x.shape();
  if (!shape.empty()) {
    if (keepdim) shape[rows.axis] = 1;
    else shape.erase(rows.axis);
  }
  // Without the axis, rows stand in the order of the other axes once it is moved last.
  const Tensor in = [&] {
    NoGradGuard guard;
    return x.ndim() == 0 ? contiguous(x) : contiguous(movedim(x, {rows.axis}, {-1}));
  }();
  Tensor values = empty(shape, x.dtype(), x.device()), index = empty(shape, DType::Int64, x.device());
  const SortPlan plan{op,     x.device().index, x.dtype(),     in.data(),
                      rows.n, rows.count,       values.data(), index.data_as<int64_t>()};
  if (rows.count > 0) backend(x.device()).order_statistic(plan, what, k - 1);
  return record_taken(node, "dim keepdim indices self_sym_sizes", x, dim, rows.axis, keepdim, values, index);
}

Tensor select_of_all(const char* op, const char* node, const Tensor& x, OrderStatistic what) {
  check_selectable("median_cpu", x);
  STRIDED_CHECK(x.numel() > 0 || is_floating(x.dtype()), RuntimeError, op,
                "(): a tensor of integers without elements has no median, and no integer stands for NaN");
  if (x.numel() == 0) return full({}, Scalar(std::numeric_limits<double>::quiet_NaN()), x.dtype(), x.device());
  Tensor out;
  {
    NoGradGuard guard;
    out = std::get<0>(select(op, node, flatten(x, 0, -1), 0, false, what, 1));
  }
  if (!needs_grad(x)) return out;
  auto formula = [](const Tensor& g, const SavedTensor& saved, const SavedTensor& out) {
    const Tensor x = saved.get();
    return share_among_ties(g, x, out.get(), axis_mask("median", {}, x.ndim()), false);
  };
  return record(node, out, x,
                NamedFormula{std::tuple{SavedTensor(x), SavedTensor::output(out)}, std::move(formula), "self result"});
}

}  // namespace

ValuesAndIndices kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
  check_selectable("kthvalue_cpu", x);
  return select("kthvalue", "KthvalueBackward0", x, dim, keepdim, OrderStatistic::Kth, k);
}
ValuesAndIndices median(const Tensor& x, int64_t dim, bool keepdim) {
  check_selectable("median_out", x);
  return select("median", "MedianBackward1", x, dim, keepdim, OrderStatistic::Median, 1);
}
ValuesAndIndices nanmedian(const Tensor& x, int64_t dim, bool keepdim) {
  check_selectable("median_out", x);
  return select("nanmedian", "NanmedianBackward1", x, dim, keepdim, OrderStatistic::NanMedian, 1);
}
Tensor median(const Tensor& x) { return select_of_all("median", "MedianBackward0", x, OrderStatistic::Median); }
Tensor nanmedian(const Tensor& x) {
  return select_of_all("nanmedian", "NanmedianBackward0", x, OrderStatistic::NanMedian);
}

ValuesAndIndices mode(const Tensor& x, int64_t dim, bool keepdim) {
  return select("mode", "ModeBackward0", x, dim, keepdim, OrderStatistic::Mode, 1);
}

namespace {

// The definition of R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The American Statistician 50
// (1996), number 7: the position of q among n sorted values is q (n - 1).
Tensor quantile_of(const char* op, const Tensor& x, const Operand& q_given, std::optional<int64_t> dim, bool keepdim,
                   const std::string& interpolation, bool ignore_nan) {
  STRIDED_CHECK(x.dtype() == DType::Float32 || x.dtype() == DType::Float64, RuntimeError, op,
                "() input tensor must be either float or double dtype");
  STRIDED_CHECK(x.numel() > 0, RuntimeError, op, "() input tensor must be non-empty");
  const char* kinds[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  const auto kind = std::find(std::begin(kinds), std::end(kinds), interpolation) - std::begin(kinds);
  STRIDED_CHECK(kind < 5, RuntimeError, op,
                "() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ", interpolation);
  const bool one = !q_given.tensor || q_given.tensor->ndim() == 0;
  if (!q_given.tensor) {
    const double v = q_given.scalar.real();
    STRIDED_CHECK(v >= 0 && v <= 1, RuntimeError, op, "() q must be in the range [0, 1] but got ", v);
  } else {
    STRIDED_CHECK(q_given.tensor->ndim() <= 1, RuntimeError, op, "() q must be a scalar or 1D tensor");
    STRIDED_CHECK(q_given.tensor->dtype() == x.dtype(), RuntimeError, op,
                  "() q tensor must be same dtype as the input tensor");
    check_same_device(op, x, *q_given.tensor);
  }
  const Tensor q = q_given.tensor ? (one ? unsqueeze(*q_given.tensor, 0) : *q_given.tensor)
                                  : full({1}, q_given.scalar, x.dtype(), x.device());
  if (q_given.tensor) {
    NoGradGuard guard;
    const Tensor fine = elementwise<LogicalAnd>(elementwise<Ge>(q, Scalar(0)), elementwise<Le>(q, Scalar(1)));
    STRIDED_CHECK(truth(all(fine), true), RuntimeError, op, "() q values must be in the range [0, 1]");
  }

  // Rows: the reduced axis last.
  const int ndim = x.ndim();
  const int axis = dim ? wrap_axis(op, *dim, ndim) : 0;
  Tensor moved = dim && ndim > 0 ? movedim(x, {axis}, {-1}) : flatten(x, 0, -1);
  const Tensor sorted = std::get<0>(sort(moved, -1));
  const int64_t n = sorted.size(-1 + sorted.ndim());
  // Positions: rows x quantiles.
  Tensor rank;  // of rows that have no answer but NaN: that of a NaN
  const Tensor nan = elementwise<Isnan>(sorted);
  if (ignore_nan) {
    const Tensor valid = sum(elementwise<LogicalNot>(nan), {-1}, true);
    rank = masked_fill(q * (valid - 1), elementwise<Eq>(valid, Scalar(0)), Scalar(0));
  } else {
    Dims shape = sorted.shape();
    shape.back() = q.size(0);
    rank = masked_fill(expand(q * (n - 1), shape), any(nan, Dims{-1}, true), Scalar(n - 1));  // NaN is sorted last
  }
  {
    NoGradGuard guard;
    if (kind == 1) rank = elementwise<Floor>(rank);
    if (kind == 2) rank = elementwise<Ceil>(rank);
    if (kind == 4) {
      const double decimals[4] = {};
      const Operand in[] = {Operand(rank)};
      rank = call_elementwise(op_def(elementwise_id<Round>), in, decimals);
    }
  }
  Tensor below, above_index;
  {
    NoGradGuard guard;
    below = to_dtype(elementwise<Floor>(rank), DType::Int64);
    if (kind == 0 || kind == 3) above_index = to_dtype(elementwise<Ceil>(rank), DType::Int64);
  }
  Tensor out = gather(sorted, -1, below, false);
  if (kind == 0 || kind == 3) {
    const Tensor above = gather(sorted, -1, above_index, false);
    const Tensor weight = kind == 3 ? full({}, Scalar(0.5), x.dtype(), x.device()) : rank - below;
    out = elementwise<Lerp>(out, above, weight);
  }

  // The axis of quantiles comes first, the reduced one where it was.
  out = movedim(out, {-1}, {0});
  if (keepdim) {
    if (dim && ndim > 0) out = unsqueeze(out, wrap_axis(op, *dim, ndim) + 1);
    else
      for (int i = 0; i < ndim; ++i) out = unsqueeze(out, -1);
  }
  return shown_as("SqueezeBackward4", one ? squeeze(out, Dims{0}) : out);
}

}  // namespace

Tensor quantile(const Tensor& x, Operand q, std::optional<int64_t> dim, bool keepdim,
                const std::string& interpolation) {
  return quantile_of("quantile", x, q, dim, keepdim, interpolation, false);
}
Tensor nanquantile(const Tensor& x, Operand q, std::optional<int64_t> dim, bool keepdim,
                   const std::string& interpolation) {
  return quantile_of("nanquantile", x, q, dim, keepdim, interpolation, true);
}

}  // namespace strided
