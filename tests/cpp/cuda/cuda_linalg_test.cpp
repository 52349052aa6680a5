// Linear algebra on the device: against plain algorithms, bit for bit where the order of operations is one and the same
// (matrices that a warp or a block has), by residuals where products of blocks stand between.
#include <algorithm>

#include "backend/op.h"
#include "cuda/runtime/operations.h"
#include "cuda_test_util.h"

namespace strided {
namespace cuda {
namespace {

template <class T>
double magnitude(const T& x) {
  if constexpr (is_complex_v<T>) return std::hypot(static_cast<double>(x.re), static_cast<double>(x.im));
  else return std::abs(static_cast<double>(x));
}
template <class T>
constexpr double kEpsilon = sizeof(real_t<T>) == 4 ? 1.2e-7 : 2.3e-16;
template <class T>
T conjugated(const T& x) {
  if constexpr (is_complex_v<T>) return conj(x);
  else return x;
}
template <class T>
T number(std::mt19937& random) {
  auto part = [&] { return static_cast<real_t<T>>(static_cast<double>(random() % 20001) / 10000 - 1); };
  if constexpr (is_complex_v<T>) {
    const real_t<T> re = part();
    return T(re, part());
  } else {
    return part();
  }
}

// A packed batch of matrices, on the host and on the device.
template <class T>
struct Matrices {
  int64_t batch, rows, columns;
  std::vector<T> host;
  Workspace device;

  Matrices(int64_t batch_, int64_t rows_, int64_t columns_)
      : batch(batch_),
        rows(rows_),
        columns(columns_),
        host(static_cast<size_t>(batch_ * rows_ * columns_), T(0)),
        device(host.size() * sizeof(T), 0) {}
  T& at(int64_t q, int64_t i, int64_t j) { return host[static_cast<size_t>((q * rows + i) * columns + j)]; }
  void fill(std::mt19937& random) {
    for (T& x : host) x = number<T>(random);
  }
  void upload() {
    if (!host.empty()) to_device(device.data(), host.data(), host.size() * sizeof(T));
  }
  void download() {
    if (!host.empty()) to_host(host.data(), device.data(), host.size() * sizeof(T));
  }
  T* data() { return device.as<T>(); }
};

template <class T>
double size_for_pivot(const T& x) {
  if constexpr (is_complex_v<T>) return static_cast<double>(std::abs(x.re) + std::abs(x.im));
  else return static_cast<double>(std::abs(x));
}

// LU with partial pivoting as it stands in textbooks; pivots and info as on the CPU.
template <class T>
void plain_lu(int64_t m, int64_t n, T* a, int32_t* pivots, int32_t* info) {
  *info = 0;
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    int64_t p = j;
    double best = -1;
    for (int64_t i = j; i < m; ++i)
      if (size_for_pivot(a[i * n + j]) > best) {
        best = size_for_pivot(a[i * n + j]);
        p = i;
      }
    pivots[j] = static_cast<int32_t>(p + 1);
    for (int64_t c = 0; c < n; ++c) std::swap(a[j * n + c], a[p * n + c]);
    const T pivot = a[j * n + j];
    if (pivot == T(0) && *info == 0) *info = static_cast<int32_t>(j + 1);
    for (int64_t i = j + 1; i < m; ++i) {
      const T l = pivot == T(0) ? a[i * n + j] : a[i * n + j] / pivot;
      a[i * n + j] = l;
      for (int64_t c = j + 1; c < n; ++c) a[i * n + c] -= l * a[j * n + c];
    }
  }
}

// Does a block or a warp have the whole matrix? (Else products of blocks stand between, with another order of sums.)
template <class T>
bool is_whole(int64_t m, int64_t n) {
  return (m <= 32 && n <= 32) || m * (n | 1) * static_cast<int64_t>(sizeof(T)) <= 45 << 10;
}

int64_t below(int64_t n, std::mt19937& random) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }

enum class Kind { Random, Singular, Zero, NotFinite, Ties, IllConditioned };

template <class T>
void make(Matrices<T>& a, Kind kind, std::mt19937& random) {
  a.fill(random);
  const int64_t m = a.rows, n = a.columns;
  for (int64_t q = 0; q < a.batch; ++q) switch (kind) {
      case Kind::Random: break;
      case Kind::Singular: {  // one column is zero, which is found exactly
        const int64_t c = below(n, random);
        for (int64_t i = 0; i < m; ++i) a.at(q, i, c) = T(0);
        break;
      }
      case Kind::Zero:
        for (int64_t i = 0; i < m * n; ++i) a.host[static_cast<size_t>(q * m * n + i)] = T(0);
        break;
      case Kind::NotFinite:
        a.at(q, below(m, random), below(n, random)) = T(std::numeric_limits<real_t<T>>::quiet_NaN());
        if (q % 2) a.at(q, below(m, random), below(n, random)) = T(std::numeric_limits<real_t<T>>::infinity());
        break;
      case Kind::Ties:
        for (int64_t i = 0; i < m * n; ++i)
          a.host[static_cast<size_t>(q * m * n + i)] = T(static_cast<real_t<T>>(static_cast<int>(random() % 3) - 1));
        break;
      case Kind::IllConditioned:  // of Hilbert
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) a.at(q, i, j) = T(real_t<T>(1) / static_cast<real_t<T>>(i + j + 1));
    }
  a.upload();
}

