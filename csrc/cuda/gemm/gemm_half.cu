#include "cuda/gemm/gemm_ring.h"

namespace strided {
namespace cuda {

void fill_gemm_half(GemmTable& table) { table.entry[index_of(dtype_of<Half>)] = half_entry<Half>(); }

}  // namespace cuda
}  // namespace strided
