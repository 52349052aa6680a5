// Uniform, normal and exponential numbers in bulk; built once for each instruction set.
#include "base/math.h"
#include "cpu/kernels.h"

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

template <class T>
struct SinCos {
  T sin, cos;
};

// pi/2 in three parts; the first two are so short that their products with 0, 1, ... 4 are exact.
constexpr double kHalfPi[] = {0x1.921fb544p0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};
// For 0 <= x <= 2 pi.
STRIDED_INLINE SinCos<double> sin_cos(double x) {
  const double turns = math::round(x * 0x1.45f306dc9c883p-1);
  const double r =
      math::mul_add(-turns, kHalfPi[2], math::mul_add(-turns, kHalfPi[1], math::mul_add(-turns, kHalfPi[0], x)));
  const double z = r * r;
  const double s = math::mul_add(z * r, math::sin_tail(z), r);
  const double c = math::mul_add(z * z, math::cos_tail(z), math::mul_add(-0.5, z, 1.0));
  const bool odd = (turns == 1) | (turns == 3);
  const double sin = odd ? c : s, cos = odd ? s : c;
  return {(turns == 2) | (turns == 3) ? -sin : sin, (turns == 1) | (turns == 2) ? -cos : cos};
}
STRIDED_INLINE double log_of_unit(double x) { return math::log(x); }

// For float, what PyTorch has on processors with AVX2, rounding for rounding: the logarithm, sine and cosine of the
// Cephes library (S. L. Moshier, "Methods and Programs for Mathematical Functions", 1989; logf.c, sinf.c), with fused
// multiply-adds. Some are further from the true value than math::log.
// For normal x in (0, 1].
STRIDED_INLINE float log_of_unit(float x) {
  const uint32_t bits = math::to_bits(x);
  const float half = math::from_bits<float>((bits & 0x7fffffu) | 0x3f000000u);  // in [0.5, 1)
  const bool low = half < 0.70710678f;
  const float e = static_cast<float>(static_cast<int32_t>(bits >> 23) - 126) - (low ? 1.0f : 0.0f);
  const float r = half - 1 + (low ? half : 0.0f), z = r * r;
  float y = math::poly(r, 3.3333331174e-1f, -2.4999993993e-1f, 2.0000714765e-1f, -1.6668057665e-1f, 1.4249322787e-1f,
                       -1.2420140846e-1f, 1.1676998740e-1f, -1.1514610310e-1f, 7.0376836292e-2f);
  y = math::mul_add(y * r, z, e * -2.12194440e-4f);
  y = math::mul_add(-0.5f, z, y);
  return math::mul_add(e, 0.693359375f, r + y);
}
// For 0 <= x <= 2 pi, by the nearest even multiple of pi/4.
STRIDED_INLINE SinCos<float> sin_cos(float x) {
  const int32_t octant = (static_cast<int32_t>(x * 1.27323954473516f) + 1) & ~1;
  const float turns = static_cast<float>(octant);
  float r = math::mul_add(turns, -0.78515625f, x);
  r = math::mul_add(turns, -2.4187564849853515625e-4f, r);
  r = math::mul_add(turns, -3.77489497744594108e-8f, r);
  const float z = r * r;
  const float sine = math::poly(z, -1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f);
  const float cosine = math::poly(z, 4.166664568298827e-2f, -1.388731625493765e-3f, 2.443315711809948e-5f);
  const float s = math::mul_add(sine * z, r, r), c = math::mul_add(cosine * z, z, z * -0.5f) + 1;
  const bool odd = (octant & 2) != 0;
  const float sin = odd ? c : s, cos = odd ? s : c;
  return {(octant & 4) != 0 ? -sin : sin, ((octant + 2) & 4) != 0 ? -cos : cos};
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
      const T radius = math::sqrt(T(-2) * log_of_unit(T(1) - first[i]));  // 1 - u: in (0, 1]
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

void fill_random_loops(KernelTable& table) {
  RandomLoops& loops = table.random;
  loops.uniform_float = uniform_float;
  loops.uniform_double = uniform_double;
  loops.box_muller_float = box_muller<float>;
  loops.box_muller_double = box_muller<double>;
  loops.exponential_float = exponential_float;
}

}  // namespace STRIDED_ISA
}  // namespace strided
