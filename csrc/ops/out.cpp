#include "ops/out.h"

#include "base/warning.h"
#include "core/promotion.h"
#include "ops/copy.h"
#include "tensor/graph.h"

namespace strided {
namespace {

// Of the innermost running call with out=.
thread_local OutScope* current = nullptr;

// Nobody else sees the memory, so that it may be exchanged.
bool is_alone(const Tensor& t) { return !t.storage().borrowed() && t.impl()->storage->use_count() == 1; }

// A view of a tensor that nobody else has: empty(3, 4).t(). It is alone without its base.
bool is_alone_with_base(const Tensor& t) {
  const TensorImpl& impl = *t.impl();
  return impl.base && impl.base->use_count() == 1 && impl.storage->use_count() == 2 && !t.storage().borrowed() &&
         !t.requires_grad();
}

// Before the memory of a tensor is exchanged.
void leave_base(const Tensor& t) {
  t.impl()->base = {};
  t.impl()->view_kind = ViewKind::Plain;
}

void resize(const char* op, const Tensor& out, const Dims& shape) {
  Layout layout(shape);
  leave_base(out);
  out.storage().resize(static_cast<size_t>(checked_numel(op, shape) * out.itemsize()));
  out.impl()->numel = layout.numel();
  out.impl()->layout = std::move(layout);
}

bool can_take_over(const Tensor& out, const Tensor& result) {
  return out.storage().nbytes() == 0 && result.dtype() == out.dtype() && result.is_contiguous() &&
         result.offset() == 0 && is_alone(result) &&
         result.storage().nbytes() == static_cast<size_t>(result.numel() * result.itemsize());
}

void warn_before_resize(const Tensor& out, const Dims& shape, ResizeText text) {
  if (text && out.numel() != 0) warn(text(out, shape));
}

void put(const char* op, const Tensor& out, const Tensor& result, ResizeText text) {
  if (out.shape() != result.shape()) warn_before_resize(out, result.shape(), text);
  if (out.shape() == result.shape()) {
    copy_into(out, result);
  } else if (can_take_over(out, result)) {
    give_memory(out, result, false);
  } else {
    resize(op, out, result.shape());
    copy_into(out, result);
  }
  bump_version(out, op);
}

}  // namespace

OutScope::OutScope(const Tensor& out, const std::vector<Tensor>& inputs) : out_(&out), outer_(current) {
  // By addresses: two storages may stand on one memory (arrays of NumPy, DLPack).
  const auto first = [](const Tensor& t) { return reinterpret_cast<uintptr_t>(t.storage().data()); };
  const auto meet = [&](const Tensor& a, const Tensor& b) {
    return a.device() == b.device() && first(a) < first(b) + b.storage().nbytes() &&
           first(b) < first(a) + a.storage().nbytes();
  };
  for (const Tensor& t : inputs)
    if (meet(t, out)) out_ = nullptr;
  current = this;
}

OutScope::~OutScope() { current = outer_; }

Tensor empty_result(const Dims& shape, DType dtype, Device device) {
  const Tensor* out = current ? current->out_ : nullptr;
  if (!out || out->dtype() != dtype || out->shape() != shape || !out->is_contiguous() ||
      out->device() != resolve_device(device))
    return empty(shape, dtype, device);
  current->out_ = nullptr;
  return make_view(*out, out->layout());
}

std::string resize_text(const Tensor& out, const Dims& shape) {
  return concat(
      "An output with one or more elements was resized since it had shape ", out.shape(),
      ", which does not match the required output shape ", shape,
      ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have "
      "zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
      "t.resize_(0).");
}

void refuse_gradient(const char* op) {
  STRIDED_THROW(RuntimeError, op,
                "(): functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad.");
}

void check_destinations(const char* op, const std::vector<Tensor>& outs) {
  for (size_t i = 0; i < outs.size(); ++i) {
    const Tensor& out = outs[i];
    check_writable(op, out);
    if (grad_enabled() && out.requires_grad()) refuse_gradient(op);
    for (size_t k = 0; k < i; ++k) {
      const Tensor& other = outs[k];
      const bool same_storage = &other.storage() == &out.storage();
      STRIDED_CHECK(other.impl() != out.impl() &&
                        !(same_storage &&
                          overlap(out.layout(), out.itemsize(), other.layout(), other.itemsize()) != Overlap::None),
                    RuntimeError,
                    "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                    "location. Please clone() the tensor before performing the operation. (",
                    op, ": two results)");
    }
  }
}

void check_out(const char* op, const Tensor& out, const Dims& shape, DType result, Device device) {
  check_destinations(op, {out});
  STRIDED_CHECK(can_cast(result, out.dtype()), RuntimeError, "result type ", result,
                " can't be cast to the desired output type ", out.dtype());
  STRIDED_CHECK(out.device() == device, RuntimeError, op, ": expected out tensor to be on ", device, ", but it is on ",
                out.device());
  // out= never resizes a view: other tensors may look at that memory.
  STRIDED_CHECK(out.shape() == shape || is_alone(out) || is_alone_with_base(out), RuntimeError, op,
                ": the result has shape ", shape, ", but out has shape ", out.shape(),
                "; only a tensor that nobody shares memory with is resized");
}

void prepare_out(const char* op, const Tensor& out, const Dims& shape, DType result, Device device, ResizeText text) {
  check_out(op, out, shape, result, device);
  if (out.shape() == shape) return;
  warn_before_resize(out, shape, text);
  resize(op, out, shape);
}

void write_out(const char* op, const std::vector<Tensor>& outs, const std::vector<Tensor>& results, ResizeText text) {
  check_destinations(op, outs);
  for (size_t i = 0; i < outs.size(); ++i) {
    if (grad_enabled() && results[i].requires_grad()) refuse_gradient(op);
    check_out(op, outs[i], results[i].shape(), results[i].dtype(), results[i].device());
  }
  for (size_t i = 0; i < outs.size(); ++i) put(op, outs[i], results[i], text);
}

void write_out(const char* op, const Tensor& out, const Tensor& result, ResizeText text) {
  write_out(op, std::vector<Tensor>{out}, std::vector<Tensor>{result}, text);
}

}  // namespace strided
