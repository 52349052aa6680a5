#include "ops/factory.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/backend.h"
#include "core/promotion.h"
#include "ops/copy.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/shape/view.h"

namespace strided {

// ---------------------------------------------------------------- one value

Tensor zeros(const Dims& shape, DType dtype, Device device) {
  Tensor out = empty(shape, dtype, device);
  const size_t nbytes = static_cast<size_t>(out.numel() * out.itemsize());
  if (nbytes > 0 && nbytes <= 65536 && backend(device).short_loops) {
    std::memset(out.data(), 0, nbytes);
  } else {
    const auto clear = device_memory(out.device()).clear;
    if (clear == nullptr || !clear(out.data(), nbytes)) fill_into(out, Scalar(false));
  }
  return out;
}

Tensor full(const Dims& shape, const Scalar& value, DType dtype, Device device) {
  check_fits(value, dtype);
  Tensor out = empty(shape, dtype, device);
  fill_into(out, value);
  return out;
}

Tensor ones(const Dims& shape, DType dtype, Device device) { return full(shape, Scalar(int64_t(1)), dtype, device); }
Tensor scalar_tensor(const Scalar& value, DType dtype, Device device) { return full(Dims(), value, dtype, device); }

Tensor zeros_like(const Tensor& x) {
  if (x.is_contiguous()) return zeros(x.shape(), x.dtype(), x.device());
  Tensor out = empty_strided(x.shape(), strides_like(x.layout()), x.dtype(), x.device());
  fill_into(out, Scalar(false));
  return out;
}

Tensor ones_like(const Tensor& x) {
  Tensor out = empty_strided(x.shape(), strides_like(x.layout()), x.dtype(), x.device());
  fill_into(out, Scalar(true));
  return out;
}

// ---------------------------------------------------------------- evenly spaced values

DType range_dtype(const Scalar& start, const Scalar& end, const Scalar& step) {
  bool integral = true, beyond = false, complex = false;
  for (const Scalar* s : {&start, &end, &step}) {
    integral = integral && s->is_integral();
    beyond = beyond || s->kind() == Scalar::Kind::UInt;
    complex = complex || s->is_complex();
  }
  if (integral) return beyond ? DType::UInt64 : DType::Int64;
  return complex ? complex_of(default_dtype()) : default_dtype();
}

namespace {

Tensor fill_range(const char* op, RangeKind kind, const Tensor& out, const RangeSpec& ramp) {
  const DType dtype = out.dtype();
  STRIDED_CHECK(!is_bool(dtype) && has_loops(dtype) && (kind != RangeKind::Arange || !is_complex(dtype)),
                NotImplementedError, "\"", op, "_cpu\" not implemented for '", dtype, "'");
  const Device device = out.device();
  if (out.numel() > 0) backend(device).range({op, device.index}, kind, dtype, out.data(), out.numel(), ramp);
  return out;
}

Tensor make_range(const char* op, const Scalar& start, const Scalar& end, const Scalar& step, DType dtype,
                  Device device, bool closed) {
  for (const Scalar* s : {&start, &end, &step})
    STRIDED_CHECK(s->imag() == 0, RuntimeError, "value cannot be converted to type double without overflow");
  const double from = start.real(), to = end.real();
  RangeSpec ramp;
  ramp.plain = closed;
  ramp.start[0] = from;
  ramp.step = step.real();
  const bool whole = is_integer(dtype);
  const bool up = ramp.step > 0, down = ramp.step < 0;
  // Integer dtypes count with the integer parts of the numbers.
  Wide first = 0, last = 0, pace = 0;
  if (whole) {
    for (const Scalar* s : {&start, &end, &step})
      STRIDED_CHECK(s->is_integral() || std::fabs(s->real()) < 9.2e18 || !std::isfinite(s->real()), RuntimeError,
                    "value cannot be converted to type int64_t without overflow");
    STRIDED_CHECK(std::isfinite(ramp.step), RuntimeError, "step must be nonzero");
    if (std::isfinite(from) && std::isfinite(to)) {
      first = to_wide(start);
      last = to_wide(end);
    }
    pace = to_wide(step);
    ramp.int_start = static_cast<int64_t>(first);
    ramp.int_step = static_cast<int64_t>(pace);
  }
  STRIDED_CHECK(up || down, RuntimeError, "step must be nonzero");
  STRIDED_CHECK(std::isfinite(from) && std::isfinite(to), RuntimeError, "unsupported range: ", from, " -> ", to);
  const bool exact = whole && (dtype == DType::Int64 || dtype == DType::UInt64 ||
                               (start.is_integral() && end.is_integral() && step.is_integral()));
  const bool agrees = exact ? (up ? last >= first : last <= first) : (up ? to >= from : to <= from);
  STRIDED_CHECK(agrees, RuntimeError, "upper bound and lower bound inconsistent with step sign");
  int64_t n;
  if (exact) {
    STRIDED_CHECK(pace != 0, ValueError, "step must be nonzero");  // its fraction was all it had
    const Wide span = up ? last - first : first - last, by = up ? pace : -pace;
    const Wide count = closed ? span / by + 1 : (span + by - 1) / by;
    STRIDED_CHECK(count < (Wide(1) << 59), RuntimeError, "invalid size, possible overflow?");
    n = static_cast<int64_t>(count);
  } else {
    const double count = closed ? std::floor((to - from) / ramp.step) + 1 : std::ceil((to - from) / ramp.step);
    STRIDED_CHECK(count >= 0 && count < 5e17, RuntimeError, "invalid size, possible overflow?");
    n = static_cast<int64_t>(count);
  }
  ramp.steps = n;
  return fill_range(op, RangeKind::Arange, empty({n}, dtype, device), ramp);
}

Tensor make_spaced(const char* op, RangeKind kind, const Scalar& start, const Scalar& end, int64_t steps, double base,
                   DType dtype, Device device) {
  STRIDED_CHECK(steps >= 0, RuntimeError, "number of steps must be non-negative");
  STRIDED_CHECK(is_complex(dtype) || (!start.is_complex() && !end.is_complex()), RuntimeError, "torch.", op,
                "(): inferred dtype ", info_of(complex_of(default_dtype())).written,
                " can't be safely cast to passed dtype ", dtype);
  check_fits(start, dtype);
  check_fits(end, dtype);
  RangeSpec ramp;
  ramp.start[0] = start.real();
  ramp.start[1] = start.imag();
  ramp.end[0] = end.real();
  ramp.end[1] = end.imag();
  if (is_integer(dtype)) {
    ramp.int_start = start.to_int();
    ramp.int_end = end.to_int();
  }
  ramp.base = base;
  ramp.steps = steps;
  return fill_range(op, kind, empty({steps}, dtype, device), ramp);
}

}  // namespace

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype, Device device) {
  return make_range("arange", start, end, step, dtype, device, false);
}

Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype, Device device) {
  return make_range("range", start, end, step, dtype, device, true);
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, DType dtype, Device device) {
  if (steps == 1 && (is_complex(dtype) || !(start.is_complex() || end.is_complex())) && !is_bool(dtype))
    return full({1}, start, dtype, device);
  return make_spaced("linspace", RangeKind::Linspace, start, end, steps, 0, dtype, device);
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, DType dtype, Device device) {
  return make_spaced("logspace", RangeKind::Logspace, start, end, steps, base, dtype, device);
}

