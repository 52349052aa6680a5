// LU and Cholesky factorisations and the solutions from them: blocked, over the packed product, and for batches of
// small real matrices one matrix in each lane of a vector (linalg_interleaved.inc). Algorithms: G. Golub and C. Van
// Loan, "Matrix Computations", 4th ed., 3.4 and 4.2; the recursive panel is S. Toledo, "Locality of reference in LU
// decomposition with partial pivoting", SIAM J. Matrix Anal. Appl. 18 (1997).

#include "cpu/linalg/linalg_interleaved.inc"
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

template <class T>
void lu_one(int64_t m, int64_t n, T* a, int32_t* pivots, int32_t* info) {
  *info = 0;
  const int64_t steps = min_of(m, n);
  if (m <= 32 || n <= 8) return lu_unblocked(m, n, a, pivots, info);
  const int64_t block = steps <= 256 ? 32 : 64;
  // An odd number of cache lines: columns do not compete for the same places of the cache.
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t ld = (ceil_div(m, kLine) | 1) * kLine;
  T* panel = static_cast<T*>(workspace(WorkspaceSlot::Factor, ld * block * static_cast<int64_t>(sizeof(T))));
  for (int64_t j0 = 0; j0 < steps; j0 += block) {
    const int64_t cols = min_of(block, steps - j0), rows = m - j0, rest = n - j0 - cols;
    T* at = a + j0 * n + j0;
    transpose_copy(rows, cols, at, n, panel, ld);
    lu_panel(rows, cols, panel, ld, pivots + j0, info, j0);
    for (int64_t j = j0; j < j0 + cols; ++j) pivots[j] += static_cast<int32_t>(j0);
    apply_pivots(j0, a, n, pivots, j0, j0 + cols);
    if (rest > 0) apply_pivots(rest, a + j0 + cols, n, pivots, j0, j0 + cols);
    transpose_copy(cols, rows, panel, ld, at, n);
    if (rest > 0) {
      triangular_solve(cols, rest, at, n, 1, at + cols, n, false, true);
      if (rows > cols) {
        subtract_product<T>(rows - cols, rest, cols, panel + cols, 1, ld, at + cols, n, 1, at + cols * n + cols, n, 1);
      }
    }
  }
}

// Runs one(i) for each matrix of a batch: the batch over the threads, unless the matrices are large and few.
template <class F>
STRIDED_INLINE void for_batch(int64_t batch, int64_t work, F& one) {
  auto range = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) one(i);
  };
  if (work > (1 << 26) && batch < 4 * num_threads()) return range(0, batch);
  for_ranges(batch, max_of(1, (1 << 16) / max_of(work, 1)), range);
}

// A factorisation has many short parallel parts: the interpreter's lock is given up once around all of them.
constexpr int64_t kLongWork = 1 << 17;

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
  const int64_t block = n <= 256 ? 32 : kCholeskyBlock, strip = 256;
  // L21^H, block x rest.
  T* w = static_cast<T*>(workspace(WorkspaceSlot::Factor, block * n * static_cast<int64_t>(sizeof(T))));
  for (int64_t j0 = 0; j0 < n; j0 += block) {
    const int64_t cols = min_of(block, n - j0), rest = n - j0 - cols;
    T* diagonal = a + j0 * (rs + cs);
    if (const int32_t info = cholesky_unblocked(cols, diagonal, rs, cs)) return info + static_cast<int32_t>(j0);
    if (rest == 0) break;
    T* below = diagonal + cols * rs;
    auto conjugated = [](T x) {
      if constexpr (is_complex_v<T>) {
        return conj(x);
      } else {
        return x;
      }
    };
    if (!is_complex_v<T> && cs == 1) {
      transpose_copy(rest, cols, below, rs, w, rest);
    } else {
      for (int64_t i = 0; i < rest; ++i) {
        for (int64_t p = 0; p < cols; ++p) w[p * rest + i] = conjugated(below[i * rs + p * cs]);
      }
    }
    triangular_solve(cols, rest, diagonal, rs, cs, w, rest, false, false);
    if (!is_complex_v<T> && cs == 1) {
      transpose_copy(cols, rest, w, rest, below, rs);
    } else {
      for (int64_t i = 0; i < rest; ++i) {
        for (int64_t p = 0; p < cols; ++p) below[i * rs + p * cs] = conjugated(w[p * rest + i]);
      }
    }
    // Only the strips on and below the diagonal; what falls above it within a strip is never read.
    T* trailing = below + cols * cs;
    for (int64_t s = 0; s < rest; s += strip) {
      const int64_t width = min_of(strip, rest - s);
      subtract_product<T>(rest - s, width, cols, below + s * rs, rs, cs, w + s, rest, 1, trailing + s * (rs + cs), rs,
                          cs);
    }
  }
  return 0;
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
