// Systems with a symmetric or Hermitian matrix, from its factors L D L^T by Bunch and Kaufman.
//
// Solving with L D L^T.
// LAPACK keeps L as it was found: a column does not take part in the exchanges of rows that came after it. Those are
// made up for in a copy, so that A = P L D L^T P^T with one permutation P, and the systems with L and L^T are
// triangular ones like any other (linalg_run.cu): nearly all arithmetic is in products. cuSOLVER's Xsytrs does not
// solve Hermitian systems, and PyTorch waits for the whole device before it calls it, having seen wrong results.
#include "cuda/linalg/linalg.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

// What row i of D has: a number of its own, or with the next row, or the one before, a block of two rows.
enum Block : int32_t { kSingle, kFirst, kSecond };

template <class T>
struct LdlArgs {
  const T* factors;  // by columns
  T* l;              // the same, to be changed
  const int32_t* pivots;
  int32_t *order, *block;  // of rows
  T* b;                    // n x k, by columns
  T* x;                    // by rows
  int64_t n, k, batch;
  bool hermitian;
  Reporter reporter;
};

// A thread for each column of L exchanges its rows; the thread of column 0 those of the permutation too.
template <class T>
__global__ void __launch_bounds__(kThreads) ldl_arrange_kernel(const STRIDED_GRID_CONSTANT LdlArgs<T> a) {
  const int64_t at = blockIdx.x * int64_t{kThreads} + threadIdx.x, q = at / a.n, j = at - q * a.n;
  if (q >= a.batch) return;
  const int32_t* pivots = a.pivots + q * a.n;
  T* column = a.l + q * a.n * a.n + j * a.n;
  int32_t* order = a.order + q * a.n;
  if (j == 0)
    for (int64_t i = 0; i < a.n; ++i) order[i] = static_cast<int32_t>(i);
  for (int64_t i = 0; i < a.n;) {
    const bool two = pivots[i] < 0 && i + 1 < a.n;
    const int64_t row = two ? i + 1 : i;  // that was exchanged
    const int64_t pivot = pivots[row];
    int64_t with = (two ? -pivot : pivot) - 1;
    if (with < 0 || with >= a.n) {
      if (j == 0) a.reporter.tell(Fault::Linalg, pivot, q, 1);
      with = row;
    }
    if (j < i) {
      const T swapped = column[row];
      column[row] = column[with];
      column[with] = swapped;
    } else if (j == i) {
      a.block[q * a.n + i] = two ? kFirst : kSingle;
      if (two) column[i + 1] = T(0);  // it is D's
    } else if (two && j == i + 1) {
      a.block[q * a.n + j] = kSecond;
    }
    if (j == 0 && with != row) {
      const int32_t swapped = order[row];
      order[row] = order[with];
      order[with] = swapped;
    }
    i = row + 1;
  }
}

template <class T>
__device__ T conjugate_if(const T& x, bool conjugate) {
  if constexpr (is_complex_v<T>) return conjugate ? conj(x) : x;
  else return x;
}

// x = P^T b, and back.
template <class T>
__global__ void __launch_bounds__(kThreads) ldl_gather_kernel(const STRIDED_GRID_CONSTANT LdlArgs<T> a) {
  const int64_t at = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (at >= a.batch * a.n * a.k) return;
  const int64_t row = at / a.k, c = at - row * a.k, q = row / a.n;
  a.x[at] = a.b[(q * a.k + c) * a.n + a.order[row]];
}
template <class T>
__global__ void __launch_bounds__(kThreads) ldl_scatter_kernel(const STRIDED_GRID_CONSTANT LdlArgs<T> a) {
  const int64_t at = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (at >= a.batch * a.n * a.k) return;
  const int64_t row = at / a.k, c = at - row * a.k, q = row / a.n;
  a.b[(q * a.k + c) * a.n + a.order[row]] = conjugate_if(a.x[at], a.hermitian);
}

// x = D^-1 x; of Hermitian matrices its conjugate, because L^H y = x is L^T conj(y) = conj(x).
template <class T>
__global__ void __launch_bounds__(kThreads) ldl_diagonal_kernel(const STRIDED_GRID_CONSTANT LdlArgs<T> a) {
  const int64_t at = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (at >= a.batch * a.n * a.k) return;
  const int64_t row = at / a.k, q = row / a.n, i = row - q * a.n;
  const int32_t block = a.block[row];
  if (block == kSecond) return;
  const T* d = a.factors + q * a.n * a.n + i * a.n + i;
  if (block == kSingle) {
    a.x[at] = conjugate_if(a.x[at] / *d, a.hermitian);
    return;
  }
  // (d0, conj(e); e, d1) y = x, each row divided by its e, which is the largest of them.
  const T e = d[1], upper = conjugate_if(e, a.hermitian), u = d[0] / upper, v = d[a.n + 1] / e;
  const T p = a.x[at] / upper, r = a.x[at + a.k] / e, determinant = u * v - T(1);
  a.x[at] = conjugate_if((v * p - r) / determinant, a.hermitian);
  a.x[at + a.k] = conjugate_if((u * r - p) / determinant, a.hermitian);
}

template <class T>
void solve(const DecompositionPlan& plan, int64_t k, const int32_t* pivots, T* b, bool hermitian) {
  const OnDevice guard(plan.device);
  const int64_t n = plan.n, rows = plan.batch * n;
  const cudaStream_t stream = current_stream(plan.device);
  const Workspace l(static_cast<size_t>(rows * n) * sizeof(T), plan.device);
  const Workspace x(static_cast<size_t>(rows * k) * sizeof(T), plan.device);
  const Workspace order(static_cast<size_t>(rows) * sizeof(int32_t), plan.device);
  const Workspace block(static_cast<size_t>(rows) * sizeof(int32_t), plan.device);
  LdlArgs<T> a{static_cast<const T*>(plan.a),
               l.as<T>(),
               pivots,
               order.as<int32_t>(),
               block.as<int32_t>(),
               b,
               x.as<T>(),
               n,
               k,
               plan.batch,
               hermitian && is_complex_v<T>,
               reporter(plan.device, plan.name, static_cast<int>(LinalgFailure::PivotOfLdl))};
  auto run = [&](void (*kernel)(LdlArgs<T>), int64_t items) {
    const int64_t blocks = (items + kThreads - 1) / kThreads;
    STRIDED_CHECK(blocks < kMaxItems, NotImplementedError, plan.name, ": so many right-hand sides on device 'cuda'");
    launch(kernel, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0, stream, a);
    check_launch(plan.name);
  };
  check(cudaMemcpyAsync(a.l, a.factors, static_cast<size_t>(rows * n) * sizeof(T), cudaMemcpyDeviceToDevice, stream),
        plan.name);
  run(ldl_arrange_kernel<T>, rows);
  run(ldl_gather_kernel<T>, rows * k);
  solve_triangular(plan, plan.dtype, plan.batch, n, k, {a.l, 1, n}, n * n, a.x, false, true);
  run(ldl_diagonal_kernel<T>, rows * k);
  solve_triangular(plan, plan.dtype, plan.batch, n, k, {a.l, n, 1}, n * n, a.x, true, true);
  run(ldl_scatter_kernel<T>, rows * k);
}

}  // namespace

void ldl_solve(const DecompositionPlan& plan, int64_t k, const int32_t* pivots, void* b, bool hermitian) {
  if (plan.batch == 0 || plan.n == 0 || k == 0) return;
  with_type(plan.dtype, [&](auto t) { solve(plan, k, pivots, static_cast<decltype(t)*>(b), hermitian); });
}

}  // namespace cuda
}  // namespace strided
