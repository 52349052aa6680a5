#include "cpu/pointwise/triangle.h"

#include <algorithm>
#include <cstring>

#include "backend/kernels.h"

namespace strided {
namespace {

void clear_triangle(char* data, int64_t itemsize, int64_t begin, int64_t end, int64_t columns, int64_t row_stride,
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

void fill_triangle_kernels(KernelTable& table) { table.clear_triangle = clear_triangle; }

}  // namespace strided
