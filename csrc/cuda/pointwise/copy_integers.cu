#include "cuda/pointwise/copy_types.h"

namespace strided {
namespace cuda {

void fill_copy_integers(CopyTable& table) {
  // bool to bool is no plain move: what is not 0 becomes 1
  table.convert[index_of(DType::Bool)][index_of(DType::Bool)] = vector_kernel_of<Convert<bool, bool>>();
  fill_conversions<kinds::Bool | kinds::Int>(table);
}

}  // namespace cuda
}  // namespace strided
