// Distances between rows of matrices, and slices scaled down to a norm.
//
// Distances in parts.
// The differences of all pairs of rows are as many times more numbers than the distances as there are columns. So they
// are formed for some rows at a time, few enough to stay in the cache, and formed again for the gradient where that is
// to be differentiated again: every step is a recorded op. Else kernels that never form them do both for p = 1 and 2.
#include <algorithm>
#include <cmath>

#include "backend/network_plans.h"
#include "ops/factory.h"
#include "ops/index/index.h"
#include "ops/linalg/matmul.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/statistics.h"
#include "ops/shape/join.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

constexpr int64_t kFewColumns = 128;
constexpr int64_t kManyRows = 25;  // PyTorch's: beyond it the matrix product is the default

// Calls f(start, count) until `total` is done; one of the total costs `each` numbers.
template <class F>
void in_parts(const Tensor& x, int64_t total, int64_t each, F f) {
  const int64_t room = network_functions(x.device()).part;
  const int64_t step = std::clamp<int64_t>(room / std::max<int64_t>(each, 1), 1, std::max<int64_t>(total, 1));
  for (int64_t i = 0; i < total; i += step) f(i, std::min(step, total - i));
}

uint64_t last_axis(const Tensor& x) { return axis_mask("cdist", Dims{-1}, x.ndim()); }

// ---------------------------------------------------------------- cdist

int64_t rows_of(const Tensor& x) { return x.size(x.ndim() - 2); }
int64_t columns_of(const Tensor& x) { return x.size(x.ndim() - 1); }

// (..., count, rows of x2, columns), of the rows of x1 from `start` on
Tensor differences(const Tensor& x1, const Tensor& x2, int64_t start, int64_t count) {
  return unsqueeze(narrow(x1, -2, start, count), -2) - unsqueeze(x2, -3);
}
int64_t cost_of_row(const Tensor& out, const Tensor& x1) {
  return out.numel() / std::max<int64_t>(rows_of(out), 1) * columns_of(x1);
}

// In one pass over the numbers, where the device has it: whether it was done. pairs: those of pdist.
bool in_one_pass(const Tensor& out, const Tensor& x1, const Tensor& x2, double p, bool pairs) {
  const auto operation = network_functions(out.device()).distances;
  if (operation == nullptr || x1.ndim() != 2 || x2.ndim() != 2 || !out.is_contiguous()) return false;
  if (p != 0 && p != 1 && p != 2 && p != HUGE_VAL) return false;
  NoGradGuard guard;
  DistancePlan plan;
  plan.dtype = out.dtype();
  plan.p = p;
  plan.pairs = pairs;
  plan.rows = rows_of(x1), plan.others = rows_of(x2), plan.columns = columns_of(x1);
  const int64_t n = plan.columns * plan.others;
  const Tensor x = contiguous(x1), y = empty(Dims{n + DistancePlan::kMore}, x.dtype(), x.device());
  copy_into(view(narrow(y, 0, 0, n), Dims{plan.columns, plan.others}), transpose(x2, -2, -1));
  plan.x = x.data();
  plan.y = y.data();
  plan.out = out.data();
  operation(plan);
  return true;
}

void by_differences(const Tensor& out, const Tensor& x1, const Tensor& x2, double p) {
  if (in_one_pass(out, x1, x2, p, false)) return;
  // A few columns are summed faster as rows, many pairs side by side.
  const bool turned = columns_of(x1) <= kFewColumns && columns_of(x1) <= rows_of(x2);
  const Tensor t1 = turned ? contiguous(transpose(x1, -2, -1)) : x1,
               t2 = turned ? contiguous(transpose(x2, -2, -1)) : x2;
  in_parts(out, rows_of(x1), cost_of_row(out, x1), [&](int64_t start, int64_t count) {
    const Tensor d =
        turned ? unsqueeze(narrow(t1, -1, start, count), -1) - unsqueeze(t2, -2) : differences(x1, x2, start, count);
    const Dims axis{turned ? -3 : -1};
    Tensor part = vector_norm(d, p, axis);
    if (p == 0) part = part + sum(masked_fill(d, elementwise<Eq>(d, d), Scalar(0)), axis);  // NaN differs by NaN, not 1
    copy_into(narrow(out, -2, start, count), part);
  });
}

