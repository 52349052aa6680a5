// Decompositions on the device, by their properties: A = Q R, A V = V W and so on, in float64. Where the device is
// emulated, cuSOLVER is too (cusolver_emulated.cpp), and complains of calls that the real one would refuse.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>

#include "cuda/linalg/linalg.h"
#include "cuda/runtime/operations.h"
#include "cuda/runtime/transfer.h"
#include "cuda_test_util.h"

// The leak sanitizer cannot read the thread-local memory of libraries that are opened late, as cuSOLVER is.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_options() { return "use_tls=0"; }

namespace strided {
namespace cuda {
namespace {

#if STRIDED_EMULATED
#define NEEDS_SOLVER() \
  if (!*STRIDED_TEST_LAPACK && !std::getenv("STRIDED_LAPACK_LIBRARY")) \
  GTEST_SKIP() << "the emulated cuSOLVER is made of LAPACK, which is not here: pip install scipy-openblas32"
#else
#define NEEDS_SOLVER()
#endif

using Number = std::complex<double>;
template <class T>
Number number(const T& x) {
  if constexpr (is_complex_v<T>) return {static_cast<double>(x.re), static_cast<double>(x.im)};
  else return static_cast<double>(x);
}
template <class T>
T from_number(const Number& x) {
  using R = real_t<T>;
  if constexpr (is_complex_v<T>) return T(static_cast<R>(x.real()), static_cast<R>(x.imag()));
  else return static_cast<T>(x.real());
}

// A matrix of the reference side.
struct Plain {
  int64_t rows = 0, columns = 0;
  std::vector<Number> data;
  Plain(int64_t m, int64_t n) : rows(m), columns(n), data(static_cast<size_t>(m * n)) {}
  Number& operator()(int64_t i, int64_t j) { return data[static_cast<size_t>(j * rows + i)]; }
  const Number& operator()(int64_t i, int64_t j) const { return data[static_cast<size_t>(j * rows + i)]; }
  Plain part(int64_t m, int64_t n) const {
    Plain out(m, n);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < m; ++i) out(i, j) = (*this)(i, j);
    return out;
  }
  Plain adjoint() const {
    Plain out(columns, rows);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i) out(j, i) = std::conj((*this)(i, j));
    return out;
  }
  static Plain identity(int64_t n) {
    Plain out(n, n);
    for (int64_t i = 0; i < n; ++i) out(i, i) = 1;
    return out;
  }
};
Plain operator*(const Plain& a, const Plain& b) {
  Plain out(a.rows, b.columns);
  for (int64_t j = 0; j < b.columns; ++j)
    for (int64_t k = 0; k < a.columns; ++k)
      for (int64_t i = 0; i < a.rows; ++i) out(i, j) += a(i, k) * b(k, j);
  return out;
}
double distance(const Plain& a, const Plain& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.columns, b.columns);
  double most = 0;
  for (size_t i = 0; i < a.data.size(); ++i) {
    const double d = std::abs(a.data[i] - b.data[i]);
    if (!(d <= most)) most = d;  // NaN stays
  }
  return most;
}
template <class T>
double tolerance(int64_t n) {
  return (sizeof(real_t<T>) == 4 ? 3e-6 : 1e-14) * static_cast<double>(n + 4);
}

// A batch of matrices by columns, on the host and on a device.
template <class T>
struct Columns {
  int64_t batch, rows, columns;
  std::vector<T> host;
  Workspace device;

