// Eigenvalues and singular values of small matrices: function pointers that small_decompositions.cpp fills in for the
// instruction set, beside SmallDecompositionKernels of kernels.h.
#pragma once

#include <cstdint>

namespace strided {

// The slots of the same names (backend/backend.h), of `batch` packed matrices stored by columns.
struct SmallSpectra {
  void (*eigh)(int64_t batch, int64_t n, void* a, void* w, bool upper, bool vectors, int32_t* info) = nullptr;
  void (*svd)(int64_t batch, int64_t m, int64_t n, const void* a, void* s, void* u, void* vh, bool full,
              int32_t* info) = nullptr;
};
SmallSpectra& small_spectra(bool is_double);

}  // namespace strided
