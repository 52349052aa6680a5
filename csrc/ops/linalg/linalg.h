// Systems of linear equations, factorisations, determinants and norms. All functions take batches of matrices (the last
// two axes); float16 and bfloat16 are computed in float32 and rounded at the end.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/scalar.h"
#include "tensor/tensor.h"

namespace strided {

// LU factorisation with partial pivoting of a batch: packed factors, 1-based pivots (int32), info (int32).
struct Factors {
  Tensor lu, pivots, info;
};
Factors lu_factor_ex(const Tensor& a, bool check_errors);
std::tuple<Tensor, Tensor> lu_factor(const Tensor& a);
std::tuple<Tensor, Tensor, Tensor> lu(const Tensor& a);                                // P, L, U
std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& lu, const Tensor& pivots);  // P, L, U
Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint);

Tensor solve(const Tensor& a, const Tensor& b, bool left);
std::tuple<Tensor, Tensor> solve_ex(const Tensor& a, const Tensor& b, bool left, bool check_errors);  // result, info
Tensor inv(const Tensor& a);
std::tuple<Tensor, Tensor> inv_ex(const Tensor& a, bool check_errors);
Tensor det(const Tensor& a);
std::tuple<Tensor, Tensor> slogdet(const Tensor& a);  // sign, log |det|
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unitriangular);
Tensor cholesky(const Tensor& a, bool upper);
std::tuple<Tensor, Tensor> cholesky_ex(const Tensor& a, bool upper, bool check_errors);
Tensor cholesky_solve(const Tensor& b, const Tensor& l, bool upper);
Tensor cholesky_inverse(const Tensor& l, bool upper);
Tensor matrix_power(const Tensor& a, int64_t n);

// Norms of matrices; p as torch.linalg names them: 'fro', 'nuc', +-1, +-2, +-inf. Vector norms are reductions.
Tensor matrix_norm(const Tensor& a, const std::string& p, const Dims& dim, bool keepdim, std::optional<DType> dtype);
Tensor matrix_norm(const Tensor& a, double p, const Dims& dim, bool keepdim, std::optional<DType> dtype);

// The condition number |A| |A^-1| in such a norm, by default the 2-norm: the largest singular value by the smallest.
Tensor cond(const Tensor& a, std::optional<double> p);
Tensor cond(const Tensor& a, const std::string& p);

// Vector norm, or matrix norm when an order is given and two axes are: torch.linalg.norm.
Tensor linalg_norm(const Tensor& a, const std::optional<Scalar>& p, const std::optional<Dims>& dim, bool keepdim,
                   std::optional<DType> dtype);

}  // namespace strided
