#include "ops/nodes.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

#include "base/parallel.h"
#include "ops/copy.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/shape/view.h"
#include "ops/steady.h"
#include "tensor/foreign.h"

namespace strided {

// ---------------------------------------------------------------- elementwise ops

namespace {

// A number as the gradient's formula meets it: of the gradient's dtype where that loses nothing, so that the loop
// needs no cast.
Tensor number(const Scalar& v, const Tensor& grad) {
  const DType t = grad.dtype();
  const bool same = (t == DType::Float32 || t == DType::Float64) && !v.is_complex();
  const Tensor out = empty(Dims(), same ? t : v.dtype(DType::Float64), grad.device());
  fill_into(out, v);  // as in the forward pass, a number beyond the dtype is infinite
  return out;
}

// The gradient of a^e for a number e: its powers are as cheap as those of the forward pass.
Tensor power_gradient(const Tensor& g, const Tensor& a, const Scalar& e) {
  const bool real = !e.is_complex();
  if (real && e.real() == 0) return zeros_like(g);
  if (real && e.real() == 1) return g;
  if (real && e.real() == 2) return g * conj(a * e);
  const Scalar below = real ? Scalar(e.real() - 1) : Scalar(e.real() - 1, e.imag());
  return g * conj(elementwise<Pow>(a, below) * e);
}

// What a signature's text says: "float alpha=1, *, int n" has alpha and n.
struct Argument {
  std::string type, name;
};
std::vector<Argument> arguments_of(std::string_view text) {
  std::vector<Argument> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(", "), text.size());
    std::string_view each = text.substr(0, text.substr(0, end).find('='));
    each = each.substr(0, end);
    text.remove_prefix(std::min(end + 2, text.size()));
    const size_t space = each.rfind(' ');
    if (each == "*") continue;
    out.push_back({std::string(space == each.npos ? "" : each.substr(0, space)),
                   std::string(space == each.npos ? each : each.substr(space + 1))});
  }
  return out;
}

// The names by which operands are shown: PyTorch's.
std::vector<std::string> operand_names(const OpDef& op) {
  std::vector<std::string> names;
  for (Argument& each : arguments_of(op.info->operands ? op.info->operands : "input, other"))
    names.push_back(each.name == "input" ? "self" : std::move(each.name));
  return names;
}
// Operands are saved in the order of their names, as in PyTorch: hooks of the user see it.
using Places = std::array<uint8_t, ElementwiseNode::kMaxArity>;
const Places& saving_order(const OpDef& op) {
  static const std::vector<Places> orders = [] {
    std::vector<Places> made(static_cast<size_t>(num_elementwise_ops()));
    for (int id = 0; id < num_elementwise_ops(); ++id) {
      const OpDef& each = op_def(id);
      const std::vector<std::string> names = operand_names(each);
      Places& places = made[static_cast<size_t>(id)];
      std::iota(places.begin(), places.end(), uint8_t{0});
      std::sort(places.begin(), places.begin() + each.arity, [&](int a, int b) { return names[a] < names[b]; });
    }
    return made;
  }();
  return orders[static_cast<size_t>(op.id)];
}

}  // namespace

ElementwiseNode::ElementwiseNode(const OpDef& op, const Operand* in, const double* params) : op_(op) {
  for (int i = 0; i < op.arity; ++i) {
    is_tensor_[i] = in[i].tensor != nullptr;
    add_edge(is_tensor_[i] ? gradient_edge(*in[i].tensor) : Edge{});
  }
  if (saves_inputs(op.info->saves)) {
    const unsigned reads = operands_read();
    const Places& order = saving_order(op);
    for (int k = 0; k < op.arity; ++k) {
      const int i = order[k];
      if (!is_tensor_[i]) scalar_[i] = in[i].scalar;
      else if (reads >> i & 1) in_[i] = SavedTensor(*in[i].tensor);
    }
  }
  if (params) std::copy(params, params + 4, params_);
}

unsigned ElementwiseNode::operands_read() const {
  unsigned reads = 0;
  for (int i = 0; i < op_.arity; ++i)
    if (next[i].node) reads |= op_.reads[i];
  return reads;
}

// c^x with c > 0, whose gradient is read off the result.
bool ElementwiseNode::is_power_of_number() const {
  return op_.id == elementwise_id<Pow> && !is_tensor_[0] && !scalar_[0].is_complex() && scalar_[0].real() > 0;
}

bool ElementwiseNode::is_reflected() const { return op_.info->reflected && !is_tensor_[0]; }

size_t ElementwiseNode::overload() const {
  size_t found = 0, each = 0;
  for (const char* kind = op_.info->overloads; *kind; ++each) {
    bool fits = true;
    for (int i = 0; i < op_.arity; ++i, ++kind) fits &= *kind == '.' || is_tensor_[i] == (*kind == 't');
    if (*kind == 'p') ++kind, fits &= params_[0] != 0;
    if (fits) found = each;
    if (*kind == ' ') ++kind;
  }
  return found;
}

const char* ElementwiseNode::own_name() const {
  return is_reflected() ? op_.info->reflected : op_.node_names[overload()].c_str();
}

