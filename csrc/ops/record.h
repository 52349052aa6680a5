// Recording an operation for autograd: the formula is a lambda on the lines after the forward.
//   Tensor out = ...;
//   return record("NarrowBackward0", out, {x}, [shape = x.shape()](const Tensor& g) { return ...; });
// The lambda gets the gradient of `out` and returns a Tensor (one input) or std::vector<Tensor> (several; undefined where no
// gradient is wanted). It must be written in recorded (public) ops, so that it can be differentiated again. What it needs of
// tensors it captures as SavedTensor. Nothing is allocated when no input needs a gradient.
#pragma once

#include <optional>
#include <type_traits>

#include "core/tensor.h"

namespace strided {

template <class... T>
bool needs_grad(const T&... t) {
  return grad_enabled() && (t.requires_grad() || ...);
}
inline bool needs_grad(const std::vector<Tensor>& list) {
  if (!grad_enabled()) return false;
  for (const Tensor& t : list)
    if (t.defined() && t.requires_grad()) return true;
  return false;
}

// A tensor kept for the backward pass; get() raises PyTorch's RuntimeError when it was modified in place since.
class SavedTensor {
 public:
  SavedTensor() = default;
  explicit SavedTensor(const Tensor& t) : tensor_(t), version_(t.defined() ? t.storage().version() : 0) {}
  // For the node's own output: holding the output itself would be a cycle, so a detached view is kept, and get() gives it
  // back the record of the node that is running.
  static SavedTensor output(const Tensor& out);
  Tensor get() const;
  void release() { tensor_ = Tensor(); released_ = true; }

 private:
  Tensor tensor_;
  uint32_t version_ = 0;
  bool is_output_ = false, released_ = false;
  int output_ = 0;
};

// The node whose backward formula runs on this thread.
class Running {
 public:
  explicit Running(Node* node);
  ~Running();

 private:
  Node* before_;
};
[[noreturn]] void saved_tensors_were_freed();

// Where the gradient of t goes: its grad_fn, its accumulator if it is a leaf that wants one, or nowhere.
Edge gradient_edge(const Tensor& t);
// Makes t an output of the node.
void set_history(const Tensor& t, const Ref<Node>& node, int output = 0);

template <class F>
class LambdaNode : public Node {
 public:
  LambdaNode(const char* name, F f) : name_(name), f_(std::move(f)) {}
  const char* name() const override { return name_; }
  std::vector<Tensor> apply(std::vector<Tensor>& grads) override {
    if (!f_) saved_tensors_were_freed();
    const Running running(this);
    if constexpr (std::is_invocable_v<F, const Tensor&>) {
      if constexpr (std::is_same_v<std::invoke_result_t<F, const Tensor&>, Tensor>) return {(*f_)(grads[0])};
      else return (*f_)(grads[0]);
    } else {
      return (*f_)(grads);  // several outputs: takes const std::vector<Tensor>&
    }
  }
  // Plain captures (sizes of a fixed number, flags) hold no memory worth freeing.
  void release_saved() override {
    if constexpr (!std::is_trivially_destructible_v<F>) f_.reset();
  }

 private:
  const char* name_;
  std::optional<F> f_;
};

template <class F>
Ref<Node> make_node(const char* name, const std::vector<Tensor>& inputs, F f) {
  Ref<Node> node(new LambdaNode<F>(name, std::move(f)));
  for (const Tensor& t : inputs) node->next.push_back(t.defined() ? gradient_edge(t) : Edge{});
  return node;
}

// A view is told by its storage.
inline void mark_view(const Tensor& out, const Tensor& input) {
  if (out.impl()->storage == input.impl()->storage) autograd_meta(out).is_view = true;
}
template <class F>
Tensor record(const char* name, Tensor out, const std::vector<Tensor>& inputs, F f) {
  if (needs_grad(inputs)) set_history(out, make_node(name, inputs, std::move(f)));
  return out;
}
// One input: no vector is made when no gradient is needed.
template <class F>
Tensor record(const char* name, Tensor out, const Tensor& input, F f) {
  if (needs_grad(input)) {
    set_history(out, make_node(name, {input}, std::move(f)));
    mark_view(out, input);
  }
  return out;
}
// Several outputs: the lambda takes const std::vector<Tensor>& grads (undefined where nothing flowed).
template <class F>
void record_all(const char* name, const std::vector<Tensor>& outs, const std::vector<Tensor>& inputs, F f) {
  if (!needs_grad(inputs)) return;
  Ref<Node> node = make_node(name, inputs, std::move(f));
  for (size_t i = 0; i < outs.size(); ++i) set_history(outs[i], node, static_cast<int>(i));
}

// For functions whose gradient is not written yet: NotImplementedError when one would be needed.
void no_gradient(const char* op, const std::vector<Tensor>& inputs);

// The leaf of a node named AccumulateGrad.
Tensor accumulated_leaf(const Node& node);
// leaf.grad += grad, cast and summed to the leaf's dtype and shape. Written in csrc/autograd.
void accumulate_grad(const Tensor& leaf, const Tensor& grad);

// Before writing to `self` in place: raises for a leaf that needs a gradient, a read-only or overlapping tensor.
void check_inplace(const char* op, const Tensor& self);

}  // namespace strided
