// The generators against published values, and the kernels against one-by-one draws and PyTorch's numbers.
#include "core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "base/parallel.h"
#include "core/philox.h"
#include "cpu/operations.h"
#include "instruction_sets.h"

namespace strided {

namespace {

RandomFill fill_of(RandomFill::Kind kind, double a = 0, double b = 1) {
  RandomFill what{};
  what.kind = kind;
  what.a = a;
  what.b = b;
  return what;
}
RandomFill integers_of(int64_t low, uint64_t range) {
  RandomFill what{};
  what.kind = RandomFill::Integers;
  what.base = low;
  what.range = range;
  return what;
}

const OpContext kHere{"random", -1};
struct Source {
  RandomSource source;
  Source(Generator& g) : source{&g} {}
  operator RandomSource&() { return source; }
};

WeightsFailure choice(DType dtype, int64_t* to, const void* weights, int64_t rows, int64_t categories, int64_t samples,
                      Generator& g) {
  WeightsFailure failure;
  cpu::random_choice(kHere, dtype, to, weights, rows, categories, samples, Source(g), &failure);
  return failure;
}

template <class T>
std::vector<T> draw(const RandomFill& what, int64_t n, Generator& g) {
  std::vector<T> out(static_cast<size_t>(n));
  const GeneratorLock lock(g, n);  // which operations hold, for a whole tensor at a time
  cpu::random_fill(kHere, what, dtype_of<T>, out.data(), n, Source(g));
  return out;
}

// ISO C++ [rand.predef]: the 10000th draw of std::mt19937.
TEST(Mt19937, TenThousandthDraw) {
  Generator g(5489);
  uint32_t last = 0;
  for (int i = 0; i < 10000; ++i) last = g.random();
  EXPECT_EQ(last, 4123659995u);
}

TEST(Mt19937, BulkDrawsAreTheSingleDraws) {
  Generator one(7), bulk(7);
  for (int64_t n : {1, 3, 620, 624, 625, 1, 2000, 623}) {
    std::vector<uint32_t> words(static_cast<size_t>(n));
    bulk.fill_random(words.data(), n);
    for (uint32_t w : words) ASSERT_EQ(w, one.random());
    ASSERT_EQ(one.get_state(), bulk.get_state());
  }
}

TEST(Mt19937, SixtyFourBitsHaveTheFirstDrawOnTop) {
  Generator a(1), b(1);
  const uint64_t high = a.random(), low = a.random();
  EXPECT_EQ(b.random64(), high << 32 | low);
}

TEST(Generator, DefaultSeedIsTorchs) { EXPECT_EQ(Generator().initial_seed(), 67280421310721u); }

TEST(Generator, StateHasTorchsLayout) {
  Generator g(0x123456789abcdefu);
  std::vector<uint8_t> s = g.get_state();
  ASSERT_EQ(s.size(), 5056u);
  auto read64 = [&](size_t at) {
    uint64_t v;
    std::memcpy(&v, &s[at], 8);
    return v;
  };
  EXPECT_EQ(read64(0), 0x123456789abcdefu);     // seed
  EXPECT_EQ(read64(8), uint64_t{1} << 32 | 1);  // left, seeded
  EXPECT_EQ(read64(16), 0u);                    // next
  EXPECT_EQ(read64(24), 0x89abcdefu);           // state[0]: the low half of the seed
  g.random();
  s = g.get_state();
  EXPECT_EQ(read64(8), uint64_t{1} << 32 | 624);
  EXPECT_EQ(read64(16), 1u);
  // A waiting normal value.
  const double first = draw<double>(fill_of(RandomFill::Normal), 1, g)[0];
  s = g.get_state();
  EXPECT_EQ(s[24 + 624 * 8 + 24], 1);
  Generator other;
  other.set_state(s.data(), s.size());
  EXPECT_EQ(draw<double>(fill_of(RandomFill::Normal), 3, g), draw<double>(fill_of(RandomFill::Normal), 3, other));
  EXPECT_EQ(g.get_state(), other.get_state());
  EXPECT_NE(first, 0);
  g.manual_seed(3);
  EXPECT_FALSE(g.next_normal.has_value());
}

TEST(Generator, RejectsWhatIsNoState) {
  Generator g(11);
  const std::vector<uint8_t> good = g.get_state();
  g.random();
  const std::vector<uint8_t> before = g.get_state();
  EXPECT_THROW(g.set_state(good.data(), 5055), RuntimeError);
  auto broken = [&](size_t at, int32_t value) {
    std::vector<uint8_t> bytes = good;
    std::memcpy(&bytes[at], &value, 4);
    EXPECT_THROW(g.set_state(bytes.data(), bytes.size()), RuntimeError) << at << " " << value;
  };
  for (int32_t left : {0, -1, 625}) broken(8, left);
  broken(12, 0);                          // not seeded
  broken(16, 625);                        // next
  std::vector<uint8_t> overrun = before;  // left = 624 words from next = 2 on
  overrun[16] = 2;
  EXPECT_THROW(g.set_state(overrun.data(), overrun.size()), RuntimeError);
  EXPECT_EQ(g.get_state(), before);
}

TEST(Generator, SeedsFromTheSystem) {
  Generator g;
  const uint64_t a = g.seed();
  EXPECT_EQ(g.initial_seed(), a);
  EXPECT_NE(g.seed(), a);
}

// The known answers of the Random123 distribution.
TEST(Philox, KnownAnswers) {
  const auto check = [](uint64_t key, Philox::Block counter, Philox::Block expected) {
    const Philox::Block got = Philox(key)(counter);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(got.word[i], expected.word[i]);
  };
  check(0, {{0, 0, 0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  check(~uint64_t{0}, {{~0u, ~0u, ~0u, ~0u}}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  check(0x299f31d0a4093822u, {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
        {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(Philox, SubsequenceIsTheUpperHalfOfTheCounter) {
  const Philox philox(99);
  const Philox::Block a = philox(0x100000002u, 0x300000004u), b = philox({{4, 3, 2, 1}});
  EXPECT_EQ(std::memcmp(&a, &b, sizeof(a)), 0);
}

// torch.manual_seed(0), and then torch.rand(5), torch.randn(3, dtype=torch.float64), torch.randint(0, 1000, (6,))
// followed by torch.randperm(8)
TEST(RandomFill, NumbersAreTorchs) {
  Generator g(0);
  EXPECT_EQ(draw<float>(fill_of(RandomFill::Uniform), 5, g),
            (std::vector<float>{0x1.fc2abp-2f, 0x1.89545ep-1f, 0x1.6a675p-4f, 0x1.0e66p-3f, 0x1.3acd0cp-2f}));
  g.manual_seed(0);
  EXPECT_EQ(draw<double>(fill_of(RandomFill::Normal), 3, g),
            (std::vector<double>{0x1.8a7eb8902be3ap+0, -0x1.2c78a087c6feap-2, -0x1.16e2920a70ee5p+1}));
  g.manual_seed(0);
  EXPECT_EQ(draw<int64_t>(integers_of(0, 1000), 6, g), (std::vector<int64_t>{44, 239, 933, 760, 963, 379}));
  std::vector<int64_t> order(8);
  cpu::random_permutation(kHere, DType::Int64, order.data(), 8, Source(g));
  EXPECT_EQ(order, (std::vector<int64_t>{3, 4, 0, 6, 5, 7, 2, 1}));
}

// Doubles take two words each, which may stand in different blocks of the state.
TEST(RandomFill, UniformDoubleFromAnyPosition) {
  for (int before : {0, 1, 2, 623, 624, 1247}) {
    Generator a(5), b(5);
    for (int i = 0; i < before; ++i) a.random(), b.random();
    const std::vector<double> got = draw<double>(fill_of(RandomFill::Uniform, -1, 3), 1000, a);
    for (double x : got) {
      const double u = static_cast<double>(b.random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
      ASSERT_EQ(x, std::fma(u, 4.0, -1.0));
    }
    EXPECT_EQ(a.get_state(), b.get_state());
  }
}

TEST(RandomFill, UniformStaysBelowTheEnd) {
  Generator g(3);
  for (BFloat16 x : draw<BFloat16>(fill_of(RandomFill::Uniform), 20000, g)) ASSERT_LT(static_cast<float>(x), 1.0f);
  for (Half x : draw<Half>(fill_of(RandomFill::Uniform, 1, 1.01), 20000, g)) {
    ASSERT_GE(static_cast<float>(x), 1.0f);
    ASSERT_LT(static_cast<float>(x), static_cast<float>(Half(1.01f)));
  }
}

TEST(RandomFill, IntegersAreRemainders) {
  const uint64_t edge = uint64_t{1} << 28;
  for (uint64_t range : std::initializer_list<uint64_t>{1, 2, 10, 65537, edge - 1, edge, edge << 12, ~uint64_t{0}, 0}) {
    Generator a(9), b(9);
    const int64_t low = -17;
    const std::vector<int64_t> got = draw<int64_t>(integers_of(low, range), 70000, a);  // more than one chunk
    for (int64_t x : got) {
      const bool wide = range == 0 || range >= edge;
      const uint64_t bits = wide ? b.random64() : b.random();
      const uint64_t offset = range == 0 ? bits : bits % range;
      ASSERT_EQ(x, static_cast<int64_t>(offset + static_cast<uint64_t>(low))) << range;
    }
    EXPECT_EQ(a.get_state(), b.get_state());
  }
}

TEST(RandomFill, EverythingCoversTheDtype) {
  Generator g(1);
  bool seen[256] = {};
  for (uint8_t x : draw<uint8_t>(fill_of(RandomFill::Everything), 10000, g)) seen[x] = true;
  EXPECT_TRUE(std::all_of(seen, seen + 256, [](bool b) { return b; }));
  for (int8_t x : draw<int8_t>(fill_of(RandomFill::Everything), 1000, g)) ASSERT_GE(x, 0);
  for (float x : draw<float>(fill_of(RandomFill::Everything), 1000, g)) ASSERT_LE(x, 0x1p24f);
  uint64_t all = 0;
  for (uint64_t x : draw<uint64_t>(fill_of(RandomFill::Everything), 100, g)) all |= x;
  EXPECT_EQ(all >> 63, 1u);
}

// Whatever the number of elements, the last block of 16 is drawn anew when 16 does not divide it.
TEST(RandomFill, NormalEndsWithAFreshBlock) {
  for (int64_t n : {16, 17, 31, 32, 100, 70001}) {
    Generator a(2), b(2);
    const std::vector<double> got = draw<double>(fill_of(RandomFill::Normal), n, a);
    std::vector<double> u = draw<double>(fill_of(RandomFill::Uniform), n, b);
    auto check = [&](const double* units, const double* values) {
      for (int j = 0; j < 8; ++j) {
        const double radius = std::sqrt(-2 * std::log(1 - units[j])), angle = 2 * M_PI * units[j + 8];
        ASSERT_NEAR(values[j], radius * std::cos(angle), 1e-14);
        ASSERT_NEAR(values[j + 8], radius * std::sin(angle), 1e-14);
      }
    };
    const int64_t whole = (n % 16 ? n - 16 : n) / 16 * 16;  // blocks the last one leaves alone
    for (int64_t i = 0; i + 16 <= whole; i += 16) check(&u[static_cast<size_t>(i)], &got[static_cast<size_t>(i)]);
    if (n % 16) check(draw<double>(fill_of(RandomFill::Uniform), 16, b).data(), &got[static_cast<size_t>(n - 16)]);
    EXPECT_EQ(a.get_state(), b.get_state());
  }
}

TEST(RandomFill, ThreadsDoNotMatter) {
  const int before = num_threads();
  for (auto kind : {RandomFill::Normal, RandomFill::Exponential, RandomFill::Geometric}) {
    std::vector<std::vector<float>> got;
    for (int threads : {1, 3}) {
      set_num_threads(threads);
      Generator g(4);
      got.push_back(draw<float>(fill_of(kind, 0.25, 1), 200001, g));
    }
    EXPECT_EQ(got[0], got[1]);
  }
  set_num_threads(before);
}

TEST(RandomFill, ManyThreadsShareAGenerator) {
  Generator g(6), sequential(6);
  std::vector<float> parts[4];
  std::vector<std::thread> threads;
  for (auto& part : parts) threads.emplace_back([&] { part = draw<float>(fill_of(RandomFill::Uniform), 10007, g); });
  for (std::thread& t : threads) t.join();
  draw<float>(fill_of(RandomFill::Uniform), 4 * 10007, sequential);
  EXPECT_EQ(g.get_state(), sequential.get_state());
}

TEST(RandomFill, MomentsAndRanges) {
  Generator g(8);
  const int64_t n = 200000;
  const auto moments = [](const std::vector<double>& x) {
    double mean = 0, square = 0;
    for (double v : x) mean += v / static_cast<double>(n), square += v * v / static_cast<double>(n);
    return std::pair<double, double>(mean, std::sqrt(square - mean * mean));
  };
  auto close = [&](RandomFill what, double mean, double deviation) {
    const auto [m, s] = moments(draw<double>(what, n, g));
    EXPECT_NEAR(m, mean, 5 * deviation / std::sqrt(static_cast<double>(n))) << int{what.kind};
    EXPECT_NEAR(s, deviation, 0.02 * deviation) << int{what.kind};
  };
  close(fill_of(RandomFill::Uniform, -1, 1), 0, 1 / std::sqrt(3.0));
  close(fill_of(RandomFill::Normal, 2, 3), 2, 3);
  close(fill_of(RandomFill::NormalPairs, 2, 3), 2, 3);
  close(fill_of(RandomFill::Exponential, 4), 0.25, 0.25);
  close(fill_of(RandomFill::Geometric, 0.2), 5, std::sqrt(20.0));
  close(fill_of(RandomFill::Bernoulli, 0.3), 0.3, std::sqrt(0.21));
  std::vector<double> rate(static_cast<size_t>(n)), out(static_cast<size_t>(n));
  for (double r : {0.5, 9.0, 11.0, 500.0}) {
    std::fill(rate.begin(), rate.end(), r);
    cpu::random_poisson(kHere, DType::Float64, out.data(), rate.data(), n, Source(g));
    const auto [m, s] = moments(out);
    EXPECT_NEAR(m, r, 5 * std::sqrt(r / static_cast<double>(n)));
    EXPECT_NEAR(s, std::sqrt(r), 0.02 * std::sqrt(r));
  }
}

TEST(RandomFill, NothingIsDrawnForNoElements) {
  Generator g(1);
  const std::vector<uint8_t> before = g.get_state();
  for (int k = 0; k <= RandomFill::Everything; ++k)
    cpu::random_fill(kHere, fill_of(static_cast<RandomFill::Kind>(k)), DType::Float32, nullptr, 0, Source(g));
  cpu::random_permutation(kHere, DType::Int64, nullptr, 0, Source(g));
  EXPECT_EQ(g.get_state(), before);
}

TEST(RandomFill, BadParametersDrawNothing) {
  Generator g(1);
  const std::vector<uint8_t> before = g.get_state();
  double p[] = {0.5, 1.5}, out[2] = {7, 7};
  EXPECT_THROW(cpu::random_bernoulli(kHere, DType::Float64, out, DType::Float64, p, 2, Source(g)), RuntimeError);
  p[1] = NAN;
  EXPECT_THROW(cpu::random_bernoulli(kHere, DType::Float64, out, DType::Float64, p, 2, Source(g)), RuntimeError);
  EXPECT_THROW(cpu::random_poisson(kHere, DType::Float64, out, p, 2, Source(g)), RuntimeError);
  int64_t chosen[1];
  EXPECT_EQ(choice(DType::Float64, chosen, p, 1, 2, 1, g), WeightsFailure::Negative);
  p[1] = HUGE_VAL;
  EXPECT_EQ(choice(DType::Float64, chosen, p, 1, 2, 1, g), WeightsFailure::NotFinite);
  p[0] = p[1] = 0;
  EXPECT_EQ(choice(DType::Float64, chosen, p, 1, 2, 1, g), WeightsFailure::ZeroSum);
  EXPECT_EQ(out[0], 7);
  EXPECT_EQ(g.get_state(), before);
}

TEST(RandomChoice, NeverTakesAWeightOfZero) {
  Generator g(12);
  const float weights[] = {0, 1, 0, 3, 0};
  std::vector<int64_t> out(40000);
  ASSERT_EQ(choice(DType::Float32, out.data(), weights, 1, 5, 40000, g), WeightsFailure::None);
  int64_t count[5] = {};
  for (int64_t i : out) ++count[i];
  EXPECT_EQ(count[0] + count[2] + count[4], 0);
  EXPECT_NEAR(static_cast<double>(count[1]) / 40000, 0.25, 0.02);
}

TEST(RandomPermutation, HoldsEveryNumberOnce) {
  Generator g(13);
  std::vector<int32_t> out(1000);
  cpu::random_permutation(kHere, DType::Int32, out.data(), 1000, Source(g));
  std::vector<bool> seen(1000);
  for (int32_t i : out) seen[static_cast<size_t>(i)] = true;
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](bool b) { return b; }));
  EXPECT_NE(out[0], 0);
}

// Each instruction set: the same uniform numbers to the last bit, normal ones to a few units in the last place.
TEST(RandomLoops, InstructionSetsAgree) {
  Generator g(21);
  std::vector<uint32_t> words(1247);
  for (uint32_t& w : words) w = g.random();
  std::vector<RandomLoops> all;
  for (const NamedKernels& set : all_kernels()) all.push_back(set.kernels.random);
  std::vector<std::vector<float>> f;
  std::vector<std::vector<double>> d;
  for (const RandomLoops& loops : all) {
    f.emplace_back(1247);
    loops.uniform_float(f.back().data(), words.data(), 1247, 0.1f, 7.3f, 7.4f);
    d.emplace_back(623);
    loops.uniform_double(d.back().data(), words.data(), 623, 0.1, 7.3, 7.4);
    EXPECT_EQ(f.back(), f.front());
    EXPECT_EQ(d.back(), d.front());
  }
  for (size_t k = 0; k < all.size(); ++k) {
    all[k].uniform_float(f[k].data(), words.data(), 1247, 0, 1, 1);
    all[k].uniform_double(d[k].data(), words.data(), 623, 0, 1, 1);
  }
  const std::vector<float> unit_f = f.front();
  const std::vector<double> unit_d = d.front();
  for (size_t k = 0; k < all.size(); ++k) {
    EXPECT_EQ(f[k], unit_f);
    EXPECT_EQ(d[k], unit_d);
    all[k].box_muller_float(f[k].data(), 77, 0, 1);  // not a multiple of what is done at once
    all[k].box_muller_double(d[k].data(), 38, 0, 1);
    for (int block = 0; block < 77; ++block) {
      for (int j = 16 * block; j < 16 * block + 8; ++j) {
        const float u = 1 - unit_f[j], angle = 6.283185307f * unit_f[j + 8];
        const double radius = std::sqrt(-2 * std::log(static_cast<double>(u)));
        const double c = radius * std::cos(double{angle}), s = radius * std::sin(double{angle});
        ASSERT_NEAR(f[k][j], c, 3e-7 * std::fabs(c)) << u << " " << angle;
        ASSERT_NEAR(f[k][j + 8], s, 3e-7 * std::fabs(s)) << u << " " << angle;
      }
    }
    for (int block = 0; block < 38; ++block) {
      for (int j = 16 * block; j < 16 * block + 8; ++j) {
        const double u = 1 - unit_d[j], angle = 2 * M_PI * unit_d[j + 8], radius = std::sqrt(-2 * std::log(u));
        const double c = radius * std::cos(angle), s = radius * std::sin(angle);
        ASSERT_NEAR(d[k][j], c, 7e-16 * std::fabs(c)) << u << " " << angle;
        ASSERT_NEAR(d[k][j + 8], s, 7e-16 * std::fabs(s)) << u << " " << angle;
      }
    }
  }
}

// The angle close to every multiple of pi/2, where its sine or cosine is all rounding error of the reduction: PyTorch's
// numbers, which the loops give, are right to an error of the radius there.
TEST(RandomLoops, AnglesNextToMultiplesOfHalfPi) {
  for (const NamedKernels& set : all_kernels()) {
    const RandomLoops& loops = set.kernels.random;
    for (int quarter = 0; quarter <= 4; ++quarter) {
      float data[16], turns[8];
      for (int j = 0; j < 8; ++j) {
        const float turn = static_cast<float>(quarter) / 4 + static_cast<float>(j - 4) * 0x1p-24f;
        turns[j] = std::fmax(std::fmin(turn, 1 - 0x1p-24f), 0.0f);
        data[j] = 0.5f;
        data[j + 8] = turns[j];
      }
      loops.box_muller_float(data, 1, 0, 1);
      const double radius = std::sqrt(-2 * std::log(0.5));
      for (int j = 0; j < 8; ++j) {
        const double angle = static_cast<double>(6.283185307f * turns[j]);
        const double c = radius * std::cos(angle), s = radius * std::sin(angle);
        EXPECT_NEAR(data[j], c, 2e-7 * radius) << turns[j];
        EXPECT_NEAR(data[j + 8], s, 2e-7 * radius) << turns[j];
      }
    }
  }
}

}  // namespace
}  // namespace strided
