// LU and Cholesky factorisations and the solutions from them: blocked, over the packed product, and for batches of
// small real matrices one matrix in each lane of a vector (linalg_interleaved.inc). Algorithms: G. Golub and C. Van
// Loan, "Matrix Computations", 4th ed., 3.4 and 4.2; the recursive panel is S. Toledo, "Locality of reference in LU
// decomposition with partial pivoting", SIAM J. Matrix Anal. Appl. 18 (1997).

#include "cpu/linalg/linalg_interleaved.inc"
#include "cpu/linalg/tasks.inc"
#include "cpu/linalg/triangular.inc"

namespace strided {
inline namespace STRIDED_ISA {

// What a pivot is chosen by: |re| + |im| for complex numbers, as LAPACK does, so that the pivots agree.
STRIDED_INLINE float pivot_size(float x) { return x < 0 ? -x : x; }
STRIDED_INLINE double pivot_size(double x) { return x < 0 ? -x : x; }
template <class R>
STRIDED_INLINE R pivot_size(Complex<R> z) {
  return pivot_size(z.re) + pivot_size(z.im);
}

// The first of n elements with the largest size; a NaN is never larger.
template <class T>
int64_t find_pivot(int64_t n, const T* x, int64_t stride) {
  using R = real_t<T>;
  int64_t i = 0, best = 0;
  R size = R(-1);
  if constexpr (!is_complex_v<T>) {
    using V = Vec<R>;
    constexpr int L = kLanes<R>;
    if (stride == 1 && n >= 2 * L) {
      V top = V{} - R(1);
      int64_t j = 0;
      for (; j + L <= n; j += L) {
        V v = load<V>(x + j);
        v = v < R(0) ? -v : v;
        top = v > top ? v : top;
      }
      for (int l = 0; l < L; ++l) size = top[l] > size ? top[l] : size;
      for (; j < n; ++j) size = pivot_size(x[j]) > size ? pivot_size(x[j]) : size;
      for (i = 0; i < n; ++i) {
        if (pivot_size(x[i]) == size) return i;
      }
      return 0;
    }
  }
  for (; i < n; ++i) {
    const R s = pivot_size(x[i * stride]);
    const bool larger = s > size;
    size = larger ? s : size;
    best = larger ? i : best;
  }
  return best;
}

template <class T>
STRIDED_INLINE void swap_rows(int64_t n, T* a, T* b) {
  if (a == b) return;
  for (int64_t i = 0; i < n; ++i) {
    const T t = a[i];
    a[i] = b[i];
    b[i] = t;
  }
}

// The row exchanges of pivots[begin .. end), which count rows of `a` from 1, in n columns.
template <class T>
void apply_pivots(int64_t n, T* a, int64_t lda, const int32_t* pivots, int64_t begin, int64_t end,
                  bool backwards = false) {
  constexpr int64_t kStrip = 512;
  auto range = [&](int64_t first, int64_t last) {
    for (int64_t s = first; s < last; ++s) {
      T* at = a + s * kStrip;
      const int64_t cols = min_of(kStrip, n - s * kStrip);
      if (backwards) {
        for (int64_t i = end - 1; i >= begin; --i) swap_rows(cols, at + i * lda, at + (pivots[i] - 1) * lda);
      } else {
        for (int64_t i = begin; i < end; ++i) swap_rows(cols, at + i * lda, at + (pivots[i] - 1) * lda);
      }
    }
  };
  for_ranges(ceil_div(n, kStrip), max_of(1, 128 / max_of(end - begin, 1)), range);
}

// LU of a panel stored by columns (ld apart), m >= n. pivots count from 1 within the panel; info as in kernels.h, with
// `column` as the number of the first column.
template <class T>
void lu_panel(int64_t m, int64_t n, T* a, int64_t ld, int32_t* pivots, int32_t* info, int64_t column) {
  if (n > kLeaf) {
    const int64_t n1 = ceil_div(ceil_div(n, kLeaf), 2) * kLeaf, n2 = n - n1;
    T* right = a + n1 * ld;
    lu_panel(m, n1, a, ld, pivots, info, column);
    for (int64_t c = 0; c < n2; ++c) {
      T* col = right + c * ld;
      for (int64_t j = 0; j < n1; ++j) swap_rows(1, col + j, col + pivots[j] - 1);
      for (int64_t j = 0; j < n1; ++j) {
        for (int64_t i = j + 1; i < n1; ++i) col[i] -= a[i + j * ld] * col[j];
      }
    }
    subtract_product<T>(m - n1, n2, n1, a + n1, 1, ld, right, 1, ld, right + n1, 1, ld);
    lu_panel(m - n1, n2, right + n1, ld, pivots + n1, info, column + n1);
    for (int64_t j = n1; j < n; ++j) pivots[j] += static_cast<int32_t>(n1);
    for (int64_t c = 0; c < n1; ++c) {
      for (int64_t j = n1; j < n; ++j) swap_rows(1, a + c * ld + j, a + c * ld + pivots[j] - 1);
    }
    return;
  }
  for (int64_t j = 0; j < n; ++j) {
    T* col = a + j * ld;
    const int64_t p = j + find_pivot(m - j, col + j, 1);
    pivots[j] = static_cast<int32_t>(p + 1);
    if (p != j) {
      for (int64_t c = 0; c < n; ++c) swap_rows(1, a + c * ld + j, a + c * ld + p);
    }
    const T pivot = col[j];
    if (pivot == T(0)) {
      if (*info == 0) *info = static_cast<int32_t>(column + j + 1);
    } else {
      const Divisor<T> divide(pivot);
      for (int64_t i = j + 1; i < m; ++i) col[i] = divide(col[i]);
    }
    for (int64_t c = j + 1; c < n; ++c) {
      T* to = a + c * ld;
      const T u = to[j];
      for (int64_t i = j + 1; i < m; ++i) to[i] -= col[i] * u;
    }
  }
}

// Small matrices: row operations in place.
template <class T>
void lu_unblocked(int64_t m, int64_t n, T* a, int32_t* pivots, int32_t* info) {
  const int64_t steps = min_of(m, n);
  for (int64_t j = 0; j < steps; ++j) {
    T* top = a + j * n;
    const int64_t p = j + find_pivot(m - j, top + j, n);
    pivots[j] = static_cast<int32_t>(p + 1);
    swap_rows(n, top, a + p * n);
    const T pivot = top[j];
    const bool zero = pivot == T(0);
    if (zero && *info == 0) *info = static_cast<int32_t>(j + 1);
    const Divisor<T> divide(zero ? T(1) : pivot);
    for (int64_t i = j + 1; i < m; ++i) {
      T* row = a + i * n;
      const T l = divide(row[j]);
      row[j] = l;
      for (int64_t c = j + 1; c < n; ++c) row[c] -= l * top[c];
    }
  }
}

// Note [Look-ahead]
// A panel is factored by one thread, and all others would wait for it. So a step of the factorisation is a number of
// tasks, of which the first brings the columns of the next panel up to date and factors it, while others update the
// rest (J. Kurzak and J. Dongarra, "Implementing linear algebra routines on multi-core processors with pipelining and a
// look ahead", LAPACK Working Note 178, 2006). Each element is computed by the same operations in the same order,
// whatever the strips.
template <class T>
struct BlockedLu {
  int64_t m, n;
  T* a;
  int32_t *pivots, *info;
  int64_t steps = min_of(m, n), block = steps <= 256 ? 32 : 64, ld = 0;
  T* panels[2] = {};  // stored by columns, which are ld apart: the one at hand, and the next

  int64_t columns_of(int64_t j0) const { return min_of(block, steps - j0); }
  T* at(int64_t i, int64_t j) const { return a + i * n + j; }

  __attribute__((noinline)) void factor(int64_t j0, T* panel) const {
    const int64_t cols = columns_of(j0), rows = m - j0;
    transpose_copy(rows, cols, at(j0, j0), n, panel, ld);
    lu_panel(rows, cols, panel, ld, pivots + j0, info, j0);
    for (int64_t j = j0; j < j0 + cols; ++j) pivots[j] += static_cast<int32_t>(j0);
  }

  // Columns from `first` on, right of the panel.
  __attribute__((noinline)) void update(int64_t j0, const T* panel, int64_t first, int64_t width) const {
    const int64_t cols = columns_of(j0), rows = m - j0;
    apply_pivots(width, at(0, first), n, pivots, j0, j0 + cols);
    triangular_solve(cols, width, panel, 1, ld, at(j0, first), n, false, true);
    if (rows > cols)
      subtract_product<T>(rows - cols, width, cols, panel + cols, 1, ld, at(j0, first), n, 1, at(j0 + cols, first), n,
                          1);
  }

  // Gives back where the next panel is: in the same memory if it was factored when this one was done with, so that one
  // buffer stays in the cache.
  T* step(int64_t j0, T* panel, T* next_panel) const {
    const int64_t cols = columns_of(j0), rows = m - j0, after = j0 + cols;
    const int64_t coming = after < steps ? columns_of(after) : 0;
    // One thread updates all columns at once, but for single ones (strips_of).
    const bool alone = num_threads() == 1 && coming > 1 && n - after - coming != 1;
    const int64_t ahead = alone ? 0 : coming, rest = n - after - ahead;
    const int64_t strips = rest > 0 ? alone ? 1 : strips_of(rest) : 0, strip = rest / max_of(strips, 1) / 32 * 32;
    auto task = [&](int64_t t) {
      if (t == 0 && ahead > 0) {
        update(j0, panel, after, ahead);
        factor(after, next_panel);
      } else if (t > 0 && t <= strips) {
        const int64_t first = (t - 1) * strip;
        update(j0, panel, after + ahead + first, t == strips ? rest - first : strip);
      } else if (t > strips) {
        apply_pivots(j0, a, n, pivots, j0, after);
        transpose_copy(cols, rows, panel, ld, at(j0, j0), n);
      }
    };
    for_tasks(strips + 2, rows * cols * (rest + ahead), task);
    if (alone) factor(after, panel);
    return alone ? panel : next_panel;
  }

  void run() {
    // An odd number of cache lines: columns do not compete for the same places of the cache.
    constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
    ld = (ceil_div(m, kLine) | 1) * kLine;
    const int64_t size = ld * block;
    panels[0] = static_cast<T*>(workspace(WorkspaceSlot::Factor, 2 * size * static_cast<int64_t>(sizeof(T))));
    panels[1] = panels[0] + size;
    T* panel = panels[0];
    factor(0, panel);
    for (int64_t j0 = 0; j0 < steps; j0 += block) panel = step(j0, panel, panels[panel == panels[0]]);
  }
};

template <class T>
void lu_one(int64_t m, int64_t n, T* a, int32_t* pivots, int32_t* info) {
  *info = 0;
  if (m <= 32 || n <= 8) return lu_unblocked(m, n, a, pivots, info);
  BlockedLu<T>{m, n, a, pivots, info}.run();
}

template <class T>
void lu_factor(int64_t batch, int64_t m, int64_t n, void* data, int32_t* pivots, int32_t* info) {
  const GilRelease unlocked(batch * m * n * min_of(m, n) > kLongWork);
  T* a = static_cast<T*>(data);
  if constexpr (!is_complex_v<T>) {
    if (m == n && n > 0 && n <= kMaxLanesSize<T> && batch >= kLanes<T> / 2) {
      return lu_factor_lanes<T>(batch, n, a, pivots, info);
    }
  }
  const int64_t steps = min_of(m, n);
  auto one = [&](int64_t i) { lu_one(m, n, a + i * m * n, pivots + i * steps, info + i); };
  for_batch(batch, m * n * steps, one);
}

// A small triangular system, column after column; the order of operations on an element is that of
// linalg_interleaved.inc.
template <class T>
void triangular_unblocked(int64_t n, int64_t k, const T* t, int64_t rs, int64_t cs, T* b, bool upper, bool unit) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t p = upper ? n - 1 - step : step;
    T* x = b + p * k;
    if (!unit) {
      const Divisor<T> divide(t[p * (rs + cs)]);
      for (int64_t c = 0; c < k; ++c) x[c] = divide(x[c]);
    }
    for (int64_t i = upper ? 0 : p + 1; i < (upper ? p : n); ++i) {
      const T f = t[i * rs + p * cs];
      for (int64_t c = 0; c < k; ++c) b[i * k + c] -= f * x[c];
    }
  }
}