// ---------------------------------------------------------------- matrices

Tensor eye(int64_t n, int64_t m, DType dtype, Device device) {
  STRIDED_CHECK(n >= 0, RuntimeError, "n must be greater or equal to 0, got ", n);
  STRIDED_CHECK(m >= 0, RuntimeError, "m must be greater or equal to 0, got ", m);
  Tensor out = zeros({n, m}, dtype, device);
  fill_into(make_view(out, diagonal(out.layout(), 0, 0, 1)), Scalar(true));
  return out;
}

namespace {

int64_t clamp(int64_t v, int64_t low, int64_t high) { return std::min(std::max(v, low), high); }

// Elements on and below a diagonal.
Wide count_below(int64_t rows, int64_t columns, int64_t offset) {
  const int64_t begin = clamp(-offset, 0, rows),
                whole = clamp(columns - offset, begin, rows);  // rows that have some, that have all
  const Wide slope = static_cast<Wide>(whole - begin) * (begin + offset + whole + offset + 1) / 2;
  return slope + static_cast<Wide>(rows - whole) * columns;
}

// Rows and columns of the elements on one side of a diagonal, in row-major order.
Tensor triangle(const char* op, int64_t rows, int64_t columns, int64_t offset, bool below, DType dtype, Device device) {
  STRIDED_CHECK(rows >= 0, RuntimeError, "row must be non-negative, got", rows);
  STRIDED_CHECK(columns >= 0, RuntimeError, "col must be non-negative, got", columns);
  STRIDED_CHECK(is_integer(dtype), NotImplementedError, "\"", op, "\" not implemented for '", dtype, "'");
  constexpr int64_t kMost = int64_t(1) << 58;
  STRIDED_CHECK(rows < kMost && columns < kMost, RuntimeError, op, ": a matrix of ", rows, " x ", columns,
                " is too large");
  offset = clamp(offset, -rows, columns);
  const Wide count = below ? count_below(rows, columns, offset)
                           : static_cast<Wide>(rows) * columns - count_below(rows, columns, offset - 1);
  STRIDED_CHECK(count < kMost, RuntimeError, op, ": a matrix of ", rows, " x ", columns, " is too large");
  const int64_t n = static_cast<int64_t>(count);
  const Tensor out = empty({2, n}, dtype);
  if (n == 0) return to_device(out, device);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      T* row = out.data_as<T>();
      T* column = row + n;
      const int64_t begin = below ? clamp(-offset, 0, rows) : 0, end = below ? rows : clamp(columns - offset, 0, rows);
      for (int64_t r = begin; r < end; ++r) {
        const int64_t first = below ? 0 : clamp(r + offset, 0, columns),
                      last = below ? clamp(r + offset + 1, 0, columns) : columns;
        for (int64_t c = first; c < last; ++c) {
          *row++ = static_cast<T>(r);
          *column++ = static_cast<T>(c);
        }
      }
    }
  });
  return to_device(out, device);
}

}  // namespace

Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset, DType dtype, Device device) {
  return triangle("tril_indices", rows, columns, offset, true, dtype, device);
}

Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset, DType dtype, Device device) {
  return triangle("triu_indices", rows, columns, offset, false, dtype, device);
}

