// Fourier transforms on the device, against sums in double. Where the device is emulated, cuFFT is too
// (cufft_emulated.cpp), and complains of calls that the real one would refuse or that read what they should not.
#include <cmath>
#include <complex>

#include "cuda/fft/cufft.h"
#include "cuda/runtime/operations.h"
#include "cuda_test_util.h"

namespace strided {
namespace cuda {
namespace {

using Number = std::complex<double>;
constexpr double kPi = 3.14159265358979323846;

DType complex_type(DType real) { return real == DType::Float32 ? DType::Complex64 : DType::Complex128; }

Number number(const Array& a, int64_t i) {
  return dispatch(a.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T x = a.get<T>(i);
    if constexpr (is_complex_v<T>) return Number(static_cast<double>(x.re), static_cast<double>(x.im));
    else return Number(static_cast<double>(static_cast<compute_t<T>>(x)));
  });
}

// Element k of a row by the definition in backend/plans.h.
Number sum(const FftPlan& plan, const Array& in, int64_t row, int64_t k) {
  const int64_t half = plan.n / 2 + 1, elements = plan.kind == FftPlan::ComplexToReal ? half : plan.n;
  Number total = 0;
  for (int64_t j = 0; j < plan.n; ++j) {
    Number x;
    if (j < elements) x = number(in, row * elements + j);
    else x = std::conj(number(in, row * elements + plan.n - j));
    if (plan.kind == FftPlan::ComplexToReal && (j == 0 || 2 * j == plan.n)) x = x.real();
    const double turn =
        (plan.inverse ? 2 : -2) * kPi * static_cast<double>(j * k % plan.n) / static_cast<double>(plan.n);
    total += x * std::polar(1.0, turn);
  }
  return total * plan.scale;
}

void check(const FftPlan& given, const Array& in, Array& out) {
  FftPlan plan = given;
  const size_t axes = in.shape.size() - 1;
  std::vector<int64_t> in_strides, out_strides;
  for (size_t i = 0; i < axes; ++i) {
    in_strides.push_back(in.strides[i] * size_of(in.dtype));
    out_strides.push_back(out.strides[i] * size_of(out.dtype));
  }
  plan.name = "test";
  plan.in = in.data();
  plan.out = out.data();
  plan.in_stride = in.strides[axes] * size_of(in.dtype);
  plan.out_stride = out.strides[axes] * size_of(out.dtype);
  plan.ndim = static_cast<int>(axes);
  plan.shape = in.shape.data();
  plan.in_strides = in_strides.data();
  plan.out_strides = out_strides.data();
  fft(plan);
  synchronize(0);
  out.download();
  const int64_t elements = out.shape[axes];
  const double epsilon = plan.dtype == DType::Float32 ? 1e-5 : 1e-13;
  for (int64_t i = 0; i < out.numel(); ++i) {
    const Number got = number(out, i), want = sum(plan, in, i / elements, i % elements);
    ASSERT_LE(std::abs(got - want), epsilon * static_cast<double>(plan.n))
        << "element " << i << " of kind " << int{plan.kind} << ", n = " << plan.n << ": " << got << " not " << want;
  }
}

TEST(CudaFft, AllKindsInAllLayouts) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 300; ++turn) {
    FftPlan plan;
    plan.kind = static_cast<FftPlan::Kind>(turn % 3);
    plan.dtype = random() % 2 ? DType::Float32 : DType::Float64;
    plan.inverse = random() % 2;
    plan.n = 1 + static_cast<int64_t>(random() % 13);
    plan.scale = random() % 2 ? 1.0 : 0.25;
    const int64_t half = plan.n / 2 + 1;
    std::vector<int64_t> shape;
    for (unsigned i = random() % 4; i > 0; --i) shape.push_back(1 + static_cast<int64_t>(random() % 4));
    std::vector<int64_t> in_shape = shape, out_shape = shape;
    in_shape.push_back(plan.kind == FftPlan::ComplexToReal ? half : plan.n);
    out_shape.push_back(plan.kind == FftPlan::RealToComplex ? half : plan.n);
    Array in = random_layout(plan.kind == FftPlan::RealToComplex ? plan.dtype : complex_type(plan.dtype), in_shape,
                             random, true);
    Array out = random_layout(plan.kind == FftPlan::ComplexToReal ? plan.dtype : complex_type(plan.dtype), out_shape,
                              random, false);
    in.fill_random(random);
    check(plan, in, out);
    if (HasFatalFailure()) return;
  }
}

TEST(CudaFft, InPlace) {
  std::mt19937 random(8);
  for (const bool spread : {false, true}) {
    FftPlan plan;
    plan.dtype = DType::Float64;
    plan.n = 6;
    const std::vector<int64_t> strides = spread ? std::vector<int64_t>{-13, 2} : std::vector<int64_t>{6, 1};
    Array in(DType::Complex128, {3, 6}, strides);
    in.fill_random(random);
    Array out = in;  // the same memory of the device
    check(plan, in, out);
  }
}

TEST(CudaFft, EmptyIsNothing) {
  FftPlan plan;
  const int64_t shape[] = {2, 0}, strides[] = {8, 8};
  plan.name = "test";
  plan.n = 4;
  plan.ndim = 2;
  plan.shape = shape;
  plan.in_strides = plan.out_strides = strides;
  fft(plan);
}

// A failure is told with the function's name.
TEST(CudaFft, Status) {
  EXPECT_THROW(raise_fft_failure("test", "cufftCreate", 2), OutOfMemoryError);
  try {
    raise_fft_failure("test", "cufftXtExec", 9);
  } catch (const RuntimeError& e) {
    EXPECT_STREQ(e.what(), "test: cufftXtExec of cuFFT returned CUFFT_UNALIGNED_DATA");
  }
}

}  // namespace
}  // namespace cuda
}  // namespace strided
