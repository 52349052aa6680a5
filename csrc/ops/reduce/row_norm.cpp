#include "ops/reduce/row_norm.h"

#include <array>
#include <cmath>
#include <sstream>

#include "backend/backend.h"
#include "ops/copy.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

constexpr const char* kName = "layer_norm";

// What the functions here share: rows of n elements, and which weight an element has.
struct Rows {
  int64_t n, share, period;
  double eps;

  // Elements as (..., period, n / share, share), and weights beside them.
  Tensor split(const Tensor& x) const { return reshape(x, {x.numel() / (n * period), period, n / share, share}); }
  Tensor beside(const Tensor& weight) const { return reshape(weight, {period, n / share, 1}); }
  // Sums of what each weight is multiplied with.
  Tensor gathered(const Tensor& x, const Tensor& weight) const {
    return reshape(to_dtype(sum(x, Dims{0, 3}), weight.dtype()), weight.shape());
  }
};

// An operation of the device takes contiguous float32 or float64; 16-bit floats pass through float32.
bool is_row_operand(const Tensor& t, DType wide) { return compute_dtype_of(t.dtype()) == wide && t.is_contiguous(); }
bool has_operation(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const DType wide = compute_dtype_of(x.dtype());
  return (wide == DType::Float32 || wide == DType::Float64) && x.is_contiguous() && x.numel() > 0 &&
         backend(x.device()).normalise_rows != nullptr && (!weight.defined() || is_row_operand(weight, wide)) &&
         (!bias.defined() || is_row_operand(bias, wide));
}

template <class Plan>
Plan plan_of(const Tensor& x, const Tensor& weight, const Rows& rows) {
  Plan plan;
  plan.rows = x.numel() / rows.n;
  plan.dtype = x.dtype();
  plan.n = rows.n;
  plan.share = rows.share;
  plan.period = rows.period;
  plan.x = x.data();
  plan.weight = weight.defined() ? weight.data() : nullptr;
  return plan;
}

struct Normalised {
  Tensor out, mean, scale;
};

Normalised by_operation(const Tensor& x, const Tensor& weight, const Tensor& bias, const Rows& rows) {
  auto plan = plan_of<RowNormPlan>(x, weight, rows);
  plan.eps = rows.eps;
  plan.bias = bias.defined() ? bias.data() : nullptr;
  const Normalised made = {empty(x.shape(), x.dtype(), x.device()), empty(Dims{plan.rows}, x.dtype(), x.device()),
                           empty(Dims{plan.rows}, x.dtype(), x.device())};
  plan.out = made.out.data();
  plan.mean = made.mean.data();
  plan.scale = made.scale.data();
  backend(x.device()).normalise_rows(plan);
  return made;
}

std::vector<Tensor> gradients_by_operation(const Tensor& grad, const Tensor& x, const Tensor& mean, const Tensor& scale,
                                           const Tensor& weight, const Rows& rows, const bool wanted[3],
                                           const Dims& shape) {
  auto plan = plan_of<RowNormGradientPlan>(x, weight, rows);
  const Tensor g = contiguous(grad);
  plan.grad = g.data();
  plan.mean = mean.data();
  plan.scale = scale.data();
  std::vector<Tensor> made(3);
  if (wanted[0]) plan.to_x = (made[0] = empty(x.shape(), x.dtype(), x.device())).data();
  if (wanted[1]) plan.to_weight = (made[1] = empty(shape, x.dtype(), x.device())).data();
  if (wanted[2]) plan.to_bias = (made[2] = empty(shape, x.dtype(), x.device())).data();
  backend(x.device()).normalise_rows_gradient(plan);
  return made;
}

// The same of any tensors, in recorded operations.
Normalised by_formula(const Tensor& x, const Tensor& weight, const Tensor& bias, const Rows& rows) {
  const DType wide = compute_dtype_of(x.dtype());
  const Tensor split = rows.split(to_dtype(x, wide));
  const auto [var, mean] = var_mean(split, Dims{2, 3}, 0, true);
  const Tensor scale = elementwise<Rsqrt>(var + rows.eps);
  Tensor out = (split - mean) * scale;
  if (weight.defined()) out = out * rows.beside(to_dtype(weight, wide));
  if (bias.defined()) out = out + rows.beside(to_dtype(bias, wide));
  const auto plain = [](const Tensor& t) { return make_view(t, Layout(Dims{t.numel()})); };  // no record
  return {to_dtype(reshape(out, x.shape()), x.dtype()), plain(mean), plain(scale)};
}

// Where the statistics are functions of x: the gradients of all orders.
std::vector<Tensor> gradients_by_formula(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& bias,
                                         const Rows& rows, const bool wanted[3]) {
  const Tensor split = rows.split(to_compute_dtype(x)), g = rows.split(to_compute_dtype(grad));
  const auto [var, mean] = var_mean(split, Dims{2, 3}, 0, true);
  const Tensor scale = elementwise<Rsqrt>(var + rows.eps), standard = (split - mean) * scale;
  std::vector<Tensor> made(3);
  if (wanted[0]) {
    const Tensor h = weight.defined() ? g * rows.beside(to_compute_dtype(weight)) : g;
    const auto average = [](const Tensor& t) { return strided::mean(t, Dims{2, 3}, true); };
    made[0] = to_dtype(reshape((h - average(h) - standard * average(h * standard)) * scale, x.shape()), x.dtype());
  }
  if (wanted[1]) made[1] = rows.gathered(g * standard, weight);
  if (wanted[2]) made[2] = rows.gathered(g, bias);
  return made;
}

