// Random numbers against Philox itself and against their laws; ramps against the formula.
#include "cuda_test_util.h"

#include <algorithm>

#include "core/philox.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

RandomFill law(RandomFill::Kind kind, double a = 0, double b = 1) {
  RandomFill what{};
  what.kind = kind;
  what.a = a;
  what.b = b;
  return what;
}
struct Source {
  RandomSource source;
  Source(uint64_t seed, uint64_t offset) : source{nullptr, seed, offset} {}
  operator RandomSource&() { return source; }
};
Array drawn(const RandomFill& what, DType dtype, int64_t n, Source from, uint64_t* used = nullptr) {
  Array out(dtype, {n});
  random_fill({"random", 0}, what, dtype, out.data(), n, from);
  if (used) *used = from.source.used;
  out.download();
  return out;
}
double as_double(const Array& a, int64_t i) {
  double v;
  dispatch(a.dtype, [&](auto tag) { v = convert<double>(a.get<typename decltype(tag)::type>(i)); });
  return v;
}
void expect_moments(const Array& a, double mean, double variance, const std::string& what) {
  double sum = 0, squares = 0;
  const int64_t n = a.numel();
  for (int64_t i = 0; i < n; ++i) sum += as_double(a, i);
  for (int64_t i = 0; i < n; ++i) squares += std::pow(as_double(a, i) - sum / static_cast<double>(n), 2);
  EXPECT_NEAR(sum / static_cast<double>(n), mean,
              6 * std::sqrt(variance / static_cast<double>(n)) + 1e-2 * std::abs(mean))
      << what;
  EXPECT_NEAR(squares / static_cast<double>(n), variance, 0.15 * variance) << what;
}

TEST(CudaRandom, UniformIsPhilox) {
  for (int64_t n : {1, 3, 4, 5, 1023, 1024, 1025}) {
    uint64_t used;
    const Array f = drawn(law(RandomFill::Uniform, 2, 5), DType::Float32, n, {42, 7}, &used);
    EXPECT_EQ(used, static_cast<uint64_t>((n + 3) / 4));
    const Array d = drawn(law(RandomFill::Uniform, 0, 1), DType::Float64, n, {42, 7}, &used);
    EXPECT_EQ(used, static_cast<uint64_t>((n + 1) / 2));
    const Philox philox(42);
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t word = philox(0, 7 + static_cast<uint64_t>(i) / 4).word[i % 4];
      ASSERT_EQ(f.get<float>(i), std::fma(static_cast<float>(word >> 8) * 0x1p-24f, 3.0f, 2.0f));
      const auto block = philox(0, 7 + static_cast<uint64_t>(i) / 2);
      const uint64_t pair = uint64_t{block.word[i % 2 * 2 + 1]} << 32 | block.word[i % 2 * 2];
      ASSERT_EQ(d.get<double>(i), static_cast<double>(pair >> 11) * 0x1p-53);
    }
  }
}

TEST(CudaRandom, OffsetGoesOnWhereTheLastCallStopped) {
  uint64_t used;
  const Array all = drawn(law(RandomFill::Normal), DType::Float32, 64, {1, 0});
  const Array first = drawn(law(RandomFill::Normal), DType::Float32, 24, {1, 0}, &used);
  const Array rest = drawn(law(RandomFill::Normal), DType::Float32, 40, {1, used});
  for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(all.get<float>(i), i < 24 ? first.get<float>(i) : rest.get<float>(i - 24));
}

TEST(CudaRandom, Laws) {
  constexpr int64_t n = 20000;
  for (DType t : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    const std::string name = name_of(t);
    const Array u = drawn(law(RandomFill::Uniform, -1, 3), t, n, {3, 0});
    expect_moments(u, 1, 16.0 / 12, name + " uniform");
    for (int64_t i = 0; i < n; ++i) ASSERT_TRUE(as_double(u, i) >= -1 && as_double(u, i) < 3);
    expect_moments(drawn(law(RandomFill::Normal, 2, 3), t, n, {4, 0}), 2, 9, name + " normal");
    expect_moments(drawn(law(RandomFill::LogNormal, 0, 0.25), t, n, {5, 0}), std::exp(0.03125),
                   (std::exp(0.0625) - 1) * std::exp(0.0625), name + " log normal");
    expect_moments(drawn(law(RandomFill::Exponential, 2), t, n, {6, 0}), 0.5, 0.25, name + " exponential");
    expect_moments(drawn(law(RandomFill::Geometric, 0.3), t, n, {7, 0}), 1 / 0.3, 0.7 / 0.09, name + " geometric");
    const Array cauchy = drawn(law(RandomFill::Cauchy, 1, 2), t, n, {8, 0});
    int64_t inside = 0;
    for (int64_t i = 0; i < n; ++i) inside += std::abs(as_double(cauchy, i) - 1) < 2;
    EXPECT_NEAR(static_cast<double>(inside) / n, 0.5, 0.02) << name;
  }
  expect_moments(drawn(law(RandomFill::Normal), DType::Complex64, n, {9, 0}), 0, 1, "real parts");
  for (DType t : {DType::Bool, DType::Int8, DType::Int64, DType::UInt32, DType::Float32})
    expect_moments(drawn(law(RandomFill::Bernoulli, 0.25), t, n, {10, 0}), 0.25, 0.25 * 0.75,
                   std::string(name_of(t)) + " bernoulli");
}

