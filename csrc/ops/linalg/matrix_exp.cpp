// The exponential function of matrices.
#include <algorithm>
#include <cmath>

#include "ops/index/index.h"
#include "ops/linalg/common.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/matmul.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/join.h"

namespace strided {

using namespace linalg_detail;

namespace {

// Coefficients of the numerator of the Pade approximant of degree m to exp, and the largest norm for which its error is
// below the dtype's precision (N. J. Higham, "The scaling and squaring method for the matrix exponential revisited",
// SIAM J. Matrix Anal. Appl. 26, 2005: tables 2.3 and 2.1).
struct Pade {
  int degree;
  double theta;
};
constexpr Pade kSingle{7, 3.925724783138660}, kDouble{13, 5.371920351148152};

double coefficient(int degree, int j) {  // (2m - j)! m! / ((2m)! (m - j)! j!), times (2m)! / m!
  double c = 1;
  for (int i = degree - j + 1; i <= 2 * degree - j; ++i) c *= i;  // (2m - j)! / (m - j)!
  for (int i = 2; i <= j; ++i) c /= i;
  return c;
}

// exp(A) for a norm of A up to theta: (V - U)^-1 (V + U), U the odd and V the even terms.
Tensor pade(const Tensor& a, int degree) {
  const int64_t n = a.size(a.ndim() - 1);
  const Tensor a2 = matmul(a, a);
  const double scale = coefficient(degree, degree);  // so that the last coefficient is 1
  Tensor power, odd, even;
  for (int j = 0; j <= degree; j += 2) {
    power = j == 0 ? expand(eye(n, n, a.dtype(), a.device()), a.shape()) : j == 2 ? a2 : matmul(power, a2);
    const Tensor e = power * (coefficient(degree, j) / scale), o = power * (coefficient(degree, j + 1) / scale);
    even = j == 0 ? e : even + e;
    odd = j == 0 ? o : odd + o;
  }
  const Tensor u = matmul(a, odd);
  return solve(even - u, even + u, true);
}

}  // namespace

Tensor matrix_exp(const Tensor& a) {
  const char* op = "linalg.matrix_exp";
  check_square(op, a);
  check_dtype(op, a);
  Tensor e;
  {
    NoGradGuard guard;
    const Tensor x = cast_to(a, compute_dtype_of(a.dtype()));
    const Pade& p = real_of(x.dtype()) == DType::Float64 ? kDouble : kSingle;
    if (a.numel() == 0) {
      e = clone(a);
    } else {
      // Each matrix is halved until its norm is small enough, and its exponential squared as often.
      const Tensor norm = amax(sum(elementwise<Abs>(x), Dims{-2}), Dims{-1});
      const Tensor finite = masked(norm, elementwise<Isfinite>(norm));  // the others give NaN in any case
      const Tensor halvings =
          elementwise<ClampMin>(elementwise<Ceil>(elementwise<Log2>(finite / p.theta)), Scalar(0.0));
      const double most = a.device().is_meta() ? 0.0 : item(amax(halvings)).real();
      const Tensor count = unsqueeze(unsqueeze(halvings, -1), -1);
      e = pade(most > 0 ? x * elementwise<Exp2>(-count) : x, p.degree);
      for (int i = 0; i < most; ++i) e = where(elementwise<Gt>(count, Scalar(i)), matmul(e, e), e);
    }
    e = cast_to(e, a.dtype());
  }
  if (!needs_grad(a)) return e;
  // The derivative in direction G is the upper right block of exp((A, G), (0, A)); the gradient takes A^H for A
  // (N. J. Higham, "Functions of Matrices", 2008, section 10.2).
  return record("LinalgMatrixExpBackward0", e, a, [a = SavedTensor(a)](const Tensor& g) {
    const Tensor ah = adjoint_of(a.get());
    const int64_t n = ah.size(ah.ndim() - 1);
    const Tensor both = cat({cat({ah, g}, -1), cat({zeros_like(g), ah}, -1)}, -2);
    return narrow(narrow(matrix_exp(both), -2, 0, n), -1, n, n);
  });
}

}  // namespace strided
