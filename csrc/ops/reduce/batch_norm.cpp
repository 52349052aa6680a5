#include "ops/reduce/batch_norm.h"

#include <algorithm>

#include "backend/network_plans.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/row_norm.h"
#include "ops/shape/view.h"
#include "ops/shape/windows.h"

namespace strided {
namespace {

constexpr int64_t kShortRow = 8;  // elements of a channel that are too few to be taken by themselves

DType wide_dtype(const Tensor& x) { return is_floating(x.dtype()) ? compute_dtype_of(x.dtype()) : x.dtype(); }
// A number for each channel, beside x; nothing stays nothing.
Tensor beside(const Tensor& t, const Tensor& x) {
  if (!t.defined()) return t;
  Dims shape(x.shape().size(), 1);
  shape[1] = -1;
  return reshape(to_dtype(t, wide_dtype(t)), shape);
}
Dims all_but_channels(const Tensor& x) { return joined({0}, range_of(2, x.ndim())); }

struct Statistics {
  Tensor mean, var, scale;  // with axes of size 1; scale = 1 / sqrt(var + eps)
};
Statistics statistics_of(const Tensor& x, double eps) {
  const auto [var, mean] = var_mean(x, all_but_channels(x), 0, true);
  return {mean, var, elementwise<Rsqrt>(var + eps)};
}

Tensor scaled(const Tensor& x, const Tensor& mean, const Tensor& scale, const Tensor& weight, const Tensor& bias) {
  const Tensor factor = weight.defined() ? scale * weight : scale, shift = mean * factor;
  return elementwise<Addcmul>(bias.defined() ? bias - shift : -shift, x, factor, Scalar(1));
}

// The same as below, not recorded, where the device has it; else nothing.
std::vector<Tensor> gradients_in_one(const Tensor& grad, const Tensor& x, const Statistics& s, const Tensor& weight,
                                     bool of_x) {
  const auto operation = network_functions(x.device()).channels_gradient;
  const DType dtype = x.dtype();
  const auto fits = [&](const Tensor& t) { return !t.defined() || t.dtype() == dtype; };
  if (operation == nullptr || grad_enabled() || (dtype != DType::Float32 && dtype != DType::Float64)) return {};
  if (!x.is_contiguous() || x.numel() == 0 || grad.shape() != x.shape()) return {};
  if (!fits(grad) || !fits(s.mean) || !fits(s.scale) || !fits(weight)) return {};
  ChannelGradientPlan plan;
  plan.dtype = dtype;
  plan.outer = x.size(0);
  plan.channels = x.size(1);
  plan.inner = x.numel() / (plan.outer * plan.channels);
  if (plan.inner > 1 && plan.inner < kShortRow) return {};
  const auto numbers = [&] { return empty(s.mean.shape(), dtype, x.device()); };
  const Tensor g = contiguous(grad), mean = contiguous(s.mean), scale = contiguous(s.scale);
  const Tensor factor = weight.defined() ? contiguous(weight) : Tensor(), to_weight = numbers(), to_bias = numbers();
  const Tensor to_x = of_x ? empty(x.shape(), dtype, x.device()) : Tensor();
  plan.x = x.data();
  plan.grad = g.data();
  plan.mean = mean.data();
  plan.scale = scale.data();
  if (weight.defined()) plan.weight = factor.data();
  if (of_x) plan.to_x = to_x.data();
  plan.to_weight = to_weight.data();
  plan.to_bias = to_bias.data();
  operation(plan);
  return {to_x, to_weight, to_bias};
}

struct Wanted {
  bool of_x, of_weight, of_bias;
};

// x and grad are wide. In training the gradient of x is a sum of multiples of grad and of the standardised x; their
// factors are those of the gradients of weight and bias. With statistics from outside it is a multiple of grad.
std::vector<Tensor> gradients(const Tensor& grad, const Tensor& x, const Statistics& s, const Tensor& weight,
                              bool training, Wanted wanted) {
  const bool follows = training && wanted.of_x;  // statistics of x follow x
  std::vector<Tensor> made(3);
  if (follows || wanted.of_weight || wanted.of_bias) made = gradients_in_one(grad, x, s, weight, follows);
  const Tensor factor = wanted.of_x && weight.defined() ? s.scale * weight : s.scale;
  if (made.empty()) {
    const Dims axes = all_but_channels(x);
    const Tensor standard = scaled(x, s.mean, s.scale, Tensor(), Tensor());
    const Tensor to_bias = sum(grad, axes, true), to_weight = sum(grad * standard, axes, true);
    Tensor to_x;
    if (follows) {
      const int64_t count = x.numel() / std::max<int64_t>(s.mean.numel(), 1);
      const Tensor each = factor / -static_cast<double>(count);
      to_x = elementwise<Addcmul>(each * to_bias, grad, factor, Scalar(1));
      const Tensor more = each * to_weight;
      to_x = grad_enabled() ? elementwise<Addcmul>(to_x, standard, more, Scalar(1))
                            : elementwise_<Addcmul>(to_x, standard, more, Scalar(1));
    }
    made = {to_x, to_weight, to_bias};
  }
  if (wanted.of_x && !training) made[0] = grad * factor;
  return made;
}

void follow(const std::optional<Tensor>& running, const Tensor& value, double momentum) {
  if (running) elementwise_<Lerp>(*running, to_dtype(flatten(value, 0, -1), running->dtype()), Scalar(momentum));
}

// `out` with its node. The statistics are tensors that no one else holds: the running ones move on.
Tensor recorded(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, const Statistics& s,
                bool training, double eps) {
  const std::vector<Tensor> inputs = {x, weight, bias};
  if (!needs_grad(inputs)) return out;
  const auto wants = [](const Tensor& t) { return t.defined() && t.requires_grad(); };
  auto formula = [wanted = Wanted{wants(x), wants(weight), wants(bias)}](
                     const Tensor& grad, const SavedTensor& x, const SavedTensor& weight, const SavedTensor& bias,
                     const SavedTensor& mean, const SavedTensor& scale, bool training, double eps) {
    const Tensor in = x.get(), w = weight.was_saved() ? weight.get() : Tensor(), wide = to_dtype(in, wide_dtype(in));
    const Statistics s =
        training && grad_enabled() ? statistics_of(wide, eps) : Statistics{mean.get(), Tensor(), scale.get()};
    std::vector<Tensor> made = gradients(to_dtype(grad, wide.dtype()), wide, s, beside(w, in), training, wanted);
    if (wanted.of_x) made[0] = to_dtype(made[0], in.dtype());
    made[1] = wanted.of_weight ? reshape(to_dtype(made[1], w.dtype()), w.shape()) : Tensor();
    if (wanted.of_bias) {
      const Tensor b = bias.get();
      made[2] = reshape(to_dtype(made[2], b.dtype()), b.shape());
    } else {
      made[2] = Tensor();
    }
    return made;
  };
  return record("NativeBatchNormBackward0", out, inputs,
                NamedFormula{std::tuple{SavedTensor(x), saved_if(weight.defined(), weight), saved_if(wants(bias), bias),
                                        SavedTensor(s.mean), SavedTensor(s.scale), training, eps},
                             std::move(formula), "input weight - - - training eps"});
}

Tensor in_training(const Tensor& x, const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                   const Tensor& weight, const Tensor& bias, double momentum, double eps) {
  Statistics s;
  Tensor out;
  {
    NoGradGuard guard;
    const Tensor wide = to_dtype(x, wide_dtype(x));
    s = statistics_of(wide, eps);
    out = to_dtype(scaled(wide, s.mean, s.scale, beside(weight, x), beside(bias, x)), x.dtype());
    const int64_t count = x.numel() / std::max<int64_t>(x.size(1), 1);
    // A batch without elements has no statistics to follow, and NaN would stay for good.
    if (count > 0) follow(running_mean, s.mean, momentum);
    if (running_var && count > 0) {
      const double unbiased = static_cast<double>(count) / static_cast<double>(std::max<int64_t>(count - 1, 1));
      follow(running_var, s.var * unbiased, momentum);
    }
  }
  return recorded(out, x, weight, bias, s, true, eps);
}

Tensor in_evaluation(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                     const Tensor& bias, double eps) {
  Statistics s;
  Tensor out;
  {
    NoGradGuard guard;
    s.mean = beside(running_mean, x);
    s.scale = elementwise<Rsqrt>(beside(running_var, x) + eps);
    out = to_dtype(scaled(to_dtype(x, wide_dtype(x)), s.mean, s.scale, beside(weight, x), beside(bias, x)), x.dtype());
  }
  if (!needs_grad({x, weight, bias})) return out;
  s.mean = clone(s.mean);
  return recorded(out, x, weight, bias, s, false, eps);
}

}  // namespace

Tensor normalise_channels(const Tensor& input, const std::optional<Tensor>& running_mean,
                          const std::optional<Tensor>& running_var, const std::optional<Tensor>& weight,
                          const std::optional<Tensor>& bias, bool training, double momentum, double eps) {
  if (input.ndim() == 1 && input.numel() == 0) return clone(input);
  STRIDED_CHECK(input.ndim() >= 2, RuntimeError, "batch_norm: expected at least 2 dimensions, got shape ",
                input.shape());
  const std::pair<const char*, const std::optional<Tensor>*> given[] = {
      {"running_mean", &running_mean}, {"running_var", &running_var}, {"weight", &weight}, {"bias", &bias}};
  for (const auto& [name, t] : given) {
    STRIDED_CHECK(!*t || (*t)->numel() == input.size(1), RuntimeError, name, " should contain ", input.size(1),
                  " elements not ", (*t)->numel());
    check_parameter_dtype(input, *t);
    const bool constant = t == &running_mean || t == &running_var;
    STRIDED_CHECK(!constant || !*t || !needs_grad(**t), RuntimeError,
                  "The function 'native_batch_norm' is not differentiable with respect to argument '", name,
                  "'. This input cannot have requires_grad True.");
  }
  // As in PyTorch: programs take views of what comes out.
  const Tensor x = lies_channels_last(input) && input.ndim() > 3 ? input : contiguous(input);
  const Tensor w = weight ? *weight : Tensor(), b = bias ? *bias : Tensor();
  if (training) return in_training(x, running_mean, running_var, w, b, momentum, eps);
  STRIDED_CHECK(running_mean && running_var, RuntimeError,
                "Expected running_mean and running_var to be defined when training=False");
  return in_evaluation(x, *running_mean, *running_var, w, b, eps);
}

Tensor batch_norm(const Tensor& x, const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                  const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, bool training,
                  double momentum, double eps) {
  if (training) {
    bool single = true;
    for (int i = 0; i < x.ndim(); ++i) single = single && (i == 1 || x.size(i) == 1);
    STRIDED_CHECK(!single, ValueError,
                  "Expected more than 1 value per channel when training, got input size torch.Size(", x.shape(), ")");
    STRIDED_CHECK(!(eps <= 0), ValueError, "batch_norm eps must be positive during training, but got ", eps);
  }
  return normalise_channels(x, running_mean, running_var, weight, bias, training, momentum, eps);
}

}  // namespace strided