TEST(CudaRandom, Integers) {
  RandomFill what{};
  what.kind = RandomFill::Integers;
  for (uint64_t range : {uint64_t(1), uint64_t(7), (uint64_t(1) << 28) - 1, uint64_t(1) << 40, uint64_t(0)}) {
    what.base = -5;
    what.range = range;
    const Array a = drawn(what, DType::Int64, 2000, {11, 3});
    std::vector<int> seen(7);
    for (int64_t i = 0; i < 2000; ++i) {
      const uint64_t v = static_cast<uint64_t>(a.get<int64_t>(i)) + 5;
      if (range) {
        ASSERT_LT(v, range);
      }
      if (range == 7) ++seen[v];
    }
    for (int count : seen) EXPECT_NEAR(count, range == 7 ? 2000 / 7.0 : 0, 90);
  }
  const Array e = drawn(law(RandomFill::Everything), DType::Int8, 5000, {12, 0});
  for (int64_t i = 0; i < 5000; ++i) ASSERT_GE(e.get<int8_t>(i), 0);
  expect_moments(e, 63.5, (128.0 * 128 - 1) / 12, "everything");
}

TEST(CudaRandom, ProbabilitiesAndRates) {
  constexpr int64_t n = 9000;
  Array p(DType::Float32, {n}), rate(DType::Float64, {n}), out(DType::Float32, {n}), counts(DType::Float64, {n});
  for (int64_t i = 0; i < n; ++i) {
    p.set<float>(i, i % 3 == 0 ? 0.0f : i % 3 == 1 ? 1.0f : 0.25f);
    rate.set<double>(i, i % 3 == 0 ? 0.0 : i % 3 == 1 ? 2.5 : 40.0);
  }
  p.upload();
  rate.upload();
  random_bernoulli({"bernoulli_", 0}, DType::Float32, out.data(), DType::Float32, p.data(), n, Source(1, 0));
  random_poisson({"poisson", 0}, DType::Float64, counts.data(), rate.data(), n, Source(2, 0));
  out.download();
  counts.download();
  double some = 0, small = 0, large = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (i % 3 == 0) {
      ASSERT_TRUE(out.get<float>(i) == 0 && counts.get<double>(i) == 0);
    } else if (i % 3 == 1) {
      ASSERT_EQ(out.get<float>(i), 1);
      small += counts.get<double>(i);
    } else {
      some += out.get<float>(i);
      large += counts.get<double>(i);
    }
  }
  EXPECT_NEAR(some / 3000, 0.25, 0.04);
  EXPECT_NEAR(small / 3000, 2.5, 0.15);
  EXPECT_NEAR(large / 3000, 40, 0.6);
  synchronize(0);
  p.set<float>(5, 1.5f);
  p.upload();
  random_bernoulli({"bernoulli_", 0}, DType::Float32, out.data(), DType::Float32, p.data(), n, Source(1, 0));
  EXPECT_THROW(synchronize(0), RuntimeError);
  rate.set<double>(5, -1.0);
  rate.upload();
  random_poisson({"poisson", 0}, DType::Float64, counts.data(), rate.data(), n, Source(2, 0));
  EXPECT_THROW(synchronize(0), RuntimeError);
  synchronize(0);
}

TEST(CudaRandom, Permutation) {
  for (int64_t n : {1, 2, 100, 3000}) {
    Array a(DType::Int64, {n}), b(DType::Int64, {n});
    random_permutation({"randperm", 0}, DType::Int64, a.data(), n, Source(1, 0));
    random_permutation({"randperm", 0}, DType::Int64, b.data(), n, Source(1, 1000));
    a.download();
    b.download();
    std::vector<bool> seen(static_cast<size_t>(n));
    int64_t fixed = 0, same = 0;
    for (int64_t i = 0; i < n; ++i) {
      seen[static_cast<size_t>(a.get<int64_t>(i))] = true;
      fixed += a.get<int64_t>(i) == i;
      same += a.get<int64_t>(i) == b.get<int64_t>(i);
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), n);
    if (n >= 100) {
      EXPECT_LT(fixed, 10);
      EXPECT_LT(same, 10);
    }
  }
}

