#include "ops/fft/fft.h"

#include <algorithm>
#include <cmath>

#include "backend/backend.h"
#include "core/promotion.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/shape/join.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

// ---------------------------------------------------------------- one axis, not recorded

// The axes in the order in which a result has them in memory, outermost first: those of the batch, then `axes`, whose
// last one is innermost.
Dims memory_order(const Tensor& x, const Dims& axes) {
  uint64_t transformed = 0;
  for (const int64_t axis : axes) transformed |= uint64_t{1} << axis;
  Dims order;
  for (int i = 0; i < x.ndim(); ++i)
    if (!(transformed >> i & 1)) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::abs(x.strides()[static_cast<size_t>(a)]) > std::abs(x.strides()[static_cast<size_t>(b)]);
  });
  for (const int64_t axis : axes) order.push_back(axis);
  return order;
}
Tensor empty_in_order(const Tensor& x, const Dims& shape, const Dims& order, DType dtype) {
  Dims strides(shape.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    strides[axis] = stride;
    stride *= std::max<int64_t>(shape[axis], 1);
  }
  return empty_strided(shape, strides, dtype, x.device());
}
// The transformed axes but the last `keep`, so that those with the smallest strides come last.
Dims by_strides(const Tensor& x, const Dims& axes, size_t keep) {
  Dims sorted = axes;
  std::stable_sort(sorted.begin(), sorted.end() - keep, [&](int64_t a, int64_t b) {
    return std::abs(x.strides()[static_cast<size_t>(a)]) > std::abs(x.strides()[static_cast<size_t>(b)]);
  });
  return sorted;
}

void transform(const char* op, FftPlan::Kind kind, const Tensor& x, const Tensor& out, int64_t axis, int64_t n,
               double scale, bool inverse) {
  FftPlan plan;
  plan.name = op;
  plan.device = x.device().index;
  plan.kind = kind;
  plan.dtype = real_of(x.dtype());
  plan.inverse = inverse;
  plan.n = n;
  plan.scale = scale;
  plan.in = x.data();
  plan.out = out.data();
  Dims shape, in_strides, out_strides;
  for (int i = 0; i < x.ndim(); ++i) {
    const int64_t in = x.strides()[static_cast<size_t>(i)] * x.itemsize();
    const int64_t to = out.strides()[static_cast<size_t>(i)] * out.itemsize();
    if (i == axis) {
      plan.in_stride = in;
      plan.out_stride = to;
      continue;
    }
    if (x.size(i) == 0) return;
    shape.push_back(x.size(i));
    in_strides.push_back(in);
    out_strides.push_back(to);
  }
  plan.ndim = shape.ndim();
  plan.shape = shape.data();
  plan.in_strides = in_strides.data();
  plan.out_strides = out_strides.data();
  backend(x.device()).fft(plan);
}

// ---------------------------------------------------------------- arguments

DType transformed_dtype(const Tensor& x) {
  DType t = x.dtype();
  if (is_integral(t)) t = default_dtype();
  if (t == DType::Float16 || t == DType::BFloat16) t = DType::Float32;
  const DType real = real_of(t);
  STRIDED_CHECK(real == DType::Float32 || real == DType::Float64, RuntimeError, "Unsupported dtype ", cpp_name_of(t));
  return t;
}
Tensor as_complex(const Tensor& x) { return to_dtype(x, complex_of(transformed_dtype(x))); }

int wrap_fft_axis(int64_t axis, int ndim) {
  STRIDED_CHECK(ndim > 0, IndexError, "Dimension specified as ", axis, " but tensor has no dimensions");
  return wrap_axis("fft", axis, ndim);
}

struct Axes {
  Dims axes, sizes;  // of the transform; -1 where none was given
};
Axes axes_of(const Tensor& x, const FftArguments& arguments) {
  Axes found;
  if (arguments.axes) {
    uint64_t seen = 0;
    for (const int64_t axis : *arguments.axes) {
      const int i = wrap_fft_axis(axis, x.ndim());
      STRIDED_CHECK(!(seen >> i & 1), RuntimeError, "FFT dims must be unique");
      seen |= uint64_t{1} << i;
      found.axes.push_back(i);
    }
  }
  if (arguments.sizes) {
    STRIDED_CHECK(!arguments.axes || arguments.axes->size() == arguments.sizes->size(), RuntimeError,
                  "When given, dim and shape arguments must have the same length");
    const auto given = static_cast<int64_t>(arguments.sizes->size());
    STRIDED_CHECK(given <= x.ndim() || arguments.axes, RuntimeError, "Got shape with ", given,
                  " values but input tensor only has ", x.ndim(), " dimensions.");
    found.sizes = *arguments.sizes;
  }
  if (!arguments.axes) {
    const int count = arguments.sizes ? arguments.sizes->ndim() : x.ndim();
    for (int i = x.ndim() - count; i < x.ndim(); ++i) found.axes.push_back(i);
  }
  if (!arguments.sizes) found.sizes = Dims(found.axes.size(), -1);
  return found;
}

