// Least squares, and the factorisation of symmetric indefinite matrices.
#include <algorithm>
#include <limits>

#include "ops/linalg/common.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/matmul.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/join.h"

namespace strided {

using namespace linalg_detail;

namespace {

// A tall system as one of n rows: with [A B] = Q [R C; 0 S], |A X - B|^2 is |R X - C|^2 + |S|^2, and A's singular
// values and the norms of its columns are R's. The QR of this library takes less time than a driver on all of the rows
// (LAPACK's gelsd begins so, too: E. Anderson et al., "LAPACK Users' Guide", 1999, section 2.4).
struct System {
  Tensor a, b, rest;  // R, C and the upper triangle of S
};
bool is_tall(int64_t m, int64_t n, int64_t columns) { return m >= 2 * n && columns <= std::max<int64_t>(n, 8); }
System reduced(const char* op, const Tensor& a, const Tensor& b) {
  const int64_t m = a.size(a.ndim() - 2), n = a.size(a.ndim() - 1), columns = b.size(b.ndim() - 1);
  const Tensor packed = qr_packed(op, cat({a, b}, -1)).first;
  const auto part = [&](int64_t row, int64_t rows, int64_t column, int64_t count) {
    return narrow(narrow(packed, -2, row, rows), -1, column, count);
  };
  return {triu(part(0, n, 0, n), 0), part(0, n, n, columns), triu(part(n, std::min(m - n, columns), n, columns), 0)};
}

}  // namespace

LeastSquares lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond,
                   const std::optional<std::string>& driver) {
  const char* op = "torch.linalg.lstsq";
  STRIDED_CHECK(a.ndim() >= 2, RuntimeError, op, ": input must have at least 2 dimensions.");
  STRIDED_CHECK(b.ndim() >= 1, RuntimeError, op, ": other must have at least 1 dimension.");
  check_dtype(op, a);
  STRIDED_CHECK(a.dtype() == b.dtype(), RuntimeError, op,
                ": Expected input and other to have the same dtype, but got input's dtype ", a.dtype(),
                " and other's dtype ", b.dtype());
  check_same_device(op, a, b);
  const bool vector = is_vector(a, b);
  const int64_t m = a.size(a.ndim() - 2), n = a.size(a.ndim() - 1);
  STRIDED_CHECK(b.size(b.ndim() - (vector ? 1 : 2)) == m, RuntimeError, op, ": input.size(-2) should match other.size(",
                vector ? "-1" : "-2", ")");
  const DType real = real_of(compute_dtype_of(a.dtype()));
  const double eps =
      real == DType::Float64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const Tensor rhs = vector ? unsqueeze(b, -1) : b;
  const Dims batch = broadcast_shapes(batch_shape(a, 2), batch_shape(rhs, 2));
  auto shaped = [&batch](const Tensor& x) {
    Dims shape = batch;
    shape.push_back(x.size(x.ndim() - 2));
    shape.push_back(x.size(x.ndim() - 1));
    return expand(x, shape);
  };
  const Tensor lhs = shaped(a), right = shaped(rhs);
  const int64_t columns = right.size(right.ndim() - 1), k = std::min(m, n);
  LeastSquares out;
  auto none = [&a] { return empty(Dims{0}, real_of(a.dtype()), a.device()); };
  {
    NoGradGuard guard;
    System system{lhs, right, {}};
    if (lhs.numel() > 0 && columns > 0 && is_tall(m, n, columns)) system = reduced(op, lhs, right);
    const int64_t rows = system.a.size(system.a.ndim() - 2);
    const Tensor x = empty_by_columns(lhs, std::max(rows, n), columns), info = zeros(batch, DType::Int32, a.device());
    const Tensor rank = zeros(batch, DType::Int32, a.device());
    Dims value_shape = batch;
    value_shape.push_back(k);
    const Tensor s = empty(value_shape, real, a.device());
    copy_into(narrow(x, -2, 0, rows), system.b);
    if (m < n) copy_into(narrow(x, -2, m, n - m), zeros_like(narrow(x, -2, m, n - m)));
    LeastSquaresParts gives;
    backend(a.device())
        .least_squares(plan_of(op, copy_by_columns(system.a), info), columns, x.data(),
                       driver ? driver->c_str() : nullptr, rcond.value_or(eps * static_cast<double>(std::max(m, n))),
                       rank.data_as<int32_t>(), s.data(), &gives);
    check_info(op, LinalgFailure::LeastSquares, info, Check::Later);
    if (lhs.numel() == 0 && x.numel() > 0) copy_into(narrow(x, -2, 0, n), zeros_like(narrow(x, -2, 0, n)));
    out.solution = cast_to(contiguous(narrow(x, -2, 0, n)), a.dtype());
    if (vector) out.solution = squeeze(out.solution, Dims{-1});
    // What is of a matrix alone has the batch of the matrices, as in PyTorch.
    const Dims own = batch_shape(a, 2);
    auto of_matrices = [&](Tensor t) {
      if (rank.numel() == 0) return t;
      for (size_t i = own.size(); i < batch.size(); ++i) t = select(t, 0, 0);
      for (size_t i = 0; i < own.size(); ++i)
        if (own[i] < t.size(static_cast<int>(i))) t = narrow(t, static_cast<int>(i), 0, own[i]);
      return contiguous(t);
    };
    out.rank = gives.rank ? of_matrices(to_dtype(rank, DType::Int64)) : empty(Dims{0}, DType::Int64, a.device());
    out.singular_values = gives.singular_values ? of_matrices(cast_to(s, real_of(a.dtype()))) : none();
    // Residuals are of no use where a matrix has not full rank.
    const bool full_rank = !gives.rank || (rank.numel() > 0 && item(all(elementwise<Eq>(rank, Scalar(n)))).to_bool());
    out.residuals = none();
    if (m > n && gives.residuals && full_rank) {
      const Tensor rest = elementwise<Abs>(system.rest.defined() ? system.rest : narrow(x, -2, n, m - n));
      out.residuals = cast_to(sum(rest * rest, Dims{-2}), real_of(a.dtype()));
    }
  }
  if (!needs_grad(a, b)) return out;
  const bool residuals = out.residuals.numel() > 0;
  // X = A^+ B: that of B is (A^+)^H G, that of A the one of the pseudo-inverse. |B - A X|^2 has the gradients 2 (B - A
  // X) and -2 (B - A X) X^H.
  record_all("LinalgLstsqBackward0", {out.solution, out.residuals}, {lhs, right},
             [a = SavedTensor(lhs), b = SavedTensor(right), x = SavedTensor::output(out.solution), vector,
              residuals](const std::vector<Tensor>& g) {
               const Tensor A = a.get(), B = b.get();
               Tensor ga, gb;
               auto add = [](Tensor& to, const Tensor& t) { to = to.defined() ? to + t : t; };
               if (g[0].defined()) {
                 const Tensor gx = vector ? unsqueeze(g[0], -1) : g[0], p = pinv(A, {}, false);
                 ga = pinv_backward(matmul(gx, adjoint_of(B)), p, A);
                 gb = matmul(adjoint_of(p), gx);
               }
               if (residuals && g[1].defined()) {
                 const Tensor X = vector ? unsqueeze(x.get(), -1) : x.get();
                 const Tensor r = (B - matmul(A, X)) * (unsqueeze(g[1], -2) * 2.0);
                 add(gb, r);
                 add(ga, -matmul(r, adjoint_of(X)));
               }
               return std::vector<Tensor>{ga, gb};
             });
  return out;
}

