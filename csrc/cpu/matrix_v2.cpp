#include "cpu/matrix.inc"

void strided::fill_matrix_kernels_v2(MatrixKernels& kernels) { fill_matrix_kernels(kernels); }