// P L U against A: |difference| <= bound * n * epsilon * growth.
template <class T>
void check_product(Matrices<T>& before, Matrices<T>& lu, const std::vector<int32_t>& pivots, const std::string& what) {
  const int64_t m = lu.rows, n = lu.columns, k = std::min(m, n);
  for (int64_t q = 0; q < lu.batch; ++q) {
    std::vector<int64_t> order(static_cast<size_t>(m));
    for (int64_t i = 0; i < m; ++i) order[static_cast<size_t>(i)] = i;
    for (int64_t i = 0; i < k; ++i) {
      const int64_t p = pivots[static_cast<size_t>(q * k + i)] - 1;
      ASSERT_TRUE(p >= i && p < m) << what;
      std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(p)]);
    }
    double largest = 0;
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = i; j < n; ++j) largest = std::max(largest, magnitude(lu.at(q, i, j)));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        using W = std::conditional_t<is_complex_v<T>, Complex<double>, double>;
        W sum = i <= j ? W(lu.at(q, i, j)) : W(0);
        for (int64_t p = 0; p < std::min({i, j + 1, k}); ++p) sum += W(lu.at(q, i, p)) * W(lu.at(q, p, j));
        const W difference = sum - W(before.at(q, order[static_cast<size_t>(i)], j));
        ASSERT_LE(magnitude(difference), 4 * static_cast<double>(n) * kEpsilon<T> * std::max(largest, 1.0))
            << what << " matrix " << q << " at " << i << ", " << j;
        if (j < i && j < k) {
          ASSERT_LE(size_for_pivot(lu.at(q, i, j)), (is_complex_v<T> ? 2.0 : 1.0) + 1e-3) << what;
        }
      }
  }
}

