#include "cuda/gemm/gemm_tile.h"

namespace strided {
namespace cuda {

namespace {

// Signed and unsigned products have the same bits.
template <class T>
void add_integer(GemmTable& table, DType as) {
  using V = sum_t<T>;
  GemmEntry& e = table.entry[index_of(as)] = entry_of<T, V>();
  constexpr int depth = sizeof(V) == 4 ? 16 : 8, blocks = sizeof(V) == 4 ? 4 : 3;
  e.add(tile_of<T, V, Units<V, 64, 64, 8, 4>, 64, 64, depth, 2, blocks>(1.0));
  e.add(tile_of<T, V, Units<V, 32, 32, 4, 4>, 32, 32, depth, 2, 8>(0.7));
}
template <class Unsigned, class Signed>
void add_integers(GemmTable& table) {
  add_integer<Unsigned>(table, dtype_of<Unsigned>);
  table.entry[index_of(dtype_of<Signed>)] = table.entry[index_of(dtype_of<Unsigned>)];
}

}  // namespace

void fill_gemm_integer(GemmTable& table) {
  add_integer<bool>(table, DType::Bool);
  add_integers<uint8_t, int8_t>(table);
  add_integers<uint16_t, int16_t>(table);
  add_integers<uint32_t, int32_t>(table);
  add_integers<uint64_t, int64_t>(table);
}

}  // namespace cuda
}  // namespace strided
