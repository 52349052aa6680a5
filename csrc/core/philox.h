// The counter-based generator Philox4x32-10 of J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC '11. A block of four words is a function of a counter and a key, so any thread of a
// device can make any part of the sequence.
#pragma once

#include "base/macros.h"

namespace strided {
inline namespace STRIDED_ISA {

struct Philox {
  uint32_t key[2];

  STRIDED_HD explicit Philox(uint64_t seed) : key{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {}

  struct Block {
    uint32_t word[4];
  };

  // The block at a 128-bit counter, least significant word first.
  STRIDED_HD Block operator()(Block counter) const {
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * counter.word[0];
      const uint64_t p1 = uint64_t{0xCD9E8D57u} * counter.word[2];
      counter = {{static_cast<uint32_t>(p1 >> 32) ^ counter.word[1] ^ k0, static_cast<uint32_t>(p1),
                  static_cast<uint32_t>(p0 >> 32) ^ counter.word[3] ^ k1, static_cast<uint32_t>(p0)}};
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return counter;
  }

  // The block `offset` of the stream `subsequence`: the low and the high half of the counter.
  STRIDED_HD Block operator()(uint64_t subsequence, uint64_t offset) const {
    return (*this)(Block{{static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32),
                          static_cast<uint32_t>(subsequence), static_cast<uint32_t>(subsequence >> 32)}});
  }
};

}  // namespace STRIDED_ISA
}  // namespace strided
