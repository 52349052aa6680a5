#include "ops/record.h"

namespace strided {
namespace {

// The end of the graph at a leaf: adds what arrives to leaf.grad. csrc/autograd/engine.cpp does the adding.
class AccumulateGrad : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf) : leaf_(leaf) { set_output(0, leaf); }
  const char* name() const override { return "AccumulateGrad"; }
  std::vector<Tensor> apply(std::vector<Tensor>& grads) override {
    accumulate_grad(leaf_, grads[0]);
    return {};
  }
  const Tensor& leaf() const { return leaf_; }

 private:
  Tensor leaf_;
};

thread_local Node* running = nullptr;

}  // namespace

SavedTensor SavedTensor::output(const Tensor& out) {
  SavedTensor saved;
  saved.tensor_ = make_view(out, out.layout());
  saved.version_ = out.storage().version();
  saved.is_output_ = true;
  saved.output_ = out.impl()->autograd ? out.impl()->autograd->output : 0;
  return saved;
}

Running::Running(Node* node) : before_(running) { running = node; }
Running::~Running() { running = before_; }

void saved_tensors_were_freed() {
  STRIDED_THROW(RuntimeError,
                "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
                "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
                "backward through the graph a second time or if you need to access saved tensors after calling backward.");
}

Tensor SavedTensor::get() const {
  if (released_) saved_tensors_were_freed();
  Node* owner = is_output_ ? running : nullptr;
  if (!tensor_.defined()) return tensor_;
  STRIDED_CHECK(tensor_.storage().version() == version_, RuntimeError,
                "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.", cpp_name_of(tensor_.dtype()),
                "Tensor ", tensor_.shape(), "], which is output ", output_, " of ", owner ? owner->name() : "a leaf", ", is at version ",
                tensor_.storage().version(), "; expected version ", version_,
                " instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
                "torch.autograd.set_detect_anomaly(True).");
  if (!is_output_) return tensor_;
  Tensor out = make_view(tensor_, tensor_.layout());
  if (owner) set_history(out, Ref<Node>(owner), output_);
  return out;
}

Edge gradient_edge(const Tensor& t) {
  const auto& meta = t.impl()->autograd;
  if (!meta) return {};
  if (meta->grad_fn) return {meta->grad_fn, meta->output};
  if (!meta->requires_grad) return {};
  // The accumulator holds the leaf, the leaf only knows it while a graph needs it: no cycle may stay.
  auto* node = new AccumulateGrad(t);
  return {Ref<Node>(node), 0};
}

Tensor accumulated_leaf(const Node& node) { return static_cast<const AccumulateGrad&>(node).leaf(); }

void set_history(const Tensor& t, const Ref<Node>& node, int output) {
  AutogradMeta& meta = autograd_meta(t);
  node->set_output(output, t);
  meta.grad_fn = node;
  meta.output = output;
  meta.requires_grad = false;
}

void no_gradient(const char* op, const std::vector<Tensor>& inputs) {
  STRIDED_CHECK(!needs_grad(inputs), NotImplementedError, "derivative for ", op, " is not implemented");
}

void check_inplace(const char* op, const Tensor& self) {
  check_writable(op, self);
  if (!grad_enabled() || !self.requires_grad()) return;
  const AutogradMeta& meta = *self.impl()->autograd;
  STRIDED_CHECK(meta.grad_fn, RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation.");
  STRIDED_CHECK(!meta.is_view, NotImplementedError, op, ": an in-place operation on a view whose base requires grad is not implemented");
}

}  // namespace strided
