#include "ops/call.h"

#include <algorithm>
#include <cstring>

#include "backend/backend.h"
#include "core/promotion.h"
#include "ops/call_log.h"
#include "ops/call_reduction.h"
#include "ops/copy.h"
#include "ops/operators.h"
#include "ops/out.h"
#include "ops/record.h"
#include "tensor/iter.h"

namespace strided {
namespace {

constexpr int kMaxArity = ElementwiseNode::kMaxArity;

constexpr const char* kIntegerAddcdiv =
    "Integer division with addcdiv is no longer supported: give it floating-point tensors, or write "
    "input + value * torch.div(tensor1, tensor2, rounding_mode='trunc')";

[[noreturn]] void unsupported(const OpDef& op, DType compute) {
  const std::string name = op.info->name;
  STRIDED_CHECK(!(name == "sub" && compute == DType::Bool), RuntimeError,
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
                "operator instead.");
  STRIDED_CHECK(!(name == "neg" && compute == DType::Bool), RuntimeError,
                "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
                "use the `~` or "
                "`logical_not()` operator instead.");
  STRIDED_CHECK(!(name == "positive" && compute == DType::Bool), RuntimeError,
                "The `+` operator, on a bool tensor is not supported.");
  STRIDED_CHECK(!(name == "heaviside" && is_complex(compute)), RuntimeError,
                "heaviside is not yet implemented for complex tensors.");
  STRIDED_CHECK(!(name == "addcdiv" && is_integral(compute)), RuntimeError, kIntegerAddcdiv);
  STRIDED_THROW(NotImplementedError, "\"", name, "\" not implemented for '", compute, "'");
}

// What an elementwise call comes to before memory is touched.
struct Plan {
  DType compute;      // the loop's
  DType loop_result;  // what the loop gives
  DType result;       // what is returned: another dtype for one that has no loops
  Device device;
  Dims shape;
  bool same_shape = true;  // every operand with dimensions has `shape`
  bool simple = true;      // ... and is contiguous, or shows one element everywhere
  bool casts = false;
};

template <class Op>
bool is(const OpDef& op) {
  return op.id == elementwise_id<Op>;
}

// How many operands promote. The `value` of addcmul and addcdiv does not: it is cast, as in PyTorch.
int promoting(const OpDef& op, const Operand* in) {
  return (is<Addcmul>(op) || is<Addcdiv>(op)) && !in[3].tensor ? 3 : op.arity;
}

DType compute_dtype(const OpDef& op, const Operand* in) {
  DType t;
  const int arity = promoting(op, in);
  // Most calls: tensors of one dtype.
  const Tensor* first = in[0].tensor;
  bool same = first != nullptr;
  for (int i = 1; same && i < arity; ++i) same = in[i].tensor && in[i].tensor->dtype() == first->dtype();
  if (same) {
    t = first->dtype();
  } else {
    ResultType type;
    for (int i = 0; i < arity; ++i)
      if (in[i].tensor) type.add_tensor(in[i].tensor->dtype(), in[i].tensor->ndim() == 0);
      else type.add_scalar(in[i].scalar);
    t = type.get();
  }
  if (op.info->promote == Promote::Floating && is_integral(t)) t = default_dtype();
  return t;
}

// One element, however often it is shown.
bool is_constant(const Tensor& t) {
  for (int i = 0; i < t.ndim(); ++i)
    if (t.size(i) > 1 && t.strides()[i] != 0) return false;
  return t.numel() > 0;
}

// sub, heaviside, addcdiv and lerp refuse some pairs of dtypes that promote.
void check_pair(const OpDef& op, const Operand* in) {
  auto dtype = [&](int i) { return in[i].tensor ? in[i].tensor->dtype() : in[i].scalar.dtype(default_dtype()); };
  if (is<Addcdiv>(op)) {
    STRIDED_CHECK(!(is_integral(dtype(1)) && is_integral(dtype(2))), RuntimeError, kIntegerAddcdiv);
    return;
  }
  if (is<Lerp>(op)) {  // a weight of one element is a number
    for (int i : {1, 2})
      STRIDED_CHECK(!in[0].tensor || !in[i].tensor || (i == 2 && in[i].tensor->ndim() == 0) || dtype(i) == dtype(0),
                    RuntimeError, "expected dtype ", info_of(dtype(0)).written, " for `", i == 1 ? "end" : "weight",
                    "` but got dtype ", info_of(dtype(i)).written);
    return;
  }
  const DType a = dtype(0), b = dtype(1);
  if (is<Heaviside>(op))
    STRIDED_CHECK(a == b || !(in[0].tensor && in[1].tensor), RuntimeError,
                  "heaviside is not yet implemented for tensors with different dtypes.");
  else
    STRIDED_CHECK((a == DType::Bool) == (b == DType::Bool), RuntimeError,
                  "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
                  "mask, use the `~` or `logical_not()` operator instead.");
}

// A factor, divisor, weight or `value` that is a number, or a factor or divisor that is a 0-d tensor of another dtype,
// is not rounded to 16 bits, as in PyTorch: 1e5 is no infinity, 0.1 no 0.09998. The operation is computed in float32.
bool has_wide_number(const OpDef& op, const Operand* in, DType promoted) {
  if (promoted != DType::Float16 && promoted != DType::BFloat16) return false;
  const int first = is<Mul>(op) || is<Div>(op) ? 0 : is<Lerp>(op) ? 2 : is<Addcmul>(op) || is<Addcdiv>(op) ? 3 : 4;
  for (int i = first; i < op.arity; ++i)
    if (const Tensor* t = in[i].tensor) {
      if (first == 0 && t->ndim() == 0 && t->dtype() != promoted && is_floating(t->dtype())) return true;
    } else {
      const auto x = static_cast<float>(in[i].scalar.real());
      const auto held = promoted == DType::Float16 ? static_cast<float>(Half(x)) : static_cast<float>(BFloat16(x));
      if (held != x && x == x) return true;
    }
  return false;
}

// A target of an in-place operation must have the shape of the result, and a dtype that it can be cast to.
void check_target(const Tensor& target, const Dims& shape, DType result) {
  STRIDED_CHECK(shape == target.shape(), RuntimeError, "output with shape ", target.shape(),
                " doesn't match the broadcast shape ", shape);
  STRIDED_CHECK(can_cast(result, target.dtype()), RuntimeError, "result type ", result,
                " can't be cast to the desired output type ", target.dtype());
}

// target: the tensor an in-place operation writes to.
Plan make_plan(const OpDef& op, const Operand* in, const Tensor* target = nullptr) {
  Plan plan;
  const Tensor* lead = nullptr;
  for (int i = 0; i < op.arity; ++i) {
    const Tensor* t = in[i].tensor;
    if (!t) continue;
    if (!lead) {
      lead = t;
      plan.shape = t->shape();
      plan.simple = t->is_contiguous() || is_constant(*t);
      plan.device = t->device();
      continue;
    }
    if (t->device() != plan.device) {
      // A 0-d tensor of the CPU may meet tensors of a device.
      if (plan.device.is_cpu() && lead->ndim() == 0) plan.device = t->device();
      else
        STRIDED_CHECK(t->device().is_cpu() && t->ndim() == 0, RuntimeError,
                      "Expected all tensors to be on the same device, but found at least two devices, ", plan.device,
                      " and ", t->device(), "!");
    }
    if (t->shape() != plan.shape) {
      plan.same_shape = plan.same_shape && (t->ndim() == 0 || plan.shape.empty());
      plan.shape = broadcast_shapes(plan.shape, t->shape());
    }
    plan.simple = plan.simple && (t->is_contiguous() || is_constant(*t));
  }
  const DType promoted = compute_dtype(op, in);
  if (is<Sub>(op) || is<Heaviside>(op) || is<Addcdiv>(op) || is<Lerp>(op)) check_pair(op, in);
  if (!op.supported[index_of(promoted)]) {
    if (target) check_target(*target, plan.shape, promoted);
    unsupported(op, promoted);
  }
  plan.compute = has_wide_number(op, in, promoted) ? DType::Float32 : loop_dtype_of(promoted);
  plan.loop_result = op.out_dtype[index_of(plan.compute)];
  plan.result = op.out_dtype[index_of(promoted)];
  for (int i = 0; i < op.arity; ++i)
    if (in[i].tensor && in[i].tensor->dtype() != plan.compute) plan.casts = true;
  return plan;
}

// Integer division by zero has no value: it is an error, found before anything is written.
bool has_zero(const Tensor& t) {
  NoGradGuard no_grad;
  if (!backend(t.device()).short_loops || t.numel() > 64 || !t.is_contiguous()) {
    const ReductionDef& all = reduction_def(reduction_id<All>);
    return !truth(call_reduction(all, t, axis_mask("all", {}, t.ndim()), false, t.dtype(), 0), true);
  }
  return dispatch(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0, n = t.numel(); i < n; ++i) {
      T value;  // a view in another dtype need not be aligned
      std::memcpy(&value, t.data() + i * t.itemsize(), sizeof(T));
      if (value == T()) return true;
    }
    return false;
  });
}
// The divisor counts as it enters the loop: 256 is 0 in int8.
void check_divisor(const OpDef& op, const Operand* in, const Plan& plan) {
  if (op.arity != 2 || !is_integral(plan.compute)) return;
  if (!(is<FloorDivide>(op) || is<Remainder>(op) || is<Fmod>(op) || is<DivTrunc>(op))) return;
  if (Layout(plan.shape).numel() == 0) return;
  const Tensor* t = in[1].tensor;
  bool zero;
  if (t && t->dtype() != plan.compute) {
    NoGradGuard no_grad;
    zero = has_zero(to_dtype(*t, plan.compute));
  } else if (t) {
    zero = has_zero(*t);
  } else {
    const Element divisor(in[1].scalar, plan.compute);
    const int64_t size = size_of(plan.compute);
    zero = std::all_of(divisor.bytes, divisor.bytes + size, [](char byte) { return byte == 0; });
  }
  STRIDED_CHECK(!zero, RuntimeError, "ZeroDivisionError: ", op.info->name, " of integers by zero");
}