template <class T>
void check_lu(int64_t batch, int64_t m, int64_t n, Kind kind, std::mt19937& random) {
  const std::string what = std::string(name_of(dtype_of<T>)) + " " + std::to_string(batch) + " x " + std::to_string(m) +
                           " x " + std::to_string(n) + " kind " + std::to_string(static_cast<int>(kind));
  const int64_t k = std::min(m, n);
  Matrices<T> a(batch, m, n);
  Matrices<int32_t> pivots(batch, 1, k), info(batch, 1, 1);
  make(a, kind, random);
  Matrices<T> before(batch, m, n), want(batch, m, n);
  before.host = want.host = a.host;
  lu_factor(OpContext{"lu", 0}, dtype_of<T>, batch, m, n, a.data(), pivots.data(), info.data());
  a.download();
  pivots.download();
  info.download();
  std::vector<int32_t> want_pivots(static_cast<size_t>(k));
  int32_t want_info;
  for (int64_t q = 0; q < batch; ++q) {
    plain_lu(m, n, &want.at(q, 0, 0), want_pivots.data(), &want_info);
    // (Where a sum rounds in another way, another one of nearly equal elements may be the pivot.)
    const bool exact = kRoundsAlike && is_whole<T>(m, n);
    if (exact || kind == Kind::Singular || kind == Kind::Zero) {
      ASSERT_EQ(info.at(q, 0, 0), want_info) << what;
    }
    if (!exact) continue;
    for (int64_t i = 0; i < k; ++i)
      ASSERT_EQ(pivots.at(q, 0, i), want_pivots[static_cast<size_t>(i)]) << what << " matrix " << q << " pivot " << i;
    for (int64_t i = 0; i < m * n; ++i) {
      const size_t e = static_cast<size_t>(q * m * n + i);
      ASSERT_TRUE(agrees(a.host[e], want.host[e])) << what << " matrix " << q << " element " << i;
    }
  }
  if (kind == Kind::Random || kind == Kind::Ties || kind == Kind::IllConditioned)
    check_product(before, a, pivots.host, what);
}

// Runs f under several orders of threads.
template <class F>
void in_orders(F f) {
#if STRIDED_EMULATED
  for (uint64_t seed : {2, 3, 0, 1}) {
    set_order(seed);
    f();
    if (testing::Test::HasFatalFailure()) break;
  }
  set_order(1);
#else
  f();
#endif
}

template <class F>
void for_dtypes(F f) {
  for_each(List<float, double, Complex<float>, Complex<double>>{}, [&](auto tag, int) {
    if (!testing::Test::HasFatalFailure()) f(tag);
  });
}

TEST(CudaLinalg, LuOfSquareMatrices) {
  std::mt19937 random(1);
  for_dtypes([&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 53, 54, 63, 64, 65, 100, 130})
      for (int64_t batch : {0, 1, 3, 100}) {
        if (batch * n > 1000) continue;
        check_lu<T>(batch, n, n, Kind::Random, random);
        ASSERT_FALSE(testing::Test::HasFatalFailure());
      }
  });
}

TEST(CudaLinalg, LuOfOddMatrices) {
  std::mt19937 random(2);
  for_dtypes([&](auto tag) {
    using T = typename decltype(tag)::type;
    for (Kind kind : {Kind::Singular, Kind::Zero, Kind::NotFinite, Kind::Ties, Kind::IllConditioned})
      for (int64_t n : {1, 2, 4, 5, 8, 16, 17, 32, 33, 50, 130}) {
        if (kind == Kind::IllConditioned && n > 12) continue;
        check_lu<T>(n < 40 ? 5 : 2, n, n, kind, random);
        ASSERT_FALSE(testing::Test::HasFatalFailure());
      }
  });
}

TEST(CudaLinalg, LuOfRectangles) {
  std::mt19937 random(3);
  const int64_t sizes[][2] = {{1, 5},  {5, 1},    {3, 8},    {8, 3},    {9, 16},   {32, 20},  {20, 32},   {33, 2},
                              {2, 33}, {200, 16}, {60, 100}, {100, 60}, {40, 200}, {200, 40}, {1000, 20}, {2700, 20}};
  for_dtypes([&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const auto& size : sizes)
      for (Kind kind : {Kind::Random, Kind::Singular}) {
        check_lu<T>(2, size[0], size[1], kind, random);
        ASSERT_FALSE(testing::Test::HasFatalFailure());
      }
  });
}

TEST(CudaLinalg, LuInAnyOrderOfThreads) {
  in_orders([] {
    std::mt19937 random(4);
    for_dtypes([&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t n : {3, 8, 13, 32, 45, 120}) check_lu<T>(3, n, n, n % 2 ? Kind::Ties : Kind::Random, random);
    });
  });
}

// ---- systems. The residual of op(T) x = b, in double precision, where T is what the plain loops say it is.
enum class Part { Lower, Upper, Whole };