  Columns(int64_t b, int64_t m, int64_t n)
      : batch(b), rows(m), columns(n), host(static_cast<size_t>(b * m * n), T(0)), device(host.size() * sizeof(T), 0) {}
  T& at(int64_t q, int64_t i, int64_t j) { return host[static_cast<size_t>((q * columns + j) * rows + i)]; }
  Columns& fill(std::mt19937& random) {
    for (T& x : host) {
      auto part = [&] { return static_cast<double>(random() % 2001) / 1000 - 1; };
      const double re = part();
      x = from_number<T>({re, is_complex_v<T> ? part() : 0.0});
    }
    return upload();
  }
  Columns& fill(const std::vector<Plain>& from) {
    for (int64_t q = 0; q < batch; ++q)
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = 0; i < rows; ++i) at(q, i, j) = from_number<T>(from[static_cast<size_t>(q)](i, j));
    return upload();
  }
  Columns& upload() {
    if (!host.empty()) to_device(device.data(), host.data(), host.size() * sizeof(T));
    return *this;
  }
  Columns& download() {
    if (!host.empty()) to_host(host.data(), device.data(), host.size() * sizeof(T));
    return *this;
  }
  T* data() { return device.as<T>(); }
  Plain plain(int64_t q) {
    Plain out(rows, columns);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i) out(i, j) = number(at(q, i, j));
    return out;
  }
  std::vector<Plain> plains() {
    std::vector<Plain> out;
    for (int64_t q = 0; q < batch; ++q) out.push_back(plain(q));
    return out;
  }
};

template <class T>
DecompositionPlan plan_of(Columns<T>& a, Columns<int32_t>* info = nullptr) {
  DecompositionPlan p;
  p.name = "test";
  p.dtype = dtype_of<T>;
  p.batch = a.batch;
  p.m = a.rows;
  p.n = a.columns;
  p.a = a.data();
  p.info = info ? info->data() : nullptr;
  return p;
}
void expect_all_good(Columns<int32_t>& info) {
  info.download();
  for (int32_t i : info.host) EXPECT_EQ(i, 0);
}

template <class T>
struct Decompositions : ::testing::Test {
  std::mt19937 random{7};
};
using Types = ::testing::Types<float, double, Complex<float>, Complex<double>>;
TYPED_TEST_SUITE(Decompositions, Types);

const std::pair<int64_t, int64_t> kShapes[] = {{1, 1}, {2, 1},   {1, 3},   {5, 5},  {7, 3},
                                               {3, 8}, {40, 12}, {17, 40}, {36, 36}};

TYPED_TEST(Decompositions, Qr) {
  NEEDS_SOLVER();
  using T = TypeParam;
  for (const auto& [m, n] : kShapes)
    for (int64_t batch : {1, 3}) {
      const int64_t k = std::min(m, n);
      Columns<T> a(batch, m, n), tau(batch, k, 1), reflectors(batch, m, k), whole(batch, m, m), c(batch, m, 4),
          d(batch, 5, m);
      const std::vector<Plain> before = a.fill(this->random).plains();
      qr(plan_of(a), tau.data());
      const std::vector<Plain> packed = a.download().plains();
      std::vector<Plain> first, square, r;
      for (const Plain& p : packed) {
        first.push_back(p.part(m, k));
        square.push_back(Plain(m, m));
        r.push_back(Plain(k, n));
        for (int64_t j = 0; j < k; ++j)
          for (int64_t i = 0; i < m; ++i) square.back()(i, j) = p(i, j);
        for (int64_t j = 0; j < n; ++j)
          for (int64_t i = 0; i <= std::min(j, k - 1); ++i) r.back()(i, j) = p(i, j);
      }
      const double limit = tolerance<T>(m + n);
      Columns<T> q(batch, m, k);
      q.fill(first);
      form_q(plan_of(q), k, tau.data());
      whole.fill(square);
      form_q(plan_of(whole), k, tau.data());
      q.download();
      whole.download();
      for (int64_t b = 0; b < batch; ++b) {
        const Plain thin = q.plain(b), full = whole.plain(b);
        EXPECT_LE(distance(thin * r[static_cast<size_t>(b)], before[static_cast<size_t>(b)]), limit) << m << " x " << n;
        EXPECT_LE(distance(thin.adjoint() * thin, Plain::identity(k)), limit);
        EXPECT_LE(distance(full.adjoint() * full, Plain::identity(m)), limit);
        EXPECT_LE(distance(full.part(m, k), thin), limit);
      }
      reflectors.fill(first);
      for (bool adjoint : {false, true}) {
        const std::vector<Plain> c_before = c.fill(this->random).plains(), d_before = d.fill(this->random).plains();
        apply_q(plan_of(c), k, reflectors.data(), tau.data(), true, adjoint);
        apply_q(plan_of(d), k, reflectors.data(), tau.data(), false, adjoint);
        c.download();
        d.download();
        for (int64_t b = 0; b < batch; ++b) {
          const Plain factor = adjoint ? whole.plain(b).adjoint() : whole.plain(b);
          EXPECT_LE(distance(factor * c_before[static_cast<size_t>(b)], c.plain(b)), limit);
          EXPECT_LE(distance(d_before[static_cast<size_t>(b)] * factor, d.plain(b)), limit);
        }
      }
    }
}

