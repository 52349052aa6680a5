// Covariances, integrals over samples, and distances between rows.
#pragma once

#include <optional>
#include <string>

#include "core/scalar.h"
#include "tensor/tensor.h"

namespace strided {

// Integrals along an axis by the trapezoidal rule: samples y at the points x (one vector, or a shape that broadcasts
// with y's), or `dx` apart. Integers are added in 64 bits.
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim);
Tensor trapezoid(const Tensor& y, double dx, int64_t dim);
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim);
Tensor cumulative_trapezoid(const Tensor& y, double dx, int64_t dim);

// The covariance matrix of variables (rows) observed together (columns). fweights says how often a column was observed,
// aweights how much it counts. `degenerate` is set when there are not more observations than `correction`: the result
// is then infinite or NaN.
Tensor cov(const Tensor& x, int64_t correction, const std::optional<Tensor>& fweights,
           const std::optional<Tensor>& aweights, bool* degenerate);
// The same, divided by the standard deviations.
Tensor corrcoef(const Tensor& x, bool* degenerate);

// The p-norms of x1[..., i, :] - x2[..., j, :], shape (..., i, j); batch axes broadcast. by_product: for p = 2, through
// the matrix product of the rows, which is fast and loses digits where rows are close; without a value where there are
// many rows.
Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<bool> by_product);
// Those of all rows i < j of one matrix, as a vector.
Tensor pdist(const Tensor& x, double p);
// x with every slice along dim whose p-norm is above maxnorm scaled down to that.
Tensor renorm(const Tensor& x, const Scalar& p, int64_t dim, const Scalar& maxnorm);
Tensor renorm_(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm);

}  // namespace strided
