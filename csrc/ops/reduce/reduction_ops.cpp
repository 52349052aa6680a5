// Reductions that are made of others, or have more than one result: dtypes, errors and gradients as PyTorch has them.
#include <cmath>

#include "core/promotion.h"
#include "ops/index/index.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

template <class Op>
const ReductionDef& def() {
  return reduction_def(reduction_id<Op>);
}

// The C++ interface lists no axes for all of them.
std::optional<Dims> listed(const Dims& dims) { return dims.empty() ? std::nullopt : std::optional<Dims>(dims); }

Dims as_dims(uint64_t axes, int ndim) {
  Dims dims;
  for (int i = 0; i < ndim; ++i)
    if (axes >> i & 1) dims.push_back(i);
  return dims;
}

Tensor zero_where(const Tensor& x, const Tensor& condition) { return masked_fill(x, condition, Scalar(0)); }

// The parts of a complex tensor as an axis in front, unrecorded.
Tensor parts_in_front(const Tensor& x) {
  STRIDED_CHECK(x.ndim() < kMaxDims, RuntimeError, "var: a complex tensor may have at most ", kMaxDims - 1,
                " dimensions");
  Dims shape = x.shape(), strides = x.strides();
  for (int64_t& s : strides) s *= 2;
  shape.insert(0, 2);
  strides.insert(0, 1);
  return make_view(x, Layout(shape, strides, x.offset() * 2), real_of(x.dtype()));
}

}  // namespace

Tensor sum(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  return reduced(def<Sum>(), x, {listed(dims), keepdim, dtype});
}
Tensor nansum(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  return reduced(def<NanSum>(), x, {listed(dims), keepdim, dtype});
}
Tensor prod(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  return reduced(def<Prod>(), x, {listed(dims), keepdim, dtype});
}
Tensor mean(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  return reduced(def<Mean>(), x, {listed(dims), keepdim, dtype});
}
Tensor logsumexp(const Tensor& x, const Dims& dims, bool keepdim) {
  return reduced(def<LogSumExp>(), x, {listed(dims), keepdim});
}
Tensor all(const Tensor& x, const std::optional<Dims>& dims, bool keepdim) {
  return reduced(def<All>(), x, {dims, keepdim});
}
Tensor any(const Tensor& x, const std::optional<Dims>& dims, bool keepdim) {
  return reduced(def<Any>(), x, {dims, keepdim});
}

Tensor nanmean(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  STRIDED_CHECK(is_floating(x.dtype()) || is_complex(x.dtype()), RuntimeError,
                "nanmean(): expected input to have floating point or complex dtype but got ", cpp_name_of(x.dtype()));
  Tensor count;
  {
    NoGradGuard guard;
    count = sum(elementwise<LogicalNot>(elementwise<Isnan>(x)), dims, keepdim);
  }
  return nansum(x, dims, keepdim, dtype) / count;
}

namespace {

// Variance or standard deviation and mean, unrecorded; the second only when asked for. The variance of complex numbers
// is the sum of those of their parts.
template <class Op>
Tensor moments(const Tensor& x, uint64_t axes, double correction, bool keepdim, Tensor* mean) {
  STRIDED_CHECK(is_floating(x.dtype()) || is_complex(x.dtype()), RuntimeError,
                "std and var only support floating point and complex dtypes");
  if (is_floating(x.dtype())) return call_reduction(def<Op>(), x, axes, keepdim, x.dtype(), correction, mean);
  NoGradGuard guard;
  if (mean) *mean = call_reduction(strided::reduction_def(reduction_id<Mean>), x, axes, keepdim, x.dtype(), 0);
  const Tensor parts = parts_in_front(x);
  const Tensor v = sum(call_reduction(def<Var>(), parts, axes << 1, keepdim, parts.dtype(), correction), {0});
  return std::is_same_v<Op, Std> ? elementwise<Sqrt>(v) : v;
}

Tensor var_gradient(const Tensor& g, const Tensor& x, uint64_t axes, double correction, bool keepdim) {
  const double n = static_cast<double>(count_along(x.shape(), axes)) - correction;
  const Tensor deviation = x - mean(x, as_dims(axes, x.ndim()), true);
  return expand_reduced(g, x.shape(), axes, keepdim) *
         (deviation * (n > 0 ? 2.0 / n : std::numeric_limits<double>::infinity()));
}
}  // namespace

