#include "files/crc32.h"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace strided::files {
namespace {

using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0u);
    t[0][i] = c;
  }
  for (size_t k = 1; k < 8; ++k)
    for (uint32_t i = 0; i < 256; ++i) t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 255];
  return t;
}
constexpr Tables tables = make_tables();

// Eight bytes in a step: M. E. Kounavis and F. L. Berry, "A systematic approach to building high performance
// software-based CRC generators", ISCC 2005. `state` is the register itself, without the inversions of the checksum.
uint32_t update_by_table(uint32_t state, const uint8_t* p, size_t n) {
  for (; n >= 8; p += 8, n -= 8) {
    const uint32_t low = state ^ (p[0] | p[1] << 8 | p[2] << 16 | static_cast<uint32_t>(p[3]) << 24);
    state = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^
            tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^ tables[0][p[7]];
  }
  for (; n > 0; ++p, --n) state = state >> 8 ^ tables[0][(state ^ *p) & 255];
  return state;
}

#if defined(__x86_64__)

__attribute__((target("pclmul,sse4.1"))) inline __m128i folded(__m128i x, __m128i by) {
  return _mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00), _mm_clmulepi64_si128(x, by, 0x11));
}

// Carry-less products move 128 bits forward by a fixed distance: V. Gopal et al., "Fast CRC computation for generic
// polynomials using PCLMULQDQ instruction", Intel 2009. Takes n >= 64 bytes, a multiple of 16. What is left, 16 bytes
// with the same remainder, goes through the table.
__attribute__((target("pclmul,sse4.1"))) uint32_t update_by_products(uint32_t state, const uint8_t* p, size_t n) {
  const auto load = [](const uint8_t* at) __attribute__((target("pclmul,sse4.1"))) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  };
  // x^(512 + 32) and x^(512 - 32) modulo the polynomial, reflected; then the same for 128.
  const __m128i by_512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4), by_128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128(static_cast<int>(state)));
  __m128i b = load(p + 16), c = load(p + 32), d = load(p + 48);
  for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
    a = _mm_xor_si128(folded(a, by_512), load(p));
    b = _mm_xor_si128(folded(b, by_512), load(p + 16));
    c = _mm_xor_si128(folded(c, by_512), load(p + 32));
    d = _mm_xor_si128(folded(d, by_512), load(p + 48));
  }
  a = _mm_xor_si128(folded(a, by_128), b);
  a = _mm_xor_si128(folded(a, by_128), c);
  a = _mm_xor_si128(folded(a, by_128), d);
  for (; n >= 16; p += 16, n -= 16) a = _mm_xor_si128(folded(a, by_128), load(p));
  uint8_t rest[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest), a);
  return update_by_table(0, rest, 16);
}

bool has_products() {
  static const bool has = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return has;
}

#endif

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, size_t n) {
  auto* p = static_cast<const uint8_t*>(data);
  uint32_t state = ~crc;
#if defined(__x86_64__)
  if (n >= 64 && has_products()) {
    const size_t whole = n & ~size_t(15);
    state = update_by_products(state, p, whole);
    p += whole;
    n -= whole;
  }
#endif
  return ~update_by_table(state, p, n);
}

}  // namespace strided::files
