#include "cuda/gemm/gemm_tensor.h"

namespace strided {
namespace cuda {

// 128x128: 8x8 sums of a thread, two 16-byte reads of each slab for 64 multiplications, which shared memory keeps up
// with. 64x64, 32x32: for matrices that have too few such tiles, and small ones in a batch; they read more for each
// sum.
void fill_gemm_float(GemmTable& table) {
  GemmEntry& e = table.entry[index_of(DType::Float32)] = entry_of<float, float>();
  e.add(tile_of<float, float, Units<float, 128, 128, 8, 8>, 128, 128, 16, 3, 2>(1.0));
  e.add(tile_of<float, float, Units<float, 64, 64, 8, 4>, 64, 64, 16, 3, 4>(0.8));
  e.add(tile_of<float, float, Units<float, 32, 32, 4, 4>, 32, 32, 16, 4, 8>(0.5));
#if !defined(__HIPCC__)
  table.tf32 = entry_of<float, float>();
  table.tf32.add(tile_of<float, float, Fragments<128, 128, 64, 64>, 128, 128, 8, 4, 2>(1.0));
  table.tf32.add(tile_of<float, float, Fragments<64, 64, 32, 32>, 64, 64, 16, 3, 4>(0.8));
#endif
}

}  // namespace cuda
}  // namespace strided