Tensor quotient(const Tensor& g, const Tensor& by) {
  const Tensor zero = elementwise<Eq>(by, Scalar(0));
  return zero_where(g / masked_fill(by, zero, Scalar(1)), zero);
}

namespace {

Tensor std_gradient(const Tensor& g, const Tensor& out, const Tensor& x, uint64_t axes, double correction,
                    bool keepdim) {
  return var_gradient(quotient(g, out * 2.0), x, axes, correction, keepdim);
}
double value_of(const std::optional<Scalar>& correction) { return correction ? correction->real() : 1; }
Tensor mean_gradient(const Tensor& g, const Tensor& x, uint64_t axes, bool keepdim) {
  return expand_reduced(g, x.shape(), axes, keepdim) / static_cast<double>(count_along(x.shape(), axes));
}

}  // namespace

Tensor var(const Tensor& x, const Dims& dims, const std::optional<Scalar>& correction, bool keepdim) {
  const uint64_t axes = axis_mask("var", dims, x.ndim());
  Tensor out = moments<Var>(x, axes, value_of(correction), keepdim, nullptr);
  if (!needs_grad(x)) return out;
  auto formula = [axes](const Tensor& g, const std::optional<Dims>&, const std::optional<Scalar>& correction,
                        bool keepdim,
                        const SavedTensor& x) { return var_gradient(g, x.get(), axes, value_of(correction), keepdim); };
  return record("VarBackward0", out, x,
                NamedFormula{std::tuple{listed(dims), correction, keepdim, SavedTensor(x)}, std::move(formula),
                             "dim correction keepdim self"});
}

Tensor std(const Tensor& x, const Dims& dims, const std::optional<Scalar>& correction, bool keepdim) {
  const uint64_t axes = axis_mask("std", dims, x.ndim());
  Tensor out = moments<Std>(x, axes, value_of(correction), keepdim, nullptr);
  if (!needs_grad(x)) return out;
  auto formula = [axes](const Tensor& g, const std::optional<Dims>&, const std::optional<Scalar>& correction,
                        bool keepdim, const SavedTensor& x, const SavedTensor& out) {
    return std_gradient(g, out.get(), x.get(), axes, value_of(correction), keepdim);
  };
  return record("StdBackward0", out, x,
                NamedFormula{std::tuple{listed(dims), correction, keepdim, SavedTensor(x), SavedTensor::output(out)},
                             std::move(formula), "dim correction keepdim self result"});
}

std::tuple<Tensor, Tensor> var_mean(const Tensor& x, const Dims& dims, const std::optional<Scalar>& correction,
                                    bool keepdim) {
  const uint64_t axes = axis_mask("var_mean", dims, x.ndim());
  Tensor m, v = moments<Var>(x, axes, value_of(correction), keepdim, &m);
  if (!needs_grad(x)) return {v, m};
  auto formula = [axes](const std::vector<Tensor>& g, const std::optional<Dims>&,
                        const std::optional<Scalar>& correction, bool keepdim, const SavedTensor& saved) {
    const Tensor x = saved.get();
    Tensor out;
    if (g[0].defined()) out = var_gradient(g[0], x, axes, value_of(correction), keepdim);
    if (g[1].defined())
      out = out.defined() ? out + mean_gradient(g[1], x, axes, keepdim) : mean_gradient(g[1], x, axes, keepdim);
    return std::vector<Tensor>{out};
  };
  record_all("VarMeanBackward0", {v, m}, {x},
             NamedFormula{std::tuple{listed(dims), correction, keepdim, SavedTensor(x)}, std::move(formula),
                          "dim correction keepdim self"});
  return {v, m};
}

