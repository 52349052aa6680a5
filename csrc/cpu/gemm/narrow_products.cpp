// Products of bfloat16 and of bytes by what some processors have beside x86-64-v4: Note [Pairs] (gemm_kernels.inc), and
// Note [Tile products] (gemm_tiles.inc).

#include "cpu/gemm/gemm_tiles.inc"
#include "cpu/gemm/matrix_products.inc"

namespace strided {
inline namespace STRIDED_ISA {

void fill_dot_products(KernelTable& kernels) {
  set_gemm<BFloat16, PackedProducts<BFloat16Pair>>(kernels, DType::BFloat16);
  set_widened_gemm<BFloat16, PackedProducts<Widened<BFloat16Pair>>>(kernels);
}

#if defined(STRIDED_HAVE_TILES)
void fill_tile_products(KernelTable& kernels) {
  set_gemm<BFloat16, TileProducts<BFloat16>>(kernels, DType::BFloat16);
  set_widened_gemm<BFloat16, TileProducts<Widened<BFloat16>>>(kernels);
  set_gemm<uint8_t, TileProducts<uint8_t>>(kernels, DType::UInt8);
  set_gemm<uint8_t, TileProducts<uint8_t>>(kernels, DType::Int8);
}
#endif

}  // namespace STRIDED_ISA
}  // namespace strided
