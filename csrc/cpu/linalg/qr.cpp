// QR decompositions by blocks of Householder reflectors: I - V T V^T for each panel (R. Schreiber and C. Van Loan, "A
// storage-efficient WY representation for products of Householder transformations", SIAM J. Sci. Stat. Comput. 10,
// 1989). Matrices are stored by columns, and the reflectors are LAPACK's: H = I - tau v v^T, v[0] = 1, A = H0 H1 ... R.
// (Complex matrices go to LAPACK: these kernels would take as many bytes again.)

#include "cpu/gemm/matvec.inc"
#include "cpu/linalg/tasks.inc"
#include "cpu/linalg/triangular.inc"

namespace strided {
inline namespace STRIDED_ISA {

constexpr int kColumns = 4;  // that a reflector is applied to at a time

// out[c] = sum over i < n of v[i] a[i + c lda], for C columns.
template <class R, int C>
__attribute__((noinline)) void dots(int64_t n, const R* v, const R* a, int64_t lda, R* out) {
  using V = Vec<R>;
  constexpr int L = kLanes<R>;
  V sums[C][2] = {};
  auto add = [&](int turn, int64_t i) {
    const V x = load<V>(v + i);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) sums[c][turn] += x * load<V>(a + c * lda + i);
  };
  int64_t i = 0;
  for (; i + 2 * L <= n; i += 2 * L) {
    add(0, i);
    add(1, i + L);
  }
  if (i + L <= n) {
    add(0, i);
    i += L;
  }
  if constexpr (kMasks<R>) {
    const Part<V, R> rest(n - i);
    const V x = rest.load(v + i);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) sums[c][1] += x * rest.load(a + c * lda + i);
    i = n;
  }
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) {
    out[c] = sum_of_lanes<R, Arithmetic, L>(sums[c][0] + sums[c][1]);
    for (int64_t j = i; j < n; ++j) out[c] += v[j] * a[j + c * lda];
  }
}

// a[i + c lda] -= f[c] v[i]
template <class R, int C>
__attribute__((noinline)) void subtract(int64_t n, const R* v, const R* f, R* a, int64_t lda) {
  using V = Vec<R>;
  constexpr int L = kLanes<R>;
  int64_t i = 0;
  for (; i + L <= n; i += L) {
    const V x = load<V>(v + i);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) store(a + c * lda + i, load<V>(a + c * lda + i) - f[c] * x);
  }
  if constexpr (kMasks<R>) {
    const Part<V, R> rest(n - i);
    const V x = rest.load(v + i);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) rest.store(a + c * lda + i, rest.load(a + c * lda + i) - f[c] * x);
    return;
  }
  for (int64_t j = i; j < n; ++j) {
    for (int c = 0; c < C; ++c) a[j + c * lda] -= f[c] * v[j];
  }
}

template <class R>
STRIDED_INLINE R square_root(R x) {
  return sizeof(R) == 4 ? static_cast<R>(__builtin_sqrtf(static_cast<float>(x))) : static_cast<R>(__builtin_sqrt(x));
}
template <class R>
STRIDED_INLINE R size_of_number(R x) {
  return x < R(0) ? -x : x;
}

// The Euclidean norm of n numbers, of which no square overflows or counts for nothing by underflow.
template <class R>
__attribute__((noinline)) R careful_norm(int64_t n, const R* x) {
  R most = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] != x[i]) return x[i];
    most = size_of_number(x[i]) > most ? size_of_number(x[i]) : most;
  }
  if (most == R(0) || most - most != R(0)) return most;
  R sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] / most * (x[i] / most);
  return most * square_root(sum);
}
template <class R>
R norm(int64_t n, const R* x) {
  constexpr R kLeast = sizeof(R) == 4 ? R(1e-25) : R(1e-250), kMost = sizeof(R) == 4 ? R(1e38) : R(1e307);
  if (n <= 0) return 0;
  R square;
  dots<R, 1>(n, x, x, n, &square);
  return square >= kLeast && square <= kMost ? square_root(square) : careful_norm(n, x);
}

// The reflector that takes x to (beta, 0, ..., 0): x becomes beta and the rest of v. Returns tau.
template <class R>
__attribute__((noinline)) R reflector(int64_t n, R* x) {
  // Smaller betas are scaled up: the inverse of kSafe is finite, and so is what it multiplies.
  constexpr R kSafe = sizeof(R) == 4 ? R(1e-31) : R(1e-290), kUp = sizeof(R) == 4 ? R(0x1p100) : R(0x1p960);
  R beta = 0;
  int scaled = 0;
  for (;; ++scaled) {
    const R ends[2] = {x[0], norm(n - 1, x + 1)};
    if (ends[1] == R(0)) return R(0);
    beta = careful_norm(2, ends);
    if (!(beta < kSafe) || scaled == 2) break;
    for (int64_t i = 0; i < n; ++i) x[i] *= kUp;
  }
  if (!__builtin_signbit(x[0])) beta = -beta;  // (of -0 too, as LAPACK does)
  const R tau = (beta - x[0]) / beta, scale = R(1) / (x[0] - beta);
  for (int64_t i = 1; i < n; ++i) x[i] *= scale;
  for (; scaled > 0; --scaled) beta /= kUp;
  x[0] = beta;
  return tau;
}

