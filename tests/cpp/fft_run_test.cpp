// The CPU's Fourier transforms against sums in long double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "backend/backend.h"
#include "base/parallel.h"

namespace strided {
namespace {

using Wide = std::complex<long double>;
constexpr long double kPi = 3.14159265358979323846264338327950288L;

// Every `step`-th element of the transform.
std::vector<Wide> by_definition(const std::vector<Wide>& x, bool inverse, size_t step) {
  const size_t n = x.size();
  std::vector<Wide> roots(n), y(n);
  for (size_t k = 0; k < n; ++k) {
    const long double angle = 2 * kPi * static_cast<long double>(k) / static_cast<long double>(n);
    roots[k] = {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
  }
  for (size_t k = 0; k < n; k += step) {
    for (size_t j = 0; j < n; ++j) {
      const Wide w = roots[j * k % n];
      y[k] += Wide(x[j].real() * w.real() - x[j].imag() * w.imag(), x[j].real() * w.imag() + x[j].imag() * w.real());
    }
  }
  return y;
}

enum class Side { Rows, Columns };

// Rows of random numbers, their transforms, and the plan for these.
template <class T>
struct Case {
  FftPlan plan;
  int64_t n, rows, in_elements, out_elements, in_parts, out_parts;
  std::vector<T> in, out;
  int64_t shape, in_row, out_row;

  Case(FftPlan::Kind kind, int64_t length, int64_t count, bool inverse, Side from, Side to) : n(length), rows(count) {
    in_elements = kind == FftPlan::ComplexToReal ? n / 2 + 1 : n;
    out_elements = kind == FftPlan::RealToComplex ? n / 2 + 1 : n;
    in_parts = kind == FftPlan::RealToComplex ? 1 : 2;
    out_parts = kind == FftPlan::ComplexToReal ? 1 : 2;
    in.resize(static_cast<size_t>(rows * in_elements * in_parts));
    out.resize(static_cast<size_t>(rows * out_elements * out_parts));
    std::mt19937 generator(static_cast<unsigned>(n));
    std::normal_distribution<T> normal;
    for (T& x : in) x = normal(generator);
    plan.name = "test";
    plan.kind = kind;
    plan.dtype = sizeof(T) == 8 ? DType::Float64 : DType::Float32;
    plan.inverse = inverse;
    plan.n = n;
    plan.scale = 0.5;
    plan.in = reinterpret_cast<const char*>(in.data());
    plan.out = reinterpret_cast<char*>(out.data());
    auto place = [&](Side side, int64_t elements, int64_t parts, int64_t& step, int64_t& row) {
      const int64_t bytes = parts * static_cast<int64_t>(sizeof(T));
      step = side == Side::Rows ? bytes : rows * bytes;
      row = side == Side::Rows ? elements * bytes : bytes;
    };
    place(from, in_elements, in_parts, plan.in_stride, in_row);
    place(to, out_elements, out_parts, plan.out_stride, out_row);
    shape = rows;
    plan.ndim = 1;
    plan.shape = &shape;
    plan.in_strides = &in_row;
    plan.out_strides = &out_row;
  }
  Case(const Case&) = delete;

  static Wide at(const char* data, int64_t parts) {
    const T* x = reinterpret_cast<const T*>(data);
    return {x[0], parts == 2 ? x[1] : T(0)};
  }
  // Long ones are looked at here and there.
  int64_t step() const { return 1 + n / 131; }
  std::vector<Wide> expected(int64_t row) const {
    std::vector<Wide> x(static_cast<size_t>(n));
    for (int64_t j = 0; j < in_elements; ++j)
      x[static_cast<size_t>(j)] = at(plan.in + row * in_row + j * plan.in_stride, in_parts);
    if (plan.kind == FftPlan::ComplexToReal) {
      x[0] = x[0].real();
      if (n % 2 == 0) x[static_cast<size_t>(n / 2)] = x[static_cast<size_t>(n / 2)].real();
      for (int64_t j = 1; 2 * j < n; ++j) x[static_cast<size_t>(n - j)] = std::conj(x[static_cast<size_t>(j)]);
    }
    return by_definition(x, plan.inverse, static_cast<size_t>(step()));
  }
  // The relative error of a row.
  double error(int64_t row) const {
    const std::vector<Wide> y = expected(row);
    long double error = 0, size = 0;
    for (int64_t k = 0; k < out_elements; k += step()) {
      const Wide exact = y[static_cast<size_t>(k)] * static_cast<long double>(plan.scale);
      error += std::norm(at(plan.out + row * out_row + k * plan.out_stride, out_parts) - exact);
      size += std::norm(exact);
    }
    return static_cast<double>(std::sqrt(error / size));
  }
};

template <class T>
void check(int64_t n, int64_t rows, Side from, Side to) {
  for (const FftPlan::Kind kind : {FftPlan::Complex, FftPlan::RealToComplex, FftPlan::ComplexToReal}) {
    for (const bool inverse : {false, true}) {
      Case<T> c(kind, n, rows, inverse, from, to);
      backend(Device()).fft(c.plan);
      for (int64_t row = 0; row < rows; row += std::max<int64_t>(1, rows - 1)) {
        EXPECT_LT(c.error(row), sizeof(T) == 8 ? 8e-16 : 4e-7)
            << "kind " << kind << ", inverse " << inverse << ", length " << n << ", row " << row << " of " << rows;
      }
    }
  }
}

TEST(FftRun, EveryShortLength) {
  for (int64_t n = 1; n <= 130; ++n) {
    check<float>(n, 3, Side::Rows, Side::Rows);
    check<double>(n, 17, Side::Rows, Side::Rows);
  }
}

TEST(FftRun, Layouts) {
  for (const int64_t n : {7, 16, 34, 60, 257}) {
    for (const Side from : {Side::Rows, Side::Columns}) {
      for (const Side to : {Side::Rows, Side::Columns}) {
        check<float>(n, 75, from, to);
        check<double>(n, 5, from, to);
      }
    }
  }
}

// Matrices whose sides are and are not multiples of the lanes, chirps, twiddles of two factors.
TEST(FftRun, LongRows) {
  for (const int64_t n : {512, 729, 1000, 1001, 1021, 1331, 2048, 4096, 2 * 1021, 3 * 1021}) {
    check<float>(n, 1, Side::Rows, Side::Rows);
    check<double>(n, 1, Side::Columns, Side::Rows);
  }
}

// Of one element that is not 0 the transform is a wave, which needs no sum.
TEST(FftRun, AWaveOfAMillion) {
  const int64_t n = 1 << 20, at = 12345;
  Case<float> c(FftPlan::Complex, n, 1, false, Side::Rows, Side::Rows);
  std::fill(c.in.begin(), c.in.end(), 0.0f);
  c.in[2 * at] = 1;
  backend(Device()).fft(c.plan);
  double worst = 0;
  for (int64_t k = 0; k < n; ++k) {
    const long double angle = -2 * kPi * static_cast<long double>(at * k % n) / static_cast<long double>(n);
    const size_t i = static_cast<size_t>(2 * k);
    worst = std::max(worst, static_cast<double>(std::abs(c.out[i] - 0.5L * std::cos(angle))));
    worst = std::max(worst, static_cast<double>(std::abs(c.out[i + 1] - 0.5L * std::sin(angle))));
  }
  EXPECT_LT(worst, 4e-7);
}

TEST(FftRun, InPlace) {
  Case<double> c(FftPlan::Complex, 48, 30, false, Side::Columns, Side::Columns);
  std::vector<double> copy = c.in;
  backend(Device()).fft(c.plan);
  c.plan.in = c.plan.out = reinterpret_cast<char*>(copy.data());
  backend(Device()).fft(c.plan);
  EXPECT_EQ(copy, c.out);
}

TEST(FftRun, ThreadsDoNotDecide) {
  for (const auto& [n, rows] : {std::pair<int64_t, int64_t>{1 << 16, 1}, {300, 100}, {10007, 3}}) {
    Case<float> c(FftPlan::Complex, n, rows, false, Side::Rows, Side::Rows);
    const int threads = num_threads();
    set_num_threads(1);
    backend(Device()).fft(c.plan);
    const std::vector<float> one = c.out;
    set_num_threads(4);
    backend(Device()).fft(c.plan);
    set_num_threads(threads);
    EXPECT_EQ(one, c.out);
  }
}

}  // namespace
}  // namespace strided
