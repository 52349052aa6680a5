// The LU factorisation with its factors as results, and systems solved from them.
#include <algorithm>

#include "ops/copy.h"
#include "ops/linalg/common.h"
#include "ops/linalg/matmul.h"
#include "ops/shape/join.h"

namespace strided {

using namespace linalg_detail;

namespace {

Tensor rows_of(const Tensor& x, int64_t start, int64_t length) { return narrow(x, -2, start, length); }
Tensor columns_of(const Tensor& x, int64_t start, int64_t length) { return narrow(x, -1, start, length); }

// Gradient of LU.
// With P^T A = L U, k = min(m, n), L = (L1; L2) and U = (U1, U2) split after k rows and columns, a change of A gives
// dL1 = L1 lower(M) and dU1 = upper(M) U1, where M = L1^-1 (P^T dA)_11 U1^-1, lower() keeps what is below the diagonal
// and upper() the rest. Beside that, for m < n:  dU2 = L1^-1 (P^T dA)_12 - lower(M) U2; for m > n:
// dL2 = (P^T dA)_21 U1^-1 - L2 upper(M). The gradient is the adjoint of this map. (The square case is in F. de Hoog,
// R. Anderssen, M. Lukas, "Differentiation of matrix functionals using triangular factorization", Math. Comp. 80,
// 2011.)
Tensor lu_gradient(const Tensor& packed, const Tensor& pivots, const Tensor& g) {
  const auto [p, l, u] = lu_unpack(packed, pivots);
  const int n = packed.ndim();
  const int64_t rows = packed.size(n - 2), columns = packed.size(n - 1), k = std::min(rows, columns);
  const Tensor gl = tril(columns_of(g, 0, k), -1), gu = triu(rows_of(g, 0, k), 0);
  const Tensor l1 = rows_of(l, 0, k), u1 = columns_of(u, 0, k), l1_adjoint = adjoint_of(l1),
               u1_adjoint = adjoint_of(u1);
  Tensor below = matmul(l1_adjoint, rows_of(gl, 0, k)), above = matmul(columns_of(gu, 0, k), u1_adjoint);
  if (columns > k) below = below - matmul(columns_of(gu, k, columns - k), adjoint_of(columns_of(u, k, columns - k)));
  if (rows > k) above = above - matmul(adjoint_of(rows_of(l, k, rows - k)), rows_of(gl, k, rows - k));
  // X U1^H = M is solved from the right, L1^H X = M from the left.
  Tensor result = solve_triangular(u1_adjoint, tril(below, -1) + triu(above, 0), false, false, false);
  if (rows > k)
    result = cat({solve_triangular(l1_adjoint, result, true, true, true),
                  solve_triangular(u1_adjoint, rows_of(gl, k, rows - k), false, false, false)},
                 -2);
  else if (columns > k)
    result = solve_triangular(l1_adjoint, cat({result, columns_of(gu, k, columns - k)}, -1), true, true, true);
  else result = solve_triangular(l1_adjoint, result, true, true, true);
  return matmul(p, result);
}

// The permutation matrices that the pivots stand for: the identity with its rows exchanged, the last exchange first.
Tensor permutation_of(const Tensor& pivots, int64_t rows, DType dtype) {
  Dims shape = batch_shape(pivots, 1);
  shape.push_back(rows);
  shape.push_back(rows);
  const Tensor out = zeros(shape, dtype, pivots.device()), p = contiguous(pivots);
  if (out.numel() == 0) return out;
  fill_into(make_view(out, strided::diagonal(out.layout(), 0, -2, -1)), Scalar(1));
  if (p.numel() > 0)
    backend(p.device())
        .exchange_rows(context("lu_unpack", p), dtype, out.numel() / (rows * rows), rows, rows, out.data(),
                       p.data_as<int32_t>(), p.shape().back(), true);
  return out;
}

Factors recorded_factors(const char* op, const Tensor& a, Check check) {
  Factors f = factor(a);
  check_info(op, LinalgFailure::ZeroPivot, f.info, check);
  f.lu = cast_to(f.lu, a.dtype());
  if (needs_grad(a))
    record("LinalgLuFactorExBackward0", f.lu, a,
           [lu = SavedTensor::output(f.lu), pivots = SavedTensor(f.pivots)](const Tensor& g) {
             return lu_gradient(lu.get(), pivots.get(), g);
           });
  return f;
}

}  // namespace

Factors lu_factor_ex(const Tensor& a, bool check_errors) {
  STRIDED_CHECK(a.ndim() >= 2, RuntimeError,
                "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: ", a.shape(), " instead");
  check_dtype("torch.lu_factor", a);
  return recorded_factors("torch.linalg.lu_factor_ex", a, check_errors ? Check::Now : Check::Never);
}

std::tuple<Tensor, Tensor> lu_factor(const Tensor& a) {
  STRIDED_CHECK(a.ndim() >= 2, RuntimeError,
                "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: ", a.shape(), " instead");
  check_dtype("torch.lu_factor", a);
  const Factors f = recorded_factors("torch.linalg.lu_factor", a, Check::Later);
  return {f.lu, f.pivots};
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& lu, const Tensor& pivots) {
  STRIDED_CHECK(lu.ndim() >= 2, RuntimeError,
                "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: ", lu.shape(), " instead");
  STRIDED_CHECK(pivots.dtype() == DType::Int32, RuntimeError,
                "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
                "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor");
  const int n = lu.ndim();
  const int64_t rows = lu.size(n - 2), columns = lu.size(n - 1), k = std::min(rows, columns);
  Dims expected = batch_shape(lu, 2);
  expected.push_back(k);
  STRIDED_CHECK(pivots.shape() == expected, RuntimeError, "torch.lu_unpack: pivots of size ", pivots.shape(),
                " do not fit factors of size ", lu.shape());
  const Tensor below = tril(columns_of(lu, 0, k), -1);
  return {permutation_of(pivots, rows, lu.dtype()), below + eye(rows, k, lu.dtype(), lu.device()),
          triu(rows_of(lu, 0, k), 0)};
}

std::tuple<Tensor, Tensor, Tensor> lu(const Tensor& a) {
  STRIDED_CHECK(a.ndim() >= 2, RuntimeError,
                "linalg.lu: Expected tensor with 2 or more dimensions. Got size: ", a.shape(), " instead");
  check_dtype("linalg.lu", a);
  const Factors f = recorded_factors("linalg.lu", a, Check::Never);
  return lu_unpack(f.lu, f.pivots);
}

Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint) {
  const char* op = "linalg.lu_solve";
  check_square(op, lu);
  check_dtype(op, lu);
  check_same_device(op, lu, b);
  check_same_device(op, lu, pivots);
  STRIDED_CHECK(b.ndim() >= 2, RuntimeError, op, ": The input tensor B must have at least 2 dimensions.");
  STRIDED_CHECK(lu.dtype() == b.dtype(), RuntimeError, op,
                ": Expected LU and B to have the same dtype, but found LU of type ", lu.dtype(), " and B of type ",
                b.dtype(), " instead");
  STRIDED_CHECK(pivots.dtype() == DType::Int32, RuntimeError, op,
                ": pivots should be a Tensor of scalar type torch.int32");
  const int64_t n = lu.size(lu.ndim() - 1);
  STRIDED_CHECK(pivots.ndim() >= 1 && pivots.shape().back() == n, RuntimeError, op,
                ": Number of pivots per batch should be same as the dimension of the matrix");
  STRIDED_CHECK(pivots.shape() == batch_shape(lu, 1), RuntimeError, op,
                ": Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape ", pivots.shape(),
                " instead");
  STRIDED_CHECK(b.size(b.ndim() - (left ? 2 : 1)) == n, RuntimeError, op,
                ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (", n, "x", n,
                " and ", b.size(b.ndim() - 2), "x", b.size(b.ndim() - 1), ")");
  const Tensor p = contiguous(pivots);
  // X A = B is A^H X^H = B^H.
  if (!left) return adjoint_of(lu_solve(lu, p, adjoint_of(b), true, !adjoint));
  Dims shape = broadcast_shapes(batch_shape(lu, 2), batch_shape(b, 2));
  shape.push_back(n);
  shape.push_back(b.shape().back());
  Tensor x;
  {
    NoGradGuard guard;
    x = cast_to(solve_factored(cast_to(lu, compute_dtype_of(lu.dtype())), p, expand(b, shape), adjoint ? 2 : 0),
                b.dtype());
  }
  if (!needs_grad(lu, b)) return x;
  const bool wants_lu = lu.requires_grad();
  return record("LinalgLuSolveBackward0", x, {lu, b},
                [lu = SavedTensor(lu), p = SavedTensor(p), x = wants_lu ? SavedTensor::output(x) : SavedTensor(),
                 adjoint](const Tensor& g) {
                  const Tensor packed = lu.get(), pivots = p.get(), gb = lu_solve(packed, pivots, g, true, !adjoint);
                  if (!x.was_saved()) return std::vector<Tensor>{Tensor(), gb};
                  // With P^T A = L U and M = -A^-H G X^H, the gradient of A: that of L is P^T M U^H and that of U is
                  // L^H P^T M, each kept to its triangle. With A^H for A, M = -X (A^-1 G)^H.
                  const auto [permutation, l, u] = lu_unpack(packed, pivots);
                  const Tensor first = matmul(transpose(permutation, -2, -1), adjoint ? x.get() : gb),
                               second = adjoint ? gb : x.get();
                  const Tensor gl = tril(matmul(first, adjoint_of(matmul(u, second))), -1),
                               gu = triu(matmul(matmul(adjoint_of(l), first), adjoint_of(second)), 0);
                  return std::vector<Tensor>{-(gl + gu), gb};
                });
}

}  // namespace strided