// PyTorch's rules for an exponent that is a number: no integer to a negative one, and none that wraps around.
void check_exponent(const OpDef& op, const Operand* in, DType compute) {
  if (!is<Pow>(op) || in[1].tensor) return;
  const Scalar& e = in[1].scalar;
  if (is_integral(compute))
    STRIDED_CHECK(e.real() >= 0, RuntimeError, "Integers to negative integer powers are not allowed.");
  if (size_of(compute) <= 2 || is_integral(compute)) check_fits(e, compute);
}

void check_values(const OpDef& op, const Operand* in, const Plan& plan) {
  check_divisor(op, in, plan);
  check_exponent(op, in, plan.compute);
}

// What a comparison of integers with an integer beyond their dtype gives for each of them; nullopt for others.
std::optional<bool> decided(const OpDef& op, const Operand* in, DType compute) {
  if (op.arity != 2 || !is_integer(compute) || !(op.info->saves == Saves::Nothing)) return std::nullopt;
  const int at = in[0].tensor ? 1 : 0;  // the number
  if (in[at].tensor || !in[at].scalar.is_integral()) return std::nullopt;
  const int side = beyond(in[at].scalar, compute);
  if (side == 0) return std::nullopt;
  const bool second_is_greater = (side > 0) == (at == 1);
  if (is<Eq>(op)) return false;
  if (is<Ne>(op)) return true;
  if (is<Lt>(op) || is<Le>(op)) return second_is_greater;
  if (is<Gt>(op) || is<Ge>(op)) return !second_is_greater;
  return std::nullopt;
}

