// Copies: bytes as they are, transposed matrices in tiles, casts and fills by loops.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/dims.h"
#include "base/integer.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/loop_run.h"
#include "cpu/operations.h"
#include "cpu/streaming.h"
#include "cpu/transposed.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kBytesGrain = 262144;  // bytes that are not worth a second thread
constexpr int64_t kJoinedBytes = 16384, kNarrowBytes = 64;

void copy_bytes(char* to, const char* from, int64_t bytes) {
  if (bytes <= kBytesGrain) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  const bool streamed = is_streamed(bytes);
  parallel_for(0, bytes, kBytesGrain, [&](int64_t begin, int64_t end) {
    if (!streamed) {
      std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
      return;
    }
    stream(to + begin, from + begin, end - begin);
    end_stream();
  });
}

// Sixteen bytes as a vector of U.
template <class U>
struct Lanes {
  static constexpr int count = 16 / static_cast<int>(sizeof(U));
  typedef U type __attribute__((vector_size(16)));
};

// Elements of a and b in turns: of their first halves, or (upper) of their second halves.
template <class U, bool upper, int... I>
typename Lanes<U>::type interleaved(typename Lanes<U>::type a, typename Lanes<U>::type b,
                                    std::integer_sequence<int, I...>) {
  constexpr int n = Lanes<U>::count, first = upper ? n / 2 : 0;
#if defined(__clang__)
  return __builtin_shufflevector(a, b, (I % 2 * n + first + I / 2)...);
#else
  return __builtin_shuffle(a, b, typename Lanes<U>::type{static_cast<U>(I % 2 * n + first + I / 2)...});
#endif
}

// A square of as many rows as a vector has elements: to[c][r] = from[r][c]. Rows are brought together in pairs half the
// square apart; after log2(rows) such rounds columns have become rows (H. S. Stone, "Parallel processing with the
// perfect shuffle", IEEE Trans. Computers C-20, 1971).
template <class U>
void transpose_square(char* to, int64_t to_column, const char* from, int64_t from_row) {
  if constexpr (sizeof(U) == 16) {
    std::memcpy(to, from, sizeof(U));
  } else {
    using V = typename Lanes<U>::type;
    constexpr int n = Lanes<U>::count;
    constexpr auto places = std::make_integer_sequence<int, n>{};
    V v[n];
    for (int i = 0; i < n; ++i) std::memcpy(&v[i], from + i * from_row, sizeof(V));
    for (int step = 1; step < n; step *= 2) {
      V next[n];
      for (int i = 0; i < n / 2; ++i) {
        next[2 * i] = interleaved<U, false>(v[i], v[i + n / 2], places);
        next[2 * i + 1] = interleaved<U, true>(v[i], v[i + n / 2], places);
      }
      for (int i = 0; i < n; ++i) v[i] = next[i];
    }
    for (int i = 0; i < n; ++i) std::memcpy(to + i * to_column, &v[i], sizeof(V));
  }
}

// Transposing copies.
// When the fastest axis of the source is another one than the target's, a row-wise loop touches a new cache line with
// every element. Copying square tiles that fit the L1 cache uses each line whole.
// to[c * to_column + r] = from[r * from_row + c]: strides in bytes, both contiguous along the other axis.
// Rows that are 4 KiB apart share one set of the cache, which holds few lines. So a tile of 16-byte items has four
// rows, of one line each.
template <class U>
constexpr int64_t kTile = sizeof(U) == 16 ? 4 : 16;

template <class U>
void transpose_tile(char* to, int64_t to_column, const char* from, int64_t from_row) {
  constexpr int64_t square = 16 / sizeof(U);
  for (int64_t r = 0; r < kTile<U>; r += square)
    for (int64_t c = 0; c < kTile<U>; c += square)
      transpose_square<U>(to + c * to_column + r * static_cast<int64_t>(sizeof(U)), to_column,
                          from + r * from_row + c * static_cast<int64_t>(sizeof(U)), from_row);
}

