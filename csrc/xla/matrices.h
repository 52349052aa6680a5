// Products and triangular systems of batches of matrices (batch, rows, columns), as lowerings write them.
#pragma once

#include "xla/number.h"

namespace strided::xla {

// The dot_general of two values with `batch` axes in front, the last of a with the first after them of b. "HIGHEST".
Value product(const Value& a, const Value& b, int batch, const char* precision, DType dtype);
inline Value product(const Value& a, const Value& b) { return product(a, b, 1, "HIGHEST", a->dtype); }

enum class Transpose { No, Plain, Adjoint };
struct Triangle {
  bool lower = false, unit = false;
  Transpose transpose = Transpose::No;
};
Value triangular_solve(const Value& matrix, const Value& right, const Triangle& triangle);

inline Value zero() { return constant_int(0, DType::Int64); }  // where a slice begins

// A part of each matrix.
inline Value box(const Value& a, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  return slice(a, {0, row, column}, {a->shape[0], row + rows, column + columns});
}

// Rows of each matrix, by their numbers (batch, r).
Value chosen_rows(const Value& a, const Value& rows);

}  // namespace strided::xla