// Of full rank: the residual of a tall system is orthogonal to A's columns, and its rows below X have the residual's
// length; a wide system is solved exactly, by an X in the space of A's rows.
TYPED_TEST(Decompositions, LeastSquares) {
  NEEDS_SOLVER();
  using T = TypeParam;
  for (const auto& [m, n] : kShapes)
    for (int64_t batch : {1, 3})
      for (int64_t k : {1, 4}) {
        const int64_t rows = std::max(m, n);
        Columns<T> a(batch, m, n), b(batch, rows, k);
        std::vector<Plain> before = a.fill(this->random).plains(), right = b.fill(this->random).plains();
        for (int64_t q = 0; q < batch; ++q) {
          for (int64_t i = 0; i < std::min(m, n); ++i) before[static_cast<size_t>(q)](i, i) += 2 + std::sqrt(m + n);
          for (int64_t j = 0; j < k; ++j)
            for (int64_t i = m; i < rows; ++i) right[static_cast<size_t>(q)](i, j) = 0;
        }
        a.fill(before);
        before = a.plains();
        b.fill(right);
        right = b.plains();
        LeastSquaresParts gives;
        least_squares(plan_of(a, nullptr), k, b.data(), nullptr, 0, nullptr, nullptr, &gives);
        EXPECT_TRUE(gives.residuals && !gives.rank && !gives.singular_values);
        b.download();
        const double limit = 8 * tolerance<T>(m + n);
        for (int64_t q = 0; q < batch; ++q) {
          const Plain &matrix = before[static_cast<size_t>(q)], x = b.plain(q).part(n, k),
                      rhs = right[static_cast<size_t>(q)].part(m, k);
          Plain rest = matrix * x;
          for (size_t i = 0; i < rest.data.size(); ++i) rest.data[i] = rhs.data[i] - rest.data[i];
          EXPECT_LE(distance(matrix.adjoint() * rest, Plain(n, k)), 4 * limit) << m << " x " << n << ", " << k;
          for (int64_t j = 0; j < k; ++j) {
            double length = 0, below = 0;
            for (int64_t i = 0; i < m; ++i) length += std::norm(rest(i, j));
            for (int64_t i = n; i < m; ++i) below += std::norm(number(b.at(q, i, j)));
            EXPECT_NEAR(length, below, limit * (1 + length));
          }
          if (m < n) {
            EXPECT_LE(distance(rest, Plain(m, k)), limit);
            // X = A^H y with A A^H y = B: any other solution differs by a z with A z = 0, which is orthogonal to X.
            Plain gram = matrix * matrix.adjoint();
            Plain y(m, k);  // gram y = rhs by Gauss and Jordan: the matrix is well conditioned
            Plain w = rhs;
            for (int64_t p = 0; p < m; ++p)
              for (int64_t i = 0; i < m; ++i) {
                if (i == p) continue;
                const Number f = gram(i, p) / gram(p, p);
                for (int64_t c = 0; c < m; ++c) gram(i, c) -= f * gram(p, c);
                for (int64_t c = 0; c < k; ++c) w(i, c) -= f * w(p, c);
              }
            for (int64_t i = 0; i < m; ++i)
              for (int64_t c = 0; c < k; ++c) y(i, c) = w(i, c) / gram(i, i);
            EXPECT_LE(distance(matrix.adjoint() * y, x), limit);
          }
        }
      }
}