// Columns [c0, c1) of the source.
template <class U>
void transpose_columns(char* to, int64_t to_column, const char* from, int64_t from_row, int64_t rows, int64_t c0,
                       int64_t c1) {
  constexpr auto size = static_cast<int64_t>(sizeof(U));
  // Columns that share a set of the cache would lose their lines before these are complete.
  if (size == 8 && to_column % 2048 == 0)
    return kernel_table().turn(to + c0 * to_column, to_column, from + c0 * size, from_row, rows, c1 - c0);
  for (; c0 < c1; c0 += kTile<U>) {
    const int64_t c2 = std::min(c0 + kTile<U>, c1);
    for (int64_t r0 = 0; r0 < rows; r0 += kTile<U>) {
      const int64_t r1 = std::min(r0 + kTile<U>, rows);
      if (c2 - c0 == kTile<U> && r1 - r0 == kTile<U>) {
        transpose_tile<U>(to + c0 * to_column + r0 * size, to_column, from + r0 * from_row + c0 * size, from_row);
        continue;
      }
      for (int64_t c = c0; c < c2; ++c)
        for (int64_t r = r0; r < r1; ++r)
          std::memcpy(to + c * to_column + r * size, from + r * from_row + c * size, sizeof(U));
    }
  }
}

template <class U>
void transpose_matrix(char* to, int64_t to_column, const char* from, int64_t from_row, int64_t rows, int64_t columns) {
  constexpr int64_t kPanel = 128;
  const int64_t grain = std::max<int64_t>(1, 65536 / (rows * kPanel + 1));
  parallel_for(0, (columns + kPanel - 1) / kPanel, grain, [&](int64_t begin, int64_t end) {
    transpose_columns<U>(to, to_column, from, from_row, rows, begin * kPanel, std::min(end * kPanel, columns));
  });
}

// to = a[0], b[0], a[1], b[1], ...: n elements of each.
template <class U>
void interleave(char* to, const char* a, const char* b, int64_t n) {
  constexpr auto size = static_cast<int64_t>(sizeof(U));
  int64_t i = 0;
  if constexpr (sizeof(U) < 16) {
    using V = typename Lanes<U>::type;
    constexpr int lanes = Lanes<U>::count;
    constexpr auto places = std::make_integer_sequence<int, lanes>{};
    for (; i + lanes <= n; i += lanes) {
      V u, v;
      std::memcpy(&u, a + i * size, sizeof(V));
      std::memcpy(&v, b + i * size, sizeof(V));
      const V pairs[] = {interleaved<U, false>(u, v, places), interleaved<U, true>(u, v, places)};
      std::memcpy(to + 2 * i * size, pairs, sizeof(pairs));
    }
  }
  for (; i < n; ++i) {
    std::memcpy(to + 2 * i * size, a + i * size, sizeof(U));
    std::memcpy(to + (2 * i + 1) * size, b + i * size, sizeof(U));
  }
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
  const auto tiles = size == 1   ? transpose_matrix<uint8_t>
                     : size == 2 ? transpose_matrix<uint16_t>
                     : size == 4 ? transpose_matrix<uint32_t>
                     : size == 8 ? transpose_matrix<uint64_t>
                                 : transpose_matrix<Item16>;
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

// Rows that are contiguous on both sides.
void stream_rows(char** data, const int64_t* strides, int64_t n0, int64_t n1, const void*) {
  for (int64_t j = 0; j < n1; ++j) stream(data[0] + j * strides[2], data[1] + j * strides[3], n0 * strides[0]);
  end_stream();
}

}  // namespace

void copy_turned(int64_t size, char* to, int64_t to_column, const char* from, int64_t from_row, int64_t rows,
                 int64_t columns) {
  const auto copy = size == 1   ? transpose_columns<uint8_t>
                    : size == 2 ? transpose_columns<uint16_t>
                    : size == 4 ? transpose_columns<uint32_t>
                    : size == 8 ? transpose_columns<uint64_t>
                                : transpose_columns<Item16>;
  copy(to, to_column, from, from_row, rows, 0, columns);
}

