// What the sources of this folder share.
#pragma once

#include <cstdint>

namespace strided {
namespace cpu {

// Where a table of loops for items of 1, 2, 4, 8 and 16 bytes has those of a size.
constexpr int item_row(int64_t itemsize) {
  return itemsize == 1 ? 0 : itemsize == 2 ? 1 : itemsize == 4 ? 2 : itemsize == 8 ? 3 : 4;
}

}  // namespace cpu
}  // namespace strided
