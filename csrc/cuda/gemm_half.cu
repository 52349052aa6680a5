#include "cuda/gemm_tensor.h"

namespace strided {
namespace cuda {

namespace {

// 128x128 in pieces of 64x64 for each of four warps: for 32 instructions a warp reads 4 KiB of shared memory, which takes
// shared memory less time than the instructions take (with 64x32 it would take longer). Three slabs of A and B fill the
// 48 KiB that a block may have without asking; two blocks work on one multiprocessor.
template <class T>
void add_half(GemmTable& table) {
  GemmEntry& e = table.entry[index_of(dtype_of<T>)] = entry_of<T, float>();
#if defined(__HIPCC__)  // no tensor cores of this kind
  e.add(tile_of<T, float, Units<float, 64, 64, 8, 4>, 64, 64, 16, 2, 4>(1.0));
  e.add(tile_of<T, float, Units<float, 32, 32, 4, 4>, 32, 32, 16, 2, 8>(0.6));
#else
  e.add(tensor_tile_of<T, Fragments<128, 128, 64, 64>, 128, 128, 32, 3, 2>(1.0));
  e.add(tensor_tile_of<T, Fragments<64, 64, 32, 32>, 64, 64, 32, 3, 4>(0.7));
#endif
}

}  // namespace

void fill_gemm_half(GemmTable& table) {
  add_half<Half>(table);
  add_half<BFloat16>(table);
}

}  // namespace cuda
}  // namespace strided
