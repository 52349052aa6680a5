// A scan is a chain of dependent steps, so that wider vectors help only across rows; one build serves all machines.
#include "cpu/scan.h"

#include "base/math.h"
#include "base/parallel.h"
#include "ops/kernels.h"

namespace strided {
namespace {

constexpr int64_t kRows = 256;  // rows side by side
constexpr int64_t kLongWork = 16384;  // elements that take long enough to let other threads of the interpreter run

// Floats are added and multiplied in double, the 16-bit ones in float, integers modulo 2^64.
template <class T>
struct Wider {
  using type = compute_t<T>;
};
template <>
struct Wider<float> {
  using type = double;
};
template <>
struct Wider<Complex<float>> {
  using type = Complex<double>;
};
template <>
struct Wider<int64_t> {
  using type = uint64_t;
};

struct RunningSum {
  template <class A>
  static A start() { return A(0); }
  template <class A>
  static A step(A a, A x) { return a + x; }
};
struct RunningProduct {
  template <class A>
  static A start() { return A(1); }
  template <class A>
  static A step(A a, A x) { return a * x; }
};
// log(exp(a) + exp(x))
struct RunningLogSum {
  template <class A>
  static A start() { return -math::infinity<A>(); }
  template <class A>
  static A step(A a, A x) {
    const A high = a != a || a > x ? a : x, low = a != a || a > x ? x : a;
    if (math::isinf(high) && (high < 0 || low == low)) return high == low || high > 0 ? high : low;
    return high + math::log1p(math::exp(low - high));
  }
};

template <class Op, class T>
void scan(char* const* out, const int64_t* out_stride, const int64_t* out_row_stride, const char* in, int64_t in_stride, int64_t in_row_stride,
          int64_t n, int64_t rows) {
  using A = typename Wider<T>::type;
  const Unlocked unlocked(n * rows > kLongWork);
  const bool side_by_side = rows > 1 && in_row_stride == sizeof(T) && out_row_stride[0] == sizeof(T);
  if (side_by_side) {
    A acc[kRows];
    for (int64_t r0 = 0; r0 < rows; r0 += kRows) {
      const int64_t m = rows - r0 < kRows ? rows - r0 : kRows;
      for (int64_t r = 0; r < m; ++r) acc[r] = Op::template start<A>();
      for (int64_t i = 0; i < n; ++i) {
        const T* x = reinterpret_cast<const T*>(in + i * in_stride) + r0;
        T* y = reinterpret_cast<T*>(out[0] + i * out_stride[0]) + r0;
#pragma GCC ivdep
        for (int64_t r = 0; r < m; ++r) {
          acc[r] = Op::step(acc[r], static_cast<A>(x[r]));
          y[r] = static_cast<T>(acc[r]);
        }
      }
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const char* x = in + r * in_row_stride;
    char* y = out[0] + r * out_row_stride[0];
    A acc = Op::template start<A>();
    for (int64_t i = 0; i < n; ++i) {
      acc = Op::step(acc, static_cast<A>(*reinterpret_cast<const T*>(x + i * in_stride)));
      *reinterpret_cast<T*>(y + i * out_stride[0]) = static_cast<T>(acc);
    }
  }
}

// Is x at least as good as the best so far? Among equals the last counts; NaN wins over all.
struct Highest {
  template <class A>
  static bool takes(A x, A best) { return x >= best; }
};
struct Lowest {
  template <class A>
  static bool takes(A x, A best) { return x <= best; }
};
template <class Op, class T>
void scan_extreme(char* const* out, const int64_t* out_stride, const int64_t* out_row_stride, const char* in, int64_t in_stride,
                  int64_t in_row_stride, int64_t n, int64_t rows) {
  using A = std::conditional_t<std::is_same_v<T, bool>, uint8_t, compute_t<T>>;
  using M = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;  // a byte viewed as bool may hold anything
  const Unlocked unlocked(n * rows > kLongWork);
  A best[kRows];
  int64_t index[kRows];
  for (int64_t r0 = 0; r0 < rows; r0 += kRows) {
    const int64_t m = in_row_stride == sizeof(T) ? (rows - r0 < kRows ? rows - r0 : kRows) : 1;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t r = 0; r < m; ++r) {
        A x = static_cast<A>(*reinterpret_cast<const M*>(in + (r0 + r) * in_row_stride + i * in_stride));
        if constexpr (std::is_same_v<T, bool>) x = x != 0;
        if (i == 0 || x != x || (best[r] == best[r] && Op::takes(x, best[r]))) {
          best[r] = x;
          index[r] = i;
        }
        *reinterpret_cast<T*>(out[0] + (r0 + r) * out_row_stride[0] + i * out_stride[0]) = T(best[r]);
        *reinterpret_cast<int64_t*>(out[1] + (r0 + r) * out_row_stride[1] + i * out_stride[1]) = index[r];
      }
    if (m == 1) r0 -= kRows - 1;  // rows far apart go one by one
  }
}

template <class... T, class F>
void for_types(F&& f) {
  (f(Tag<T>{}, index_of(dtype_of<T>)), ...);
}

}  // namespace

void fill_scan_kernels(KernelTable& table) {
  auto row = [&](ScanOp op) { return table.scan[static_cast<int>(op)]; };
  for_types<int64_t, uint64_t, Half, BFloat16, float, double, Complex<float>, Complex<double>>([&](auto tag, int t) {
    using T = typename decltype(tag)::type;
    row(ScanOp::Sum)[t] = scan<RunningSum, T>;
    row(ScanOp::Product)[t] = scan<RunningProduct, T>;
  });
  for_types<Half, BFloat16, float, double>([&](auto tag, int t) { row(ScanOp::LogSumExp)[t] = scan<RunningLogSum, typename decltype(tag)::type>; });
  for_types<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, Half, BFloat16, float, double>([&](auto tag, int t) {
    using T = typename decltype(tag)::type;
    row(ScanOp::Max)[t] = scan_extreme<Highest, T>;
    row(ScanOp::Min)[t] = scan_extreme<Lowest, T>;
  });
}

}  // namespace strided
