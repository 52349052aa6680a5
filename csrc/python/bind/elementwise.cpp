// Functions, methods, in-place forms and out= of every row of the op table; nothing here knows an op by name, except
// the extra keywords (alpha, rounding_mode) at the end, and isclose and threshold, whose parameters are checked.
#include <cmath>

#include "core/promotion.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "python/bind/bind.h"

namespace strided::python {
namespace {

const OpDef& def_of(const Overload& o) { return *static_cast<const OpDef*>(o.context); }

// The value of addcmul and addcdiv is a number.
bool takes_tensor(const Overload& o, int k) { return o.params[k].type != "Number"; }

bool accepts(const Overload& o, int k, PyObject* arg) {
  const OpDef& op = def_of(o);
  if (k < op.arity) return is_number(arg) || (takes_tensor(o, k) ? is_tensor(arg) : detail::is_number_tensor(arg));
  if (o.params[k].name == "out") return arg == Py_None || is_tensor(arg);
  return arg == Py_None ? o.params[k].optional : detail::accepts_double(arg) || PyBool_Check(arg);
}

Notation notation(const Overload& o, int k) {
  if (k < def_of(o).arity) return {"Tensor TensorOrNumber Number", false};
  if (o.params[k].name == "out") return {"Tensor", true};
  return {"float int bool", o.params[k].optional};
}

void check_params(const OpDef& op, const Operand* in, PyObject* const* args, const double* params) {
  if (op.id == elementwise_id<Isclose>) check_tolerances(params[0], params[1]);
  // The value of threshold becomes an element.
  if (op.id == elementwise_id<Threshold> && in[0].tensor && is_integral(in[0].tensor->dtype()))
    check_fits(to_scalar(args[2]), in[0].tensor->dtype());
}

void read(const Overload& o, PyObject* const* args, Operand* in, double* params) {
  const OpDef& op = def_of(o);
  bool tensor = false;
  for (int i = 0; i < op.arity && !tensor; ++i) tensor = is_tensor(args[i]);
  STRIDED_CHECK(tensor, TypeError, o.name, "(): argument '", o.params[0].name, "' (position 1) must be Tensor, not ",
                Py_TYPE(args[0])->tp_name);
  for (int i = 0; i < op.arity; ++i)
    in[i] = is_tensor(args[i]) && takes_tensor(o, i) ? Operand(unwrap(args[i])) : Operand(to_scalar(args[i]));
  int p = 0;
  for (int i = op.arity; i < static_cast<int>(o.params.size()) && o.params[i].name != "out"; ++i)
    params[p++] = args[i] == Py_None ? none_param() : detail::to_double(args[i]);
  if (p) check_params(op, in, args, params);
}

PyObject* invoke(const Overload& o, PyObject* const* args) {
  Operand in[4] = {Scalar(), Scalar(), Scalar(), Scalar()};
  double params[4] = {};
  read(o, args, in, params);
  PyObject* out = o.params.back().name == "out" ? args[o.params.size() - 1] : Py_None;
  if (out == Py_None) return wrap(call_elementwise(def_of(o), in, params));
  call_elementwise_out(def_of(o), in, params, unwrap(out), false);
  return Py_NewRef(out);
}

PyObject* invoke_inplace(const Overload& o, PyObject* const* args) {
  Operand in[4] = {Scalar(), Scalar(), Scalar(), Scalar()};
  double params[4] = {};
  read(o, args, in, params);
  STRIDED_CHECK(is_tensor(args[0]), TypeError, o.name, "(): the first argument must be a Tensor");
  call_elementwise_out(def_of(o), in, params, unwrap(args[0]), true);
  return Py_NewRef(args[0]);
}

std::string operands_of(const OpDef& op, bool method) {
  std::string text = op.info->operands ? op.info->operands : op.arity == 1 ? "input" : "input, other";
  // Operands may be numbers, but for self, and for the first of one or three.
  if (method) text = "Tensor self" + text.substr(5);
  else text = (op.arity == 2 ? "TensorOrNumber " : "Tensor ") + text;
  for (size_t at = text.find(", "); at != std::string::npos; at = text.find(", ", at + 2)) {
    const std::string part = text.substr(at + 2, text.find(',', at + 2) - at - 2);
    if (part != "*" && part.find(' ') == std::string::npos) text.insert(at + 2, "TensorOrNumber ");
  }
  return text;
}

std::string accepted(const OpDef& op) {
  std::string text;
  for (int i = 0; i < kNumDTypes; ++i)
    if (op.supported[i]) text += (text.empty() ? "" : ", ") + std::string(kDTypeInfo[i].name);
  return text;
}

std::vector<std::string> names_of(const OpDef& op) {
  std::vector<std::string> names = {op.info->name};
  const std::string aliases = op.info->aliases;
  std::string part;
  for (char c : aliases + " ") {
    if (c != ' ') part += c;
    else if (!part.empty()) names.push_back(part), part.clear();
  }
  return names;
}

void bind(const OpDef& op) {
  std::string doc = std::string(op.info->doc) + "\n\nComputed in " + accepted(op) + ".";
  if (op.info->promote == Promote::Floating) doc += " Integers and bool are computed in the default float.";
  if (op.arity > 1) doc += " Operands broadcast and promote; a Python number adapts to the tensor.";
  for (const std::string& name : names_of(op)) {
    std::string params = op.info->params;
    const std::string operands = operands_of(op, false), method = operands_of(op, true);
    // `*` may stand in the operands or in the params; it is written once.
    auto signature = [&](const std::string& head, const std::string& who, bool out) {
      std::string text = head + "(" + who;
      bool star = who.find('*') != std::string::npos;
      if (!params.empty()) {
        std::string p = params;
        if (star && p.compare(0, 3, "*, ") == 0) p = p.substr(3);
        star = star || p.find('*') != std::string::npos;
        text += ", " + p;
      }
      if (out) text += std::string(star ? "" : ", *") + ", Tensor? out=None";
      return text + ")";
    };
    const ResultNotation tensor{"Tensor", 0};
    const detail::Callable plain{0, accepts, invoke, notation, tensor},
        inplace{0, accepts, invoke_inplace, notation, tensor};
    register_overload(signature(name, operands, true).c_str(), doc.c_str(), kFunction, plain, &op);
    const bool dotted = name.find('.') != std::string::npos;
    const bool is_method = op.info->method && !dotted;
    if (is_method) register_overload(signature(name, method, true).c_str(), doc.c_str(), kMethod, plain, &op);
    if (!op.info->inplace || (dotted && name != op.info->name)) continue;
    const std::string text =
        "In-place form of `" + name +
        "`: writes the result into `self` and returns it. The result must be castable to self's dtype.";
    const unsigned where = !is_method ? kFunction : op.arity == 1 ? kBoth : kMethod;
    register_overload(signature(name + "_", method, false).c_str(), text.c_str(), where, inplace, &op);
  }
}

void add_to(ResultType& type, const Operand& x) {
  if (x.tensor) type.add_tensor(x.tensor->dtype(), x.tensor->ndim() == 0);
  else type.add_scalar(x.scalar);
}
// other * alpha, in the dtype the sum will have.
Tensor scaled(const Operand& self, const Operand& other, const Scalar& alpha) {
  ResultType type;
  add_to(type, self);
  add_to(type, other);
  const DType t = type.get();
  STRIDED_CHECK(!(is_integral(t) && !alpha.is_integral()), RuntimeError,
                "For integral input tensors, argument alpha must not be a floating point number.");
  STRIDED_CHECK(is_complex(t) || !alpha.is_complex(), RuntimeError,
                "For non-complex input tensors, argument alpha must not be a complex number.");
  STRIDED_CHECK(!(alpha.is_bool() && t != DType::Bool), RuntimeError,
                "Boolean alpha only supported for Boolean results.");
  check_fits(alpha, t);
  const Device place = self.tensor ? self.tensor->device() : Device();
  const Tensor b = other.tensor ? to_dtype(*other.tensor, t) : scalar_tensor(other.scalar, t, place);
  return elementwise<Mul>(b, t == DType::Bool ? Scalar(alpha.to_bool()) : alpha);
}
// Whether self + alpha * other is one pass of Addcmul with the bits of Mul and Add: no gradient, whose node would get
// another name, and no dtype that rounds the product.
bool is_one_pass(const Operand& self, const Operand& other, const Scalar& alpha) {
  if (!self.tensor || !other.tensor || needs_grad(*self.tensor, *other.tensor)) return false;
  const DType t = self.tensor->dtype();
  if ((t != DType::Float32 && t != DType::Float64) || other.tensor->dtype() != t) return false;
  if (alpha.is_bool() || alpha.is_complex()) return false;
  check_fits(alpha, t);
  return true;
}
template <class Op>
Tensor combined(const Operand& self, const Tensor& other) {
  const Operand in[] = {self, Operand(other)};
  return call_elementwise(op_def(elementwise_id<Op>), in);
}
Tensor add_alpha(const Operand& self, const Operand& other, const Scalar& alpha) {
  if (is_one_pass(self, other, alpha)) return elementwise<Addcmul>(*self.tensor, *other.tensor, 1.0, alpha);
  return combined<Add>(self, scaled(self, other, alpha));
}
// sub refuses a bool beside another dtype; scaled() casts it before sub can see it.
const Operand& subtrahend(const Operand& self, const Operand& other) {
  const auto is_bool = [](const Operand& x) {
    return x.tensor ? x.tensor->dtype() == DType::Bool : x.scalar.is_bool();
  };
  STRIDED_CHECK(is_bool(self) == is_bool(other), RuntimeError,
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
                "mask, use the `~` or `logical_not()` operator instead.");
  return other;
}
Tensor sub_alpha(const Operand& self, const Operand& other, const Scalar& alpha) {
  if (is_one_pass(self, other, alpha)) return elementwise<Addcmul>(*self.tensor, *other.tensor, 1.0, -alpha.real());
  return combined<Sub>(self, scaled(self, subtrahend(self, other), alpha));
}
Tensor tensor_add_alpha(const Tensor& self, const Operand& other, const Scalar& alpha) {
  return add_alpha(Operand(self), other, alpha);
}
Tensor tensor_sub_alpha(const Tensor& self, const Operand& other, const Scalar& alpha) {
  return sub_alpha(Operand(self), other, alpha);
}
Tensor add_alpha_(const Tensor& self, const Operand& other, const Scalar& alpha) {
  if (is_one_pass(Operand(self), other, alpha)) return elementwise_<Addcmul>(self, *other.tensor, 1.0, alpha);
  return elementwise_<Add>(self, scaled(Operand(self), other, alpha));
}
Tensor sub_alpha_(const Tensor& self, const Operand& other, const Scalar& alpha) {
  if (is_one_pass(Operand(self), other, alpha)) return elementwise_<Addcmul>(self, *other.tensor, 1.0, -alpha.real());
  return elementwise_<Sub>(self, scaled(Operand(self), subtrahend(Operand(self), other), alpha));
}

template <class F>
Tensor rounded(const std::optional<std::string>& mode, F&& apply) {
  if (!mode) return apply(Tag<Div>{});
  if (*mode == "floor") return apply(Tag<FloorDivide>{});
  if (*mode == "trunc") return apply(Tag<DivTrunc>{});
  STRIDED_THROW(RuntimeError, "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *mode,
                "'");
}
Tensor div_rounding(const Operand& self, const Operand& other, std::optional<std::string> mode) {
  Tensor out = rounded(mode, [&](auto tag) {
    const Operand in[] = {self, other};
    return call_elementwise(op_def(elementwise_id<typename decltype(tag)::type>), in);
  });
  return mode ? shown_as("DivBackward2", std::move(out)) : out;
}
Tensor tensor_div_rounding(const Tensor& self, const Operand& other, std::optional<std::string> mode) {
  return div_rounding(Operand(self), other, std::move(mode));
}
Tensor div_rounding_(const Tensor& self, const Operand& other, std::optional<std::string> mode) {
  Tensor out = rounded(mode, [&](auto tag) {
    const Operand in[] = {Operand(self), other};
    return call_elementwise_out(op_def(elementwise_id<typename decltype(tag)::type>), in, nullptr, self, true);
  });
  return mode ? shown_as("DivBackward2", std::move(out)) : out;
}

// clamp with one bound left out.
Tensor clamp_some(const Tensor& self, std::optional<Operand> min, std::optional<Operand> max) {
  STRIDED_CHECK(min || max, RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None");
  const Operand in[] = {Operand(self), min ? *min : *max, max ? *max : *min};
  return shown_as(in[1].tensor ? "ClampBackward0" : "ClampBackward1",
                  call_elementwise(op_def(min && max ? elementwise_id<Clamp>
                                          : min      ? elementwise_id<ClampMin>
                                                     : elementwise_id<ClampMax>),
                                   in));
}
Tensor clamp_some_(const Tensor& self, std::optional<Operand> min, std::optional<Operand> max) {
  STRIDED_CHECK(min || max, RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None");
  const Operand in[] = {Operand(self), min ? *min : *max, max ? *max : *min};
  return call_elementwise_out(op_def(min && max ? elementwise_id<Clamp>
                                     : min      ? elementwise_id<ClampMin>
                                                : elementwise_id<ClampMax>),
                              in, nullptr, self, true);
}

}  // namespace

void bind_elementwise() {
  for (int i = 0; i < num_elementwise_ops(); ++i) bind(op_def(i));
  for (const std::string name : {"clamp", "clip"}) {
    constexpr const char* doc =
        "Each element brought between min and max; either may be None. If min > max the result is max; NaN stays NaN.";
    register_overload(
        (name + "(Tensor input, TensorOrNumber? min=None, TensorOrNumber? max=None, *, Tensor? out=None)").c_str(), doc,
        kBoth, detail::describe<&clamp_some>());
    register_overload((name + "_(Tensor self, TensorOrNumber? min=None, TensorOrNumber? max=None)").c_str(), doc, kBoth,
                      detail::describe<&clamp_some_>());
  }
  constexpr const char* alpha = "input + alpha * other (or minus).";
  const std::string with_alpha = " TensorOrNumber other, *, Number alpha=1, Tensor? out=None)";
  for (const std::string name : {"add", "sub", "subtract"}) {
    const bool sum = name == "add";
    register_overload((name + "(TensorOrNumber input," + with_alpha).c_str(), alpha, kFunction,
                      sum ? detail::describe<&add_alpha>() : detail::describe<&sub_alpha>());
    register_overload((name + "(Tensor self," + with_alpha).c_str(), alpha, kMethod,
                      sum ? detail::describe<&tensor_add_alpha>() : detail::describe<&tensor_sub_alpha>());
  }
  def<&add_alpha_>("add_(Tensor self, TensorOrNumber other, *, Number alpha=1)", alpha, kMethod);
  def<&sub_alpha_>("sub_(Tensor self, TensorOrNumber other, *, Number alpha=1)", alpha, kMethod);
  def<&sub_alpha_>("subtract_(Tensor self, TensorOrNumber other, *, Number alpha=1)", alpha, kMethod);
  constexpr const char* rounding =
      "Quotient, rounded: 'floor' down, 'trunc' toward zero, None not at all. Integers with 'floor' or 'trunc' stay integers.";
  for (const char* name : {"div", "divide"}) {
    const std::string text = name;
    const std::string rest = " TensorOrNumber other, *, str? rounding_mode=None, Tensor? out=None)";
    register_overload((text + "(TensorOrNumber input," + rest).c_str(), rounding, kFunction,
                      detail::describe<&div_rounding>());
    register_overload((text + "(Tensor self," + rest).c_str(), rounding, kMethod,
                      detail::describe<&tensor_div_rounding>());
    register_overload((text + "_(Tensor self, TensorOrNumber other, *, str? rounding_mode=None)").c_str(), rounding,
                      kMethod, detail::describe<&div_rounding_>());
  }
}

}  // namespace strided::python
