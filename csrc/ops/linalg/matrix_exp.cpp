// The exponential function of matrices.
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

// The Taylor polynomials of degree 8 and 18 in three and five products (P. Bader, S. Blanes, F. Casas, "Computing the
// matrix exponential with an optimized Taylor polynomial approximation", Mathematics 7, 2019), and the largest norms
// for which their errors are below the precision of the dtype.
struct Bounds {
  double degree8, degree18;
};
constexpr Bounds kSingle{5.800524627688768e-1, 3.010066362817634}, kDouble{4.991228871115323e-2, 1.090863719290036};

struct Term {
  const Tensor& power;
  double factor;
};
Tensor sum_of(std::initializer_list<Term> terms) {
  Tensor sum;
  for (const auto& [power, factor] : terms) {
    const Tensor part = factor == 1 ? power : power * factor;
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

Tensor taylor8(const Tensor& a, const Tensor& identity) {
  const double root = std::sqrt(177.0), x3 = 2.0 / 3;
  const Tensor a2 = matmul(a, a);
  const Tensor a4 = matmul(a2, sum_of({{a, x3 * (1 + root) / 88}, {a2, x3 * (1 + root) / 352}}));
  const Tensor a8 = matmul(sum_of({{a2, x3}, {a4, 1}}), sum_of({{identity, (29 * root - 271) / (315 * x3)},
                                                                {a, (11 * root - 11) / (1260 * x3)},
                                                                {a2, (11 * root - 99) / (5040 * x3)},
                                                                {a4, (89 - root) / (5040 * x3 * x3)}}));
  return sum_of({{identity, 1}, {a, 1}, {a2, (857 - 58 * root) / 630}, {a8, 1}});
}

Tensor taylor18(const Tensor& a, const Tensor& identity) {
  const Tensor a2 = matmul(a, a), a3 = matmul(a, a2), a6 = matmul(a3, a3);
  const Tensor b1 =
      sum_of({{a, -1.00365581030144618291e-1}, {a2, -8.02924648241156932449e-3}, {a3, -8.92138498045729985177e-4}});
  const Tensor b2 = sum_of({{a, 3.97849749499645077844e-1},
                            {a2, 1.36783778460411720168},
                            {a3, 4.98289622525382669416e-1},
                            {a6, -6.37898194594723280150e-4}});
  const Tensor b3 = sum_of({{identity, -1.09676396052962061844e+1},
                            {a, 1.68015813878906206114},
                            {a2, 5.71779846478865511061e-2},
                            {a3, -6.98210122488052056106e-3},
                            {a6, 3.34975017086070470649e-5}});
  const Tensor b4 = sum_of({{identity, -9.04316832390810593223e-2},
                            {a, -6.76404519071381882256e-2},
                            {a2, 6.75961301770459654925e-2},
                            {a3, 2.95552570429315521194e-2},
                            {a6, -1.39180257516060693404e-5}});
  const Tensor b5 =
      sum_of({{a2, -9.23364619367118555360e-2}, {a3, -1.69364939002081722752e-2}, {a6, -1.40086798182036094347e-5}});
  const Tensor a9 = matmul(b1, b5) + b4;
  return b2 + matmul(b3 + a9, a9);
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
    const Bounds& bounds = real_of(x.dtype()) == DType::Float64 ? kDouble : kSingle;
    if (a.numel() == 0) {
      e = clone(a);
    } else {
      // Each matrix is halved until its norm is small enough, and its exponential squared as often.
      const Tensor norm = amax(sum(elementwise<Abs>(x), Dims{-2}), Dims{-1});
      const Tensor finite = masked(norm, elementwise<Isfinite>(norm));  // the others give NaN in any case
      const int64_t n = x.size(x.ndim() - 1);
      const Tensor identity = expand(eye(n, n, x.dtype(), x.device()), x.shape());
      const double largest = a.device().is_meta() ? 0.0 : item(amax(finite)).real();
      if (largest <= bounds.degree8) {
        e = taylor8(x, identity);
      } else {
        const Tensor halvings =
            elementwise<ClampMin>(elementwise<Ceil>(elementwise<Log2>(finite / bounds.degree18)), Scalar(0.0));
        const Tensor count = unsqueeze(unsqueeze(halvings, -1), -1);
        const double most = std::ceil(std::log2(largest / bounds.degree18));
        e = taylor18(most > 0 ? x * elementwise<Exp2>(-count) : x, identity);
        for (int i = 0; i < most; ++i) e = where(elementwise<Gt>(count, Scalar(i)), matmul(e, e), e);
      }
    }
    e = cast_to(e, a.dtype());
  }
  if (!needs_grad(a)) return e;
  // The derivative in direction G is the upper right block of exp((A, G), (0, A)); the gradient takes A^H for A
  // (N. J. Higham, "Functions of Matrices", 2008, section 10.2).
  auto formula = [](const Tensor& g, const SavedTensor& a) {
    const Tensor ah = adjoint_of(a.get());
    const int64_t n = ah.size(ah.ndim() - 1);
    const Tensor both = cat({cat({ah, g}, -1), cat({zeros_like(g), ah}, -1)}, -2);
    return narrow(narrow(matrix_exp(both), -2, 0, n), -1, n, n);
  };
  return record("LinalgMatrixExpBackward0", e, a, NamedFormula{std::tuple{SavedTensor(a)}, std::move(formula), "self"});
}

}  // namespace strided
