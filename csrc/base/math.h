// The elementary functions for float and double, host and device.
//
// Note [Vectorisable mathematics]
// On the host the functions are branch-free: every path is computed and the right one selected, so that the compiler
// turns `for (i) y[i] = math::exp(x[i])` into SIMD code for the instruction set of the translation unit (flags: -O3
// -fno-math-errno -fno-trapping-math -ffp-contract=off; contraction would break the error-free sums of math_basic.h).
// Results are the same for every vector length and position in the array; with and without a fused multiply-add
// (x86-64-v3 against v2) they may differ in the last bit. float is within 1.2 ulp, double within 2
// (tests/cpp/math_test.cpp and math_special_test.cpp have the bound of each). On the device they are CUDA's own.
#pragma once

#include "base/math_basic.h"

#if STRIDED_DEVICE_CODE
#include "base/math_device.h"
#else
#include "base/math_exp.h"
#include "base/math_trig.h"
#endif
