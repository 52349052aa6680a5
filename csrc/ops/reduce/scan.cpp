#include "ops/reduce/scan.h"

#include <algorithm>

#include "backend/backend.h"
#include "backend/network_plans.h"
#include "core/promotion.h"
#include "ops/factory.h"
#include "ops/index/index.h"
#include "ops/operators.h"
#include "ops/out.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/join.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

// Runs the scan along an axis of x; `index`, when not null, becomes the second output. Unrecorded.
Tensor run_scan(ScanOp op, const char* name, const Tensor& x, int axis, Tensor* index = nullptr) {
  check_has_loops(name, x.dtype());
  NoGradGuard guard;
  const Tensor in = contiguous(x);
  Tensor out = empty_result(x.shape(), x.dtype(), x.device());
  if (index) *index = empty(x.shape(), DType::Int64, x.device());
  ScanPlan plan;
  plan.name = name;
  plan.device = x.device().index;
  plan.dtype = x.dtype();
  for (int i = 0; i < x.ndim(); ++i) (i < axis ? plan.outer : i == axis ? plan.n : plan.inner) *= x.size(i);
  plan.in = in.data();
  plan.out = out.data();
  plan.index = index ? index->data_as<int64_t>() : nullptr;
  backend(x.device()).scan(plan, op);
  return out;
}

Tensor reversed(const Tensor& x, int axis) {
  return x.ndim() == 0 ? x : slice(x, axis, x.size(axis) - 1, -x.size(axis) - 1, -1);
}

// The dtype running sums and products are computed in, and the one they are given in.
DType result_dtype(const Tensor& x, std::optional<DType> dtype) {
  return dtype ? *dtype : is_integral(x.dtype()) && x.dtype() != DType::UInt64 ? DType::Int64 : x.dtype();
}
Tensor accumulate(ScanOp op, const char* name, const Tensor& x, int axis, DType result) {
  const DType compute = is_integral(result) && result != DType::UInt64 ? DType::Int64 : result;
  Tensor out;
  {
    NoGradGuard guard;
    // The input passes through the result's dtype first, as in PyTorch.
    out = run_scan(op, name, to_dtype(to_dtype(x, result), compute), axis);
    if (out.dtype() != result) out = to_dtype(out, result);
  }
  return out;
}

// Element k of an axis becomes element k + by; zeros come after the last one.
Tensor moved_up(const Tensor& x, int axis, int64_t by) {
  const int64_t n = x.size(axis);
  const Tensor rest = narrow(x, axis, by, n - by);
  Dims shape = x.shape();
  shape[axis] = by;
  return cat({rest, zeros(shape, x.dtype(), x.device())}, axis);
}

Tensor cumsum_gradient(const Tensor& g, int axis) {
  return contiguous(reversed(cumsum(reversed(g, axis), axis), axis));
}

auto cumsum_formula(int64_t dim, int axis) {
  return NamedFormula{std::tuple{dim}, [axis](const Tensor& g, int64_t) { return cumsum_gradient(g, axis); }, "dim"};
}