Normalised normalise(const Tensor& x, const Tensor& weight, const Tensor& bias, const Rows& rows) {
  if (!has_operation(x, weight, bias)) return by_formula(x, weight, bias, rows);
  Normalised made;
  {
    NoGradGuard guard;
    made = by_operation(to_compute_dtype(x), to_compute_dtype(weight), to_compute_dtype(bias), rows);
    made.out = to_dtype(made.out, x.dtype());
  }
  std::vector<Tensor> inputs = {x, weight, bias};
  if (!needs_grad(inputs)) return made;
  bool wanted[3];
  for (int i = 0; i < 3; ++i) wanted[i] = inputs[i].defined() && inputs[i].requires_grad();
  auto formula = [rows, wanted = std::array<bool, 3>{wanted[0], wanted[1], wanted[2]}](
                     const Tensor& grad, const SavedTensor& x, const SavedTensor& weight, const SavedTensor& bias,
                     const SavedTensor& mean, const SavedTensor& scale) {
    const Tensor in = x.get(), w = weight.was_saved() ? weight.get() : Tensor(), b = wanted[2] ? bias.get() : Tensor();
    if (grad_enabled()) return gradients_by_formula(grad, in, w, b, rows, wanted.data());
    std::vector<Tensor> made = gradients_by_operation(to_compute_dtype(grad), to_compute_dtype(in), mean.get(),
                                                      scale.get(), to_compute_dtype(w), rows, wanted.data(),
                                                      w.defined()   ? w.shape()
                                                      : b.defined() ? b.shape()
                                                                    : Dims{});
    for (const auto& [to, of] : {std::pair(&made[0], &in), {&made[1], &w}, {&made[2], &b}})
      if (to->defined()) *to = to_dtype(*to, of->dtype());
    return made;
  };
  record("NativeLayerNormBackward0", made.out, inputs,
         NamedFormula{std::tuple{SavedTensor(x), saved_if(weight.defined(), weight), saved_if(wanted[2], bias),
                                 SavedTensor(made.mean), SavedTensor(made.scale)},
                      std::move(formula), "input weight bias - -"});
  return made;
}

Tensor or_none(const std::optional<Tensor>& t) { return t ? *t : Tensor(); }

}  // namespace

void check_parameter_dtype(const Tensor& x, const std::optional<Tensor>& parameter) {
  if (!parameter || parameter->dtype() == x.dtype()) return;
  const bool wide = parameter->dtype() == DType::Float32;
  if (wide && is_floating(x.dtype()) && x.itemsize() < 4) return;
  STRIDED_THROW(RuntimeError, "mixed dtype (CPU): ",
                wide ? "all inputs must share same datatype." : "expect parameter to have scalar type of Float");
}

std::tuple<Tensor, Tensor, Tensor> normalise_rows(const Tensor& x, const std::optional<Tensor>& weight,
                                                  const std::optional<Tensor>& bias, int64_t n, int64_t share,
                                                  int64_t period, double eps) {
  STRIDED_CHECK(n > 0 && share > 0 && period > 0 && n % share == 0 && x.numel() % n == 0 && x.numel() / n % period == 0,
                RuntimeError, kName, ": a tensor of ", x.numel(), " elements has no rows of ", n, " with weights for ",
                share, " elements each that begin anew every ", period, " rows");
  for (const auto* t : {&weight, &bias}) {
    if (!*t) continue;
    check_same_device(kName, x, **t);
    check_parameter_dtype(x, *t);
    STRIDED_CHECK((*t)->numel() == n / share * period, RuntimeError, kName, ": expected ", n / share * period,
                  " weights, got ", (*t)->shape());
  }
  const Normalised made = normalise(x, or_none(weight), or_none(bias), {n, share, period, eps});
  return {made.out, made.mean, made.scale};
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& x, const Dims& normalized_shape,
                                                     const std::optional<Tensor>& weight,
                                                     const std::optional<Tensor>& bias, double eps) {
  STRIDED_CHECK(
      !normalized_shape.empty(), RuntimeError,
      "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
      "normalized_shape = ",
      normalized_shape);
  const char* kind = "weight";
  for (const auto* t : {&weight, &bias}) {
    STRIDED_CHECK(!*t || (*t)->shape() == normalized_shape, RuntimeError, "Expected ", kind,
                  " to be of same shape as normalized_shape, but got ", kind, " of shape ", (*t)->shape(),
                  " and normalized_shape = ", normalized_shape);
    check_parameter_dtype(x, *t);
    kind = "bias";
  }
  const int axes = normalized_shape.ndim(), rest = x.ndim() - axes;
  int64_t n = 1;
  for (int64_t size : normalized_shape) n *= size;
  if (rest < 0 || Dims(x.shape().data() + rest, static_cast<size_t>(axes)) != normalized_shape) {
    std::ostringstream inside;
    for (int64_t size : normalized_shape) inside << ", " << size;
    STRIDED_THROW(RuntimeError, "Given normalized_shape=", normalized_shape, ", expected input with shape [*",
                  inside.str(), "], but got input of size", x.shape());
  }
  Dims statistics = x.shape();
  for (int i = rest; i < x.ndim(); ++i) statistics[static_cast<size_t>(i)] = 1;
  if (n == 0) {
    const Tensor none = full(statistics, std::nan(""), compute_dtype_of(x.dtype()), x.device());
    const Tensor scaled = weight ? x * *weight : clone(x);
    return {bias ? scaled + *bias : scaled, none, none};
  }
  auto made = normalise_rows(contiguous(x), weight, bias, n, 1, 1, eps);
  return {std::get<0>(made), view(std::get<1>(made), statistics), view(std::get<2>(made), statistics)};
}

Tensor layer_norm(const Tensor& x, const Dims& normalized_shape, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps) {
  return std::get<0>(native_layer_norm(x, normalized_shape, weight, bias, eps));
}

}  // namespace strided
