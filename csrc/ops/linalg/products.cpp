// Products that are made of others: over chosen axes, of chains, of vectors.
#include <algorithm>
#include <array>

#include "core/promotion.h"
#include "ops/copy.h"
#include "ops/linalg/matmul.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/scan.h"
#include "ops/shape/join.h"
#include "ops/shape/view.h"

namespace strided {

Tensor inner(const Tensor& a, const Tensor& b) {
  if (a.ndim() == 0 || b.ndim() == 0) return a * b;
  const int64_t na = a.shape().back(), nb = b.shape().back();
  STRIDED_CHECK(na == nb, RuntimeError, "inner() the last dimension must match on both input tensors but got shapes ",
                a.shape(), " and ", b.shape());
  return tensordot(a, b, Dims{-1}, Dims{-1});
}

Tensor outer(const Tensor& a, const Tensor& b) {
  STRIDED_CHECK(a.ndim() == 1, RuntimeError, "outer: Expected 1-D argument self, but got ", a.ndim(), "-D");
  STRIDED_CHECK(b.ndim() == 1, RuntimeError, "outer: Expected 1-D argument vec2, but got ", b.ndim(), "-D");
  return unsqueeze(a, 1) * b;
}

Tensor vecdot(const Tensor& a, const Tensor& b, int64_t dim) {
  STRIDED_CHECK(a.dtype() == b.dtype(), RuntimeError,
                "linalg.vecdot: Expected x and y to have the same dtype, but found x of type ", a.dtype(),
                " and y of type ", b.dtype(), " instead");
  wrap_axis("linalg.vecdot", dim, std::max(a.ndim(), b.ndim()));
  if (a.ndim() == 1 && b.ndim() == 1 && a.numel() == b.numel()) return vdot(a, b);
  Tensor out;
  {
    NoGradGuard guard;
    out = sum(conj(a) * b, Dims{dim}, false, a.dtype());
  }
  if (!needs_grad(a, b)) return out;
  return record("SumBackward1", out, {a, b},
                [a = saved_if(b.requires_grad(), a), b = saved_if(a.requires_grad(), b), dim](const Tensor& g) {
                  const Tensor wide = g.ndim() == 0 ? g : unsqueeze(g, dim);
                  return std::vector<Tensor>{b.was_saved() ? conj(wide) * b.get() : Tensor(),
                                             a.was_saved() ? wide * a.get() : Tensor()};
                });
}

Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b) {
  STRIDED_CHECK(dims_a.size() == dims_b.size(), RuntimeError, "both dimension lists should have same length");
  for (size_t i = 0; i < dims_a.size(); ++i)
    STRIDED_CHECK(a.ndim() > 0 && b.ndim() > 0, IndexError, "Dimension specified as ",
                  (a.ndim() == 0 ? dims_a : dims_b)[i], " but tensor has no dimensions");
  const Dims ca = wrap_axes("tensordot", dims_a, a.ndim(), false), cb = wrap_axes("tensordot", dims_b, b.ndim(), false);
  check_same_device("tensordot", a, b);
  STRIDED_CHECK(a.dtype() == b.dtype(), RuntimeError, "both inputs should have same dtype");
  auto contains = [](const Dims& list, int64_t v) { return std::find(list.begin(), list.end(), v) != list.end(); };
  Dims shape, order_a, order_b;
  int64_t rows = 1, columns = 1, contracted = 1;
  Tensor x = a, y = b;
  for (size_t i = 0; i < ca.size(); ++i) {
    const int64_t sa = a.size(static_cast<int>(ca[i])), sb = b.size(static_cast<int>(cb[i]));
    STRIDED_CHECK(sa == sb || sa == 1 || sb == 1, RuntimeError,
                  "contracted dimensions need to match, but first has size ", sa, " in dim ", dims_a[i],
                  " and second has size ", sb, " in dim ", dims_b[i]);
    // A contracted axis of size 1 broadcasts: the other operand may be summed first.
    if (sa != sb && sa == 1) y = sum(y, Dims{cb[i]}, true, y.dtype());
    if (sa != sb && sb == 1) x = sum(x, Dims{ca[i]}, true, x.dtype());
    contracted *= std::min(sa, sb);
  }
  for (int i = 0; i < a.ndim(); ++i)
    if (!contains(ca, i)) {
      order_a.push_back(i);
      shape.push_back(a.size(i));
      rows *= a.size(i);
    }
  for (int64_t i : ca) order_a.push_back(i);
  for (int64_t i : cb) order_b.push_back(i);
  for (int i = 0; i < b.ndim(); ++i)
    if (!contains(cb, i)) {
      order_b.push_back(i);
      shape.push_back(b.size(i));
      columns *= b.size(i);
    }
  return reshape(
      mm(reshape(permute(x, order_a), Dims{rows, contracted}), reshape(permute(y, order_b), Dims{contracted, columns})),
      shape);
}

