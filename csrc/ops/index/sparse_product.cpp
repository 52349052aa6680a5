#include "ops/index/sparse_product.h"

#include "backend/backend.h"
#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/index/index.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

void check_places(const char* op, const Tensor& places, int64_t entries, const char* what, const Tensor& like) {
  STRIDED_CHECK(places.dtype() == DType::Int64 && places.ndim() == 1 && places.numel() == entries, RuntimeError, op,
                ": ", what, "s must be an int64 vector of ", entries, " elements, got ", places.dtype(), " of shape ",
                places.shape());
  check_same_device(op, like, places);
}

bool has_kernel(const Tensor& x) {
  return (x.dtype() == DType::Float32 || x.dtype() == DType::Float64) && backend(x.device()).sparse_product != nullptr;
}

// Which negative places are allowed: Note [Negative places].
enum class Negative { Rows, RowsAndColumns };

// Note [Negative places]
// A caller leaves entries out by negative rows. In a gradient rows and columns change places, so the functions there
// leave out both; what they are given was looked at in the forward pass.

// The entries that count, and both places of each, or zero.
struct Kept {
  Tensor which, row, column;
};
Kept kept(const Tensor& row, const Tensor& column, Negative negative) {
  Tensor which = elementwise<Ge>(row, Scalar(0));
  if (negative == Negative::Rows) return {which, where(which, row, Scalar(0)), column};
  which = elementwise<LogicalAnd>(which, elementwise<Ge>(column, Scalar(0)));
  return {which, where(which, row, Scalar(0)), where(which, column, Scalar(0))};
}

void check_not_negative(const Tensor& column) {
  if (column.numel() == 0) return;
  const int64_t least = item(amin(column)).to_int();
  STRIDED_CHECK(least >= 0, IndexError, "index out of range in self: index ", least, " is negative");
}

SparseProductPlan plan_of(int64_t rows, const Tensor& row, int64_t columns, const Tensor& column, const Tensor& dense,
                          Negative negative) {
  if (negative == Negative::Rows) check_not_negative(column);
  SparseProductPlan plan;
  plan.dtype = dense.dtype();
  plan.entries = row.numel();
  plan.rows = rows;
  plan.columns = columns;
  plan.width = dense.size(1);
  plan.row = reinterpret_cast<const int64_t*>(row.data());
  plan.column = reinterpret_cast<const int64_t*>(column.data());
  return plan;
}

Tensor sampled(const Tensor& row, const Tensor& column, const Tensor& a, const Tensor& b, Negative negative);

Tensor product(int64_t rows, const Tensor& row, const Tensor& column, const std::optional<Tensor>& value,
               const Tensor& dense, Negative negative) {
  constexpr const char* op = "sparse_product";
  STRIDED_CHECK(dense.ndim() == 2, RuntimeError, op, ": expected a matrix, got shape ", dense.shape());
  STRIDED_CHECK(is_floating(dense.dtype()), RuntimeError, op, ": expected a floating dtype, got ", dense.dtype());
  const int64_t entries = row.numel();
  if (value) {
    STRIDED_CHECK(value->dtype() == dense.dtype() && value->ndim() == 1 && value->numel() == entries, RuntimeError, op,
                  ": values must be a vector of ", entries, " elements of ", dense.dtype(), ", got ", value->dtype(),
                  " of shape ", value->shape());
    check_same_device(op, dense, *value);
  }
  const Tensor at = contiguous(row), from = contiguous(column);
  check_places(op, at, entries, "row", dense);
  check_places(op, from, entries, "column", dense);
  Tensor out;
  {
    NoGradGuard guard;
    if (has_kernel(dense)) {
      SparseProductPlan plan = plan_of(rows, at, dense.size(0), from, dense, negative);
      const Tensor matrix = contiguous(dense), factors = value ? contiguous(*value) : Tensor();
      out = empty(Dims{rows, dense.size(1)}, dense.dtype(), dense.device());
      plan.value = factors.defined() ? factors.data() : nullptr;
      backend(dense.device()).sparse_product(plan, matrix.data(), out.data());
    } else {
      const Kept entry = kept(at, from, negative);
      Tensor terms = index_select(dense, 0, entry.column);
      if (value) terms = elementwise<Mul>(terms, unsqueeze(*value, 1));
      terms = where(unsqueeze(entry.which, 1), terms, Scalar(0));
      out = index_add_(zeros(Dims{rows, dense.size(1)}, dense.dtype(), dense.device()), 0, entry.row, terms, 1);
    }
  }
  const Tensor values = value ? *value : Tensor();
  if (!needs_grad(std::vector<Tensor>{values, dense})) return out;
  const bool to_values = value && value->requires_grad(), to_dense = dense.requires_grad();
  return record("SparseAddmmBackward0", out, std::vector<Tensor>{values, dense},
                [columns = dense.size(0), to_values, to_dense, has_value = value.has_value(), at = SavedTensor(at),
                 from = SavedTensor(from), values = saved_if(to_dense && value, values),
                 dense = saved_if(to_values, dense)](const Tensor& g) {
                  const Tensor row = at.get(), column = from.get();
                  Tensor for_values, for_dense;
                  if (to_values) for_values = sampled(row, column, g, dense.get(), Negative::RowsAndColumns);
                  if (to_dense) {
                    std::optional<Tensor> factors;
                    if (has_value) factors = values.get();
                    for_dense = product(columns, column, row, factors, g, Negative::RowsAndColumns);
                  }
                  return std::vector<Tensor>{for_values, for_dense};
                });
}

