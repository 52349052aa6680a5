// Evenly spaced numbers. The formulas are those of csrc/cpu/pointwise/range.cpp for each element on its own; arange has
// no blocks here.
#include "backend/op.h"
#include "cuda/pointwise/pointwise.h"
#include "cuda/runtime/operations.h"
#include "cuda/runtime/runtime.h"

namespace strided {
namespace cuda {
namespace {

template <class T>
__device__ inline T arange_at(int64_t i, const RangeSpec& r) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(r.int_start) +
                          static_cast<uint64_t>(i) * static_cast<uint64_t>(r.int_step));
  } else {
    using C = std::conditional_t<is_reduced<T>, float, double>;
    const C start = static_cast<C>(r.start[0]), step = static_cast<C>(r.step);
    const C v = r.plain ? start + static_cast<C>(i) * step : static_cast<C>(fma(step, static_cast<C>(i), start));
    return static_cast<T>(static_cast<compute_t<T>>(v));
  }
}

template <class R>
__device__ inline R linspace_part(int64_t i, double from, double to, int64_t steps) {
  const R start = static_cast<R>(from), stop = static_cast<R>(to), step = (stop - start) / static_cast<R>(steps - 1);
  return i < steps / 2 ? static_cast<R>(fma(step, static_cast<R>(i), start))
                       : static_cast<R>(fma(-step, static_cast<R>(steps - 1 - i), stop));
}
template <class T>
__device__ inline T linspace_at(int64_t i, const RangeSpec& r) {
  if constexpr (std::is_integral_v<T>) {
    return convert<T>(
        linspace_part<double>(i, static_cast<double>(r.int_start), static_cast<double>(r.int_end), r.steps));
  } else if constexpr (is_reduced<T>) {
    // Every step of the computation is rounded to the 16-bit type.
    auto round = [](float v) { return static_cast<float>(T(v)); };
    const float start = round(static_cast<float>(r.start[0])), stop = round(static_cast<float>(r.end[0]));
    const float step = round(round(stop - start) / round(static_cast<float>(r.steps - 1)));
    return T(i < r.steps / 2 ? start + round(step * round(static_cast<float>(i)))
                             : stop - round(step * round(static_cast<float>(r.steps - 1 - i))));
  } else if constexpr (is_complex_v<T>) {
    using R = real_t<T>;
    return T(linspace_part<R>(i, r.start[0], r.end[0], r.steps), linspace_part<R>(i, r.start[1], r.end[1], r.steps));
  } else {
    return linspace_part<T>(i, r.start[0], r.end[0], r.steps);
  }
}

__device__ inline double exponent_at(int64_t i, double start, double stop, double span, int64_t steps) {
  const int64_t last = steps - 1;
  const double step = last > 0 ? span / static_cast<double>(last) : 0;
  return i < steps / 2 || last == 0 ? start + step * static_cast<double>(i)
                                    : stop - step * static_cast<double>(last - i);
}
template <class T>
__device__ inline T logspace_at(int64_t i, const RangeSpec& r) {
  if constexpr (std::is_integral_v<T>) {
    const double start = static_cast<double>(r.int_start), stop = static_cast<double>(r.int_end);
    return convert<T>(pow(r.base, exponent_at(i, start, stop, stop - start, r.steps)));
  } else if constexpr (is_complex_v<T>) {
    // base^x = exp(x log(base))
    using R = real_t<T>;
    const double re = exponent_at(i, r.start[0], r.end[0], r.end[0] - r.start[0], r.steps);
    const double im = exponent_at(i, r.start[1], r.end[1], r.end[1] - r.start[1], r.steps);
    const double log_abs = log(fabs(r.base)), arg = r.base < 0 ? math::kPi : 0.0;
    const double abs = exp(re * log_abs - im * arg), angle = im * log_abs + re * arg;
    return T(static_cast<R>(abs * cos(angle)), static_cast<R>(abs * sin(angle)));
  } else {
    using C = compute_t<T>;
    const C start = static_cast<C>(T(static_cast<C>(r.start[0]))), stop = static_cast<C>(T(static_cast<C>(r.end[0])));
    const double span = static_cast<double>(static_cast<C>(T(stop - start)));
    return T(static_cast<C>(pow(r.base, exponent_at(i, start, stop, span, r.steps))));
  }
}

template <RangeKind Kind, class T>
__global__ void __launch_bounds__(kThreads) ramp_kernel(T* to, int64_t n, const STRIDED_GRID_CONSTANT RangeSpec r) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    if constexpr (Kind == RangeKind::Arange) to[i] = arange_at<T>(i, r);
    else if constexpr (Kind == RangeKind::Linspace) to[i] = linspace_at<T>(i, r);
    else to[i] = logspace_at<T>(i, r);
  }
}

}  // namespace

void range(const OpContext& on, RangeKind kind, DType dtype, void* to, int64_t n, const RangeSpec& r) {
  if (n == 0) return;
  const OnDevice guard(on.device);
  const int64_t blocks = (n + kThreads - 1) / kThreads;
  const dim3 grid(static_cast<unsigned>(blocks < 65535 ? blocks : 65535));
  bool done = false;
  for_each(DTypesOf<kinds::numeric>{}, [&](auto tag, int) {
    using T = typename decltype(tag)::type;
    if (dtype_of<T> != dtype) return;
    void (*kernel)(T*, int64_t, RangeSpec) =
        kind == RangeKind::Linspace ? ramp_kernel<RangeKind::Linspace, T> : ramp_kernel<RangeKind::Logspace, T>;
    if constexpr (!is_complex_v<T>) {
      if (kind == RangeKind::Arange) kernel = ramp_kernel<RangeKind::Arange, T>;
    } else if (kind == RangeKind::Arange) {
      return;
    }
    launch(kernel, grid, dim3(kThreads), 0, current_stream(on.device), static_cast<T*>(to), n, r);
    done = true;
  });
  STRIDED_CHECK(done, NotImplementedError, on.name, ": not implemented for ", dtype, " on device 'cuda'");
  check_launch(on.name);
}

}  // namespace cuda
}  // namespace strided
