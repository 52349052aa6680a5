// Elementwise kernels: every op and dtype against its struct in a plain loop, every layout for some of them.
#include "cuda_test_util.h"

#include "cuda/pointwise/elementwise.h"
#include "cuda/pointwise/pointwise_run.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

const double kParams[4] = {1, 0.5, 2, 0};

// What an op and a dtype come to, with the types taken out, so that one driver serves all of them.
struct Case {
  const char* name;
  int op, arity;
  DType compute, result;
  void (*by_definition)(char* out, const char* const* in);  // one element, stored as `compute`
};

template <class Op, class T, size_t... K>
void by_definition(char* out, const char* const* in) {
  using C = operand_t<Op, T>;
  using R = op_result_t<Op, T>;
  const C v[] = {static_cast<C>(load<T>(in[K]))...};
  R result;
  if constexpr (Op::info.params[0] != 0) result = R(Op::fwd(v[K]..., kParams));
  else result = R(Op::fwd(v[K]...));
  std::memcpy(out, &result, sizeof(R));
}
template <class Op, class T, size_t... K>
Case case_of(std::index_sequence<K...>) {
  return {Op::info.name, elementwise_id<Op>,           static_cast<int>(sizeof...(K)),
          dtype_of<T>,   dtype_of<op_result_t<Op, T>>, by_definition<Op, T, K...>};
}
template <class Op, class T>
Case case_of() {
  return case_of<Op, T>(std::make_index_sequence<op_arity<Op>>{});
}

// Inputs of other dtypes are converted first.
void check_result(const Case& c, Array& out, const std::vector<Array>& in, const std::string& what) {
  out.download();
  for (int64_t i = 0; i < out.numel(); ++i) {
    alignas(16) char value[4][16], want[16];
    const char* at[4];
    for (size_t k = 0; k < in.size(); ++k) {
      convert_value(c.compute, value[k], in[k].dtype, in[k].element(i));
      at[k] = value[k];
    }
    c.by_definition(want, at);
    ASSERT_TRUE(agrees(c.result, out.element(i), want))
        << c.name << ' ' << name_of(c.compute) << ' ' << what << " element " << i << " of " << out.numel();
  }
}

