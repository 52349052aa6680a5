// Single numbers of a generator.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/math.h"
#include "core/random.h"

namespace strided {

// Uniform in [0, 1): multiples of 2^-53, 2^-24.
inline double unit(uint64_t draw) {
  return static_cast<double>(static_cast<int64_t>(draw & 0x1fffffffffffffu)) * 0x1p-53;
}
inline float unit(uint32_t draw) { return static_cast<float>(static_cast<int32_t>(draw & 0xffffffu)) * 0x1p-24f; }

// Box and Muller's pair in double, of which one waits in the generator for the next call.
inline double normal_of_pair(Generator& g) {
  if (g.next_normal) {
    const double value = *g.next_normal;
    g.next_normal.reset();
    return value;
  }
  const double turn = unit(g.random64());
  const double radius = std::sqrt(-2.0 * std::log1p(-unit(g.random64())));
  const double angle = 2.0 * math::kPi * turn;
  g.next_normal = radius * std::sin(angle);
  return radius * std::cos(angle);
}

}  // namespace strided