// ---------------------------------------------------------------- complex numbers

namespace {

void check_parts(const Tensor& a, const Tensor& b) {
  auto real = [](const Tensor& t) { return t.dtype() == DType::Float32 || t.dtype() == DType::Float64; };
  STRIDED_CHECK(real(a) && real(b), RuntimeError, "Expected both inputs to be Float or Double tensors but got ",
                a.dtype(), " and ", b.dtype());
  STRIDED_CHECK(a.dtype() == b.dtype(), RuntimeError, "Expected object of scalar type ", a.dtype(),
                " but got scalar type ", b.dtype(), " for second argument");
  check_same_device("complex", a, b);
}

}  // namespace

Tensor complex(const Tensor& real, const Tensor& imag) {
  check_parts(real, imag);
  const Dims shape = broadcast_shapes(real.shape(), imag.shape());
  const Tensor& like = shape == real.shape() ? real : imag;  // its axes lie in this order in memory
  const Dims strides = shape == like.shape() ? strides_like(like.layout()) : Layout::contiguous_strides(shape);
  Tensor out = empty_strided(shape, strides, complex_of(real.dtype()), real.device());
  {
    NoGradGuard no_grad;
    const Tensor parts = view_as_real(out);
    copy_into(select(parts, -1, 0), real);
    copy_into(select(parts, -1, 1), imag);
  }
  return record("ComplexBackward0", out, std::vector<Tensor>{real, imag},
                [](const Tensor& g) { return std::vector<Tensor>{strided::real(g), strided::imag(g)}; });
}

Tensor polar(const Tensor& abs, const Tensor& angle) {
  check_parts(abs, angle);
  return shown_as("PolarBackward0", complex(abs * elementwise<Cos>(angle), abs * elementwise<Sin>(angle)));
}

}  // namespace strided