template <class T>
STRIDED_INLINE void multiply(int64_t m, int64_t n, int64_t k, T factor, Matrix a, Matrix b, T add, Matrix c) {
  gemm<T, PackedProducts<T>>(m, n, k, a, b, c, &factor, &add);
}

// Reflectors of one panel as I - V T V^T, V with `rows` rows and `count` columns.
template <class T>
struct Block {
  static constexpr int64_t kMost = 32;

  int64_t rows = 0, count = 0;
  T *v = nullptr, *t = nullptr;  // rows x count, count x count

  static int64_t size(int64_t rows) { return (rows + kMost) * kMost; }
  void place(T* memory, int64_t most_rows) {
    v = memory;
    t = memory + most_rows * kMost;
  }

  // From the reflectors below the diagonal of a. T is the upper triangle with tau on its diagonal and
  // T[:j, j] = -tau[j] T[:j, :j] V[:, :j]^T v[j]; transposed: T^T is kept instead.
  __attribute__((noinline)) void read(int64_t m, int64_t k, const T* a, int64_t lda, const T* tau, bool transposed) {
    rows = m, count = k;
    for (int64_t j = 0; j < k; ++j) {
      for (int64_t i = 0; i < j; ++i) v[j * m + i] = T(0);
      v[j * m + j] = T(1);
      __builtin_memcpy(v + j * m + j + 1, a + j * lda + j + 1, static_cast<size_t>(m - j - 1) * sizeof(T));
    }
    T g[kMost * kMost];
    multiply<T>(k, k, m, T(1), {v, m, 1}, {v, 1, m}, T(0), {g, 1, k});
    for (int64_t j = 0; j < k; ++j) {
      T* to = t + j * k;
      for (int64_t i = 0; i < k; ++i) to[i] = T(0);
      for (int64_t p = 0; p < j; ++p) {
        const T f = -tau[j] * g[j * k + p];
        for (int64_t i = 0; i <= p; ++i) to[i] += f * t[p * k + i];
      }
      to[j] = tau[j];
    }
    for (int64_t j = 0; transposed && j < k; ++j) {
      for (int64_t i = 0; i < j; ++i) {
        t[i * k + j] = t[j * k + i];
        t[j * k + i] = T(0);
      }
    }
  }

  // c (rows x columns) -= V T V^T c; work: 2 * count * columns numbers.
  __attribute__((noinline)) void apply(int64_t columns, T* c, int64_t ldc, T* work) const {
    T* const second = work + count * columns;
    multiply<T>(count, columns, rows, T(1), {v, rows, 1}, {c, 1, ldc}, T(0), {work, 1, count});
    multiply<T>(count, columns, count, T(1), {t, 1, count}, {work, 1, count}, T(0), {second, 1, count});
    multiply<T>(rows, columns, count, T(-1), {v, 1, rows}, {second, 1, count}, T(1), {c, 1, ldc});
  }
};

// Columns of one panel, one reflector after the other.
template <class T>
void qr_panel(int64_t m, int64_t n, T* a, int64_t lda, T* tau) {
  for (int64_t j = 0; j < min_of(m, n); ++j) {
    T* x = a + j * lda + j;
    tau[j] = reflector(m - j, x);
    if (tau[j] == T(0)) continue;
    const T beta = x[0];
    x[0] = T(1);
    auto reflect = [&](int64_t c, auto count) {
      T f[kColumns];
      dots<T, count>(m - j, x, a + c * lda + j, lda, f);
      for (int i = 0; i < count; ++i) f[i] *= tau[j];
      subtract<T, count>(m - j, x, f, a + c * lda + j, lda);
    };
    int64_t c = j + 1;
    for (; c + kColumns <= n; c += kColumns) reflect(c, std::integral_constant<int, kColumns>{});
    for (; c < n; ++c) reflect(c, std::integral_constant<int, 1>{});
    x[0] = beta;
  }
}

