// Zeroes above or below a diagonal: tril and triu.
#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "cpu/operations.h"

namespace strided {
namespace cpu {
namespace {

// Rows [begin, end) of one matrix. Strides are bytes.
void clear_rows(char* data, int64_t itemsize, int64_t begin, int64_t end, int64_t columns, int64_t row_stride,
                int64_t column_stride, int64_t diagonal, bool keep_below) {
  for (int64_t row = begin; row < end; ++row) {
    // Column c is on the diagonal when c - row == diagonal.
    const int64_t border = std::min(std::max(row + diagonal + (keep_below ? 1 : 0), int64_t(0)), columns);
    const int64_t first = keep_below ? border : 0, last = keep_below ? columns : border;
    char* at = data + row * row_stride + first * column_stride;
    if (column_stride == itemsize) {
      std::memset(at, 0, static_cast<size_t>((last - first) * itemsize));
      continue;
    }
    for (int64_t c = first; c < last; ++c, at += column_stride) std::memset(at, 0, static_cast<size_t>(itemsize));
  }
}

}  // namespace

void clear_triangle(const LoopPlan& plan, int64_t diagonal, bool keep_below) {
  const int64_t n = plan.numel();
  if (n == 0) return;
  const LoopPlan::Operand& x = plan.operand[0];
  const int64_t columns = plan.shape[0], rows = plan.shape[1], size = size_of(x.dtype);
  diagonal = std::min(std::max(diagonal, -rows), columns);
  // The rows of all matrices are one range.
  const int64_t grain = std::max<int64_t>(1, 65536 / (columns * size));
  parallel_for(0, n / columns, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      int64_t matrix = begin / rows;
      const int64_t row = begin % rows, count = std::min(rows - row, end - begin);
      char* data = x.data;
      for (int i = 2; i < plan.ndim; ++i) {
        data += matrix % plan.shape[i] * x.strides[i];
        matrix /= plan.shape[i];
      }
      clear_rows(data, size, row, row + count, columns, x.strides[1], x.strides[0], diagonal, keep_below);
      begin += count;
    }
  });
}

}  // namespace cpu
}  // namespace strided
