// Triangular systems and Cholesky factorisation.
#include "ops/factory.h"
#include "ops/linalg/common.h"
#include "ops/linalg/matmul.h"
#include "ops/record.h"
#include "ops/shape/join.h"

namespace strided {

using namespace linalg_detail;

namespace {

// inverse(T) b, T read through its strides; batch axes equal.
Tensor solve_raw(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  const Tensor t = a.dtype() == compute_dtype_of(a.dtype()) ? a : to_dtype(a, compute_dtype_of(a.dtype()));
  Tensor x = packed_copy(b);
  if (x.numel() == 0) return x;
  const int n = t.ndim();
  const int64_t size = b.size(b.ndim() - 2), columns = b.size(b.ndim() - 1);
  const Tensor packed = n > 2 && batches(t) > 1 ? contiguous(t) : t;
  const int64_t step = n > 2 && batches(t) > 1 ? size * size : 0;
  const Matrix matrix{packed.data(), packed.strides()[n - 2], packed.strides()[n - 1]};
  backend(b.device())
      .solve_triangular(context("solve_triangular", b), x.dtype(), batches(b), size, columns, matrix, step, x.data(),
                        upper, unit);
  return x;
}

Tensor triangle(const Tensor& x, bool upper, int64_t diagonal) { return upper ? triu(x, diagonal) : tril(x, diagonal); }

}  // namespace

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unitriangular) {
  const char* op = "linalg.solve_triangular";
  check_square(op, a);
  check_dtype(op, a);
  check_same_device(op, a, b);
  STRIDED_CHECK(b.ndim() >= 2, RuntimeError, op, ": The input tensor B must have at least 2 dimensions.");
  const int64_t n = a.size(a.ndim() - 1);
  STRIDED_CHECK(b.size(b.ndim() - (left ? 2 : 1)) == n, RuntimeError, op,
                ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (", n, "x", n,
                " and ", b.size(b.ndim() - 2), "x", b.size(b.ndim() - 1), ")");
  if (a.dtype() != b.dtype()) return solve_triangular(a, to_dtype(b, a.dtype()), upper, left, unitriangular);
  if (!left)
    return transpose(solve_triangular(transpose(a, -2, -1), transpose(b, -2, -1), !upper, true, unitriangular), -2, -1);
  const Dims batch = broadcast_shapes(batch_shape(a, 2), batch_shape(b, 2));
  Dims shape_a = batch, shape_b = batch;
  shape_a.push_back(n);
  shape_a.push_back(n);
  shape_b.push_back(n);
  shape_b.push_back(b.shape().back());
  const Tensor lhs = a.shape() == shape_a ? a : expand(a, shape_a), rhs = b.shape() == shape_b ? b : expand(b, shape_b);
  Tensor x = solve_raw(lhs, rhs, upper, unitriangular);
  if (x.dtype() != b.dtype()) x = to_dtype(x, b.dtype());
  if (!needs_grad(lhs, rhs)) return x;
  // As for solve, with the gradient of A kept to its triangle.
  auto formula = [](const Tensor& g, const SavedTensor& a, const SavedTensor& x, bool upper, bool, bool unitriangular) {
    const Tensor gb = solve_triangular(adjoint_of(a.get()), g, !upper, true, unitriangular);
    if (!x.was_saved()) return std::vector<Tensor>{Tensor(), gb};
    const Tensor ga = triangle(-matmul(gb, adjoint_of(x.get())), upper, unitriangular ? (upper ? 1 : -1) : 0);
    return std::vector<Tensor>{ga, gb};
  };
  return record("LinalgSolveTriangularBackward0", x, {lhs, rhs},
                NamedFormula{std::tuple{SavedTensor(lhs), lhs.requires_grad() ? SavedTensor::output(x) : SavedTensor(),
                                        upper, true, unitriangular},
                             std::move(formula), "self result upper left unitriangular"});
}

namespace {

std::tuple<Tensor, Tensor> cholesky_with_info(const Tensor& a, bool upper, Check check) {
  check_square("linalg.cholesky", a);
  check_dtype("linalg.cholesky", a);
  Tensor l = packed_copy(a);
  const Dims shape = batch_shape(a, 2);
  const Tensor info = l.numel() == 0 ? zeros(shape, DType::Int32, a.device()) : empty(shape, DType::Int32, a.device());
  if (l.numel() > 0)
    backend(a.device())
        .cholesky(context("cholesky", a), l.dtype(), info.numel(), a.size(a.ndim() - 1), l.data(), upper,
                  info.data_as<int32_t>());
  check_info("linalg.cholesky", LinalgFailure::NotPositiveDefinite, info, check);
  if (l.dtype() != a.dtype()) l = to_dtype(l, a.dtype());
  if (needs_grad(a))
    // I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527: with L lower,
    // grad A = L^-H phi(L^H G) L^-1, phi halving the diagonal of the lower triangle; made Hermitian.
    record("LinalgCholeskyExBackward0", l, a,
           NamedFormula{std::tuple{SavedTensor::output(l), upper},
                        [](const Tensor& g, const SavedTensor& l, bool upper) {
                          const Tensor factor = upper ? adjoint_of(l.get()) : l.get(), grad = upper ? adjoint_of(g) : g;
                          Tensor phi = tril(matmul(adjoint_of(factor), grad), 0);
                          phi = phi - diag_embed(diagonal(phi, 0, -2, -1) * 0.5, 0, -2, -1);
                          const Tensor left = solve_triangular(adjoint_of(factor), phi, true, true, false);
                          const Tensor both = solve_triangular(factor, left, false, false, false);
                          return (both + adjoint_of(both)) * 0.5;
                        },
                        "L upper"});
  return {l, info};
}

}  // namespace

std::tuple<Tensor, Tensor> cholesky_ex(const Tensor& a, bool upper, bool check_errors) {
  return cholesky_with_info(a, upper, check_errors ? Check::Now : Check::Never);
}

Tensor cholesky(const Tensor& a, bool upper) { return std::get<0>(cholesky_with_info(a, upper, Check::Later)); }

Tensor cholesky_solve(const Tensor& b, const Tensor& l, bool upper) {
  STRIDED_CHECK(b.ndim() >= 2, RuntimeError, "b should have at least 2 dimensions, but has ", b.ndim(),
                " dimensions instead");
  STRIDED_CHECK(l.ndim() >= 2, RuntimeError, "u should have at least 2 dimensions, but has ", l.ndim(),
                " dimensions instead");
  const int64_t n = l.size(l.ndim() - 1), rows = l.size(l.ndim() - 2), b_rows = b.size(b.ndim() - 2);
  STRIDED_CHECK(n == rows, RuntimeError, "A must be batches of square matrices, but they are ", rows, " by ", n,
                " matrices");
  STRIDED_CHECK(b_rows == n, RuntimeError, "Incompatible matrix sizes for cholesky_solve: each A matrix is ", n, " by ",
                n, " but each b matrix is ", b_rows, " by ", b.size(b.ndim() - 1));
  Tensor x;
  {
    NoGradGuard guard;
    const Tensor lower = upper ? adjoint_of(l) : l;
    x = solve_triangular(adjoint_of(lower), solve_triangular(lower, b, false, true, false), true, true, false);
    x = transpose(contiguous(transpose(x, -2, -1)), -2, -1);  // column by column, as PyTorch's
  }
  if (!needs_grad(b, l)) return x;
  // The gradient of A = L L^H is that of solve; L gets (grad A + grad A^H) L. That is not kept to the triangle:
  // programs compare it with the gradient that goes through the product L L^H, and PyTorch gives that one.
  return record(
      "CholeskySolveBackward0", x, {b, l},
      [l = SavedTensor(l), x = l.requires_grad() ? SavedTensor::output(x) : SavedTensor(), upper](const Tensor& g) {
        const Tensor gb = cholesky_solve(g, l.get(), upper);
        if (!x.was_saved()) return std::vector<Tensor>{gb, Tensor()};
        const Tensor factor = triangle(l.get(), upper, 0), ga = matmul(gb, adjoint_of(x.get())),
                     both = ga + adjoint_of(ga);
        return std::vector<Tensor>{gb, -(upper ? matmul(factor, both) : matmul(both, factor))};
      });
}

Tensor cholesky_inverse(const Tensor& l, bool upper) {
  check_square("cholesky_inverse", l);
  check_dtype("cholesky_inverse", l);
  const int64_t n = l.size(l.ndim() - 1);
  const Tensor one = expand(eye(n, n, l.dtype(), l.device()), l.shape());
  return shown_as("CholeskyInverseBackward0", cholesky_solve(one, l, upper));
}

}  // namespace strided
