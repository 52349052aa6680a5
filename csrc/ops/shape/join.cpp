#include "ops/shape/join.h"

#include <algorithm>

#include "backend/backend.h"
#include "core/promotion.h"
#include "ops/call.h"
#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/index/index.h"
#include "ops/out.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"
#include "ops/shape/windows.h"

namespace strided {
namespace {

DType common_dtype(const std::vector<Tensor>& tensors) {
  DType first = tensors[0].dtype();
  if (std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& x) { return x.dtype() == first; })) return first;
  ResultType type;
  for (const Tensor& x : tensors) type.add_tensor(x.dtype(), x.ndim() == 0);
  return type.get();
}

std::vector<Tensor> map(const std::vector<Tensor>& tensors, Tensor (*f)(const Tensor&)) {
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (const Tensor& x : tensors) out.push_back(f(x));
  return out;
}

void check_any(const char* op, const std::vector<Tensor>& tensors) {
  STRIDED_CHECK(!tensors.empty(), RuntimeError, op, " expects a non-empty TensorList");
}

// A contiguous copy, also of a contiguous tensor.
Tensor fresh(const Tensor& x) { return x.is_contiguous() ? clone(x) : contiguous(x); }

// Contiguous tensors of the result's dtype, joined along a later axis, in one pass over the result. False when they are
// others.
bool join_rows(const Tensor& out, const std::vector<Tensor>& tensors, int axis) {
  int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= out.size(i);
  if (rows < 2 || out.numel() == 0) return false;
  std::vector<JoinPlan::Part> parts;
  parts.reserve(tensors.size());
  for (const Tensor& x : tensors) {
    if (x.dtype() != out.dtype() || !x.is_contiguous()) return false;
    parts.push_back({x.data(), x.numel() / rows});
  }
  JoinPlan plan;
  plan.name = "cat";
  plan.device = out.device().index;
  plan.dtype = out.dtype();
  plan.rows = rows;
  plan.n_parts = static_cast<int64_t>(parts.size());
  plan.parts = parts.data();
  plan.out = out.data();
  backend(out.device()).join(plan);
  return true;
}

// Memory for what is joined: images whose channels are last in memory give one whose channels are, too.
Tensor empty_joined(const Dims& shape, const std::vector<Tensor>& tensors) {
  const DType dtype = common_dtype(tensors);
  const Device device = tensors[0].device();
  if (!std::all_of(tensors.begin(), tensors.end(), has_channels_last)) return empty_result(shape, dtype, device);
  Dims strides = shape;
  strides[1] = 1;
  int64_t step = shape[1];
  for (size_t i = shape.size(); i-- > 2; step *= shape[i]) strides[i] = step;
  strides[0] = step;
  return empty_strided(shape, strides, dtype, device);
}

}  // namespace

