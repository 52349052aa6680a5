// Uniform, normal and exponential numbers in bulk; built once for each instruction set.
#include "base/math.h"
#include "cpu/random/random.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

STRIDED_INLINE uint32_t tempered(uint32_t y) {
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680u;
  y ^= y << 15 & 0xefc60000u;
  return y ^ y >> 18;
}

STRIDED_INLINE float unit_float(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word & 0xffffffu)) * 0x1p-24f;
}
// (high mod 2^21) 2^32 + low, over 2^53; exact. Two conversions of 32 bits: one of 64 is not in every instruction set.
STRIDED_INLINE double unit_double(uint32_t high, uint32_t low) {
  const double h = static_cast<double>(static_cast<int32_t>(high & 0x1fffffu));
  const double l = static_cast<double>(static_cast<int32_t>(low ^ 0x80000000u)) + 0x1p31;
  return h * 0x1p-21 + l * 0x1p-53;
}

// Fused also where the machine has no such instruction: the result is part of the promise (Note [PyTorch's numbers]).
STRIDED_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
STRIDED_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

void uniform_float(float* to, const uint32_t* words, int64_t n, float from, float range, float end) {
  if (from == 0 && range == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = unit_float(tempered(words[i]));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const float x = fused(unit_float(tempered(words[i])), range, from);
    to[i] = x == end ? from : x;
  }
}

void uniform_double(double* to, const uint32_t* words, int64_t n, double from, double range, double end) {
  if (from == 0 && range == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = unit_double(tempered(words[2 * i]), tempered(words[2 * i + 1]));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const double x = fused(unit_double(tempered(words[2 * i]), tempered(words[2 * i + 1])), range, from);
    to[i] = x == end ? from : x;
  }
}

// pi/2 in three parts; the first two are so short that their products with 0, 1, ... 4 are exact.
template <class T>
struct HalfPi;
template <>
struct HalfPi<float> {
  static constexpr float a = 0x1.921fap0f, b = 0x1.54442p-20f, c = 0x1.a308d4p-41f;
};
template <>
struct HalfPi<double> {
  static constexpr double a = 0x1.921fb544p0, b = 0x1.0b4611a6p-34, c = 0x1.3198a2e037073p-69;
};

template <class T>
struct SinCos {
  T sin, cos;
};
// For 0 <= x <= 2 pi.
template <class T>
STRIDED_INLINE SinCos<T> sin_cos(T x) {
  using P = HalfPi<T>;
  const T turns = math::round(x * T(0x1.45f306dc9c883p-1));
  const T r = math::mul_add(-turns, P::c, math::mul_add(-turns, P::b, math::mul_add(-turns, P::a, x)));
  const T z = r * r;
  const T s = math::mul_add(z * r, math::sin_tail(z), r);
  const T c = math::mul_add(z * z, math::cos_tail(z), math::mul_add(T(-0.5), z, T(1)));
  const bool odd = (turns == T(1)) | (turns == T(3));
  const T sin = odd ? c : s, cos = odd ? s : c;
  return {(turns == T(2)) | (turns == T(3)) ? -sin : sin, (turns == T(1)) | (turns == T(2)) ? -cos : cos};
}

// G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", Ann. Math. Statist. 29 (1958).
template <class T>
void box_muller(T* data, int64_t blocks, T mean, T std) {
  constexpr int kAtOnce = 8;  // blocks; a half block is shorter than the widest vector
  const T two_pi = static_cast<T>(6.28318530717958647693);
  alignas(64) T first[8 * kAtOnce], second[8 * kAtOnce];
  for (int64_t done = 0; done < blocks; done += kAtOnce, data += 16 * kAtOnce) {
    const int count = blocks - done < kAtOnce ? static_cast<int>(blocks - done) : kAtOnce;
    for (int k = 0; k < count; ++k) {
      for (int j = 0; j < 8; ++j) first[8 * k + j] = data[16 * k + j];
      for (int j = 0; j < 8; ++j) second[8 * k + j] = data[16 * k + 8 + j];
    }
    for (int i = 0; i < 8 * count; ++i) {
      const T radius = math::sqrt(T(-2) * math::log(T(1) - first[i]));  // 1 - u: in (0, 1]
      const SinCos<T> angle = sin_cos(two_pi * second[i]);
      first[i] = math::mul_add(radius * angle.cos, std, mean);
      second[i] = math::mul_add(radius * angle.sin, std, mean);
    }
    for (int k = 0; k < count; ++k) {
      for (int j = 0; j < 8; ++j) data[16 * k + j] = first[8 * k + j];
      for (int j = 0; j < 8; ++j) data[16 * k + 8 + j] = second[8 * k + j];
    }
  }
}

// 1 - u is exact, so its logarithm is log1p(-u). It and the C library's differ by a few units in the last place of
// double, of which the rounded result shows nothing unless it lies next to the middle of two floats, or is no normal
// number: then the C library's is asked.
void exponential_float(float* to, const double* unit, int64_t n, double factor) {
  constexpr int64_t kSome = 128;
  constexpr uint64_t middle = uint64_t(1) << 28, near = 64;
  for (int64_t i = 0; i < n; i += kSome) {
    const int64_t end = n - i < kSome ? n : i + kSome;
    int unsure = 0;
    const auto value_of = [=](double u) { return factor * math::log_usual(1.0 - u); };
    const auto is_unsure = [](double value) {
      const uint64_t below = math::to_bits(value) & (2 * middle - 1);
      return (below - (middle - near) <= 2 * near) | !((value > 0x1p-125) & (value < 0x1p127));
    };
    for (int64_t j = i; j < end; ++j) {
      const double value = value_of(unit[j]);
      unsure += is_unsure(value);
      to[j] = static_cast<float>(value);
    }
    for (int64_t j = i; unsure > 0 && j < end; ++j)
      if (is_unsure(value_of(unit[j]))) to[j] = static_cast<float>(factor * std::log1p(-unit[j]));
  }
}

}  // namespace

void fill_random_loops(RandomLoops& loops) {
  loops.uniform_float = uniform_float;
  loops.uniform_double = uniform_double;
  loops.box_muller_float = box_muller<float>;
  loops.box_muller_double = box_muller<double>;
  loops.exponential_float = exponential_float;
}

}  // namespace STRIDED_ISA
}  // namespace strided
