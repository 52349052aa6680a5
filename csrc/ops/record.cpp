#include "ops/record.h"

namespace strided {
namespace {

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
    const Tensor again = view_at(base, t.layout, t.dtype);
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
  return {AccumulateGrad::of(t), 0};
}

void set_history(const Tensor& t, const Ref<Node>& node, int output, bool keep_view) {
  if (!keep_view) {
    t.impl()->base = nullptr;
    t.impl()->view_kind = ViewKind::Plain;
  }
  AutogradMeta& meta = autograd_meta(t);
  node->set_output(output, t);
  meta.grad_fn = node;
  meta.output = output;
  meta.requires_grad = false;
}

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
  const bool apart = impl.base && impl.is_apart();
  // A base may have been told to require a gradient after its view was made.
  const bool requires_grad = (impl.base && Tensor(impl.base).requires_grad()) || (!apart && self.requires_grad());
  if (!requires_grad && !inputs_need_grad) return;
  if (impl.base) {
    STRIDED_CHECK(
        impl.view_kind != ViewKind::Inference, RuntimeError,
        "A view was created in inference mode and is being modified inplace in normal mode. Given that this "
        "use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
        "view and the inplace either both inside the inference_mode block (if you don't want the inplace to "
        "be tracked) or both outside (if you want the inplace to be tracked).");
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
