// LU, Cholesky and triangular solutions of csrc/cpu: the factors are multiplied out in long double.
#include <complex>

#include "matrix_test_util.h"

namespace strided {
namespace {

using Long = std::complex<long double>;

template <class T>
Long wide(T x) {
  if constexpr (is_complex_v<T>) {
    return {x.re, x.im};
  } else {
    return {x, 0};
  }
}
template <class T>
T narrow(Long z) {
  if constexpr (is_complex_v<T>) {
    return T(static_cast<real_t<T>>(z.real()), static_cast<real_t<T>>(z.imag()));
  } else {
    return static_cast<T>(z.real());
  }
}
template <class T>
constexpr long double kEps = std::numeric_limits<real_t<T>>::epsilon();

// Of a large matrix about two thousand entries are checked.
bool skip(int64_t entries) {
  static std::mt19937 rng(1);
  return entries > 2000 && rng() % (entries / 2000) != 0;
}

template <class T>
std::vector<T> random_matrix(int64_t count, std::mt19937& rng) {
  std::vector<T> a(count);
  for (T& x : a) x = random_value<T>(rng);
  return a;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// |P A - L U| <= tolerance elementwise, relative to |L| |U|.
template <class T>
void expect_lu(int64_t m, int64_t n, const T* a, const T* lu, const int32_t* pivots) {
  const int64_t steps = std::min(m, n);
  std::vector<int64_t> order(m);
  for (int64_t i = 0; i < m; ++i) order[i] = i;
  for (int64_t i = 0; i < steps; ++i) {
    ASSERT_GE(pivots[i], i + 1);
    ASSERT_LE(pivots[i], m);
    std::swap(order[i], order[pivots[i] - 1]);
  }
  int64_t wrong = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      if (skip(m * n)) continue;
      Long sum = 0;
      long double size = 0;
      for (int64_t p = 0; p <= std::min({i, j, steps - 1}); ++p) {
        const Long l = p == i ? Long(1) : wide(lu[i * n + p]);
        if (p < i) wrong += !(std::abs(l) <= 1.42L);  // partial pivoting; sqrt(2) where |re| + |im| decides
        const Long u = wide(lu[p * n + j]);
        sum += l * u;
        size += std::abs(l) * std::abs(u);
      }
      wrong += !(std::abs(sum - wide(a[order[i] * n + j])) <= 2 * kEps<T> * (steps + 4) * (size + 1e-30L));
    }
  }
  EXPECT_EQ(wrong, 0);
}

template <class T>
class Linalg : public ::testing::Test {};
using Types = ::testing::Types<float, double, Complex<float>, Complex<double>>;
TYPED_TEST_SUITE(Linalg, Types);

TYPED_TEST(Linalg, LuGivesItsMatrixBack) {
  using T = TypeParam;
  const int64_t shapes[][3] = {{1, 1, 5},     {2, 2, 40},  {3, 3, 17},  {4, 4, 33},    {5, 5, 9},    {7, 7, 21},
                               {8, 8, 16},    {9, 9, 3},   {16, 16, 3}, {17, 17, 2},   {31, 31, 1},  {32, 32, 2},
                               {33, 33, 1},   {64, 64, 1}, {65, 65, 1}, {130, 130, 1}, {5, 3, 4},    {3, 5, 4},
                               {40, 7, 2},    {7, 40, 2},  {40, 20, 1}, {20, 40, 1},   {90, 41, 1},  {41, 90, 1},
                               {270, 265, 1}, {0, 4, 2},   {4, 0, 2},   {700, 520, 1}, {321, 450, 1}};
  for (const NamedKernels& set : all_kernels()) {
    std::mt19937 rng(3);
    for (const auto& s : shapes) {
      const int64_t m = s[0], n = s[1], batch = s[2], steps = std::min(m, n);
      SCOPED_TRACE(::testing::Message() << set.isa << " " << m << "x" << n);
      const std::vector<T> a = random_matrix<T>(batch * m * n, rng);
      std::vector<T> lu = a;
      std::vector<int32_t> pivots(batch * steps, -1), info(batch, -1);
      set.kernels.linalg[index_of(dtype_of<T>)].lu_factor(batch, m, n, lu.data(), pivots.data(), info.data());
      for (int64_t i = 0; i < batch; ++i) {
        EXPECT_EQ(info[i], 0);
        expect_lu(m, n, a.data() + i * m * n, lu.data() + i * m * n, pivots.data() + i * steps);
      }
    }
  }
}

TYPED_TEST(Linalg, LuSolveSolvesAllThreeSystems) {
  using T = TypeParam;
  const int64_t shapes[][3] = {{1, 1, 3},   {2, 1, 40},   {3, 1, 17},  {3, 2, 20}, {4, 3, 35},  {5, 1, 9},
                               {8, 8, 12},  {9, 1, 2},    {16, 4, 2},  {33, 1, 1}, {64, 65, 1}, {100, 1, 1},
                               {130, 7, 1}, {70, 300, 1}, {600, 3, 1}, {0, 3, 2}};
  for (const NamedKernels& set : all_kernels()) {
    const LinalgKernels& kernels = set.kernels.linalg[index_of(dtype_of<T>)];
    std::mt19937 rng(5);
    for (const auto& s : shapes) {
      const int64_t n = s[0], k = s[1], batch = s[2];
      std::vector<T> a = random_matrix<T>(batch * n * n, rng);
      for (int64_t i = 0; i < batch * n; ++i)
        a[i * n + i % n] = narrow<T>(wide(a[i * n + i % n]) + Long(n > 8 ? 3 : 1));
      std::vector<T> lu = a;
      std::vector<int32_t> pivots(batch * n), info(batch);
      kernels.lu_factor(batch, n, n, lu.data(), pivots.data(), info.data());
      for (int op = 0; op < 3; ++op) {
        SCOPED_TRACE(::testing::Message() << set.isa << " n " << n << " k " << k << " op " << op);
        for (bool shared : {false, true}) {  // one factorisation for the whole batch
          const std::vector<T> b = random_matrix<T>(batch * n * k, rng);
          std::vector<T> x = b;
          kernels.lu_solve(batch, n, k, lu.data(), shared ? 0 : n * n, pivots.data(), shared ? 0 : n, x.data(), op);
          int64_t wrong = 0;
          for (int64_t i = 0; i < batch; ++i) {
            const T *ai = a.data() + (shared ? 0 : i * n * n), *bi = b.data() + i * n * k, *xi = x.data() + i * n * k;
            for (int64_t c = 0; c < k; ++c) {
              for (int64_t r = 0; r < n; ++r) {
                if (skip(batch * n * k)) continue;
                Long sum = 0;
                long double size = 0;
                for (int64_t p = 0; p < n; ++p) {
                  Long e = wide(op == 0 ? ai[r * n + p] : ai[p * n + r]);
                  if (op == 2) e = std::conj(e);
                  sum += e * wide(xi[p * k + c]);
                  size += std::abs(wide(xi[p * k + c]));
                }
                // Backward stability: the residual is small beside |A| |x|, with room for the growth of the pivots.
                wrong += !(std::abs(sum - wide(bi[r * k + c])) <= 8 * kEps<T> * (n + 8) * (4 * size + 1));
              }
            }
          }
          EXPECT_EQ(wrong, 0);
        }
      }
    }
  }
}

TYPED_TEST(Linalg, CholeskyReadsOneTriangle) {
  using T = TypeParam;
  for (const NamedKernels& set : all_kernels()) {
    std::mt19937 rng(7);
    for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 32, 33, 64, 65, 130, 300, 577}) {
      const int64_t batch = n < 10 ? 19 : n < 40 ? 3 : 1;
      for (bool upper : {false, true}) {
        SCOPED_TRACE(::testing::Message() << set.isa << " n " << n << " upper " << upper);
        std::vector<T> full = random_matrix<T>(batch * n * n, rng);
        for (int64_t i = 0; i < batch; ++i) {
          for (int64_t r = 0; r < n; ++r) {
            T* row = full.data() + (i * n + r) * n;
            row[r] = T(static_cast<real_t<T>>(n + 1));
            for (int64_t c = 0; c < r; ++c) row[c] = narrow<T>(std::conj(wide(full[(i * n + c) * n + r])));
          }
        }
        std::vector<T> a = full;
        for (int64_t i = 0; i < batch * n * n; ++i) {
          const int64_t r = i / n % n, c = i % n;
          if (upper ? c < r : c > r) a[i] = T(static_cast<real_t<T>>(NAN));
        }
        std::vector<int32_t> info(batch, -1);
        set.kernels.linalg[index_of(dtype_of<T>)].cholesky(batch, n, a.data(), upper, info.data());
        int64_t wrong = 0;
        for (int64_t i = 0; i < batch; ++i) {
          EXPECT_EQ(info[i], 0);
          const T *f = a.data() + i * n * n, *want = full.data() + i * n * n;
          for (int64_t r = 0; r < n; ++r) {
            for (int64_t c = 0; c < n; ++c) {
              if (upper ? c < r : c > r) wrong += !(f[r * n + c] == T(0));
              if (skip(batch * n * n)) continue;
              Long sum = 0;
              long double size = 0;
              for (int64_t p = 0; p < n; ++p) {
                const Long x = upper ? std::conj(wide(f[p * n + r])) : wide(f[r * n + p]);
                const Long y = upper ? wide(f[p * n + c]) : std::conj(wide(f[c * n + p]));
                sum += x * y;
                size += std::abs(x) * std::abs(y);
              }
              wrong += !(std::abs(sum - wide(want[r * n + c])) <= 2 * kEps<T> * (n + 4) * (size + 1e-30L));
            }
          }
        }
        EXPECT_EQ(wrong, 0);
      }
    }
  }
}