TEST(LeastSquares, KnowsOneDriver) {
  NEEDS_SOLVER();
  Columns<float> a(1, 2, 2), b(1, 2, 1);
  LeastSquaresParts gives;
  EXPECT_THROW(least_squares(plan_of(a, nullptr), 1, b.data(), "gelsd", 0, nullptr, nullptr, &gives), RuntimeError);
}

TYPED_TEST(Decompositions, SingularValues) {
  NEEDS_SOLVER();
  using T = TypeParam;
  using R = real_t<T>;
  for (const auto& [m, n] : kShapes)
    for (int64_t batch : {1, 3})
      for (const char* driver : {static_cast<const char*>(nullptr), "gesvd", "gesvdj", "gesvda"}) {
        const int64_t k = std::min(m, n);
        Columns<T> a(batch, m, n);
        Columns<int32_t> info(batch, 1, 1);
        Columns<R> s(batch, k, 1), only(batch, k, 1);
        const std::vector<Plain> before = a.fill(this->random).plains();
        svd(plan_of(a, &info), only.data(), nullptr, nullptr, false, driver);
        expect_all_good(info);
        only.download();
        for (bool full : {false, true}) {
          if (full && driver && std::string(driver) == "gesvda" && m != n) continue;
          Columns<T> u(batch, m, full ? m : k), vh(batch, full ? n : k, n);
          a.fill(before);
          svd(plan_of(a, &info), s.data(), u.data(), vh.data(), full, driver);
          expect_all_good(info);
          s.download();
          u.download();
          vh.download();
          const double limit = tolerance<T>(m + n);
          for (int64_t q = 0; q < batch; ++q) {
            Plain scaled = u.plain(q).part(m, k);
            for (int64_t j = 0; j < k; ++j) {
              const double value = static_cast<double>(s.at(q, j, 0));
              for (int64_t i = 0; i < m; ++i) scaled(i, j) *= value;
              EXPECT_GE(value, 0);
              if (j > 0) {
                EXPECT_LE(s.at(q, j, 0), s.at(q, j - 1, 0));
              }
              EXPECT_NEAR(value, static_cast<double>(only.at(q, j, 0)), limit);
            }
            const Plain left = u.plain(q), right = vh.plain(q);
            EXPECT_LE(distance(scaled * right.part(k, n), before[static_cast<size_t>(q)]), limit)
                << m << " x " << n << ", driver " << (driver ? driver : "none") << ", full " << full;
            EXPECT_LE(distance(left.adjoint() * left, Plain::identity(left.columns)), limit);
            EXPECT_LE(distance(right * right.adjoint(), Plain::identity(right.rows)), limit);
          }
        }
      }
}

TYPED_TEST(Decompositions, ApproximateHasNoFullMatrices) {
  NEEDS_SOLVER();
  using T = TypeParam;
  Columns<T> a(1, 4, 3), u(1, 4, 4), vh(1, 3, 3);
  Columns<int32_t> info(1, 1, 1);
  Columns<real_t<T>> s(1, 3, 1);
  a.fill(this->random);
  try {
    svd(plan_of(a, &info), s.data(), u.data(), vh.data(), true, "gesvda");
    FAIL() << "no error";
  } catch (const NotImplementedError& e) {
    EXPECT_STREQ(e.what(),
                 "test: cuSOLVER's gesvda makes no full matrices, with driver='gesvda' full_matrices must be False");
  }
}