// With x and out conjugated.
Tensor cumprod_gradient(const Tensor& g, const Tensor& x, const Tensor& out, int axis) {
  if (x.ndim() == 0) return g;
  if (x.numel() == 0) return g * x;  // recorded as others are
  bool has_zero;
  {
    NoGradGuard guard;
    has_zero = !truth(strided::all(x), true);
  }
  if (!has_zero) return cumsum_gradient(g * out, axis) / x;
  // d out[i] / d x[k] for i >= k is the product of x[0 .. i] without x[k]: what stands before k, times
  // s[k] = g[k] + x[k + 1] (g[k + 1] + x[k + 2] (...)). Twice as many terms of all s[k] are known after each step:
  // s[k] = sum[k] + factor[k] s[k + known].
  const int64_t n = x.size(axis);
  Tensor total = g, factor = moved_up(x, axis, 1);
  for (int64_t known = 1; known < n; known *= 2) {
    total = total + factor * moved_up(total, axis, known);
    if (2 * known < n) factor = factor * moved_up(factor, axis, known);
  }
  const Tensor first = ones(slice(x.layout(), axis, 0, 1, 1).shape, x.dtype(), x.device());
  return total * cumprod(cat({first, narrow(x, axis, 0, n - 1)}, axis), axis);
}
auto cumprod_formula(int64_t dim, int axis, const SavedTensor& x, const Tensor& out) {
  auto formula = [axis](const Tensor& g, int64_t, const SavedTensor& x, const SavedTensor& out) {
    return cumprod_gradient(g, conj(x.get()), conj(out.get()), axis);
  };
  return NamedFormula{std::tuple{dim, x, SavedTensor::output(out)}, std::move(formula), "dim self result"};
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  const int axis = wrap_axis("cumsum", dim, x.ndim());
  return record("CumsumBackward0", accumulate(ScanOp::Sum, "cumsum", x, axis, result_dtype(x, dtype)), x,
                cumsum_formula(dim, axis));
}

Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  const int axis = wrap_axis("cumprod", dim, x.ndim());
  Tensor out = accumulate(ScanOp::Product, "cumprod", x, axis, result_dtype(x, dtype));
  if (!needs_grad(x)) return out;
  return record("CumprodBackward0", out, x, cumprod_formula(dim, axis, SavedTensor(x), out));
}

namespace {

void check_same_dtype(const Tensor& self, std::optional<DType> dtype) {
  STRIDED_CHECK(!dtype || *dtype == self.dtype(), RuntimeError, "Bad in-place call: input tensor dtype ", self.dtype(),
                " and output tensor dtype ", *dtype, " should match");
}

}  // namespace

Tensor cumsum_(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  const int axis = wrap_axis("cumsum_", dim, self.ndim());
  check_same_dtype(self, dtype);
  check_inplace("cumsum_", self);
  copy_into(self, accumulate(ScanOp::Sum, "cumsum", self, axis, result_dtype(self, {})));
  bump_version(self, "cumsum_");
  return record_inplace("CumsumBackward0", self, {self}, cumsum_formula(dim, axis));
}

Tensor cumprod_(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  const int axis = wrap_axis("cumprod_", dim, self.ndim());
  check_same_dtype(self, dtype);
  check_inplace("cumprod_", self);
  const bool recorded = needs_grad(self);
  const SavedTensor old(recorded ? clone(self) : Tensor());
  copy_into(self, accumulate(ScanOp::Product, "cumprod", self, axis, result_dtype(self, {})));
  bump_version(self, "cumprod_");
  if (!recorded) return self;
  return record_inplace("CumprodBackward0", self, {self}, cumprod_formula(dim, axis, old, self));
}

