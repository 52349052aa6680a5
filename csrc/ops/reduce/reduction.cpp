// Reductions as public functions: checks, promotion, gradients.
#include "ops/reduce/reduction.h"

#include <array>
#include <string_view>

#include "core/promotion.h"
#include "ops/call_log.h"
#include "ops/index/index.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/gradients.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

template <class Op, class = void>
struct VjpOf {
  static constexpr Tensor (*value)(const Tensor&, const ReduceSaved<Tensor>&) = nullptr;
};
template <class Op>
struct VjpOf<Op, std::void_t<decltype(&Op::template vjp<Tensor>)>> {
  static constexpr Tensor (*value)(const Tensor&, const ReduceSaved<Tensor>&) = Op::template vjp<Tensor>;
};
using Vjp = Tensor (*)(const Tensor& grad, const ReduceSaved<Tensor>& saved);

// The gradient in the words of ops/reduce/gradients.h; null when there is none.
Vjp vjp_of(const ReductionDef& def) {
  static const auto table = [] {
    std::array<Vjp, kNumReductions> made{};
    for_each(ReductionOps{}, [&](auto tag, int id) { made[id] = VjpOf<typename decltype(tag)::type>::value; });
    return made;
  }();
  return table[def.id];
}

// The largest real part is taken out before exp.
Tensor complex_logsumexp(const Tensor& x, const Dims& dims, bool keepdim) {
  const uint64_t axes = axis_mask("logsumexp", dims, x.ndim());
  if (is_empty_along(x, axes)) return elementwise<Log>(sum(x, dims, keepdim));
  Tensor top;
  {
    NoGradGuard guard;
    top = amax(real(x), dims, true);
    top = masked_fill(top, elementwise<Isinf>(top), Scalar(0));
  }
  const Tensor total = sum(elementwise<Exp>(x - top), dims, keepdim);
  return elementwise<Log>(total) + reshape(top, total.shape());
}

}  // namespace

bool is_empty_along(const Tensor& x, uint64_t axes) {
  for (int i = 0; i < x.ndim(); ++i)
    if (axes >> i & 1 && x.size(i) == 0) return true;
  return false;
}

int64_t count_along(const Dims& shape, uint64_t axes) {
  int64_t n = 1;
  for (int i = 0; i < shape.ndim(); ++i)
    if (axes >> i & 1) n *= shape[i];
  return n;
}

// A reduction without identity: what PyTorch says of an axis without elements.
void check_not_empty(const char* op, const Tensor& x, uint64_t axes, bool listed) {
  if (!is_empty_along(x, axes)) return;
  STRIDED_CHECK(listed, RuntimeError, op,
                "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
                "'dim' argument.");
  for (int i = 0; i < x.ndim(); ++i)
    STRIDED_CHECK(!(axes >> i & 1) || x.size(i) != 0, IndexError, op, "(): Expected reduction dim ", i,
                  " to have non-zero size.");
}

namespace {

[[noreturn]] void refuse(const ReduceInfo& info, DType compute, bool given) {
  STRIDED_CHECK(info.refusal, NotImplementedError, "\"", info.name, "\" not implemented for '", cpp_name_of(compute),
                "'");
  std::string text = info.refusal;
  auto put = [&](const std::string& what, const std::string& value) {
    const size_t at = text.find(what);
    if (at != std::string::npos) text.replace(at, what.size(), value);
  };
  put("{which}", given ? "Optional" : "Input");
  put("{dtype}", cpp_name_of(compute));
  throw RuntimeError(text);
}

// What the user named: one axis where the function takes no list.
struct ShownAxes {
  std::optional<Dims> dims;
  const ReduceInfo& info;
};
SavedValue saved_value(const Node&, const ShownAxes& axes) {
  if (!axes.dims) return {};
  constexpr std::string_view one = "int? dim";
  return std::string_view(axes.info.arguments).substr(0, one.size()) == one ? SavedValue((*axes.dims)[0])
                                                                            : SavedValue(*axes.dims);
}

}  // namespace

Tensor reduced_as(const char* name, const char* node, const ReductionDef& def, const Tensor& x,
                  const ReduceArguments& arguments) {
  const ReduceInfo& info = *def.info;
  DType compute = arguments.dtype.value_or(x.dtype());
  if (info.promote == Promote::Floating && is_integral(compute)) compute = default_dtype();
  if (def.check) def.check(arguments.param);
  if (!def.supported[index_of(compute)]) {
    if (def.on_integers >= 0 && is_integral(compute)) return reduced(reduction_def(def.on_integers), x, arguments);
    if (def.id == reduction_id<LogSumExp> && is_complex(compute))
      return complex_logsumexp(x, arguments.dims.value_or(Dims()), arguments.keepdim);
    refuse(info, compute, arguments.dtype.has_value());
  }
  const bool empty_list = arguments.dims && arguments.dims->empty(), listed = arguments.dims && !empty_list;
  const uint64_t axes =
      empty_list && info.no_axes == NoAxes::None ? 0 : axis_mask(name, arguments.dims.value_or(Dims()), x.ndim());
  if (info.empty == OnEmpty::Error) check_not_empty(name, x, axes, listed);
  Tensor out = call_reduction(def, x, axes, arguments.keepdim, compute, arguments.param);
  if (CallLog* log = call_log(); log && !arguments.dtype) {
    LoggedCall call;
    call.kind = LoggedCall::Kind::Reduction;
    call.reduction = &def;
    call.compute = compute;
    call.in.emplace_back(x);
    call.params[0] = arguments.param;
    call.axes = axes;
    call.keepdim = arguments.keepdim;
    call.listed = listed || (empty_list && info.no_axes == NoAxes::None);
    call.out = out;
    if (!has_loops(compute)) call.obstacle = "the dtype has no loops";
    log->calls.push_back(std::move(call));
  }
  // sum(dtype=int32) adds in 64 bits, and keeps the low ones.
  if (arguments.dtype && out.dtype() != *arguments.dtype) out = to_dtype(out, *arguments.dtype);
  if (!needs_grad(x) || is_integral(out.dtype())) return out;
  const Vjp vjp = vjp_of(def);
  if (!vjp) return out;
  auto formula = [vjp, axes](const Tensor& g, const ShownAxes&, bool keepdim, const SavedTensor& x,
                             const SavedTensor& out, const Dims& shape) {
    const auto count = static_cast<double>(count_along(shape, axes));
    return vjp(
        g, {x.was_saved() ? x.get() : Tensor(), out.was_saved() ? out.get() : Tensor(), shape, axes, keepdim, count});
  };
  return record(
      node ? node : def.node_name[listed].c_str(), out, x,
      NamedFormula{std::tuple{ShownAxes{arguments.dims, info}, arguments.keepdim, saved_if(saves_inputs(info.saves), x),
                              saves_output(info.saves) ? SavedTensor::output(out) : SavedTensor(), x.shape()},
                   std::move(formula), node ? "- - self result -" : def.saved_names[listed].c_str()});
}

Tensor reduced(const ReductionDef& def, const Tensor& x, const ReduceArguments& arguments) {
  return reduced_as(def.info->name, nullptr, def, x, arguments);
}

}  // namespace strided