// x ** 2 and the like need no general power: the op whose loop serves instead, or null. PyTorch makes the same choices.
const OpDef* simpler_power(const OpDef& op, const Operand* in, DType compute) {
  if (!is<Pow>(op) || !in[0].tensor || in[1].tensor || is_integral(compute) || in[1].scalar.is_complex())
    return nullptr;
  const double e = in[1].scalar.real();
  if (e == 1) return &op_def(elementwise_id<Positive>);
  if (e == 2) return &op_def(elementwise_id<Square>);
  if (e == 3) return &op_def(elementwise_id<Cube>);
  if (e == -2) return &op_def(elementwise_id<InverseSquare>);
  if (is_complex(compute)) return nullptr;
  if (e == -0.5) return &op_def(elementwise_id<Rsqrt>);
  return e == 0.5 ? &op_def(elementwise_id<Sqrt>) : e == -1 ? &op_def(elementwise_id<Reciprocal>) : nullptr;
}

// A product of 16-bit floats with a number, or their quotient by one: the op that takes the number as it is, or null.
// `plan` computes such in float32, by way of a copy of the whole.
const OpDef* by_number(const OpDef& op, const Operand* in, const Plan& plan, int* at) {
  if (!is<Mul>(op) && !is<Div>(op)) return nullptr;
  if (plan.result == plan.loop_result || !has_loops(plan.result)) return nullptr;
  *at = in[0].tensor ? 0 : 1;
  const Operand &x = in[*at], &number = in[1 - *at];
  if (number.tensor || x.tensor->dtype() != plan.result || (is<Div>(op) && *at == 1)) return nullptr;
  return is<Mul>(op) ? &op_def(elementwise_id<TimesNumber>) : &op_def(elementwise_id<OverNumber>);
}

