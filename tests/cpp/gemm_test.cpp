// The matrix products of csrc/cpu against a plain triple loop in long double (modulo 2^64 for the integers).
#include <sys/mman.h>
#include <unistd.h>

#include "matrix_test_util.h"

namespace strided {
namespace {

template <class T>
using ScalarOf = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <class T>
struct Unit {  // spacing of T at 1, and of what sums are accumulated in
  static constexpr double out = 0, sum = 0;
};
template <>
struct Unit<float> {
  static constexpr double out = 1.2e-7, sum = 1.2e-7;
};
template <>
struct Unit<double> {
  static constexpr double out = 2.3e-16, sum = 2.3e-16;
};
template <>
struct Unit<Half> {
  static constexpr double out = 1e-3, sum = 1.2e-7;
};
template <>
struct Unit<BFloat16> {
  static constexpr double out = 8e-3, sum = 1.2e-7;
};

// Compares C with alpha A B + beta C0, and the guard elements with their old values.
template <class T, class R>
void expect_product(const Operand<T>& a, const Operand<T>& b, const Operand<R>& before, Operand<R>& c,
                    ScalarOf<T> alpha, ScalarOf<T> beta, bool ignore_before) {
  const int64_t m = c.rows, n = c.cols, k = a.cols;
  int64_t wrong = 0;
  static std::mt19937 rng(1);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const R got = c.at(i, j);
      c.at(i, j) = before.at(i, j);
      if (m * n > 400 && rng() % (m * n / 400) != 0) continue;  // of a large product some entries
      bool good = true;
      if constexpr (std::is_same_v<T, bool>) {
        bool sum = false;
        for (int64_t p = 0; p < k; ++p) sum |= a.at(i, p) && b.at(p, j);
        good = got == ((alpha && sum) || (!ignore_before && beta && before.at(i, j)));
      } else if constexpr (std::is_integral_v<T>) {
        uint64_t sum = 0;
        for (int64_t p = 0; p < k; ++p) sum += widen(a.at(i, p)) * widen(b.at(p, j));
        sum *= widen(alpha);
        if (!ignore_before) sum += widen(beta) * widen(before.at(i, j));
        good = got == static_cast<T>(sum);
      } else if constexpr (is_complex_v<T>) {
        long double re = 0, im = 0, size = 0;
        auto add = [&](LongComplex x, LongComplex y) {
          re += x.re * y.re - x.im * y.im;
          im += x.re * y.im + x.im * y.re;
          size += std::hypot(x.re, x.im) * std::hypot(y.re, y.im);
        };
        for (int64_t p = 0; p < k; ++p) add(widen(a.at(i, p)), widen(b.at(p, j)));
        const LongComplex sum{re, im};
        re = im = 0;
        add(sum, widen(alpha));
        if (!ignore_before) add(widen(beta), widen(before.at(i, j)));
        const long double bound = Unit<real_t<T>>::sum * (k + 8) * (size + 1e-30L);
        good = std::abs(got.re - re) <= bound && std::abs(got.im - im) <= bound;
      } else {
        long double sum = 0, size = 0;
        for (int64_t p = 0; p < k; ++p) {
          const long double term = widen(a.at(i, p)) * widen(b.at(p, j));
          sum += term;
          size += std::abs(term);
        }
        sum *= alpha;
        size *= std::abs(static_cast<long double>(alpha));
        if (!ignore_before) {
          sum += static_cast<long double>(beta) * widen(before.at(i, j));
          size += std::abs(static_cast<long double>(beta) * widen(before.at(i, j)));
        }
        const long double tiny = std::is_same_v<R, Half> ? 6e-8L : 1e-30L;  // spacing of subnormal numbers
        const long double bound = Unit<R>::out * std::abs(sum) + Unit<T>::sum * (k + 4) * size + tiny;
        good = std::abs(widen(got) - sum) <= bound;
      }
      wrong += !good;
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(std::memcmp(c.buffer.data(), before.buffer.data(), sizeof(c.buffer[0]) * c.buffer.size()), 0)
      << "guards overwritten";
}

// R: what C is made of, T or float.
template <class T, class R = T>
void check(const NamedKernels& set, int64_t m, int64_t n, int64_t k, Order oa, Order ob, Order oc, int scalars,
           std::mt19937& rng) {
  Operand<T> a(m, k, oa, rng), b(k, n, ob, rng);
  Operand<R> c(m, n, oc, rng);
  ScalarOf<T> alpha(1), beta(0);
  if (scalars == 1) beta = ScalarOf<T>(1);
  if (scalars == 2) alpha = ScalarOf<T>(3), beta = ScalarOf<T>(2);
  const Operand<R> before = c;
  if (scalars == 0 && !std::is_integral_v<T>) {  // C is not read
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) c.at(i, j) = R(static_cast<float>(NAN));
    }
  }
  const GemmKernel kernel = std::is_same_v<T, R> ? set.kernels.gemm[index_of(dtype_of<T>)]
                                                 : set.kernels.widened_gemm[std::is_same_v<T, BFloat16>].single;
  kernel(m, n, k, a.matrix(), b.matrix(), c.matrix(), &alpha, &beta);
  expect_product(a, b, before, c, alpha, beta, scalars == 0);
}

