#include "cuda/gemm_tensor.h"

namespace strided {
namespace cuda {

namespace {

// Pieces of 64x64 for each warp: for 32 instructions it reads 4 KiB of shared memory, which takes shared memory less time
// than the instructions take (pieces of 64x32 would take it longer). 256x128 because tiles of 128x128 would ask more of the
// L2 cache than it gives on an H100: 64 operations for a byte, against 85. Four slabs of 24 KiB fit sm_86 and sm_89 too.
template <class T>
void add_half(GemmTable& table) {
  GemmEntry& e = table.entry[index_of(dtype_of<T>)] = entry_of<T, float>();
#if defined(__HIPCC__)  // no tensor cores of this kind
  e.add(tile_of<T, float, Units<float, 64, 64, 8, 4>, 64, 64, 16, 2, 4>(1.0));
  e.add(tile_of<T, float, Units<float, 32, 32, 4, 4>, 32, 32, 16, 2, 8>(0.6));
#else
  e.add(tensor_tile_of<T, Fragments<256, 128, 64, 64>, 256, 128, 32, 4, 1>(1.0));
  e.add(tensor_tile_of<T, Fragments<128, 128, 64, 64>, 128, 128, 32, 3, 2>(0.85));
  e.add(tensor_tile_of<T, Fragments<64, 64, 32, 32>, 64, 64, 32, 3, 4>(0.55));
#endif
}

}  // namespace

void fill_gemm_half(GemmTable& table) {
  add_half<Half>(table);
  add_half<BFloat16>(table);
}

}  // namespace cuda
}  // namespace strided
