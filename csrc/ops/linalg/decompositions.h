// Decompositions of batches of matrices (the last two axes) and what is made of them. The kernels are LAPACK's, or
// cuSOLVER's on a CUDA device; float16 and bfloat16 are computed in float32 and rounded at the end.
#pragma once

#include <optional>
#include <string>
#include <tuple>

#include "tensor/tensor.h"

namespace strided {

// mode: "reduced", "complete" or "r" (Q empty).
std::tuple<Tensor, Tensor> qr(const Tensor& a, const std::string& mode);
std::tuple<Tensor, Tensor> geqrf(const Tensor& a);  // R with the reflectors below it, and their scales
Tensor householder_product(const Tensor& a, const Tensor& tau);
Tensor ormqr(const Tensor& a, const Tensor& tau, const Tensor& other, bool left, bool transpose);

std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& a, bool full_matrices,
                                       const std::optional<std::string>& driver = {});  // U, S, Vh
Tensor svdvals(const Tensor& a, const std::optional<std::string>& driver = {});

// Eigenvalues (and vectors) of Hermitian matrices, of which the triangle `uplo` ("L" or "U") is read, and of any square
// ones.
std::tuple<Tensor, Tensor> eigh(const Tensor& a, const std::string& uplo);
Tensor eigvalsh(const Tensor& a, const std::string& uplo);
std::tuple<Tensor, Tensor> eig(const Tensor& a);
Tensor eigvals(const Tensor& a);

// What is smaller than the tolerance max(atol, rtol * largest) counts as zero. Undefined: 0 for atol; for rtol 0 where
// an atol is given, else max(m, n) eps. Tensors have the batch's shape.
struct Tolerance {
  Tensor atol, rtol;
};
Tensor pinv(const Tensor& a, const Tolerance& tolerance, bool hermitian);
Tensor matrix_rank(const Tensor& a, const Tolerance& tolerance, bool hermitian);

struct LeastSquares {
  Tensor solution, residuals, rank, singular_values;  // empty where the driver has none
};
LeastSquares lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond,
                   const std::optional<std::string>& driver);

struct LdlFactors {
  Tensor ld, pivots, info;
};
LdlFactors ldl_factor_ex(const Tensor& a, bool hermitian, bool check_errors);
std::tuple<Tensor, Tensor> ldl_factor(const Tensor& a, bool hermitian);
Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian);

Tensor matrix_exp(const Tensor& a);

}  // namespace strided
