// Loops that move elements by index and by mask.
#pragma once

#include <cstdint>

namespace strided {

struct KernelTable;
void fill_index_kernels(KernelTable& table);

namespace cpu {

// Where a table of loops for items of 1, 2, 4, 8 and 16 bytes has those of a size.
constexpr int item_row(int64_t itemsize) {
  return itemsize == 1 ? 0 : itemsize == 2 ? 1 : itemsize == 4 ? 2 : itemsize == 8 ? 3 : 4;
}

}  // namespace cpu
}  // namespace strided
