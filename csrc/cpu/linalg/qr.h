// QR decompositions: function pointers that qr.cpp fills in for the instruction set, beside those of kernels.h.
#pragma once

#include <cstdint>

namespace strided {

// The slots of the same names (backend/backend.h), of `batch` packed real matrices stored by columns.
struct QrKernels {
  void (*qr)(int64_t batch, int64_t m, int64_t n, void* a, void* tau) = nullptr;
  void (*form_q)(int64_t batch, int64_t m, int64_t n, int64_t k, void* a, const void* tau) = nullptr;
};
// Of float32 and of float64: those of the instruction set that was chosen last.
extern QrKernels qr_kernels[2];

}  // namespace strided
