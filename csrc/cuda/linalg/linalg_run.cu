// Note [LU on the device]
// Up to 32 rows and columns a warp has one matrix or several, in registers (linalg_small.h). Larger ones that fit into
// the shared memory of a block have one each (linalg_block.h). Of still larger ones the columns are halved again and
// again (S. Toledo, "Locality of reference in LU decomposition with partial pivoting", SIAM J. Matrix Anal. Appl. 18,
// 1997): factor the left half, exchange rows of the right one, solve for its upper part, subtract the product from its
// lower part, factor that, exchange rows of the left half. So nearly all arithmetic is in few large products. The
// narrowest panels are factored by a block, in shared memory if they fit, in the cache otherwise. The host queues all
// of it and waits for nothing: pivots and info stay on the device.
//
// Triangular systems and Cholesky are halved in the same way, down to 32 rows, or to a block's shared memory.
#include <algorithm>

#include "backend/elementwise.h"
#include "cuda/linalg/linalg.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

constexpr int kPanel = 16;           // columns of the narrowest panels of LU,
constexpr int kTallPanel = 4;        // or of those too tall for shared memory otherwise
constexpr size_t kStatic = 3 << 10;  // bytes of shared memory that kernels have besides a matrix

// What all launches of one operation have in common.
struct Run {
  const char* name;
  int device;
  int64_t batch;
  cudaStream_t stream;
  size_t shared;  // bytes for a matrix, or a panel

  Run(const OpContext& on, int64_t batch_)
      : name(on.name),
        device(on.device),
        batch(batch_),
        stream(current_stream(on.device)),
        shared(device_info(on.device).shared_per_block - kStatic) {}
  template <class Args>
  void start(void (*kernel)(Args), int64_t blocks, int64_t threads, size_t shared, const Args& args) const {
    STRIDED_CHECK(blocks < kMaxItems, NotImplementedError, name, ": a batch of ", batch, " on device 'cuda'");
    launch(kernel, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)), shared, stream, args);
    check_launch(name);
  }
};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
// Half of n, in units: where a matrix is cut.
int64_t cut(int64_t n, int64_t unit) { return divide_up(divide_up(n, unit), 2) * unit; }

template <class T>
int64_t small_blocks(int64_t batch, int64_t n) {
  const int64_t matrices = kWarp / (int64_t{4} << size_row(n));
  return divide_up(batch, matrices * kSmallWarps<T>);
}
template <class T>
size_t block_bytes(int64_t m, int64_t n) {
  return static_cast<size_t>(m * tile_row(static_cast<int>(n))) * sizeof(T);
}
template <class T>
bool fits_block(const Run& run, int64_t m, int64_t n) {
  return m * n < INT32_MAX && block_bytes<T>(m, n) <= run.shared;
}
int64_t block_threads(int64_t rows) { return rows <= 48 ? 128 : rows <= 128 ? 256 : kBlockThreads; }

// c -= a b
template <class T>
void subtract_product(const Run& run, int64_t m, int64_t n, int64_t k, const View<T>& a, const View<T>& b,
                      const View<T>& c) {
  const T alpha(-1), beta(1);
  GemmPlan plan;
  plan.name = run.name;
  plan.device = run.device;
  plan.dtype = dtype_of<T>;
  plan.m = m, plan.n = n, plan.k = k;
  plan.a = {a.data, a.row, a.column}, plan.b = {b.data, b.row, b.column}, plan.c = {c.data, c.row, c.column};
  plan.batch_ndim = 1;
  plan.batch_shape = &run.batch;
  plan.batch_strides[0] = &a.step, plan.batch_strides[1] = &b.step, plan.batch_strides[2] = &c.step;
  plan.alpha = &alpha, plan.beta = &beta;
  gemm(plan);
}

// A plan over `count` matrices of one shape.
struct MatrixPlan {
  int64_t shape[3], strides[2][3];
  LoopPlan plan;

