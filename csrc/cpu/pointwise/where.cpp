// Choosing by mask: loops that gain from wide vectors, compiled once for each instruction set.
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstring>

#include "base/integer.h"
#include "cpu/kernels.h"
#include "cpu/simd.inc"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

template <class T>
T load(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}
template <class T>
void store(char* p, const T& v) {
  std::memcpy(p, &v, sizeof(T));
}

// Written with integer masks, so that it becomes vector code, and so that no guess about a condition can be wrong.
template <class T>
T blend(char condition, T a, T b) {
  const T mask = static_cast<T>(-static_cast<T>(condition != 0));
  return static_cast<T>((a & mask) | (b & ~mask));
}
STRIDED_INLINE Item16 blend(char condition, const Item16& a, const Item16& b) { return condition != 0 ? a : b; }

// Elements of a contiguous operand, and one element in their place.
template <class T>
struct Each {
  const char* from;
  STRIDED_INLINE T operator()(int64_t i) const { return load<T>(from + i * static_cast<int64_t>(sizeof(T))); }
  STRIDED_INLINE Vec<T> some(int64_t i) const { return load<Vec<T>>(from + i * static_cast<int64_t>(sizeof(T))); }
};
template <class T>
struct Same {
  T value;
  STRIDED_INLINE T operator()(int64_t) const { return value; }
  STRIDED_INLINE Vec<T> some(int64_t) const { return Vec<T>{} + value; }
};

// A contiguous result and condition.
template <class T, class A, class B>
STRIDED_INLINE void blend_row(char* to, const char* condition, int64_t n, A a, B b) {
  constexpr int64_t size = sizeof(T);
  int64_t i = 0;
#if defined(__AVX2__) && !defined(__AVX512F__)
  // Compilers widen a whole vector of conditions step by step, which takes twice as many instructions.
  if constexpr (size == 8)
    for (; i + 4 <= n; i += 4) {
      const auto is = (Vec<int64_t>)_mm256_cvtepu8_epi64(_mm_cvtsi32_si128(load<int>(condition + i)));
      store(to + i * size, is != 0 ? a.some(i) : b.some(i));
    }
#endif
#pragma GCC ivdep
  for (; i < n; ++i) store(to + i * size, blend(condition[i], a(i), b(i)));
}

template <class T>
void where(char** data, const int64_t* s, int64_t n0, int64_t n1, const void*) {
  constexpr int64_t size = sizeof(T);
  for (int64_t j = 0; j < n1; ++j) {
    char* const to = data[0] + j * s[4];
    const char* const condition = data[1] + j * s[5];
    const char* const a = data[2] + j * s[6];
    const char* const b = data[3] + j * s[7];
    if constexpr (sizeof(T) != 16) {
      if (n0 > 0 && s[0] == size && s[1] == 1 && (s[2] == size || s[2] == 0) && (s[3] == size || s[3] == 0)) {
        const Each<T> each_a{a}, each_b{b};
        const Same<T> same_a{load<T>(a)}, same_b{load<T>(b)};
        if (s[2] == size && s[3] == size) blend_row<T>(to, condition, n0, each_a, each_b);
        else if (s[2] == size) blend_row<T>(to, condition, n0, each_a, same_b);
        else if (s[3] == size) blend_row<T>(to, condition, n0, same_a, each_b);
        else blend_row<T>(to, condition, n0, same_a, same_b);
        continue;
      }
    }
    for (int64_t i = 0; i < n0; ++i)
      store(to + i * s[0], blend(condition[i * s[1]], load<T>(a + i * s[2]), load<T>(b + i * s[3])));
  }
}

int64_t count_true(const char* mask, int64_t n) {
  int64_t count = 0, i = 0;
  // Bytes are added in a lane of 8 bits at most 255 times before they are summed, so that the loop stays narrow.
  while (i < n) {
    uint8_t lanes[32] = {};
    int64_t rounds = (n - i) / 32;
    rounds = rounds > 255 ? 255 : rounds;
    if (rounds == 0) {
      for (; i < n; ++i) count += mask[i] != 0;
      break;
    }
    for (; rounds > 0; --rounds, i += 32)
      for (int k = 0; k < 32; ++k) lanes[k] = static_cast<uint8_t>(lanes[k] + (mask[i + k] != 0));
    for (uint8_t lane : lanes) count += lane;
  }
  return count;
}

// Compressing without a branch.
// Every element is written and the end moves on only when its mask is set. A wrong guess costs a branchy loop some
// fifteen cycles, this one a cycle or two an element whatever the mask. Nothing is written beyond `count` elements,
// because the loop ends there: the next range may belong to another thread. Eight masks are looked at together first;
// long runs of equal masks are common.
template <class T>
void compress(char* to, const char* from, const char* mask, int64_t count) {
  int64_t k = 0, i = 0;
  while (k + 8 <= count) {
    const uint64_t word = load<uint64_t>(mask + i);
    if (word == 0) {
      i += 8;
      continue;
    }
    if (word == 0x0101010101010101u) {
      std::memcpy(to + k * sizeof(T), from + i * sizeof(T), 8 * sizeof(T));
      k += 8;
      i += 8;
      continue;
    }
    for (int r = 0; r < 8; ++r, ++i) {
      store(to + k * sizeof(T), load<T>(from + i * sizeof(T)));
      k += mask[i] != 0;
    }
  }
  for (; k < count; ++i) {
    store(to + k * sizeof(T), load<T>(from + i * sizeof(T)));
    k += mask[i] != 0;
  }
}

template <class T>
void fill_items(IndexKernels& k, int row) {
  k.where[row] = where<T>;
  k.compress[row] = compress<T>;
}

}  // namespace

void fill_where(KernelTable& table) {
  IndexKernels& k = table.index;
  fill_items<uint8_t>(k, 0);
  fill_items<uint16_t>(k, 1);
  fill_items<uint32_t>(k, 2);
  fill_items<uint64_t>(k, 3);
  fill_items<Item16>(k, 4);
  k.count_true = count_true;
}

}  // namespace STRIDED_ISA
}  // namespace strided
