// Matrix products of every kind; all come down to one or many gemm calls.
#pragma once

#include <optional>
#include <vector>

#include "core/scalar.h"
#include "tensor/tensor.h"

namespace strided {

// Whether a device may round float32 factors to 10 bits of fraction (tf32), for speed. At first not. Of the process.
void set_tf32(bool allowed);
bool tf32();

// Products over the last axis of a and the last but one of b, for every number of dimensions (see Note [Cases of
// matmul]).
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor mm(const Tensor& a, const Tensor& b);
Tensor bmm(const Tensor& a, const Tensor& b);
Tensor mv(const Tensor& a, const Tensor& b);
Tensor dot(const Tensor& a, const Tensor& b);
Tensor vdot(const Tensor& a, const Tensor& b);  // conj(a) . b
Tensor inner(const Tensor& a, const Tensor& b);
Tensor outer(const Tensor& a, const Tensor& b);
Tensor vecdot(const Tensor& a, const Tensor& b, int64_t dim);  // sum(conj(a) * b, dim)
// beta * input + alpha * (product); beta == 0 ignores input, NaN included.
Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha);
Tensor addmv(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha);
Tensor addr(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha);
Tensor addbmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha);
Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha);
// The same in another dtype: float32 sums of 16-bit floats, which are not rounded.
Tensor mm_as(const Tensor& a, const Tensor& b, DType result);
Tensor bmm_as(const Tensor& a, const Tensor& b, DType result);
Tensor addmm_as(const Tensor& input, const Tensor& a, const Tensor& b, DType result, const Scalar& beta,
                const Scalar& alpha);
Tensor baddbmm_as(const Tensor& input, const Tensor& a, const Tensor& b, DType result, const Scalar& beta,
                  const Scalar& alpha);
// c = alpha * a @ b + beta * c over equal batch axes; all three have at least two dimensions, and one dtype; or c is
// float32 and they are 16-bit floats. Not recorded.
void gemm_into(const Tensor& c, const Tensor& a, const Tensor& b, const Scalar& alpha, const Scalar& beta);
Tensor int_mm(const Tensor& a, const Tensor& b);  // of int8, in int32
// Written into input, in its own memory where nothing is recorded.
Tensor addmm_(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha);
Tensor baddbmm_(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha);

Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b);
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands);
Tensor kron(const Tensor& a, const Tensor& b);
Tensor trace(const Tensor& x);
// a (*, m, k) times b (*, rows..., columns...), whose first `rows` axes behind those of the batch make up k and whose
// others make up n: (*, m, n), added to `into` where there is one. A view b whose elements overlap is not copied where
// the backend can read it so. Not recorded.
Tensor matmul_folded(const Tensor& a, const Tensor& b, int64_t rows, const std::optional<Tensor>& into);
// Powers of the elements along a new last axis: 1, x, x^2, ... of `n` (x.size(-1) if none) terms; of vectors only, and
// from the highest power on, for torch.vander without `increasing`.
Tensor vandermonde(const Tensor& x, std::optional<int64_t> n);
Tensor vander(const Tensor& x, std::optional<int64_t> n, bool increasing);
Tensor cross(const Tensor& a, const Tensor& b, std::optional<int64_t> dim);
// The product of a chain of matrices, in the cheapest order.
Tensor multi_dot(const std::vector<Tensor>& matrices);

}  // namespace strided
