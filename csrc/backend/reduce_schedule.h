// How a reduction lies in memory: which axes are one, and along what the inner loop goes. Backends start from this.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "backend/plans.h"
#include "base/dims.h"

namespace strided {

struct ReduceAxis {
  int64_t size, stride;  // bytes
  int64_t out_stride;    // elements of the result; 0 for a reduced axis
};

// Axes in the order of add(), outermost first; neighbours that are one in memory become one.
struct ReduceAxes {
  ReduceAxis axis[kMaxDims];
  int n = 0;

  void add(ReduceAxis a) {
    if (a.size == 1) return;
    if (n > 0) {
      ReduceAxis& last = axis[n - 1];
      if (last.stride == a.stride * a.size && last.out_stride == a.out_stride * a.size) {
        last = {last.size * a.size, a.stride, a.out_stride};
        return;
      }
    }
    axis[n++] = a;
  }
  // Axis k; a single element when there are no axes.
  ReduceAxis at(int k, int64_t itemsize) const { return n == 0 ? ReduceAxis{1, itemsize, 1} : axis[k]; }
  void remove(int k) {
    if (n == 0) return;
    for (--n; k < n; ++k) axis[k] = axis[k + 1];
  }
  int64_t numel() const {
    int64_t m = 1;
    for (int k = 0; k < n; ++k) m *= axis[k].size;
    return m;
  }
  // Adds the offsets of position i in row-major order.
  void offsets(int64_t i, int64_t* in, int64_t* out) const {
    for (int k = n - 1; k >= 0; --k) {
      const int64_t at = i % axis[k].size;
      i /= axis[k].size;
      *in += at * axis[k].stride;
      *out += at * axis[k].out_stride;
    }
  }
};

// The axes of a plan. Kept ones are in the order of the result. A single reduced axis keeps its order, because
// positions count along it; several are in the order of memory, because no reduction over several axes gives positions.
struct ReduceLayout {
  ReduceAxes kept, reduced;
  int64_t outputs = 1;
  int64_t total = 1;  // elements of one output

  explicit ReduceLayout(const ReducePlan& plan) {
    int order[kMaxDims], n = 0;
    for (int i = 0; i < plan.ndim; ++i) {
      if (plan.axes >> i & 1) order[n++] = i, total *= plan.shape[i];
      else outputs *= plan.shape[i];
    }
    int64_t out_stride = outputs;
    for (int i = 0; i < plan.ndim && outputs > 0; ++i)
      if (!(plan.axes >> i & 1)) kept.add({plan.shape[i], plan.strides[i], out_stride /= plan.shape[i]});
    if (total == 0) return;  // no element has a place
    std::stable_sort(order, order + n,
                     [&](int a, int b) { return std::abs(plan.strides[a]) > std::abs(plan.strides[b]); });
    for (int k = 0; k < n; ++k) reduced.add({plan.shape[order[k]], plan.strides[order[k]], 0});
  }
};

// What the inner loops meet in memory. A backend chooses chunks, blocks and threads by it.
enum class ReduceCase : uint8_t {
  AllContiguous,  // there is one output, and its elements follow each other
  Rows,           // the elements of an output follow each other: the inner loop goes along them
  Columns,        // neighbouring outputs follow each other: the inner loop goes across outputs
  General,        // neither
};
// For inner loops along the axes `keep` and `reduced` of a layout. fewest: how many neighbouring outputs the backend's
// loop across outputs needs to be the faster one.
inline ReduceCase reduce_case(const ReduceLayout& layout, const ReduceAxis& keep, const ReduceAxis& reduced,
                              int64_t itemsize, int64_t fewest) {
  const bool along = reduced.stride == itemsize;
  if (layout.outputs == 1 && layout.reduced.n <= 1 && along) return ReduceCase::AllContiguous;
  if (keep.size >= fewest && std::abs(keep.stride) == itemsize) return ReduceCase::Columns;
  return along ? ReduceCase::Rows : ReduceCase::General;
}

}  // namespace strided
