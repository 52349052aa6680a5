// Compiler and instruction-set switches shared by every floor.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define STRIDED_HD __host__ __device__ inline
#else
#define STRIDED_HD inline
#endif

#define STRIDED_INLINE inline __attribute__((always_inline))
// For functions that loops call and that a compiler finds too large to inline by itself: a call is never vectorised.
#define STRIDED_INLINE_HD STRIDED_HD __attribute__((always_inline))
#define STRIDED_LIKELY(x) __builtin_expect(!!(x), 1)
#define STRIDED_UNLIKELY(x) __builtin_expect(!!(x), 0)

// Note [One namespace per instruction set]
// The headers that hold scalar arithmetic (half, complex, math, backend/elementwise.h, backend/reduce.h) are compiled
// several times, once for each instruction set, with other flags. If two such copies of an inline function had the same
// name, the linker would keep either of them, and an AVX-512 body could run on a machine without AVX-512. So their
// content stands in an inline namespace that carries the name of the instruction set: the source reads as if it were
// not there, and the symbols differ. Pointers that cross this border are `void*`, never a type of these headers.
#ifndef STRIDED_ISA
#define STRIDED_ISA host
#endif