  MatrixPlan(const Run& run, int64_t rows, int64_t columns) : shape{columns, rows, run.batch}, strides{} {
    plan.name = run.name;
    plan.device = run.device;
    plan.ndim = 3;
    plan.shape = shape;
  }
  MatrixPlan(const MatrixPlan&) = delete;
  template <class T>
  void add(const View<T>& v) {
    int64_t* s = strides[plan.n_operands];
    const int64_t size = sizeof(T);
    s[0] = v.column * size, s[1] = v.row * size, s[2] = v.step * size;
    plan.operand[plan.n_operands++] = {reinterpret_cast<char*>(v.data), s, dtype_of<T>, false};
  }
};
template <class T>
void conjugate_into(const Run& run, int64_t rows, int64_t columns, const View<T>& to, const View<T>& from) {
  MatrixPlan p(run, rows, columns);
  p.add(to);
  p.add(from);
  elementwise(p.plan, elementwise_id<ConjPhysical>, dtype_of<T>, nullptr);
}

// ---- triangular systems
template <class T>
void solve_small(const Run& run, int64_t n, int64_t k, const View<const T>& t, const View<T>& b, Stage lower,
                 Stage upper, const int32_t* pivots = nullptr, int64_t pivot_step = 0, bool permute_after = false) {
  const SolveArgs<T> a{{t, n, n},
                       b,
                       run.batch,
                       k,
                       static_cast<int>(n),
                       lower,
                       upper,
                       pivots,
                       pivot_step,
                       permute_after,
                       reporter(run.device, run.name, static_cast<int>(LinalgFailure::PivotOfSolve))};
  const LinalgTable<T>& table = linalg_table<T>();
  if (k <= kFewColumns)
    return run.start(table.solve_few[size_row(n)], small_blocks<T>(run.batch, n), kSmallWarps<T> * kWarp, 0, a);
  const int64_t threads = std::min<int64_t>(divide_up(k, kWarp), 4) * kWarp;
  run.start(table.solve_many[size_row(n)], run.batch * divide_up(k, threads), threads, 0, a);
}

// b <- T^-1 b for an upper triangle T, or a lower one.
template <class T>
void solve(const Run& run, int64_t n, int64_t k, const View<const T>& t, const View<T>& b, bool upper, Stage diagonal) {
  if (n <= kSmall) return solve_small(run, n, k, t, b, upper ? Stage::None : diagonal, upper ? diagonal : Stage::None);
  const int64_t n1 = cut(n, kSmall), n2 = n - n1;
  const View<T> b2 = b.at(n1, 0);
  const View<const T> off = upper ? t.at(0, n1) : t.at(n1, 0);
  const View<T> factor{const_cast<T*>(off.data), off.row, off.column, off.step};
  if (upper) {
    solve(run, n2, k, t.at(n1, n1), b2, upper, diagonal);
    subtract_product(run, n1, k, n2, factor, b2, b);
    solve(run, n1, k, t, b, upper, diagonal);
  } else {
    solve(run, n1, k, t, b, upper, diagonal);
    subtract_product(run, n2, k, n1, factor, b, b2);
    solve(run, n2, k, t.at(n1, n1), b2, upper, diagonal);
  }
}
template <class T>
View<const T> readonly(const View<T>& v) {
  return {v.data, v.row, v.column, v.step};
}

// ---- LU
template <class T>
struct Lu {
  Run run;
  int64_t m, steps;
  View<T> a;
  int32_t *pivots, *info;

