#include "core/tensor.h"

#include <algorithm>
#include <atomic>

namespace strided {
namespace {

std::atomic<uint64_t> next_sequence{1};
thread_local bool grad_mode = true;

// Note [Long chains are released in a loop]
// Freeing the last node of a chain of a million frees the next one, and so on: done by plain recursion this overflows the
// stack. A node that dies inside another node's destructor only hands over its edges.
thread_local std::vector<Edge>* dying = nullptr;

}  // namespace

TensorImpl::~TensorImpl() = default;

Node::Node() : sequence(next_sequence.fetch_add(1, std::memory_order_relaxed)) {}

Node::~Node() {
  if (dying != nullptr) {
    for (Edge& edge : next) dying->push_back(std::move(edge));
    return;
  }
  std::vector<Edge> list = std::move(next);
  dying = &list;
  while (!list.empty()) {
    Edge edge = std::move(list.back());
    list.pop_back();
  }
  dying = nullptr;
}

void Node::set_output(int i, const Tensor& t) {
  if (i > static_cast<int>(rest_.size())) rest_.resize(i);
  Output& out = i == 0 ? first_ : rest_[i - 1];
  out.shape = t.shape();
  out.dtype = t.dtype();
}

bool Tensor::requires_grad() const {
  const AutogradMeta* meta = impl_->autograd.get();
  return meta != nullptr && (meta->requires_grad || meta->grad_fn);
}

AutogradMeta& autograd_meta(const Tensor& t) {
  auto& meta = t.impl()->autograd;
  if (!meta) meta.reset(new AutogradMeta);
  return *meta;
}

bool grad_enabled() { return grad_mode; }
void set_grad_enabled(bool on) { grad_mode = on; }

Tensor empty(const Dims& shape, DType dtype, Device device) {
  const int64_t n = checked_numel("empty", shape);
  return Tensor(make_ref<TensorImpl>(make_ref<Storage>(static_cast<size_t>(n * size_of(dtype)), device), Layout(shape), dtype));
}

Tensor empty_strided(const Dims& shape, const Dims& strides, DType dtype, Device device) {
  STRIDED_CHECK(shape.size() == strides.size(), RuntimeError, "mismatch in length of strides and shape: ", strides, " and ", shape);
  checked_numel("empty_strided", shape);
  int64_t last = 1;
  for (int i = 0; i < shape.ndim(); ++i) {
    STRIDED_CHECK(strides[i] >= 0, RuntimeError, "empty_strided: strides must not be negative, got ", strides);
    int64_t reach;
    if (shape[i] == 0) {
      last = 0;
      break;
    }
    STRIDED_CHECK(multiply(shape[i] - 1, strides[i], &reach) && !__builtin_add_overflow(last, reach, &last) && last < (int64_t(1) << 59),
                  RuntimeError, "empty_strided: size ", shape, " with strides ", strides, " needs more memory than there can be");
  }
  return Tensor(make_ref<TensorImpl>(make_ref<Storage>(static_cast<size_t>(last * size_of(dtype)), device), Layout(shape, strides, 0), dtype));
}

Tensor make_view(const Tensor& base, Layout layout) { return make_view(base, std::move(layout), base.dtype()); }

Tensor make_view(const Tensor& base, Layout layout, DType dtype) {
  return Tensor(make_ref<TensorImpl>(base.impl()->storage, std::move(layout), dtype));
}

void check_writable(const char* op, const Tensor& t) {
  STRIDED_CHECK(!t.storage().read_only(), RuntimeError, op, ": the tensor to write to is read-only");
  STRIDED_CHECK(!t.layout().has_zero_stride(), RuntimeError,
                "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
                "clone() the tensor before performing the operation. (",
                op, ")");
}

}  // namespace strided