template <class T>
class Gemm : public ::testing::Test {};
using AllTypes = ::testing::Types<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, Half,
                                  BFloat16, float, double, Complex<float>, Complex<double>>;
TYPED_TEST_SUITE(Gemm, AllTypes);

TYPED_TEST(Gemm, MatchesTheTripleLoopInAllLayoutsAndSizes) {
  using T = TypeParam;
  const int64_t sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  11, 13, 14,  15,  16, 17,
                           19, 20, 28, 29, 31, 32, 33, 63, 64, 65, 71, 127, 128, 130};
  for (const NamedKernels& set : kernels_of(dtype_of<T>)) {
    std::mt19937 rng(7);
    for (int trial = 0; trial < 200; ++trial) {
      const int64_t limit = trial % 2 == 0 ? 17 : std::size(sizes);  // half of them small
      const int64_t m = sizes[rng() % limit], n = sizes[rng() % limit];
      const int64_t k = trial % 10 == 9 ? 500 + trial % 29 : sizes[rng() % limit];  // several blocks of steps
      const Order oa = kReadable[rng() % 7], ob = kReadable[rng() % 7], oc = kReadable[rng() % kWritable];
      SCOPED_TRACE(::testing::Message() << set.isa << " " << m << "x" << n << "x" << k << " orders " << int(oa)
                                        << int(ob) << int(oc) << " scalars " << trial % 3);
      check<T>(set, m, n, k, oa, ob, oc, trial % 3, rng);
      if (this->HasFailure()) return;
    }
  }
}

TYPED_TEST(Gemm, BlocksOfK) {
  using T = TypeParam;
  for (const NamedKernels& set : kernels_of(dtype_of<T>)) {
    std::mt19937 rng(11);
    // Around one and two blocks of each element size.
    for (int64_t k : {127, 128, 129, 256, 257, 512, 513, 1025, 2049}) {
      SCOPED_TRACE(::testing::Message() << set.isa << " k " << k);
      check<T>(set, 17, 35, k, Order::Rows, Order::Columns, Order::PaddedRows, k % 3, rng);
      check<T>(set, 15, 18, k, Order::Columns, Order::Rows, Order::Columns, (k + 1) % 3, rng);
      if (this->HasFailure()) return;
    }
  }
}

// Around what products of 16- and 8-bit elements keep in registers, read where it lies, and pack at a time.
TYPED_TEST(Gemm, PartsOfLargeProducts) {
  using T = TypeParam;
  const int64_t shapes[][3] = {{40, 600, 2049}, {300, 40, 4160}, {33, 65, 4128},  {129, 300, 1057}, {200, 530, 1056},
                               {2070, 20, 96},  {20, 2070, 96},  {140, 4110, 70}, {130, 135, 8200}, {17, 16, 64}};
  for (const NamedKernels& set : kernels_of(dtype_of<T>)) {
    std::mt19937 rng(41);
    int trial = 0;
    for (const auto& s : shapes) {
      for (const auto& orders : {std::pair(Order::Rows, Order::Rows), std::pair(Order::PaddedRows, Order::Columns),
                                 std::pair(Order::Columns, Order::Spread)}) {
        SCOPED_TRACE(::testing::Message() << set.isa << " " << s[0] << "x" << s[1] << "x" << s[2]);
        const Order oc = trial % 4 == 3 ? Order::Columns : Order::PaddedRows;
        check<T>(set, s[0], s[1], s[2], orders.first, orders.second, oc, trial++ % 3, rng);
        if (this->HasFailure()) return;
      }
    }
  }
}

