#include "cpu/gemm_int.inc"
