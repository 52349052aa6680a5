#include "backend/loop_plan.h"

#include <cstdlib>
#include <utility>

#include "base/dims.h"

namespace strided {

void order_axes(int ndim, const int64_t* shape, int n_operands, const int64_t* const* strides, int* axes) {
  for (int i = 0; i < ndim; ++i) axes[i] = ndim - 1 - i;
  // 1: a is inner to b, -1: outer, 0: no operand tells them apart.
  auto compare = [&](int a, int b) {
    for (int k = 0; k < n_operands; ++k) {
      const int64_t sa = std::abs(strides[k][a]), sb = std::abs(strides[k][b]);
      if (sa == 0 || sb == 0) continue;
      if (sa != sb) return sa < sb ? 1 : -1;
      if (shape[a] != shape[b]) return shape[a] < shape[b] ? 1 : -1;
    }
    return 0;
  };
  // Insertion sort.
  for (int i = 1; i < ndim; ++i) {
    int at = i;
    for (int j = i - 1; j >= 0; --j) {
      const int c = compare(axes[at], axes[j]);
      if (c > 0) {
        std::swap(axes[at], axes[j]);
        at = j;
      } else if (c < 0) {
        break;
      }
    }
  }
}

int merge_axes(int ndim, const int64_t* shape, int n_operands, const int64_t* const* strides, int64_t* merged,
               int* axes) {
  int order[kMaxDims];
  order_axes(ndim, shape, n_operands, strides, order);
  int n = 0;
  for (int i = 0; i < ndim; ++i) {
    const int axis = order[i];
    if (shape[axis] == 1) continue;
    bool fits = n > 0;
    for (int k = 0; k < n_operands && fits; ++k) fits = strides[k][axes[n - 1]] * merged[n - 1] == strides[k][axis];
    if (fits) {
      merged[n - 1] *= shape[axis];
    } else {
      axes[n] = axis;
      merged[n++] = shape[axis];
    }
  }
  return n;
}

}  // namespace strided
