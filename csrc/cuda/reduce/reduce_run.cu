#include <algorithm>
#include <cstdlib>

#include "backend/reduce_schedule.h"
#include "base/integer.h"
#include "cuda/reduce/reduce.h"
#include "cuda/runtime/allocator.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

constexpr int64_t kMostParts = 4096;
constexpr int64_t kEnoughBlocks = 1024;  // to fill a large device several times over
constexpr int64_t kMaxOutputs = int64_t(1) << 30;

int64_t power_of_two_from(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

constexpr int64_t kFewestColumns = 8;  // 32 bytes of neighbouring floats are one access to memory

void set_axes(const char* name, Axes& to, const ReduceAxes& from) {
  STRIDED_CHECK(from.n <= kMaxAxes, NotImplementedError, name, ": more than ", kMaxAxes,
                " axes that do not follow each other in memory, on device 'cuda'");
  to = Axes{};
  to.ndim = from.n;
  to.wide = from.numel() >= kMaxItems;
  for (int d = 0; d < to.ndim; ++d) {
    to.length[d] = from.axis[from.n - 1 - d].size;
    to.stride[d] = from.axis[from.n - 1 - d].stride;
    if (!to.wide) to.size[d] = Divisor(static_cast<uint32_t>(to.length[d]));
  }
}

// How the work is laid out, from shapes and strides alone.
struct Shape {
  dim3 block;
  int64_t rows;  // outputs of a block
};
Shape choose(ReduceArgs& a, const ReduceLayout& layout, int64_t itemsize) {
  // A thread's outputs are in the order of the result: the innermost axes are those of the loops.
  const ReduceAxis red = layout.reduced.at(layout.reduced.n - 1, itemsize);
  const ReduceCase found =
      reduce_case(layout, layout.kept.at(layout.kept.n - 1, itemsize), red, itemsize, kFewestColumns);
  a.across = found == ReduceCase::Columns && layout.total > 1;
  const int64_t n = std::max<int64_t>(a.reduced, 1);
  int64_t lanes, unit;
  if (a.across) {
    lanes = n >= 64 ? 8 : n >= 16 ? 4 : 1;
    unit = lanes * 16;
  } else {
    lanes = std::min<int64_t>(power_of_two_from(ceil_div(n, 8)), kThreads);
    unit = lanes * 32;
  }
  const int64_t rows = kThreads / lanes, blocks = ceil_div(a.outputs, rows);
  a.part_size = std::max(ceil_div(n, std::min(kMostParts, std::max<int64_t>(kEnoughBlocks * 4 / blocks, 1))), unit);
  a.part_size = ceil_div(a.part_size, unit) * unit;
  if (blocks >= kEnoughBlocks || n <= a.part_size) a.part_size = n;
  a.parts = ceil_div(n, a.part_size);
  bool aligned = !a.cast && a.red.ndim <= 1 && red.stride == itemsize && reinterpret_cast<uintptr_t>(a.data) % 16 == 0;
  for (int d = 0; d < a.keep.ndim; ++d) aligned = aligned && a.keep.stride[d] % 16 == 0;
  a.vector = aligned && !a.across && (a.parts == 1 || a.part_size * itemsize % 16 == 0);
  const unsigned l = static_cast<unsigned>(lanes), r = static_cast<unsigned>(rows);
  return {a.across ? dim3(r, l) : dim3(l, r), rows};
}

void run(const ReduceEntry& entry, const char* name, int device, ReduceArgs& a, const ReduceLayout& layout,
         int64_t itemsize) {
  const Shape shape = choose(a, layout, itemsize);
  const OnDevice guard(device);
  const cudaStream_t stream = current_stream(device);
  const dim3 grid(static_cast<unsigned>(ceil_div(a.outputs, shape.rows)), static_cast<unsigned>(a.parts));
  if (a.parts == 1) {
    launch(entry.kernel, grid, shape.block, 0, stream, a);
    return check_launch(name);
  }
  const Workspace partial(static_cast<size_t>(a.outputs * a.parts * entry.state_size), device);
  a.partial = partial.data();
  launch(entry.kernel, grid, shape.block, 0, stream, a);
  check_launch(name);
  a.second = true;
  a.across = false;
  a.reduced = a.part_size = a.parts;
  a.parts = 1;
  launch(entry.kernel, dim3(static_cast<unsigned>(a.outputs)), dim3(kThreads), 0, stream, a);
  check_launch(name);
}

}  // namespace

#define STRIDED_UNITS(X) X(floats) X(halves) X(complex) X(signed) X(unsigned)
#define STRIDED_DECLARE(unit) void fill_reduce_##unit(ReduceTable& table);
STRIDED_UNITS(STRIDED_DECLARE)
#undef STRIDED_DECLARE

const ReduceTable& reduce_table() {
  static const ReduceTable table = [] {
    ReduceTable t;
#define STRIDED_FILL(unit) fill_reduce_##unit(t);
    STRIDED_UNITS(STRIDED_FILL)
#undef STRIDED_FILL
    return t;
  }();
  return table;
}
#undef STRIDED_UNITS

void reduce(const ReducePlan& plan, int op, DType compute) {
  const ReduceEntry& entry = reduce_table().entry[op][index_of(compute)];
  STRIDED_CHECK(entry.kernel, NotImplementedError, plan.name, ": not implemented for ", compute, " on device 'cuda'");
  const ReduceLayout layout(plan);
  if (layout.outputs == 0) return;
  STRIDED_CHECK(layout.outputs < kMaxOutputs, NotImplementedError, plan.name, ": a reduction to ", layout.outputs,
                " elements on device 'cuda'");
  ReduceArgs a;
  a.outputs = layout.outputs;
  a.reduced = a.total = layout.total;
  set_axes(plan.name, a.keep, layout.kept);
  set_axes(plan.name, a.red, layout.reduced);
  a.data = plan.data;
  a.cast = plan.dtype != compute;
  a.dtype = static_cast<uint8_t>(plan.dtype);
  a.out[0] = plan.out[0];
  a.out[1] = plan.out[1];
  a.param = plan.param;
  run(entry, plan.name, plan.device, a, layout, size_of(plan.dtype));
}

}  // namespace cuda
}  // namespace strided
