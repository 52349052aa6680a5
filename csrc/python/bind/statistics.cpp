// Covariances, integrals over samples, distances between rows.
#include "ops/reduce/statistics.h"
#include "base/warning.h"
#include "ops/call.h"
#include "python/bind/bind.h"

namespace strided::python {
namespace {

double real_spacing(const char* op, const Scalar& dx) {
  STRIDED_CHECK(!dx.is_complex() && !dx.is_bool(), RuntimeError, op,
                ": Currently, we only support dx as a real number.");
  return dx.real();
}
Tensor trapezoid_at(const Tensor& y, const Tensor& x, int64_t dim) { return trapezoid(y, x, dim); }
Tensor trapezoid_spaced(const Tensor& y, const Scalar& dx, int64_t dim) {
  return trapezoid(y, real_spacing("trapezoid", dx), dim);
}
Tensor trapz_spaced(const Tensor& y, double dx, int64_t dim) { return trapezoid(y, dx, dim); }
Tensor cumulative_at(const Tensor& y, const Tensor& x, int64_t dim) { return cumulative_trapezoid(y, x, dim); }
Tensor cumulative_spaced(const Tensor& y, const Scalar& dx, int64_t dim) {
  return cumulative_trapezoid(y, real_spacing("cumulative_trapezoid", dx), dim);
}

void warn_if(bool degenerate) {
  if (degenerate)
    warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.");
}
Tensor cov_warned(const Tensor& x, int64_t correction, const std::optional<Tensor>& fweights,
                  const std::optional<Tensor>& aweights) {
  bool degenerate = false;
  const Tensor out = cov(x, correction, fweights, aweights, &degenerate);
  warn_if(degenerate);
  return out;
}
Tensor corrcoef_warned(const Tensor& x) {
  bool degenerate = false;
  const Tensor out = corrcoef(x, &degenerate);
  warn_if(degenerate);
  return out;
}

Tensor cdist_by(const Tensor& x1, const Tensor& x2, double p, const std::optional<std::string>& mode) {
  if (mode == "use_mm_for_euclid_dist_if_necessary") return cdist(x1, x2, p, {});
  if (mode == "use_mm_for_euclid_dist") return cdist(x1, x2, p, true);
  STRIDED_CHECK(mode == "donot_use_mm_for_euclid_dist", ValueError, mode.value_or("None"),
                " is not a valid value for compute_mode");
  return cdist(x1, x2, p, false);
}

}  // namespace

void bind_statistics() {
  const char* area =
      "The integral of samples y along an axis by the trapezoidal rule: sum of (x[i + 1] - x[i]) (y[i] + y[i + 1]) / 2.\n\n"
      "x: the points, a vector or a shape that broadcasts with y's; or dx: their distance. Integers give the default dtype and are added\n"
      "in 64 bits. The integral of no samples is 0. RuntimeError for bool, a complex dx, or another number of points than of samples.\n\n"
      ">>> strided.trapezoid(strided.tensor([1., 5., 10.]), dx=2)\ntensor(21.)";
  def<&trapezoid_at>("trapezoid(Tensor y, Tensor x, *, int dim=-1)", area, kFunction);
  def<&trapezoid_spaced>("trapezoid(Tensor y, *, Number dx=1, int dim=-1)", area, kFunction);
  def<&trapezoid_at>("trapz(Tensor y, Tensor x, *, int dim=-1)", "The same as trapezoid.", kFunction);
  def<&trapz_spaced>("trapz(Tensor y, *, float dx=1, int dim=-1)", "The same as trapezoid.", kFunction);
  const char* running =
      "The integrals of samples y from the first to each later one: trapezoid's partial sums, one fewer than samples.\n\n"
      ">>> strided.cumulative_trapezoid(strided.tensor([1., 2., 3.]))\ntensor([1.5000, 4.0000])";
  def<&cumulative_at>("cumulative_trapezoid(Tensor y, Tensor x, *, int dim=-1)", running, kFunction);
  def<&cumulative_spaced>("cumulative_trapezoid(Tensor y, *, Number dx=1, int dim=-1)", running, kFunction);

  def<&cov_warned>(
      "cov(Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None)",
      "Covariance matrix of variables (rows) from observations (columns): sum of w (x - mean) (x - mean)^H over the sum of w, less the\n"
      "correction. A vector is one variable, whose variance is given as a 0-d tensor.\n\n"
      "fweights: integers, how often each column was observed; aweights: floats, how much it counts. RuntimeError for other shapes and\n"
      "dtypes, negative weights, weights that sum to zero, and bool input; a warning when nothing is left after the correction.\n\n"
      ">>> strided.cov(strided.tensor([[0., 1., 2.], [2., 1., 0.]]))\ntensor([[ 1., -1.],\n        [-1.,  1.]])");
  def<&corrcoef_warned>(
      "corrcoef(Tensor input)",
      "Pearson's correlation coefficients of variables (rows): the covariance matrix divided by the standard deviations, parts clipped to\n"
      "[-1, 1]. NaN for a variable that does not vary.\n\n"
      ">>> strided.corrcoef(strided.tensor([[0., 1., 2.], [3., 1., -1.]]))\ntensor([[ 1., -1.],\n        [-1.,  1.]])");

  def<&cdist_by>(
      "cdist(Tensor x1, Tensor x2, float p=2.0, str? compute_mode='use_mm_for_euclid_dist_if_necessary')",
      "The p-norm distances between the rows of x1 (*, P, M) and of x2 (*, R, M), shape (*, P, R); batch axes broadcast.\n\n"
      "p: any number from 0 (which counts the differing entries) to inf. compute_mode, for p = 2: 'use_mm_for_euclid_dist' takes them from a\n"
      "matrix product, which is fast and loses digits where rows are close; 'donot_use_mm_for_euclid_dist' from the differences; the default\n"
      "does the first for more than 25 rows. Floating dtypes, the 16-bit ones computed in float32; the gradient at distance 0 is 0, and\n"
      "equal largest differences (p = inf) share theirs. RuntimeError for a negative p, other dtypes, or different numbers of columns.\n\n"
      ">>> strided.cdist(strided.tensor([[0., 0.]]), strided.tensor([[3., 4.], [0., 1.]]))\ntensor([[5., 1.]])",
      kFunction);
  def<&pdist>(
      "pdist(Tensor input, float p=2.0)",
      "The p-norm distances of all pairs of rows i < j of a matrix (N, M): a vector of N (N - 1) / 2, in the order (0, 1), (0, 2), ...\n\n"
      ">>> strided.pdist(strided.tensor([[0., 0.], [3., 4.], [0., 4.]]))\ntensor([5., 4., 3.])",
      kFunction);
  def<&renorm>(
      "renorm(Tensor input, Number p, int dim, Number maxnorm, *, Tensor? out=None)",
      "Each slice along dim whose p-norm is above maxnorm, scaled down to it; the others as they are. Floating and complex dtypes, at\n"
      "least 2 dimensions, p > 0, maxnorm >= 0; RuntimeError otherwise.\n\n"
      ">>> strided.renorm(strided.tensor([[3., 4.], [0., 1.]]), 2, 0, 1.)\ntensor([[0.6000, 0.8000],\n        [0.0000, 1.0000]])");
  def<&renorm_>("renorm_(Tensor self, Number p, int dim, Number maxnorm)", "In-place form of renorm.", kMethod);
}

}  // namespace strided::python