template <class T>
void qr_one(int64_t m, int64_t n, T* a, T* tau) {
  constexpr int64_t kBlock = Block<T>::kMost;
  const int64_t k = min_of(m, n), size = Block<T>::size(m);
  T* memory =
      static_cast<T*>(workspace(WorkspaceSlot::Factor, (2 * size + 2 * kBlock * n) * static_cast<int64_t>(sizeof(T))));
  T* const work = memory + 2 * size;
  Block<T> blocks[2];  // the one at hand, and the next: Note [Look-ahead] in linalg.cpp
  for (int i = 0; i < 2; ++i) blocks[i].place(memory + i * size, m);
  auto factor = [&](int64_t j, Block<T>& block) __attribute__((noinline)) {
    const int64_t count = min_of(kBlock, k - j);
    T* at = a + j * m + j;
    qr_panel(m - j, count, at, m, tau + j);
    if (j + count < n) block.read(m - j, count, at, m, tau + j, true);
  };
  factor(0, blocks[0]);
  for (int64_t j = 0, turn = 0; j + min_of(kBlock, k - j) < n && j < k; j += kBlock, turn ^= 1) {
    const Block<T>& block = blocks[turn];
    const int64_t after = j + block.count, ahead = after < k ? min_of(kBlock, k - after) : 0;
    const int64_t rest = n - after - ahead, strips = rest > 0 ? strips_of(rest) : 0;
    const int64_t strip = rest / max_of(strips, 1) / 32 * 32;
    auto apply = [&](int64_t first, int64_t columns) {
      block.apply(columns, a + first * m + j, m, work + 2 * kBlock * first);
    };
    auto task = [&](int64_t t) {
      if (t > 0) {
        const int64_t first = (t - 1) * strip;
        apply(after + ahead + first, t == strips ? rest - first : strip);
      } else if (ahead > 0) {
        apply(after, ahead);
        factor(after, blocks[turn ^ 1]);
      }
    };
    for_tasks(strips + 1, 2 * block.rows * block.count * (n - after), task);
  }
}

// The first n columns of the product of k reflectors, which are in the first k columns of a.
template <class T>
void form_q_one(int64_t m, int64_t n, int64_t k, T* a, const T* tau) {
  constexpr int64_t kBlock = Block<T>::kMost;
  const int64_t size = Block<T>::size(m);
  T* memory =
      static_cast<T*>(workspace(WorkspaceSlot::Factor, (size + 2 * kBlock * n) * static_cast<int64_t>(sizeof(T))));
  T* const work = memory + size;
  Block<T> block;
  block.place(memory, m);
  for (int64_t j = k; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) a[j * m + i] = T(i == j ? 1 : 0);
  }
  for (int64_t j = (k - 1) / kBlock * kBlock; j >= 0; j -= kBlock) {
    const int64_t count = min_of(kBlock, k - j), rows = m - j, after = j + count, rest = n - after;
    T* at = a + j * m + j;
    block.read(rows, count, at, m, tau + j, false);
    const int64_t strips = rest > 0 ? strips_of(rest) : 0, strip = rest / max_of(strips, 1) / 32 * 32;
    auto task = [&](int64_t t) {
      if (t > 0) {
        const int64_t first = (t - 1) * strip, columns = t == strips ? rest - first : strip;
        return block.apply(columns, at + (count + first) * m, m, work + 2 * kBlock * (after + first));
      }
      // The columns of the block itself: of the identity, less V T times the top of V^T.
      T* const x = work + 2 * kBlock * j;
      multiply<T>(count, count, count, T(1), {block.t, 1, count}, {block.v, rows, 1}, T(0), {x, 1, count});
      multiply<T>(rows, count, count, T(-1), {block.v, 1, rows}, {x, 1, count}, T(0), {at, 1, m});
      for (int64_t c = 0; c < count; ++c) {
        at[c * m + c] += T(1);
        for (int64_t i = 0; i < j; ++i) a[(j + c) * m + i] = T(0);
      }
    };
    for_tasks(strips + 1, 2 * rows * count * (n - j), task);
  }
}

template <class T>
void qr(int64_t batch, int64_t m, int64_t n, void* a, void* tau) {
  const int64_t k = min_of(m, n);
  auto one = [&](int64_t i) { qr_one(m, n, static_cast<T*>(a) + i * m * n, static_cast<T*>(tau) + i * k); };
  const GilRelease unlocked(batch * m * n * k > (1 << 17));
  for_batch(batch, 2 * m * n * k, one);
}

template <class T>
void form_q(int64_t batch, int64_t m, int64_t n, int64_t k, void* a, const void* tau) {
  auto one = [&](int64_t i) {
    form_q_one(m, n, k, static_cast<T*>(a) + i * m * n, static_cast<const T*>(tau) + i * k);
  };
  const GilRelease unlocked(batch * m * n * k > (1 << 17));
  for_batch(batch, 2 * m * n * k, one);
}

void fill_qr(KernelTable& kernels) {
  kernels.qr[0] = {&qr<float>, &form_q<float>};
  kernels.qr[1] = {&qr<double>, &form_q<double>};
}

}  // namespace STRIDED_ISA
}  // namespace strided
