// Matrices transposed from one place to another.
#pragma once

#include <cstdint>

namespace strided {
namespace cpu {

// to[c * to_column + r * size] = from[r * from_row + c * size] for r < rows and c < columns: strides in bytes, items of
// 1, 2, 4, 8 or 16 bytes.
void copy_turned(int64_t size, char* to, int64_t to_column, const char* from, int64_t from_row, int64_t rows,
                 int64_t columns);

}  // namespace cpu
}  // namespace strided
