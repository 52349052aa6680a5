// Reductions: every one and every dtype against its struct in a plain loop in double, at the edges of lanes, vectors,
// blocks and parts, over any axes; the same bits in every order of threads.
#include "cuda_test_util.h"

#include "cuda/pointwise/pointwise_run.h"
#include "cuda/reduce/reduce.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

struct Case {
  const char* name;
  int op, outputs;
  DType compute, result[2];
  // n elements stored as `compute`, one after the other
  void (*by_definition)(char* first, char* second, const char* in, int64_t n, double param);
};

template <class T>
struct WideType {
  using type = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> || std::is_same_v<T, float>,
                                  double, std::conditional_t<std::is_same_v<T, Complex<float>>, Complex<double>, T>>;
};

template <class Op, class T>
void by_definition(char* first, [[maybe_unused]] char* second, const char* in, int64_t n, double param) {
  using D = typename WideType<T>::type;
  using S = typename Op::template State<D>;
  S s = Op::template identity<S>();
  for (int64_t i = 0; i < n; ++i) {
    const D v = convert<D>(load<T>(in + i * static_cast<int64_t>(sizeof(T))));
    if constexpr (Op::info.algorithm == ReduceAlgorithm::Index) s = Op::combine(s, Op::template map<S>(v, param, i));
    else s = Op::combine(s, Op::template map<S>(v, param));
  }
  using R = decltype(Op::template finish<T>(std::declval<typename Op::template State<T>>(), int64_t{}, 0.0));
  const R r = convert<R>(Op::template finish<D>(s, n, param));
  std::memcpy(first, &r, sizeof(R));
  if constexpr (Op::info.outputs == 2) {
    using R2 = decltype(Op::template second<T>(std::declval<typename Op::template State<T>>()));
    const R2 r2 = convert<R2>(Op::template second<D>(s));
    std::memcpy(second, &r2, sizeof(R2));
  }
}

template <class Op, class T>
Case case_of() {
  using S = typename Op::template State<T>;
  Case c{Op::info.name, reduction_id<Op>, Op::info.outputs, dtype_of<T>, {}, by_definition<Op, T>};
  c.result[0] = dtype_of<decltype(Op::template finish<T>(std::declval<S>(), int64_t{}, 0.0))>;
  if constexpr (Op::info.outputs == 2) c.result[1] = dtype_of<decltype(Op::template second<T>(std::declval<S>()))>;
  return c;
}

bool near(DType dtype, const char* got, const char* want, double scale) {
  if (is_integral(dtype)) return agrees(dtype, got, want);
  const double epsilon = dtype == DType::Float16                                ? 2e-3
                         : dtype == DType::BFloat16                             ? 2e-2
                         : dtype == DType::Float32 || dtype == DType::Complex64 ? 3e-6
                                                                                : 1e-13;
  auto close = [&](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= epsilon * (scale + std::abs(b));
  };
  Complex<double> a, b;
  convert_value(DType::Complex128, &a, dtype, got);
  convert_value(DType::Complex128, &b, dtype, want);
  return close(a.re, b.re) && close(a.im, b.im);
}

// Reduces `in` over `axes`; the outputs are given back.
std::vector<Array> reduce_array(const Case& c, const Array& in, uint64_t axes, double param = 1) {
  std::vector<int64_t> shape, bytes;
  for (size_t i = 0; i < in.shape.size(); ++i) {
    if (!(axes >> i & 1)) shape.push_back(in.shape[i]);
    bytes.push_back(in.strides[i] * size_of(in.dtype));
  }
  std::vector<Array> out;
  for (int k = 0; k < c.outputs; ++k) out.emplace_back(c.result[k], shape);
  ReducePlan plan;
  plan.name = c.name;
  plan.data = in.data();
  plan.dtype = in.dtype;
  plan.ndim = static_cast<int>(in.shape.size());
  plan.shape = in.shape.data();
  plan.strides = bytes.data();
  plan.axes = axes;
  plan.param = param;
  for (int k = 0; k < c.outputs; ++k) plan.out[k] = out[static_cast<size_t>(k)].data();
  reduce(plan, c.op, c.compute);
  for (Array& a : out) a.download();
  return out;
}

