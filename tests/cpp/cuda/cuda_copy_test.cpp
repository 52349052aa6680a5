// Copies between all dtypes and layouts, fills, transpositions.
#include "cuda_test_util.h"

#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

void check_copy(const Array& from, Array& to, const std::string& what) {
  to.download();
  dispatch(from.dtype, [&](auto from_tag) {
    dispatch(to.dtype, [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      for (int64_t i = 0; i < to.numel(); ++i)
        ASSERT_TRUE(agrees(to.get<To>(i), convert<To>(from.template get<typename decltype(from_tag)::type>(i))))
            << name_of(from.dtype) << " -> " << name_of(to.dtype) << ' ' << what << " element " << i << " of "
            << to.numel();
    });
  });
}

TEST(CudaCopy, AllPairsOfDtypes) {
  std::mt19937 random(1);
  for (int f = 0; f < kNumDTypes; ++f)
    for (int t = 0; t < kNumDTypes; ++t)
      for (int64_t n : {5, 1024, 4099}) {
        Array from(static_cast<DType>(f), {n}), to(static_cast<DType>(t), {n});
        from.fill_random(random, -300, 300);
        Plan plan("copy_", {&to, &from});
        copy(plan.plan);
        check_copy(from, to, "contiguous");
        ASSERT_FALSE(HasFatalFailure());
      }
}

// Bit for bit, by the hardware's conversions too; of a NaN the sign (Note [Conversions in hardware]).
template <class To, class From>
void check_conversion(DType to_dtype, DType from_dtype, int64_t n, From (*nth)(int64_t)) {
  Array from(from_dtype, {n}), to(to_dtype, {n});
  for (int64_t i = 0; i < n; ++i) from.set<From>(i, nth(i));
  from.upload();
  copy(Plan("copy_", {&to, &from}).plan);
  to.download();
  for (int64_t i = 0; i < n; ++i) {
    const To got = to.get<To>(i), want = To(nth(i));
    const float g = static_cast<float>(got), w = static_cast<float>(want);
    if (std::isnan(w)) ASSERT_TRUE(std::isnan(g) && std::signbit(g) == std::signbit(w)) << i;
    else ASSERT_EQ(std::memcmp(&got, &want, sizeof(To)), 0) << i << ": " << g << " for " << w;
  }
}

TEST(CudaCopy, SixteenBitFloatsConvertAsOnTheHost) {
  auto nth_half = [](int64_t i) {
    Half h;
    h.bits = static_cast<uint16_t>(i);
    return h;
  };
  auto nth_bfloat = [](int64_t i) {
    BFloat16 b;
    b.bits = static_cast<uint16_t>(i);
    return b;
  };
  // Every sign, exponent and upper fraction bit, with the lower bits of ties and of their neighbours.
  auto nth_float = [](int64_t i) {
    const uint32_t low[] = {0, 1, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001};
    return bit_cast<float>((static_cast<uint32_t>(i) >> 3 << 16) | low[i & 7]);
  };
  check_conversion<float, Half>(DType::Float32, DType::Float16, 1 << 16, nth_half);
  check_conversion<float, BFloat16>(DType::Float32, DType::BFloat16, 1 << 16, nth_bfloat);
  check_conversion<Half, float>(DType::Float16, DType::Float32, 1 << 19, nth_float);
  check_conversion<BFloat16, float>(DType::BFloat16, DType::Float32, 1 << 19, nth_float);
}

TEST(CudaCopy, AnyLayout) {
  std::mt19937 random(2);
  for (int round = 0; round < 1000; ++round) {
    std::vector<int64_t> shape;
    for (unsigned d = random() % 5; d > 0; --d) shape.push_back(1 + static_cast<int64_t>(random() % (d == 1 ? 70 : 9)));
    const DType t = static_cast<DType>(random() % kNumDTypes),
                f = random() % 2 ? t : static_cast<DType>(random() % kNumDTypes);
    Array from = random_layout(f, shape, random, true), to = random_layout(t, shape, random, false);
    from.fill_random(random);
    Plan plan("copy_", {&to, &from}, random() % 4 != 0);
    copy(plan.plan);
    check_copy(from, to, "round " + std::to_string(round));
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(CudaCopy, Transpositions) {
  std::mt19937 random(3);
  for (DType t : {DType::UInt8, DType::Float16, DType::Float32, DType::Float64, DType::Complex128})
    for (int64_t rows : {8, 31, 32, 33, 65})
      for (int64_t columns : {8, 32, 45})
        for (int64_t batch : {1, 3}) {
          Array from(t, {batch, rows, columns}, {columns * rows, 1, rows}), to(t, {batch, rows, columns});
          from.fill_random(random);
          Plan plan("contiguous", {&to, &from}, batch == 1);
          copy(plan.plan);
          check_copy(from, to, "transposed");
          ASSERT_FALSE(HasFatalFailure());
        }
}

TEST(CudaCopy, ManyTranspositions) {
  std::mt19937 random(4);
  Array from(DType::Int16, {2500, 9, 8}, {72, 1, 9}), to(DType::Int16, {2500, 9, 8});
  from.fill_random(random);
  copy(Plan("contiguous", {&to, &from}, false).plan);
  check_copy(from, to, "transposed");
}

TEST(CudaCopy, Fill) {
  for (int t = 0; t < kNumDTypes; ++t)
    for (int64_t step : {1, 2}) {
      Array to(static_cast<DType>(t), {3, 37}, {40 * step, step}), want(DType::Float64, {3, 37});
      Plan plan("fill_", {&to, &want});
      plan.immediate(1, int32_t(3));
      for (int64_t i = 0; i < want.numel(); ++i) want.set(i, 3.0);
      copy(plan.plan);
      check_copy(want, to, "fill");
    }
}

TEST(CudaCopy, ClearTriangle) {
  std::mt19937 random(5);
  for (DType t : {DType::Bool, DType::BFloat16, DType::Float32, DType::Complex128})
    for (int64_t diagonal : {-9, -2, 0, 1, 20})
      for (bool below : {true, false})
        for (bool transposed : {true, false}) {
          const int64_t rows = 17, columns = 23;
          Array a(t, {3, rows, columns},
                  transposed ? std::vector<int64_t>{rows * columns, 1, rows}
                             : std::vector<int64_t>{rows * columns, columns, 1});
          a.fill_random(random, 1, 1);
          Array want = a;
          for (int64_t i = 0; i < a.numel(); ++i) {
            const int64_t column = i % columns, row = i / columns % rows;
            if (below ? column - row > diagonal : column - row < diagonal)
              std::memset(want.element(i), 0, static_cast<size_t>(size_of(t)));
          }
          clear_triangle(Plan("tril", {&a}, false).plan, diagonal, below);
          a.download();
          ASSERT_EQ(a.host, want.host) << name_of(t) << " diagonal " << diagonal << (below ? " tril" : " triu");
        }
}

// A byte other than 0 and 1 in memory that was viewed as bool.
TEST(CudaCopy, BoolIsNormalised) {
  for (int64_t n : {3, 64}) {
    Array from(DType::Bool, {n}), to(DType::Bool, {n}), number(DType::Int32, {n});
    for (int64_t i = 0; i < n; ++i) from.set<uint8_t>(i, static_cast<uint8_t>(i * 5));
    from.upload();
    copy(Plan("copy_", {&to, &from}).plan);
    copy(Plan("copy_", {&number, &from}).plan);
    to.download();
    number.download();
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(to.get<uint8_t>(i), i != 0);
      EXPECT_EQ(number.get<int32_t>(i), i != 0);
    }
  }
}

}  // namespace
}  // namespace cuda
}  // namespace strided
