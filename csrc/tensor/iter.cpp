#include "tensor/iter.h"

#include <algorithm>

#include "base/parallel.h"

namespace strided {
namespace {

constexpr int64_t kBufferItems =
    1024;  // of each operand that is cast: 16 KiB at most, so a few operands fit the L1/L2 cache

}  // namespace

void TensorIterator::add(char* data, const Layout& layout, int64_t itemsize) {
  insert_output(n_, data, layout, itemsize);
}

void TensorIterator::insert_output(int k, char* data, const Layout& layout, int64_t itemsize) {
  for (int i = n_; i > k; --i) op_[i] = std::move(op_[i - 1]);
  ++n_;
  Operand& op = op_[k];
  op = Operand{};
  op.data = data;
  op.itemsize = op.loop_itemsize = itemsize;
  op.strides = broadcast_strides(layout, shape_);
  for (int64_t& s : op.strides) s *= itemsize;
}

void TensorIterator::add_scalar(const void* value, DType dtype) {
  Operand& op = op_[n_++];
  op.data = static_cast<char*>(const_cast<void*>(value));
  op.itemsize = op.loop_itemsize = size_of(dtype);
  op.dtype = dtype;
  op.typed = true;
  op.number = true;
  op.strides = Dims(shape_.size(), 0);
}

void TensorIterator::cast(int k, Loop2d cast, int64_t loop_itemsize) {
  op_[k].cast = cast;
  op_[k].loop_itemsize = loop_itemsize;
  casts_ = true;
}

void TensorIterator::operand_strides(const int64_t** strides) const {
  for (int k = 0; k < n_; ++k) strides[k] = op_[k].strides.data();
}

Dims TensorIterator::output_strides() const {
  int axes[kMaxDims];
  const int64_t* operands[kMaxOperands];
  operand_strides(operands);
  order_axes(shape_.ndim(), shape_.data(), n_, operands, axes);
  Dims strides(shape_.size());
  int64_t step = 1;
  for (int i = 0; i < shape_.ndim(); ++i) {
    strides[axes[i]] = step;
    step *= std::max<int64_t>(shape_[axes[i]], 1);
  }
  return strides;
}

void TensorIterator::plan() {
  numel_ = 1;
  for (int64_t size : shape_) numel_ *= size;
  int axes[kMaxDims];
  int64_t merged[kMaxDims];
  const int64_t* operands[kMaxOperands];
  operand_strides(operands);
  const int m = merge_axes(shape_.ndim(), shape_.data(), n_, operands, merged, axes);
  // The kernel's loop is 2-d: give it two axes always.
  for (int k = 0; k < n_; ++k) {
    Dims strides;
    for (int i = 0; i < m; ++i) strides.push_back(op_[k].strides[axes[i]]);
    while (strides.size() < 2) strides.push_back(strides.empty() ? op_[k].itemsize : 0);
    op_[k].strides = std::move(strides);
  }
  shape_ = Dims(merged, static_cast<size_t>(m));
  while (shape_.size() < 2) shape_.push_back(1);
}

LoopPlan TensorIterator::loop_plan(const char* name, Device device) const {
  LoopPlan plan;
  plan.name = name;
  plan.device = device.index;
  plan.ndim = shape_.ndim();
  while (plan.ndim > 0 && shape_[plan.ndim - 1] == 1) --plan.ndim;
  plan.shape = shape_.data();
  plan.n_operands = n_;
  for (int k = 0; k < n_; ++k)
    STRIDED_CHECK(op_[k].typed, RuntimeError, name, ": the dtype of operand ", k, " is not known");
  for (int k = 0; k < n_; ++k)
    plan.operand[k] = {op_[k].data, op_[k].strides.data(), op_[k].dtype,
                       op_[k].number || (op_[k].on_host && !device.is_cpu())};
  return plan;
}

void TensorIterator::run(Loop2d loop, const void* params, int n_outputs, int64_t grain) const {
  if (numel_ == 0) return;
  if (numel_ <= grain) {
    const GilRelease unlocked(numel_ > 65536);  // one after the other, and many
    return run_range(loop, params, n_outputs, 0, numel_);
  }
  parallel_for(0, numel_, grain, [&](int64_t begin, int64_t end) { run_range(loop, params, n_outputs, begin, end); });
}

void TensorIterator::run_range(Loop2d loop, const void* params, int n_outputs, int64_t begin, int64_t end) const {
  const int m = shape_.ndim();
  const int64_t n0 = shape_[0], n1 = shape_[1];
  char* data[kMaxOperands];
  int64_t strides[2 * kMaxOperands];
  for (int k = 0; k < n_; ++k) {
    strides[k] = op_[k].strides[0];
    strides[n_ + k] = op_[k].strides[1];
  }
  int64_t need = 0;
  if (casts_)
    for (int k = 0; k < n_; ++k)
      if (op_[k].cast) need += kBufferItems * op_[k].loop_itemsize;
  constexpr int64_t kStack = 4 * 8 * kBufferItems;
  alignas(64) char stack[kStack];
  std::unique_ptr<char[]> heap;
  char* buffers = stack;
  if (need > kStack) {
    heap.reset(new char[need]);
    buffers = heap.get();
  }
  // Position of `begin` as counters, innermost first.
  int64_t index[kMaxDims];
  int64_t rest = begin;
  for (int i = 0; i < m; ++i) {
    index[i] = rest % shape_[i];
    rest /= shape_[i];
  }
  while (begin < end) {
    for (int k = 0; k < n_; ++k) {
      data[k] = op_[k].data;
      for (int i = 0; i < m; ++i) data[k] += index[i] * op_[k].strides[i];
    }
    int64_t c0 = std::min(n0 - index[0], end - begin), c1 = 1;
    if (index[0] == 0 && c0 == n0) c1 = std::min(n1 - index[1], (end - begin) / n0);
    run_tile(loop, params, n_outputs, data, strides, c0, c1, buffers);
    begin += c0 * c1;
    // Advance the counters by c0 x c1.
    index[0] += c0;
    if (index[0] == n0) {
      index[0] = 0;
      index[1] += c1;
      for (int i = 1; i < m - 1 && index[i] == shape_[i]; ++i) {
        index[i] = 0;
        ++index[i + 1];
      }
    }
  }
}

void TensorIterator::run_tile(Loop2d loop, const void* params, int n_outputs, char** data, const int64_t* strides,
                              int64_t n0, int64_t n1, char* buffers) const {
  if (!casts_) return loop(data, strides, n0, n1, params);
  const int64_t step0 = std::min(n0, kBufferItems),
                step1 = n0 <= kBufferItems ? std::max<int64_t>(kBufferItems / n0, 1) : 1;
  for (int64_t j = 0; j < n1; j += step1) {
    for (int64_t i = 0; i < n0; i += step0) {
      const int64_t c0 = std::min(step0, n0 - i), c1 = std::min(step1, n1 - j);
      char* here[kMaxOperands];
      int64_t loop_strides[2 * kMaxOperands];
      char* buffer = buffers;
      for (int k = 0; k < n_; ++k) {
        char* at = data[k] + i * strides[k] + j * strides[n_ + k];
        if (op_[k].cast == nullptr) {
          here[k] = at;
          loop_strides[k] = strides[k];
          loop_strides[n_ + k] = strides[n_ + k];
          continue;
        }
        here[k] = buffer;
        loop_strides[k] = op_[k].loop_itemsize;
        loop_strides[n_ + k] = op_[k].loop_itemsize * c0;
        buffer += kBufferItems * op_[k].loop_itemsize;
        if (k >= n_outputs) {
          char* pair[2] = {here[k], at};
          const int64_t pair_strides[4] = {loop_strides[k], strides[k], loop_strides[n_ + k], strides[n_ + k]};
          op_[k].cast(pair, pair_strides, c0, c1, nullptr);
        }
      }
      loop(here, loop_strides, c0, c1, params);
      for (int k = 0; k < n_outputs; ++k) {
        if (op_[k].cast == nullptr) continue;
        char* pair[2] = {data[k] + i * strides[k] + j * strides[n_ + k], here[k]};
        const int64_t pair_strides[4] = {strides[k], loop_strides[k], strides[n_ + k], loop_strides[n_ + k]};
        op_[k].cast(pair, pair_strides, c0, c1, nullptr);
      }
    }
  }
}

}  // namespace strided