template <class T>
void small_or_triangular_solve(int64_t n, int64_t k, const T* t, int64_t rs, int64_t cs, T* b, bool upper, bool unit) {
  if constexpr (!is_complex_v<T>) {
    if (n <= kMaxLanesSize<T>) return triangular_unblocked(n, k, t, rs, cs, b, upper, unit);
  }
  triangular_solve(n, k, t, rs, cs, b, k, upper, unit);
}

// The conjugate of t, row-major in the scratch memory.
template <class T>
const T* conjugate_copy(int64_t n, const T* t, int64_t rs, int64_t cs) {
  T* copy = static_cast<T*>(workspace(WorkspaceSlot::Solve, n * n * static_cast<int64_t>(sizeof(T))));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      if constexpr (is_complex_v<T>) {
        copy[i * n + j] = conj(t[i * rs + j * cs]);
      } else {
        copy[i * n + j] = t[i * rs + j * cs];
      }
    }
  }
  return copy;
}

template <class T>
void lu_solve(int64_t batch, int64_t n, int64_t k, const void* lu_data, int64_t lu_batch_stride, const int32_t* pivots,
              int64_t pivots_batch_stride, void* data, int op) {
  const T* lu = static_cast<const T*>(lu_data);
  T* b = static_cast<T*>(data);
  if (n <= 0 || k <= 0) return;
  const GilRelease unlocked(batch * n * n * k > kLongWork);
  if constexpr (!is_complex_v<T>) {
    if (n <= kMaxLanesSize<T> && batch >= kLanes<T> / 2 && lu_batch_stride != 0) {
      return lu_solve_lanes<T>(batch, n, k, lu, lu_batch_stride, pivots, pivots_batch_stride, b, op);
    }
  }
  auto one = [&](int64_t i) {
    const T* f = lu + i * lu_batch_stride;
    const int32_t* piv = pivots + i * pivots_batch_stride;
    T* x = b + i * n * k;
    if (op == 0) {
      apply_pivots(k, x, k, piv, 0, n);
      small_or_triangular_solve(n, k, f, n, 1, x, false, true);
      small_or_triangular_solve(n, k, f, n, 1, x, true, false);
    } else {
      int64_t rs = 1, cs = n;
      if (is_complex_v<T> && op == 2) {
        f = conjugate_copy(n, f, 1, n);
        rs = n;
        cs = 1;
      }
      small_or_triangular_solve(n, k, f, rs, cs, x, false, false);
      small_or_triangular_solve(n, k, f, rs, cs, x, true, true);
      apply_pivots(k, x, k, piv, 0, n, true);
    }
  };
  for_batch(batch, n * n * k, one);
}