TYPED_TEST(Linalg, CholeskyNamesTheBadMinor) {
  using T = TypeParam;
  for (const NamedKernels& set : all_kernels()) {
    const auto cholesky = set.kernels.linalg[index_of(dtype_of<T>)].cholesky;
    for (int64_t n : {1, 3, 8, 20, 100, 150}) {
      for (int64_t bad : {int64_t{0}, n / 2, n - 1}) {
        for (real_t<T> value : {real_t<T>(0), real_t<T>(-1), real_t<T>(NAN)}) {
          std::vector<T> a(2 * n * n, T(0));
          for (int64_t i = 0; i < 2 * n; ++i) a[i * n + i % n] = T(1);
          a[n * n + bad * n + bad] = T(value);
          int32_t info[2] = {-1, -1};
          cholesky(2, n, a.data(), n % 2 == 0, info);
          EXPECT_EQ(info[0], 0);
          EXPECT_EQ(info[1], bad + 1) << set.isa << " n " << n << " value " << value;
        }
      }
    }
  }
}

TYPED_TEST(Linalg, SolveTriangular) {
  using T = TypeParam;
  for (const NamedKernels& set : all_kernels()) {
    std::mt19937 rng(9);
    for (const auto& s : {std::pair<int64_t, int64_t>{1, 1},
                          {2, 3},
                          {7, 1},
                          {8, 17},
                          {9, 40},
                          {16, 5},
                          {17, 1},
                          {40, 300},
                          {130, 33},
                          {530, 2}}) {
      const int64_t n = s.first, k = s.second, batch = n < 20 ? 3 : 1;
      for (int kind = 0; kind < 16; ++kind) {
        const bool upper = kind & 1, unit = kind & 2, conjugate = kind & 4, transposed = kind & 8;
        SCOPED_TRACE(::testing::Message() << set.isa << " n " << n << " k " << k << " kind " << kind);
        std::vector<T> t = random_matrix<T>(batch * n * n, rng);
        const int64_t rs = transposed ? 1 : n, cs = transposed ? n : 1;
        for (int64_t i = 0; i < batch * n * n; ++i) {
          int64_t r = i / n % n, c = i % n;
          if (transposed) std::swap(r, c);
          if (r == c) {
            t[i] = unit ? T(static_cast<real_t<T>>(NAN)) : narrow<T>(wide(t[i]) + Long(3));
          } else if (upper ? c < r : c > r) {
            t[i] = T(static_cast<real_t<T>>(NAN));
          } else {
            t[i] = narrow<T>(wide(t[i]) / Long(n));
          }
        }
        const std::vector<T> b = random_matrix<T>(batch * n * k, rng);
        std::vector<T> x = b;
        set.kernels.linalg[index_of(dtype_of<T>)].solve_triangular(batch, n, k, {t.data(), rs, cs}, n * n, x.data(),
                                                                   upper, unit, conjugate);
        int64_t wrong = 0;
        for (int64_t i = 0; i < batch; ++i) {
          for (int64_t r = 0; r < n; ++r) {
            for (int64_t c = 0; c < k; ++c) {
              if (skip(batch * n * k)) continue;
              Long sum = 0;
              for (int64_t p = upper ? r : 0; p < (upper ? n : r + 1); ++p) {
                Long e = p == r && unit ? Long(1) : wide(t[i * n * n + r * rs + p * cs]);
                if (conjugate) e = std::conj(e);
                sum += e * wide(x[(i * n + p) * k + c]);
              }
              wrong += !(std::abs(sum - wide(b[(i * n + r) * k + c])) <= 8 * kEps<T> * (n + 8));
            }
          }
        }
        EXPECT_EQ(wrong, 0);
      }
    }
  }
}

