// The products of the integers and of bool; included by gemm_int_<isa>.cpp.

#include "cpu/gemm/matrix_products.inc"

namespace strided {
inline namespace STRIDED_ISA {

// Modulo 2^bits signed and unsigned products have the same bits.
template <class Unsigned, class Signed>
void set_integer(KernelTable& kernels) {
  set_gemm<Unsigned>(kernels, dtype_of<Unsigned>);
  set_gemm<Unsigned>(kernels, dtype_of<Signed>);
}

void fill_integer_products(KernelTable& kernels) {
  set_gemm<bool>(kernels, DType::Bool);
  set_integer<uint8_t, int8_t>(kernels);
  set_integer<uint16_t, int16_t>(kernels);
  set_integer<uint32_t, int32_t>(kernels);
  set_integer<uint64_t, int64_t>(kernels);
}

}  // namespace STRIDED_ISA
}  // namespace strided