constexpr int64_t kCholeskyBlock = 64;

// Cholesky of at most kCholeskyBlock rows and columns of a lower triangle, column after column. Returns info.
template <class T>
int32_t cholesky_unblocked(int64_t n, T* a, int64_t rs, int64_t cs) {
  using R = real_t<T>;
  T column[kCholeskyBlock];  // conjugated
  for (int64_t j = 0; j < n; ++j) {
    T& diagonal = a[j * (rs + cs)];
    R d;
    if constexpr (is_complex_v<T>) {
      d = diagonal.re;
    } else {
      d = diagonal;
    }
    if (!(d > R(0))) return static_cast<int32_t>(j + 1);
    d = sizeof(R) == 4 ? static_cast<R>(__builtin_sqrtf(static_cast<float>(d))) : static_cast<R>(__builtin_sqrt(d));
    diagonal = T(d);
    for (int64_t i = j + 1; i < n; ++i) {
      T& x = a[i * rs + j * cs];
      if constexpr (is_complex_v<T>) {
        x = T(x.re / d, x.im / d);
        column[i] = conj(x);
      } else {
        x = x / d;
        column[i] = x;
      }
    }
    // The trailing triangle, along whichever of its directions is contiguous.
    if (cs == 1) {
      for (int64_t i = j + 1; i < n; ++i) {
        const T l = a[i * rs + j];
        T* row = a + i * rs;
        for (int64_t c = j + 1; c <= i; ++c) row[c] -= l * column[c];
      }
    } else {
      for (int64_t c = j + 1; c < n; ++c) {
        T* col = a + c * cs;
        const T* l = a + j * cs;
        for (int64_t i = c; i < n; ++i) col[i * rs] -= l[i * rs] * column[c];
      }
    }
  }
  return 0;
}

