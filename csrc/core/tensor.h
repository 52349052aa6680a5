// A tensor: a strided view of a storage, with a dtype and, when gradients are wanted, a record for autograd.
#pragma once

#include <memory>
#include <vector>

#include "core/dtype.h"
#include "core/layout.h"
#include "core/storage.h"

namespace strided {

struct AutogradMeta;

class TensorImpl : public RefCounted {
 public:
  TensorImpl(Ref<Storage> s, Layout l, DType t) : storage(std::move(s)), layout(std::move(l)), numel(layout.numel()), dtype(t) {}
  ~TensorImpl() override;

  Ref<Storage> storage;
  Layout layout;
  int64_t numel;
  DType dtype;
  std::unique_ptr<AutogradMeta> autograd;  // null while no gradient is wanted
  void* py_object = nullptr;               // the Python object that shows this tensor, not owned
};

// A handle; copying it copies nothing.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return static_cast<bool>(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }

  const Layout& layout() const { return impl_->layout; }
  const Dims& shape() const { return impl_->layout.shape; }
  const Dims& strides() const { return impl_->layout.strides; }
  int64_t offset() const { return impl_->layout.offset; }
  int ndim() const { return impl_->layout.ndim(); }
  int64_t size(int i) const { return impl_->layout.shape[i]; }
  int64_t numel() const { return impl_->numel; }
  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->storage->device(); }
  int64_t itemsize() const { return size_of(impl_->dtype); }
  Storage& storage() const { return *impl_->storage; }
  bool is_contiguous() const { return impl_->layout.is_contiguous(); }

  // First element of the view. Offsets count from here; there may be none (numel() == 0).
  // (Reckoned in integers: an empty storage is at the null pointer, which no offset may be added to.)
  char* data() const { return reinterpret_cast<char*>(reinterpret_cast<intptr_t>(impl_->storage->data()) + impl_->layout.offset * itemsize()); }
  template <class T>
  T* data_as() const {
    return reinterpret_cast<T*>(data());
  }

  bool requires_grad() const;  // a leaf that wants a gradient, or computed from one

 private:
  Ref<TensorImpl> impl_;
};

// One step of the graph: gradients of its outputs in, gradients of its inputs out. csrc/autograd runs them.
class Node;
struct Edge {
  Ref<Node> node;  // null: no gradient wanted here
  int input = 0;   // which output of the forward operation, that is: which incoming gradient of `node`
};

class Node : public RefCounted {
 public:
  Node();
  ~Node() override;
  virtual const char* name() const = 0;  // "MulBackward0"
  // One gradient for each edge of `next` (undefined: none). An incoming gradient is undefined when nothing flowed there.
  virtual std::vector<Tensor> apply(std::vector<Tensor>& grads) = 0;
  virtual void release_saved() {}

  // Shape and dtype of an output of the forward: incoming gradients are brought to them by the engine.
  struct Output {
    Dims shape;
    DType dtype = DType::Float32;
  };
  const Output& output(int i) const { return i == 0 ? first_ : rest_[i - 1]; }
  void set_output(int i, const Tensor& t);
  int num_outputs() const { return 1 + static_cast<int>(rest_.size()); }

  std::vector<Edge> next;
  uint64_t sequence;  // later nodes run first

 private:
  Output first_;
  std::vector<Output> rest_;
};

struct AutogradMeta {
  bool requires_grad = false;  // set by the user on a leaf
  bool retains_grad = false;
  Ref<Node> grad_fn;           // null on a leaf
  int output = 0;              // which output of grad_fn
  bool is_view = false;        // shares memory with an input of grad_fn
  Tensor grad;
};

AutogradMeta& autograd_meta(const Tensor& t);  // makes it when there is none
bool grad_enabled();
void set_grad_enabled(bool on);
struct NoGrad {
  NoGrad() : before_(grad_enabled()) { set_grad_enabled(false); }
  ~NoGrad() { set_grad_enabled(before_); }

 private:
  bool before_;
};

// Uninitialised tensors.
Tensor empty(const Dims& shape, DType dtype, Device device = {});
Tensor empty_strided(const Dims& shape, const Dims& strides, DType dtype, Device device = {});
// Another view of the same storage, without a record for autograd. Bounds are the caller's business.
Tensor make_view(const Tensor& base, Layout layout);
Tensor make_view(const Tensor& base, Layout layout, DType dtype);

// Raises unless `t` may be written: not read-only, no element twice in it.
void check_writable(const char* op, const Tensor& t);
inline void bump_version(const Tensor& t) { t.storage().bump(); }

}  // namespace strided
