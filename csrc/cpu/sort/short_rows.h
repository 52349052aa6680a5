// Sorting of many short rows at once, one in each lane of a vector.
#pragma once

#include "cpu/kernels.h"

namespace strided {

constexpr int64_t kShortRow = 1024;  // elements of a row, at most

// Values and positions (either may be null) of rows of n elements that follow each other, in the order of the sort. The
// rows that are done: all of them, or those before the first `*again` rows for which another way must be found.
// scratch: short_row_bytes(n) bytes, at a multiple of 64.
using SortShortRows = int64_t (*)(char* values, int64_t* to, const char* in, int64_t n, int64_t rows,
                                  const SortCoding& coding, char* scratch, int64_t* again);
constexpr int64_t short_row_bytes(int64_t n) {
  int64_t room = 64;  // a power of two
  while (room < n) room *= 2;
  return room * (16 * (8 + 4 + 4) + 64 + 64) + 4096;
}

// For items of 1, 2, 4 and 8 bytes, of the instruction set that was chosen.
struct ShortRowKernels {
  SortShortRows sort[4] = {};
};
extern ShortRowKernels short_row_kernels;

}  // namespace strided
