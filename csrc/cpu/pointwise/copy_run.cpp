// Copies: bytes as they are, transposed matrices in tiles, casts and fills by loops.
#include <algorithm>
#include <cstring>

#include "base/dims.h"
#include "base/integer.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/loop_run.h"
#include "cpu/operations.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kBytesGrain = 262144;  // bytes that are not worth a second thread

void copy_bytes(char* to, const char* from, int64_t bytes) {
  if (bytes <= kBytesGrain) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  parallel_for(0, bytes, kBytesGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
}

// Transposing copies.
// When the fastest axis of the source is another one than the target's, a row-wise loop touches a new cache line with
// every element. Copying square tiles that fit the L1 cache uses each line whole.
// to[c * to_column + r] = from[r * from_row + c]: strides in bytes, both contiguous along the other axis.
template <class U>
void transpose_tiles(char* to, int64_t to_column, const char* from, int64_t from_row, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 64 / sizeof(U) * 2 > 16 ? 16 : 64 / sizeof(U) * 2;
  constexpr int64_t kPanel = 8 * kTile;
  const int64_t grain = std::max<int64_t>(1, 65536 / (rows * kPanel + 1));
  parallel_for(0, (columns + kPanel - 1) / kPanel, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c0 = begin * kPanel; c0 < std::min(end * kPanel, columns); c0 += kTile) {
      const int64_t c1 = std::min(c0 + kTile, columns);
      for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
        const int64_t r1 = std::min(r0 + kTile, rows);
        if (c1 - c0 == kTile && r1 - r0 == kTile) {
          U tile[kTile][kTile];
          for (int64_t r = 0; r < kTile; ++r)
            std::memcpy(tile[r], from + (r0 + r) * from_row + c0 * sizeof(U), sizeof(tile[r]));
          for (int64_t c = 0; c < kTile; ++c) {
            U line[kTile];
            for (int64_t r = 0; r < kTile; ++r) line[r] = tile[r][c];
            std::memcpy(to + (c0 + c) * to_column + r0 * sizeof(U), line, sizeof(line));
          }
          continue;
        }
        for (int64_t c = c0; c < c1; ++c)
          for (int64_t r = r0; r < r1; ++r)
            std::memcpy(to + c * to_column + r * sizeof(U), from + r * from_row + c * sizeof(U), sizeof(U));
      }
    }
  });
}

// One matrix, or many, transposed against each other. False when the operands are none.
bool copy_transposed(const LoopPlan& plan) {
  const LoopPlan::Operand &to = plan.operand[0], &from = plan.operand[1];
  if (plan.ndim < 2 || plan.numel() < 1024) return false;
  const int64_t size = size_of(to.dtype);
  int t = -1, f = -1;  // the axes that are contiguous in `to` and in `from`
  for (int i = 0; i < plan.ndim; ++i) {
    if (to.strides[i] == size) t = i;
    if (from.strides[i] == size) f = i;
  }
  if (t < 0 || f < 0 || t == f || plan.shape[t] < 8 || plan.shape[f] < 8) return false;
  const auto tiles = size == 1   ? transpose_tiles<uint8_t>
                     : size == 2 ? transpose_tiles<uint16_t>
                     : size == 4 ? transpose_tiles<uint32_t>
                     : size == 8 ? transpose_tiles<uint64_t>
                                 : transpose_tiles<Item16>;
  const GilRelease unlocked(plan.numel() > 65536);  // once, not for each of many matrices
  int64_t index[kMaxDims] = {};
  for (;;) {
    char* to_matrix = to.data;
    const char* from_matrix = from.data;
    for (int i = 0; i < plan.ndim; ++i) {
      to_matrix += index[i] * to.strides[i];
      from_matrix += index[i] * from.strides[i];
    }
    tiles(to_matrix, to.strides[f], from_matrix, from.strides[t], plan.shape[t], plan.shape[f]);
    int i = 0;
    for (; i < plan.ndim; ++i) {
      if (i == t || i == f) continue;
      if (++index[i] < plan.shape[i]) break;
      index[i] = 0;
    }
    if (i == plan.ndim) return true;
  }
}

}  // namespace

void copy(const LoopPlan& plan) {
  const LoopPlan::Operand &to = plan.operand[0], &from = plan.operand[1];
  if (to.dtype == from.dtype && !from.immediate) {
    const int64_t size = size_of(to.dtype);
    if (plan.ndim <= 1 && (plan.ndim == 0 || (to.strides[0] == size && from.strides[0] == size)))
      return copy_bytes(to.data, from.data, plan.numel() * size);
    if (copy_transposed(plan)) return;
  }
  run_loop(plan, kernel_table().copy[index_of(to.dtype)][index_of(from.dtype)], nullptr, 1);
}

// Each row of the result is written once, from front to back, which memory likes better than one pass for each part.
void join(const JoinPlan& plan) {
  const int64_t size = size_of(plan.dtype);
  int64_t row_bytes = 0;
  for (int64_t k = 0; k < plan.n_parts; ++k) row_bytes += plan.parts[k].length * size;
  if (row_bytes == 0) return;
  parallel_for(0, plan.rows, std::max<int64_t>(1, kBytesGrain / row_bytes), [&](int64_t begin, int64_t end) {
    char* to = plan.out + begin * row_bytes;
    for (int64_t row = begin; row < end; ++row)
      for (int64_t k = 0; k < plan.n_parts; ++k) {
        const int64_t bytes = plan.parts[k].length * size;
        if (bytes) std::memcpy(to, plan.parts[k].data + row * bytes, static_cast<size_t>(bytes));
        to += bytes;
      }
  });
}

void transfer(const TransferPlan& plan) {
  copy_bytes(static_cast<char*>(plan.to), static_cast<const char*>(plan.from), static_cast<int64_t>(plan.bytes));
}

}  // namespace cpu
}  // namespace strided