// ---------------------------------------------------------------- side by side

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  STRIDED_CHECK(!tensors.empty(), ValueError, "torch.cat(): expected a non-empty list of Tensors");
  // A vector without elements fits anything: so said PyTorch when every empty tensor was one.
  auto skipped = [](const Tensor& x) { return x.ndim() == 1 && x.numel() == 0; };
  const Tensor* lead = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    STRIDED_CHECK(tensors[i].ndim() > 0, RuntimeError, "zero-dimensional tensor (at position ", i,
                  ") cannot be concatenated");
    check_same_device("cat", tensors[0], tensors[i]);
    if (!lead && !skipped(tensors[i])) lead = &tensors[i];
  }
  const int axis = lead ? wrap_axis("cat", dim, lead->ndim()) : 0;
  Dims shape = lead ? lead->shape() : Dims{0};
  int64_t total = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    if (skipped(x)) continue;
    STRIDED_CHECK(x.ndim() == lead->ndim(), RuntimeError, "Tensors must have same number of dimensions: got ",
                  lead->ndim(), " and ", x.ndim());
    for (int k = 0; k < x.ndim(); ++k)
      STRIDED_CHECK(k == axis || x.size(k) == shape[k], RuntimeError,
                    "Sizes of tensors must match except in dimension ", axis, ". Expected size ", shape[k],
                    " but got size ", x.size(k), " for tensor number ", i, " in the list.");
    STRIDED_CHECK(!__builtin_add_overflow(total, x.size(axis), &total), RuntimeError, "cat: the result is too large");
  }
  shape[axis] = total;
  const Tensor out = empty_joined(shape, tensors);
  if (!out.is_contiguous() || !join_rows(out, tensors, axis)) {
    int64_t start = 0;
    for (const Tensor& x : tensors) {
      if (skipped(x)) continue;
      copy_into(make_view(out, narrow(out.layout(), axis, start, x.size(axis))), x);
      start += x.size(axis);
    }
  }
  if (!needs_grad(tensors)) return out;
  Dims lengths;  // -1: skipped
  for (const Tensor& x : tensors) lengths.push_back(skipped(x) ? -1 : x.size(axis));
  auto formula = [lengths](const Tensor& g, int64_t dim) {
    std::vector<Tensor> grads;
    int64_t start = 0;
    for (int64_t n : lengths) {
      grads.push_back(n < 0 ? zeros({0}, g.dtype(), g.device()) : narrow(g, dim, start, n));
      start += std::max<int64_t>(n, 0);
    }
    return grads;
  };
  return record("CatBackward0", out, tensors, NamedFormula{std::tuple{dim}, std::move(formula), "dim"});
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) {
  check_any("stack", tensors);
  const Dims& shape = tensors[0].shape();
  const int axis = wrap_axis("stack", dim, shape.ndim() + 1);
  for (size_t i = 1; i < tensors.size(); ++i) {
    STRIDED_CHECK(tensors[i].shape() == shape, RuntimeError, "stack expects each tensor to be equal size, but got ",
                  shape, " at entry 0 and ", tensors[i].shape(), " at entry ", i);
    check_same_device("stack", tensors[0], tensors[i]);
  }
  Dims sizes = shape;
  sizes.insert(static_cast<size_t>(axis), static_cast<int64_t>(tensors.size()));
  const Tensor out = empty_result(sizes, common_dtype(tensors), tensors[0].device());
  if (!join_rows(out, tensors, axis))
    for (size_t i = 0; i < tensors.size(); ++i)
      copy_into(make_view(out, select(out.layout(), axis, static_cast<int64_t>(i))), tensors[i]);
  if (!needs_grad(tensors)) return out;
  return record("StackBackward0", out, tensors,
                NamedFormula{std::tuple{dim}, [](const Tensor& g, int64_t dim) { return unbind(g, dim); }, "dim"});
}

Tensor hstack(const std::vector<Tensor>& tensors) {
  check_any("hstack", tensors);
  const std::vector<Tensor> all = map(tensors, atleast_1d);
  return cat(all, all[0].ndim() == 1 ? 0 : 1);
}

Tensor vstack(const std::vector<Tensor>& tensors) {
  check_any("vstack", tensors);
  return cat(map(tensors, atleast_2d), 0);
}

Tensor dstack(const std::vector<Tensor>& tensors) {
  check_any("dstack", tensors);
  return cat(map(tensors, atleast_3d), 2);
}

Tensor column_stack(const std::vector<Tensor>& tensors) {
  check_any("column_stack", tensors);
  return hstack(map(tensors, [](const Tensor& x) { return x.ndim() <= 1 ? reshape(x, {x.numel(), 1}) : x; }));
}

Tensor block_diag(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) return empty({1, 0}, default_dtype());
  Dims rows, columns;
  int64_t all_rows = 0, all_columns = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    STRIDED_CHECK(x.ndim() <= 2, RuntimeError,
                  "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ", i, " has ", x.ndim(),
                  " dimensions");
    check_same_device("block_diag", tensors[0], x);
    rows.push_back(x.ndim() == 2 ? x.size(0) : 1);
    columns.push_back(x.ndim() == 0 ? 1 : x.shape().back());
    STRIDED_CHECK(!__builtin_add_overflow(all_rows, rows.back(), &all_rows) &&
                      !__builtin_add_overflow(all_columns, columns.back(), &all_columns),
                  RuntimeError, "block_diag: the result is too large");
  }
  const Tensor out = zeros({all_rows, all_columns}, common_dtype(tensors), tensors[0].device());
  int64_t row = 0, column = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Layout block = narrow(narrow(out.layout(), 0, row, rows[i]), 1, column, columns[i]);
    copy_into(make_view(out, block), tensors[i]);
    row += rows[i];
    column += columns[i];
  }
  if (!needs_grad(tensors)) return out;
  std::vector<Dims> shapes;
  for (const Tensor& x : tensors) shapes.push_back(x.shape());
  return record("BlockDiagBackward0", out, tensors, [shapes, rows, columns](const Tensor& g) {
    std::vector<Tensor> grads;
    int64_t row = 0, column = 0;
    for (size_t i = 0; i < shapes.size(); ++i) {
      grads.push_back(reshape(narrow(narrow(g, 0, row, rows[i]), 1, column, columns[i]), shapes[i]));
      row += rows[i];
      column += columns[i];
    }
    return grads;
  });
}