namespace {

// One step after the other, as PyTorch adds: the imaginary part counts turns, which depend on the order.
Tensor complex_logcumsumexp(const Tensor& x, int axis) {
  if (x.ndim() == 0 || x.numel() == 0) return clone(x);
  // A NaN in one part makes both NaN, in the first sum as in later ones.
  const Tensor first = select(x, axis, 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Tensor> sums{masked_fill(first, elementwise<Ne>(first, first), Scalar(nan, nan))};
  for (int64_t i = 1; i < x.size(axis); ++i) sums.push_back(elementwise<Logaddexp>(sums.back(), select(x, axis, i)));
  return stack(sums, axis);
}

// With the weights w(i, k) = exp(x[k] - out[i]) of k <= i: the sums over i >= k of w(i, k) v[i] (`over_later`, the
// gradient of logcumsumexp), or over k <= i of w(i, k) v[k] (its derivative in the direction v). They are computed in
// logarithms so that nothing overflows, positive and negative v apart. Both are linear in v, which logarithms are not
// at 0, so the derivative is not that of the steps: each of the two is the gradient of the other.
Tensor weighted_sums(const Tensor& v, const Tensor& x, const Tensor& out, int axis, bool over_later) {
  Tensor sums;
  {
    NoGradGuard guard;
    const Scalar minus_infinity(-std::numeric_limits<double>::infinity());
    const Tensor dead = elementwise<Eq>(out, minus_infinity), scale = masked_fill(out, dead, Scalar(0));
    const Tensor size = elementwise<Log>(elementwise<Abs>(v));
    const Tensor terms = over_later ? masked_fill(size - scale, dead, minus_infinity) : size + x;
    auto part = [&](const Tensor& left_out) {
      const Tensor one_sign = masked_fill(terms, left_out, minus_infinity);
      if (!over_later) return elementwise<Exp>(logcumsumexp(one_sign, axis) - scale);
      return elementwise<Exp>(reversed(logcumsumexp(reversed(one_sign, axis), axis), axis) + x);
    };
    sums = part(elementwise<Le>(v, Scalar(0))) - part(elementwise<Ge>(v, Scalar(0)));
  }
  if (!needs_grad(v, x, out)) return sums;
  return record("LogcumsumexpBackward0", sums, {v, x, out},
                [axis, over_later, v = SavedTensor(v), x = SavedTensor(x), out = SavedTensor(out),
                 sums = SavedTensor::output(sums)](const Tensor& g) {
                  const Tensor back = weighted_sums(g, x.get(), out.get(), axis, !over_later);
                  return over_later ? std::vector<Tensor>{back, g * sums.get(), -(v.get() * back)}
                                    : std::vector<Tensor>{back, v.get() * back, -(g * sums.get())};
                });
}

}  // namespace

Tensor logcumsumexp(const Tensor& x, int64_t dim) {
  const int axis = wrap_axis("logcumsumexp", dim, x.ndim());
  if (is_complex(x.dtype())) return complex_logcumsumexp(x, axis);
  Tensor out = run_scan(ScanOp::LogSumExp, "logcumsumexp_out_cpu", x, axis);
  if (!needs_grad(x)) return out;
  auto formula = [axis](const Tensor& g, int64_t, const SavedTensor& x, const SavedTensor& out) {
    return weighted_sums(g, x.get(), out.get(), axis, true);
  };
  return record(
      "LogcumsumexpBackward0", out, x,
      NamedFormula{std::tuple{dim, SavedTensor(x), SavedTensor::output(out)}, std::move(formula), "dim self result"});
}

namespace {

std::tuple<Tensor, Tensor> running_extreme(ScanOp op, const char* name, const char* node, const Tensor& x,
                                           int64_t dim) {
  const int axis = wrap_axis(name, dim, x.ndim());
  Tensor index, values = run_scan(op, name, x, axis, &index);
  if (!needs_grad(x)) return {values, index};
  record_all(node, {values}, {x}, gradient_of_taken(x, dim, axis, true, index, "dim - indices -"));
  return {values, index};
}

}  // namespace

std::tuple<Tensor, Tensor> cummax(const Tensor& x, int64_t dim) {
  return running_extreme(ScanOp::Max, "cummax", "CummaxBackward0", x, dim);
}
std::tuple<Tensor, Tensor> cummin(const Tensor& x, int64_t dim) {
  return running_extreme(ScanOp::Min, "cummin", "CumminBackward0", x, dim);
}

Tensor diff(const Tensor& x, int64_t n, int64_t dim, const std::optional<Tensor>& prepend,
            const std::optional<Tensor>& append) {
  STRIDED_CHECK(x.ndim() >= 1, RuntimeError, "diff expects input to be at least one-dimensional");
  STRIDED_CHECK(n >= 0, RuntimeError, "order must be non-negative but got ", n);
  const int axis = wrap_axis("diff", dim, x.ndim());
  Tensor out = x;
  if (prepend || append) {
    std::vector<Tensor> parts;
    for (const std::optional<Tensor>& part : {prepend, std::optional<Tensor>(x), append}) {
      if (!part) continue;
      STRIDED_CHECK(part->ndim() == x.ndim(), RuntimeError,
                    "diff expects prepend or append to be the same dimension as input");
      for (int i = 0; i < x.ndim(); ++i)
        STRIDED_CHECK(i == axis || part->size(i) == x.size(i), RuntimeError,
                      "diff expects the shape of tensor to prepend or append to match that of input except along the "
                      "differencing dimension; input.size(",
                      i, ") = ", x.size(i), ", but got tensor.size(", i, ") = ", part->size(i));
      parts.push_back(*part);
    }
    out = cat(parts, axis);
  }
  if (n == 0) return clone(x);
  n = std::min(n, out.size(axis));
  if (n == 0 && out.impl() == x.impl()) return clone(x);
  for (; n > 0; --n) {
    const int64_t m = out.size(axis);
    const Tensor later = slice(out, axis, 1, m, 1), earlier = slice(out, axis, 0, std::max<int64_t>(m - 1, 0), 1);
    out = is_bool(out.dtype()) ? elementwise<LogicalXor>(later, earlier) : later - earlier;
  }
  return out;
}

namespace {

// The gradient of softmax or of its logarithm along the last axis, not recorded, where the device has it in one pass;
// else an undefined tensor.
Tensor softmax_gradient_of_rows(const Tensor& out, const Tensor& g, int axis, bool log) {
  const auto operation = network_functions(out.device()).softmax_gradient;
  const bool fits = out.dtype() == g.dtype() && (out.dtype() == DType::Float32 || out.dtype() == DType::Float64);
  if (operation == nullptr || !fits || axis != out.ndim() - 1 || grad_enabled()) return {};
  if (!out.is_contiguous() || out.numel() == 0 || out.shape() != g.shape()) return {};
  const Tensor grad = contiguous(g), to = empty(out.shape(), out.dtype(), out.device());
  SoftmaxGradientPlan plan;
  plan.dtype = out.dtype();
  plan.log = log;
  plan.n = out.size(axis);
  plan.rows = out.numel() / plan.n;
  plan.out = out.data();
  plan.grad = grad.data();
  plan.to = to.data();
  operation(plan);
  return to;
}

Tensor normalised(const Tensor& x, int axis, ScanOp op) {
  const char* name = op == ScanOp::Softmax ? "softmax_lastdim_kernel_impl" : "log_softmax_lastdim_kernel_impl";
  return run_scan(op, name, x, axis);
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  const Tensor in = dtype ? to_dtype(x, *dtype) : x;
  const int axis = wrap_axis("softmax", dim, x.ndim());
  Tensor out = normalised(in, axis, ScanOp::Softmax);
  if (!needs_grad(in)) return out;
  auto formula = [axis](const Tensor& g, int64_t, const SavedTensor& saved) {
    const Tensor out = saved.get();
    if (Tensor made = softmax_gradient_of_rows(out, g, axis, false); made.defined()) return made;
    const Tensor weighted = g * out, total = sum(weighted, {axis}, true);
    // In the memory of the products, unless the steps are recorded and must stay.
    return grad_enabled() ? weighted - out * total : elementwise_<Addcmul>(weighted, out, total, -1.0);
  };
  return record("SoftmaxBackward0", out, in,
                NamedFormula{std::tuple{dim, SavedTensor::output(out)}, std::move(formula), "dim result"});
}

Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  const Tensor in = dtype ? to_dtype(x, *dtype) : x;
  const int axis = wrap_axis("log_softmax", dim, x.ndim());
  Tensor out = normalised(in, axis, ScanOp::LogSoftmax);
  if (!needs_grad(in)) return out;
  auto formula = [axis](const Tensor& g, int64_t, const SavedTensor& saved) {
    if (Tensor made = softmax_gradient_of_rows(saved.get(), g, axis, true); made.defined()) return made;
    const Tensor out = elementwise<Exp>(saved.get()), total = sum(g, {axis}, true);
    if (grad_enabled()) return g - out * total;
    const Operand in[] = {g, out, total, Operand(-1.0)};
    return call_elementwise_out(op_def(elementwise_id<Addcmul>), in, nullptr, out, true);
  };
  return record("LogSoftmaxBackward0", out, in,
                NamedFormula{std::tuple{dim, SavedTensor::output(out)}, std::move(formula), "dim result"});
}

}  // namespace strided
