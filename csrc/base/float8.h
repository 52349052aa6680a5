// The 8-bit floating-point storage types of the Open Compute Project ("OCP 8-bit Floating Point Specification
// (OFP8)", 2023). They only convert, as the 16-bit ones of base/half.h do.
#pragma once

#include "base/half.h"

namespace strided {
inline namespace STRIDED_ISA {

// With infinities a format has IEEE 754's special values, and what is too large becomes infinite. Without them only the
// code of all bits is NaN; what is too large becomes the greatest number, infinities included, as in PyTorch.
// Conversions are branch-free so that loops over them vectorise.
template <int ExponentBits, int FractionBits, bool HasInfinity>
struct Float8 {
  uint8_t bits;

  Float8() = default;
  __attribute__((always_inline)) STRIDED_HD Float8(float f) : bits(from_float(f)) {}
  __attribute__((always_inline)) STRIDED_HD operator float() const { return to_float(bits); }

 private:
  static_assert(1 + ExponentBits + FractionBits == 8, "8 bits");
  static constexpr uint32_t kBias = (1u << (ExponentBits - 1)) - 1, kDropped = 23 - FractionBits;
  static constexpr uint32_t kSpecial = ((1u << ExponentBits) - 1) << FractionBits;  // from here on: infinity, NaN
  static constexpr uint32_t kTop = HasInfinity ? kSpecial : 0x7eu;                  // the greatest that is not NaN

  // The exponent is moved by a multiplication, which also normalises subnormals.
  __attribute__((always_inline)) STRIDED_HD static float to_float(uint8_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x80u) << 24, magnitude = h & 0x7fu;
    const float scaled = bit_cast<float>(magnitude << kDropped) * bit_cast<float>((254 - kBias) << 23);
    const uint32_t is_special = HasInfinity ? magnitude >= kSpecial : magnitude == 0x7fu;
    return bit_cast<float>(bit_cast<uint32_t>(scaled) | sign |
                           ((HasInfinity ? 0x7f800000u : 0x7fc00000u) & (0u - is_special)));
  }

  // Round to nearest even; a NaN keeps its sign.
  __attribute__((always_inline)) STRIDED_HD static uint8_t from_float(float f) {
    const uint32_t u = bit_cast<uint32_t>(f), sign = (u >> 24) & 0x80u, a = u & 0x7fffffffu;
    // Normal numbers: the dropped bits are rounded in integer arithmetic.
    const uint32_t normal =
        (a - ((127 - kBias) << 23) + ((1u << (kDropped - 1)) - 1) + ((a >> kDropped) & 1u)) >> kDropped;
    // Subnormals: adding a power of two whose last bit is their step rounds them in one float addition.
    constexpr uint32_t kAligned = (151 - kBias - FractionBits) << 23;
    const uint32_t tiny = bit_cast<uint32_t>(bit_cast<float>(a) + bit_cast<float>(kAligned)) - kAligned;
    const uint32_t rounded = a < ((128 - kBias) << 23) ? tiny : normal;
    const uint32_t number = rounded < kTop ? rounded : kTop;
    return static_cast<uint8_t>((a > 0x7f800000u ? 0x7fu : number) | sign);
  }
};

using Float8_e4m3fn = Float8<4, 3, false>;
using Float8_e5m2 = Float8<5, 2, true>;

}  // namespace STRIDED_ISA
}  // namespace strided