// ---------------------------------------------------------------- products

std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors, const std::string& indexing) {
  check_any("meshgrid", tensors);
  STRIDED_CHECK(indexing == "ij" || indexing == "xy", RuntimeError,
                "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  STRIDED_CHECK(tensors.size() <= kMaxDims, RuntimeError, "meshgrid: a tensor has at most ", kMaxDims,
                " dimensions, got ", tensors.size(), " tensors");
  // "xy" exchanges the roles of the first two axes.
  const bool swap = indexing == "xy" && tensors.size() >= 2;
  auto axis_of = [&](size_t i) { return swap && i < 2 ? 1 - i : i; };
  Dims shape(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    STRIDED_CHECK(x.ndim() <= 1, RuntimeError,
                  "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got one of size ", x.shape());
    STRIDED_CHECK(x.dtype() == tensors[0].dtype(), RuntimeError, "meshgrid expects all tensors to have the same dtype");
    STRIDED_CHECK(x.device() == tensors[0].device(), RuntimeError,
                  "meshgrid expects all tensors to have the same device");
    shape[axis_of(i)] = x.numel();
  }
  std::vector<Tensor> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Dims sizes(tensors.size(), 1);
    sizes[axis_of(i)] = tensors[i].numel();
    out.push_back(expand(view(tensors[i], sizes), shape));
  }
  return out;
}

Tensor cartesian_prod(const std::vector<Tensor>& tensors) {
  for (const Tensor& x : tensors)
    STRIDED_CHECK(x.ndim() == 1, RuntimeError, "Expect a 1D vector, but got shape ", x.shape());
  if (tensors.size() == 1) return tensors[0];
  return stack(map(meshgrid(tensors, "ij"), ravel), 1);
}

Tensor combinations(const Tensor& x, int64_t r, bool with_replacement) {
  STRIDED_CHECK(x.ndim() == 1, RuntimeError, "Expect a 1D vector, but got shape ", x.shape());
  STRIDED_CHECK(r >= 0, RuntimeError, "Expect a non-negative number, but got ", r);
  STRIDED_CHECK(r < (int64_t(1) << 56), RuntimeError, "combinations: there is no room for rows of ", r, " elements");
  if (r == 0) return empty({0}, x.dtype(), x.device());
  const int64_t n = x.numel(), step = with_replacement ? 0 : 1;
  // (n choose r), or (n + r - 1 choose r) with replacement, by products that stay whole numbers.
  const int64_t from = with_replacement ? n + r - 1 : n;
  __int128 count = n == 0 || from < r ? 0 : 1;
  for (int64_t i = 1; i <= std::min(r, from - r) && count > 0; ++i) {
    count = count * (from - std::min(r, from - r) + i) / i;
    STRIDED_CHECK(count < (int64_t(1) << 56), RuntimeError, "combinations: there are too many of ", r, " out of ", n,
                  " elements");
  }
  const int64_t rows = static_cast<int64_t>(count);
  checked_numel("combinations", {rows, r});
  const Tensor index = empty({rows * r}, DType::Int64);
  int64_t* at = index.data_as<int64_t>();
  // Each row is the one before, counted on: the last place that can still grow does, and those after it follow.
  for (int64_t row = 0; row < rows; ++row, at += r) {
    int64_t grown = r - 1;
    if (row > 0) {
      std::copy(at - r, at, at);
      while (at[grown] == n - 1 - step * (r - 1 - grown)) --grown;
      ++at[grown];
    } else {
      at[grown = 0] = 0;
    }
    for (int64_t k = grown + 1; k < r; ++k) at[k] = at[k - 1] + step;
  }
  return shown_as("StackBackward0", reshape(index_select(x, 0, to_device(index, x.device())), {rows, r}));
}

// ---------------------------------------------------------------- repeated

