// What the library does: one function for each slot of backend/backend.h, which says what each does. All of
// them return when the work is queued on the current stream of the device, but for those that wait.
#pragma once

#include "backend/backend.h"
#include "cuda/runtime/allocator.h"

namespace strided {
namespace cuda {

#define X(name, parameters) void name parameters;
STRIDED_BACKEND_SLOTS(X)
#undef X

// The set elements of a contiguous mask of n bytes, for nonzero_begin and nonzero_write. Waits for their number.
class NonzeroElements {
 public:
  NonzeroElements(const OpContext& on, const char* mask, int64_t n);
  int64_t count() const { return count_; }
  void positions(int64_t* to) const;  // in ascending order
  // the elements of contiguous `from` in their places
  void compress(char* to, const char* from, int64_t itemsize) const;

 private:
  OpContext on_;
  const char* mask_;
  int64_t n_, count_;
  Workspace ends_;  // of each tile
};

// For tests and to measure: from now on products in tiles take this row of the dtype's table, or ValueError where it
// has no such row; -1: the one that is estimated to be the fastest. And the number of rows for the current device.
void force_gemm_tile(int index);
int gemm_tiles(DType dtype);

}  // namespace cuda
}  // namespace strided