void check_length(int64_t n) {
  STRIDED_CHECK(n >= 1, RuntimeError, "Invalid number of data points (", n, ") specified");
}

// The lengths of the axes of x, where none was given.
void complete_sizes(const Tensor& x, Axes& axes) {
  for (size_t i = 0; i < axes.axes.size(); ++i) {
    if (axes.sizes[i] == -1) axes.sizes[i] = x.size(static_cast<int>(axes.axes[i]));
    check_length(axes.sizes[i]);
  }
}

double scale_of(const std::optional<std::string>& norm, bool inverse, const Dims& sizes) {
  double n = 1;
  for (const int64_t size : sizes) n *= static_cast<double>(size);
  if (!norm || *norm == "backward") return inverse ? 1 / n : 1;
  if (*norm == "forward") return inverse ? 1 : 1 / n;
  STRIDED_CHECK(*norm == "ortho", RuntimeError, "Invalid normalization mode: \"", *norm, "\"");
  return 1 / std::sqrt(n);
}

// x cut, or filled up with zeros, to these lengths of the axes.
Tensor resized(Tensor x, const Dims& axes, const Dims& sizes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = static_cast<int>(axes[i]);
    const int64_t have = x.size(axis), want = sizes[i];
    if (want < have) x = narrow(x, axis, 0, want);
    if (want <= have) continue;
    Dims shape = x.shape();
    shape[static_cast<size_t>(axis)] = want - have;
    const Tensor filling = zeros(shape, x.dtype(), x.device());
    x = have == 0 ? filling : cat({x, filling}, axis);
  }
  return x;
}

// Factors along an axis for elements that stand for themselves and their conjugates: all but the first, and the last
// where n is even.
Tensor weighted(const Tensor& x, int axis, int64_t n, double factor) {
  const int64_t half = n / 2 + 1;
  Dims shape(static_cast<size_t>(x.ndim()), 1);
  shape[static_cast<size_t>(axis)] = half;
  const Tensor weights = full(shape, Scalar(factor), real_of(x.dtype()), x.device());
  fill_into(narrow(weights, axis, 0, 1), Scalar(1.0));
  if (n % 2 == 0) fill_into(narrow(weights, axis, half - 1, 1), Scalar(1.0));
  return x * weights;
}

Dims all_but_last(const Dims& axes) { return Dims(axes.data(), axes.size() - 1); }

// Along all of the axes; the factor comes with the first.
Tensor complex_passes(const Tensor& x, const Dims& axes, double scale, bool inverse) {
  const Dims order = by_strides(x, axes, 0);
  const Tensor out = empty_in_order(x, x.shape(), memory_order(x, order), x.dtype());
  const Tensor* from = &x;
  for (size_t i = order.size(); i-- > 0; from = &out, scale = 1)
    transform("fft", FftPlan::Complex, *from, out, order[i], x.size(static_cast<int>(order[i])), scale, inverse);
  return out;
}

// The transform of a real tensor along one axis, with all of its elements.
Tensor complete_real(const Tensor& x, int axis, double scale, bool inverse) {
  const int64_t n = x.size(axis), half = n / 2 + 1;
  const Tensor out = empty_in_order(x, x.shape(), memory_order(x, {axis}), complex_of(x.dtype()));
  {
    const NoGradGuard guard;
    transform("fft", FftPlan::RealToComplex, x, narrow(out, axis, 0, half), axis, n, scale, inverse);
    if (n > half) copy_into(narrow(out, axis, half, n - half), conj(flip(narrow(out, axis, 1, n - half), {axis})));
  }
  return record("FftR2CBackward0", out, x,
                [axis, scale, inverse](const Tensor& g) { return real(fft_complex(g, {axis}, scale, !inverse)); });
}

}  // namespace

// ---------------------------------------------------------------- recorded

Tensor fft_complex(const Tensor& x, const Dims& axes, double scale, bool inverse) {
  return record("FftC2CBackward0", complex_passes(x, axes, scale, inverse), x,
                [axes, scale, inverse](const Tensor& g) { return fft_complex(g, axes, scale, !inverse); });
}