// A matrix with NaN or inf is told by its info, or has NaN for results; the others of the batch have their values.
TYPED_TEST(Decompositions, NotFinite) {
  NEEDS_SOLVER();
  using T = TypeParam;
  using R = real_t<T>;
  for (int64_t n : {4, 35}) {
    Columns<T> a(3, n, n), h(3, n, n);
    Columns<int32_t> info(3, 1, 1);
    Columns<R> s(3, n, 1), w(3, n, 1);
    a.fill(this->random);
    a.at(1, 1, 2) = T(std::numeric_limits<R>::quiet_NaN());
    a.at(2, n - 1, 0) = T(-std::numeric_limits<R>::infinity());
    h.host = a.host;
    a.upload();
    svd(plan_of(a, &info), s.data(), nullptr, nullptr, false, nullptr);
    info.download();
    EXPECT_EQ(info.host, (std::vector<int32_t>{0, -1, -1}));
    EXPECT_GT(s.download().at(0, 0, 0), 0);
    // Of Hermitian matrices one triangle is read.
    for (bool upper : {false, true}) {
      Columns<T> v(3, n, n);
      v.host = h.host;
      v.upload();
      eigh(plan_of(v, &info), w.data(), upper, upper);
      expect_all_good(info);
      w.download();
      v.download();
      for (int64_t q = 0; q < 3; ++q)
        for (int64_t i = 0; i < n; ++i) {
          EXPECT_EQ(std::isnan(static_cast<double>(w.at(q, i, 0))), q == (upper ? 1 : 2));
          if (upper) {
            EXPECT_EQ(std::isnan(number(v.at(q, i, i)).real()), q == 1);
          }
        }
    }
  }
}

TYPED_TEST(Decompositions, Hermitian) {
  NEEDS_SOLVER();
  using T = TypeParam;
  using R = real_t<T>;
  for (int64_t n : {1, 2, 9, 40})
    for (int64_t batch : {1, 4})
      for (bool upper : {false, true}) {
        Columns<T> a(batch, n, n);
        Columns<R> w(batch, n, 1), only(batch, n, 1);
        Columns<int32_t> info(batch, 1, 1);
        a.fill(this->random);
        std::vector<Plain> before;
        for (int64_t q = 0; q < batch; ++q) {
          const Plain x = a.plain(q), y = x.adjoint();
          before.push_back(x);
          for (size_t i = 0; i < x.data.size(); ++i) before.back().data[i] = (x.data[i] + y.data[i]) / 2.0;
          for (int64_t j = 0; j < n; ++j)
            for (int64_t i = 0; i < n; ++i)
              a.at(q, i, j) = (upper ? i > j : i < j) ? T(std::numeric_limits<R>::quiet_NaN())
                                                      : from_number<T>(before.back()(i, j));
        }
        a.upload();
        eigh(plan_of(a, &info), w.data(), upper, true);
        expect_all_good(info);
        a.download();
        w.download();
        const double limit = tolerance<T>(2 * n);
        for (int64_t q = 0; q < batch; ++q) {
          const Plain v = a.plain(q);
          Plain scaled = v;
          for (int64_t j = 0; j < n; ++j) {
            for (int64_t i = 0; i < n; ++i) scaled(i, j) *= static_cast<double>(w.at(q, j, 0));
            if (j > 0) {
              EXPECT_GE(w.at(q, j, 0), w.at(q, j - 1, 0));
            }
          }
          EXPECT_LE(distance(before[static_cast<size_t>(q)] * v, scaled), limit) << n;
          EXPECT_LE(distance(v.adjoint() * v, Plain::identity(n)), limit);
        }
        a.fill(before);
        eigh(plan_of(a, &info), only.data(), upper, false);
        expect_all_good(info);
        only.download();
        for (size_t i = 0; i < w.host.size(); ++i) EXPECT_NEAR(only.host[i], w.host[i], limit);
      }
}

