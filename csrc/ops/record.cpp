#include "ops/record.h"

#include <mutex>

#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

// One accumulator for each leaf.
// Every graph that ends at a leaf ends at the same node, so that hooks and identities agree. The node holds the leaf,
// the leaf only knows the node, and forgets it when the last graph lets it go: no cycle. The lock serves threads that
// build graphs over the same leaf.
std::mutex accumulators;

class AccumulateGrad : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf) : leaf_(leaf) { set_output(0, leaf); }
  ~AccumulateGrad() override {
    const std::lock_guard<std::mutex> lock(accumulators);
    if (AutogradMeta* meta = leaf_.impl()->autograd.get(); meta && meta->accumulator == this)
      meta->accumulator = nullptr;
  }
  const char* name() const override { return "AccumulateGrad"; }
  bool is_accumulator() const override { return true; }
  TensorList apply(TensorList& grads) override {
    accumulate_grad(leaf_, std::move(grads[0]));
    return {};
  }
  const Tensor& leaf() const { return leaf_; }

 private:
  Tensor leaf_;
};

Edge accumulator_edge(const Tensor& leaf, AutogradMeta& meta) {
  Ref<Node> made;
  for (;;) {
    {
      const std::lock_guard<std::mutex> lock(accumulators);
      if (meta.accumulator)
        if (Ref<Node> node = Ref<Node>::if_alive(meta.accumulator)) return {std::move(node), 0};
      if (made) {
        meta.accumulator = made.get();
        return {std::move(made), 0};
      }
    }
    made = Ref<Node>(new AccumulateGrad(leaf));  // without the lock: anomaly mode runs Python there
  }
}

thread_local Node* running = nullptr;
thread_local Ref<SavedTensorHooks> saving;

}  // namespace

// ---------------------------------------------------------------- saved tensors

const Ref<SavedTensorHooks>& saved_tensor_hooks() { return saving; }
void set_saved_tensor_hooks(Ref<SavedTensorHooks> hooks) { saving = std::move(hooks); }

SavedTensor::SavedTensor(const Tensor& t) {
  if (!t.defined()) return;
  version_ = t.storage().version();
  if (t.requires_grad()) {
    node_ = grad_fn(t);
    if (node_) output_ = t.impl()->autograd->output;
    else if (saving) node_ = gradient_edge(t).node;  // what is unpacked is another tensor than the leaf
  }
  if (saving) packed_ = saving->pack(t);
  else tensor_ = t.requires_grad() && !node_ ? t : make_view(t, t.layout());
}

SavedTensor SavedTensor::output(const Tensor& out, int output) {
  SavedTensor saved;
  saved.version_ = out.storage().version();
  saved.is_output_ = true;
  saved.output_ = output;
  const Tensor alias = make_view(out, out.layout());
  if (saving) saved.packed_ = saving->pack(alias);
  else saved.tensor_ = alias;
  return saved;
}

void SavedTensor::release() {
  tensor_ = Tensor();
  node_ = nullptr;
  packed_ = nullptr;
  released_ = true;
}

CurrentNodeGuard::CurrentNodeGuard(Node* node) : before_(running) { running = node; }
CurrentNodeGuard::~CurrentNodeGuard() { running = before_; }

void saved_tensors_were_freed() {
  STRIDED_THROW(
      RuntimeError,
      "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
      "been freed). Saved "
      "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
      "retain_graph=True if you need to "
      "backward through the graph a second time or if you need to access saved tensors after calling backward.");
}

