// The two 16-bit floating-point storage types. They only convert: arithmetic on them is done in float
// (see `ComputeType` in core/dtype.h), and rounded once.
#pragma once

#include <cstring>

#include "base/macros.h"

#if defined(__F16C__) && !defined(__CUDACC__) && !defined(__HIPCC__)
#include <immintrin.h>
#define STRIDED_F16C 1
#else
#define STRIDED_F16C 0
#endif

namespace strided {
inline namespace STRIDED_ISA {

template <class To, class From>
STRIDED_HD To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));  // std::memcpy is the host's alone for hipcc
  return to;
}

// Note [Conversions in hardware]
// An NVIDIA GPU converts with one instruction (PTX `cvt`), and so does an x86 processor with F16C, to the same bits as
// the arithmetic below for everything that is a number. A NaN stays one with the same sign; its other bits are the
// hardware's.

// IEEE 754 binary16. Conversions in arithmetic are branch-free so that loops over them vectorise.
struct Half {
  uint16_t bits;

  Half() = default;
  __attribute__((always_inline)) STRIDED_HD Half(float f) : bits(from_float(f)) {}
  __attribute__((always_inline)) STRIDED_HD operator float() const { return to_float(bits); }

  // Exponent re-biasing by a multiplication, which also normalises subnormals
  // (F. Giesen, "half-to-float done quick", public domain notes).
  __attribute__((always_inline)) STRIDED_HD static float to_float(uint16_t h) {
    [[maybe_unused]] const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
#if defined(__CUDA_ARCH__)
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return bit_cast<float>(bit_cast<uint32_t>(f) | sign);
#elif STRIDED_F16C
    return _cvtsh_ss(h);
#else
    const uint32_t magnitude = static_cast<uint32_t>(h & 0x7fffu) << 13;
    const float scaled = bit_cast<float>(magnitude) * bit_cast<float>(0x77800000u);  // 2^112
    uint32_t out = bit_cast<uint32_t>(scaled);
    out |= (h & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
    return bit_cast<float>(out | sign);
#endif
  }

  // Round to nearest even.
  __attribute__((always_inline)) STRIDED_HD static uint16_t from_float(float f) {
    const uint32_t u = bit_cast<uint32_t>(f);
    [[maybe_unused]] const uint32_t sign = (u >> 16) & 0x8000u;
#if defined(__CUDA_ARCH__)
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return static_cast<uint16_t>(h | sign);
#elif STRIDED_F16C
    return _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT);
#else
    const uint32_t a = u & 0x7fffffffu;
    // Normal numbers: round the 13 dropped bits in integer arithmetic.
    const uint32_t normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;
    // Subnormals: adding 0.5 lines the bits up and rounds them in one float addition.
    const uint32_t tiny = bit_cast<uint32_t>(bit_cast<float>(a) + 0.5f) - 0x3f000000u;
    const uint32_t is_tiny = a < 0x38800000u, is_inf = a >= 0x477ff000u, is_nan = a > 0x7f800000u;
    uint32_t out = normal ^ ((normal ^ tiny) & (0u - is_tiny));
    out = (out & (is_inf - 1u)) | (0x7c00u & (0u - is_inf)) | (0x200u & (0u - is_nan));
    return static_cast<uint16_t>(out | sign);
#endif
  }
};

// The upper half of a float.
struct BFloat16 {
  uint16_t bits;

  BFloat16() = default;
  __attribute__((always_inline)) STRIDED_HD BFloat16(float f) : bits(from_float(f)) {}
  __attribute__((always_inline)) STRIDED_HD operator float() const {
    return bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }

  // Round to nearest even; a NaN becomes the quiet one of its sign.
  __attribute__((always_inline)) STRIDED_HD static uint16_t from_float(float f) {
    const uint32_t u = bit_cast<uint32_t>(f);
    const uint32_t sign = (u >> 16) & 0x8000u;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint16_t h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return static_cast<uint16_t>(h | sign);
#else
    const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u | sign : rounded);
#endif
  }
};

}  // namespace STRIDED_ISA
}  // namespace strided