TYPED_TEST(Gemm, VectorsAndLongSums) {
  using T = TypeParam;
  const int64_t shapes[][3] = {{1, 1, 1},     {1, 1, 20000}, {1, 700, 33},  {700, 1, 33},   {1, 130, 600},
                               {130, 1, 600}, {2, 1, 9000},  {65, 7, 1024}, {100, 5, 1000}, {40, 12, 1030},
                               {1, 2, 17000}, {9, 1, 8200},  {600, 1, 65},  {90, 110, 1},   {1, 600, 5},
                               {1, 70, 259},  {1, 300, 5000}};
  for (const NamedKernels& set : kernels_of(dtype_of<T>)) {
    std::mt19937 rng(13);
    for (const auto& s : shapes) {
      for (Order order : {Order::Rows, Order::Columns, Order::Reversed, Order::RepeatedRow}) {
        SCOPED_TRACE(::testing::Message()
                     << set.isa << " " << s[0] << "x" << s[1] << "x" << s[2] << " order " << int(order));
        check<T>(set, s[0], s[1], s[2], order, order, Order::Rows, 2, rng);
        check<T>(set, s[0], s[1], s[2], order, Order::Spread, Order::Spread, 0, rng);
        if (this->HasFailure()) return;
      }
    }
  }
}

// Operands and result end where memory ends, so that reading or writing behind them would end the process.
TYPED_TEST(Gemm, NothingBehindTheMatricesIsTouched) {
  using T = TypeParam;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), room = 8 * page;
  char* memory[3];
  for (char*& m : memory) {
    m = static_cast<char*>(mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void*>(m), MAP_FAILED);
    ASSERT_EQ(mprotect(m + room, page, PROT_NONE), 0);
  }
  for (const NamedKernels& set : kernels_of(dtype_of<T>)) {
    for (int64_t m : {1, 3, 15, 29}) {
      for (int64_t n : {1, 2, 7, 8, 9, 15, 17, 23, 31, 33, 40}) {
        for (int64_t k : {1, 9, 33}) {
          T* at[3];
          const int64_t sizes[] = {m * k, k * n, m * n};
          for (int i = 0; i < 3; ++i) {
            at[i] = reinterpret_cast<T*>(memory[i] + room) - sizes[i];
            std::fill_n(at[i], sizes[i], T(static_cast<float>(1)));
          }
          const ScalarOf<T> alpha(1), beta(1);
          const GemmKernel kernel = set.kernels.gemm[index_of(dtype_of<T>)];
          kernel(m, n, k, {at[0], k, 1}, {at[1], n, 1}, {at[2], n, 1}, &alpha, &beta);
          const double sum = std::is_same_v<T, bool> ? 1 : static_cast<double>(k + 1);
          for (int64_t i = 0; i < m * n; ++i)
            ASSERT_EQ(at[2][i], T(static_cast<float>(sum))) << set.isa << " " << m << "x" << n << "x" << k;
        }
      }
    }
  }
  for (char* m : memory) munmap(m, room + page);
}

TYPED_TEST(Gemm, EmptyDimensions) {
  using T = TypeParam;
  for (const NamedKernels& set : kernels_of(dtype_of<T>)) {
    std::mt19937 rng(17);
    for (int scalars = 0; scalars < 3; ++scalars) {
      check<T>(set, 0, 5, 4, Order::Rows, Order::Rows, Order::Rows, scalars, rng);
      check<T>(set, 5, 0, 4, Order::Rows, Order::Rows, Order::Rows, scalars, rng);
      check<T>(set, 5, 40, 0, Order::Rows, Order::Rows, Order::Spread, scalars, rng);
    }
  }
}

