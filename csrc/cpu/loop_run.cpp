#include "cpu/loop_run.h"

#include <algorithm>
#include <memory>

#include "base/dims.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/streaming.h"
#include "cpu/transposed.h"

namespace strided {
namespace cpu {
namespace {

// Of each operand that is cast: 16 KiB at most, so that the buffers of a few operands fit the L1 and L2 caches.
constexpr int64_t kBufferItems = 1024;
constexpr int64_t kStackBytes = 4 * 8 * kBufferItems;
constexpr int kMaxOperands = LoopPlan::kMaxOperands;
constexpr int64_t kNoStrides[kMaxDims] = {};

// Turned operands.
// Along the first axis of a tile the others are contiguous; a turned operand is so along the second, as x.T in x + x.T.
// A column of it has a cache line for each element, and all of them may compete for the same places of a cache (strides
// of powers of two): each line would be read once for every element in it. So such tiles are cut into pieces, whose
// turned operands are transposed on their way: two lines of float32 wide, and as long as the first-level cache allows,
// for the sake of the other operands.
constexpr int64_t kLeastSide = 16, kPieceColumns = 32;
constexpr int64_t kTurnedBytes = 32768;
static_assert(kTurnedBytes >= kPieceColumns * kMaxOperands * 16, "elements of 16 bytes fit");

class LoopRun {
 public:
  LoopRun(const LoopPlan& plan, Loop2d loop, const void* params, int n_outputs, const DType* loop_dtypes, bool streams)
      : loop_(loop), params_(params), n_(plan.n_operands), n_outputs_(n_outputs), ndim_(plan.ndim), shape_(plan.shape) {
    n0_ = ndim_ > 0 ? shape_[0] : 1;
    n1_ = ndim_ > 1 ? shape_[1] : 1;
    for (int k = 0; k < n_; ++k) {
      const LoopPlan::Operand& from = plan.operand[k];
      data_[k] = from.data;
      strides_[k] = from.immediate ? kNoStrides : from.strides;
      tile_strides_[k] = ndim_ > 0 ? strides_[k][0] : from.immediate ? 0 : size_of(from.dtype);
      tile_strides_[n_ + k] = ndim_ > 1 ? strides_[k][1] : 0;
      itemsize_[k] = size_of(from.dtype);
      if (loop_dtypes && is_turned(k)) turned_bytes_ += itemsize_[k];
      if (!loop_dtypes || from.dtype == loop_dtypes[k]) continue;
      const bool output = k < n_outputs;
      cast_[k] =
          kernel_table()
              .copy[index_of(output ? from.dtype : loop_dtypes[k])][index_of(output ? loop_dtypes[k] : from.dtype)];
      loop_itemsize_[k] = size_of(loop_dtypes[k]);
      buffer_bytes_ += kBufferItems * loop_itemsize_[k];
    }
    streamed_ = streams && loop_dtypes && is_streamable(plan);
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
    if (!streamed_) return run_tiles(begin, end, buffers, nullptr);
    Stream to(data_[0] + begin * itemsize_[0]);
    run_tiles(begin, end, buffers, &to);
  }
  void run_tiles(int64_t begin, int64_t end, char* buffers, Stream* to) const {
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
      if (turned_bytes_ > 0 && c0 >= kLeastSide && c1 >= kLeastSide) run_pieces(data, c0, c1, buffers);
      else if (to) stream_tile(*to, data, c0, c1, buffers);
      else run_tile(data, tile_strides_, c0, c1, buffers);
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

  // Note [Streamed results] in cpu/streaming.h. One output without gaps, in the order of the plan, apart from every
  // operand: what is computed in place was read into the cache anyway.
  bool is_streamable(const LoopPlan& plan) const {
    if (n_outputs_ != 1 || turned_bytes_ > 0) return false;
    int64_t bytes = itemsize_[0];
    for (int i = 0; i < ndim_; ++i) {
      if (strides_[0][i] != bytes) return false;
      bytes *= shape_[i];
    }
    if (!is_streamed(bytes)) return false;
    for (int k = 1; k < n_; ++k) {
      if (plan.operand[k].immediate) continue;
      const char *first = data_[k], *last = data_[k] + itemsize_[k];
      for (int i = 0; i < ndim_; ++i) (strides_[k][i] < 0 ? first : last) += strides_[k][i] * (shape_[i] - 1);
      if (first < data_[0] + bytes && data_[0] < last) return false;
    }
    return true;
  }
  // Whole rows, as many as fit, or parts of one.
  void stream_tile(Stream& to, char** data, int64_t n0, int64_t n1, char* buffers) const {
    const int64_t size = itemsize_[0], row = n0 * size;
    int64_t strides[2 * kMaxOperands];
    for (int k = 0; k < 2 * n_; ++k) strides[k] = tile_strides_[k];
    char* here[kMaxOperands];
    for (int64_t j = 0, i = 0; j < n1;) {
      const bool whole = i == 0 && row <= Stream::kBytes / 2;
      const int64_t c0 = whole ? n0 : std::min(n0 - i, to.capacity() / size);
      const int64_t c1 = whole ? std::min(n1 - j, to.capacity() / row) : 1;
      here[0] = to.next();
      for (int k = 1; k < n_; ++k) here[k] = data[k] + i * tile_strides_[k] + j * tile_strides_[n_ + k];
      strides[n_] = c0 * size;
      run_tile(here, strides, c0, c1, buffers);
      to.advance(c0 * c1 * size);
      i += c0;
      if (i == n0) i = 0, j += c1;
    }
  }

  bool is_turned(int k) const {
    const int64_t along = tile_strides_[k], across = tile_strides_[n_ + k];
    return across == itemsize_[k] && (along >= kLeastSide * across || along <= -kLeastSide * across);
  }
  void run_pieces(char** data, int64_t n0, int64_t n1, char* buffers) const {
    int64_t rows = kTurnedBytes / (kPieceColumns * turned_bytes_);
    if (rows > kLeastSide) rows -= rows % kLeastSide;
    alignas(64) char memory[kTurnedBytes];
    int64_t strides[2 * kMaxOperands];
    char *here[kMaxOperands], *turned[kMaxOperands];
    int64_t used = 0;
    for (int k = 0; k < n_; ++k) {
      strides[k] = tile_strides_[k];
      strides[n_ + k] = tile_strides_[n_ + k];
      if (!is_turned(k)) continue;
      turned[k] = memory + used;
      used += rows * kPieceColumns * itemsize_[k];
      strides[k] = itemsize_[k];
      strides[n_ + k] = rows * itemsize_[k];
    }
    for (int64_t j = 0; j < n1; j += kPieceColumns)
      for (int64_t i = 0; i < n0; i += rows) {
        const int64_t c0 = std::min(rows, n0 - i), c1 = std::min(kPieceColumns, n1 - j);
        for (int k = 0; k < n_; ++k) {
          char* const stored = data[k] + i * tile_strides_[k] + j * tile_strides_[n_ + k];
          here[k] = is_turned(k) ? turned[k] : stored;
          if (is_turned(k) && k >= n_outputs_)
            copy_turned(itemsize_[k], turned[k], strides[n_ + k], stored, tile_strides_[k], c0, c1);
        }
        run_tile(here, strides, c0, c1, buffers);
        for (int k = 0; k < n_outputs_; ++k)
          if (is_turned(k))
            copy_turned(itemsize_[k], data[k] + i * tile_strides_[k] + j * tile_strides_[n_ + k], tile_strides_[k],
                        turned[k], strides[n_ + k], c1, c0);
      }
  }

  void run_tile(char** data, const int64_t* strides, int64_t n0, int64_t n1, char* buffers) const {
    if (buffer_bytes_ == 0) return loop_(data, strides, n0, n1, params_);
    const int64_t step0 = std::min(n0, kBufferItems),
                  step1 = n0 <= kBufferItems ? std::max<int64_t>(kBufferItems / n0, 1) : 1;
    for (int64_t j = 0; j < n1; j += step1)
      for (int64_t i = 0; i < n0; i += step0)
        run_cast(data, strides, i, j, std::min(step0, n0 - i), std::min(step1, n1 - j), buffers);
  }

  // c0 x c1 elements of a tile, from (i, j).
  void run_cast(char** data, const int64_t* tile, int64_t i, int64_t j, int64_t c0, int64_t c1, char* buffers) const {
    char* stored[kMaxOperands];
    char* here[kMaxOperands];
    int64_t strides[2 * kMaxOperands];
    for (int k = 0; k < n_; ++k) {
      stored[k] = here[k] = data[k] + i * tile[k] + j * tile[n_ + k];
      strides[k] = tile[k];
      strides[n_ + k] = tile[n_ + k];
      if (!cast_[k]) continue;
      here[k] = buffers;
      strides[k] = loop_itemsize_[k];
      strides[n_ + k] = loop_itemsize_[k] * c0;
      buffers += kBufferItems * loop_itemsize_[k];
      if (k >= n_outputs_) cast(k, here[k], strides, stored[k], tile, c0, c1);
    }
    loop_(here, strides, c0, c1, params_);
    for (int k = 0; k < n_outputs_; ++k)
      if (cast_[k]) cast(k, stored[k], tile, here[k], strides, c0, c1);
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
  int64_t itemsize_[kMaxOperands];
  int64_t turned_bytes_ = 0;  // of an element of all turned operands
  Loop2d cast_[kMaxOperands] = {};
  int64_t loop_itemsize_[kMaxOperands];
  int64_t buffer_bytes_ = 0;
  bool streamed_ = false;
};

}  // namespace

void run_loop(const LoopPlan& plan, Loop2d loop, const void* params, int n_outputs, const DType* loop_dtypes,
              int64_t grain, bool streams) {
  const int64_t n = plan.numel();
  if (n == 0) return;
  const LoopRun run(plan, loop, params, n_outputs, loop_dtypes, streams);
  if (n <= grain) {
    const GilRelease unlocked(n > 65536);  // many elements in one thread
    return run.run_range(0, n);
  }
  parallel_for(0, n, grain, [&](int64_t begin, int64_t end) { run.run_range(begin, end); });
}

}  // namespace cpu
}  // namespace strided