TYPED_TEST(Linalg, SingularAndStrangeInput) {
  using T = TypeParam;
  using R = real_t<T>;
  for (const NamedKernels& set : all_kernels()) {
    const LinalgKernels& kernels = set.kernels.linalg[index_of(dtype_of<T>)];
    for (int64_t n : {1, 2, 3, 4, 6, 8, 9, 30, 70, 140}) {
      SCOPED_TRACE(::testing::Message() << set.isa << " n " << n);
      std::vector<int32_t> pivots(2 * n, -1);
      int32_t info[2] = {-1, -1};
      std::vector<T> a(2 * n * n, T(0));  // zeros: singular from the first pivot on, and the factors stay finite
      kernels.lu_factor(2, n, n, a.data(), pivots.data(), info);
      EXPECT_EQ(info[0], 1);
      EXPECT_EQ(info[1], 1);
      for (int64_t i = 0; i < n; ++i) EXPECT_EQ(pivots[i], i + 1);
      for (T x : a) EXPECT_TRUE(x == T(0));
      // The identity with one zero on the diagonal, beside a good matrix.
      const int64_t bad = n / 2;
      for (int64_t i = 0; i < 2 * n; ++i) a[i * n + i % n] = T(1);
      a[bad * n + bad] = T(0);
      kernels.lu_factor(2, n, n, a.data(), pivots.data(), info);
      EXPECT_EQ(info[0], bad + 1);
      EXPECT_EQ(info[1], 0);
      // NaN and infinity neither hang nor give pivots out of range.
      for (R value : {R(NAN), R(INFINITY)}) {
        std::fill(a.begin(), a.end(), T(value));
        kernels.lu_factor(2, n, n, a.data(), pivots.data(), info);
        for (int64_t i = 0; i < 2 * n; ++i) {
          EXPECT_GE(pivots[i], i % n + 1);
          EXPECT_LE(pivots[i], n);
        }
        std::vector<T> b(2 * n, T(1));
        kernels.lu_solve(2, n, 1, a.data(), n * n, pivots.data(), n, b.data(), 0);
        kernels.cholesky(2, n, a.data(), false, info);
      }
    }
    // The smallest pivots: nothing overflows on the way.
    const R tiny = std::numeric_limits<R>::denorm_min() * 8;
    std::vector<T> a = {T(tiny), T(tiny), T(tiny), T(2 * tiny)};
    int32_t pivots[2], info;
    kernels.lu_factor(1, 2, 2, a.data(), pivots, &info);
    EXPECT_EQ(info, 0);
    if (!is_complex_v<T>) {
      EXPECT_TRUE(a[2] == T(1) && a[3] == T(tiny));
    }
  }
}