void check(const Case& c, const Array& in, uint64_t axes, const std::string& what) {
  const std::vector<Array> out = reduce_array(c, in, axes);
  // The elements of each output, in row-major order of the reduced axes.
  std::vector<std::vector<char>> rows(static_cast<size_t>(out[0].numel()));
  const int64_t item = size_of(c.compute);
  for (int64_t i = 0; i < in.numel(); ++i) {
    int64_t rest = i, output = 0, step = 1;
    for (size_t k = in.shape.size(); k-- > 0;) {
      if (!(axes >> k & 1)) {
        output += rest % in.shape[k] * step;
        step *= in.shape[k];
      }
      rest /= in.shape[k];
    }
    auto& row = rows[static_cast<size_t>(output)];
    row.resize(row.size() + static_cast<size_t>(item));
    convert_value(c.compute, row.data() + row.size() - static_cast<size_t>(item), in.dtype, in.element(i));
  }
  for (int64_t o = 0; o < out[0].numel(); ++o) {
    alignas(16) char want[2][16];
    const auto& row = rows[static_cast<size_t>(o)];
    c.by_definition(want[0], want[1], row.data(), static_cast<int64_t>(row.size()) / item, 1);
    for (int k = 0; k < c.outputs; ++k)
      ASSERT_TRUE(near(c.result[k], out[static_cast<size_t>(k)].element(o), want[k],
                       1 + static_cast<double>(row.size()) / static_cast<double>(item) / 16))
          << c.name << ' ' << name_of(c.compute) << ' ' << what << ": result " << k << " of output " << o;
  }
}

// Rows and columns of sizes around every limit.
void check_sizes(const Case& c) {
  std::mt19937 random(5);
  const int low = (is_integer(c.compute) && !is_signed(c.compute)) || c.compute == DType::Bool ? 0 : -8;
  struct {
    int64_t outputs, n;
  } const sizes[] = {{1, 1},   {3, 2},   {1, 7},   {300, 3},  {33, 8},   {5, 9},   {17, 33},
                     {4, 255}, {3, 256}, {2, 257}, {1, 2047}, {1, 2049}, {2, 8191}};
  for (const auto& size : sizes) {
    Array rows(c.compute, {size.outputs, size.n}), columns(c.compute, {size.n, size.outputs});
    rows.fill_random(random, low, 9);
    columns.fill_random(random, low, 9);
    const std::string what = std::to_string(size.outputs) + " x " + std::to_string(size.n);
    check(c, rows, 2, "rows " + what);
    check(c, columns, 1, "columns " + what);
    if (::testing::Test::HasFatalFailure()) return;
  }
}
template <class... T>
void check_all() {
  for_each(List<T...>{}, [&](auto type, int) {
    for_each(ReductionOps{}, [&](auto tag, int) {
      using Op = typename decltype(tag)::type;
      using Type = typename decltype(type)::type;
      if constexpr (reduction_supports<Op, Type>) check_sizes(case_of<Op, Type>());
    });
  });
}
TEST(CudaReduce, AllFloats) { check_all<float, double>(); }
TEST(CudaReduce, AllHalves) { check_all<Half, BFloat16>(); }
TEST(CudaReduce, AllComplex) { check_all<Complex<float>, Complex<double>>(); }
TEST(CudaReduce, AllSigned) { check_all<int8_t, int16_t, int32_t, int64_t>(); }
TEST(CudaReduce, AllUnsigned) { check_all<bool, uint8_t, uint16_t, uint32_t, uint64_t>(); }

