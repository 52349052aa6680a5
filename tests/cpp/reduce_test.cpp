// Reductions: the structs as scalar functions, the kernels at the edges of their blocks, the tree of the driver.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "base/parallel.h"
#include "cpu/kernels.h"
#include "ops/factory.h"
#include "ops/reduce/reduction.h"

namespace strided {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

template <class Op, class T>
const ReduceKernel& kernel() {
  return kernel_table().reduce[reduction_id<Op>][index_of(dtype_of<T>)];
}

template <class Op, class T>
typename Op::template State<T> by_definition(const T* x, int64_t n, int64_t step) {
  using S = typename Op::template State<T>;
  S s = Op::template identity<S>();
  for (int64_t i = 0; i < n; ++i) {
    const compute_t<T> v = static_cast<compute_t<T>>(x[i * step]);
    if constexpr (Op::info.algorithm == ReduceAlgorithm::Index) s = Op::combine(s, Op::template map<S>(v, 0, i));
    else s = Op::combine(s, Op::template map<S>(v, 0));
  }
  return s;
}

template <class R>
double number(R r) {
  return static_cast<double>(r);
}

// The kernel against the struct itself, for sizes around every block size and for rows, columns, steps and backward
// strides.
template <class Op, class T>
void check(double tolerance) {
  const ReduceKernel& k = kernel<Op, T>();
  ASSERT_NE(k.accumulate, nullptr);
  using S = typename Op::template State<T>;
  using R = decltype(Op::template finish<T>(S(), 1, 0.0));
  std::mt19937 random(1);
  const int64_t size = 1 << 20;
  std::unique_ptr<T[]> memory(new T[size]);  // std::vector<bool> has no memory to point at
  for (int64_t i = 0; i < size; ++i)
    memory[i] = T(static_cast<float>(static_cast<int>(random() % 7) - (std::is_unsigned_v<T> ? 0 : 3)));
  const int64_t keeps[] = {1, 2, 3, 15, 16, 17, 64, 65, 511, 513},
                reds[] = {1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 257, 2047, 2049};
  for (int64_t n_keep : keeps)
    for (int64_t n_red : reds) {
      const int64_t total = n_keep * n_red;
      if (2 * total > size) continue;
      struct {
        int64_t keep, red;
      } const strides[] = {{n_red, 1}, {1, n_keep}, {2 * n_red, 2}, {2, 2 * n_keep}, {0, 1}, {1, 0}, {-n_red, -1}};
      for (const auto& stride : strides) {
        if (stride.keep == 0 && n_keep > 64) continue;
        const T* start = memory.get() + (stride.red < 0 ? total - 1 : 0);
        std::vector<char> acc(static_cast<size_t>(n_keep * k.acc_size));
        std::unique_ptr<R[]> out(new R[static_cast<size_t>(n_keep)]);
        const int64_t item = sizeof(T), out_stride[] = {sizeof(R), 0};
        k.accumulate(acc.data(), reinterpret_cast<const char*>(start), n_keep, stride.keep * item, n_red,
                     stride.red * item, 0, nullptr);
        char* const outs[] = {reinterpret_cast<char*>(out.get()), nullptr};
        k.finish(outs, out_stride, acc.data(), n_keep, n_red, nullptr);
        for (int64_t i : {int64_t(0), n_keep / 2, n_keep - 1}) {
          const S s = by_definition<Op, T>(start + i * stride.keep, n_red, stride.red);
          const double want = number(Op::template finish<T>(s, n_red, 0.0)), got = number(out[static_cast<size_t>(i)]);
          if (std::isnan(want)) ASSERT_TRUE(std::isnan(got));
          else
            ASSERT_NEAR(got, want, tolerance * (1 + std::abs(want)))
                << Op::info.name << ' ' << n_keep << " x " << n_red << " strides " << stride.keep << ' ' << stride.red;
          if constexpr (Op::info.algorithm == ReduceAlgorithm::Index) {
            S mine;
            std::memcpy(&mine, acc.data() + i * k.acc_size, sizeof(S));
            ASSERT_EQ(mine.index, s.index) << Op::info.name << ' ' << n_keep << " x " << n_red;
          }
        }
      }
    }
}

TEST(ReduceKernels, Sum) {
  check<Sum, float>(0);
  check<Sum, int8_t>(0);
  check<Sum, uint16_t>(0);
  check<Sum, int64_t>(0);
  check<Sum, bool>(0);
  check<Sum, Half>(1e-3);
  check<Mean, BFloat16>(1e-2);
  check<NanSum, double>(0);
}
TEST(ReduceKernels, Extremes) {
  check<AMax, float>(0);
  check<AMin, int8_t>(0);
  check<AMax, bool>(0);
  check<AMin, Half>(0);
  check<MaxIndex, float>(0);
  check<MinIndex, double>(0);
  check<MaxIndex, uint8_t>(0);
  check<MinIndex, Half>(0);
  check<MaxIndex, bool>(0);
}
TEST(ReduceKernels, Others) {
  check<Prod, int32_t>(0);
  check<CountNonzero, float>(0);
  check<CountNonzero, BFloat16>(0);
  check<All, uint8_t>(0);
  check<Any, double>(0);
  check<Norm2, float>(1e-6);
  check<NormInf, double>(0);
  check<Var, float>(1e-6);
  check<Std, Half>(1e-3);
  check<LogSumExp, float>(1e-6);
  check<LogSumExp, double>(1e-14);
}

TEST(ReduceStructs, MomentsOfParts) {
  auto of = [](std::vector<double> v) {
    return by_definition<Var, double>(v.data(), static_cast<int64_t>(v.size()), 1);
  };
  const Moments whole = Var::combine(of({1, 2, 3}), of({10, 20}));
  EXPECT_DOUBLE_EQ(whole.mean, 7.2);
  EXPECT_DOUBLE_EQ((Var::finish<double>(whole, 5, 1)), 63.7);
  EXPECT_TRUE(std::isnan((Var::finish<double>(of({}), 0, 0))));
  EXPECT_TRUE(std::isnan((Var::finish<double>(of({3}), 1, 1))));
  EXPECT_DOUBLE_EQ((Var::finish<double>(of({3}), 1, 0)), 0);
}

TEST(ReduceStructs, LogSumExpOfParts) {
  auto of = [](std::vector<double> v) {
    return by_definition<LogSumExp, double>(v.data(), static_cast<int64_t>(v.size()), 1);
  };
  auto value = [](const ScaledSum<double>& s) { return LogSumExp::finish<double>(s, 0, 0); };
  EXPECT_EQ(value(of({})), -inf);
  EXPECT_EQ(value(of({-inf, -inf})), -inf);
  EXPECT_EQ(value(LogSumExp::combine(of({-inf}), of({-1000}))), -1000);
  EXPECT_EQ(value(LogSumExp::combine(of({inf}), of({3}))), inf);
  EXPECT_TRUE(std::isnan(value(LogSumExp::combine(of({3}), of({nan})))));
  EXPECT_NEAR(value(LogSumExp::combine(of({1000}), of({1000}))), 1000 + std::log(2.0), 1e-12);
}

TEST(ReduceStructs, FirstPositionAndNan) {
  const float x[] = {1, 5, 5, 2};
  EXPECT_EQ((by_definition<MaxIndex, float>(x, 4, 1).index), 1);
  const float y[] = {1, static_cast<float>(nan), 5, static_cast<float>(nan)};
  EXPECT_EQ((by_definition<MaxIndex, float>(y, 4, 1).index), 1);
  EXPECT_EQ((by_definition<MinIndex, float>(y, 4, 1).index), 1);
  const uint8_t z[] = {0, 0};  // the lowest value there is must still be found
  EXPECT_EQ((by_definition<MaxIndex, uint8_t>(z, 2, 1).index), 0);
}

// The driver's tree is the one of its note, whatever the number of threads.
TEST(ReduceTree, ChunksInBinaryCounterOrder) {
  const int64_t chunks = 37, n = chunks * kReduceChunk - 5;
  const Tensor x = empty({n}, DType::Float32);
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < n; ++i) x.data_as<float>()[i] = normal(random) * static_cast<float>(1 + i % 1000);
  const ReduceKernel& k = kernel<Sum, float>();
  std::vector<float> stack;
  for (int64_t c = 0; c < chunks; ++c) {
    float part;
    k.accumulate(reinterpret_cast<char*>(&part), x.data() + c * kReduceChunk * 4, 1, 4,
                 std::min(kReduceChunk, n - c * kReduceChunk), 4, 0, nullptr);
    stack.push_back(part);
    for (int64_t m = c; m & 1; m >>= 1) {
      const float top = stack.back();
      stack.pop_back();
      stack.back() += top;
    }
  }
  while (stack.size() > 1) {
    const float top = stack.back();
    stack.pop_back();
    stack.back() += top;
  }
  const int before = num_threads();
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    EXPECT_EQ(*sum(x).data_as<float>(), stack[0]) << threads << " threads";
  }
  set_num_threads(before);
}

TEST(ReduceTable, EveryRowIsFilled) {
  for (int id = 0; id < kNumReductions; ++id)
    for (int t = 0; t < kNumDTypes; ++t)
      EXPECT_EQ(reduction_def(id).supported[t],
                kernel_table().reduce[id][index_of(loop_dtype_of(static_cast<DType>(t)))].accumulate != nullptr)
          << reduction_def(id).info->name;
}

}  // namespace
}  // namespace strided
