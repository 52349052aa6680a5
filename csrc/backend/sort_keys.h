// Orders of elements, as both backends have them.
//
// Note [Keys]
// A value becomes an unsigned key of its size whose order is the order wanted: floats are mapped so that NaN is the
// greatest and both zeros are one; for a descending sort all bits are flipped. The integer image of floats is that of
// M. Herf, "Radix tricks" (2001).
#pragma once

#include "core/dtype.h"

namespace strided {
inline namespace STRIDED_ISA {

enum class KeyKind : uint8_t { Unsigned, Signed, Float, Bool };

// K: unsigned, of the size of the values. `infinity`: bits of that float; what is greater is NaN.
template <class K>
struct KeyCode {
  static constexpr K top = static_cast<K>(K(1) << (8 * sizeof(K) - 1));
  static constexpr K zero = top, nan = static_cast<K>(~K(0));  // of floats
  KeyKind kind = KeyKind::Unsigned;
  K infinity = 0;

  STRIDED_HD constexpr K encode(K b) const {
    if (kind == KeyKind::Float) {
      const K magnitude = b & static_cast<K>(~top);
      const K k = static_cast<K>(b ^ (b != magnitude ? nan : top));
      return magnitude > infinity ? nan : magnitude == 0 ? zero : k;
    }
    return kind == KeyKind::Signed ? static_cast<K>(b ^ top) : kind == KeyKind::Bool ? static_cast<K>(b != 0) : b;
  }
  STRIDED_HD constexpr bool is_nan(K k) const { return kind == KeyKind::Float && k == nan; }
  // There are several zeros and NaN: the value must be looked up where it stood.
  STRIDED_HD constexpr bool stands_for_several(K k) const { return kind == KeyKind::Float && (k == zero || k == nan); }
  // The bits of the one value with this key.
  STRIDED_HD constexpr K decode(K k) const {
    if (kind == KeyKind::Float) return static_cast<K>(k & top ? k ^ top : static_cast<K>(~k));
    return kind == KeyKind::Signed ? static_cast<K>(k ^ top) : k;
  }
};

template <int Size>
using key_of_size =
    std::conditional_t<Size == 1, uint8_t,
                       std::conditional_t<Size == 2, uint16_t, std::conditional_t<Size == 4, uint32_t, uint64_t>>>;
template <class T>
using key_t = key_of_size<sizeof(T)>;

template <class K>
constexpr KeyCode<K> key_code(DType dtype) {
  if (is_floating(dtype)) return {KeyKind::Float, static_cast<K>(info_of(dtype).infinity)};
  return {is_bool(dtype) ? KeyKind::Bool : is_signed(dtype) ? KeyKind::Signed : KeyKind::Unsigned, 0};
}

// First place of a sorted row at(0), ..., at(n - 1) where x could be inserted, before (left) or after (right) its
// equals. Comparisons are PyTorch's, so that a NaN to be inserted goes to the end, and so are the elements that are
// compared, the middle ones of what is left: a row that is not sorted has the same place as there.
template <class At, class C>
STRIDED_HD int64_t insertion_place(const At& at, int64_t n, C x, bool right) {
  int64_t low = 0;
  for (int64_t left = n; left > 0;) {
    // Halving without a branch on the comparison, which could not be predicted.
    const int64_t half = left / 2;
    const C y = at(low + half);
    const bool after = right ? !(y > x) : !(y >= x);
    low += after ? half + 1 : 0;
    left = after ? left - half - 1 : half;
  }
  return low;
}

}  // namespace STRIDED_ISA
}  // namespace strided