TYPED_TEST(Gemm, BatchesAreTheSingleProducts) {
  using T = TypeParam;
  const int64_t shapes[][3] = {{1, 1, 1},   {2, 2, 2},   {3, 3, 3},   {4, 4, 4},    {8, 8, 8},
                               {4, 4, 7},   {5, 3, 4},   {8, 8, 8},   {16, 16, 16}, {33, 20, 17},
                               {40, 1, 50}, {30, 1, 20}, {1, 30, 20}, {9, 1, 9},    {1, 7, 30}};
  const int64_t batch = 37;
  for (const NamedKernels& set : kernels_of(dtype_of<T>)) {
    std::mt19937 rng(19);
    const int index = index_of(dtype_of<T>);
    for (const auto& s : shapes) {
      for (int kind = 0; kind < 8; ++kind) {
        const int64_t m = s[0], n = s[1], k = s[2];
        Operand<T> a(batch, m * k, Order::Rows, rng), b(batch, k * n, Order::Rows, rng),
            c(batch, m * n, Order::PaddedRows, rng);
        Operand<T> one = c;
        const bool ta = kind & 1, tb = kind & 2;
        const ScalarOf<T> alpha(1), beta(kind == 3 ? 1 : 0);
        const int64_t apart[3] = {a.rs, kind & 4 ? 0 : b.rs, c.rs};
        const Matrix ma{a.data(), ta ? 1 : k, ta ? m : 1}, mb{b.data(), tb ? 1 : n, tb ? k : 1}, mc{c.data(), n, 1};
        set.kernels.batched_gemm[index](batch, apart, m, n, k, ma, mb, mc, &alpha, &beta);
        for (int64_t i = 0; i < batch; ++i) {
          set.kernels.gemm[index](m, n, k, {a.data() + i * apart[0], ma.row_stride, ma.col_stride},
                                  {b.data() + i * apart[1], mb.row_stride, mb.col_stride},
                                  {one.data() + i * apart[2], n, 1}, &alpha, &beta);
        }
        EXPECT_EQ(std::memcmp(one.buffer.data(), c.buffer.data(), sizeof(c.buffer[0]) * c.buffer.size()), 0)
            << set.isa << " " << m << "x" << n << "x" << k << " kind " << kind;
      }
    }
  }
}

TYPED_TEST(Gemm, SameBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  const int64_t shapes[][3] = {{300, 290, 270}, {80, 70, 1100}, {1, 1500, 300}, {1000, 1, 300}, {2, 1, 50000},
                               {1, 1, 50000},   {700, 900, 1},  {1, 700, 1000}, {300, 1, 5000}};
  const int threads = num_threads();
  for (const NamedKernels& set : kernels_of(dtype_of<T>)) {
    for (const auto& s : shapes) {
      for (Order order : {Order::Rows, Order::Columns}) {
        std::mt19937 rng(23);
        Operand<T> a(s[0], s[2], order, rng), b(s[2], s[1], order, rng), c1(s[0], s[1], Order::Rows, rng);
        Operand<T> c5 = c1;
        const ScalarOf<T> alpha(1), beta(1);
        set_num_threads(1);
        set.kernels.gemm[index_of(dtype_of<T>)](s[0], s[1], s[2], a.matrix(), b.matrix(), c1.matrix(), &alpha, &beta);
        set_num_threads(5);
        set.kernels.gemm[index_of(dtype_of<T>)](s[0], s[1], s[2], a.matrix(), b.matrix(), c5.matrix(), &alpha, &beta);
        EXPECT_EQ(std::memcmp(c1.buffer.data(), c5.buffer.data(), sizeof(c1.buffer[0]) * c1.buffer.size()), 0)
            << set.isa << " " << s[0] << "x" << s[1] << "x" << s[2];
      }
    }
  }
  set_num_threads(threads);
}

template <class T>
class GemmFloat : public ::testing::Test {};
using FloatTypes = ::testing::Types<Half, BFloat16, float, double>;
TYPED_TEST_SUITE(GemmFloat, FloatTypes);

// One infinity and one NaN: exactly the rows and columns they belong to are affected, whatever the path.
TYPED_TEST(GemmFloat, InfinityAndNanStayInTheirRowAndColumn) {
  using T = TypeParam;
  for (const NamedKernels& set : kernels_of(dtype_of<T>)) {
    for (int64_t size : {3, 4, 8, 20, 45, 100}) {
      std::mt19937 rng(29);
      Operand<T> a(size, size, Order::Rows, rng), b(size, size, Order::Rows, rng), c(size, size, Order::Rows, rng);
      for (int64_t i = 0; i < size; ++i) {
        for (int64_t j = 0; j < size; ++j) a.at(i, j) = b.at(i, j) = T(1.f);
      }
      a.at(1, 2) = T(std::numeric_limits<float>::infinity());
      b.at(0, 2) = T(static_cast<float>(NAN));
      const ScalarOf<T> alpha(1), beta(0);
      set.kernels.gemm[index_of(dtype_of<T>)](size, size, size, a.matrix(), b.matrix(), c.matrix(), &alpha, &beta);
      for (int64_t i = 0; i < size; ++i) {
        for (int64_t j = 0; j < size; ++j) {
          const double got = static_cast<double>(c.at(i, j));
          const bool good = j == 2   ? std::isnan(got)
                            : i == 1 ? std::isinf(got) && got > 0
                                     : got == static_cast<double>(size);
          EXPECT_TRUE(good) << set.isa << " size " << size << " at " << i << "," << j << ": " << got;
        }
      }
    }
  }
}

