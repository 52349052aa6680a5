#include "cuda/gemm/gemm_ring.h"

namespace strided {
namespace cuda {

void fill_gemm_bfloat16(GemmTable& table) { table.entry[index_of(dtype_of<BFloat16>)] = half_entry<BFloat16>(); }

}  // namespace cuda
}  // namespace strided
