// Recording an operation for autograd: the formula is a lambda on the lines after the forward.
//   Tensor out = ...;
//   return record("NarrowBackward0", out, {x}, [shape = x.shape()](const Tensor& g) { return ...; });
// The lambda gets the gradient of `out` and returns a Tensor (one input) or std::vector<Tensor> (several; undefined
// where no gradient is wanted). It must be written in recorded (public) ops, so that it can be differentiated again.
// What it needs of tensors it captures as SavedTensor. Nothing is allocated when no input needs a gradient.
#pragma once

#include <atomic>
#include <optional>
#include <type_traits>

#include "tensor/tensor.h"

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

// What saved_tensors_hooks made of a saved tensor.
class Packed : public RefCounted {
 public:
  virtual Tensor unpack() = 0;
};
// Called for each tensor that is saved while it is set (per thread). csrc/python sets it.
class SavedTensorHooks : public RefCounted {
 public:
  virtual Ref<Packed> pack(const Tensor& t) = 0;  // may raise
};
const Ref<SavedTensorHooks>& saved_tensor_hooks();
void set_saved_tensor_hooks(Ref<SavedTensorHooks> hooks);  // null: none

// A tensor kept for the backward pass; get() raises PyTorch's RuntimeError when it was modified in place since.
// Note [What a saved tensor holds]
// Not the tensor but its memory and the node that made it: so nodes point to older nodes only, never (through a tensor
// that is written to later) to newer ones, and no cycle can keep a graph alive. A leaf is held itself, because formulas
// of the user expect to see it.
class SavedTensor {
 public:
  SavedTensor() = default;
  explicit SavedTensor(const Tensor& t);
  // For an output of the node that saves it, whose history is not set yet: get() gives it the record of the running
  // node.
  static SavedTensor output(const Tensor& out, int output = 0);
  Tensor get() const;
  bool defined() const { return tensor_.defined() || packed_; }
  bool was_saved() const { return defined() || released_; }
  void release();

 private:
  Tensor tensor_;
  Ref<Node> node_;  // that made it, or a packed leaf's accumulator; null for a leaf and for a node's own output
  Ref<Packed> packed_;
  uint32_t version_ = 0;
  int output_ = 0;
  bool is_output_ = false, released_ = false;
};

// For a gradient that is wanted or not: was_saved() tells the formula.
inline SavedTensor saved_if(bool wanted, const Tensor& t) { return wanted ? SavedTensor(t) : SavedTensor(); }

// The node whose backward formula runs on this thread.
class CurrentNodeGuard {
 public:
  explicit CurrentNodeGuard(Node* node);
  ~CurrentNodeGuard();

 private:
  Node* before_;
};
[[noreturn]] void saved_tensors_were_freed();

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
class LambdaNode : public Node {
 public:
  LambdaNode(const char* name, F f) : name_(name), f_(std::move(f)) {}
  const char* name() const override { return name_; }
  TensorList apply(TensorList& grads) override {
    const InUseGuard busy(busy_);
    if (!f_) saved_tensors_were_freed();
    const CurrentNodeGuard running(this);
    if constexpr (std::is_invocable_v<F, const Tensor&>) {
      return list((*f_)(grads[0]));
    } else {
      return list((*f_)(std::vector<Tensor>(grads.begin(), grads.end())));
    }
  }
  // Plain captures (sizes of a fixed number, flags) hold no memory worth freeing. Nothing is freed that another pass
  // over the same graph uses at this moment.
  void release_saved() override {
    if constexpr (!std::is_trivially_destructible_v<F>)
      if (busy_ == 0) f_.reset();
  }

 private:
  static TensorList list(Tensor t) {
    TensorList out;
    out.push_back(std::move(t));
    return out;
  }
  static TensorList list(std::vector<Tensor> v) {
    return TensorList(std::make_move_iterator(v.begin()), std::make_move_iterator(v.end()));
  }

  struct InUseGuard {
    std::atomic<int>& count;
    explicit InUseGuard(std::atomic<int>& c) : count(c) { ++count; }
    ~InUseGuard() { --count; }
  };

  const char* name_;
  std::optional<F> f_;
  std::atomic<int> busy_{0};
};

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

// leaf.grad += grad. Written in csrc/autograd; may take grad's memory.
void accumulate_grad(const Tensor& leaf, Tensor grad);
// The leaf of an accumulator.
const Tensor& accumulated_leaf(const Node& node);

// Before writing to `self` in place: raises for a read-only or overlapping tensor, and for a write that could not be
// recorded (a leaf that needs a gradient, a view of one, one of several views), where self or `inputs_need_grad` asks
// for a record.
void check_inplace(const char* op, const Tensor& self, bool inputs_need_grad = false);
// The second half of it: for a change of shape, which writes nothing.
void check_recordable(const char* op, const Tensor& self, bool inputs_need_grad = false);

}  // namespace strided