TYPED_TEST(Decompositions, General) {
  NEEDS_SOLVER();
  using T = TypeParam;
  using C = Complex<real_t<T>>;
  for (int64_t n : {1, 2, 3, 8, 40})
    for (int64_t batch : {1, 3}) {
      Columns<T> a(batch, n, n);
      Columns<C> w(batch, n, 1), v(batch, n, n), only(batch, n, 1);
      Columns<int32_t> info(batch, 1, 1);
      std::vector<Plain> before = a.fill(this->random).plains();
      if (n == 2 && !is_complex_v<T>) {  // a rotation, which has a pair
        before[0] = Plain(2, 2);
        before[0](0, 1) = -1;
        before[0](1, 0) = 1;
        a.fill(before);
      }
      eig(plan_of(a, &info), w.data(), v.data());
      expect_all_good(info);
      w.download();
      v.download();
      const double limit = 4 * tolerance<T>(2 * n);
      for (int64_t q = 0; q < batch; ++q) {
        const Plain vectors = v.plain(q);
        Plain scaled = vectors;
        for (int64_t j = 0; j < n; ++j) {
          double length = 0;
          for (int64_t i = 0; i < n; ++i) {
            scaled(i, j) *= number(w.at(q, j, 0));
            length += std::norm(vectors(i, j));
          }
          EXPECT_NEAR(length, 1, limit);
        }
        EXPECT_LE(distance(before[static_cast<size_t>(q)] * vectors, scaled), limit) << n;
      }
      a.fill(before);
      eig(plan_of(a, &info), only.data(), nullptr);
      expect_all_good(info);
      only.download();
      for (int64_t q = 0; q < batch; ++q) {  // the same values, but perhaps in another order
        for (int64_t j = 0; j < n; ++j) {
          double nearest = 1e9;
          for (int64_t i = 0; i < n; ++i)
            nearest = std::min(nearest, std::abs(number(only.at(q, j, 0)) - number(w.at(q, i, 0))));
          EXPECT_LE(nearest, 10 * limit);
        }
      }
    }
}

// Symmetric indefinite systems: their pivots come alone and in pairs.
TYPED_TEST(Decompositions, Ldl) {
  NEEDS_SOLVER();
  using T = TypeParam;
  bool pairs = false;
  for (uint64_t order : {0, 5}) {
    set_order(order);
    for (int64_t n : {1, 2, 3, 9, 40, 70})
      for (int64_t batch : {1, 3})
        for (bool hermitian : {false, true})
          for (int64_t k : {1, 5}) {
            Columns<T> a(batch, n, n), b(batch, n, k);
            Columns<int32_t> info(batch, 1, 1), pivots(batch, n, 1);
            std::vector<Plain> before = a.fill(this->random).plains();
            const std::vector<Plain> rhs = b.fill(this->random).plains();
            for (Plain& x : before)
              for (int64_t j = 0; j < n; ++j)
                for (int64_t i = 0; i <= j; ++i) {
                  if (i == j && n > 1) x(i, i) = n % 2 ? x(i, i).real() : 0;  // without a diagonal: nothing but pairs
                  if (i == j && n == 1) x(0, 0) = 2;
                  x(i, j) = hermitian ? std::conj(x(j, i)) : x(j, i);
                }
            a.fill(before);
            for (int64_t q = 0; q < batch; ++q)  // the upper triangle is not read
              for (int64_t j = 0; j < n; ++j)
                for (int64_t i = 0; i < j; ++i) a.at(q, i, j) = T(std::numeric_limits<real_t<T>>::quiet_NaN());
            a.upload();
            ldl_factor(plan_of(a, &info), pivots.data(), hermitian);
            expect_all_good(info);
            for (int32_t p : pivots.download().host) pairs = pairs || p < 0;
            ldl_solve(plan_of(a), k, pivots.data(), b.data(), hermitian);
            b.download();
            for (int64_t q = 0; q < batch; ++q) {
              const Plain x = b.plain(q);
              double largest = 1;
              for (const Number& value : x.data) largest = std::max(largest, std::abs(value));
              EXPECT_LE(distance(before[static_cast<size_t>(q)] * x, rhs[static_cast<size_t>(q)]),
                        10 * largest * tolerance<T>(n))
                  << n << " hermitian " << hermitian;
            }
          }
  }
  set_order(1);
  EXPECT_TRUE(pairs);
}

