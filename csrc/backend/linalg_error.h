// What linear algebra finds wrong with numbers, in words: raised at once on the CPU, and by the next waiting call where
// a device found it.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace strided {

enum class LinalgFailure : int8_t {
  Singular,             // solve
  NotInvertible,        // inv
  ZeroPivot,            // lu_factor
  NotPositiveDefinite,  // cholesky
  PivotOfSolve,         // a pivot that names no row, given to lu_solve
  PivotOfUnpack,        // and to lu_unpack
  PivotOfLdl,           // and to ldl_solve
  Svd,                  // singular values did not converge, or the matrix has NaN or inf
  Eigh,                 // eigenvalues did not converge
  Eig,
  LeastSquares,
  ZeroBlock,  // ldl_factor
};

// `value` is the matrix's info, or the pivot; `name` the function. `batched`: the matrix is number `element` of
// several.
[[noreturn]] inline void raise_linalg_failure(LinalgFailure fault, const char* name, bool batched, int64_t element,
                                              int64_t value) {
  const char* asks = " Did you properly pass the result of lu_factor?";
  if (fault == LinalgFailure::PivotOfUnpack)
    STRIDED_THROW(RuntimeError, "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.", asks + 1);
  if (fault == LinalgFailure::PivotOfSolve)
    STRIDED_THROW(RuntimeError, "Pivots given to lu_solve must all be ",
                  value < 1 ? "greater or equal to 1." : "smaller or equal to LU.size(-2).", asks);
  if (fault == LinalgFailure::PivotOfLdl)
    STRIDED_THROW(RuntimeError, name, ": pivots must name rows, from 1 on, or their negatives in pairs, but one is ",
                  value, ". Did you properly pass the result of ldl_factor?");
  const std::string where =
      std::string(name) + ": " + (batched ? concat("(Batch element ", element, "): ") : std::string());
  switch (fault) {
    case LinalgFailure::NotInvertible:
      STRIDED_THROW(LinAlgError, where, "The diagonal element ", value,
                    " is zero, the inversion could not be completed because the input matrix is singular.");
    case LinalgFailure::ZeroPivot:
      STRIDED_THROW(
          LinAlgError, where, "U[", value, ",", value,
          "] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the factorization, consider calling "
          "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)");
    case LinalgFailure::NotPositiveDefinite:
      STRIDED_THROW(
          LinAlgError, where,
          "The factorization could not be completed because the input is not positive-definite (the leading minor of order ",
          value, " is not positive-definite).");
    case LinalgFailure::Svd:
      if (value < 0)
        STRIDED_THROW(LinAlgError, where,
                      "The algorithm failed to converge because the input matrix contained non-finite values.");
      STRIDED_THROW(
          LinAlgError, where,
          "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated singular values (error code: ",
          value, ").");
    case LinalgFailure::Eigh:
    case LinalgFailure::Eig:
      STRIDED_THROW(
          LinAlgError, where,
          "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated eigenvalues (error code: ",
          value, ").");
    case LinalgFailure::LeastSquares:
      if (value < 0)
        STRIDED_THROW(
            LinAlgError, where,
            "The least squares solution could not be computed because the input contained non-finite values.");
      STRIDED_THROW(
          LinAlgError, where,
          "The least squares solution could not be computed because the input matrix does not have full rank (error code: ",
          value, ").");
    case LinalgFailure::ZeroBlock:
      STRIDED_THROW(LinAlgError, where, "The diagonal block of D number ", value,
                    " is zero, and using it in ldl_solve would divide by zero.");
    default: STRIDED_THROW(LinAlgError, where, "The solver failed because the input matrix is singular.");
  }
}

}  // namespace strided
