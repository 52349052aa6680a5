#include <algorithm>

#include "base/integer.h"
#include "cuda/reduce/scan.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

const ScanTable& scan_table() {
  static const ScanTable table = [] {
    ScanTable t;
    fill_scan_folds(t);
    fill_scan_extremes(t);
    return t;
  }();
  return table;
}

constexpr int64_t kEnoughBlocks = 1024, kEnoughThreads = 1 << 17;  // to fill a large device
constexpr int64_t kMostParts = 4096;

void run(const ScanEntry& entry, const char* name, int device, ScanArgs& a, bool columns) {
  int64_t wanted = 1, unit = 1;  // parts of a row; elements that may not be parted
  if (columns) {
    unit = 32;
    wanted = kEnoughThreads / a.rows;
  } else if (a.n > entry.tile) {
    unit = entry.tile;
    wanted = kEnoughBlocks / a.rows;
    if (a.n <= 4 * entry.tile) wanted = 1;
  } else {
    a.rows_of_block = entry.tile / a.n;
  }
  wanted = std::clamp<int64_t>(wanted, 1, kMostParts);
  a.part_size = ceil_div(ceil_div(a.n, wanted), unit) * unit;
  a.parts = ceil_div(a.n, a.part_size);

  const OnDevice guard(device);
  const cudaStream_t stream = current_stream(device);
  const int64_t blocks = columns ? ceil_div(a.rows * a.parts, kThreads) : ceil_div(a.rows, a.rows_of_block);
  STRIDED_CHECK(blocks < kMaxItems, NotImplementedError, name, ": a scan of ", a.rows, " rows on device 'cuda'");
  const dim3 grid(static_cast<unsigned>(blocks), columns ? 1 : static_cast<unsigned>(a.parts));
  const auto kernel = columns ? entry.columns : entry.rows;
  const Workspace partial(a.parts > 1 ? static_cast<size_t>(a.rows * a.parts * entry.state_size) : 0, device);
  if (a.parts > 1) {
    a.partial = partial.data();
    a.only_partial = true;
    launch(kernel, grid, dim3(kThreads), 0, stream, a);
    check_launch(name);
    launch(entry.parts, dim3(static_cast<unsigned>(a.rows)), dim3(kThreads), 0, stream, a);
    check_launch(name);
    a.only_partial = false;
  }
  launch(kernel, grid, dim3(kThreads), 0, stream, a);
  check_launch(name);
}

}  // namespace

void scan(const ScanPlan& plan, ScanOp op) {
  bool has = false;
  if (op == ScanOp::Softmax || op == ScanOp::LogSoftmax) {
    has = softmax(plan, op == ScanOp::LogSoftmax);
  } else if (const ScanEntry& entry = scan_table().entry[static_cast<int>(op)][index_of(plan.dtype)]; entry.rows) {
    has = true;
    ScanArgs a;
    a.in = plan.in;
    a.out = plan.out;
    a.position = plan.index;
    a.n = plan.n;
    a.inner = plan.inner;
    a.rows = plan.outer * plan.inner;
    if (a.rows * a.n > 0) run(entry, plan.name, plan.device, a, plan.inner > 1);
  }
  STRIDED_CHECK(has, NotImplementedError, "\"", plan.name, "\" not implemented for '", cpp_name_of(plan.dtype), "'");
}

}  // namespace cuda
}  // namespace strided
