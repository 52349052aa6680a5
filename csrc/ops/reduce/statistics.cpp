// Covariances and integrals: composed of recorded ops, so gradients follow from their parts.
#include "ops/reduce/statistics.h"
#include "tensor/graph.h"

#include "ops/linalg/matmul.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/scan.h"
#include "ops/shape/view.h"

namespace strided {

// ---------------------------------------------------------------- trapezoids

namespace {

int sample_axis(const char* op, const Tensor& y, int64_t dim) {
  STRIDED_CHECK(y.ndim() > 0, IndexError, op, ": needs a tensor with a dimension of samples, got a 0-d tensor");
  return wrap_axis(op, dim, y.ndim());
}
// Sums of neighbours and differences of points must not wrap around.
Tensor in_64_bits(const Tensor& x) {
  return is_integral(x.dtype()) && x.dtype() != DType::UInt64 ? to_dtype(x, DType::Int64) : x;
}
Tensor without_first(const Tensor& x, int axis) { return narrow(x, axis, 1, x.size(axis) - 1); }
Tensor without_last(const Tensor& x, int axis) { return narrow(x, axis, 0, x.size(axis) - 1); }
Tensor neighbours(const Tensor& y, int axis) { return without_first(y, axis) + without_last(y, axis); }

// Twice the area between neighbouring points.
Tensor areas(const char* op, const Tensor& y, const Tensor& x, int axis) {
  const int from_end = axis - y.ndim();
  const bool broadcasts = x.ndim() >= -from_end && x.ndim() != 1;
  STRIDED_CHECK(
      x.ndim() > 0 && (broadcasts || x.ndim() == 1) && x.size(broadcasts ? x.ndim() + from_end : 0) == y.size(axis),
      RuntimeError, op, ": There must be one `x` value for each sample point");
  Tensor points = in_64_bits(x);
  if (!broadcasts) {
    Dims shape(static_cast<size_t>(y.ndim()), 1);
    shape[static_cast<size_t>(axis)] = x.numel();
    points = reshape(points, shape);
  }
  const int at = points.ndim() + from_end;
  return neighbours(in_64_bits(y), axis) * (without_first(points, at) - without_last(points, at));
}

void check_not_bool(const char* op, const Tensor& y, const Tensor* x = nullptr) {
  STRIDED_CHECK(!is_bool(y.dtype()) && !(x && is_bool(x->dtype())), RuntimeError, op, ": received a bool input for ",
                x ? "`x` or `y`" : "`y`", ", but bool is not supported");
}

// The integral of no samples is 0, as NumPy has it.
Tensor nothing(const Tensor& y, int axis) {
  Dims shape = y.shape();
  shape.erase(static_cast<size_t>(axis));
  return zeros(shape, y.dtype(), y.device());
}

}  // namespace

Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  const int axis = sample_axis("trapezoid", y, dim);
  if (y.size(axis) == 0) return nothing(y, axis);
  check_not_bool("trapezoid", y, &x);
  return shown_as("DivBackward1", sum(areas("trapezoid", y, x, axis), Dims{axis - y.ndim()}) / 2.0);
}

Tensor trapezoid(const Tensor& y, double dx, int64_t dim) {
  const int axis = sample_axis("trapezoid", y, dim);
  if (y.size(axis) == 0) return nothing(y, axis);
  check_not_bool("trapezoid", y);
  const Tensor whole = sum(y, Dims{axis}) - (select(y, axis, 0) * 0.5 + select(y, axis, -1) * 0.5);
  return shown_as("MulBackward1", whole * dx);
}

Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  const int axis = sample_axis("cumulative_trapezoid", y, dim);
  check_not_bool("cumulative_trapezoid", y, &x);
  if (y.size(axis) == 0) return clone(y);
  return shown_as("DivBackward1", cumsum(areas("cumulative_trapezoid", y, x, axis), axis - y.ndim(), {}) / 2.0);
}

