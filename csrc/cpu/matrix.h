// Dense matrix kernels of the CPU backend: products, factorisations and triangular solves. One set for each instruction
// set; csrc/cpu/fill.cpp picks one when the library is loaded.
#pragma once

#include "ops/kernels.h"

namespace strided {

// Indexed by DType. `linalg` is filled for float32, float64, complex64 and complex128 only.
struct MatrixKernels {
  GemmKernel gemm[kNumDTypes];
  BatchedGemmKernel batched_gemm[kNumDTypes];
  LinalgKernels linalg[kNumDTypes];
};

void fill_matrix_kernels_v2(MatrixKernels& kernels);
void fill_matrix_kernels_v3(MatrixKernels& kernels);
void fill_matrix_kernels_v4(MatrixKernels& kernels);

// Scratch memory of the calling thread, 64-byte aligned, kept and grown between calls. Every user has a slot of its own,
// because a factorisation holds its scratch while the product inside it needs another.
enum class WorkspaceSlot { Product, Vector, Factor, Solve, Count };
// Throws OutOfMemoryError. The content is undefined, and valid until the same thread asks for the same slot again.
void* workspace(WorkspaceSlot slot, int64_t bytes);

}  // namespace strided