LdlFactors ldl_factor_ex(const Tensor& a, bool hermitian, bool check_errors) {
  const char* op = "torch.linalg.ldl_factor_ex";
  check_square(op, a);
  check_dtype(op, a);
  LdlFactors f;
  {
    NoGradGuard guard;
    const Dims shape = batch_shape(a, 2);
    const Tensor ld = copy_by_columns(a);
    f.pivots = empty(batch_shape(a, 1), DType::Int32, a.device());
    f.info = zeros(shape, DType::Int32, a.device());
    if (ld.numel() > 0) backend(a.device()).ldl_factor(plan_of(op, ld, f.info), f.pivots.data_as<int32_t>(), hermitian);
    f.ld = cast_to(tril(ld, 0), a.dtype());
  }
  if (check_errors) check_info(op, LinalgFailure::ZeroBlock, f.info, Check::Now);
  record_no_derivative("LinalgLdlFactorExBackward0", "linalg_ldl_factor_ex", {f.ld}, {a});
  return f;
}

std::tuple<Tensor, Tensor> ldl_factor(const Tensor& a, bool hermitian) {
  const LdlFactors f = ldl_factor_ex(a, hermitian, false);
  check_info("torch.linalg.ldl_factor", LinalgFailure::ZeroBlock, f.info, Check::Later);
  return {f.ld, f.pivots};
}

Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) {
  const char* op = "torch.linalg.ldl_solve";
  check_square(op, ld);
  check_dtype(op, ld);
  STRIDED_CHECK(b.ndim() >= 2, RuntimeError, op, ": Expected B to have at least 2 dimensions, but it has ", b.ndim(),
                " dimensions instead");
  STRIDED_CHECK(b.dtype() == ld.dtype(), RuntimeError, op, ": Expected LD and B to have the same dtype, but found ",
                ld.dtype(), " and ", b.dtype());
  STRIDED_CHECK(pivots.dtype() == DType::Int32, RuntimeError, op, ": Expected pivots to be int32, but got ",
                pivots.dtype());
  check_same_device(op, ld, b);
  check_same_device(op, ld, pivots);
  const int64_t n = ld.size(ld.ndim() - 1);
  STRIDED_CHECK(pivots.shape() == batch_shape(ld, 1), RuntimeError, op,
                ": Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape ", pivots.shape(),
                " instead");
  STRIDED_CHECK(b.size(b.ndim() - 2) == n, RuntimeError, op, ": Incompatible shapes of LD and B: ", n, "x", n, " and ",
                b.size(b.ndim() - 2), "x", b.size(b.ndim() - 1));
  const Dims batch = broadcast_shapes(batch_shape(ld, 2), batch_shape(b, 2));
  Dims matrices = batch, vectors = batch, rights = batch;
  vectors.push_back(n);
  matrices.push_back(n);
  matrices.push_back(n);
  rights.push_back(n);
  rights.push_back(b.size(b.ndim() - 1));
  const Tensor right = expand(b, rights);
  Tensor x;
  {
    NoGradGuard guard;
    const Tensor p = contiguous(expand(pivots, vectors)), columns = copy_by_columns(right);
    if (columns.numel() > 0)
      backend(ld.device())
          .ldl_solve(plan_of(op, copy_by_columns(expand(ld, matrices)), {}), rights.back(), p.data_as<int32_t>(),
                     columns.data(), hermitian);
    x = cast_to(columns, b.dtype());
  }
  if (needs_grad(ld)) {
    record_no_derivative("LinalgLdlSolveBackward0", "linalg_ldl_solve", {x}, {ld, b});
    return x;
  }
  // A^H is A, or the conjugate of A where A is symmetric.
  return record("LinalgLdlSolveBackward0", x, std::vector<Tensor>{right},
                [ld = SavedTensor(ld), pivots = SavedTensor(pivots), hermitian](const Tensor& g) {
                  return hermitian ? ldl_solve(ld.get(), pivots.get(), g, true)
                                   : conj(ldl_solve(ld.get(), pivots.get(), conj(g), false));
                });
}

}  // namespace strided
