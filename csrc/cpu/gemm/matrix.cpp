// The floating products, and the matrix rows of the kernel table for one instruction set.

#include "cpu/gemm/matrix_products.inc"

namespace strided {
inline namespace STRIDED_ISA {

// For linalg (triangular.inc), which declares them: calls from here alone might all be inlined.
using LinalgGemm = void(int64_t, int64_t, int64_t, Matrix, Matrix, Matrix, const void*, const void*);
template LinalgGemm gemm<float, PackedProducts<float>>;
template LinalgGemm gemm<double, PackedProducts<double>>;
template LinalgGemm gemm<Complex<float>, PackedProducts<Complex<float>>>;
template LinalgGemm gemm<Complex<double>, PackedProducts<Complex<double>>>;

void fill_matrix(KernelTable& kernels) {
  set_gemm<float>(kernels, DType::Float32);
  set_gemm<double>(kernels, DType::Float64);
  set_gemm<Complex<float>>(kernels, DType::Complex64);
  set_gemm<Complex<double>>(kernels, DType::Complex128);
  set_gemm<Half>(kernels, DType::Float16);
  set_gemm<BFloat16>(kernels, DType::BFloat16);
  set_widened_gemm<Half>(kernels);
  set_widened_gemm<BFloat16>(kernels);
  fill_integer_products(kernels);
  fill_linalg(kernels);
  fill_qr(kernels);
}

}  // namespace STRIDED_ISA
}  // namespace strided