TYPED_TEST(Linalg, SameBitsForAnyNumberOfThreadsAndBatches) {
  using T = TypeParam;
  const int threads = num_threads();
  for (const NamedKernels& set : all_kernels()) {
    const LinalgKernels& kernels = set.kernels.linalg[index_of(dtype_of<T>)];
    for (const auto& s :
         {std::pair<int64_t, int64_t>{3, 500}, {7, 300}, {20, 50}, {97, 3}, {300, 2}, {321, 1}, {513, 1}}) {
      const int64_t n = s.first, batch = s.second, k = 300;
      std::mt19937 rng(11);
      const std::vector<T> a = random_matrix<T>(batch * n * n, rng), b = random_matrix<T>(batch * n * k, rng);
      std::vector<T> lu[3], x[3], chol[3];
      for (int run = 0; run < 3; ++run) {
        set_num_threads(run == 1 ? 5 : 1);
        lu[run] = a;
        x[run] = b;
        chol[run] = a;
        for (int64_t i = 0; i < batch * n; ++i) chol[run][i * n + i % n] = T(static_cast<real_t<T>>(2 * n));
        std::vector<int32_t> pivots(batch * n), info(batch);
        const int64_t step = run == 2 ? 1 : batch;  // the last time one by one
        for (int64_t i = 0; i < batch; i += step) {
          kernels.lu_factor(step, n, n, lu[run].data() + i * n * n, pivots.data() + i * n, info.data() + i);
          kernels.lu_solve(step, n, k, lu[run].data() + i * n * n, n * n, pivots.data() + i * n, n,
                           x[run].data() + i * n * k, 0);
          kernels.cholesky(step, n, chol[run].data() + i * n * n, false, info.data() + i);
        }
      }
      for (int run = 1; run < 3; ++run) {
        EXPECT_TRUE(same_bits(lu[0], lu[run])) << set.isa << " n " << n << " run " << run;
        EXPECT_TRUE(same_bits(x[0], x[run])) << set.isa << " n " << n << " run " << run;
        EXPECT_TRUE(same_bits(chol[0], chol[run])) << set.isa << " n " << n << " run " << run;
      }
    }
  }
  set_num_threads(threads);
}