TEST(CudaRandom, Choice) {
  Array weights(DType::Float32, {2, 300}), out(DType::Int64, {2, 4000});
  for (int64_t i = 0; i < 600; ++i) weights.set<float>(i, 0);
  weights.set<float>(3, 1.0f);
  weights.set<float>(290, 3.0f);
  weights.set<float>(300, 5.0f);
  weights.upload();
  WeightsFailure fault;
  random_choice({"multinomial", 0}, DType::Float32, reinterpret_cast<int64_t*>(out.data()), weights.data(), 2, 300,
                4000, Source(5, 0), &fault);
  EXPECT_EQ(fault, WeightsFailure::None);
  out.download();
  int64_t third = 0;
  for (int64_t i = 0; i < 4000; ++i) {
    const int64_t v = out.get<int64_t>(i);
    ASSERT_TRUE(v == 3 || v == 290) << v;
    third += v == 3;
    ASSERT_EQ(out.get<int64_t>(4000 + i), 0);
  }
  EXPECT_NEAR(static_cast<double>(third) / 4000, 0.25, 0.04);
  for (float bad : {-1.0f, INFINITY, std::nanf("")}) {
    weights.set<float>(8, bad);
    weights.upload();
    random_choice({"multinomial", 0}, DType::Float32, reinterpret_cast<int64_t*>(out.data()), weights.data(), 2, 300,
                  10, Source(5, 0), &fault);
    EXPECT_EQ(fault, bad == INFINITY ? WeightsFailure::NotFinite : WeightsFailure::Negative);
  }
  weights.set<float>(8, 0.0f);
  weights.set<float>(300, 0.0f);
  weights.upload();
  random_choice({"multinomial", 0}, DType::Float32, reinterpret_cast<int64_t*>(out.data()), weights.data(), 2, 300, 10,
                Source(5, 0), &fault);
  EXPECT_EQ(fault, WeightsFailure::ZeroSum);
}

TEST(CudaRamp, Ramps) {
  for (DType t : {DType::UInt8, DType::Int16, DType::Int64, DType::UInt64, DType::Float16, DType::BFloat16,
                  DType::Float32, DType::Float64, DType::Complex128})
    for (int64_t n : {2, 5, 255, 257, 1000}) {
      RangeSpec r;
      r.start[0] = r.start[1] = 1;
      r.step = 0.25;
      r.int_start = 1;
      r.int_step = 3;
      r.steps = n;
      r.end[0] = r.end[1] = 5;
      r.int_end = 5;
      r.base = 2;
      const double epsilon = t == DType::Float16    ? 4e-3
                             : t == DType::BFloat16 ? 3e-2
                             : t == DType::Float32  ? 1e-6
                                                    : 1e-14;
      for (RangeKind kind : {RangeKind::Arange, RangeKind::Linspace, RangeKind::Logspace}) {
        if (kind == RangeKind::Arange && is_complex(t)) continue;
        Array out(t, {n});
        cuda::range({"ramp", 0}, kind, t, out.data(), n, r);
        out.download();
        for (int64_t i : {int64_t(0), n / 3, n / 2, n - 1}) {
          const double x = static_cast<double>(i);
          const double even = 1 + 4 * x / static_cast<double>(n - 1);
          double want = kind == RangeKind::Arange     ? (is_integral(t) ? 1 + 3 * x : 1 + 0.25 * x)
                        : kind == RangeKind::Linspace ? even
                                                      : std::pow(2, even);
          if (is_complex(t) && kind == RangeKind::Logspace) want *= std::cos(even * std::log(2));
          if (t == DType::UInt8 && kind == RangeKind::Arange) want = std::fmod(want, 256);
          const double bound = is_integral(t) ? (kind == RangeKind::Logspace ? 1 : 0)
                                              : epsilon * std::abs(want) * (kind == RangeKind::Logspace ? 4 : 1);
          ASSERT_NEAR(as_double(out, i), is_integral(t) ? std::floor(want) : want, bound)
              << name_of(t) << ' ' << n << ' ' << i;
        }
      }
    }
}

}  // namespace
}  // namespace cuda
}  // namespace strided