Tensor sampled(const Tensor& row, const Tensor& column, const Tensor& a, const Tensor& b, Negative negative) {
  constexpr const char* op = "sampled_product";
  STRIDED_CHECK(a.ndim() == 2 && b.ndim() == 2 && a.size(1) == b.size(1) && a.dtype() == b.dtype(), RuntimeError, op,
                ": expected two matrices of one dtype with rows of the same length, got ", a.dtype(), " of shape ",
                a.shape(), " and ", b.dtype(), " of shape ", b.shape());
  STRIDED_CHECK(is_floating(a.dtype()), RuntimeError, op, ": expected a floating dtype, got ", a.dtype());
  check_same_device(op, a, b);
  const int64_t entries = row.numel();
  const Tensor at = contiguous(row), from = contiguous(column);
  check_places(op, at, entries, "row", a);
  check_places(op, from, entries, "column", a);
  Tensor out;
  {
    NoGradGuard guard;
    if (has_kernel(a)) {
      const SparseProductPlan plan = plan_of(a.size(0), at, b.size(0), from, a, negative);
      const Tensor left = contiguous(a), right = contiguous(b);
      out = empty(Dims{entries}, a.dtype(), a.device());
      backend(a.device()).sampled_product(plan, left.data(), right.data(), out.data());
    } else {
      const Kept entry = kept(at, from, negative);
      const Tensor terms = elementwise<Mul>(index_select(a, 0, entry.row), index_select(b, 0, entry.column));
      out = where(entry.which, sum(terms, Dims{1}), Scalar(0));
    }
  }
  if (!needs_grad(std::vector<Tensor>{a, b})) return out;
  const bool to_a = a.requires_grad(), to_b = b.requires_grad();
  return record("SampledProductBackward0", out, std::vector<Tensor>{a, b},
                [rows = a.size(0), columns = b.size(0), to_a, to_b, at = SavedTensor(at), from = SavedTensor(from),
                 a = saved_if(to_b, a), b = saved_if(to_a, b)](const Tensor& g) {
                  const Tensor row = at.get(), column = from.get();
                  Tensor for_a, for_b;
                  if (to_a) for_a = product(rows, row, column, g, b.get(), Negative::RowsAndColumns);
                  if (to_b) for_b = product(columns, column, row, g, a.get(), Negative::RowsAndColumns);
                  return std::vector<Tensor>{for_a, for_b};
                });
}

}  // namespace

Tensor sparse_product(int64_t rows, const Tensor& row, const Tensor& column, const std::optional<Tensor>& value,
                      const Tensor& dense) {
  return product(rows, row, column, value, dense, Negative::Rows);
}

Tensor sampled_product(const Tensor& row, const Tensor& column, const Tensor& a, const Tensor& b) {
  return sampled(row, column, a, b, Negative::Rows);
}

}  // namespace strided