template <class T>
class GemmWidened : public ::testing::Test {};
using HalfTypes = ::testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(GemmWidened, HalfTypes);

// Products of 16-bit floats that are float: none is rounded to 16 bits on its way.
TYPED_TEST(GemmWidened, MatchesTheTripleLoopInAllLayoutsAndSizes) {
  using T = TypeParam;
  const int64_t sizes[] = {1, 2, 3, 5, 6, 7, 8, 9, 13, 15, 16, 17, 28, 31, 32, 33, 65, 71, 130};
  const int64_t shapes[][3] = {{17, 35, 2049}, {40, 600, 1025}, {300, 40, 4160}, {1, 700, 33}, {700, 1, 33},
                               {1, 1, 20000},  {2, 1, 9000},    {5, 40, 0},      {0, 5, 4},    {140, 4110, 70}};
  for (const NamedKernels& set : kernels_of(dtype_of<T>)) {
    std::mt19937 rng(43);
    for (int trial = 0; trial < 210; ++trial) {
      int64_t m = sizes[rng() % std::size(sizes)], n = sizes[rng() % std::size(sizes)],
              k = sizes[rng() % std::size(sizes)];
      if (trial >= 200) m = shapes[trial - 200][0], n = shapes[trial - 200][1], k = shapes[trial - 200][2];
      const Order oa = kReadable[rng() % 7], ob = kReadable[rng() % 7], oc = kReadable[rng() % kWritable];
      SCOPED_TRACE(::testing::Message() << set.isa << " " << m << "x" << n << "x" << k << " orders " << int(oa)
                                        << int(ob) << int(oc) << " scalars " << trial % 3);
      check<T, float>(set, m, n, k, oa, ob, oc, trial % 3, rng);
      if (this->HasFailure()) return;
    }
  }
}

TYPED_TEST(GemmWidened, BatchesAreTheSingleProducts) {
  using T = TypeParam;
  const int64_t shapes[][3] = {{1, 1, 1}, {3, 3, 3}, {4, 4, 7}, {8, 8, 8}, {5, 3, 4}, {33, 20, 17}, {40, 1, 50}};
  const int64_t batch = 19;
  const float alpha = 1, beta = 1;
  for (const NamedKernels& set : kernels_of(dtype_of<T>)) {
    const WidenedGemmKernels products = set.kernels.widened_gemm[std::is_same_v<T, BFloat16>];
    std::mt19937 rng(47);
    for (const auto& [m, n, k] : shapes) {
      Operand<T> a(batch, m * k, Order::Rows, rng), b(batch, k * n, Order::Rows, rng);
      Operand<float> c(batch, m * n, Order::PaddedRows, rng), one = c;
      const int64_t apart[3] = {a.rs, b.rs, c.rs};
      products.batched(batch, apart, m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, {c.data(), n, 1}, &alpha, &beta);
      for (int64_t i = 0; i < batch; ++i)
        products.single(m, n, k, {a.data() + i * apart[0], k, 1}, {b.data() + i * apart[1], n, 1},
                        {one.data() + i * apart[2], n, 1}, &alpha, &beta);
      EXPECT_EQ(std::memcmp(one.buffer.data(), c.buffer.data(), sizeof(c.buffer[0]) * c.buffer.size()), 0)
          << set.isa << " " << m << "x" << n << "x" << k;
    }
  }
}

// The 16-bit types are summed in float over all of k and rounded once.
TEST(GemmHalf, RoundsOnce) {
  for (const NamedKernels& set : kernels_of(DType::Float16)) {
    for (int64_t size : {1, 3, 40}) {
      std::mt19937 rng(31);
      const int64_t k = 4096;
      Operand<Half> a(size, k, Order::Rows, rng), b(k, size, Order::Columns, rng), c(size, size, Order::Rows, rng);
      for (int64_t p = 0; p < k; ++p) {
        for (int64_t i = 0; i < size; ++i) {
          a.at(i, p) = Half(p == 0 ? 2048.f : 1.f);
          b.at(p, i) = Half(p < 1025 ? 1.f : 0.f);
        }
      }
      const float alpha = 1, beta = 0;
      set.kernels.gemm[index_of(DType::Float16)](size, size, k, a.matrix(), b.matrix(), c.matrix(), &alpha, &beta);
      for (int64_t i = 0; i < size; ++i)
        EXPECT_EQ(static_cast<float>(c.at(i, size - 1 - i)), 3072.f) << set.isa << " " << size;
    }
  }
}

}  // namespace
}  // namespace strided
