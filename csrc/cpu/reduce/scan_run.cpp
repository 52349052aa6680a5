// How the CPU runs a scan: threads share the rows, and one thread scans a row from its start to its end.
#include <algorithm>

#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/operations.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kLongWork = 16384;     // elements that take long enough to let other threads of the interpreter run
constexpr int64_t kThreadItems = 32768;  // elements that are worth another thread
constexpr int64_t kRows = 256;           // rows of one call, where they lie side by side

}  // namespace

void scan(const ScanPlan& plan, ScanOp op) {
  const ScanKernel kernel = kernel_table().scan[static_cast<int>(op)][index_of(plan.dtype)];
  STRIDED_CHECK(kernel, NotImplementedError, "\"", plan.name, "\" not implemented for '", cpp_name_of(plan.dtype), "'");
  const int64_t n = plan.n, inner = plan.inner, outer = plan.outer;
  if (outer * n * inner == 0) return;
  const GilRelease unlocked(outer * n * inner > kLongWork);

  const int64_t item = size_of(plan.dtype), position = sizeof(int64_t);
  const int64_t strides[] = {inner * item, inner * position},
                row_strides[] = {inner == 1 ? n * item : item, inner == 1 ? n * position : position};
  // One call scans `rows` rows: of neighbours in memory when the axis is the last one, else within one outer position.
  auto call = [&](int64_t first, int64_t row, int64_t rows) {
    const int64_t at = first * item + row * row_strides[0];
    char* index = reinterpret_cast<char*>(plan.index);
    char* data[] = {plan.out + at, index ? index + first * position + row * row_strides[1] : nullptr};
    kernel(data, strides, row_strides, plan.in + at, strides[0], row_strides[0], n, rows);
  };
  if (inner == 1)
    return parallel_for(0, outer, std::max<int64_t>(1, kThreadItems / n),
                        [&](int64_t begin, int64_t end) { call(0, begin, end - begin); });
  const int64_t blocks = (inner + kRows - 1) / kRows;
  parallel_for(0, outer * blocks, std::max<int64_t>(1, kThreadItems / (n * std::min(inner, kRows))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t t = begin; t < end; ++t) {
                   const int64_t row = t % blocks * kRows;
                   call(t / blocks * n * inner, row, std::min(kRows, inner - row));
                 }
               });
}

}  // namespace cpu
}  // namespace strided
