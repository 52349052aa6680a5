// Kernels that move elements to and from the places that indices name.
#pragma once

#include "backend/backend.h"
#include "backend/op.h"
#include "cuda/pointwise/copy.h"
#include "cuda/runtime/report.h"

namespace strided {
namespace cuda {

// Rows of an indexed copy.
// Axes along which no index moves, and the place does, are free: different positions there are always different places.
// The others make the rows; their number in row-major order is the order in which elements count when several go to one
// place.
struct IndexArgs {
  static constexpr int kOperands = 2 + IndexPlan::kMaxIndices;  // dense, indexed, indices
  uint32_t n = 0;                                               // elements: rows x free
  uint32_t free = 1;                                            // elements of the free axes; they are the inner ones
  int32_t n_indices = 1;
  bool wrap = true;
  int32_t ndim = 0;  // free axes first, innermost first
  Divisor length[kMaxAxes], by_free;
  int64_t stride[kMaxAxes][kOperands] = {};
  char* dense = nullptr;
  char* indexed = nullptr;
  const char* index[IndexPlan::kMaxIndices] = {};
  int64_t size[IndexPlan::kMaxIndices] = {}, step[IndexPlan::kMaxIndices] = {};
  int32_t axis[IndexPlan::kMaxIndices] = {};
  Reporter reporter;

  // The places of element i; false when an index is out of range, which is reported.
  __device__ bool find(uint32_t i, int64_t* dense_at, int64_t* indexed_at) const {
    int64_t at[2] = {}, index_at[IndexPlan::kMaxIndices] = {};
    for (int d = 0; d < ndim; ++d) {
      const uint32_t outer = d == ndim - 1 ? 0 : length[d].divide(i);
      const int64_t here = i - outer * length[d].d;
      at[0] += here * stride[d][0];
      at[1] += here * stride[d][1];
      for (int k = 0; k < n_indices; ++k) index_at[k] += here * stride[d][2 + k];
      i = outer;
    }
    for (int k = 0; k < n_indices; ++k) {
      int64_t v = *reinterpret_cast<const int64_t*>(index[k] + index_at[k]);
      const int64_t given = v;
      if (wrap && v < 0) v += size[k];
      if (static_cast<uint64_t>(v) >= static_cast<uint64_t>(size[k])) {
        Reporter r = reporter;
        r.axis = axis[k];
        r.bad_index(given, index_at[k] / 8, size[k]);
        return false;
      }
      at[1] += v * step[k];
    }
    *dense_at = at[0];
    *indexed_at = at[1];
    return true;
  }
};

// Elements that go to one place, in order: after a sort of the rows by place.
struct SortedRows {
  const uint64_t* place;
  const int64_t* row;
};

// What a reduction does to a place, for types that atomics do not know.
template <ScatterOp Op, class T>
struct Merge {
  using C = compute_t<T>;
  __device__ static T merge(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) {
      return Op == ScatterOp::Add || Op == ScatterOp::Max ? a || b : a && b;
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (Op == ScatterOp::Add) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      else if constexpr (Op == ScatterOp::Mul)
        return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      else if constexpr (Op == ScatterOp::Max) return a < b ? b : a;
      else return b < a ? b : a;
    } else {
      const C x = static_cast<C>(a), y = static_cast<C>(b);
      if constexpr (Op == ScatterOp::Add) return T(x + y);
      else if constexpr (Op == ScatterOp::Mul) return T(x * y);
      else if constexpr (Op == ScatterOp::Max) return x != x || x >= y ? a : b;  // a NaN stays, a NaN comes
      else return x != x || x <= y ? a : b;
    }
  }
};

struct IndexTable {
  void (*gather[5])(IndexArgs) = {};
  void (*scatter[5])(IndexArgs, const uint8_t* wins) = {};
  // Sums and products of floating point go by sorted rows, the others by atomics.
  void (*reduce_sorted[2][kNumDTypes])(IndexArgs, SortedRows, int64_t rows) = {};
  void (*reduce_atomic[4][kNumDTypes])(IndexArgs) = {};
};
void fill_index_copies(IndexTable& table);
void fill_index_sorted(IndexTable& table);
void fill_index_atomic(IndexTable& table);

}  // namespace cuda
}  // namespace strided