template <class T>
class Qr : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Qr, RealTypes);

// A = Q R, by columns: R, and the first `columns` columns of Q with orthonormal columns.
template <class T>
void expect_qr(const NamedKernels& set, int64_t m, int64_t n, int64_t columns, const std::vector<T>& a) {
  const int64_t k = std::min(m, n);
  std::vector<T> r = a, tau(k), q(m * columns);
  const QrKernels& kernels = set.kernels.qr[sizeof(T) == 8];
  kernels.qr(1, m, n, r.data(), tau.data());
  std::copy_n(r.begin(), m * std::min(n, columns), q.begin());
  kernels.form_q(1, m, columns, std::min(k, columns), q.data(), tau.data());
  long double most = 0;
  for (T x : a) most = std::max<long double>(most, std::abs(static_cast<long double>(x)));
  int64_t wrong = 0;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) {
      if (skip(m * n)) continue;
      long double sum = 0;
      for (int64_t p = 0; p <= std::min(j, k - 1); ++p)
        sum += static_cast<long double>(q[p * m + i]) * static_cast<long double>(r[j * m + p]);
      wrong += !(std::abs(sum - static_cast<long double>(a[j * m + i])) <= 4 * kEps<T> * (m + 4) * most);
    }
  }
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i <= j; ++i) {
      if (skip(columns * columns)) continue;
      long double sum = i == j ? -1 : 0;
      for (int64_t p = 0; p < m; ++p)
        sum += static_cast<long double>(q[i * m + p]) * static_cast<long double>(q[j * m + p]);
      wrong += !(std::abs(sum) <= 4 * kEps<T> * (m + 4));
    }
  }
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(Qr, GivesItsMatrixBack) {
  using T = TypeParam;
  for (const NamedKernels& set : all_kernels()) {
    std::mt19937 rng(29);
    for (const auto& s : {std::pair<int64_t, int64_t>{1, 1},
                          {1, 6},
                          {6, 1},
                          {5, 3},
                          {3, 5},
                          {32, 32},
                          {33, 33},
                          {40, 31},
                          {31, 40},
                          {64, 65},
                          {70, 64},
                          {97, 96},
                          {129, 33},
                          {33, 129},
                          {300, 270},
                          {270, 450}}) {
      const int64_t m = s.first, n = s.second;
      SCOPED_TRACE(::testing::Message() << set.isa << " " << m << "x" << n);
      const std::vector<T> a = random_matrix<T>(m * n, rng);
      expect_qr(set, m, n, std::min(m, n), a);
      expect_qr(set, m, n, m, a);
    }
  }
}

