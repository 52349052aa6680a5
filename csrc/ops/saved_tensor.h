// Tensors that a node keeps for its backward formula.
#pragma once

#include "tensor/graph.h"

namespace strided {

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
  // Counts, in each thread, how many that hold something were copied or moved: a formula whose closure has some is
  // known by this. What keeps them in a container of its own has one of these beside it.
  struct Counted {
    static inline thread_local int64_t copies = 0;
    bool holds;
    explicit Counted(bool h) : holds(h) {}
    Counted(const Counted& other) noexcept : holds(other.holds) { copies += holds; }
    Counted& operator=(const Counted&) = default;
  };

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
  Counted counted_{false};
};

// What users see of it: Note [Values with names].
inline SavedValue saved_value(const Node&, const SavedTensor& t) {
  return t.was_saved() ? SavedValue(t.get()) : SavedValue();
}

inline void release_value(SavedTensor& t) {
  if (t.defined()) t.release();
}

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

}  // namespace strided