std::tuple<Tensor, Tensor> std_mean(const Tensor& x, const Dims& dims, const std::optional<Scalar>& correction,
                                    bool keepdim) {
  const uint64_t axes = axis_mask("std_mean", dims, x.ndim());
  Tensor m, s = moments<Std>(x, axes, value_of(correction), keepdim, &m);
  if (!needs_grad(x)) return {s, m};
  auto formula = [axes](const std::vector<Tensor>& g, const std::optional<Dims>&,
                        const std::optional<Scalar>& correction, bool keepdim, const SavedTensor& saved,
                        const SavedTensor& saved_out) {
    const Tensor x = saved.get();
    Tensor out;
    if (g[0].defined()) out = std_gradient(g[0], saved_out.get(), x, axes, value_of(correction), keepdim);
    if (g[1].defined())
      out = out.defined() ? out + mean_gradient(g[1], x, axes, keepdim) : mean_gradient(g[1], x, axes, keepdim);
    return std::vector<Tensor>{out};
  };
  record_all("StdMeanBackward0", {s, m}, {x},
             NamedFormula{std::tuple{listed(dims), correction, keepdim, SavedTensor(x), SavedTensor::output(s)},
                          std::move(formula), "dim correction keepdim self result0"});
  return {s, m};
}

// Order 1 has no need of `out`.
Tensor norm_gradient(const Tensor& g, const Tensor& x, const Tensor& out, double p, uint64_t axes, bool keepdim) {
  if (p == 0) return Tensor();
  if (p == 1) return elementwise<Sgn>(x) * expand_reduced(g, x.shape(), axes, keepdim);
  if (std::isinf(p)) {
    Tensor mask, count;
    {
      NoGradGuard guard;
      mask = elementwise<Eq>(elementwise<Abs>(x), expand_reduced(out, x.shape(), axes, keepdim));
      count = call_reduction(def<CountNonzero>(), mask, axes, keepdim, DType::Bool, 0);
    }
    return masked(elementwise<Sgn>(x) * expand_reduced(g / count, x.shape(), axes, keepdim), mask);
  }
  if (p == 2) return x * expand_reduced(quotient(g, out), x.shape(), axes, keepdim);
  // |x|^(p - 2) is infinite at 0 for p < 2; what it multiplies is 0 there.
  const Tensor size = elementwise<Abs>(x), zero = elementwise<Eq>(x, Scalar(0));
  Tensor power;
  if (p >= 2) power = x * elementwise<Pow>(size, Scalar(p - 2));
  else if (p > 1) power = elementwise<Sgn>(x) * elementwise<Pow>(size, Scalar(p - 1));
  else
    power = zero_where(elementwise<Sgn>(x) * elementwise<Pow>(masked_fill(size, zero, Scalar(1)), Scalar(p - 1)), zero);
  return power * expand_reduced(quotient(g, elementwise<Pow>(out, Scalar(p - 1))), x.shape(), axes, keepdim);
}

namespace {

constexpr bool norm_gradient_reads_x(double p) { return p != 0; }
constexpr bool norm_gradient_reads_out(double p) { return p != 0 && p != 1; }

}  // namespace