// Squares that overflow or vanish, subnormal numbers, columns of zeros, equal columns.
TYPED_TEST(Qr, StrangeInput) {
  using T = TypeParam;
  const T huge = std::numeric_limits<T>::max() / 64, small = std::numeric_limits<T>::min();
  for (const NamedKernels& set : all_kernels()) {
    std::mt19937 rng(31);
    for (int64_t n : {3, 40}) {
      for (T scale : {huge, small * 1024, T(0), T(1)}) {
        SCOPED_TRACE(::testing::Message() << set.isa << " " << n << " times " << scale);
        std::vector<T> a = random_matrix<T>(n * n, rng);
        for (T& x : a) x *= scale;
        if (scale == T(1)) std::copy_n(a.begin(), n, a.begin() + n);
        if (scale == T(1)) std::fill_n(a.begin() + 2 * n, n, T(0));
        expect_qr(set, n, n, n, a);
      }
      std::vector<T> a = random_matrix<T>(n * n, rng), tau(n);
      a[n + 1] = std::numeric_limits<T>::quiet_NaN();
      set.kernels.qr[sizeof(T) == 8].qr(1, n, n, a.data(), tau.data());
      EXPECT_TRUE(std::isnan(a[n + 1]));
      EXPECT_FALSE(std::isnan(a[0]));
    }
  }
}

TYPED_TEST(Qr, SameBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  const int threads = num_threads();
  for (const NamedKernels& set : all_kernels()) {
    const QrKernels& kernels = set.kernels.qr[sizeof(T) == 8];
    for (const auto& s : {std::pair<int64_t, int64_t>{300, 300}, {321, 321}, {400, 250}, {250, 449}, {90, 90}}) {
      const int64_t m = s.first, n = s.second, k = std::min(m, n), batch = n < 100 ? 5 : 1;
      std::mt19937 rng(37);
      std::vector<T> a[2], q[2], tau(batch * k);
      a[0] = a[1] = random_matrix<T>(batch * m * n, rng);
      for (int run = 0; run < 2; ++run) {
        set_num_threads(run == 1 ? 5 : 1);
        kernels.qr(batch, m, n, a[run].data(), tau.data());
        q[run] = a[run];
        q[run].resize(batch * m * k);
        kernels.form_q(batch, m, k, k, q[run].data(), tau.data());
      }
      EXPECT_TRUE(same_bits(a[0], a[1])) << set.isa << " " << m << "x" << n;
      EXPECT_TRUE(same_bits(q[0], q[1])) << set.isa << " " << m << "x" << n;
    }
  }
  set_num_threads(threads);
}

// A system whose solution is exact in float32, alone and in a batch.
TEST(LinalgFloat, TextbookSystemIsExact) {
  const float a[9] = {2, 3, -1, 1, -2, 8, 6, 1, -3}, b[3] = {5, 21, -1};
  for (const NamedKernels& set : all_kernels()) {
    const LinalgKernels& kernels = set.kernels.linalg[index_of(DType::Float32)];
    for (int64_t batch : {1, 2, 16, 37}) {
      std::vector<float> lu, x;
      for (int64_t i = 0; i < batch; ++i) {
        lu.insert(lu.end(), a, a + 9);
        x.insert(x.end(), b, b + 3);
      }
      std::vector<int32_t> pivots(3 * batch), info(batch);
      kernels.lu_factor(batch, 3, 3, lu.data(), pivots.data(), info.data());
      kernels.lu_solve(batch, 3, 1, lu.data(), 9, pivots.data(), 3, x.data(), 0);
      for (int64_t i = 0; i < 3 * batch; ++i)
        EXPECT_EQ(x[i], static_cast<float>(i % 3 + 1)) << set.isa << " batch " << batch;
      EXPECT_EQ(pivots[0], 3);
    }
  }
}

}  // namespace
}  // namespace strided