void run(const OpDef& op, const Operand* in, const Plan& plan, const double* params, const Tensor& out) {
  if (const OpDef* simpler = simpler_power(op, in, plan.compute)) return run(*simpler, in, plan, nullptr, out);
  int at;
  if (const OpDef* simpler = by_number(op, in, plan, &at)) {
    Plan narrow = plan;
    narrow.compute = narrow.loop_result = plan.result;
    narrow.casts = false;
    const double number[4] = {in[1 - at].scalar.real()};
    return run(*simpler, in + at, narrow, number, out);
  }
  if (plan.result != plan.loop_result && out.dtype() != plan.result) {  // rounded to the result's dtype on the way
    const Tensor result = empty(plan.shape, plan.result, plan.device);
    run(op, in, plan, params, result);
    return copy_into(out, result);
  }
  if (const auto answer = decided(op, in, plan.compute)) return fill_into(out, Scalar(*answer));
  const int64_t n = out.numel();
  if (n == 0) return;
  Element* elements = nullptr;
  alignas(Element) char space[kMaxArity * sizeof(Element)];
  auto element = [&](int i) {
    if (!elements) elements = reinterpret_cast<Element*>(space);
    return new (&elements[i]) Element(in[i].scalar, plan.compute, op.numbers);
  };
  const Backend& slots = backend(plan.device);
  if (slots.short_loops && n <= ShortLoops::kMost && plan.same_shape && plan.simple && !plan.casts &&
      out.dtype() == plan.loop_result && out.is_contiguous()) {
    const Loop2d loop = slots.short_loops->elementwise[op.id][index_of(plan.compute)];
    const int64_t itemsize = size_of(plan.compute);
    char* data[kMaxArity + 1] = {out.data()};
    int64_t strides[2 * (kMaxArity + 1)] = {out.itemsize()};
    for (int i = 0; i < op.arity; ++i) {
      const Tensor* t = in[i].tensor;
      data[i + 1] = t ? t->data() : element(i)->bytes;
      strides[i + 1] = t && t->numel() == n && t->is_contiguous() ? itemsize : 0;
    }
    return loop(data, strides, n, 1, params);
  }
  TensorIterator iter(plan.shape);
  iter.add(out);
  for (int i = 0; i < op.arity; ++i)
    if (in[i].tensor) iter.add(*in[i].tensor);
    else iter.add_scalar(element(i)->bytes, plan.compute);
  iter.plan();
  slots.elementwise(iter.loop_plan(op.info->name, plan.device), op.id, plan.compute, params);
}

