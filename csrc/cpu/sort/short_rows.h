// Sorting of short rows with their positions: many at once, one in each lane of a vector, or one after the other.
#pragma once

#include "cpu/kernels.h"

namespace strided {

constexpr int64_t kShortRow = 4096;     // elements of a row, at most
constexpr int64_t kMostInLanes = 1024;  // elements of rows that are sorted side by side

// The scratch memory of SortShortRows.
constexpr int64_t short_row_bytes(int64_t n) {
  int64_t capacity = 64;  // a power of two
  while (capacity < n) capacity *= 2;
  return n > kMostInLanes ? capacity * 32 + 4096 : capacity * (16 * (8 + 4 + 4) + 64 + 64) + 4096;
}

}  // namespace strided
