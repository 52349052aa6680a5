#include "cuda/gemm/gemm_tile.h"

namespace strided {
namespace cuda {

void fill_gemm_double(GemmTable& table) {
  GemmEntry& e = table.entry[index_of(DType::Float64)] = entry_of<double, double>();
  e.add(tile_of<double, double, Units<double, 64, 64, 8, 4>, 64, 64, 8, 4, 3>(1.0));
  e.add(tile_of<double, double, Units<double, 32, 32, 4, 4>, 32, 32, 8, 4, 8>(0.7));
}

}  // namespace cuda
}  // namespace strided
