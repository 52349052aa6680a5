// Recording an operation for autograd: the formula is a lambda on the lines after the forward.
//   Tensor out = ...;
//   return record("NarrowBackward0", out, {x}, [shape = x.shape()](const Tensor& g) { return ...; });
// The lambda gets the gradient of `out` and returns a Tensor (one input) or std::vector<Tensor> (several; undefined
// where no gradient is wanted). It must be written in recorded (public) ops, so that it can be differentiated again.
// What it needs of tensors it captures as SavedTensor, where needs_grad(x): to save one of inference mode is an error.
// What the node shows by PyTorch's names is not captured but given beside it (Note [Values with names]).
#pragma once

#include <vector>

#include "ops/named_formula.h"
#include "ops/nodes.h"
#include "ops/saved_tensor.h"
#include "tensor/graph.h"

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

// The node that made t, brought up to date for a view whose base was written to since; null for a leaf.
const Ref<Node>& grad_fn(const Tensor& t);
// Where the gradient of t goes: its grad_fn, its accumulator if it is a leaf that wants one, or nowhere.
Edge gradient_edge(const Tensor& t);
// Makes t, fresh from an operation, an output of the node. A view of something inside the operation counts as no view
// then; `keep_view` for operations whose result is a view of an input.
void set_history(const Tensor& t, const Ref<Node>& node, int output = 0, bool keep_view = false);
inline bool is_view_of(const Tensor& t, const Tensor& x) {
  const Ref<TensorImpl>& base = t.impl()->base;
  return base && base == (x.impl()->base ? x.impl()->base : x.ref());
}
// Makes the value just written to t an output of the node, whose edges lead to the values before. Where t is a view its
// base gets a record too (Note [Writes to views]).
void rebase_history(const Tensor& t, const Ref<Node>& node, int output = 0);

template <class F>
Ref<Node> make_node(const char* name, const std::vector<Tensor>& inputs, F f) {
  Ref<Node> node(new LambdaNode<F>(name, std::move(f)));
  for (const Tensor& t : inputs) node->add_edge(t.defined() ? gradient_edge(t) : Edge{});
  return node;
}
template <class F>
Ref<Node> make_node(const char* name, const Tensor& input, F f) {
  Ref<Node> node(new LambdaNode<F>(name, std::move(f)));
  node->add_edge(gradient_edge(input));
  return node;
}

// The result of a function that is made of others, one of which made `out`: its node is called as PyTorch's one node.
inline Tensor shown_as(const char* name, Tensor out) {
  if (grad_enabled() && out.defined())
    if (const Ref<Node>& node = grad_fn(out)) node->shown_as = name;
  return out;
}

template <class F>
Tensor record(const char* name, Tensor out, const std::vector<Tensor>& inputs, F f) {
  if (needs_grad(inputs)) set_history(out, make_node(name, inputs, std::move(f)));
  return out;
}
// One input: no vector is made when no gradient is needed.
template <class F>
Tensor record(const char* name, Tensor out, const Tensor& input, F f) {
  if (needs_grad(input)) set_history(out, make_node(name, input, std::move(f)), 0, is_view_of(out, input));
  return out;
}
// After a write to `self` (and bump_version): the formula gives the gradients of `inputs`, among them self's old value
// if the new one depends on it.
template <class F>
Tensor record_inplace(const char* name, const Tensor& self, const std::vector<Tensor>& inputs, F f) {
  if (needs_grad(inputs) || needs_grad(self)) rebase_history(self, make_node(name, inputs, std::move(f)));
  return self;
}
// Several outputs: the lambda takes const std::vector<Tensor>& grads (undefined where nothing flowed).
template <class F>
void record_all(const char* name, const std::vector<Tensor>& outs, const std::vector<Tensor>& inputs, F f) {
  if (!needs_grad(inputs)) return;
  Ref<Node> node = make_node(name, inputs, std::move(f));
  for (size_t i = 0; i < outs.size(); ++i)
    set_history(outs[i], node, static_cast<int>(i), is_view_of(outs[i], inputs[0]));
}

// Results without a derivative that PyTorch's autograd lets pass nevertheless: the backward pass raises
// NotImplementedError.
void record_no_derivative(const char* name, const char* op, const std::vector<Tensor>& outs,
                          const std::vector<Tensor>& inputs);

// Before writing to `self` in place: raises for a read-only or overlapping tensor, and for a write that could not be
// recorded (a leaf that needs a gradient, a view of one, one of several views), where self or `inputs_need_grad` asks
// for a record.
void check_inplace(const char* op, const Tensor& self, bool inputs_need_grad = false);
// The second half of it: for a change of shape, which writes nothing.
void check_recordable(const char* op, const Tensor& self, bool inputs_need_grad = false);

}  // namespace strided