TEST(DecompositionErrors, PivotsOfLdl) {
  Columns<double> a(2, 3, 3), b(2, 3, 1);
  Columns<int32_t> pivots(2, 3, 1);
  for (int64_t q = 0; q < 2; ++q)
    for (int64_t i = 0; i < 3; ++i) a.at(q, i, i) = 2;
  a.upload();
  for (const std::vector<int32_t>& bad :
       {std::vector<int32_t>{1, 4, 3}, {1, -3, 3}, {0, 2, 3}, {1, 2, -3}, {INT32_MIN, INT32_MIN, 3}}) {
    pivots.host = {1, 2, 3, bad[0], bad[1], bad[2]};
    pivots.upload();
    b.upload();
    try {
      ldl_solve(plan_of(a), 1, pivots.data(), b.data(), false);
      synchronize(0);
      FAIL() << "no error";
    } catch (const RuntimeError& e) {
      EXPECT_EQ(std::string(e.what()).find(
                    "test: pivots must name rows, from 1 on, or their negatives in pairs, but one is "),
                0u)
          << e.what();
    }
  }
}

TEST(DecompositionErrors, EmptyIsNothing) {
  Columns<double> none(0, 3, 3), flat(2, 0, 3);
  Columns<int32_t> info(2, 1, 1);
  qr(plan_of(none), nullptr);
  svd(plan_of(flat, &info), nullptr, nullptr, nullptr, false, nullptr);
  eigh(plan_of(none, &info), nullptr, false, true);
  eig(plan_of(none, &info), nullptr, nullptr);
  ldl_solve(plan_of(none), 1, nullptr, nullptr, false);
}

#if STRIDED_EMULATED
std::string beside(const char* name) {
  const std::string path = ::testing::internal::GetArgvs()[0];
  return path.substr(0, path.rfind('/') + 1) + name;
}
#endif

