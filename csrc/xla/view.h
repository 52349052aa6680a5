// Views of a value with one axis: what is read from it, and what it becomes when they are written to.
#pragma once

#include "xla/graph.h"

namespace strided::xla {

// Offset and strides in elements; strides of any sign or 0.
struct View {
  int64_t offset = 0;
  Dims shape, strides;
};

// Note [Boxes] in view.cpp tells how.
Value read_view(const Value& flat, const View& view);
Value write_view(const Value& flat, const View& view, const Value& value);
// The value of n elements that a write to all of them makes; null if the view is not all of them.
Value write_whole(const View& view, const Value& value, int64_t n);
// The same bytes as n elements of another dtype.
Value retype(const Value& flat, DType dtype, int64_t n);

}  // namespace strided::xla