Tensor fft_real(const Tensor& x, const Dims& axes, double scale, bool inverse) {
  const int last = static_cast<int>(axes.back());
  const int64_t n = x.size(last);
  const Dims order = by_strides(x, axes, 1);
  Dims shape = x.shape();
  shape[static_cast<size_t>(last)] = n / 2 + 1;
  const Tensor out = empty_in_order(x, shape, memory_order(x, order), complex_of(x.dtype()));
  transform("rfft", FftPlan::RealToComplex, x, out, last, n, scale, inverse);
  for (size_t i = order.size() - 1; i-- > 0;)
    transform("rfft", FftPlan::Complex, out, out, order[i], x.size(static_cast<int>(order[i])), 1, inverse);
  // The real part of the inverse transform of g with zeros for what is not there: the Hermitian one of halves.
  return record("FftR2CBackward0", out, x, [axes, n, scale, inverse](const Tensor& g) {
    return fft_hermitian(weighted(g, static_cast<int>(axes.back()), n, 0.5), axes, n, scale, !inverse);
  });
}

Tensor fft_hermitian(const Tensor& x, const Dims& axes, int64_t n, double scale, bool inverse) {
  const int last = static_cast<int>(axes.back());
  const Dims order = by_strides(x, axes, 1);
  const Tensor in = order.size() > 1 ? complex_passes(x, all_but_last(order), scale, inverse) : x;
  Dims shape = x.shape();
  shape[static_cast<size_t>(last)] = n;
  const Tensor out = empty_in_order(x, shape, memory_order(x, order), real_of(x.dtype()));
  transform("irfft", FftPlan::ComplexToReal, in, out, last, n, order.size() > 1 ? 1 : scale, inverse);
  // Every element but the first (and the last of an even n) counts twice, for itself and its conjugate.
  return record("FftC2RBackward0", out, x, [axes, n, scale, inverse](const Tensor& g) {
    return weighted(fft_real(g, axes, scale, !inverse), static_cast<int>(axes.back()), n, 2);
  });
}

// ---------------------------------------------------------------- public functions

Tensor fftn(const Tensor& x, const FftArguments& arguments, bool inverse) {
  Axes axes = axes_of(x, arguments);
  complete_sizes(x, axes);
  const double scale = scale_of(arguments.norm, inverse, axes.sizes);
  const Tensor in = resized(to_dtype(x, transformed_dtype(x)), axes.axes, axes.sizes);
  if (axes.axes.empty()) return as_complex(in);
  if (!is_complex(in.dtype()) && axes.axes.size() == 1)
    return complete_real(in, static_cast<int>(axes.axes[0]), scale, inverse);
  return fft_complex(as_complex(in), axes.axes, scale, inverse);
}

Tensor rfftn(const Tensor& x, const FftArguments& arguments, bool inverse, const char* op) {
  STRIDED_CHECK(!is_complex(x.dtype()), RuntimeError, op, " expects a real input tensor, but got ",
                cpp_name_of(x.dtype()));
  Axes axes = axes_of(x, arguments);
  STRIDED_CHECK(!axes.axes.empty(), RuntimeError, op, " must transform at least one axis");
  complete_sizes(x, axes);
  const double scale = scale_of(arguments.norm, inverse, axes.sizes);
  const Tensor in = resized(to_dtype(x, transformed_dtype(x)), axes.axes, axes.sizes);
  if (!inverse || axes.axes.size() == 1) return fft_real(in, axes.axes, scale, inverse);
  // One after the other, for PyTorch's strides.
  return fft_complex(fft_real(in, {axes.axes.back()}, scale, true), all_but_last(axes.axes), 1, true);
}

Tensor irfftn(const Tensor& x, const FftArguments& arguments, bool inverse, const char* op) {
  Axes axes = axes_of(x, arguments);
  STRIDED_CHECK(!axes.axes.empty(), RuntimeError, op, " must transform at least one axis");
  int64_t& n = axes.sizes.back();
  if (n == -1) n = 2 * (x.size(static_cast<int>(axes.axes.back())) - 1);
  complete_sizes(x, axes);
  const double scale = scale_of(arguments.norm, inverse, axes.sizes);
  Dims sizes = axes.sizes;
  sizes.back() = n / 2 + 1;
  return fft_hermitian(resized(as_complex(x), axes.axes, sizes), axes.axes, n, scale, inverse);
}

namespace {

// Element 0 goes to the middle, n / 2, or back from there.
Tensor shifted(const Tensor& x, const std::optional<Dims>& given, bool back) {
  Dims axes, shifts;
  if (given) axes = *given;
  else
    for (int i = 0; i < x.ndim(); ++i) axes.push_back(i);
  for (const int64_t axis : axes) {
    const int64_t n = x.ndim() > 0 ? x.size(wrap_axis("fftshift", axis, x.ndim())) : 1;
    shifts.push_back(back ? (n + 1) / 2 : n / 2);
  }
  return roll(x, shifts, axes);
}

}  // namespace

Tensor fftshift(const Tensor& x, const std::optional<Dims>& axes) { return shifted(x, axes, false); }
Tensor ifftshift(const Tensor& x, const std::optional<Dims>& axes) { return shifted(x, axes, true); }

}  // namespace strided