Tensor vector_norm(const Tensor& x, const Scalar& order, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  STRIDED_CHECK(is_floating(x.dtype()) || is_complex(x.dtype()), RuntimeError,
                "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
                cpp_name_of(x.dtype()));
  const DType compute = dtype.value_or(x.dtype());
  STRIDED_CHECK(is_floating(compute) || is_complex(compute), RuntimeError,
                "linalg.vector_norm: dtype should be floating point or complex. Got ", cpp_name_of(compute));
  STRIDED_CHECK(is_complex(compute) || !is_complex(x.dtype()), RuntimeError,
                "linalg.vector_norm: dtype should be complex for complex inputs, but got ", cpp_name_of(compute));
  STRIDED_CHECK(!order.is_complex(), RuntimeError,
                "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
  const double p = order.real();
  const uint64_t axes = axis_mask("linalg.vector_norm", dims, x.ndim());
  const bool no_identity = std::isinf(p) || p < 0;
  if (no_identity && is_empty_along(x, axes)) {
    STRIDED_CHECK(!dims.empty(), RuntimeError, "linalg.vector_norm cannot compute the ", p,
                  " norm on an empty tensor because the operation does not have an identity");
    for (int i = 0; i < x.ndim(); ++i)
      STRIDED_CHECK(!(axes >> i & 1) || x.size(i) != 0, RuntimeError, "linalg.vector_norm cannot compute the ", p,
                    " norm on the dimension ", i,
                    "because this dimension is empty and the operation does not have an identity");
  }
  Tensor out;
  if (p == 0) {
    NoGradGuard guard;
    out = to_dtype(call_reduction(def<CountNonzero>(), x, axes, keepdim, x.dtype(), 0), real_of(compute));
  } else if (is_complex(compute) && p != 2) {  // only order 2 has a kernel for complex numbers
    NoGradGuard guard;
    out = vector_norm(elementwise<Abs>(x), p, dims, keepdim, real_of(compute));
  } else if (p == 1 || p == 2 || std::isinf(p)) {
    const ReductionDef& row = p == 2   ? def<Norm2>()
                              : p == 1 ? def<Norm1>()
                              : p > 0  ? def<NormInf>()
                                       : def<NormNegInf>();
    out = call_reduction(row, x, axes, keepdim, compute, 0);
  } else {
    NoGradGuard guard;
    const Tensor wide = to_dtype(x, compute_dtype_of(compute));
    out = to_dtype(
        elementwise<Pow>(sum(elementwise<Pow>(elementwise<Abs>(wide), Scalar(p)), dims, keepdim), Scalar(1 / p)),
        compute);
  }
  if (!needs_grad(x)) return out;
  auto formula = [axes](const Tensor& g, const Scalar& order, const std::optional<Dims>&, bool keepdim,
                        const SavedTensor& x, const SavedTensor& out) {
    return norm_gradient(g, x.get(), out.get(), order.real(), axes, keepdim);
  };
  return record("LinalgVectorNormBackward0", out, x,
                NamedFormula{std::tuple{order, listed(dims), keepdim, saved_if(norm_gradient_reads_x(p), x),
                                        norm_gradient_reads_out(p) ? SavedTensor::output(out) : SavedTensor()},
                             std::move(formula), "ord dim keepdim self result"});
}

Tensor dist(const Tensor& x, const Tensor& other, const Scalar& order) {
  Tensor out;
  {
    NoGradGuard guard;
    out = vector_norm(x - other, order);
  }
  if (!needs_grad(x, other)) return out;
  const double p = order.real();
  const bool saved = norm_gradient_reads_x(p);
  auto formula = [p](const Tensor& g, const Scalar&, const SavedTensor& other, const SavedTensor& x,
                     const SavedTensor& out) {
    if (!x.was_saved()) return std::vector<Tensor>(2);
    const Tensor difference = x.get() - other.get(),
                 gx = norm_gradient(g, difference, out.get(), p, axis_mask("dist", {}, difference.ndim()), false);
    return std::vector<Tensor>{gx, -gx};
  };
  return record("DistBackward0", out, {x, other},
                NamedFormula{std::tuple{order, saved_if(saved, other), saved_if(saved, x),
                                        norm_gradient_reads_out(p) ? SavedTensor::output(out) : SavedTensor()},
                             std::move(formula), "p other self result"});
}

// ---------------------------------------------------------------- extremes

namespace {

void check_ordered(const char* kernel, const Tensor& x) {
  STRIDED_CHECK(!is_complex(x.dtype()), NotImplementedError, "\"", kernel, "\" not implemented for '",
                cpp_name_of(x.dtype()), "'");
}

template <class Op>
std::tuple<Tensor, Tensor> extreme_along(const char* op, const char* node, const Tensor& x, int64_t dim, bool keepdim) {
  STRIDED_CHECK(!is_complex(x.dtype()), RuntimeError, op, "(): does not support complex input");
  const int axis = wrap_axis(op, dim, x.ndim());
  const uint64_t axes = axis_mask(op, {dim}, x.ndim());
  check_not_empty(op, x, axes, true);
  Tensor index, values = call_reduction(def<Op>(), x, axes, keepdim, x.dtype(), 0, &index);
  if (!needs_grad(x)) return {values, index};
  record_all(node, {values}, {x},
             gradient_of_taken(x, dim, axis, keepdim, index, "dim keepdim indices self_sym_sizes"));
  return {values, index};
}

template <class Op>
Tensor position(const char* op, const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  STRIDED_CHECK(!is_complex(x.dtype()), RuntimeError, op, "(): does not support complex input");
  STRIDED_CHECK(!is_bool(x.dtype()), RuntimeError, op, "(): does not support bool input");
  Tensor index;
  if (dim) {
    const uint64_t axes = axis_mask(op, {*dim}, x.ndim());
    check_not_empty(op, x, axes, true);
    call_reduction(def<Op>(), x, axes, keepdim, x.dtype(), 0, &index, false);
    return index;
  }
  STRIDED_CHECK(x.numel() > 0, IndexError, op, "(): Expected reduction dim to be specified for input.numel() == 0.");
  NoGradGuard guard;
  // With keepdim the reduction itself has the result's shape, as `out` may be what it writes to.
  keepdim = keepdim && x.ndim() > 0;
  const int axis = keepdim ? x.ndim() - 1 : 0;
  Dims row(static_cast<size_t>(axis) + 1, 1);
  row[axis] = x.numel();
  const Tensor flat = x.ndim() == 1 ? x : reshape(x, row);
  call_reduction(def<Op>(), flat, uint64_t{1} << axis, keepdim, x.dtype(), 0, &index, false);
  return index;
}

}  // namespace

Tensor scatter_along(const Tensor& g, const Tensor& index, int axis, bool keepdim, const Dims& shape) {
  if (shape.empty()) return g;
  const Tensor zero = zeros(shape, g.dtype(), g.device());
  return keepdim ? scatter_add(zero, axis, index, g)
                 : scatter_add(zero, axis, unsqueeze(index, axis), unsqueeze(g, axis));
}

Tensor amax(const Tensor& x, const Dims& dims, bool keepdim) {
  return reduced(def<AMax>(), x, {listed(dims), keepdim});
}
Tensor amin(const Tensor& x, const Dims& dims, bool keepdim) {
  return reduced(def<AMin>(), x, {listed(dims), keepdim});
}
Tensor max(const Tensor& x) { return reduced_as("max", "MaxBackward1", def<AMax>(), x, {}); }
Tensor min(const Tensor& x) { return reduced_as("min", "MinBackward1", def<AMin>(), x, {}); }
std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim) {
  return extreme_along<MaxIndex>("max", "MaxBackward0", x, dim, keepdim);
}
std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim) {
  return extreme_along<MinIndex>("min", "MinBackward0", x, dim, keepdim);
}
Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return position<MaxIndex>("argmax", x, dim, keepdim);
}
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return position<MinIndex>("argmin", x, dim, keepdim);
}

std::tuple<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  check_ordered("aminmax_cpu", x);
  const Dims dims = dim ? Dims{*dim} : Dims();
  const bool empty = is_empty_along(x, axis_mask("aminmax", dims, x.ndim()));
  STRIDED_CHECK(!empty || !dim, IndexError, "aminmax: Expected reduction dim ", *dim, " to have non-zero size.");
  STRIDED_CHECK(!empty, RuntimeError,
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
  return {shown_as("AminmaxBackward0", amin(x, dims, keepdim)), shown_as("AminmaxBackward0", amax(x, dims, keepdim))};
}

}  // namespace strided
