// The classes of the graph's nodes: a recorded elementwise op, a formula given as a lambda, the end of the graph at a
// leaf, a write to a view. (The node of an autograd.Function holds Python objects: csrc/python/function_node.h.)
#pragma once

#include <atomic>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>

#include "core/scalar.h"
#include "ops/named_formula.h"
#include "ops/saved_tensor.h"
#include "tensor/graph.h"
#include "tensor/graph_age.h"

namespace strided {

struct OpDef;
struct Operand;

// An elementwise op: its formula is the op's vjp (ops/call.h).
class ElementwiseNode : public Node {
 public:
  static constexpr int kMaxArity = 4;

  ElementwiseNode(const OpDef& op, const Operand* in, const double* params);
  const char* own_name() const override;
  TensorList apply(TensorList& grads) override;
  void release_saved() override;
  bool find_saved(const char* what, SavedValue* out) override;
  std::vector<std::string> saved_names() const override;
  void save_output(const Tensor& out);

 private:
  struct Shown;
  std::vector<Shown> shown() const;
  bool is_power_of_number() const;
  bool is_reflected() const;       // a number and a tensor, which PyTorch has another function for
  size_t overload() const;         // of Info::overloads
  unsigned operands_read() const;  // bit k: the gradients that are wanted read operand k

  const OpDef& op_;
  SavedTensor in_[kMaxArity], out_;
  Scalar scalar_[kMaxArity];
  bool is_tensor_[kMaxArity] = {};
  double params_[4] = {};
};

// A formula given as a lambda (record in ops/record.h), or one whose values have names (ops/named_formula.h).
template <class F>
class LambdaNode : public Node {
 public:
  LambdaNode(const char* name, F f) : name_(name) {
    if constexpr (kIsNamed<F>) saved_names_ = f.names();
    const int64_t before = SavedTensor::Counted::copies;
    f_.emplace(std::move(f));
    has_saved_ = SavedTensor::Counted::copies != before;
  }
  const char* own_name() const override { return name_; }
  TensorList apply(TensorList& grads) override {
    const InUseGuard busy(busy_);
    if (freed_) saved_tensors_were_freed();
    const CurrentNodeGuard running(this);
    if constexpr (std::is_invocable_v<F, const Tensor&>) {
      return list((*f_)(grads[0]));
    } else {
      return list((*f_)(std::vector<Tensor>(grads.begin(), grads.end())));
    }
  }
  // A formula without saved tensors stays, as in PyTorch: the graph may run through it again. Nothing is freed that
  // another pass over the same graph uses at this moment.
  void release_saved() override {
    if (!has_saved_ || busy_ != 0) return;
    freed_ = true;
    if constexpr (kIsNamed<F>) f_->release();
    else f_.reset();
  }
  bool find_saved(const char* what, SavedValue* out) override {
    const int which = place_of_name(shown_names(), what);
    if (which < 0) return false;
    const InUseGuard in_use(busy_);  // a hook of the user may run the backward pass meanwhile
    if constexpr (kIsNamed<F>) *out = f_->value(which, *this);
    return true;
  }
  std::vector<std::string> saved_names() const override { return names_in(shown_names()); }

 private:
  // A node that is shown as that of another function has other values than its name tells.
  const char* shown_names() const { return std::strcmp(name(), name_) == 0 ? saved_names_ : ""; }
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
  const char* saved_names_ = "";
  std::optional<F> f_;
  bool has_saved_ = false, freed_ = false;
  std::atomic<int> busy_{0};
};

// The end of the graph at a leaf: adds to leaf.grad.
class AccumulateGrad : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf) : Node(next_node_number() - 1), leaf_(leaf) {
    set_output(0, leaf);
    set_gradient_dtype(gradient_dtype(leaf));
  }
  ~AccumulateGrad() override;
  // The leaf's one node: every graph that ends at the leaf ends there, so that hooks and identities agree. The node
  // holds the leaf; the leaf only knows the node, and forgets it when the last graph lets it go: no cycle.
  static Ref<Node> of(const Tensor& leaf);

  const char* own_name() const override { return "AccumulateGrad"; }
  bool is_accumulator() const override { return true; }
  TensorList apply(TensorList& grads) override;  // may take the gradient's memory
  const Tensor& leaf() const { return leaf_; }

 private:
  Tensor leaf_;
};
inline const Tensor& accumulated_leaf(const Node& accumulator) {
  return static_cast<const AccumulateGrad&>(accumulator).leaf();
}

// Note [Writes to views]
// A write to a view v of x makes a new value of v (`node`) and with it a new value of x: the old one outside v, v's
// inside. CopySlices is that step. Its gradient for the old x is x's gradient with zeros in v's place, and for v the
// gradient in that place. v's own record is made anew from x's when somebody asks (Note [Views whose base was written
// to]).
class CopySlices : public Node {
 public:
  CopySlices(const Tensor& base, const Tensor& view);
  const char* own_name() const override { return "CopySlices"; }
  TensorList apply(TensorList& grads) override;

 private:
  Layout base_, view_;  // relative to the base's first element in memory
  DType view_dtype_;
  int64_t first_ = 0, reach_ = 0;
};

// The elements of x's memory that `layout` and `dtype` show, as a recorded view of x.
Tensor view_at(const Tensor& x, const Layout& layout, DType dtype);

}  // namespace strided
