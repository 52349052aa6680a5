// QR decompositions as other lowerings use them; matrices are (batch, rows, columns).
#pragma once

#include "xla/matrices.h"

namespace strided::xla {

// R on and above the diagonal, reflectors below; their scales (batch, k).
struct Packed {
  Value a, tau;
};
Packed packed_qr(Value a);  // k = min(rows, columns), at least 1
// Q c or Q^H c, Q the product of the reflectors in the first k columns.
Value apply_reflectors(const Packed& q, Value c, bool adjoint);
Value form_columns(const Packed& q, int64_t columns);  // the first of Q

Value adjoint_of(const Value& a);
Value identity(DType dtype, const Dims& shape);  // ones on the diagonal

// Matrices stored by columns, as DecompositionPlan has them.
Value read_by_columns(const void* data, DType dtype, int64_t batch, int64_t m, int64_t n);
void write_by_columns(void* data, DType dtype, const Value& a);

}  // namespace strided::xla