// The lower factor of the Hermitian matrix given by its lower triangle with strides (rs, cs). For an upper triangle the
// caller passes the transposed strides: A = U^H U and conj(A) = L L^H have conj(L) = U^T.
template <class T>
int32_t cholesky_one(int64_t n, T* a, int64_t rs, int64_t cs) {
  if (n <= 32) return cholesky_unblocked(n, a, rs, cs);
  const int64_t block = n <= 256 ? 32 : kCholeskyBlock, strip = n <= 512 ? 128 : 256;
  // L21^H, block x rest.
  T* w = static_cast<T*>(workspace(WorkspaceSlot::Factor, block * n * static_cast<int64_t>(sizeof(T))));
  auto conjugated = [](T x) {
    if constexpr (is_complex_v<T>) {
      return conj(x);
    } else {
      return x;
    }
  };
  int32_t failed = cholesky_unblocked(min_of(block, n), a, rs, cs);
  for (int64_t j0 = 0; failed == 0 && j0 + block < n; j0 += block) {
    const int64_t rest = n - j0 - block, next = min_of(block, rest);
    T* diagonal = a + j0 * (rs + cs);
    T* below = diagonal + block * rs;
    T* trailing = below + block * cs;
    auto solve = [&](int64_t t) {  // some rows of L21
      const int64_t first = t * strip, rows = min_of(strip, rest - first);
      T *from = below + first * rs, *to = w + first;
      if (!is_complex_v<T> && cs == 1) {
        transpose_copy(rows, block, from, rs, to, rest);
      } else {
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t p = 0; p < block; ++p) to[p * rest + i] = conjugated(from[i * rs + p * cs]);
        }
      }
      triangular_recursive(block, rows, diagonal, rs, cs, to, rest, false, false);
      if (!is_complex_v<T> && cs == 1) {
        transpose_copy(block, rows, to, rest, from, rs);
      } else {
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t p = 0; p < block; ++p) from[i * rs + p * cs] = conjugated(to[p * rest + i]);
        }
      }
    };
    for_tasks(ceil_div(rest, strip), rest * block * block / 2, solve);
    // Only what is on and below the diagonal; what falls above it within a tile is never read. The first task is the
    // next diagonal block and its factor (Note [Look-ahead]), the others are tiles of the columns, and of those of the
    // first strip right of that block.
    auto update = [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
      subtract_product<T>(rows, columns, block, below + row * rs, rs, cs, w + column, rest, 1,
                          trailing + row * rs + column * cs, rs, cs);
    };
    const int64_t strips = ceil_div(rest, strip);
    auto tile = [&](int64_t t) {
      if (t == 0) {
        update(0, next, 0, next);
        const int32_t info = cholesky_unblocked(next, trailing, rs, cs);
        if (info != 0) failed = info + static_cast<int32_t>(j0 + block);
        return;
      }
      int64_t down = 0;  // tile number t - 1 of the triangle, row after row
      while ((down + 1) * (down + 2) / 2 <= t - 1) ++down;
      const int64_t row = down * strip, column = (t - 1 - down * (down + 1) / 2) * strip;
      const int64_t rows = min_of(strip, rest - row), columns = min_of(strip, rest - column);
      if (row > 0) return update(row, rows, column, columns);
      if (rows > next) {
        update(next, rows - next, 0, next);
        update(next, rows - next, next, columns - next);
      }
    };
    for_tasks(1 + strips * (strips + 1) / 2, rest * rest * block / 2, tile);
  }
  return failed;
}

