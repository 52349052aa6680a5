// Random numbers on the CPU: each slot fills n contiguous elements by sequential draws from a generator, in PyTorch's
// order and with PyTorch's arithmetic.
//
// Note [PyTorch's numbers]
// Integers, uniform numbers and everything made of them by one formula equal PyTorch's bit for bit: the same draws, the
// same precision, a fused multiply-add where PyTorch's builds for AVX2 have one, and the C library's transcendental
// functions. So do normal numbers of float32, where this machine has a fused multiply-add. Those of float64, in 16 and
// more contiguous elements, agree to a few units in the last place. The generator is left in the same state in any
// case.
#pragma once

#include <cstdint>

namespace strided {

// The loops that gain from wide vectors: cpu/random/random_loops.cpp, once for each instruction set. `words` are words
// of the generator's state, not tempered.
struct RandomLoops {
  // to[i] = from + range * (word[i] mod 2^24) / 2^24, and `from` where that rounds to `end`
  void (*uniform_float)(float* to, const uint32_t* words, int64_t n, float from, float range, float end);
  // the same with 53 bits of two words, the first of them the higher half
  void (*uniform_double)(double* to, const uint32_t* words, int64_t n, double from, double range, double end);
  // Uniform numbers in [0, 1) become normal ones, in blocks of 16: eight make the radii, the other eight the angles.
  void (*box_muller_float)(float* data, int64_t blocks, float mean, float std);
  void (*box_muller_double)(double* data, int64_t blocks, double mean, double std);
  // to[i] = factor * log1p(-unit[i]) in double, rounded, for multiples of 2^-53 in [0, 1): as the C library has it
  void (*exponential_float)(float* to, const double* unit, int64_t n, double factor);
};

}  // namespace strided