Tensor repeat(const Tensor& x, const Dims& repeats) {
  STRIDED_CHECK(repeats.ndim() >= x.ndim(), RuntimeError,
                "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  STRIDED_CHECK(repeats.ndim() <= kMaxDims, RuntimeError, "repeat: a tensor has at most ", kMaxDims, " dimensions");
  const int lead = repeats.ndim() - x.ndim();
  // Every repeated axis is one of copies around one of elements: (s) -> (1, s) -> (r, s) -> (r s).
  Dims target, split, ones_for_copies, copies;
  for (int i = 0; i < repeats.ndim(); ++i) {
    const int64_t size = i < lead ? 1 : x.size(i - lead);
    int64_t product;
    STRIDED_CHECK(multiply(size, repeats[i], &product), RuntimeError, "repeat: the result is too large");
    target.push_back(product);
    if (repeats[i] != 1) {
      copies.push_back(split.ndim());
      split.push_back(repeats[i]);
      ones_for_copies.push_back(1);
    }
    split.push_back(size);
    ones_for_copies.push_back(size);
  }
  checked_numel("repeat", target);
  STRIDED_CHECK(split.ndim() <= kMaxDims, RuntimeError, "repeat: too many axes are repeated at once, ", copies.ndim(),
                " of ", repeats.ndim());
  const Tensor out = empty(target, x.dtype(), x.device());
  {
    NoGradGuard no_grad;
    if (out.numel() > 0) copy_into(view(out, split), reshape(x, ones_for_copies));
  }
  auto formula = [split, copies](const Tensor& g, const Dims& /*repeats*/, const Dims& shape) {
    const Tensor parts = reshape(g, split);
    return reshape(copies.empty() ? parts : sum(parts, copies, false, {}), shape);
  };
  return record("RepeatBackward0", out, x,
                NamedFormula{std::tuple{repeats, x.shape()}, std::move(formula), "repeats self_sym_sizes"});
}

Tensor tile(const Tensor& x, const Dims& dims) {
  Dims repeats = dims;
  while (repeats.ndim() < x.ndim()) repeats.insert(0, 1);
  return repeat(x, repeats);
}

Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size) {
  STRIDED_CHECK(repeats >= 0, RuntimeError, "Repeats must be non-negative");
  const Tensor from = dim ? x : flatten(x, 0, -1);
  int axis = wrap_axis("repeat_interleave", dim.value_or(0), from.ndim());
  const Tensor thin = unsqueeze(from, axis + 1);  // raises for a 0-d tensor
  int64_t size;
  STRIDED_CHECK(multiply(from.size(axis), repeats, &size), RuntimeError, "repeat_interleave: the result is too large");
  STRIDED_CHECK(!output_size || *output_size == size, RuntimeError, "repeat_interleave: Invalid output_size, expected ",
                size, " but got ", output_size.value_or(0));
  Dims wide = thin.shape();
  wide[axis + 1] = repeats;
  return flatten(fresh(expand(thin, wide)), axis, axis + 1);
}

Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> output_size) {
  STRIDED_CHECK(repeats.ndim() == 1, RuntimeError, "repeat_interleave only accept 1D vector as repeat");
  STRIDED_CHECK(repeats.dtype() == DType::Int32 || repeats.dtype() == DType::Int64, NotImplementedError,
                "\"repeat_interleave_cpu\" not implemented for '", repeats.dtype(), "'");
  const Tensor counts = contiguous(to_device(to_dtype(repeats, DType::Int64), Device()));
  const int64_t* count = counts.data_as<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    STRIDED_CHECK(count[i] >= 0, RuntimeError, "repeats can not be negative");
    STRIDED_CHECK(!__builtin_add_overflow(total, count[i], &total), RuntimeError,
                  "repeat_interleave: the result is too large");
  }
  STRIDED_CHECK(!output_size || *output_size == total, RuntimeError, "allocated size does not match required size");
  const Tensor out = empty({total}, DType::Int64);
  int64_t* to = out.data_as<int64_t>();
  for (int64_t i = 0; i < counts.numel(); ++i) to = std::fill_n(to, count[i], i);
  return to_device(to_dtype(out, repeats.dtype()), repeats.device());
}

Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size) {
  STRIDED_CHECK(repeats.ndim() <= 1, RuntimeError, "repeats must be 0-dim or 1-dim tensor");
  const Tensor from = dim ? x : flatten(x, 0, -1);
  const int axis = wrap_axis("repeat_interleave", dim.value_or(0), from.ndim());
  STRIDED_CHECK(from.ndim() > 0, IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
  const bool one = repeats.numel() == 1 && from.size(axis) != 1;
  STRIDED_CHECK(one || repeats.numel() == from.size(axis), RuntimeError,
                "repeats must have the same size as input along dim, but got repeats.size(0) = ", repeats.numel(),
                " and input.size(", axis, ") = ", from.size(axis));
  const Tensor each = one ? expand(reshape(repeats, {1}), {from.size(axis)}) : reshape(repeats, {-1});
  return index_select(from, axis, repeat_interleave(each, output_size));
}

}  // namespace strided