  void exchange(int64_t column, int64_t columns, int64_t begin, int64_t end) const {
    const int64_t size = sizeof(T);
    exchange_view(run.name, run.device, size, run.batch, m, columns,
                  {reinterpret_cast<char*>(a.data + column * a.column), a.row * size, a.column * size, a.step * size},
                  pivots, steps, begin, end, false, LinalgFailure::PivotOfSolve);
  }
  // Rows [j, j + width) of columns [column, column + columns), whose left neighbours are factored.
  void solve_upper(int64_t j, int64_t width, int64_t column, int64_t columns) const {
    exchange(column, columns, j, j + width);
    solve(run, width, columns, readonly(a.at(j, j)), a.at(j, column), false, Stage::Unit);
  }
  void panel(int64_t j, int64_t width) const {
    const int64_t rows = m - j;
    const bool staged = fits_block<T>(run, rows, width);
    const FactorArgs<T> args{{a.at(j, j), rows, width},
                             run.batch,
                             static_cast<int>(rows),
                             static_cast<int>(width),
                             static_cast<int>(j),
                             pivots + j,
                             steps,
                             info,
                             false};
    run.start(linalg_table<T>().lu_block[staged], run.batch, block_threads(rows),
              staged ? block_bytes<T>(rows, width) : 0, args);
  }
  // Columns [j, j + width) from row j on; their rows are exchanged within these columns only.
  void factor(int64_t j, int64_t width) const {
    if (width <= kTallPanel || (width <= kPanel && fits_block<T>(run, m - j, width))) return panel(j, width);
    const int64_t left = cut(width, width > kPanel ? kPanel : kTallPanel), right = width - left, middle = j + left;
    factor(j, left);
    solve_upper(j, left, middle, right);
    subtract_product(run, m - middle, right, left, a.at(middle, j), a.at(j, middle), a.at(middle, middle));
    factor(middle, right);
    exchange(j, left, middle, j + width);
  }
};

template <class T>
void factor_lu(const Run& run, int64_t m, int64_t n, T* data, int32_t* pivots, int32_t* info) {
  const int64_t steps = std::min(m, n);
  const Lu<T> lu{run, m, steps, {data, n, 1, m * n}, pivots, info};
  if (m <= kSmall && n <= kSmall) {
    const FactorArgs<T> args{{lu.a, m, n}, run.batch, static_cast<int>(m), static_cast<int>(n), 0, pivots, steps,
                             info,         false};
    const int64_t size = std::max(m, n);
    return run.start(linalg_table<T>().lu_small[size_row(size)], small_blocks<T>(run.batch, size),
                     kSmallWarps<T> * kWarp, 0, args);
  }
  if (fits_block<T>(run, m, n)) return lu.panel(0, n);
  lu.factor(0, steps);
  if (n > steps) lu.solve_upper(0, steps, steps, n - steps);
}

template <class T>
void solve_lu(const Run& run, int64_t n, int64_t k, const View<const T>& lu, const int32_t* pivots, int64_t pivot_step,
              const View<T>& b, int op) {
  const bool conjugates = op == 2 && is_complex_v<T>;  // A^H x = b is A^T conj(x) = conj(b)
  if (conjugates) conjugate_into(run, n, k, b, b);
  const View<const T> t = op == 0 ? lu : lu.transposed();
  const Stage lower = op == 0 ? Stage::Unit : Stage::Diagonal, upper = op == 0 ? Stage::Diagonal : Stage::Unit;
  if (n <= kSmall) {
    solve_small(run, n, k, t, b, lower, upper, pivots, pivot_step, op != 0);
  } else {
    auto exchange = [&](bool backwards) {
      const int64_t size = sizeof(T);
      exchange_view(run.name, run.device, size, run.batch, n, k,
                    {reinterpret_cast<char*>(b.data), b.row * size, b.column * size, b.step * size}, pivots, pivot_step,
                    0, n, backwards, LinalgFailure::PivotOfSolve);
    };
    if (op == 0) exchange(false);
    solve(run, n, k, t, b, false, lower);
    solve(run, n, k, t, b, true, upper);
    if (op != 0) exchange(true);
  }
  if (conjugates) conjugate_into(run, n, k, b, b);
}