void ElementwiseNode::save_output(const Tensor& out) {
  if (saves_output(op_.info->saves) || is_power_of_number()) out_ = SavedTensor::output(out);
}

void ElementwiseNode::release_saved() {
  for (SavedTensor& t : in_)
    if (t.defined()) t.release();
  if (out_.defined()) out_.release();
}

struct ElementwiseNode::Shown {
  std::string name;
  const SavedTensor* tensor;  // null: `value`
  SavedValue value;
};

// By the names of the arguments.
std::vector<ElementwiseNode::Shown> ElementwiseNode::shown() const {
  std::vector<Shown> out;
  const Info& info = *op_.info;
  if (shown_as || (is_reflected() && saves_inputs(info.saves))) return out;  // another function's name
  if (saves_inputs(info.saves)) {
    unsigned reads = 0;
    for (int i = 0; i < op_.arity; ++i)
      if (is_tensor_[i] || !*info.overloads) reads |= op_.reads[i];
    std::vector<std::string> names = operand_names(op_);
    for (int i = 0; i < op_.arity; ++i) {
      if (!(reads >> i & 1)) continue;
      SavedValue number;
      if (!is_tensor_[i])
        number = info.operands ? SavedValue(scalar_[i])
                               : SavedValue(full(Dims(), scalar_[i], scalar_[i].dtype(DType::Float64)));
      out.push_back({std::move(names[i]), in_[i].was_saved() ? &in_[i] : nullptr, std::move(number)});
    }
  }
  if (out_.was_saved()) out.push_back({"result", &out_, {}});
  int k = 0;
  for (const Argument& p : arguments_of(info.params)) {
    const double v = params_[k++];
    SavedValue value;
    if (!is_none(v))
      value = p.type == "bool"  ? SavedValue(v != 0)
              : p.type == "int" ? SavedValue(static_cast<int64_t>(v))
                                : SavedValue(Scalar(v));
    out.push_back({p.name, nullptr, std::move(value)});
  }
  // The factor of the second operand has a node of its own.
  if (op_.id == elementwise_id<Add> || op_.id == elementwise_id<Sub>)
    out.push_back({"alpha", nullptr, SavedValue(int64_t{1})});
  out.erase(std::remove_if(out.begin(), out.end(),
                           [&](const Shown& each) { return place_of_name(info.hidden, each.name.c_str()) >= 0; }),
            out.end());
  return out;
}
bool ElementwiseNode::find_saved(const char* what, SavedValue* out) {
  for (Shown& each : shown()) {
    if (each.name != what) continue;
    *out = each.tensor ? SavedValue(each.tensor->get()) : std::move(each.value);
    return true;
  }
  return false;
}
std::vector<std::string> ElementwiseNode::saved_names() const {
  std::vector<std::string> names;
  for (Shown& each : shown()) names.push_back(std::move(each.name));
  return names;
}

TensorList ElementwiseNode::apply(TensorList& grads) {
  const CurrentNodeGuard running(this);
  TensorList result(static_cast<size_t>(op_.arity));
  if (op_.id == elementwise_id<Pow> && !is_tensor_[1]) {
    result[0] = power_gradient(grads[0], in_[0].get(), scalar_[1]);
    return result;
  }
  if (is_power_of_number()) {
    result[1] = grads[0] * conj(out_.get() * Scalar(std::log(scalar_[0].real())));
    return result;
  }
  Saved<Tensor> saved;
  saved.params = params_;
  if (saves_inputs(op_.info->saves)) {
    const unsigned reads = operands_read();
    for (int i = 0; i < op_.arity; ++i)
      if (reads >> i & 1) saved.in[i] = is_tensor_[i] ? in_[i].get() : number(scalar_[i], grads[0]);
  }
  if (saves_output(op_.info->saves)) saved.out = out_.get();
  // A real base with a complex exponent: the formula takes the base's logarithm.
  if (op_.id == elementwise_id<Pow> && saved.in[0].defined() && is_complex(grads[0].dtype()))
    saved.in[0] = to_dtype(saved.in[0], grads[0].dtype());
  for (int i = 0; i < op_.arity; ++i)
    if (next[i].node && is_gradient_used(i))  // without a formula: a comparison in place
      result[i] = op_.vjp ? op_.vjp(i, grads[0], saved) : zeros_like(grads[0]);
  if (op_.info->steady) result[0] = steady(result[0]);
  return result;
}

// ---------------------------------------------------------------- leaves

namespace {

// Serves threads that build graphs over the same leaf.
std::mutex accumulators;

// Two threads may add to the same leaf. The lock covers kernels, during which the interpreter's lock may be given up;
// so it is never waited for while that is held (base/parallel.h).
std::mutex& leaf_mutex(const Tensor& leaf) {
  static std::mutex stripes[64];
  // A forked child has none of the threads that may hold them.
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    for (std::mutex& m : stripes) new (&m) std::mutex;
  });
  static_cast<void>(registered);
  return stripes[reinterpret_cast<uintptr_t>(leaf.impl()) / sizeof(TensorImpl) % 64];
}

