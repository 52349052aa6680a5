// The same elements in other places: rolled, flipped, on or off a diagonal, replaced in part.
#include <algorithm>

#include "backend/backend.h"
#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/record.h"
#include "ops/shape/join.h"
#include "ops/shape/view.h"

namespace strided {

// ---------------------------------------------------------------- rolled and flipped

namespace {

// The axes from `axis` on, rolled: cuts[i] elements of axis i come in at the front.
void copy_rolled(const Tensor& out, const Layout& to, const Tensor& x, const Layout& from, const Dims& cuts, int axis) {
  while (axis < x.ndim() && cuts[axis] == 0) ++axis;
  if (axis == x.ndim()) return copy_into(make_view(out, to), make_view(x, from));
  const int64_t n = x.size(axis), cut = cuts[axis];
  copy_rolled(out, narrow(to, axis, 0, cut), x, narrow(from, axis, n - cut, cut), cuts, axis + 1);
  copy_rolled(out, narrow(to, axis, cut, n - cut), x, narrow(from, axis, 0, n - cut), cuts, axis + 1);
}

// A few axes are taken at once, which copies every element once. Each of them cuts the tensor in two.
constexpr size_t kRolledAtOnce = 3;
Tensor roll_axes(const Tensor& x, const Dims& shifts, const Dims& dims) {
  Dims cuts(x.shape().size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int axis = wrap_axis("roll", dims[i], x.ndim());
    const int64_t n = x.size(axis);
    cuts[axis] = (cuts[axis] + (shifts[i] % n + n) % n) % n;
  }
  const Tensor out = empty(x.shape(), x.dtype(), x.device());
  copy_rolled(out, out.layout(), x, x.layout(), cuts, 0);
  const auto formula = [](const Tensor& g, const Dims& shifts, const Dims& dims) {
    Dims back = shifts;
    for (size_t i = 0; i < dims.size(); ++i) back[i] = -(shifts[i] % g.size(wrap_axis("roll", dims[i], g.ndim())));
    return roll_axes(g, back, dims);
  };
  return record("RollBackward0", out, x, NamedFormula{std::tuple{shifts, dims}, formula, "shifts dims"});
}

// The axes read backwards.
Layout backwards(Layout layout, const Dims& axes) {
  for (int64_t i : axes) {
    if (layout.shape[i] > 0) layout.offset += (layout.shape[i] - 1) * layout.strides[i];
    layout.strides[i] = -layout.strides[i];
  }
  return layout;
}

}  // namespace

Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims) {
  STRIDED_CHECK(!shifts.empty(), RuntimeError, "`shifts` required");
  STRIDED_CHECK(shifts.size() == dims.size() || (dims.empty() && shifts.size() == 1), RuntimeError,
                "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  if (dims.empty())
    return shown_as("RollBackward0",
                    x.ndim() == 0 ? clone(x) : reshape(roll(flatten(x, 0, -1), shifts, {0}), x.shape()));
  for (int64_t dim : dims) {
    STRIDED_CHECK(x.ndim() > 0, IndexError, "Dimension specified as ", dim, " but tensor has no dimensions");
    wrap_axis("roll", dim, x.ndim());
  }
  if (x.numel() == 0) return clone(x);
  Tensor out = x;
  for (size_t first = 0; first < dims.size(); first += kRolledAtOnce) {
    const size_t count = std::min(dims.size() - first, kRolledAtOnce);
    out = roll_axes(out, Dims(shifts.data() + first, count), Dims(dims.data() + first, count));
  }
  return out;
}

Tensor flip(const Tensor& x, const Dims& dims) {
  const Dims axes = wrap_axes("flip", dims, x.ndim(), false);
  const Tensor out = empty_strided(x.shape(), strides_like(x.layout()), x.dtype(), x.device());
  copy_into(out, make_view(x, backwards(x.layout(), axes)));
  return record(
      "FlipBackward0", out, x,
      NamedFormula{std::tuple{dims}, [](const Tensor& g, const Dims& dims) { return flip(g, dims); }, "dims"});
}

Tensor fliplr(const Tensor& x) {
  STRIDED_CHECK(x.ndim() >= 2, RuntimeError, "Input must be >= 2-d.");
  return flip(x, {1});
}

Tensor flipud(const Tensor& x) {
  STRIDED_CHECK(x.ndim() >= 1, RuntimeError, "Input must be >= 1-d.");
  return flip(x, {0});
}

Tensor rot90(const Tensor& x, int64_t k, const Dims& dims) {
  STRIDED_CHECK(dims.size() == 2, RuntimeError, "expected total rotation dims == 2, but got dims = ", dims.size());
  STRIDED_CHECK(x.ndim() >= 2, RuntimeError, "expected total dims >= 2, but got total dims = ", x.ndim());
  const int a = wrap_axis("rot90", dims[0], x.ndim()), b = wrap_axis("rot90", dims[1], x.ndim());
  STRIDED_CHECK(a != b, RuntimeError, "expected rotation dims to be different, but got dim0 = ", dims[0],
                " and dim1 = ", dims[1]);
  const int64_t turns = ((k % 4) + 4) % 4;
  Tensor out;
  {
    NoGradGuard no_grad;
    switch (turns) {
      case 0: out = clone(x); break;
      case 1: out = transpose(flip(x, {b}), a, b); break;
      case 2: out = flip(x, {a, b}); break;
      default: out = transpose(flip(x, {a}), a, b);
    }
  }
  const auto formula = [](const Tensor& g, int64_t k, const Dims& dims) { return rot90(g, -(k % 4), dims); };
  return record("Rot90Backward0", out, x, NamedFormula{std::tuple{k, dims}, formula, "k dims"});
}

// ---------------------------------------------------------------- triangles

namespace {

// Zeroes what lies above the diagonal (below: it is kept) or below it.
void clear_triangle(const char* op, const Tensor& x, int64_t diagonal, bool keep_below) {
  if (x.numel() == 0) return;
  // Columns, rows, then the batch: the axes as they stand, innermost first.
  Dims shape, strides;
  for (int i = x.ndim() - 1; i >= 0; --i) {
    shape.push_back(x.size(i));
    strides.push_back(x.strides()[i] * x.itemsize());
  }
  LoopPlan plan;
  plan.name = op;
  plan.device = x.device().index;
  plan.ndim = x.ndim();
  plan.shape = shape.data();
  plan.n_operands = 1;
  plan.operand[0] = {x.data(), strides.data(), x.dtype(), false};
  backend(x.device()).clear_triangle(plan, diagonal, keep_below);
}

Tensor triangle(const char* op, const char* node, const Tensor& x, int64_t diagonal, bool keep_below);

auto triangle_formula(const char* op, const char* node, int64_t diagonal, bool keep_below) {
  auto formula = [op, node, keep_below](const Tensor& g, int64_t diagonal) {
    return triangle(op, node, g, diagonal, keep_below);
  };
  return NamedFormula{std::tuple{diagonal}, std::move(formula), "diagonal"};
}

Tensor triangle(const char* op, const char* node, const Tensor& x, int64_t diagonal, bool keep_below) {
  STRIDED_CHECK(x.ndim() >= 2, RuntimeError, op, ": input tensor must have at least 2 dimensions");
  const Tensor out = empty(x.shape(), x.dtype(), x.device());
  copy_into(out, x);
  clear_triangle(op, out, diagonal, keep_below);
  return record(node, out, x, triangle_formula(op, node, diagonal, keep_below));
}

Tensor triangle_(const char* op, const char* node, const Tensor& self, int64_t diagonal, bool keep_below) {
  STRIDED_CHECK(self.ndim() >= 2, RuntimeError, op, ": input tensor must have at least 2 dimensions");
  check_inplace(op, self);
  clear_triangle(op, self, diagonal, keep_below);
  bump_version(self, op);
  return record_inplace(node, self, {self}, triangle_formula(op, node, diagonal, keep_below));
}

}  // namespace

Tensor tril(const Tensor& x, int64_t diagonal) { return triangle("tril", "TrilBackward0", x, diagonal, true); }
Tensor triu(const Tensor& x, int64_t diagonal) { return triangle("triu", "TriuBackward0", x, diagonal, false); }
Tensor tril_(const Tensor& self, int64_t diagonal) { return triangle_("tril", "TrilBackward0", self, diagonal, true); }
Tensor triu_(const Tensor& self, int64_t diagonal) { return triangle_("triu", "TriuBackward0", self, diagonal, false); }

// ---------------------------------------------------------------- diagonals

Tensor diag_embed(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const int a = wrap_axis("diag_embed", dim1, x.ndim() + 1), b = wrap_axis("diag_embed", dim2, x.ndim() + 1);
  STRIDED_CHECK(a != b, RuntimeError, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  constexpr int64_t kMost = int64_t(1) << 58;
  STRIDED_CHECK(offset > -kMost && offset < kMost, RuntimeError, "diag_embed: offset ", offset, " is too large");
  Dims shape = x.shape();
  const int64_t n = shape.back() + (offset < 0 ? -offset : offset);
  shape.pop_back();
  shape.insert(static_cast<size_t>(std::min(a, b)), n);
  shape.insert(static_cast<size_t>(std::max(a, b)), n);
  return scatter_to_zeros(
      x, shape, [offset, a, b](const Tensor& z) { return diagonal(z, offset, a, b); }, "DiagEmbedBackward0");
}

Tensor diag(const Tensor& x, int64_t diagonal) {
  STRIDED_CHECK(x.ndim() == 1 || x.ndim() == 2, RuntimeError, "diag(): Supports 1D or 2D tensors. Got ", x.ndim(), "D");
  if (x.ndim() == 1) return diag_embed(x, diagonal, 0, 1);
  const Tensor part = strided::diagonal(x, diagonal, 0, 1);
  const Tensor out = empty(part.shape(), x.dtype(), x.device());
  copy_into(out, part);
  return record("DiagonalBackward0_copy", out, x, [shape = x.shape(), diagonal](const Tensor& g) {
    return scatter_to_zeros(g, shape, [diagonal](const Tensor& z) { return strided::diagonal(z, diagonal, 0, 1); });
  });
}

Tensor diagflat(const Tensor& x, int64_t offset) { return diag_embed(flatten(x, 0, -1), offset, 0, 1); }

// ---------------------------------------------------------------- replaced in part

namespace {

Tensor replaced(const char* node, const Tensor& x, const Tensor& src, const ViewFn& look) {
  const Tensor out = clone(x);
  {
    NoGradGuard no_grad;
    const Tensor part = look(out);
    STRIDED_CHECK(part.shape() == src.shape(), RuntimeError,
                  "expected src to have a size equal to the slice of self. src size = ", src.shape(),
                  ", slice size = ", part.shape());
    copy_into(part, src);
  }
  if (!needs_grad(x, src)) return out;
  autograd_meta(out).grad_fn = nullptr;  // clone's own record
  return record(node, out, std::vector<Tensor>{x, src}, [node, look, shape = src.shape()](const Tensor& g) {
    return std::vector<Tensor>{replaced(node, g, zeros(shape, g.dtype(), g.device()), look), look(g)};
  });
}

}  // namespace

Tensor select_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t index) {
  return replaced("SelectScatterBackward0", x, src, [dim, index](const Tensor& z) { return select(z, dim, index); });
}

Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step) {
  STRIDED_CHECK(step > 0, RuntimeError, "slice step must be positive");
  const int axis = wrap_axis("slice_scatter", dim, x.ndim());
  return replaced("SliceScatterBackward0", x, src, [axis, start, end, step](const Tensor& z) {
    return slice(z, axis, start.value_or(0), end.value_or(INT64_MAX), step);
  });
}

Tensor diagonal_scatter(const Tensor& x, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
  return replaced("DiagonalScatterBackward0", x, src,
                  [offset, dim1, dim2](const Tensor& z) { return diagonal(z, offset, dim1, dim2); });
}

}  // namespace strided
