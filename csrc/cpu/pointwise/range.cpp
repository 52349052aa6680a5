// Evenly spaced numbers. The values are PyTorch's bit for bit, so the order of the operations and where they are fused
// is part of the definition, whatever the instruction set: its CPU kernels are built with AVX2 and fused multiply-adds.
#include <algorithm>

#include "base/math_basic.h"
#include "core/convert.h"
#include "cpu/kernels.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

STRIDED_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
STRIDED_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

// Note [Blocks of arange]
// PyTorch computes start + i * step for the first element of each 32-byte vector, rounds it to the dtype, and adds 0,
// step, 2 step, ... to that; elements after the last pair of vectors are computed on their own. The sums are done in
// double for float32 and float64, in float for the 16-bit floats.
template <class T>
void arange(void* out, int64_t begin, int64_t end, const RangeSpec& ramp) {
  T* to = static_cast<T*>(out);
  if constexpr (std::is_integral_v<T>) {
    const uint64_t start = static_cast<uint64_t>(ramp.int_start), step = static_cast<uint64_t>(ramp.int_step);
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(start + static_cast<uint64_t>(i) * step);
  } else {
    using C = std::conditional_t<is_reduced<T>, float, double>;
    const C start = static_cast<C>(ramp.start[0]), step = static_cast<C>(ramp.step);
    if (ramp.plain) {
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(start + static_cast<C>(i) * step);
      return;
    }
    constexpr int64_t kWidth = 32 / sizeof(T);
    const int64_t in_blocks = ramp.steps / (2 * kWidth) * (2 * kWidth);
    int64_t i = begin;
    while (i < std::min(end, in_blocks)) {
      const int64_t block = i / kWidth * kWidth, stop = std::min(end, block + kWidth);
      const C base =
          static_cast<C>(static_cast<T>(static_cast<compute_t<T>>(fused(step, static_cast<C>(block), start))));
      for (; i < stop; ++i)
        to[i] =
            static_cast<T>(static_cast<compute_t<T>>(fused(static_cast<C>(static_cast<int>(i - block)), step, base)));
    }
    for (; i < end; ++i) to[i] = static_cast<T>(static_cast<compute_t<T>>(fused(step, static_cast<C>(i), start)));
  }
}

// From the start up to the middle, from the end down to it, so that both ends are exact and the row is symmetric.
template <class T>
void linspace(void* out, int64_t begin, int64_t end, const RangeSpec& ramp) {
  T* to = static_cast<T*>(out);
  const int64_t half = ramp.steps / 2, last = ramp.steps - 1;
  if constexpr (std::is_integral_v<T>) {
    const double start = static_cast<double>(ramp.int_start), stop = static_cast<double>(ramp.int_end);
    const double step = (stop - start) / static_cast<double>(last);
    for (int64_t i = begin; i < end; ++i)
      to[i] = convert<T>(i < half ? fused(step, static_cast<double>(i), start)
                                  : fused(-step, static_cast<double>(last - i), stop));
  } else if constexpr (is_reduced<T>) {
    // Every step of the computation is rounded to the 16-bit type.
    auto round = [](float v) { return static_cast<float>(T(v)); };
    const float start = round(static_cast<float>(ramp.start[0])), stop = round(static_cast<float>(ramp.end[0]));
    const float step = round(round(stop - start) / round(static_cast<float>(last)));
    for (int64_t i = begin; i < end; ++i)
      to[i] = T(i < half ? start + round(step * round(static_cast<float>(i)))
                         : stop - round(step * round(static_cast<float>(last - i))));
  } else {
    using R = real_t<T>;
    constexpr int kParts = sizeof(T) / sizeof(R);
    for (int part = 0; part < kParts; ++part) {
      const R start = static_cast<R>(ramp.start[part]), stop = static_cast<R>(ramp.end[part]);
      const R step = (stop - start) / static_cast<R>(last);
      R* at = static_cast<R*>(out) + part;
      for (int64_t i = begin; i < std::min(end, half); ++i) at[i * kParts] = fused(step, static_cast<R>(i), start);
      for (int64_t i = std::max(begin, half); i < end; ++i)
        at[i * kParts] = fused(-step, static_cast<R>(last - i), stop);
    }
  }
}

// base to the power of linspace's numbers, which are kept in double and are not fused here.
template <class T>
void logspace(void* out, int64_t begin, int64_t end, const RangeSpec& ramp) {
  T* to = static_cast<T*>(out);
  const int64_t half = ramp.steps / 2, last = ramp.steps - 1;
  auto exponent = [&](double start, double stop, double span, int64_t i) {
    const double step = last > 0 ? span / static_cast<double>(last) : 0;
    return i < half || last == 0 ? start + step * static_cast<double>(i) : stop - step * static_cast<double>(last - i);
  };
  for (int64_t i = begin; i < end; ++i) {
    if constexpr (std::is_integral_v<T>) {
      const double start = static_cast<double>(ramp.int_start), stop = static_cast<double>(ramp.int_end);
      to[i] = convert<T>(__builtin_pow(ramp.base, exponent(start, stop, stop - start, i)));
    } else if constexpr (is_complex_v<T>) {
      // base^x = exp(x log(base))
      using R = real_t<T>;
      const double re = exponent(ramp.start[0], ramp.end[0], ramp.end[0] - ramp.start[0], i);
      const double im = exponent(ramp.start[1], ramp.end[1], ramp.end[1] - ramp.start[1], i);
      const double log_abs = __builtin_log(__builtin_fabs(ramp.base)), arg = ramp.base < 0 ? math::kPi : 0.0;
      const double abs = __builtin_exp(re * log_abs - im * arg), angle = im * log_abs + re * arg;
      to[i] = T(static_cast<R>(abs * __builtin_cos(angle)), static_cast<R>(abs * __builtin_sin(angle)));
    } else {
      using C = compute_t<T>;
      const C start = static_cast<C>(T(static_cast<C>(ramp.start[0]))),
              stop = static_cast<C>(T(static_cast<C>(ramp.end[0])));
      const double span = static_cast<double>(static_cast<C>(T(stop - start)));
      to[i] = T(static_cast<C>(__builtin_pow(ramp.base, exponent(start, stop, span, i))));
    }
  }
}

}  // namespace

void fill_range(KernelTable& table) {
  for_each(DTypesOf<kinds::numeric>{}, [&](auto tag, int) {
    using T = typename decltype(tag)::type;
    constexpr int i = index_of(dtype_of<T>);
    if constexpr (!is_complex_v<T>) table.range.arange[i] = arange<T>;
    table.range.linspace[i] = linspace<T>;
    table.range.logspace[i] = logspace<T>;
  });
}

}  // namespace STRIDED_ISA
}  // namespace strided