// Their gradient by the rows of x1, in one pass as well: undefined where it was not done.
Tensor gradient_in_one_pass(const Tensor& g, const Tensor& x1, const Tensor& x2, const Tensor& out, double p,
                            bool pairs) {
  const auto operation = network_functions(out.device()).distances_gradient;
  const bool fits = x1.ndim() == 2 && x2.ndim() == 2 && (p == 1 || p == 2) && g.shape() == out.shape();
  if (operation == nullptr || grad_enabled() || !fits) return {};
  DistanceGradientPlan plan;
  plan.dtype = out.dtype();
  plan.signs = p == 1;
  plan.pairs = pairs;
  plan.rows = rows_of(x1), plan.others = rows_of(x2);
  const int64_t step = DistanceGradientPlan::kStep, columns = columns_of(x1);
  plan.columns = (columns + step - 1) / step * step;
  const auto padded = [&](const Tensor& x) {
    if (columns == plan.columns) return contiguous(x);
    const Tensor whole = zeros(Dims{rows_of(x), plan.columns}, x.dtype(), x.device());
    copy_into(narrow(whole, 1, 0, columns), x);
    return whole;
  };
  const Tensor first = padded(x1), second = pairs ? first : padded(x2);
  const Tensor weight = contiguous(p == 2 ? quotient(g, out) : g);
  const Tensor to = empty(first.shape(), out.dtype(), out.device());
  plan.x = first.data();
  plan.y = second.data();
  plan.weight = weight.data();
  plan.out = to.data();
  operation(plan);
  return contiguous(narrow(to, 1, 0, columns));
}

std::vector<Tensor> gradients_by_differences(const Tensor& g, const Tensor& x1, const Tensor& x2, const Tensor& out,
                                             double p) {
  if (const Tensor to_x1 = gradient_in_one_pass(g, x1, x2, out, p, false); to_x1.defined())
    return {to_x1, gradient_in_one_pass(transpose(g, 0, 1), x2, x1, transpose(out, 0, 1), p, false)};
  std::vector<Tensor> first;
  Tensor second;
  in_parts(out, rows_of(x1), cost_of_row(out, x1), [&](int64_t start, int64_t count) {
    const Tensor d = differences(x1, x2, start, count);
    Tensor gd = norm_gradient(narrow(g, -2, start, count), d, narrow(out, -2, start, count), p, last_axis(d), false);
    if (p == 1) gd = where(elementwise<Eq>(d, d), gd, d);  // the sign of NaN is NaN here
    first.push_back(sum(gd, Dims{-2}));
    const Tensor part = sum(gd, Dims{-3});
    second = second.defined() ? second + part : part;
  });
  return {cat(first, -2), -second};
}

// |a - b|^2 = |a|^2 - 2 a.b + |b|^2 as one product of rows (a, |a|^2, 1) and (-2 b, 1, |b|^2).
Tensor by_product_of(const Tensor& x1, const Tensor& x2) {
  auto squares = [](const Tensor& x) { return sum(x * x, Dims{-1}, true); };
  const Tensor s1 = squares(x1), s2 = squares(x2);
  const Tensor square =
      matmul(cat({x1, s1, ones_like(s1)}, -1), transpose(cat({x2 * -2.0, ones_like(s2), s2}, -1), -2, -1));
  return elementwise<Sqrt>(elementwise<ClampMin>(square, Scalar(0)));
}