template <class T>
void cholesky(int64_t batch, int64_t n, void* data, bool upper, int32_t* info) {
  const GilRelease unlocked(batch * n * n * n > kLongWork);
  T* a = static_cast<T*>(data);
  if constexpr (!is_complex_v<T>) {
    if (n > 0 && n <= kMaxLanesSize<T> && batch >= kLanes<T> / 2) return cholesky_lanes<T>(batch, n, a, upper, info);
  }
  auto one = [&](int64_t i) {
    T* at = a + i * n * n;
    info[i] = upper ? cholesky_one(n, at, 1, n) : cholesky_one(n, at, n, 1);
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t c = upper ? 0 : r + 1; c < (upper ? r : n); ++c) at[r * n + c] = T(0);
    }
  };
  for_batch(batch, n * n * n / 2, one);
}

template <class T>
void solve_triangular(int64_t batch, int64_t n, int64_t k, Matrix t, int64_t t_batch_stride, void* data, bool upper,
                      bool unit_diagonal, bool conjugate) {
  T* b = static_cast<T*>(data);
  if (n <= 0 || k <= 0) return;
  const GilRelease unlocked(batch * n * n * k > kLongWork);
  auto one = [&](int64_t i) {
    const T* at = static_cast<const T*>(t.data) + i * t_batch_stride;
    int64_t rs = t.row_stride, cs = t.col_stride;
    if (is_complex_v<T> && conjugate) {
      at = conjugate_copy(n, at, rs, cs);
      rs = n;
      cs = 1;
    }
    triangular_solve(n, k, at, rs, cs, b + i * n * k, k, upper, unit_diagonal);
  };
  for_batch(batch, n * n * k, one);
}

template <class T>
LinalgKernels linalg_kernels() {
  LinalgKernels kernels;
  kernels.lu_factor = &lu_factor<T>;
  kernels.lu_solve = &lu_solve<T>;
  kernels.cholesky = &cholesky<T>;
  kernels.solve_triangular = &solve_triangular<T>;
  return kernels;
}

template <class T>
void set_linalg(KernelTable& kernels) {
  kernels.linalg[index_of(dtype_of<T>)] = linalg_kernels<T>();
}

void fill_linalg(KernelTable& kernels) {
  set_linalg<float>(kernels);
  set_linalg<double>(kernels);
  set_linalg<Complex<float>>(kernels);
  set_linalg<Complex<double>>(kernels);
}

}  // namespace STRIDED_ISA
}  // namespace strided
