#include "ops/reduce/class_loss.h"

#include "backend/network_plans.h"
#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/scan.h"
#include "ops/shape/view.h"
#include "ops/steady.h"

namespace strided {
namespace {

using Reduction = ClassLossPlan::Reduction;

std::optional<Reduction> reduction_of(const std::string& word) {
  if (word == "mean") return ClassLossPlan::Mean;
  if (word == "sum") return ClassLossPlan::Sum;
  if (word == "none") return ClassLossPlan::None;
  return std::nullopt;
}

bool is_number_of_loss(const Tensor& x) { return x.dtype() == DType::Float32 || x.dtype() == DType::Float64; }

bool has_operation(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight) {
  if (!x.defined() || x.ndim() == 0 || !is_number_of_loss(x)) return false;
  if (network_functions(x.device()).class_loss == nullptr || target.device() != x.device()) return false;
  if (target.dtype() != DType::Int64 || target.ndim() != x.ndim() - 1) return false;
  const int axis = x.ndim() > 1 ? 1 : 0;
  for (int i = 0, k = 0; i < x.ndim(); ++i)
    if (i != axis && x.size(i) != target.size(k++)) return false;
  if (!weight) return true;
  return weight->dtype() == x.dtype() && weight->device() == x.device() && weight->ndim() == 1 &&
         weight->numel() == x.size(axis) && !weight->requires_grad();
}

ClassLossPlan plan_of(const Dims& shape, DType dtype, const Tensor& target, const Tensor& weight, int64_t ignore,
                      Reduction reduction) {
  const int axis = shape.size() > 1 ? 1 : 0;
  ClassLossPlan plan;
  plan.dtype = dtype;
  plan.reduction = reduction;
  plan.outer = axis == 1 ? shape[0] : 1;
  plan.classes = shape[static_cast<size_t>(axis)];
  for (size_t i = 2; i < shape.size(); ++i) plan.inner *= shape[i];
  plan.ignore = ignore;
  plan.target = reinterpret_cast<const int64_t*>(target.data());
  plan.weight = weight.defined() ? weight.data() : nullptr;
  return plan;
}

// Written with the device's operation: `grad` undefined stands for ones.
Tensor gradient(const Dims& shape, DType dtype, const Tensor& target, const Tensor& weight, int64_t ignore,
                Reduction reduction, const Tensor& total, const Tensor& grad) {
  ClassLossPlan plan = plan_of(shape, dtype, target, weight, ignore, reduction);
  Tensor out = empty(shape, dtype, target.device());
  if (out.numel() == 0) return out;
  plan.out = out.data();
  plan.total = total.defined() ? total.data() : nullptr;
  plan.grad = grad.defined() ? grad.data() : nullptr;
  network_functions(target.device()).class_loss_gradient(plan);
  return out;
}

Tensor losses(const Tensor& log_p, const Tensor& classes, const std::optional<Tensor>& weights, int64_t ignore,
              Reduction reduction) {
  const Tensor target = contiguous(classes), weight = weights ? contiguous(*weights) : Tensor(),
               x = log_p.ndim() <= 3 ? log_p : contiguous(log_p);
  ClassLossPlan plan = plan_of(x.shape(), x.dtype(), target, weight, ignore, reduction);
  plan.x = x.data();
  if (x.ndim() == 1) {
    plan.stride[1] = x.strides()[0];
  } else {
    plan.stride[0] = x.strides()[0];
    plan.stride[1] = x.strides()[1];
    plan.stride[2] = x.ndim() == 3 ? x.strides()[2] : 1;
  }
  const bool one = reduction != ClassLossPlan::None;
  Tensor out = empty(one ? Dims{} : target.shape(), x.dtype(), x.device()),
         total = one ? empty(Dims{}, x.dtype(), x.device()) : Tensor();
  plan.out = out.data();
  plan.total = one ? total.data() : nullptr;
  if (one || out.numel() > 0) network_functions(x.device()).class_loss(plan);
  if (!needs_grad(log_p)) return out;
  auto formula = [shape = log_p.shape(), dtype = x.dtype()](const Tensor& g, int64_t ignore, Reduction reduction,
                                                            const SavedTensor& target, const SavedTensor& weight,
                                                            const SavedTensor& total) {
    const bool one = reduction != ClassLossPlan::None;
    const Tensor w = weight.was_saved() ? weight.get() : Tensor(), divisor = one ? total.get() : Tensor();
    if (!grad_enabled())
      return gradient(shape, dtype, target.get(), w, ignore, reduction, divisor, contiguous(to_dtype(g, dtype)));
    // In recorded operations: the gradient is linear in g.
    const Tensor unit = gradient(shape, dtype, target.get(), w, ignore, reduction, divisor, Tensor());
    return steady(unit * (one ? g : unsqueeze(g, shape.size() > 1 ? 1 : 0)));
  };
  return record(log_p.ndim() > 2 ? "NllLoss2DBackward0" : "NllLossBackward0", out, log_p,
                NamedFormula{std::tuple{ignore, reduction, SavedTensor(target), saved_if(weights.has_value(), weight),
                                        saved_if(one, total)},
                             std::move(formula), "ignore_index reduction target weight total_weight"});
}

// Losses of margins and, where `slopes` asks for it, their derivatives by x times g; undefined where a label is no
// class.
std::tuple<Tensor, Tensor> margins(const Tensor& x, const Tensor& target, int64_t p, double margin,
                                   const Tensor& weight, bool slopes, const Tensor& g) {
  bool fits = true;
  MarginLossPlan plan;
  plan.dtype = x.dtype();
  plan.several = target.ndim() == 2;
  plan.square = p == 2;
  plan.margin = margin;
  plan.rows = x.size(0), plan.classes = x.size(1);
  plan.target = target.data_as<int64_t>();
  plan.x = x.data();
  plan.weight = weight.defined() ? weight.data() : nullptr;
  plan.fits = &fits;
  const Tensor grad = g.defined() ? contiguous(g) : Tensor();
  plan.grad = g.defined() ? grad.data() : nullptr;
  const Tensor out = slopes ? empty(x.shape(), x.dtype(), x.device()) : empty({x.size(0)}, x.dtype(), x.device());
  (slopes ? plan.slopes : plan.out) = out.data();
  network_functions(x.device()).margin_loss(plan);
  if (!fits) return {};
  return slopes ? std::tuple(Tensor(), out) : std::tuple(out, Tensor());
}

// A logarithm, not below -100.
template <class Log>
Tensor bounded(const Tensor& x) {
  return elementwise<ClampMin>(elementwise<Log>(x), Scalar(-100));
}

}  // namespace

Tensor margin_loss(const Tensor& input, const Tensor& target, int64_t p, double margin,
                   const std::optional<Tensor>& weights) {
  const bool several = target.ndim() == 2;
  if (input.ndim() != 2 || !is_number_of_loss(input) || target.dtype() != DType::Int64 || (p != 1 && p != 2) ||
      (several ? target.shape() != input.shape() : target.ndim() != 1 || target.size(0) != input.size(0)) ||
      target.device() != input.device() || network_functions(input.device()).margin_loss == nullptr)
    return {};
  if (weights && (weights->dtype() != input.dtype() || weights->device() != input.device() || weights->ndim() != 1 ||
                  weights->numel() != input.size(1) || weights->requires_grad()))
    return {};
  if (p == 2 && grad_enabled() && input.requires_grad()) return {};  // its gradient is no constant
  const Tensor x = contiguous(input), labels = contiguous(target), weight = weights ? contiguous(*weights) : Tensor();
  const Tensor out = std::get<0>(margins(x, labels, p, margin, weight, false, {}));
  if (!out.defined() || !needs_grad(input)) return out;
  auto formula = [](const Tensor& g, int64_t p, double margin, const SavedTensor& x, const SavedTensor& labels,
                    const SavedTensor& weight) {
    const Tensor w = weight.was_saved() ? weight.get() : Tensor();
    const auto slopes = [&](const Tensor& by) {
      NoGradGuard guard;
      return std::get<1>(margins(x.get(), labels.get(), p, margin, w, true, by));
    };
    return grad_enabled() ? steady(slopes({}) * unsqueeze(g, 1)) : slopes(to_dtype(g, x.get().dtype()));
  };
  return record(
      several ? "MultilabelMarginLossBackward0" : "MultiMarginLossBackward0", out, input,
      NamedFormula{std::tuple{p, margin, SavedTensor(x), SavedTensor(labels), saved_if(weights.has_value(), weight)},
                   std::move(formula), several ? "- - self target -" : "p margin self target weight"});
}

Tensor binary_cross_entropy(const Tensor& x, const Tensor& y) {
  STRIDED_CHECK(x.dtype() == y.dtype() && x.shape() == y.shape() && is_number_of_loss(x), RuntimeError,
                "_binary_cross_entropy: dtypes ", x.dtype(), " and ", y.dtype(), ", shapes ", x.shape(), " and ",
                y.shape());
  Tensor out;
  {
    NoGradGuard guard;
    out = (y - 1) * bounded<Log1p>(-x);
    elementwise_<Addcmul>(out, y, bounded<Log>(x), -1.0);
  }
  if (!needs_grad(x, y)) return out;
  return record("BinaryCrossEntropyBackward0", out, {x, y},
                [x = SavedTensor(x), y = saved_if(x.requires_grad(), y), of_y = y.requires_grad()](const Tensor& g) {
                  const Tensor p = x.get();
                  Tensor to_x, to_y;
                  if (y.was_saved()) {
                    const Tensor spread = elementwise<ClampMin>((1 - p) * p, Scalar(1e-12));
                    to_x = g * ((p - y.get()) / spread);
                  }
                  if (of_y) to_y = g * (bounded<Log1p>(-p) - bounded<Log>(p));
                  return std::vector<Tensor>{to_x, to_y};
                });
}

Tensor pair_loss(const Tensor& x, const Tensor& y, const std::string& name, double delta,
                 const std::string& reduction) {
  const NetworkFunctions& functions = network_functions(x.device());
  const bool square = name == "mse";
  if (functions.pair_sums == nullptr || functions.pair_gradient == nullptr || x.numel() == 0) return {};
  if (!is_number_of_loss(x) || x.dtype() != y.dtype() || x.shape() != y.shape() || x.device() != y.device()) return {};
  if (reduction != "mean" && reduction != "sum") return {};
  const int64_t n = x.numel();
  const double each = (reduction == "mean" ? 1 / static_cast<double>(n) : 1) / (name == "smooth_l1" ? delta : 1);
  const auto plan_of = [square, delta, n](const Tensor& a, const Tensor& b) {
    PairLossPlan plan;
    plan.dtype = a.dtype();
    plan.kind = square ? PairLossPlan::Square : PairLossPlan::Huber;
    plan.delta = delta;
    plan.n = n;
    plan.x = a.data();
    plan.y = b.data();
    return plan;
  };
  double total = 0;
  {
    const Tensor a = contiguous(x), b = contiguous(y);
    std::vector<double> parts(static_cast<size_t>((n + PairLossPlan::kPiece - 1) / PairLossPlan::kPiece));
    PairLossPlan plan = plan_of(a, b);
    plan.parts = parts.data();
    functions.pair_sums(plan);
    for (double part : parts) total += part;
  }
  const Tensor out = full(Dims{}, Scalar(total * each), x.dtype(), x.device());
  if (!needs_grad(x, y)) return out;
  const char* node = square ? "MseLossBackward0" : name == "huber" ? "HuberLossBackward0" : "SmoothL1LossBackward0";
  auto formula = [of_x = x.requires_grad(), of_y = y.requires_grad(), square, each, plan_of](
                     const Tensor& g, const SavedTensor& x, const SavedTensor& y, double delta, int64_t) {
    const Tensor a = x.get(), b = y.get();
    Tensor to;
    if (grad_enabled()) {
      const double params[4] = {delta};
      const Operand in[] = {Operand(a), Operand(b)};
      const Tensor slope = square ? (a - b) * 2.0 : call_elementwise(op_def(elementwise_id<HuberSlope>), in, params);
      to = slope * (g * each);
    } else {
      const Tensor p = contiguous(a), q = contiguous(b);
      to = empty(a.shape(), a.dtype(), a.device());
      PairLossPlan plan = plan_of(p, q);
      const Tensor one = to_dtype(g, a.dtype());
      plan.factor =
          each * (a.dtype() == DType::Float64 ? *one.data_as<double>() : static_cast<double>(*one.data_as<float>()));
      plan.to = to.data();
      network_functions(a.device()).pair_gradient(plan);
    }
    return std::vector<Tensor>{of_x ? to : Tensor(), of_y ? -to : Tensor()};
  };
  return record(node, out, {x, y},
                NamedFormula{std::tuple{SavedTensor(x), SavedTensor(y), delta, int64_t{reduction == "mean" ? 1 : 2}},
                             std::move(formula),
                             square            ? "self target - reduction"
                             : name == "huber" ? "self target delta reduction"
                                               : "self target beta reduction"});
}

Tensor label_sums(const Tensor& scores, const Tensor& skips, const Tensor& lengths, const Tensor& labels,
                  bool backward) {
  const auto operation = network_functions(scores.device()).label_sums;
  if (operation == nullptr || scores.ndim() != 3 || !is_number_of_loss(scores) || needs_grad(scores)) return {};
  const int64_t batch = scores.size(1);
  if (skips.shape() != Dims{batch, scores.size(2)} || lengths.shape() != Dims{batch} || labels.shape() != Dims{batch} ||
      skips.dtype() != DType::Bool || lengths.dtype() != DType::Int64 || labels.dtype() != DType::Int64)
    return {};
  for (const Tensor* t : {&skips, &lengths, &labels})
    if (t->device() != scores.device()) return {};
  const Tensor x = contiguous(scores), may_skip = contiguous(skips), steps = contiguous(lengths),
               ends = contiguous(labels), out = empty(scores.shape(), scores.dtype(), scores.device());
  if (out.numel() == 0) return out;
  LabelSumsPlan plan;
  plan.dtype = x.dtype();
  plan.backward = backward;
  plan.steps = x.size(0);
  plan.batch = batch;
  plan.states = x.size(2);
  plan.lengths = steps.data_as<int64_t>();
  plan.labels = ends.data_as<int64_t>();
  plan.skips = may_skip.data_as<bool>();
  plan.scores = x.data();
  plan.out = out.data();
  operation(plan);
  return out;
}

Tensor nll_loss(const Tensor& log_p, const Tensor& target, const std::optional<Tensor>& weight,
                std::optional<int64_t> size_average, int64_t ignore_index, std::optional<int64_t> reduce,
                const std::string& reduction) {
  const std::optional<Reduction> kind = reduction_of(reduction);
  if (!kind || size_average || reduce || !has_operation(log_p, target, weight)) return {};
  return losses(log_p, target, weight, ignore_index, *kind);
}

Tensor cross_entropy(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight,
                     std::optional<int64_t> size_average, int64_t ignore_index, std::optional<int64_t> reduce,
                     const std::string& reduction, double label_smoothing) {
  const std::optional<Reduction> kind = reduction_of(reduction);
  if (!kind || size_average || reduce || label_smoothing != 0 || !has_operation(x, target, weight)) return {};
  return losses(log_softmax(x, x.ndim() > 1 ? 1 : 0, std::nullopt), target, weight, ignore_index, *kind);
}

}  // namespace strided
