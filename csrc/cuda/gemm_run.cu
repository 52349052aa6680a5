#include "cuda/operations.h"
#include "cuda/runtime.h"
#include "core/dtype.h"

namespace strided {
namespace cuda {
namespace {

template <class T>
struct Operands {
  const T *a, *b;
  T* c;
  int64_t m, n, k, a_row, a_column, b_row, b_column, c_row, c_column;
};
template <class T, class C>
__global__ void gemm_kernel(Operands<T> o, C alpha, C beta) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i >= o.m * o.n) return;
  const int64_t row = i / o.n, column = i % o.n;
  C sum = C(0);
  for (int64_t l = 0; l < o.k; ++l)
    sum = sum + static_cast<C>(o.a[row * o.a_row + l * o.a_column]) * static_cast<C>(o.b[l * o.b_row + column * o.b_column]);
  T& c = o.c[row * o.c_row + column * o.c_column];
  sum = alpha * sum;
  c = static_cast<T>(beta == C(0) ? sum : sum + beta * static_cast<C>(c));
}

}  // namespace

void gemm(const GemmPlan& plan) {
  const OnDevice guard(plan.device);
  int64_t batch = 1;
  for (int i = 0; i < plan.batch_ndim; ++i) batch *= plan.batch_shape[i];
  if (batch == 0 || plan.m == 0 || plan.n == 0) return;
  dispatch(plan.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      using C = compute_t<T>;
      for (int64_t k = 0; k < batch; ++k) {
        int64_t at[3] = {}, rest = k;
        for (int i = plan.batch_ndim - 1; i >= 0; --i) {
          for (int o = 0; o < 3; ++o) at[o] += rest % plan.batch_shape[i] * plan.batch_strides[o][i];
          rest /= plan.batch_shape[i];
        }
        C alpha, beta;
        std::memcpy(&alpha, plan.alpha, sizeof(C));
        std::memcpy(&beta, plan.beta, sizeof(C));
        const Operands<T> o{static_cast<const T*>(plan.a.data) + at[0], static_cast<const T*>(plan.b.data) + at[1], static_cast<T*>(plan.c.data) + at[2],
                            plan.m, plan.n, plan.k, plan.a.row_stride, plan.a.col_stride, plan.b.row_stride, plan.b.col_stride, plan.c.row_stride, plan.c.col_stride};
        launch(gemm_kernel<T, C>, dim3(static_cast<unsigned>((plan.m * plan.n + 255) / 256)), dim3(256), 0, current_stream(plan.device), o, alpha, beta);
      }
    }
  });
  check_launch(plan.name);
}

}  // namespace cuda
}  // namespace strided