Tensor kron(const Tensor& a, const Tensor& b) {
  constexpr int64_t kShortRow = 64, kManyRows = 4;
  const int n = std::max(a.ndim(), b.ndim());
  Dims shape_a, shape_b, shape;
  for (int i = 0; i < n; ++i) {
    const int64_t sa = i - (n - a.ndim()) >= 0 ? a.size(i - (n - a.ndim())) : 1,
                  sb = i - (n - b.ndim()) >= 0 ? b.size(i - (n - b.ndim())) : 1;
    shape_a.push_back(sa);
    shape_a.push_back(1);
    shape_b.push_back(1);
    shape_b.push_back(sb);
    int64_t size = 0;
    STRIDED_CHECK(!__builtin_mul_overflow(sa, sb, &size), RuntimeError, "kron: sizes ", sa, " and ", sb,
                  " give a dimension that does not fit 64 bits");
    shape.push_back(size);
  }
  Tensor x = reshape(a, shape_a), y = reshape(b, shape_b);
  // Short rows of b are short loops. So rows of the result are made of each factor first, where they are few beside it.
  if (const int64_t wide = n > 0 ? shape_a[static_cast<size_t>(2 * n - 2)] : 1, row = n > 0 ? shape_b.back() : 1;
      wide > 1 && row > 1 && row < kShortRow && x.numel() >= kManyRows * wide && y.numel() >= kManyRows * row) {
    for (Tensor* t : {&x, &y}) {
      Dims sizes = t->shape();
      sizes[static_cast<size_t>(2 * n - 2)] = wide, sizes.back() = row;
      Dims flat(sizes.data(), sizes.size() - 1);
      flat.back() = wide * row;
      *t = reshape(expand(*t, sizes), flat);
    }
  }
  return reshape(x * y, shape);
}

Tensor trace(const Tensor& x) {
  STRIDED_CHECK(x.ndim() == 2, RuntimeError, "trace: expected a matrix, but got tensor with dim ", x.ndim());
  return shown_as("TraceBackward0", sum(diagonal(x, 0, 0, 1), Dims{}, false, {}));
}

Tensor vandermonde(const Tensor& input, std::optional<int64_t> n) {
  const Tensor x = input.ndim() == 0 ? reshape(input, Dims{1}) : input;
  STRIDED_CHECK(!is_bool(x.dtype()), RuntimeError,
                "linalg.vander supports floating point, complex, and integer tensors, but got ", x.dtype());
  const int64_t terms = n ? *n : x.shape().back();
  STRIDED_CHECK(terms > 1, RuntimeError, "N must be greater than 1.");
  Dims shape = x.shape();
  shape.push_back(terms - 1);
  const Tensor powers = cumprod(expand(unsqueeze(x, -1), shape), -1, {});
  shape.back() = 1;
  return cat({ones(shape, powers.dtype(), x.device()), powers}, -1);
}

Tensor vander(const Tensor& x, std::optional<int64_t> n, bool increasing) {
  STRIDED_CHECK(x.ndim() == 1, RuntimeError, "x must be a one-dimensional tensor.");
  const int64_t terms = n.value_or(x.size(0));
  STRIDED_CHECK(terms >= 0, RuntimeError, "N must be non-negative.");
  const Tensor base = is_bool(x.dtype()) ? to_dtype(x, DType::Int64) : x;
  const Tensor out = narrow(vandermonde(base, std::max<int64_t>(terms, 2)), 1, 0, terms);
  return increasing ? out : flip(out, Dims{1});
}

