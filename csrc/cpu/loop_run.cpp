#include "cpu/loop_run.h"

#include <algorithm>
#include <memory>

#include "base/dims.h"
#include "base/parallel.h"
#include "cpu/kernels.h"

namespace strided {
namespace cpu {
namespace {

// Of each operand that is cast: 16 KiB at most, so that the buffers of a few operands fit the L1 and L2 caches.
constexpr int64_t kBufferItems = 1024;
constexpr int64_t kStackBytes = 4 * 8 * kBufferItems;
constexpr int kMaxOperands = LoopPlan::kMaxOperands;
constexpr int64_t kNoStrides[kMaxDims] = {};

class LoopRun {
 public:
  LoopRun(const LoopPlan& plan, Loop2d loop, const void* params, int n_outputs, const DType* loop_dtypes)
      : loop_(loop), params_(params), n_(plan.n_operands), n_outputs_(n_outputs), ndim_(plan.ndim), shape_(plan.shape) {
    n0_ = ndim_ > 0 ? shape_[0] : 1;
    n1_ = ndim_ > 1 ? shape_[1] : 1;
    for (int k = 0; k < n_; ++k) {
      const LoopPlan::Operand& from = plan.operand[k];
      data_[k] = from.data;
      strides_[k] = from.immediate ? kNoStrides : from.strides;
      tile_strides_[k] = ndim_ > 0 ? strides_[k][0] : from.immediate ? 0 : size_of(from.dtype);
      tile_strides_[n_ + k] = ndim_ > 1 ? strides_[k][1] : 0;
      if (!loop_dtypes || from.dtype == loop_dtypes[k]) continue;
      const bool output = k < n_outputs;
      cast_[k] =
          kernel_table()
              .copy[index_of(output ? from.dtype : loop_dtypes[k])][index_of(output ? loop_dtypes[k] : from.dtype)];
      loop_itemsize_[k] = size_of(loop_dtypes[k]);
      buffer_bytes_ += kBufferItems * loop_itemsize_[k];
    }
  }

  // Positions [begin, end) in the order of the plan.
  void run_range(int64_t begin, int64_t end) const {
    if (buffer_bytes_ == 0) return run_tiles(begin, end, nullptr);
    if (buffer_bytes_ <= kStackBytes) {
      alignas(64) char stack[kStackBytes];
      return run_tiles(begin, end, stack);
    }
    const std::unique_ptr<char[]> heap(new char[static_cast<size_t>(buffer_bytes_)]);
    run_tiles(begin, end, heap.get());
  }

 private:
  void run_tiles(int64_t begin, int64_t end, char* buffers) const {
    // The position of `begin` as counters, innermost first.
    int64_t index[kMaxDims + 2] = {};
    int64_t rest = begin;
    for (int i = 0; i < ndim_; ++i) {
      index[i] = rest % shape_[i];
      rest /= shape_[i];
    }
    char* data[kMaxOperands];
    while (begin < end) {
      for (int k = 0; k < n_; ++k) {
        data[k] = data_[k];
        for (int i = 0; i < ndim_; ++i) data[k] += index[i] * strides_[k][i];
      }
      int64_t c0 = std::min(n0_ - index[0], end - begin), c1 = 1;
      if (index[0] == 0 && c0 == n0_) c1 = std::min(n1_ - index[1], (end - begin) / n0_);
      run_tile(data, c0, c1, buffers);
      begin += c0 * c1;
      index[0] += c0;
      if (index[0] == n0_) {
        index[0] = 0;
        index[1] += c1;
        for (int i = 1; i < ndim_ - 1 && index[i] == shape_[i]; ++i) {
          index[i] = 0;
          ++index[i + 1];
        }
      }
    }
  }

  void run_tile(char** data, int64_t n0, int64_t n1, char* buffers) const {
    if (buffer_bytes_ == 0) return loop_(data, tile_strides_, n0, n1, params_);
    const int64_t step0 = std::min(n0, kBufferItems),
                  step1 = n0 <= kBufferItems ? std::max<int64_t>(kBufferItems / n0, 1) : 1;
    for (int64_t j = 0; j < n1; j += step1)
      for (int64_t i = 0; i < n0; i += step0)
        run_cast(data, i, j, std::min(step0, n0 - i), std::min(step1, n1 - j), buffers);
  }

  // c0 x c1 elements of a tile, from (i, j).
  void run_cast(char** data, int64_t i, int64_t j, int64_t c0, int64_t c1, char* buffers) const {
    char* stored[kMaxOperands];
    char* here[kMaxOperands];
    int64_t strides[2 * kMaxOperands];
    for (int k = 0; k < n_; ++k) {
      stored[k] = here[k] = data[k] + i * tile_strides_[k] + j * tile_strides_[n_ + k];
      strides[k] = tile_strides_[k];
      strides[n_ + k] = tile_strides_[n_ + k];
      if (!cast_[k]) continue;
      here[k] = buffers;
      strides[k] = loop_itemsize_[k];
      strides[n_ + k] = loop_itemsize_[k] * c0;
      buffers += kBufferItems * loop_itemsize_[k];
      if (k >= n_outputs_) cast(k, here[k], strides, stored[k], tile_strides_, c0, c1);
    }
    loop_(here, strides, c0, c1, params_);
    for (int k = 0; k < n_outputs_; ++k)
      if (cast_[k]) cast(k, stored[k], tile_strides_, here[k], strides, c0, c1);
  }

  void cast(int k, char* to, const int64_t* to_strides, char* from, const int64_t* from_strides, int64_t c0,
            int64_t c1) const {
    char* data[2] = {to, from};
    const int64_t strides[4] = {to_strides[k], from_strides[k], to_strides[n_ + k], from_strides[n_ + k]};
    cast_[k](data, strides, c0, c1, nullptr);
  }

  const Loop2d loop_;
  const void* const params_;
  const int n_, n_outputs_, ndim_;
  const int64_t* const shape_;
  int64_t n0_, n1_;  // of the two inner axes
  char* data_[kMaxOperands];
  const int64_t* strides_[kMaxOperands];
  int64_t tile_strides_[2 * kMaxOperands];
  Loop2d cast_[kMaxOperands] = {};
  int64_t loop_itemsize_[kMaxOperands];
  int64_t buffer_bytes_ = 0;
};

}  // namespace

void run_loop(const LoopPlan& plan, Loop2d loop, const void* params, int n_outputs, const DType* loop_dtypes,
              int64_t grain) {
  const int64_t n = plan.numel();
  if (n == 0) return;
  const LoopRun run(plan, loop, params, n_outputs, loop_dtypes);
  if (n <= grain) {
    const GilRelease unlocked(n > 65536);  // many elements in one thread
    return run.run_range(0, n);
  }
  parallel_for(0, n, grain, [&](int64_t begin, int64_t end) { run.run_range(begin, end); });
}

}  // namespace cpu
}  // namespace strided
