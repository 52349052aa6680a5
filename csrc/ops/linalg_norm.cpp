// Norms of matrices.
#include <cmath>

#include "core/promotion.h"
#include "ops/linalg_detail.h"
#include "ops/reduction.h"

namespace strided {

using namespace linalg_detail;

namespace {

Tensor prepared(const Tensor& a, const Dims& dim, std::optional<DType> dtype) {
  check_dtype("linalg.matrix_norm", a);
  STRIDED_CHECK(a.ndim() >= 2, RuntimeError, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  STRIDED_CHECK(dim.size() == 2, RuntimeError, "linalg.matrix_norm: dim must be a 2-tuple. Got ", dim);
  const int64_t first = wrap_axis("linalg.matrix_norm", dim[0], a.ndim()), second = wrap_axis("linalg.matrix_norm", dim[1], a.ndim());
  STRIDED_CHECK(first != second, RuntimeError, "linalg.matrix_norm: dims must be different. Got (", dim[0], ", ", dim[1], ")");
  if (!dtype) return a;
  STRIDED_CHECK(is_floating(*dtype) || is_complex(*dtype), RuntimeError, "linalg.matrix_norm: dtype should be floating point or complex. Got ", *dtype);
  STRIDED_CHECK(is_complex(*dtype) == is_complex(a.dtype()), RuntimeError, "linalg.matrix_norm: dtype should be ", is_complex(a.dtype()) ? "complex" : "real", " for ",
                is_complex(a.dtype()) ? "complex" : "real", " inputs, but got ", *dtype);
  STRIDED_CHECK(promote_types(a.dtype(), *dtype) == *dtype, RuntimeError, "linalg.matrix_norm: the dtype of the input (", a.dtype(),
                ") should be convertible without narrowing to the specified dtype (", *dtype, ")");
  return to_dtype(a, *dtype);
}

}  // namespace

Tensor matrix_norm(const Tensor& a, double p, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  const Tensor x = prepared(a, dim, dtype);
  const double order = std::fabs(p);
  STRIDED_CHECK(order != 2, NotImplementedError, "linalg.matrix_norm: order ", p, " needs singular values, which this version does not compute");
  STRIDED_CHECK(order == 1 || std::isinf(order), RuntimeError, "linalg.matrix_norm: Order ", p, " not supported.");
  Dims axes = wrap_axes("linalg.matrix_norm", dim, x.ndim(), false);
  // Sums along one axis, largest or smallest along the other: columns for 1, rows for infinity.
  int64_t along = order == 1 ? axes[0] : axes[1], over = order == 1 ? axes[1] : axes[0];
  if (!keepdim && over > along) --over;
  const Tensor sums = vector_norm(x, 1, Dims{along}, keepdim);
  // The largest of no sums is zero, as the norm of a matrix without elements is.
  if (sums.size(static_cast<int>(over)) == 0) return sum(sums, Dims{over}, keepdim);
  return p > 0 ? amax(sums, Dims{over}, keepdim) : amin(sums, Dims{over}, keepdim);
}

Tensor matrix_norm(const Tensor& a, const std::string& p, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  STRIDED_CHECK(p == "fro" || p == "nuc", RuntimeError, "linalg.matrix_norm: Order ", p, " not supported.");
  STRIDED_CHECK(p == "fro", NotImplementedError, "linalg.matrix_norm: order 'nuc' needs singular values, which this version does not compute");
  return vector_norm(prepared(a, dim, dtype), 2, dim, keepdim);
}

Tensor linalg_norm(const Tensor& a, std::optional<double> p, const std::optional<Dims>& dim, bool keepdim, std::optional<DType> dtype) {
  const Tensor x = dtype ? to_dtype(a, *dtype) : a;
  STRIDED_CHECK(!p || !dim || dim->size() == 1 || dim->size() == 2, RuntimeError, "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
  if (p && (dim ? dim->size() == 2 : a.ndim() == 2)) return matrix_norm(x, *p, dim ? *dim : Dims{-2, -1}, keepdim, {});
  STRIDED_CHECK(!p || dim || a.ndim() == 1 || a.ndim() == 2, RuntimeError, "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ", a.ndim(), "D.");
  return vector_norm(x, p.value_or(2), dim.value_or(Dims()), keepdim);
}

}  // namespace strided
