// The graph that gradients flow through: what a tensor keeps of it, its nodes and edges, and when it is recorded.
// The classes of nodes are in ops/nodes.h; csrc/autograd runs them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ref.h"
#include "base/small_vector.h"
#include "core/scalar.h"
#include "tensor/tensor.h"

namespace strided {

using TensorList = SmallVector<Tensor, 3>;

// One step of the graph: gradients of its outputs in, gradients of its inputs out. csrc/autograd runs them.
class Node;
struct Edge {
  Ref<Node> node;  // null: no gradient wanted here
  int input = 0;   // which output of the forward operation, that is: which incoming gradient of `node`
};

// A function of the user that is called while gradients pass; it may replace `grads`. Made by csrc/python.
class Hook : public RefCounted {
 public:
  virtual void call(TensorList& grads, const TensorList* others) = 0;
  virtual intptr_t id() const = 0;  // what its user knows it by
  // A hook of the same function, which stays when this one is removed; null if that was done.
  virtual Ref<Hook> as_it_is() const = 0;
};
// Where the gradient of an intermediate result is left when its user asked to retain it.
struct GradBox : RefCounted {
  Tensor grad;
  bool wanted = true;  // until the tensor is gone
};
// What users attached to a node. In order of registration.
struct NodeHooks {
  struct OfOutput {
    int output;
    std::vector<Ref<Hook>> list;
  };
  struct Retained {
    int output;
    Ref<GradBox> box;
  };
  std::vector<OfOutput> tensor;      // on one incoming gradient
  std::vector<Retained> retained;    // after these
  std::vector<Ref<Hook>> pre, post;  // on all incoming gradients; on the outgoing ones (`others`: the incoming)
  Ref<RefCounted> trace;             // anomaly mode: where the forward was called
  Ref<RefCounted> metadata;          // the user's
};

// What node._saved_dim and its like show; nothing: None. Tensors that are not defined are None too.
using SavedValue = std::variant<std::monostate, Tensor, std::vector<Tensor>, int64_t, Dims, bool, Scalar, std::string>;

class Node : public RefCounted {
 public:
  static constexpr bool kMayBeRevived = true;  // an accumulator, by the leaf that knows it
  Node();
  explicit Node(uint64_t sequence);
  ~Node() override;
  const char* name() const { return shown_as ? shown_as : own_name(); }  // "MulBackward0"
  virtual const char* own_name() const = 0;
  // One gradient for each edge of `next` (undefined: none). An incoming gradient is undefined when nothing flowed
  // there.
  virtual TensorList apply(TensorList& grads) = 0;
  virtual void release_saved() {}
  // What the formula was given, by PyTorch's names: "self", "dim". Another name is not found.
  virtual bool find_saved(const char* /*what*/, SavedValue* /*out*/) { return false; }
  virtual std::vector<std::string> saved_names() const { return {}; }  // what find_saved finds
  virtual bool is_accumulator() const { return false; }                // the end of the graph at a leaf
  virtual bool is_user_defined() const {
    return false;
  }  // an autograd.Function: its gradients are checked more strictly
  virtual bool takes_undefined() const { return num_outputs() > 1; }  // otherwise the engine makes zeros of them

  // Shape, dtype and device of an output of the forward: incoming gradients are brought to them by the engine.
  struct Output {
    Dims shape;
    DType dtype = DType::Float32;
    Device device;
    bool any_dtype = false;  // gradients keep theirs
  };
  const Output& output(int i) const { return i == 0 ? first_ : rest_[i - 1]; }
  void set_output(int i, const Tensor& t);
  void set_gradient_dtype(std::optional<DType> dtype);  // of the first output; none: any
  int num_outputs() const { return 1 + static_cast<int>(rest_.size()); }

  void add_edge(Edge edge);
  NodeHooks& hooks();  // makes them when there are none
  NodeHooks* hooks_or_null() const { return hooks_.get(); }

  SmallVector<Edge, 2> next;
  uint64_t sequence;          // later nodes run first; an accumulator has the number of the newest node before it
  bool forward_only = false;  // leads only to dual tensors of forward-mode differentiation
  void* py_object = nullptr;  // the Python object that shows this node, not owned
  // Of the last node of a function that is made of others: what PyTorch calls its one node. Lives for ever.
  const char* shown_as = nullptr;

