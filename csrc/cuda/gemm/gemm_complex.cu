#include "cuda/gemm/gemm_tile.h"

namespace strided {
namespace cuda {

void fill_gemm_complex(GemmTable& table) {
  using C64 = Complex<float>;
  using C128 = Complex<double>;
  GemmEntry& e = table.entry[index_of(DType::Complex64)] = entry_of<C64, C64>();
  e.add(tile_of<C64, C64, Units<C64, 64, 64, 4, 4>, 64, 64, 8, 4, 2>(1.0));
  e.add(tile_of<C64, C64, Units<C64, 32, 32, 4, 4>, 32, 32, 8, 4, 8>(0.8));
  GemmEntry& d = table.entry[index_of(DType::Complex128)] = entry_of<C128, C128>();
  d.add(tile_of<C128, C128, Units<C128, 64, 64, 4, 4>, 64, 64, 8, 2, 1>(1.0));
  d.add(tile_of<C128, C128, Units<C128, 32, 32, 4, 4>, 32, 32, 8, 3, 4>(0.8));
}

}  // namespace cuda
}  // namespace strided
