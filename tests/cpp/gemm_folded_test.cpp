// Products whose second matrix is folded, of every instruction set, against a plain triple loop in long double.
#include <algorithm>
#include <memory>

#include "matrix_test_util.h"

namespace strided {
namespace {

// Offsets: runs of `run` that are `step` apart inside and lie at random.
std::vector<int64_t> offsets(int64_t n, int64_t run, int64_t step, int64_t room, std::mt19937& rng) {
  std::vector<int64_t> at(static_cast<size_t>(n));
  for (int64_t i = 0, first = 0; i < n; ++i) {
    if (i % run == 0) first = static_cast<int64_t>(rng() % static_cast<uint64_t>(room));
    at[static_cast<size_t>(i)] = first + i % run * step;
  }
  return at;
}

template <class T>
class FoldedGemm : public ::testing::Test {};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FoldedGemm, Floats);

TYPED_TEST(FoldedGemm, MatchesTheTripleLoop) {
  using T = TypeParam;
  const int64_t ms[] = {1, 2, 4, 5, 6, 7, 13, 14, 15, 27, 28, 29, 64, 169},
                ns[] = {1, 3, 7, 8, 15, 16, 17, 31, 32, 33, 50, 64, 97};
  const int64_t ks[] = {1, 2, 5, 9, 16, 27, 40, 257, 530}, runs[] = {1, 2, 3, 4, 7, 16, 30, 64},
                steps[] = {1, 1, 2, 3, 0, -1};
  for (const NamedKernels& set : all_kernels()) {
    const FoldedGemmKernel kernel = set.kernels.folded_gemm[index_of(dtype_of<T>)];
    std::mt19937 rng(5);
    auto any = [&](const auto& list) { return list[rng() % std::size(list)]; };
    for (int trial = 0; trial < 400; ++trial) {
      const int64_t m = any(ms), n = any(ns), k = any(ks), batch = 1 + static_cast<int64_t>(rng() % 5);
      const int64_t row_run = any(runs), row_step = any(steps), run = any(runs), step = any(steps);
      const int64_t different = 1 + static_cast<int64_t>(rng() % static_cast<uint64_t>(batch));
      const bool regular = rng() % 2, wide = rng() % 3 == 0, add = rng() % 2;
      SCOPED_TRACE(::testing::Message() << set.isa << " " << m << "x" << n << "x" << k << ", " << batch
                                        << " products; rows " << row_run << "*" << row_step << ", columns " << run
                                        << "*" << step);
      const std::vector<int64_t> rows = offsets(k, row_run, row_step, 100, rng),
                                 columns = offsets(n, run, step, 100, rng);
      const auto [low_r, high_r] = std::minmax_element(rows.begin(), rows.end());
      const auto [low_c, high_c] = std::minmax_element(columns.begin(), columns.end());
      const int64_t origin = -std::min<int64_t>(0, *low_r + *low_c), each = 50;
      // No element more than is used, and NaN in those that are not.
      const int64_t size = origin + *high_r + *high_c + 1 + (batch - 1) * each;
      auto fill = [&](std::vector<T>& v) {
        for (T& x : v) x = static_cast<T>(static_cast<int>(rng() % 201) - 100) / 64;
      };
      std::vector<T> a(static_cast<size_t>(batch * m * k)), b(static_cast<size_t>(size), static_cast<T>(NAN));
      fill(a);
      for (int64_t q = 0; q < batch; ++q)
        for (int64_t r : rows)
          for (int64_t c : columns)
            b[static_cast<size_t>(origin + q * each + r + c)] =
                static_cast<T>(static_cast<int>(rng() % 201) - 100) / 64;
      const int64_t col_step = wide ? 2 : 1, c_row = n * col_step + 3;
      std::vector<T> c(static_cast<size_t>(batch * m * c_row + 8));
      fill(c);
      const std::vector<T> before = c;
      const auto places = std::make_unique<int64_t[][3]>(static_cast<size_t>(batch));
      for (int64_t q = 0; q < batch; ++q) {
        places[q][0] = (regular ? q % different : static_cast<int64_t>(rng() % static_cast<uint64_t>(batch))) * m * k;
        places[q][1] = q * each;
        places[q][2] = q * m * c_row;
      }
      const T alpha = trial % 4 ? 1 : 3, beta = add ? 1 : 0;
      kernel({batch,
              m,
              n,
              k,
              {a.data(), k, 1},
              {c.data(), c_row, col_step},
              b.data() + origin,
              rows.data(),
              columns.data(),
              size - origin,
              places.get(),
              &alpha,
              &beta});
      int64_t wrong = 0;
      for (int64_t q = 0; q < batch; ++q)
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            const auto to = static_cast<size_t>(places[q][2] + i * c_row + j * col_step);
            const T got = c[to];
            c[to] = before[to];
            if (m * n > 400 && rng() % static_cast<uint64_t>(m * n / 400)) continue;  // of a large product some entries
            long double sum = 0, extent = 0;
            for (int64_t p = 0; p < k; ++p) {
              const long double term = static_cast<long double>(a[static_cast<size_t>(places[q][0] + i * k + p)]) *
                                       b[static_cast<size_t>(origin + places[q][1] + rows[static_cast<size_t>(p)] +
                                                             columns[static_cast<size_t>(j)])];
              sum += term;
              extent += std::abs(term);
            }
            sum = alpha * sum + (add ? before[to] : T(0));
            const long double bound = std::numeric_limits<T>::epsilon() * (static_cast<long double>(k) + 4) *
                                      (alpha * extent + std::abs(before[to]) + 1e-30L);
            wrong += !(std::abs(got - sum) <= bound);
          }
      EXPECT_EQ(wrong, 0);
      EXPECT_EQ(std::memcmp(c.data(), before.data(), sizeof(T) * c.size()), 0) << "guards overwritten";
      if (this->HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace strided