// ---- Cholesky
// A = L L^H from the lower triangle of the view. Below the diagonal block L21 = A21 L11^-H, that is L11 L21^H = A21^H;
// then A22 -= L21 L21^H.
template <class T>
void factor_cholesky(const Run& run, int64_t n, int64_t first, const View<T>& a, int32_t* info, bool clear) {
  if (fits_block<T>(run, n, n)) {
    const FactorArgs<T> args{
        {a, n, n}, run.batch, static_cast<int>(n), static_cast<int>(n), static_cast<int>(first), nullptr, 0,
        info,      clear};
    return run.start(linalg_table<T>().cholesky_block, run.batch, block_threads(n), block_bytes<T>(n, n), args);
  }
  const int64_t n1 = cut(n, kSmall), n2 = n - n1;
  const View<T> below = a.at(n1, 0);
  factor_cholesky(run, n1, first, a, info, false);
  if constexpr (is_complex_v<T>) {
    const Workspace memory(static_cast<size_t>(run.batch * n1 * n2) * sizeof(T), run.device);
    const View<T> conjugated{memory.as<T>(), n1, 1, n1 * n2};
    conjugate_into(run, n2, n1, conjugated, below);
    solve(run, n1, n2, readonly(a), conjugated.transposed(), false, Stage::Diagonal);
    conjugate_into(run, n2, n1, below, conjugated);
    subtract_product(run, n2, n2, n1, below, conjugated.transposed(), a.at(n1, n1));
  } else {
    solve(run, n1, n2, readonly(a), below.transposed(), false, Stage::Diagonal);
    subtract_product(run, n2, n2, n1, below, below.transposed(), a.at(n1, n1));
  }
  factor_cholesky(run, n2, first + n1, a.at(n1, n1), info, false);
}

}  // namespace

void lu_factor(const OpContext& on, DType dtype, int64_t batch, int64_t m, int64_t n, void* a, int32_t* pivots,
               int32_t* info) {
  if (batch == 0 || m == 0 || n == 0) return;
  constexpr int64_t most = int64_t{1} << 30;  // rows and columns are counted in int
  STRIDED_CHECK(m < most && n < most, NotImplementedError, on.name, ": matrices of ", m, " x ", n,
                " elements on device 'cuda'");
  const OnDevice guard(on.device);
  with_type(dtype, [&](auto zero) { factor_lu(Run(on, batch), m, n, static_cast<decltype(zero)*>(a), pivots, info); });
}

void lu_solve(const OpContext& on, DType dtype, int64_t batch, int64_t n, int64_t k, const void* lu,
              int64_t lu_batch_stride, const int32_t* pivots, int64_t pivots_batch_stride, void* b, int op) {
  if (batch == 0 || n == 0 || k == 0) return;
  const OnDevice guard(on.device);
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    solve_lu<T>(Run(on, batch), n, k, {static_cast<const T*>(lu), n, 1, lu_batch_stride}, pivots, pivots_batch_stride,
                {static_cast<T*>(b), k, 1, n * k}, op);
  });
}

void solve_triangular(const OpContext& on, DType dtype, int64_t batch, int64_t n, int64_t k, Matrix t,
                      int64_t t_batch_stride, void* b, bool upper, bool unit_diagonal) {
  if (batch == 0 || n == 0 || k == 0) return;
  const OnDevice guard(on.device);
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    const View<const T> triangle{static_cast<const T*>(t.data), t.row_stride, t.col_stride, t_batch_stride};
    solve<T>(Run(on, batch), n, k, triangle, {static_cast<T*>(b), k, 1, n * k}, upper,
             unit_diagonal ? Stage::Unit : Stage::Diagonal);
  });
}

void cholesky(const OpContext& on, DType dtype, int64_t batch, int64_t n, void* data, bool upper, int32_t* info) {
  if (batch == 0 || n == 0) return;
  const OnDevice guard(on.device);
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    const Run run(on, batch);
    const View<T> packed{static_cast<T*>(data), n, 1, n * n};
    // A = U^H U and conj(A) = L L^H have L = U^T: the transposed view is factored.
    const View<T> a = upper ? packed.transposed() : packed;
    if (n <= kSmall) {
      const FactorArgs<T> args{{a, n, n}, batch, static_cast<int>(n), static_cast<int>(n), 0, nullptr, 0, info, true};
      return run.start(linalg_table<T>().cholesky_small[size_row(n)], small_blocks<T>(batch, n), kSmallWarps<T> * kWarp,
                       0, args);
    }
    factor_cholesky(run, n, 0, a, info, true);
    if (fits_block<T>(run, n, n)) return;  // the block has cleared the other triangle
    MatrixPlan p(run, n, n);
    p.add(packed);
    clear_triangle(p.plan, 0, !upper);
  });
}

}  // namespace cuda
}  // namespace strided