template <class T>
void check_residual(Matrices<T>& t, bool shared, Matrices<T>& x, Matrices<T>& b, Part part, bool unit, int op,
                    const std::string& what) {
  using W = std::conditional_t<is_complex_v<T>, Complex<double>, double>;
  const int64_t n = b.rows;
  for (int64_t q = 0; q < b.batch; ++q)
    for (int64_t c = 0; c < b.columns; ++c) {
      double largest = 1;
      for (int64_t i = 0; i < n; ++i) largest = std::max(largest, magnitude(x.at(q, i, c)));
      for (int64_t i = 0; i < n; ++i) {
        W sum = W(0);
        for (int64_t j = 0; j < n; ++j) {
          if ((part == Part::Lower && j > i) || (part == Part::Upper && j < i)) continue;
          T e = op == 0 ? t.at(shared ? 0 : q, i, j) : t.at(shared ? 0 : q, j, i);
          if (op == 2) e = conjugated(e);
          if (unit && i == j) e = T(1);
          sum += W(e) * W(x.at(q, j, c));
        }
        ASSERT_LE(magnitude(sum - W(b.at(q, i, c))), 30 * static_cast<double>(n) * kEpsilon<T> * largest)
            << what << " matrix " << q << " row " << i << " column " << c;
      }
    }
}

template <class T>
void check_lu_solve(int64_t batch, int64_t n, int64_t k, bool shared, std::mt19937& random) {
  Matrices<T> a(shared ? 1 : batch, n, n), lu(a.batch, n, n);
  Matrices<int32_t> pivots(a.batch, 1, n), info(a.batch, 1, 1);
  a.fill(random);
  for (int64_t q = 0; q < a.batch; ++q)
    for (int64_t i = 0; i < n; ++i) a.at(q, i, (i * 7 + 3) % n) += T(2);  // not too badly conditioned, but permuted
  lu.host = a.host;
  lu.upload();
  lu_factor(OpContext{"lu", 0}, dtype_of<T>, a.batch, n, n, lu.data(), pivots.data(), info.data());
  for (int op : {0, 1, 2}) {
    Matrices<T> b(batch, n, k), x(batch, n, k);
    b.fill(random);
    x.host = b.host;
    x.upload();
    lu_solve(OpContext{"lu_solve", 0}, dtype_of<T>, batch, n, k, lu.data(), shared ? 0 : n * n, pivots.data(),
             shared ? 0 : n, x.data(), op);
    x.download();
    check_residual(a, shared, x, b, Part::Whole, false, op,
                   std::string(name_of(dtype_of<T>)) + " n " + std::to_string(n) + " k " + std::to_string(k) + " op " +
                       std::to_string(op) + (shared ? " shared" : ""));
  }
}

TEST(CudaLinalg, LuSolve) {
  std::mt19937 random(5);
  for_dtypes([&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t n : {1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 64, 65, 100})
      for (int64_t k : {1, 2, 8, 9, 32, 33, 130})
        for (int64_t batch : {0, 1, 3, 40}) {
          if (batch * n * k > 1300) continue;
          check_lu_solve<T>(batch, n, k, batch == 3 && k < 8, random);
          ASSERT_FALSE(testing::Test::HasFatalFailure());
        }
  });
  synchronize(0);  // no pivot was found bad
}

TEST(CudaLinalg, LuSolveInAnyOrderOfThreads) {
  in_orders([] {
    std::mt19937 random(6);
    for_dtypes([&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t n : {3, 16, 50})
        for (int64_t k : {1, 9}) check_lu_solve<T>(3, n, k, false, random);
    });
  });
}