namespace {

// "ExpBackward0" -> "Exp", as PyTorch names an operation in its messages.
std::string short_name(const std::string& node) { return node.substr(0, node.rfind("Backward")); }

[[noreturn]] void was_modified(const Tensor& t, const Node* maker, int output, uint32_t expected) {
  const char* writer = t.storage().last_writer();
  STRIDED_THROW(
      RuntimeError,
      "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.",
      cpp_name_of(t.dtype()), "Tensor ", t.shape(), "]",
      maker ? concat(", which is output ", output, " of ", short_name(maker->name()), ",") : "", " is at version ",
      t.storage().version(), "; expected version ", expected, " instead.",
      running ? concat(" It was saved for ", running->name()) : "",
      writer ? concat(", and last modified by ", writer, ".") : "",
      make_trace ? " Hint: the backtrace further above shows the operation that failed to compute its gradient. The "
                   "variable in question "
                   "was changed in there or anywhere later. Good luck!"
                 : " Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
                   "torch.autograd.set_detect_anomaly(True, check_nan=False).");
}

}  // namespace

Tensor SavedTensor::get() const {
  if (released_) saved_tensors_were_freed();
  Node* maker = is_output_ ? running : node_.get();
  Tensor t = tensor_;
  if (const Ref<Packed> packed = packed_) {  // the user's function may release it
    t = packed->unpack();
  } else {
    if (!t.defined()) return t;
    if (t.storage().version() != version_) was_modified(t, maker, output_, version_);
  }
  if (!maker) return t;
  t = make_view(t, t.layout());
  AutogradMeta& meta = autograd_meta(t);
  meta.grad_fn = Ref<Node>(maker);
  meta.output = output_;
  return t;
}

// ---------------------------------------------------------------- edges and histories

namespace {

// `layout` and `dtype` of the memory of x, as a view of x.
Tensor replay(const Tensor& x, const Layout& layout, DType dtype) {
  if (x.dtype() == dtype) return as_strided(x, layout.shape, layout.strides, layout.offset);
  if (is_complex(x.dtype())) return replay(view_as_real(x), layout, dtype);
  Layout real = layout;
  for (int64_t& s : real.strides) s *= 2;
  real.offset *= 2;
  real.shape.push_back(2);
  real.strides.push_back(1);
  return view_as_complex(replay(x, real, x.dtype()));
}

void move_retained(AutogradMeta& meta, const Ref<Node>& node, int output) {
  if (!meta.retained) return;
  if (meta.grad_fn) {
    auto& list = meta.grad_fn->hooks().retained;
    for (auto it = list.begin(); it != list.end(); ++it)
      if (it->box == meta.retained) {
        list.erase(it);
        break;
      }
  }
  node->hooks().retained.push_back({output, meta.retained});
}

// Note [Views whose base was written to] in tensor/tensor.h.
void refresh(const Tensor& view) {
  TensorImpl& t = *view.impl();
  const Tensor base(t.base);
  if (base.requires_grad()) {
    if (is_frozen(t)) frozen_view(t, "its base or another view of its base has been");
    const EnableGradGuard recording;
    const Tensor again = replay(base, t.layout, t.dtype);
    AutogradMeta &meta = autograd_meta(view), &made = *again.impl()->autograd;
    move_retained(meta, made.grad_fn, made.output);
    meta.grad_fn = made.grad_fn;
    meta.output = made.output;
    meta.requires_grad = false;
  } else if (t.autograd) {
    t.autograd->grad_fn = nullptr;
  }
  t.seen_version = t.storage->version();
}

}  // namespace

const Ref<Node>& grad_fn(const Tensor& t) {
  static const Ref<Node> none;
  TensorImpl& impl = *t.impl();
  if (impl.record_is_old()) refresh(t);
  return impl.autograd ? impl.autograd->grad_fn : none;
}

Edge gradient_edge(const Tensor& t) {
  const Ref<Node>& node = grad_fn(t);
  AutogradMeta* meta = t.impl()->autograd.get();
  if (node) return {node, meta->output};
  if (!meta || !meta->requires_grad) return {};
  return accumulator_edge(t, *meta);
}

const Tensor& accumulated_leaf(const Node& node) { return static_cast<const AccumulateGrad&>(node).leaf(); }

void set_history(const Tensor& t, const Ref<Node>& node, int output, bool keep_view) {
  if (!keep_view) t.impl()->base = nullptr;
  AutogradMeta& meta = autograd_meta(t);
  node->set_output(output, t);
  meta.grad_fn = node;
  meta.output = output;
  meta.requires_grad = false;
}