Tensor cumulative_trapezoid(const Tensor& y, double dx, int64_t dim) {
  const int axis = sample_axis("cumulative_trapezoid", y, dim);
  check_not_bool("cumulative_trapezoid", y);
  if (y.size(axis) == 0) return clone(y);
  return shown_as("CumsumBackward0", cumsum(neighbours(in_64_bits(y), axis), axis, {}) * (dx / 2));
}

// ---------------------------------------------------------------- covariance

namespace {

void check_weights(const char* name, const char* kind, bool right_kind, const Tensor& w, int64_t observations) {
  STRIDED_CHECK(w.ndim() <= 1, RuntimeError, "cov(): expected ", name, " to have one or fewer dimensions but got ",
                name, " with ", w.ndim(), " dimensions");
  STRIDED_CHECK(right_kind, RuntimeError, "cov(): expected ", name, " to have ", kind, " dtype but got ", name,
                " with ", cpp_name_of(w.dtype()), " dtype");
  STRIDED_CHECK(w.numel() == observations, RuntimeError, "cov(): expected ", name,
                " to have the same numel as there are observations in the input but got ", w.numel(),
                " != ", observations);
  NoGradGuard guard;
  STRIDED_CHECK(observations == 0 || truth(elementwise<Ge>(amin(w), Scalar(0)), true), RuntimeError, "cov(): ", name,
                " cannot be negative");
}

}  // namespace

Tensor cov(const Tensor& x, int64_t correction, const std::optional<Tensor>& fweights,
           const std::optional<Tensor>& aweights, bool* degenerate) {
  STRIDED_CHECK(x.ndim() <= 2, RuntimeError,
                "cov(): expected input to have two or fewer dimensions but got an input with ", x.ndim(),
                " dimensions");
  STRIDED_CHECK(!is_bool(x.dtype()), RuntimeError, "cov(): bool dtype is not supported for input");
  const Tensor rows = x.ndim() == 2 ? x : reshape(x, Dims{1, x.numel()});
  const int64_t n = rows.size(1);
  Tensor w;
  if (fweights) {
    check_weights("fweights", "integral", is_integral(fweights->dtype()) && !is_bool(fweights->dtype()), *fweights, n);
    w = *fweights;
  }
  if (aweights) {
    check_weights("aweights", "floating point", is_floating(aweights->dtype()), *aweights, n);
    w = w.defined() ? w * *aweights : *aweights;
  }
  const Tensor total = w.defined() ? sum(w) : full(Dims(), n, DType::Int64, x.device());
  STRIDED_CHECK(!w.defined() || truth(total, true), RuntimeError, "cov(): weights sum to zero, can't be normalized");
  const Tensor mean = sum(w.defined() ? rows * w : rows, Dims{1}, true) / total;
  // How many observations the weights stand for, less those that the mean has used up.
  Tensor freedom = aweights && correction != 0 ? total - static_cast<double>(correction) * sum(w * *aweights) / total
                                               : total - correction;
  *degenerate = truth(elementwise<Le>(freedom, Scalar(0)), false);
  if (*degenerate) freedom = zeros_like(freedom);
  const Tensor deviation = rows - mean;
  return squeeze(matmul(deviation, conj(transpose(w.defined() ? deviation * w : deviation, 0, 1))) / freedom);
}

Tensor corrcoef(const Tensor& x, bool* degenerate) {
  STRIDED_CHECK(x.ndim() <= 2, RuntimeError,
                "corrcoef(): expected input to have two or fewer dimensions but got an input with ", x.ndim(),
                " dimensions");
  const Tensor c = cov(x, 1, {}, {}, degenerate);
  if (c.ndim() == 0) return c / c;
  const Tensor deviations = elementwise<Sqrt>(real(diagonal(c, 0, 0, 1)));
  const Tensor r = c / unsqueeze(deviations, 1) / deviations;
  // Rounding may lead out of [-1, 1].
  auto limited = [](const Tensor& t) { return elementwise<ClampMax>(elementwise<ClampMin>(t, Scalar(-1)), Scalar(1)); };
  return is_complex(r.dtype()) ? complex(limited(real(r)), limited(imag(r))) : shown_as("ClampBackward1", limited(r));
}

}  // namespace strided