void check_sizes(const Case& c, std::mt19937& random) {
  for (int64_t n : {1, 7, 256, 515, 2049}) {
    for (int64_t step : {1, 3}) {
      if (step == 3 && n != 515) continue;
      std::vector<Array> in;
      std::vector<const Array*> all(1);
      for (int k = 0; k < c.arity; ++k) {
        in.emplace_back(c.compute, std::vector<int64_t>{n}, std::vector<int64_t>{step});
        in.back().fill_random(random, (is_integer(c.compute) && !is_signed(c.compute)) ? 0 : -8, 9);
      }
      Array out(c.result, {n});
      all[0] = &out;
      for (const Array& a : in) all.push_back(&a);
      Plan plan(c.name, all);
      elementwise(plan.plan, c.op, c.compute, kParams);
      check_result(c, out, in, step == 1 ? "contiguous" : "with steps");
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// For all ops of a dtype: sizes at the edges of items and blocks, contiguous, and a strided one.
template <class T>
void check_all() {
  std::mt19937 random(7);
  for_each(ElementwiseOps{}, [&](auto tag, int) {
    using Op = typename decltype(tag)::type;
    if constexpr (op_supports<Op, T>) check_sizes(case_of<Op, T>(), random);
  });
}

TEST(CudaElementwise, AllOpsFloat) { check_all<float>(); }
TEST(CudaElementwise, AllOpsDouble) { check_all<double>(); }
TEST(CudaElementwise, AllOpsHalf) { check_all<Half>(); }
TEST(CudaElementwise, AllOpsBFloat16) { check_all<BFloat16>(); }
TEST(CudaElementwise, AllOpsComplex) {
  check_all<Complex<float>>();
  check_all<Complex<double>>();
}
TEST(CudaElementwise, AllOpsSigned) {
  check_all<int8_t>();
  check_all<int16_t>();
  check_all<int32_t>();
  check_all<int64_t>();
}
TEST(CudaElementwise, AllOpsUnsigned) {
  check_all<bool>();
  check_all<uint8_t>();
  check_all<uint16_t>();
  check_all<uint32_t>();
  check_all<uint64_t>();
}

// Random shapes and layouts, operands of any dtype, numbers for operands.
void check_layouts(const Case& c, unsigned seed, int rounds) {
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    std::vector<int64_t> shape;
    for (unsigned d = random() % 5; d > 0; --d) shape.push_back(1 + static_cast<int64_t>(random() % (d == 1 ? 40 : 9)));
    if (!shape.empty() && random() % 2) shape.back() = 16 * (1 + static_cast<int64_t>(random() % 3));
    if (round % 16 == 0) shape = {};
    std::vector<Array> in;
    for (int k = 0; k < c.arity; ++k) {
      const DType dtype = random() % 4 ? c.compute : static_cast<DType>(random() % (index_of(DType::Float64) + 1));
      in.push_back(random_layout(dtype, shape, random, true));
      in.back().fill_random(random, 0, 9);
      if (random() % 6 == 0) in.back().strides.assign(shape.size(), 0);
    }
    Array out = random_layout(c.result, shape, random, false);
    std::vector<const Array*> all{&out};
    for (const Array& a : in) all.push_back(&a);
    Plan plan(c.name, all, random() % 4 != 0);
    if (random() % 4 == 0) {
      const int k = 1 + static_cast<int>(random() % static_cast<unsigned>(c.arity));
      plan.immediate(k, 2.0);
      Array& number = in[static_cast<size_t>(k - 1)];
      number = Array(DType::Float64, shape, std::vector<int64_t>(shape.size(), 0));
      number.set(0, 2.0);
    }
    elementwise(plan.plan, c.op, c.compute, kParams);
    check_result(c, out, in, "round " + std::to_string(round));
    if (::testing::Test::HasFatalFailure()) return;
  }
}
TEST(CudaElementwise, AnyLayout) {
  check_layouts(case_of<Neg, float>(), 1, 300);
  check_layouts(case_of<Add, float>(), 2, 300);
  check_layouts(case_of<Lt, float>(), 3, 200);
  check_layouts(case_of<Mul, Half>(), 4, 200);
  check_layouts(case_of<Sub, int8_t>(), 5, 200);
  check_layouts(case_of<BitwiseXor, bool>(), 6, 200);
  check_layouts(case_of<Add, Complex<double>>(), 7, 200);
  check_layouts(case_of<Clamp, double>(), 8, 200);
  check_layouts(case_of<Addcmul, int64_t>(), 9, 200);
  check_layouts(case_of<Logaddexp, BFloat16>(), 10, 100);
}

// A result that is stored in another dtype than the op's.
TEST(CudaElementwise, ResultOfAnotherDtype) {
  Array a(DType::Float32, {3, 5}), b(DType::Float32, {3, 5}), out(DType::Float16, {3, 5}, {1, 3});
  std::mt19937 random(1);
  a.fill_random(random);
  b.fill_random(random);
  Plan plan("add", {&out, &a, &b});
  elementwise(plan.plan, elementwise_id<Add>, DType::Float32, nullptr);
  out.download();
  for (int64_t i = 0; i < 15; ++i) EXPECT_EQ(static_cast<float>(out.get<Half>(i)), a.get<float>(i) + b.get<float>(i));
}

TEST(CudaElementwise, ManyAxes) {
  const std::vector<int64_t> shape(14, 2), strides{3 << 13, 1 << 13, 1 << 12, 1 << 11, 1 << 10, 1 << 9, 1 << 8,
                                                   1 << 7,  1 << 6,  1 << 5,  1 << 4,  1 << 3,  1 << 2, 1};
  Array in(DType::Int32, shape, strides), out(DType::Int32, shape);
  std::mt19937 random(1);
  in.fill_random(random);
  Plan plan("neg", {&out, &in}, false);
  elementwise(plan.plan, elementwise_id<Neg>, DType::Int32, nullptr);
  check_result(case_of<Neg, int32_t>(), out, {in}, "14 axes");
}

TEST(CudaElementwise, LargePlansAreCut) {
  // Only the arithmetic of cutting: nothing of this size is run.
  int64_t shape[] = {100, int64_t(1) << 26}, strides[] = {4, 400};
  LoopPlan plan;
  plan.ndim = 2;
  plan.shape = shape;
  plan.n_operands = 1;
  plan.operand[0] = {nullptr, strides, DType::Float32, false};
  const Cut cut = needs_cut(plan);
  ASSERT_EQ(cut.axis, 1);
  int64_t seen = 0;
  for_parts(plan, cut, [&](const LoopPlan& part) {
    EXPECT_LT(part.numel(), kMaxItems);
    EXPECT_EQ(reinterpret_cast<int64_t>(part.operand[0].data), seen * 400);
    seen += part.shape[1];
  });
  EXPECT_EQ(seen, shape[1]);
  shape[1] = 3;
  strides[1] = int64_t(1) << 33;
  EXPECT_EQ(needs_cut(plan).axis, 1);
  EXPECT_EQ(needs_cut(plan).step, 1);
}

TEST(CudaLoop, DivisionByInvariants) {
  std::mt19937 random(3);
  for (uint32_t d : {1u, 2u, 3u, 5u, 7u, 10u, 255u, 256u, 257u, 641u, 65535u, 65536u, 1000003u, 0x3fffffffu,
                     0x40000000u, 0x7ffffffeu, 0x7fffffffu}) {
    const Divisor by(d);
    for (uint32_t n : {0u, 1u, d - 1, d, d + 1, 2 * d - 1, 0x7fffffffu, 0x7ffffffeu})
      if (n < 0x80000000u) {
        ASSERT_EQ(by.divide(n), n / d) << n << " / " << d;
      }
    for (int i = 0; i < 1000; ++i) {
      const uint32_t n = random() & 0x7fffffffu;
      ASSERT_EQ(by.divide(n), n / d) << n << " / " << d;
    }
  }
}

}  // namespace
}  // namespace cuda
}  // namespace strided