// The order of axes of a new result: that of the operands.
Dims result_strides(const OpDef& op, const Operand* in, const Plan& plan) {
  TensorIterator iter(plan.shape);
  for (int i = 0; i < op.arity; ++i)
    if (in[i].tensor) iter.add(*in[i].tensor);
  return iter.output_strides();
}
Tensor allocate(const OpDef& op, const Operand* in, const Plan& plan) {
  if (plan.simple && plan.same_shape) return empty(plan.shape, plan.result, plan.device);
  checked_numel(op.info->name, plan.shape);
  return empty_strided(plan.shape, result_strides(op, in, plan), plan.result, plan.device);
}

bool any_requires_grad(const OpDef& op, const Operand* in) {
  if (!grad_enabled()) return false;
  for (int i = 0; i < op.arity; ++i)
    if (in[i].tensor && in[i].tensor->requires_grad()) return true;
  return false;
}

bool is_true_or_false(const OpDef& op) { return op.out_dtype[index_of(DType::Float32)] == DType::Bool; }

// Null where the result has no gradient. That of a comparison in place is floating, and its gradient is zero.
Ref<ElementwiseNode> make_elementwise_node(const OpDef& op, const Operand* in, const double* params, DType result) {
  if (is_integral(result)) return {};
  STRIDED_CHECK(op.vjp || is_true_or_false(op), NotImplementedError, "derivative for ", op.info->name,
                " is not implemented");
  return Ref<ElementwiseNode>(new ElementwiseNode(op, in, params));
}

// Whether the values of an operand are looked at before the call, or decide whether there is one.
bool looks_at_values(const OpDef& op, const Operand* in, const Plan& plan) {
  const bool divides = is<FloorDivide>(op) || is<Remainder>(op) || is<Fmod>(op) || is<DivTrunc>(op);
  return (divides && is_integral(plan.compute)) || decided(op, in, plan.compute);
}

void log_call(CallLog* log, const OpDef& op, const Operand* in, const Plan& plan, const double* params,
              const Tensor& out) {
  LoggedCall call;
  const OpDef* simpler = simpler_power(op, in, plan.compute);
  call.op = &op;
  call.loop = simpler ? simpler : &op;
  call.compute = plan.compute;
  for (int i = 0; i < op.arity; ++i)
    if (in[i].tensor) call.in.emplace_back(*in[i].tensor);
    else call.in.emplace_back(in[i].scalar);
  if (params) std::copy(params, params + 4, call.params);
  call.out = out;
  if (looks_at_values(op, in, plan)) call.obstacle = "looks at values";
  else if (plan.result != plan.loop_result)
    call.obstacle = has_loops(plan.result) ? "a number does not fit 16 bits" : "the dtype has no loops";
  log->calls.push_back(std::move(call));
}

}  // namespace

Tensor call_elementwise(const OpDef& op, const Operand* in, const double* params) {
  const Plan plan = make_plan(op, in);
  // Nothing to compute: the result is the operand itself, as in PyTorch.
  if ((is<Positive>(op) || (is<ConjPhysical>(op) && !is_complex(plan.compute))) && in[0].tensor) return *in[0].tensor;
  check_values(op, in, plan);
  Tensor out = allocate(op, in, plan);
  run(op, in, plan, params, out);
  if (CallLog* log = call_log()) log_call(log, op, in, plan, params, out);
  if (any_requires_grad(op, in))
    if (const auto node = make_elementwise_node(op, in, params, out.dtype())) {
      set_history(out, node);
      node->save_output(out);
    }
  return out;
}

