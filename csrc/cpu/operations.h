// The operations of the CPU: one function for each slot of backend/backend.h, which says what each does.
#pragma once

#include "backend/backend.h"

namespace strided {
namespace cpu {

#define X(name, parameters) void name parameters;
STRIDED_KERNEL_SLOTS(X)
#undef X
void fused_pointwise(const FusedPlan& plan);
bool folded_gemm(const FoldedGemmPlan& plan);
void normalise_rows(const RowNormPlan& plan);
void normalise_rows_gradient(const RowNormGradientPlan& plan);
void sparse_product(const SparseProductPlan& plan, const void* dense, void* out);
void sampled_product(const SparseProductPlan& plan, const void* a, const void* b, void* out);

}  // namespace cpu
}  // namespace strided
