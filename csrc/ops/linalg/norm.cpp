// Norms of matrices.
#include <algorithm>
#include <cmath>

#include "core/promotion.h"
#include "ops/index/index.h"
#include "ops/linalg/common.h"
#include "ops/linalg/decompositions.h"
#include "ops/reduce/reduction.h"

namespace strided {

using namespace linalg_detail;

namespace {

Tensor prepared(const Tensor& a, const Dims& dim, std::optional<DType> dtype) {
  check_dtype("linalg.matrix_norm", a);
  STRIDED_CHECK(a.ndim() >= 2, RuntimeError, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  STRIDED_CHECK(dim.size() == 2, RuntimeError, "linalg.matrix_norm: dim must be a 2-tuple. Got ", dim);
  const int64_t first = wrap_axis("linalg.matrix_norm", dim[0], a.ndim()),
                second = wrap_axis("linalg.matrix_norm", dim[1], a.ndim());
  STRIDED_CHECK(first != second, RuntimeError, "linalg.matrix_norm: dims must be different. Got (", dim[0], ", ",
                dim[1], ")");
  if (!dtype) return a;
  STRIDED_CHECK(is_floating(*dtype) || is_complex(*dtype), RuntimeError,
                "linalg.matrix_norm: dtype should be floating point or complex. Got ", *dtype);
  STRIDED_CHECK(is_complex(*dtype) == is_complex(a.dtype()), RuntimeError, "linalg.matrix_norm: dtype should be ",
                is_complex(a.dtype()) ? "complex" : "real", " for ", is_complex(a.dtype()) ? "complex" : "real",
                " inputs, but got ", *dtype);
  STRIDED_CHECK(promote_types(a.dtype(), *dtype) == *dtype, RuntimeError,
                "linalg.matrix_norm: the dtype of the input (", a.dtype(),
                ") should be convertible without narrowing to the specified dtype (", *dtype, ")");
  return to_dtype(a, *dtype);
}

// The singular values of the matrices along two axes, made one number each: their sum, largest or smallest.
template <class F>
Tensor of_singular_values(const Tensor& x, const Dims& dim, bool keepdim, F reduce) {
  const Dims axes = wrap_axes("linalg.matrix_norm", dim, x.ndim(), false);
  const Tensor s = svdvals(movedim(x, axes, Dims{-2, -1}));
  const Tensor out = s.shape().back() == 0 ? sum(s, Dims{-1}) : reduce(s);  // no singular values: 0, as LAPACK has it
  if (!keepdim) return out;
  return unsqueeze(unsqueeze(out, std::min(axes[0], axes[1])), std::max(axes[0], axes[1]));
}

}  // namespace

Tensor matrix_norm(const Tensor& a, double p, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  const Tensor x = prepared(a, dim, dtype);
  const double order = std::fabs(p);
  if (order == 2)
    return of_singular_values(x, dim, keepdim,
                              [&](const Tensor& s) { return p > 0 ? amax(s, Dims{-1}) : amin(s, Dims{-1}); });
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
  const Tensor x = prepared(a, dim, dtype);
  return p == "fro" ? vector_norm(x, 2, dim, keepdim)
                    : of_singular_values(x, dim, keepdim, [](const Tensor& s) { return sum(s, Dims{-1}); });
}

Tensor linalg_norm(const Tensor& a, const std::optional<Scalar>& p, const std::optional<Dims>& dim, bool keepdim,
                   std::optional<DType> dtype) {
  const Tensor x = dtype ? to_dtype(a, *dtype) : a;
  STRIDED_CHECK(!dim || dim->size() == 1 || dim->size() == 2, RuntimeError,
                "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
  if (p && (dim ? dim->size() == 2 : a.ndim() == 2))
    return matrix_norm(x, p->real(), dim ? *dim : Dims{-2, -1}, keepdim, {});
  STRIDED_CHECK(!p || dim || a.ndim() == 1 || a.ndim() == 2, RuntimeError,
                "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ", a.ndim(), "D.");
  return vector_norm(x, p.value_or(2.0), dim.value_or(Dims()), keepdim);
}

namespace {

// |A| |A^-1| in a norm that matrix_norm knows; infinite for a singular A.
template <class P>
Tensor cond_by_inverse(const Tensor& a, const P& p) {
  check_square(concat("linalg.cond(ord=", p, ")").c_str(), a);
  const auto [inverse, info] = inv_ex(a, false);
  const Tensor regular = elementwise<Eq>(info, Scalar(0)),
               finite = masked(inverse, unsqueeze(unsqueeze(regular, -1), -1));
  const Tensor product = matrix_norm(a, p, {-2, -1}, false, {}) * matrix_norm(finite, p, {-2, -1}, false, {});
  return where(regular, product, Scalar(INFINITY));
}

}  // namespace

Tensor cond(const Tensor& a, std::optional<double> p) {
  check_matrices("linalg.cond", a, "");
  const double order = p.value_or(2);
  const Dims shape = batch_shape(a, 2);
  if (a.numel() == 0) return zeros(shape, real_of(a.dtype()), a.device());
  STRIDED_CHECK(std::fabs(order) == 1 || std::fabs(order) == 2 || std::isinf(order), RuntimeError,
                "linalg.cond got an invalid norm type: ", order);
  if (std::fabs(order) != 2) return cond_by_inverse(a, order);
  const Tensor s = svdvals(a), largest = select(s, -1, 0), smallest = select(s, -1, -1);
  return order > 0 ? largest / smallest : smallest / largest;
}

Tensor cond(const Tensor& a, const std::string& p) {
  check_matrices("linalg.cond", a, "");
  if (a.numel() == 0) return zeros(batch_shape(a, 2), real_of(a.dtype()), a.device());
  STRIDED_CHECK(p == "fro" || p == "nuc", RuntimeError, "linalg.cond got an invalid norm type: ", p);
  return cond_by_inverse(a, p);
}

}  // namespace strided