// Note [Writes to views]
// A write to a view v of x makes a new value of v (`node`) and with it a new value of x: the old one outside v, v's
// inside. CopySlices is that step. Its gradient for the old x is x's gradient with zeros in v's place, and for v the
// gradient in that place. v's own record is made anew from x's when somebody asks (Note [Views whose base was written
// to]).
namespace {

class CopySlices : public Node {
 public:
  CopySlices(const Tensor& base, const Tensor& view)
      : base_(base.layout()), view_(view.layout()), view_dtype_(view.dtype()) {
    int64_t last;
    if (!base_.extent(&first_, &last)) first_ = last = 0;
    reach_ = last - first_ + 1;
    base_.offset -= first_;
    // The view's offset counts its own elements.
    const int64_t from = size_of(base.dtype()), to = size_of(view_dtype_);
    view_.offset -= first_ * from / to;
  }
  const char* name() const override { return "CopySlices"; }
  TensorList apply(TensorList& grads) override {
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
    const Tensor part = replay(g, view_, view_dtype_);
    if (next[1].node) result[1] = next[0].node ? clone(part) : part;
    if (next[0].node) {
      zero_(part);
      result[0] = std::move(g);
    }
    return result;
  }

 private:
  Layout base_, view_;  // relative to the base's first element in memory
  DType view_dtype_;
  int64_t first_ = 0, reach_ = 0;
};

}  // namespace

void rebase_history(const Tensor& t, const Ref<Node>& node, int output) {
  TensorImpl& impl = *t.impl();
  node->set_output(output, t);
  if (!impl.base) {
    move_retained(autograd_meta(t), node, output);
    return set_history(t, node, output);
  }
  const Tensor base(impl.base);
  const Ref<Node> copy(new CopySlices(base, t));
  copy->add_edge(gradient_edge(base));
  copy->add_edge({node, output});
  move_retained(autograd_meta(base), copy, 0);
  set_history(base, copy);
  impl.seen_version = impl.storage->version() - 1;
}

void record_no_derivative(const char* name, const char* op, const std::vector<Tensor>& outs,
                          const std::vector<Tensor>& inputs) {
  record_all(name, outs, inputs, [op](const std::vector<Tensor>&) -> std::vector<Tensor> {
    STRIDED_THROW(NotImplementedError, "the derivative for '", op, "' is not implemented.");
  });
}

void check_inplace(const char* op, const Tensor& self, bool inputs_need_grad) {
  check_writable(op, self);
  check_recordable(op, self, inputs_need_grad);
}

void check_recordable(const char* op, const Tensor& self, bool inputs_need_grad) {
  if (!grad_enabled()) return;
  const TensorImpl& impl = *self.impl();
  const bool apart = impl.base && impl.view_kind == ViewKind::NoGradGuard;
  const bool requires_grad = apart ? Tensor(impl.base).requires_grad() : self.requires_grad();
  if (!requires_grad && !inputs_need_grad) return;
  if (impl.base) {
    STRIDED_CHECK(!apart, RuntimeError,
                  "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that "
                  "this use case is ambiguous "
                  "and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace "
                  "either both inside the "
                  "no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the "
                  "inplace to be tracked).");
    if (is_frozen(impl)) frozen_view(impl, "is being");
    const Tensor base(impl.base);
    STRIDED_CHECK(!requires_grad || grad_fn(base), RuntimeError,
                  "a view of a leaf Variable that requires grad is being used in an in-place operation.");
    STRIDED_CHECK(!base.layout().has_zero_stride(), RuntimeError, op,
                  ": elements of the tensor this is a view of share memory; a write that is recorded for autograd "
                  "would be ambiguous. Please clone() "
                  "the tensor before performing the operation.");
  }
  STRIDED_CHECK(!requires_grad || grad_fn(self), RuntimeError,
                "a leaf Variable that requires grad is being used in an in-place operation.");
}

}  // namespace strided
