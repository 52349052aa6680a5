// The one sort of the device: rows, stable, with their positions.
#pragma once

#include "backend/sort_keys.h"
#include "cuda/pointwise/loop.h"

namespace strided {
namespace cuda {

// `rows` contiguous rows of n < 2^31 items. The `keep` first of each sorted row go to `values`, the positions they had
// to `index`; either may be null. Queued on the current stream.
struct RowSort {
  const char* name = "";
  int device = 0;
  DType dtype = DType::UInt64;
  const char* in = nullptr;
  int64_t n = 0, rows = 1, keep = 0;
  char* values = nullptr;
  int64_t* index = nullptr;
  bool descending = false;
  int bits = 64;                      // of the keys, those that can differ
  const int64_t* position = nullptr;  // of each item, when it is not its place in the row
};
void sort_rows(const RowSort& plan);

constexpr int64_t kShortRow = 2048;  // rows up to this length are sorted in shared memory, several of them by a block

}  // namespace cuda
}  // namespace strided