Tensor call_elementwise_out(const OpDef& op, const Operand* in, const double* params, const Tensor& out,
                            bool in_place) {
  if (CallLog* log = call_log()) ++log->writes;
  const Plan plan = make_plan(op, in, in_place ? &out : nullptr);
  const bool wants = any_requires_grad(op, in), grad = wants || (grad_enabled() && out.requires_grad());
  if (in_place) {
    check_inplace(op.info->name, out, wants);
    STRIDED_CHECK(!is<Abs>(op) || !is_complex(out.dtype()), RuntimeError,
                  "In-place abs is not supported for complex tensors.");
    check_target(out, plan.shape, plan.result);
    STRIDED_CHECK(plan.device == out.device(), RuntimeError, op.info->name, ": the result is on ", plan.device,
                  ", the tensor to write to on ", out.device());
  } else if (wants && !is_integral(plan.result)) {
    refuse_gradient(op.info->name);
  }
  check_values(op, in, plan);  // before `out` is resized
  if (!in_place) {
    // An input that is `out` itself is read from a copy if `out` is resized.
    for (int i = 0; i < op.arity && out.shape() != plan.shape; ++i) {
      if (!in[i].tensor || in[i].tensor->impl() != out.impl()) continue;
      Operand apart[kMaxArity] = {in[0], op.arity > 1 ? in[1] : in[0], op.arity > 2 ? in[2] : in[0],
                                  op.arity > 3 ? in[3] : in[0]};
      const Tensor copy = clone(out);
      apart[i].tensor = &copy;
      return call_elementwise_out(op, apart, params, out, false);
    }
    const bool resized = out.shape() != plan.shape;
    prepare_out(op.info->name, out, plan.shape, plan.result, plan.device);
    if (resized && !(plan.simple && plan.same_shape))
      out.impl()->layout = Layout(plan.shape, result_strides(op, in, plan), out.layout().offset);
  }
  // An input that shares some memory with the output, but not all in step: certain when both are blocks without gaps,
  // and then an error, as in PyTorch. Else it is only possible, and the input is read from a copy.
  Tensor copies[kMaxArity];
  Operand safe[kMaxArity] = {in[0], op.arity > 1 ? in[1] : in[0], op.arity > 2 ? in[2] : in[0],
                             op.arity > 3 ? in[3] : in[0]};
  for (int i = 0; i < op.arity; ++i) {
    const Tensor* t = in[i].tensor;
    if (!t || &t->storage() != &out.storage() || t->impl() == out.impl()) continue;
    if (overlap(t->layout(), t->itemsize(), out.layout(), out.itemsize()) != Overlap::Some) continue;
    STRIDED_CHECK(!(t->layout().is_dense() && out.layout().is_dense()), RuntimeError, op.info->name,
                  ": unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                  "single memory location. Please "
                  "clone() the tensor before performing the operation.");
    copies[i] = clone(*t);
    safe[i].tensor = &copies[i];
  }
  Ref<ElementwiseNode> node;
  if (grad) {
    // Gradients of in-place operations: the node is made before the write. An operand whose old value the
    // gradient reads is saved as a copy if the write changes it; PyTorch raises in the backward pass instead.
    Tensor old[kMaxArity];
    Operand before[kMaxArity] = {safe[0], safe[1], safe[2], safe[3]};
    for (int i = 0; i < op.arity && saves_inputs(op.info->saves); ++i) {
      const Tensor* t = safe[i].tensor;
      bool read = false;
      for (int k = 0; k < op.arity; ++k)
        read = read || (op.reads[k] >> i & 1 && in[k].tensor && in[k].tensor->requires_grad());
      if (!read || !t || &t->storage() != &out.storage()) continue;
      // An empty one overlaps nothing, but shares the version that the write counts up.
      if (t->numel() != 0 && overlap(t->layout(), t->itemsize(), out.layout(), out.itemsize()) == Overlap::None)
        continue;
      old[i] = clone(*t);
      before[i].tensor = &old[i];
    }
    node = make_elementwise_node(op, before, params, out.dtype());
  }
  run(op, safe, plan, params, out);
  bump_version(out, op.inplace_name.c_str());
  if (node) {
    rebase_history(out, node);
    node->save_output(out);
  }
  return out;
}

void check_has_loops(const char* op, DType dtype) {
  STRIDED_CHECK(has_loops(dtype), NotImplementedError, "\"", op, "\" not implemented for '", dtype, "'");
}

void check_same_device(const char* op, const Tensor& a, const Tensor& b) {
  STRIDED_CHECK(a.device() == b.device(), RuntimeError,
                "Expected all tensors to be on the same device, but found at least two devices, ", a.device(), " and ",
                b.device(), "! (when checking arguments of ", op, ")");
}

}  // namespace strided