std::vector<Tensor> gradients_by_product(const Tensor& g, const Tensor& x1, const Tensor& x2, const Tensor& out) {
  const Tensor zero = elementwise<Eq>(out, Scalar(0));
  const Tensor ratio = masked_fill(g / masked_fill(out, zero, Scalar(1)), zero, Scalar(0)),
               turned = transpose(ratio, -2, -1);
  return {x1 * sum(ratio, Dims{-1}, true) - matmul(ratio, x2), x2 * sum(turned, Dims{-1}, true) - matmul(turned, x1)};
}

}  // namespace

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<bool> by_product) {
  int number = 0;
  for (const Tensor* x : {&x1, &x2}) {
    ++number;
    STRIDED_CHECK(x->ndim() >= 2, RuntimeError, "cdist only supports at least 2D tensors, X", number,
                  " got: ", x->ndim(), "D");
  }
  STRIDED_CHECK(columns_of(x1) == columns_of(x2), RuntimeError,
                "X1 and X2 must have the same number of columns. X1: ", columns_of(x1), " X2: ", columns_of(x2));
  number = 0;
  for (const Tensor* x : {&x1, &x2}) {
    ++number;
    STRIDED_CHECK(is_floating(x->dtype()), RuntimeError, "cdist only supports floating-point dtypes, X", number,
                  " got: ", cpp_name_of(x->dtype()));
  }
  STRIDED_CHECK(p >= 0, RuntimeError, "cdist only supports non-negative p values");
  check_same_device("cdist", x1, x2);
  STRIDED_CHECK(x1.dtype() == x2.dtype(), RuntimeError, "expected scalar type ", cpp_name_of(x1.dtype()), " but found ",
                cpp_name_of(x2.dtype()));
  if (x1.dtype() != compute_dtype_of(x1.dtype()))
    return to_dtype(cdist(to_compute_dtype(x1), to_compute_dtype(x2), p, by_product), x1.dtype());

  Dims shape =
      broadcast_shapes(Dims(x1.shape().data(), x1.shape().size() - 2), Dims(x2.shape().data(), x2.shape().size() - 2));
  shape.push_back(rows_of(x1));
  shape.push_back(rows_of(x2));
  const bool product = p == 2 && by_product.value_or(rows_of(x1) > kManyRows || rows_of(x2) > kManyRows);
  Tensor out;
  {
    NoGradGuard guard;
    if (x1.numel() == 0 || x2.numel() == 0) {
      out = zeros(shape, x1.dtype(), x1.device());
    } else if (product) {
      out = by_product_of(x1, x2);
    } else {
      out = empty(shape, x1.dtype(), x1.device());
      by_differences(out, x1, x2, p);
    }
  }
  if (!needs_grad(x1, x2)) return out;
  auto formula = [product](const Tensor& g, double p, const SavedTensor& s1, const SavedTensor& s2,
                           const SavedTensor& saved) {
    const Tensor x1 = s1.get(), x2 = s2.get(), out = saved.get();
    if (p == 0 || x1.numel() == 0 || x2.numel() == 0) return std::vector<Tensor>{zeros_like(x1), zeros_like(x2)};
    return product ? gradients_by_product(g, x1, x2, out) : gradients_by_differences(g, x1, x2, out, p);
  };
  return record("CdistBackward0", out, {x1, x2},
                NamedFormula{std::tuple{p, SavedTensor(x1), SavedTensor(x2), SavedTensor::output(out)},
                             std::move(formula), "p x1 x2 result"});
}

// ---------------------------------------------------------------- pdist

namespace {

// Calls f(i, j, start): the indices of some of the pairs i < j, and the place of the first of them among all.
template <class F>
void for_pairs(const Tensor& x, F f) {
  const int64_t n = x.size(0);
  const Tensor pairs = triu_indices(n, n, 1, DType::Int64, x.device());
  in_parts(x, pairs.size(1), x.size(1), [&](int64_t start, int64_t count) {
    const Tensor part = narrow(pairs, 1, start, count);
    f(select(part, 0, 0), select(part, 0, 1), start);
  });
}
Tensor differences_of(const Tensor& x, const Tensor& i, const Tensor& j) {
  return index_select(x, 0, i) - index_select(x, 0, j);
}

}  // namespace

Tensor pdist(const Tensor& x, double p) {
  STRIDED_CHECK(x.ndim() == 2, RuntimeError, "pdist only supports 2D tensors, got: ", x.ndim(), "D");
  STRIDED_CHECK(is_floating(x.dtype()), RuntimeError, "pdist only supports floating-point dtypes");
  STRIDED_CHECK(p >= 0, RuntimeError, "pdist only supports non-negative p values");
  if (x.dtype() != compute_dtype_of(x.dtype())) return to_dtype(pdist(to_compute_dtype(x), p), x.dtype());
  const int64_t n = x.size(0);
  const Tensor out = zeros(Dims{n > 0 ? n * (n - 1) / 2 : 0}, x.dtype(), x.device());
  if (x.numel() > 0 && !in_one_pass(out, x, x, p, true)) {
    NoGradGuard guard;
    int64_t done = 0;
    in_parts(x, n - 1, n * x.size(1) / 16,
             [&](int64_t start, int64_t count) {  // some rows, and all from the first of them on
               const Tensor rest = narrow(x, 0, start, n - start),
                            square = empty(Dims{count, n - start}, x.dtype(), x.device());
               by_differences(square, narrow(x, 0, start, count), rest, p);
               const Tensor part = masked_select(square, triu(ones(square.shape(), DType::Bool, x.device()), 1));
               copy_into(narrow(out, 0, done, part.numel()), part);
               done += part.numel();
             });
  }
  if (!needs_grad(x)) return out;
  auto formula = [](const Tensor& g, double p, const SavedTensor& s, const SavedTensor& saved) {
    const Tensor x = s.get(), out = saved.get();
    Tensor total = zeros_like(x);
    if (p == 0 || x.numel() == 0) return total;
    if (const Tensor made = gradient_in_one_pass(g, x, x, out, p, true); made.defined()) return made;
    for_pairs(x, [&](const Tensor& i, const Tensor& j, int64_t start) {
      const Tensor d = differences_of(x, i, j);
      const Tensor gd =
          norm_gradient(narrow(g, 0, start, i.numel()), d, narrow(out, 0, start, i.numel()), p, last_axis(d), false);
      total = index_add(index_add(total, 0, i, gd, 1), 0, j, gd, -1);
    });
    return total;
  };
  return record(
      "PdistBackward0", out, x,
      NamedFormula{std::tuple{p, SavedTensor(x), SavedTensor::output(out)}, std::move(formula), "p self result"});
}

