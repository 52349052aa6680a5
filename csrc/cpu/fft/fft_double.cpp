// Fourier transforms in double, for one instruction set.
#include "cpu/fft/fft.inc"

namespace strided {
inline namespace STRIDED_ISA {

void fill_fft_double(KernelTable& kernels) { fill_fft<double>(kernels); }

}  // namespace STRIDED_ISA
}  // namespace strided
