#include "cpu/matrix.inc"

void strided::fill_matrix_kernels_v4(MatrixKernels& kernels) { fill_matrix_kernels(kernels); }