TEST(CudaLinalg, BadPivotsAreLeftOutAndReported) {
  std::mt19937 random(7);
  for (int64_t n : {4, 40})
    for (int64_t k : {1, 9})
      for (int32_t bad : {0, -5, 41, INT32_MAX, INT32_MIN}) {
        Matrices<float> lu(2, n, n), b(2, n, k);
        Matrices<int32_t> pivots(2, 1, n);
        make(lu, Kind::Random, random);
        make(b, Kind::Random, random);
        for (int64_t i = 0; i < 2 * n; ++i) pivots.host[static_cast<size_t>(i)] = static_cast<int32_t>(i % n + 1);
        pivots.at(1, 0, 2) = bad;
        pivots.upload();
        lu_solve(OpContext{"lu_solve", 0}, DType::Float32, 2, n, k, lu.data(), n * n, pivots.data(), n, b.data(), 0);
        try {
          synchronize(0);
          ADD_FAILURE() << "no error";
        } catch (const RuntimeError& e) {
          const char* relation = bad < 1 ? "greater or equal to 1" : "smaller or equal to LU.size(-2)";
          EXPECT_EQ(std::string(e.what()), std::string("Pivots given to lu_solve must all be ") + relation +
                                               ". Did you properly pass the result of lu_factor?");
        }
        synchronize(0);
      }
}

template <class T>
void check_triangular(int64_t batch, int64_t n, int64_t k, bool upper, bool unit, bool transposed, bool shared,
                      std::mt19937& random) {
  Matrices<T> t(shared ? 1 : batch, n, n), b(batch, n, k), x(batch, n, k);
  t.fill(random);
  b.fill(random);
  const bool stored_upper = upper != transposed;
  const T nan(std::numeric_limits<real_t<T>>::quiet_NaN());
  for (int64_t q = 0; q < t.batch; ++q)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        if (stored_upper ? j < i : j > i) t.at(q, i, j) = nan;  // not to be read
        else if (i == j) t.at(q, i, j) = unit ? nan : T(static_cast<real_t<T>>(2)) + number<T>(random);
        else t.at(q, i, j) = t.at(q, i, j) * T(real_t<T>(1) / static_cast<real_t<T>>(n));
      }
  t.upload();
  x.host = b.host;
  x.upload();
  const Matrix matrix{t.data(), transposed ? 1 : n, transposed ? n : 1};
  solve_triangular(OpContext{"triangular", 0}, dtype_of<T>, batch, n, k, matrix, shared ? 0 : n * n, x.data(), upper,
                   unit);
  x.download();
  check_residual(t, shared, x, b, upper ? Part::Upper : Part::Lower, unit, transposed ? 1 : 0,
                 std::string(name_of(dtype_of<T>)) + " n " + std::to_string(n) + " k " + std::to_string(k) +
                     (upper ? " upper" : " lower") + (unit ? " unit" : "") + (transposed ? " transposed" : ""));
}

TEST(CudaLinalg, TriangularSystems) {
  std::mt19937 random(8);
  for_dtypes([&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t n : {1, 3, 4, 5, 8, 16, 17, 32, 33, 65, 97})
      for (int64_t k : {1, 3, 9, 40})
        for (int flags = 0; flags < 8; ++flags) {
          check_triangular<T>(n < 40 ? 3 : 2, n, k, flags & 1, flags & 2, flags & 4, flags == 3, random);
          ASSERT_FALSE(testing::Test::HasFatalFailure());
        }
  });
}