// A leaf that got another shape (set_, .data = ...) or grad_dtype while an old graph holds its node needs another one.
bool fits(const Node::Output& made_for, const Tensor& leaf) {
  const std::optional<DType> dtype = gradient_dtype(leaf);
  return made_for.shape == leaf.shape() && made_for.any_dtype == !dtype && (!dtype || made_for.dtype == *dtype) &&
         made_for.device == leaf.device();
}

}  // namespace

AccumulateGrad::~AccumulateGrad() {
  const std::lock_guard<std::mutex> lock(accumulators);
  if (AutogradMeta* meta = leaf_.impl()->autograd.get(); meta && meta->accumulator == this) meta->accumulator = nullptr;
}

Ref<Node> AccumulateGrad::of(const Tensor& leaf) {
  AutogradMeta& meta = autograd_meta(leaf);
  Ref<Node> made;
  for (;;) {
    {
      const std::lock_guard<std::mutex> lock(accumulators);
      if (meta.accumulator)
        if (Ref<Node> node = Ref<Node>::if_alive(meta.accumulator); node && fits(node->output(0), leaf)) return node;
      if (made) {
        meta.accumulator = made.get();
        return made;
      }
    }
    made = Ref<Node>(new AccumulateGrad(leaf));  // without the lock: anomaly mode runs Python there
  }
}

TensorList AccumulateGrad::apply(TensorList& grads) {
  Tensor grad = std::move(grads[0]);
  AutogradMeta& meta = autograd_meta(leaf_);
  Tensor old;  // held while it is added to: another thread may take it away; and let go after the lock
  const GilReleasingLock lock(leaf_mutex(leaf_));
  old = meta.grad;
  if (is_foreign_gradient(grad, leaf_.device()) || (old.defined() && is_foreign_gradient(old, leaf_.device()))) {
    if (old.defined()) meta.grad = foreign_gradients.add(old, grad, !grad_enabled());
    else meta.grad = foreign_gradients.own(grad, leaf_, grad_enabled() || grad.impl()->use_count() > 1);
    return {};
  }
  if (old.defined()) {
    if (grad_enabled()) meta.grad = old + grad;
    else elementwise_<Add>(old, grad);
    return {};
  }
  if (grad_enabled()) {  // as below, in the order of a contiguous leaf
    meta.grad = leaf_.is_contiguous() && !grad.is_contiguous() ? contiguous(grad) : clone(grad);
    return {};
  }
  // The leaf gets memory of its own, laid out as its own is.
  const bool dense = leaf_.layout().is_dense();
  if (is_uniquely_owned(grad) && !grad.impl()->base &&
      (dense ? grad.strides() == leaf_.strides() : grad.is_contiguous())) {
    meta.grad = std::move(grad);
    return {};
  }
  Tensor own = dense ? empty_strided(leaf_.shape(), leaf_.strides(), grad.dtype(), grad.device())
                     : empty(leaf_.shape(), grad.dtype(), grad.device());
  copy_into(own, grad);
  meta.grad = std::move(own);
  return {};
}

// ---------------------------------------------------------------- writes to views

Tensor view_at(const Tensor& x, const Layout& layout, DType dtype) {
  if (x.dtype() == dtype) return as_strided(x, layout.shape, layout.strides, layout.offset);
  if (is_complex(x.dtype())) return view_at(view_as_real(x), layout, dtype);
  Layout real = layout;
  for (int64_t& s : real.strides) s *= 2;
  real.offset *= 2;
  real.shape.push_back(2);
  real.strides.push_back(1);
  return view_as_complex(view_at(x, real, x.dtype()));
}

CopySlices::CopySlices(const Tensor& base, const Tensor& view)
    : base_(base.layout()), view_(view.layout()), view_dtype_(view.dtype()) {
  int64_t last;
  if (!base_.extent(&first_, &last)) first_ = last = 0;
  reach_ = last - first_ + 1;
  base_.offset -= first_;
  // The view's offset counts its own elements.
  const int64_t from = size_of(base.dtype()), to = size_of(view_dtype_);
  view_.offset -= first_ * from / to;
}

TensorList CopySlices::apply(TensorList& grads) {
  const CurrentNodeGuard running_now(this);
  Tensor g = std::move(grads[0]);
  // In memory laid out as the base's, so that the view's layout finds its place.
  const bool fits = !grad_enabled() && g.impl()->use_count() == 1 && g.storage().use_count() == 1 &&
                    g.layout().offset == base_.offset && g.strides() == base_.strides && !g.storage().borrowed();
  if (!fits) {
    Tensor own = make_view(empty({reach_}, g.dtype(), g.device()), base_);
    copy_into(own, g);
    g = record("CloneBackward0", own, g, [](const Tensor& gg) { return gg; });
  }
  TensorList result(2);
  const Tensor part = view_at(g, view_, view_dtype_);
  if (next[1].node) result[1] = next[0].node ? clone(part) : contiguous(part);
  if (next[0].node) {
    zero_(part);
    result[0] = std::move(g);
  }
  return result;
}

}  // namespace strided
