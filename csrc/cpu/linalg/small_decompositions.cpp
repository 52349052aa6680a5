// Decompositions of small real matrices: one matrix in each lane of a vector, as in linalg_interleaved.inc.

#include "cpu/kernels.h"
#include "cpu/linalg/small_eigh.inc"
#include "cpu/linalg/small_svd.inc"

namespace strided {
inline namespace STRIDED_ISA {

template <class T>
void set_small_decompositions(SmallDecompositionKernels& kernels) {
  kernels.lanes = kLanes<T>;
  kernels.most = kMaxLanesSize<T>;
  kernels.qr = &small_qr<T>;
  kernels.eigh = &small_eigh<T>;
  kernels.svd = &small_svd<T>;
}

void fill_small_decompositions(KernelTable& kernels) {
  set_small_decompositions<float>(kernels.small_decompositions[0]);
  set_small_decompositions<double>(kernels.small_decompositions[1]);
}

}  // namespace STRIDED_ISA
}  // namespace strided
