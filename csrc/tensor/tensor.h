// A tensor: a strided view of a storage, with a dtype and, when gradients are wanted, a record for autograd.
#pragma once

#include <memory>
#include <utility>

#include "base/macros.h"
#include "base/recycled.h"
#include "base/ref.h"
#include "core/dtype.h"
#include "core/layout.h"
#include "core/storage.h"

namespace strided {

// What autograd keeps with a tensor (tensor/graph.h).
struct AutogradMeta;
struct FreeAutogradMeta {
  void operator()(AutogradMeta* meta) const;
};

// How a view came to be; an in-place write to it that would be recorded asks (ops/record.h).
enum class ViewKind : uint8_t {
  Plain,
  Multi,        // one of several that one operation made
  Function,     // of an argument, returned by an autograd.Function: its gradient is the user's, not the view's
  NoGradGuard,  // made while nothing was recorded
  Inference,    // made in inference mode, of a tensor that was not
};

class TensorImpl : public RefCounted, public Recycled<TensorImpl> {
 public:
  static constexpr bool kUnderLock = true;

  TensorImpl(Ref<Storage> s, Layout&& l, DType t)
      : storage(std::move(s)), layout(std::move(l)), numel(layout.numel()), dtype(t) {}
  TensorImpl(Ref<Storage> s, const Layout& l, DType t) : TensorImpl(std::move(s), [&] { return l; }, t) {}
  // make() gives the layout. It is made in its place: to move one takes as long as to make it.
  template <class F, class = decltype(std::declval<F&>()())>
  TensorImpl(Ref<Storage> s, F&& make, DType t)
      : storage(std::move(s)), layout(make()), numel(layout.numel()), dtype(t) {}
  ~TensorImpl() override;

  // Note [Views whose base was written to]: their record is of an earlier value, and is made anew from the base's when
  // it is needed. A view made while nothing was recorded stays out of it.
  bool record_is_old() const { return base && seen_version != storage->version() && !is_apart(); }
  bool is_apart() const { return view_kind >= ViewKind::NoGradGuard; }  // made while nothing was recorded
  // Note [Inference tensors]; x.data of one is none, as in PyTorch.
  bool of_inference() const { return storage->of_inference() && !uncounted; }

  Ref<Storage> storage;
  Layout layout;
  int64_t numel;
  DType dtype;
  ViewKind view_kind = ViewKind::Plain;
  bool uncounted = false;     // x.data: writes through it do not count as changes of x
  uint32_t seen_version = 0;  // of a view: the storage's version when its record was made
  Ref<TensorImpl> base;       // of a view that gradients pass through: the tensor it is a view of, itself no view
  std::unique_ptr<AutogradMeta, FreeAutogradMeta> autograd;  // null while no gradient is wanted
  void* py_object = nullptr;                                 // of csrc/python: the object that shows it, or kept of one
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

  // First byte of the storage. RuntimeError where its memory was given up and the tensor has elements.
  void* bytes() const {
    void* const found = impl_->storage->data();
    if (STRIDED_UNLIKELY(found == nullptr)) check_memory();
    return found;
  }
  // First element of the view. Offsets count from here; there may be none (numel() == 0).
  // (Reckoned in integers: an empty storage is at the null pointer, which no offset may be added to.)
  char* data() const {
    return reinterpret_cast<char*>(reinterpret_cast<intptr_t>(bytes()) + impl_->layout.offset * itemsize());
  }
  template <class T>
  T* data_as() const {
    return reinterpret_cast<T*>(data());
  }

  // A leaf that wants a gradient, or computed from one.
  bool requires_grad() const { return (impl_->autograd || impl_->record_is_old()) && finds_grad(); }

 private:
  void check_memory() const;
  bool finds_grad() const;
  Ref<TensorImpl> impl_;
};

// Uninitialised tensors.
Tensor empty(const Dims& shape, DType dtype, Device device = {});
Tensor empty_strided(const Dims& shape, const Dims& strides, DType dtype, Device device = {});
// Another tensor of the same storage that autograd takes for unrelated. Bounds are the caller's business.
inline Tensor make_view(const Tensor& base, Layout layout, DType dtype) {
  return Tensor(make_ref<TensorImpl>(base.impl()->storage, std::move(layout), dtype));
}
inline Tensor make_view(const Tensor& base, Layout layout) { return make_view(base, std::move(layout), base.dtype()); }

// May `t` be written to, because nobody else can see it?
inline bool is_uniquely_owned(const Tensor& t) {
  const TensorImpl& impl = *t.impl();
  return impl.use_count() == 1 && impl.storage->use_count() == 1 && !impl.autograd && !impl.storage->borrowed() &&
         !t.layout().has_zero_stride();
}

// Raises unless `t` may be written: not read-only, no element twice in it (where that matters).
void check_writable(const char* op, const Tensor& t, bool one_value = false);
// After a write by `op`.
inline void bump_version(const Tensor& t, const char* op) {
  if (!t.impl()->uncounted) t.storage().bump(op);
}

}  // namespace strided