// ---- Cholesky
template <class T>
void check_cholesky(int64_t batch, int64_t n, bool upper, int64_t bad_minor, std::mt19937& random) {
  using W = std::conditional_t<is_complex_v<T>, Complex<double>, double>;
  const std::string what = std::string(name_of(dtype_of<T>)) + " n " + std::to_string(n) + (upper ? " upper" : "") +
                           " bad " + std::to_string(bad_minor);
  Matrices<T> g(batch, n, n), a(batch, n, n);
  Matrices<int32_t> info(batch, 1, 1);
  g.fill(random);
  for (int64_t q = 0; q < batch; ++q)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        T sum = i == j ? T(static_cast<real_t<T>>(n)) : T(0);
        for (int64_t p = 0; p < n; ++p) sum += g.at(q, i, p) * conjugated(g.at(q, j, p));
        a.at(q, i, j) = sum;
        a.at(q, j, i) = conjugated(sum);
      }
  const int64_t broken = batch - 1;  // this one only
  if (bad_minor > 0) a.at(broken, bad_minor - 1, bad_minor - 1) = T(-1);
  std::vector<T> whole = a.host;
  auto given = [&](int64_t q, int64_t i, int64_t j) { return whole[static_cast<size_t>((q * n + i) * n + j)]; };
  for (int64_t q = 0; q < batch; ++q)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i + 1; j < n; ++j)
        (upper ? a.at(q, j, i) : a.at(q, i, j)) = T(std::numeric_limits<real_t<T>>::quiet_NaN());  // not to be read
  a.upload();
  cholesky(OpContext{"cholesky", 0}, dtype_of<T>, batch, n, a.data(), upper, info.data());
  a.download();
  info.download();
  for (int64_t q = 0; q < batch; ++q) {
    const bool bad = bad_minor > 0 && q == broken;
    ASSERT_EQ(info.at(q, 0, 0), bad ? bad_minor : 0) << what;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        if (upper ? j < i : j > i) {
          ASSERT_TRUE(a.at(q, i, j) == T(0)) << what;
        }
        if (bad || j > i) continue;
        W sum = W(0);
        for (int64_t p = 0; p <= j; ++p)
          sum +=
              upper ? W(conjugated(a.at(q, p, i))) * W(a.at(q, p, j)) : W(a.at(q, i, p)) * W(conjugated(a.at(q, j, p)));
        ASSERT_LE(magnitude(sum - W(given(q, i, j))), 40 * static_cast<double>(n) * kEpsilon<T>)
            << what << " matrix " << q << " at " << i << ", " << j;
      }
  }
}

TEST(CudaLinalg, Cholesky) {
  std::mt19937 random(9);
  for_dtypes([&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t n : {1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 64, 65, 120})
      for (int64_t batch : {0, 1, 3, 100})
        for (bool upper : {false, true}) {
          if (batch * n > 800) continue;
          check_cholesky<T>(batch, n, upper, 0, random);
          if (batch == 1 || batch == 3) check_cholesky<T>(batch, n, upper, 1 + below(n, random), random);
          ASSERT_FALSE(testing::Test::HasFatalFailure());
        }
  });
}

TEST(CudaLinalg, CholeskyInAnyOrderOfThreads) {
  in_orders([] {
    std::mt19937 random(10);
    for_dtypes([&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t n : {3, 20, 60, 110}) check_cholesky<T>(2, n, n % 4 == 0, 0, random);
    });
  });
}

TEST(CudaLinalg, SizesBeyondALaunchAreErrors) {
  constexpr int64_t large = int64_t{1} << 31;
  EXPECT_THROW(lu_factor(OpContext{"lu_factor", 0}, DType::Float32, 1, large, 1, nullptr, nullptr, nullptr),
               NotImplementedError);
  EXPECT_THROW(lu_factor(OpContext{"lu_factor", 0}, DType::Float32, large * 64, 2, 2, nullptr, nullptr, nullptr),
               NotImplementedError);
  EXPECT_THROW(exchange_rows(OpContext{"lu_unpack", 0}, DType::Float32, large, 1, 1, nullptr, nullptr, 1, true),
               NotImplementedError);
}

