#include "autograd/engine.h"

#include <queue>
#include <string>
#include <unordered_map>

#include "ops/operators.h"
#include "ops/reduction.h"
#include "ops/view.h"

namespace strided {
namespace {

// Brings a gradient to the shape and dtype of what it is the gradient of: sums where the forward had broadcast, takes the
// real part where a real operand met complex ones.
Tensor fit(Tensor grad, const Node::Output& want) {
  if (grad.shape() != want.shape) {
    const int lead = grad.ndim() - want.shape.ndim();
    Dims axes;
    bool fits = lead >= 0;
    for (int i = 0; fits && i < grad.ndim(); ++i) {
      if (i < lead || (want.shape[i - lead] == 1 && grad.size(i) != 1)) axes.push_back(i);
      else fits = grad.size(i) == want.shape[i - lead];
    }
    if (!fits) return expand(grad, want.shape);  // a smaller gradient stands for a constant one
    if (!axes.empty()) grad = sum(grad, axes, true, {});
    if (lead > 0) grad = reshape(grad, want.shape);
  }
  if (grad.dtype() != want.dtype) {
    if (is_complex(grad.dtype()) && !is_complex(want.dtype)) grad = real(grad);
    grad = to_dtype(grad, want.dtype);
  }
  return grad;
}

struct Older {
  bool operator()(const Node* a, const Node* b) const { return a->sequence < b->sequence; }
};

}  // namespace

void accumulate_grad(const Tensor& leaf, const Tensor& grad) {
  AutogradMeta& meta = autograd_meta(leaf);
  if (!meta.grad.defined()) {
    // The gradient may be memory that others hold (an expanded scalar, another leaf's): the leaf gets its own.
    meta.grad = grad_enabled() ? grad : clone(grad);
    return;
  }
  if (grad_enabled()) meta.grad = meta.grad + grad;
  else elementwise_<Add>(meta.grad, grad);
}

std::vector<Tensor> run_backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grads, bool retain_graph, bool create_graph,
                                 const std::vector<Tensor>& inputs) {
  const bool before = grad_enabled();
  struct Restore {
    bool on;
    ~Restore() { set_grad_enabled(on); }
  } restore{before};

  std::unordered_map<Node*, std::vector<Tensor>> waiting;  // gradients that arrived at a node that has not run
  std::unordered_map<Node*, Ref<Node>> alive;
  std::priority_queue<Node*, std::vector<Node*>, Older> queue;
  auto deliver = [&](const Edge& edge, Tensor grad) {
    Node* node = edge.node.get();
    auto found = waiting.find(node);
    if (found == waiting.end()) {
      found = waiting.emplace(node, std::vector<Tensor>(node->num_outputs())).first;
      alive.emplace(node, edge.node);
      queue.push(node);
    }
    grad = fit(std::move(grad), node->output(edge.input));
    Tensor& slot = found->second[edge.input];
    slot = slot.defined() ? slot + grad : std::move(grad);
  };

  set_grad_enabled(create_graph);
  std::vector<Tensor> result(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    STRIDED_CHECK(inputs[i].requires_grad(), RuntimeError, "One of the differentiated Tensors does not require grad");

  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& out = outputs[i];
    STRIDED_CHECK(out.requires_grad(), RuntimeError, "element ", i, " of tensors does not require grad and does not have a grad_fn");
    Tensor grad = grads.size() > i ? grads[i] : Tensor();
    if (!grad.defined()) {
      STRIDED_CHECK(out.numel() == 1, RuntimeError, "grad can be implicitly created only for scalar outputs");
      STRIDED_CHECK(!is_complex(out.dtype()), RuntimeError, "grad can be implicitly created only for real scalar outputs but got torch.", cpp_name_of(out.dtype()));
      grad = ones(out.shape(), out.dtype(), out.device());
    } else {
      STRIDED_CHECK(grad.shape() == out.shape(), RuntimeError, "Mismatch in shape: grad_output[", i, "] has a shape of torch.Size(", grad.shape(),
                    ") and output[", i, "] has a shape of torch.Size(", out.shape(), ").");
      STRIDED_CHECK(grad.device() == out.device(), RuntimeError, "backward: the gradient is on ", grad.device(), ", the output on ", out.device());
      STRIDED_CHECK(is_complex(grad.dtype()) == is_complex(out.dtype()), RuntimeError,
                    "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: grad_output[", i,
                    "] has a dtype of torch.", name_of(grad.dtype()), " and output[", i, "] has a dtype of torch.", name_of(out.dtype()), ".");
    }
    deliver(gradient_edge(out), grad);
  }

  auto is_accumulator = [](const Node& node) { return node.next.empty() && std::string(node.name()) == "AccumulateGrad"; };
  while (!queue.empty()) {
    Node* node = queue.top();
    queue.pop();
    const Ref<Node> hold = alive.find(node)->second;
    std::vector<Tensor> arrived = std::move(waiting.find(node)->second);
    waiting.erase(node);
    alive.erase(node);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const AutogradMeta& meta = *inputs[i].impl()->autograd;
      if (meta.grad_fn.get() == node) result[i] = arrived[meta.output];
    }
    if (is_accumulator(*node)) {
      if (inputs.empty()) {
        node->apply(arrived);
      } else {
        const Tensor leaf = accumulated_leaf(*node);
        for (size_t i = 0; i < inputs.size(); ++i)
          if (inputs[i].impl() == leaf.impl()) result[i] = result[i].defined() ? result[i] + arrived[0] : arrived[0];
      }
      continue;
    }
    // A node with several outputs may miss some gradients: nothing flowed there.
    for (int i = 0; i < node->num_outputs(); ++i)
      if (!arrived[i].defined() && node->num_outputs() == 1) arrived[i] = zeros(node->output(i).shape, node->output(i).dtype);
    std::vector<Tensor> passed = node->apply(arrived);
    for (size_t i = 0; i < passed.size() && i < node->next.size(); ++i)
      if (node->next[i].node && passed[i].defined()) deliver(node->next[i], std::move(passed[i]));
    if (!retain_graph) node->release_saved();
  }
  return result;
}

}  // namespace strided