TEST(CudaReduce, LongRowsAndFewColumns) {
  std::mt19937 random(6);
  for (int64_t n : {65535, 65536, 65537, 300001}) {
    Array row(DType::Float32, {n}), bytes(DType::Int8, {n}), columns(DType::Float32, {n / 40, 40});
    row.fill_random(random);
    bytes.fill_random(random);
    columns.fill_random(random);
    const std::string what = std::to_string(n);
    check(case_of<Sum, float>(), row, 1, what);
    check(case_of<MaxIndex, float>(), row, 1, what);
    check(case_of<Var, float>(), row, 1, what);
    check(case_of<LogSumExp, float>(), row, 1, what);
    check(case_of<Sum, int8_t>(), bytes, 1, what);
    check(case_of<MinIndex, int8_t>(), bytes, 1, what);
    check(case_of<Sum, float>(), columns, 1, "columns " + what);
    check(case_of<MaxIndex, float>(), columns, 1, "columns " + what);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(CudaReduce, AnyAxesAndLayouts) {
  std::mt19937 random(8);
  const Case cases[] = {
      case_of<Sum, float>(), case_of<Mean, double>(), case_of<AMax, int16_t>(),    case_of<Norm2, Complex<float>>(),
      case_of<All, bool>(),  case_of<Prod, Half>(),   case_of<LogSumExp, float>(), case_of<Std, float>()};
  for (int round = 0; round < 400; ++round) {
    std::vector<int64_t> shape;
    for (unsigned d = 1 + random() % 4; d > 0; --d)
      shape.push_back(1 + static_cast<int64_t>(random() % (d == 1 ? 90 : 8)));
    const Case& c = cases[random() % 8];
    const DType stored = random() % 4            ? c.compute
                         : is_complex(c.compute) ? DType::Complex128
                                                 : static_cast<DType>(random() % (index_of(DType::Float64) + 1));
    Array in = random_layout(stored, shape, random, true);
    in.fill_random(random, 0, 6);
    check(c, in, random() % (uint64_t(1) << shape.size()), "round " + std::to_string(round));
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(CudaReduce, FirstOfEqualExtremesAndNan) {
  const float nan = std::nanf("");
  Array in(DType::Float32, {3, 1000});
  for (int64_t i = 0; i < 3000; ++i) in.set<float>(i, static_cast<float>(i % 7 == 3 ? 5 : 0));
  in.set<float>(1600, nan);
  in.set<float>(1234, nan);
  for (int64_t i = 2000; i < 3000; ++i) in.set<float>(i, -INFINITY);
  in.upload();
  auto out = reduce_array(case_of<MaxIndex, float>(), in, 2);
  EXPECT_EQ(out[1].get<int64_t>(0), 3);
  EXPECT_EQ(out[1].get<int64_t>(1), 234);
  EXPECT_TRUE(std::isnan(out[0].get<float>(1)));
  EXPECT_EQ(out[1].get<int64_t>(2), 0);
  out = reduce_array(case_of<MinIndex, float>(), in, 2);
  EXPECT_EQ(out[1].get<int64_t>(0), 0);
  EXPECT_EQ(out[1].get<int64_t>(1), 234);
}

TEST(CudaReduce, NoElements) {
  Array in(DType::Float32, {4, 0});
  for (const Case& c : {case_of<Sum, float>(), case_of<Prod, float>(), case_of<All, float>(), case_of<Mean, float>(),
                        case_of<Var, float>(), case_of<LogSumExp, float>()})
    check(c, in, 2, "no elements");
}

TEST(CudaReduce, MomentsFarFromZero) {
  Array in(DType::Float64, {5000});
  double sum = 0, squares = 0;
  std::mt19937 random(4);
  for (int64_t i = 0; i < 5000; ++i) in.set(i, 1e9 + static_cast<double>(random() % 1000) / 1000);
  in.set(0, 1e9 + 1e4);  // the first one is an outlier
  in.upload();
  for (int64_t i = 0; i < 5000; ++i) sum += in.get<double>(i) - 1e9;
  for (int64_t i = 0; i < 5000; ++i) squares += std::pow(in.get<double>(i) - 1e9 - sum / 5000, 2);
  const auto out = reduce_array(case_of<Var, double>(), in, 1);
  EXPECT_NEAR(out[0].get<double>(0), squares / 4999, 1e-8 * squares / 4999);
  EXPECT_NEAR(out[1].get<double>(0), 1e9 + sum / 5000, 1e-6);
}

#if STRIDED_EMULATED
TEST(CudaReduce, SameBitsInEveryOrderOfThreads) {
  std::mt19937 random(9);
  Array in(DType::Float32, {130001});
  for (int64_t i = 0; i < in.numel(); ++i) in.set<float>(i, static_cast<float>(random()) * 1e-6f);
  in.upload();
  std::vector<float> sums;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    set_order(seed);
    sums.push_back(reduce_array(case_of<Sum, float>(), in, 1)[0].get<float>(0));
  }
  set_order(1);
  for (float s : sums) EXPECT_EQ(s, sums[0]);
}
#endif

}  // namespace
}  // namespace cuda
}  // namespace strided