// Each stream has handles of its own, which work on it.
TEST(DecompositionStreams, TwoStreams) {
  NEEDS_SOLVER();
  std::mt19937 random(3);
  const cudaStream_t streams[] = {pool_stream(0, 0), pool_stream(0, 0)};
  for (int turn = 0; turn < 4; ++turn) {
    set_current_stream(0, streams[turn % 2]);
    Columns<double> a(2, 12, 5), u(2, 12, 5), vh(2, 5, 5), s(2, 5, 1);
    Columns<int32_t> info(2, 1, 1);
    const std::vector<Plain> before = a.fill(random).plains();
    svd(plan_of(a, &info), s.data(), u.data(), vh.data(), false, "gesvd");
    expect_all_good(info);
#if STRIDED_EMULATED
    void* library = dlopen(beside("libcusolver_emulated.so").c_str(), RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(library, nullptr) << dlerror();
    EXPECT_EQ(reinterpret_cast<void* (*)()>(dlsym(library, "emulated_last_stream"))(), streams[turn % 2]);
    dlclose(library);
#endif
    u.download();
    for (int64_t q = 0; q < 2; ++q) EXPECT_LE(distance(u.plain(q).adjoint() * u.plain(q), Plain::identity(5)), 1e-12);
  }
  set_current_stream(0, nullptr);
}

#if STRIDED_EMULATED
// Each in a process of its own, as cuSOLVER is opened once. What was raised is written to stderr.
template <class F>
[[noreturn]] void tell(const char* library, F f) {
  if (*library) setenv("STRIDED_CUSOLVER_LIBRARY", library, 1);
  try {
    f();
    std::fprintf(stderr, "no error");
  } catch (const NotImplementedError& e) {
    std::fprintf(stderr, "NotImplementedError: %s", e.what());
  } catch (const RuntimeError& e) {
    std::fprintf(stderr, "RuntimeError: %s", e.what());
  }
  std::_Exit(0);
}
void decompose() {
  Columns<double> a(1, 3, 3), tau(1, 3, 1);
  qr(plan_of(a), tau.data());
}
TEST(DecompositionErrors, NoSolver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      tell("/nowhere/libcusolver.so.12", decompose), ::testing::ExitedWithCode(0),
      "RuntimeError: test on device 'cuda' needs cuSOLVER of CUDA 13 .libcusolver.so.12., which could not be opened: "
      "/nowhere/libcusolver.so.12: .*Install it by: pip install 'strided.cuda.' .or name the file in "
      "STRIDED_CUSOLVER_LIBRARY.");
  EXPECT_EXIT(tell("libm.so.6", decompose), ::testing::ExitedWithCode(0),
              "RuntimeError: test: libm.so.6 is no cuSOLVER that can be used: it has no cusolverGetProperty");
}
TEST(DecompositionErrors, SolverOfAnotherCuda) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT((setenv("STRIDED_EMULATE_CUSOLVER", "11", 1), tell("", decompose)), ::testing::ExitedWithCode(0),
              "is cuSOLVER 11.0, but this CUDA library was built with CUDA 13 and needs 12.x");
}
TEST(DecompositionErrors, OldSolver) {
  NEEDS_SOLVER();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string old = beside("libcusolver_emulated_old.so");
  EXPECT_EXIT(
      tell(old.c_str(),
           [] {
             Columns<double> a(1, 3, 3);
             Columns<Complex<double>> w(1, 3, 1);
             Columns<int32_t> info(1, 1, 1);
             eig(plan_of(a, &info), w.data(), nullptr);
           }),
      ::testing::ExitedWithCode(0),
      "NotImplementedError: test on device 'cuda': cuSOLVER 12.0 has no eigenvalues of general matrices, the one of CUDA "
      "12.6 Update 2 and later ones do");
  EXPECT_EXIT(
      tell(old.c_str(),
           [] {
             Columns<Complex<float>> a(1, 3, 3);
             Columns<int32_t> info(1, 1, 1), pivots(1, 3, 1);
             ldl_factor(plan_of(a, &info), pivots.data(), true);
           }),
      ::testing::ExitedWithCode(0),
      "NotImplementedError: test on device 'cuda': cuSOLVER 12.0 does not factor complex matrices with hermitian=True");
  // The batched eigenvalues are made one by one.
  EXPECT_EXIT(tell(old.c_str(),
                   [] {
                     std::mt19937 random(1);
                     Columns<double> a(5, 4, 4), w(5, 4, 1);
                     Columns<int32_t> info(5, 1, 1);
                     a.fill(random);
                     eigh(plan_of(a, &info), w.data(), false, true);
                     info.download();
                     for (int32_t i : info.host) STRIDED_CHECK(i == 0, RuntimeError, "info ", i);
                   }),
              ::testing::ExitedWithCode(0), "no error");
}
// What cuSOLVER returns is told with the function's name.
TEST(DecompositionErrors, Status) {
  NEEDS_SOLVER();
  Columns<double> a(1, 3, 2), tau(1, 2, 1);
  DecompositionPlan p = plan_of(a);
  p.a = a.host.data();  // no memory of the device
  try {
    qr(p, tau.data());
    FAIL() << "no error";
  } catch (const RuntimeError& e) {
    EXPECT_STREQ(e.what(), "test: cusolverDnXgeqrf of cuSOLVER returned CUSOLVER_STATUS_INVALID_VALUE");
  }
}
#endif

}  // namespace
}  // namespace cuda
}  // namespace strided