Tensor cross(const Tensor& a, const Tensor& b, std::optional<int64_t> dim) {
  const std::vector<Tensor> both = broadcast_tensors({a, b});
  const Tensor &x = both[0], &y = both[1];
  int64_t axis = -1;
  if (dim) {
    axis = wrap_axis("cross", *dim, x.ndim());
    STRIDED_CHECK(x.ndim() > 0 && x.size(static_cast<int>(axis)) == 3, RuntimeError, "linalg.cross: inputs dimension ",
                  *dim, " must have length 3. Got ", x.ndim() ? x.size(static_cast<int>(axis)) : 1, " and ",
                  y.ndim() ? y.size(static_cast<int>(axis)) : 1);
  } else {
    for (int i = 0; i < x.ndim() && axis < 0; ++i)
      if (x.size(i) == 3) axis = i;
    STRIDED_CHECK(axis >= 0, RuntimeError, "no dimension of size 3 in input");
  }
  const DType t = promote_types(x.dtype(), y.dtype());
  Tensor out = empty(x.shape(), t, x.device());
  {
    NoGradGuard guard;
    const auto parts = [axis](const Tensor& t) {
      const auto part = [&](int i) { return make_view(t, select(t.layout(), axis, i)); };
      return std::array<Tensor, 3>{part(0), part(1), part(2)};
    };
    const auto u = parts(x), v = parts(y), to = parts(out);
    for (size_t i = 0; i < 3; ++i) {
      const size_t j = (i + 1) % 3, k = (i + 2) % 3;
      copy_into(to[i], u[j] * v[k] - u[k] * v[j]);
    }
  }
  if (!needs_grad(a, b)) return out;
  auto formula = [axis = axis - x.ndim()](const Tensor& g, const SavedTensor& b, const SavedTensor& a,
                                          const std::optional<int64_t>&) {
    // The gradient of a x b is b x g for a, and g x a for b (conjugated).
    return std::vector<Tensor>{b.was_saved() ? cross(conj(b.get()), g, axis) : Tensor(),
                               a.was_saved() ? cross(g, conj(a.get()), axis) : Tensor()};
  };
  return record("LinalgCrossBackward0", out, {a, b},
                NamedFormula{std::tuple{saved_if(a.requires_grad(), b), saved_if(b.requires_grad(), a), dim},
                             std::move(formula), "other self dim"});
}

// Dynamic programming over the splits (Cormen, Leiserson, Rivest, Stein, "Introduction to Algorithms", 15.2).
Tensor multi_dot(const std::vector<Tensor>& matrices) {
  STRIDED_CHECK(matrices.size() < 4096, RuntimeError, "multi_dot(): at most 4095 tensors, got ", matrices.size());
  const int n = static_cast<int>(matrices.size());
  STRIDED_CHECK(n >= 2, RuntimeError, "multi_dot(): expected at least 2 tensors but got ", n);
  std::vector<Tensor> m = matrices;
  const bool row = m.front().ndim() == 1, column = m.back().ndim() == 1;
  STRIDED_CHECK(row || m.front().ndim() == 2, RuntimeError, "multi_dot(): the first tensor must be 1D or 2D but got ",
                m.front().ndim(), "D");
  STRIDED_CHECK(column || m.back().ndim() == 2, RuntimeError, "multi_dot(): the last tensor must be 1D or 2D but got ",
                m.back().ndim(), "D");
  if (row) m.front() = unsqueeze(m.front(), 0);
  if (column) m.back() = unsqueeze(m.back(), 1);
  for (int i = 0; i < n; ++i) {
    STRIDED_CHECK(m[i].dtype() == m[0].dtype(), RuntimeError,
                  "multi_dot(): all tensors must have be the same dtype but tensor 0 is ",
                  info_of(m[0].dtype()).written, " and tensor ", i, " ", info_of(m[i].dtype()).written);
    STRIDED_CHECK(m[i].ndim() == 2, RuntimeError, "multi_dot(): tensor ", i, " must be 2D but got ", m[i].ndim(), "D");
    STRIDED_CHECK(i == 0 || m[i - 1].size(1) == m[i].size(0), RuntimeError, "multi_dot(): tensors ", i - 1, " and ", i,
                  " with shapes ", m[i - 1].shape(), " and ", m[i].shape(), " cannot be multiplied");
  }
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<int>> cut(n, std::vector<int>(n, 0));
  for (int length = 2; length <= n; ++length)
    for (int i = 0; i + length <= n; ++i) {
      const int j = i + length - 1;
      cost[i][j] = 1e300;
      for (int k = i; k < j; ++k) {
        const double c =
            cost[i][k] + cost[k + 1][j] +
            static_cast<double>(m[i].size(0)) * static_cast<double>(m[k].size(1)) * static_cast<double>(m[j].size(1));
        if (c < cost[i][j]) {
          cost[i][j] = c;
          cut[i][j] = k;
        }
      }
    }
  struct Multiply {
    const std::vector<Tensor>& m;
    const std::vector<std::vector<int>>& cut;
    Tensor operator()(int i, int j) const {
      return i == j ? m[i] : mm((*this)(i, cut[i][j]), (*this)(cut[i][j] + 1, j));
    }
  };
  Tensor out = Multiply{m, cut}(0, n - 1);
  if (row) out = squeeze(out, Dims{0});
  if (column) out = squeeze(out, Dims{-1});
  return out;
}

}  // namespace strided