void copy(const LoopPlan& plan) {
  const LoopPlan::Operand &to = plan.operand[0], &from = plan.operand[1];
  if (to.dtype == from.dtype && !from.immediate) {
    const int64_t size = size_of(to.dtype);
    if (plan.ndim <= 1 && (plan.ndim == 0 || (to.strides[0] == size && from.strides[0] == size)))
      return copy_bytes(to.data, from.data, plan.numel() * size);
    if (plan.ndim > 1 && to.strides[0] == size && from.strides[0] == size && plan.shape[0] * size >= kLeastStreamed &&
        is_streamed(plan.numel() * size))
      return run_loop(plan, stream_rows, nullptr, 1);
    if (copy_transposed(plan)) return;
  }
  const DType dtypes[] = {to.dtype, from.dtype};
  // From bool to bool the bytes move, as they are.
  const bool bools = to.dtype == DType::Bool && from.dtype == DType::Bool;
  const DType moved = bools ? DType::UInt8 : to.dtype, given = bools ? DType::UInt8 : from.dtype;
  const Loop2d loop = kernel_table().copy[index_of(moved)][index_of(given)];
  run_loop(plan, loop, nullptr, 1, dtypes, kLoopGrain, true);
}

// Each row of the result is written once, from front to back, which memory likes better than one pass for each part.
void join(const JoinPlan& plan) {
  const int64_t size = size_of(plan.dtype);
  int64_t row_bytes = 0;
  for (int64_t k = 0; k < plan.n_parts; ++k) row_bytes += plan.parts[k].length * size;
  if (row_bytes == 0) return;
  const bool streamed = is_streamed(plan.rows * row_bytes);
  const auto rows_of_parts = [&](int64_t begin, int64_t end) {
    char* to = plan.out + begin * row_bytes;
    for (int64_t row = begin; row < end; ++row)
      for (int64_t k = 0; k < plan.n_parts; ++k) {
        const int64_t bytes = plan.parts[k].length * size;
        const char* const from = plan.parts[k].data + row * bytes;
        if (streamed && bytes >= kLeastStreamed) stream(to, from, bytes);
        else if (bytes) std::memcpy(to, from, static_cast<size_t>(bytes));
        to += bytes;
      }
    if (streamed) end_stream();
  };
  // Rows of a few elements: as many as stay in the cache until the last part is written, one part after the other.
  const int d = index_of(plan.dtype == DType::Bool ? DType::UInt8 : plan.dtype);  // bytes move, whatever they are
  const Loop2d loop = kernel_table().copy[d][d];
  const auto parts_of_rows = [&](int64_t begin, int64_t end) {
    const int64_t most = std::max<int64_t>(1, kJoinedBytes / row_bytes);
    for (int64_t row = begin; row < end; row += most) {
      char* to = plan.out + row * row_bytes;
      for (int64_t k = 0; k < plan.n_parts; ++k) {
        const int64_t length = plan.parts[k].length, bytes = length * size;
        if (bytes == 0) continue;
        char* data[] = {to, const_cast<char*>(plan.parts[k].data) + row * bytes};
        const int64_t strides[] = {size, size, row_bytes, bytes};
        loop(data, strides, length, std::min(most, end - row), nullptr);
        to += bytes;
      }
    }
  };
  if (plan.n_parts == 2 && plan.parts[0].length == 1 && plan.parts[1].length == 1) {
    const auto pairs = size == 1   ? interleave<uint8_t>
                       : size == 2 ? interleave<uint16_t>
                       : size == 4 ? interleave<uint32_t>
                       : size == 8 ? interleave<uint64_t>
                                   : interleave<Item16>;
    return parallel_for(0, plan.rows, kBytesGrain / (2 * size), [&](int64_t begin, int64_t end) {
      pairs(plan.out + begin * 2 * size, plan.parts[0].data + begin * size, plan.parts[1].data + begin * size,
            end - begin);
    });
  }
  const bool narrow = row_bytes <= plan.n_parts * kNarrowBytes;
  const int64_t grain = std::max<int64_t>(1, kBytesGrain / row_bytes);
  if (narrow) parallel_for(0, plan.rows, grain, parts_of_rows);
  else parallel_for(0, plan.rows, grain, rows_of_parts);
}

void transfer(const TransferPlan& plan) {
  copy_bytes(static_cast<char*>(plan.to), static_cast<const char*>(plan.from), static_cast<int64_t>(plan.bytes));
}

}  // namespace cpu
}  // namespace strided