// ---- what is not arithmetic
TEST(CudaLinalg, ExchangesOfRows) {
  std::mt19937 random(11);
  for (DType dtype : {DType::Int8, DType::BFloat16, DType::Float32, DType::Complex64, DType::Complex128})
    for (int64_t rows : {1, 2, 5, 31, 32, 33, 64, 100})
      for (int64_t columns : {1, 5, 33})
        for (bool backwards : {false, true}) {
          const int64_t batch = 2, count = 1 + below(rows, random);
          Array a(dtype, {batch, rows, columns}), pivots(DType::Int32, {batch, count});
          a.fill_random(random);
          // Any row may be named, also one that stands before, or several times.
          for (int64_t i = 0; i < batch * count; ++i)
            pivots.set(i, static_cast<int32_t>(1 + below(random() % 2 ? rows : std::min<int64_t>(rows, 3), random)));
          pivots.upload();
          std::vector<char> want = a.host;
          const int64_t line = columns * size_of(dtype);
          for (int64_t q = 0; q < batch; ++q)
            for (int64_t s = 0; s < count; ++s) {
              const int64_t i = backwards ? count - 1 - s : s, p = pivots.get<int32_t>(q * count + i) - 1;
              char* base = want.data() + q * rows * line;
              if (p != i) std::swap_ranges(base + i * line, base + (i + 1) * line, base + p * line);
            }
          exchange_rows(OpContext{"exchange", 0}, dtype, batch, rows, columns, a.data(),
                        reinterpret_cast<const int32_t*>(pivots.data()), count, backwards);
          a.download();
          ASSERT_EQ(a.host, want) << name_of(dtype) << ' ' << rows << ' ' << columns << ' ' << count << backwards;
        }
  synchronize(0);
}

TEST(CudaLinalg, SignsOfPermutations) {
  std::mt19937 random(12);
  for (int64_t n : {0, 1, 2, 31, 32, 33, 100})
    for (int64_t batch : {1, 7, 9}) {
      Matrices<int32_t> pivots(batch, 1, n);
      Matrices<double> sign(batch, 1, 1);
      for (int64_t i = 0; i < batch * n; ++i)
        pivots.host[static_cast<size_t>(i)] = static_cast<int32_t>(i % n + 1 + (random() % 2 ? 1 : 0));
      pivots.upload();
      permutation_sign(OpContext{"det", 0}, batch, n, pivots.data(), sign.data());
      sign.download();
      for (int64_t q = 0; q < batch; ++q) {
        double want = 1;
        for (int64_t i = 0; i < n; ++i)
          if (pivots.at(q, 0, i) != i + 1) want = -want;
        ASSERT_EQ(sign.at(q, 0, 0), want) << n;
      }
    }
}

TEST(CudaLinalg, TheFirstFailureIsRaisedByTheNextCallThatWaits) {
  const struct {
    LinalgFailure fault;
    const char* words;
  } cases[] = {
      {LinalgFailure::Singular, "f: (Batch element 9300): The solver failed because the input matrix is "},
      {LinalgFailure::NotInvertible, "f: (Batch element 9300): The diagonal element 7 is zero, the inversion "},
      {LinalgFailure::ZeroPivot, "f: (Batch element 9300): U[7,7] is zero and using it on lu_solve "},
      {LinalgFailure::NotPositiveDefinite, "f: (Batch element 9300): The factorization could not be "}};
  for (const auto& c : cases)
    for (bool wait : {false, true}) {
      constexpr int64_t n = 20000, at = 9300;
      Matrices<int32_t> info(1, 1, n);
      info.upload();
      check_info(OpContext{"f", 0}, c.fault, info.data(), n, true, false);
      synchronize(0);  // nothing has failed
      info.host[at] = 7;
      for (int64_t later : {at + 1, at + 1024, at + 3000, n - 1}) info.host[static_cast<size_t>(later)] = 9;
      info.upload();
      try {
        check_info(OpContext{"f", 0}, c.fault, info.data(), n, true, wait);
        EXPECT_FALSE(wait);
        synchronize(0);
        ADD_FAILURE() << "no error";
      } catch (const LinAlgError& e) {
        EXPECT_EQ(std::string(e.what()).substr(0, std::strlen(c.words)), c.words);
      }
      synchronize(0);
    }
  Matrices<int32_t> one(1, 1, 1);
  one.host[0] = 2;
  one.upload();
  try {
    check_info(OpContext{"torch.linalg.solve", 0}, LinalgFailure::Singular, one.data(), 1, false, true);
    ADD_FAILURE() << "no error";
  } catch (const LinAlgError& e) {
    EXPECT_STREQ(e.what(), "torch.linalg.solve: The solver failed because the input matrix is singular.");
  }
}

}  // namespace
}  // namespace cuda
}  // namespace strided
