#include "cuda/pointwise/copy.h"
#include "cuda/pointwise/pointwise_run.h"
#include "cuda/runtime/operations.h"
#include "cuda/runtime/runtime.h"

namespace strided {
namespace cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kThreads)
    clear_triangle_kernel(const STRIDED_GRID_CONSTANT LoopArgs a, int64_t diagonal, bool keep_below) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= a.n) return;
  const uint32_t outer = a.size[0].divide(i), column = i - outer * a.size[0].d,
                 row = outer - a.size[1].divide(outer) * a.size[1].d;
  const int64_t place = static_cast<int64_t>(column) - static_cast<int64_t>(row);
  if (keep_below ? place <= diagonal : place >= diagonal) return;
  int64_t at[1];
  find_offsets(a, i, at);
  *reinterpret_cast<T*>(a.data[0] + at[0]) = T{};
}

}  // namespace

void clear_triangle(const LoopPlan& plan, int64_t diagonal, bool keep_below) {
  if (plan.numel() == 0) return;
  STRIDED_CHECK(plan.ndim >= 2 && plan.ndim <= kMaxAxes && plan.numel() < kMaxItems, NotImplementedError, plan.name,
                ": ", plan.numel(), " elements in ", plan.ndim, " axes on device 'cuda'");
  LoopArgs a;
  a.n = static_cast<uint32_t>(plan.numel());
  a.ndim = plan.ndim;
  a.data[0] = plan.operand[0].data;
  for (int i = 0; i < plan.ndim; ++i) {
    a.size[i] = Divisor(static_cast<uint32_t>(plan.shape[i]));
    a.stride[i][0] = static_cast<int32_t>(plan.operand[0].strides[i]);
    STRIDED_CHECK(a.stride[i][0] == plan.operand[0].strides[i], NotImplementedError, plan.name, ": a stride of ",
                  plan.operand[0].strides[i], " bytes on device 'cuda'");
  }
  constexpr void (*kernels[5])(LoopArgs, int64_t, bool) = {
      clear_triangle_kernel<uint8_t>, clear_triangle_kernel<uint16_t>, clear_triangle_kernel<uint32_t>,
      clear_triangle_kernel<uint64_t>, clear_triangle_kernel<Item16>};
  const OnDevice guard(plan.device);
  launch(kernels[item_row(size_of(plan.operand[0].dtype))], dim3((a.n + kThreads - 1) / kThreads), dim3(kThreads), 0,
         current_stream(plan.device), a, diagonal, keep_below);
  check_launch(plan.name);
}

}  // namespace cuda
}  // namespace strided
