#include "ops/saved_tensor.h"

#include "tensor/foreign.h"

#include <string>

#include "ops/factory.h"
#include "ops/record.h"
#include "ops/shape/view.h"
#include "ops/steady.h"

namespace strided {
namespace {

thread_local Node* running = nullptr;
thread_local Ref<SavedTensorHooks> saving;

}  // namespace

const Ref<SavedTensorHooks>& saved_tensor_hooks() { return saving; }
void set_saved_tensor_hooks(Ref<SavedTensorHooks> hooks) { saving = std::move(hooks); }

SavedTensor::SavedTensor(const Tensor& t) {
  if (!t.defined()) return;
  STRIDED_CHECK(
      !t.storage().of_inference(), RuntimeError,
      "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
      "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
      "use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.");
  counted_.holds = true;
  if (t.requires_grad()) {
    node_ = grad_fn(t);
    if (node_) output_ = t.impl()->autograd->output;
    else if (saving) node_ = gradient_edge(t).node;  // what is unpacked is another tensor than the leaf
  }
  if (saving) packed_ = saving->pack(t);
  else tensor_ = t.requires_grad() && !node_ ? t : kept_view(t);
  if (tensor_.defined()) version_ = version_of(tensor_);
}

SavedTensor SavedTensor::output(const Tensor& out, int output) {
  SavedTensor saved;
  saved.version_ = out.storage().version();
  saved.is_output_ = saved.counted_.holds = true;
  saved.output_ = output;
  const Tensor alias = kept_view(out);
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

Tensor steady(const Tensor& grad, size_t operand) {
  if (!grad_enabled() || !running || !running->next[operand].node) return grad;
  const Edge& edge = running->next[operand];
  const Node::Output& of = edge.node->output(edge.input);
  const auto formula = [shape = of.shape, dtype = of.dtype, device = of.device](const Tensor& g) {
    return std::vector<Tensor>{g, zeros(shape, dtype, device)};
  };
  const Ref<Node> node(new LambdaNode<decltype(formula)>("ZeroDerivativeBackward0", formula));
  node->add_edge(gradient_edge(grad));
  node->add_edge(edge);
  const Tensor out = make_view(grad, grad.layout());
  set_history(out, node);
  return out;
}

Tensor with_steady_gradient(const Tensor& x) {
  if (!needs_grad(x)) return x;
  return record("AliasBackward0", make_view(x, x.layout()), x, [](const Tensor& g) { return steady(g); });
}

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
      version_of(t), "; expected version ", expected, " instead.",
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
    if (version_of(t) != version_) was_modified(t, maker, output_, version_);
  }
  if (!maker) return t;
  t = kept_view(t);
  AutogradMeta& meta = autograd_meta(t);
  meta.grad_fn = Ref<Node>(maker);
  meta.output = output_;
  return t;
}

}  // namespace strided