// ---------------------------------------------------------------- renorm

namespace {

struct Renorm {
  double p, maxnorm;
  int axis;

  static double real(const char* name, const Scalar& value) {
    STRIDED_CHECK(!value.is_complex(), RuntimeError, "renorm: ", name, " must be real-valued");
    return value.real();
  }
  Renorm(const Tensor& x, const Scalar& order, int64_t dim, const Scalar& limit)
      : p(real("p", order)), maxnorm(real("maxnorm", limit)) {
    STRIDED_CHECK(p > 0, RuntimeError, "renorm: non-positive-norm not supported");
    STRIDED_CHECK(maxnorm >= 0, RuntimeError, "renorm: expected maxnorm to be >= 0 but got ", maxnorm);
    STRIDED_CHECK(x.ndim() > 1, RuntimeError, "renorm: input needs at least 2 dimensions, got ", x.ndim(),
                  " dimensions");
    axis = wrap_axis("renorm", dim, x.ndim());
  }
  auto formula(const SavedTensor& x, const Scalar& p, int64_t dim, const Scalar& maxnorm) const {
    return NamedFormula{
        std::tuple{x, p, dim, maxnorm},
        [r = *this](const Tensor& g, const SavedTensor& x, const auto&...) { return r.gradient(g, x.get()); },
        "self p dim maxnorm"};
  }
  Dims others(const Tensor& x) const {
    Dims axes;
    for (int i = 0; i < x.ndim(); ++i)
      if (i != axis) axes.push_back(i);
    return axes;
  }
  // What a slice of this norm is scaled by, where it is too long; 1e-7 as in PyTorch.
  Tensor scale(const Tensor& norm) const { return maxnorm / (norm + 1e-7); }

  Tensor forward(const Tensor& x) const {
    NoGradGuard guard;
    const Tensor in = to_compute_dtype(x), norm = vector_norm(in, p, others(x), true);
    return to_dtype(in * where(elementwise<Gt>(norm, Scalar(maxnorm)), scale(norm), Scalar(1.0)), x.dtype());
  }
  Tensor gradient(const Tensor& g, const Tensor& x) const {
    const Tensor in = to_compute_dtype(x), norm = vector_norm(in, p, others(x), true), s = scale(norm),
                 wide = to_compute_dtype(g);
    const Tensor of_norm = sum(strided::real(conj(in) * wide), others(x), true) * (-s / (norm + 1e-7));
    return where(elementwise<Gt>(norm, Scalar(maxnorm)),
                 wide * s + norm_gradient(of_norm, in, norm, p, axis_mask("renorm", others(x), x.ndim()), true), wide);
  }
};

}  // namespace

Tensor renorm(const Tensor& x, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  const Renorm r(x, p, dim, maxnorm);
  const Tensor out = r.forward(x);
  if (!needs_grad(x)) return out;
  return record("RenormBackward0", out, x, r.formula(SavedTensor(x), p, dim, maxnorm));
}

Tensor renorm_(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  const Renorm r(self, p, dim, maxnorm);
  check_inplace("renorm_", self);
  const SavedTensor old(needs_grad(self) ? clone(self) : Tensor());
  copy_into(self, r.forward(self));
  bump_version(self, "renorm_");
  return record_inplace("RenormBackward0", self, {self}, r.formula(old, p, dim, maxnorm));
}

}  // namespace strided
