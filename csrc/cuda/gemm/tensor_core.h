// The tensor cores' instructions, for warps: C(16x8) += A(16xk) B(kx8), and how their operands come out of shared
// memory.
//
// Note [Fragments]
// A lane has fixed elements of each matrix. With g = lane / 4 and t = lane % 4 (PTX ISA, "Matrix Fragments for mma"):
//   C, D      c[0], c[1]: row g, columns 2t, 2t+1; c[2], c[3]: row g + 8
//   k = 16, 16-bit elements, two in a register:  a[0]: row g, k = 2t, 2t+1; a[1]: row g + 8; a[2], a[3]: the same with
//             k + 8; b[0]: k = 2t, 2t+1, column g; b[1]: k + 8
//   k = 8, tf32:  a[0]: row g, k = t; a[1]: row g + 8; a[2], a[3]: k + 4; b[0]: k = t, column g; b[1]: k + 4
// Under the emulation (tests/cpp/cuda/cuda_emulation_tensor.h) the same functions are written from this layout.
#pragma once

#include "base/half.h"
#include "cuda/runtime/portability.h"

#if STRIDED_EMULATED
#include <cuda_emulation_tensor.h>
#endif

namespace strided {
namespace cuda {

// T is Half or BFloat16.
template <class T>
__device__ inline void multiply_fragments(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if STRIDED_EMULATED
  ::cuda_emulation::mma<16>(c, a, b, [](const char* element) {
    T x;
    memcpy(&x, element, sizeof(T));
    return static_cast<float>(x);
  });
#elif defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, Half>)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

__device__ inline void multiply_fragments_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if STRIDED_EMULATED
  ::cuda_emulation::mma<8>(c, a, b, [](const char* element) {
    float x;
    memcpy(&x, element, sizeof(float));
    return x;
  });
#elif defined(__CUDA_ARCH__)
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// To 10 bits of fraction, ties away from zero.
__device__ inline uint32_t to_tf32(float x) {
#if defined(__CUDA_ARCH__)
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;\n" : "=r"(bits) : "f"(x));
  return bits;
#else
  const uint32_t bits = bit_cast<uint32_t>(x);
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu;
#endif
}

// Four 8x8 matrices of 16-bit elements. Lane 8 j + i gives the address of row i of matrix j in shared memory, 16 bytes;
// every lane gets row g, columns 2t and 2t + 1 of each; transposed: column g, rows 2t and 2t + 1.
template <bool transposed>
__device__ inline void load_fragments(uint32_t (&r)[4], const void* row) {
#if STRIDED_EMULATED
  ::cuda_emulation::load_matrices(r, row, transposed);
#elif defined(__CUDA_ARCH__)
  const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from)
                 : "memory");
#endif
}

}  // namespace cuda
}  // namespace strided
