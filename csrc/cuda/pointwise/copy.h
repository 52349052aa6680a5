// Kernels that copy: bytes, conversions, transpositions.
#pragma once

#include "cuda/pointwise/pointwise.h"

namespace strided {
namespace cuda {

// Items of 1, 2, 4, 8 and 16 bytes, as they are.
struct alignas(16) Item16 {
  uint64_t a, b;
};
template <class T>
struct Move {
  using Result = T;
  static constexpr int arity = 1;
  static constexpr bool vectors = true, casts = false;
  template <size_t>
  using In = T;
  static constexpr DType dtype(int) {  // of the right size; what the bytes mean does not matter
    return sizeof(T) == 1   ? DType::UInt8
           : sizeof(T) == 2 ? DType::UInt16
           : sizeof(T) == 4 ? DType::UInt32
           : sizeof(T) == 8 ? DType::UInt64
                            : DType::Complex128;
  }
  __device__ static T call(T v, const double*) { return v; }
};

template <class To, class From>
struct Convert {
  using Result = To;
  static constexpr int arity = 1;
  static constexpr bool vectors = true, casts = true;
  template <size_t>
  using In = From;
  static constexpr DType dtype(int k) { return k == 0 ? dtype_of<To> : dtype_of<From>; }
  __device__ static To call(From v, const double*) { return convert<To>(v); }
};

struct TransposeArgs {
  uint32_t rows = 0, columns = 0;  // of `from`, whose rows are contiguous; `to` is contiguous along columns of `from`
  int64_t from_row = 0, to_column = 0;  // bytes
  int32_t batch_ndim = 0;
  Divisor size[kMaxAxes];
  int64_t from_batch[kMaxAxes] = {}, to_batch[kMaxAxes] = {};
  const char* from = nullptr;
  char* to = nullptr;
  uint32_t tiles = 0, batch = 0;  // tiles along a row; matrices
};

struct CopyTable {
  PointwiseKernel move[5];                          // by item size
  PointwiseKernel convert[kNumDTypes][kNumDTypes];  // [to][from], the vector kernel alone; for the common pairs
  PointwiseKernel convert_any[kNumDTypes];          // [to], from any dtype
  void (*transpose[5])(TransposeArgs) = {};
};

void fill_copy_moves(CopyTable& table);
void fill_copy_integers(CopyTable& table);
void fill_copy_floats(CopyTable& table);
const CopyTable& copy_table();

}  // namespace cuda
}  // namespace strided