 private:
  Output first_;
  std::vector<Output> rest_;
  bool leads_ = false;  // some edge goes on
  std::unique_ptr<NodeHooks> hooks_;
};

// What the gradient of a leaf is brought to; none: any dtype.
std::optional<DType> gradient_dtype(const Tensor& leaf);

struct AutogradMeta {
  // The node holds the box, and a gradient with a graph may lead back to the node: what nobody can ask for goes.
  ~AutogradMeta();

  bool requires_grad = false;                     // set by the user on a leaf
  Ref<Node> grad_fn;                              // null on a leaf
  int output = 0;                                 // which output of grad_fn
  Node* accumulator = nullptr;                    // of a leaf: its AccumulateGrad while a graph holds one (ops/nodes.h)
  Tensor grad;                                    // of a leaf
  std::optional<DType> grad_dtype;                // of a leaf: what its gradient is brought to; none: its own
  bool any_grad_dtype = false;                    // of a leaf: its gradient keeps the dtype that it has
  Ref<GradBox> retained;                          // of another tensor whose gradient shall be kept
  std::vector<Ref<Hook>> hooks, post_accumulate;  // of a leaf
  uint32_t version_shift = 0;                     // of one that was given other memory: its version goes on from there
};

AutogradMeta& autograd_meta(const Tensor& t);  // makes it when there is none
// Counts the changes of a tensor: the writes to its storage, and those that came with other memory.
inline uint32_t version_of(const Tensor& t) {
  return t.storage().version() + (t.impl()->autograd ? t.impl()->autograd->version_shift : 0);
}
// t, from now on a view of what `from` is a view of. A graph may hold a leaf itself: `counts` says whether it is told
// that its leaf was changed. Without, it reads the new memory (x.data = ...).
void give_memory(const Tensor& t, const Tensor& from, bool counts);
// Called by every new node while it is set: the place of the forward call, for anomaly mode.
extern Ref<RefCounted> (*make_trace)();
// Asked for every operation: in the fastest kind of thread-local memory, of which a shared library may have a little.
extern __attribute__((tls_model("initial-exec"))) __thread bool grad_mode, grad_quiet;
inline bool grad_enabled() { return grad_mode && !grad_quiet; }  // are operations recorded?
// The inputs of the running node whose gradients the pass does not use, a bit for each. A formula with several costly
// gradients leaves those out.
extern __thread uint64_t unused_gradients;
inline bool is_gradient_used(int input) { return !(unused_gradients >> input & 1); }
bool grad_asked();               // what the user asked for; they are not, in inference mode
void set_grad_enabled(bool on);  // what the user asks for, in this thread
// Nothing is recorded inside an operation that records itself. Unlike the user's no_grad it leaves no trace in views.
class NoGradGuard {
 public:
  NoGradGuard();
  ~NoGradGuard();
  NoGradGuard(const NoGradGuard&) = delete;

 private:
  bool before_;
};
// Everything is recorded, whatever the user asked for.
class EnableGradGuard {
 public:
  EnableGradGuard();
  ~EnableGradGuard();
  EnableGradGuard(const EnableGradGuard&) = delete;

 private:
  bool mode_, quiet_;
};

// As make_view, but a view that gradients pass through: autograd sees writes to one in the other. The caller records
// the step. `layout` is one, or a function that makes it (in its place).
void join_base(TensorImpl& view, const Tensor& x, ViewKind kind);
template <class L>
Tensor view_of(const Tensor& x, L&& layout, DType dtype, ViewKind kind = ViewKind::Plain) {
  Tensor out(make_ref<TensorImpl>(x.impl()->storage, std::forward<L>(layout), dtype));
  join_base(*out.impl(), x, kind);
  return out;
}
template <class L>
Tensor view_of(const Tensor& x, L&& layout, ViewKind kind = ViewKind::Plain) {
  return view_of(x, std::forward<L>(layout), x.dtype(), kind);
}

// A view of the kinds Multi and Function: neither it nor its base may be written to where that would be recorded.
bool is_frozen(const TensorImpl& view);
[[noreturn]] void frozen_view(const TensorImpl& view, const char* what);

}  // namespace strided
