// Trigonometric functions, their inverses and the error functions for the host (see Note [Vectorisable mathematics] in
// base/math.h; include that file, not this one). The policies F32, F64 and Lite are those of base/math_exp.h.
#pragma once

#include "base/math_exp.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace math {

// Reduction of the argument.
// sin, cos and tan need x * 2/pi modulo 4 to full relative precision, for every finite x. Following M. H. Payne and
// R. N. Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18 (1983), x = X 2^b with an integer
// X (or b = 0) is multiplied by 2^b * 2/pi modulo 4, so that parts of the constant that add only multiples of 4 are
// dropped beforehand.
//   float   b is 0, 27, 54 or 81, so that X < 2^50. The constant is cut into 29 + 29 + 53 bits: products of the first
//           two with the 24 bits of X are exact in double, and so is their reduction.
//   double  b is a multiple of 16, so that X < 2^69, and the constant, four doubles, comes from a table (a gather in
//           vector code); products and sums are pairs. The double nearest to a multiple of pi/2, relative to its size,
//           leaves 2^-61, still with 40 bits to spare.
// Near zero, where nearly all arguments are, subtracting n pi/2 is much less work (W. J. Cody and W. Waite, "Software
// Manual for the Elementary Functions", 1980), with pi/2 in parts:
//   float   up to 2^13, in three floats. x - n P1 is exact in a fused multiply-add: it is a multiple of 2^-24 below 1.
//           (Without such an instruction: in double.)
//   double  up to 2^20, in parts of 33 bits, whose products with n are exact.
// Both ways are computed and one is selected, so that a result does not depend on its neighbours; loops take the short
// way alone where all of some elements allow it (Note [Usual operands] in backend/elementwise_binary.h).

// x = (4 k + quadrant) pi/2 + r + lo, |r| <= pi/4; the quadrant stands in the low bits.
struct ReducedFloat {
  float r, lo;
  uint32_t quadrant;
};
STRIDED_HD double modulo_4(double x) { return mul_add(-4.0, math::round(x * 0.25), x); }

template <class T>
constexpr T half_pi_hi = sizeof(T) == 4 ? T(0x1.921fb6p0) : T(0x1.921fb54442d18p0);
template <class T>
constexpr T half_pi_lo = sizeof(T) == 4 ? T(-0x1.777a5cp-25) : T(0x1.1a62633145c07p-54);
constexpr double kHalfPi1 = 0x1.921fb544p0, kHalfPi2 = 0x1.0b4611a6p-34;  // 33 bits each
constexpr double kHalfPi3 = 0x1.3198a2e037073p-69, kHalfPi4 = 0x1.129024e088a68p-123;
STRIDED_HD bool is_near_quadrant(float x) { return abs(x) <= 0x1p13f; }
STRIDED_HD bool is_near_quadrant(double x) { return abs(x) <= 0x1p20; }

STRIDED_HD ReducedFloat rounded(double r, double t) {
  const float hi = static_cast<float>(r);
  return {hi, static_cast<float>(r - static_cast<double>(hi)), static_cast<uint32_t>(to_bits(t))};
}
STRIDED_HD ReducedFloat reduce_near(float x) {
#if STRIDED_HAS_FMA
  constexpr float half_pi1 = 0x1.921fb4p0f, half_pi2 = 0x1.4442dp-24f, half_pi3 = 0x1.846988p-48f;
  const float t = mul_add(x, 0x1.45f306p-1f, F32::magic);
  const float n = t - F32::magic;
  const Pair<float> part = two_prod(n, half_pi2);
  // fast_two_sum is right for the smaller first operand, too, which is a multiple of 2^-24.
  const Pair<float> r = fast_two_sum(mul_add(-n, half_pi1, x), -part.hi);
  return {r.hi, mul_add(-n, half_pi3, r.lo - part.lo), to_bits(t)};
#else
  const double d = x;
  const double t = d * 0x1.45f306dc9c883p-1 + F64::magic;
  const double n = t - F64::magic;
  return rounded((d - n * kHalfPi1) - n * 0x1.0b4611a626331p-34, t);
#endif
}
STRIDED_HD ReducedFloat reduce_far(float x) {
  const double d = x;
  const double a = abs(d);
  const bool b27 = a >= 0x1p50, b54 = a >= 0x1p77, b81 = a >= 0x1p104;
  const double p1 = b81 ? 0x1.57d1f53p1 : b54 ? 0x1.4a7f09cp0 : b27 ? 0x1.b939105p1 : 0x1.45f306cp-1;
  const double p2 = b81 ? 0x1.377036cp-29 : b54 ? 0x1.5f47d4dp-28 : b27 ? 0x1.29fc274p-29 : 0x1.c9c882ap-29;
  const double p3 = b81   ? 0x1.8a5664f10e410p-57
                    : b54 ? 0x1.bb81b6c52b328p-59
                    : b27 ? 0x1.7d1f534ddc0dbp-57
                          : 0x1.4fe13abe8fa9ap-59;
  const double scaled = d * (b81 ? 0x1p-81 : b54 ? 0x1p-54 : b27 ? 0x1p-27 : 1.0);
  const double m1 = modulo_4(scaled * p1), m2 = modulo_4(scaled * p2);
  const double t = (m1 + m2) + F64::magic;
  const double n = t - F64::magic;
  const double f = ((m1 - n) + m2) + scaled * p3;
  return rounded(f * 0x1.921fb54442d18p0, t);
}
STRIDED_HD ReducedFloat reduce_quadrant(float x) {
  const ReducedFloat near = reduce_near(x), far = reduce_far(x);
  const bool is_near = is_near_quadrant(x);
  return {is_near ? near.r : far.r, is_near ? near.lo : far.lo, is_near ? near.quadrant : far.quadrant};
}

struct ReducedDouble {
  Pair<double> r;
  uint64_t quadrant;
};

constexpr double kTwoOverPi[61][4] = {
    {0x1.45f306dc9c883p-1, -0x1.6b01ec5417056p-55, -0x1.6447e493ad4cep-109, 0x1.e21c820ff28b2p-163},
    {0x1.836e4e44152a0p+0, -0x1.ec54170565912p-55, 0x1.b6c52b3278872p-113, 0x1.07f9458eaf7afp-170},
    {0x1.27220a94fe13bp+1, -0x1.05c1596447e49p-53, -0x1.d6a66c3bc6fbep-108, -0x1.ae9c5421443aap-168},
    {0x1.529fc2757d1f5p-4, 0x1.a6ee06db14acdp-59, -0x1.8778df7c035d4p-113, 0x1.d5ef5de2b0db9p-167},
    {0x1.fc2757d1f534ep+0, -0x1.1f924eb53361ep-55, 0x1.c820ff28b1d5fp-111, -0x1.443a9e48db91cp-168},
    {0x1.abe8fa9a6ee07p+1, -0x1.275a99b0ef1bfp-54, 0x1.fe5163abdebbcp-112, 0x1.586dc91b8e909p-166},
    {0x1.f534ddc0db629p+0, 0x1.664f10e4107f9p-54, 0x1.163abdebbc562p-108, -0x1.236e4716f6c8bp-162},
    {0x1.bb81b6c52b328p-1, -0x1.de37df00d74e3p-55, 0x1.7bd778ac36e49p-109, -0x1.1c5bdb22d1ffap-164},
    {0x1.b6c52b3278872p-1, 0x1.07f9458eaf7afp-58, -0x1.d4f246dc8e2dfp-115, 0x1.374b801924bbbp-170},
    {0x1.4acc9e21c8210p+1, -0x1.ae9c5421443aap-56, 0x1.b7246e3a424ddp-112, 0x1.700324977504fp-167},
    {0x1.3c439041fe516p+0, 0x1.d5ef5de2b0db9p-55, 0x1.1b8e909374b80p-110, 0x1.924bba8274648p-166},
    {0x1.c820ff28b1d5fp+1, -0x1.443a9e48db91cp-56, -0x1.6f6c8b47fe6dbp-110, -0x1.115f62e6de302p-164},
    {0x1.fe5163abdebbcp+0, 0x1.586dc91b8e909p-54, 0x1.ba5c00c925dd4p-109, 0x1.3a32439fc3bd6p-165},
    {0x1.63abdebbc561bp+0, 0x1.c91b8e909374cp-54, -0x1.ff9b6d115f62ep-108, -0x1.b78c0788538d4p-162},
    {0x1.ef5de2b0db923p+1, 0x1.c74849ba5c00dp-53, -0x1.b688afb1736f2p-107, 0x1.fc3bd63962535p-161},
    {0x1.e2b0db92371d2p+1, 0x1.26e9700324977p-55, 0x1.413a32439fc3cp-109, -0x1.4e34ed658c117p-164},
    {0x1.b7246e3a424ddp+0, 0x1.700324977504fp-55, -0x1.cdbc603c429c7p-109, 0x1.894d39f74411bp-163},
    {0x1.b8e909374b802p-2, -0x1.b6d115f62e6dep-56, -0x1.80f10a71a76b3p-111, 0x1.cfba208d7d4bbp-166},
    {0x1.2126e97003249p+1, 0x1.dd413a32439fcp-53, 0x1.deb1cb129a73fp-108, -0x1.77dca0ad144bbp-164},
    {0x1.d2e006492eea1p+0, -0x1.8b9b78c078854p-54, 0x1.cb129a73ee882p-108, 0x1.afa975da24275p-163},
    {0x1.924bba8274648p-6, 0x1.cfe1deb1cb12ap-60, -0x1.63045df7282b4p-114, -0x1.44bb7b16638fep-168},
    {0x1.2eea09d1921d0p+0, -0x1.e214e34ed658cp-56, -0x1.177dca0ad144cp-112, 0x1.213a671c09ad1p-166},
    {0x1.04e8c90e7f0efp+1, 0x1.63962534e7dd1p-53, 0x1.1afa975da2427p-111, 0x1.338e04d68befdp-165},
    {0x1.921cfe1deb1cbp+0, 0x1.29a73ee88235fp-56, 0x1.4baed1213a672p-110, -0x1.fb29741037d8dp-165},
    {0x1.fc3bd63962535p-1, -0x1.822efb9415a29p-57, 0x1.a24274ce38136p-111, -0x1.741037d8cdc54p-165},
    {0x1.eb1cb129a73efp+0, -0x1.df7282b4512eep-54, 0x1.3a671c09ad17ep-110, -0x1.bec66e29c67cbp-168},
    {0x1.62534e7dd1047p-1, -0x1.0568a25dbd8b3p-55, -0x1.c7eca5d040df6p-111, -0x1.9b8a719f2b318p-166},
    {0x1.a73ee88235f53p+0, -0x1.44bb7b16638fep-56, 0x1.ad17df904e647p-110, 0x1.639835339f49dp-164},
    {0x1.74411afa975dap+1, 0x1.213a671c09ad1p-54, 0x1.f7e413991d63ap-108, -0x1.f2b3182d8dee8p-162},
    {0x1.1afa975da2427p+1, 0x1.338e04d68befdp-53, -0x1.f633714e33e56p-107, -0x1.8c16c6f740e88p-161},
    {0x1.2ebb4484e99c7p+0, 0x1.35a2fbf209cc9p-59, -0x1.4e33e566305b2p-115, 0x1.08bf177bf2507p-169},
    {0x1.a24274ce38136p+1, -0x1.741037d8cdc54p-53, 0x1.cc1a99cfa4e42p-107, 0x1.7e2ef7e4a0ec8p-162},
    {0x1.d338e04d68bf0p-1, -0x1.bec66e29c67cbp-56, 0x1.9cfa4e422fc5ep-111, -0x1.036be27003b40p-167},
    {0x1.c09ad17df904ep-2, 0x1.91d639835339fp-56, 0x1.272117e2ef7e5p-110, -0x1.7c4e007680022p-164},
    {0x1.5a2fbf209cc8fp+1, -0x1.38cf9598c16c7p-53, 0x1.17e2ef7e4a0ecp-110, 0x1.ff897ffde0598p-164},
    {0x1.bf209cc8eb1ccp+1, 0x1.a99cfa4e422fcp-55, 0x1.77bf250763ff1p-109, 0x1.7ffde05980fefp-164},
    {0x1.3991d63983534p+0, -0x1.82d8dee81d108p-54, -0x1.b5f13801da001p-110, 0x1.e05980fef2f12p-164},
    {0x1.d639835339f4ap+0, -0x1.bdd03a21036bep-55, -0x1.3801da00087eap-110, 0x1.80fef2f118b5ap-164},
    {0x1.835339f49c846p+0, -0x1.d1081b5f13802p-58, 0x1.2fffbc0b301fep-113, -0x1.a1dce94beb25cp-169},
    {0x1.9cfa4e422fc5ep+1, -0x1.036be27003b40p-55, -0x1.0fd33f8086877p-115, -0x1.d297d64b824b2p-170},
    {0x1.3908bf177bf25p-1, 0x1.d8ffc4bffef03p-59, -0x1.9fc04343b9d29p-114, -0x1.f592e092c9813p-168},
    {0x1.7e2ef7e4a0ec8p-2, -0x1.da00087e99fc0p-62, -0x1.0d0ee74a5f593p-116, 0x1.f6d367ecf27cbp-172},
    {0x1.defc941d8ffc5p+1, -0x1.00043f4cfe022p-53, 0x1.788c5ad053690p-107, -0x1.25930261b069fp-161},
    {0x1.283b1ff897ffep+0, -0x1.fa67f010d0ee7p-56, -0x1.297d64b824b26p-110, -0x1.30d834f648b0cp-168},
    {0x1.8ffc4bffef02dp+1, -0x1.fc04343b9d298p-54, 0x1.4da3eda6cfd9ep-109, 0x1.3e584dba7a320p-163},
    {0x1.2fffbc0b301fep-1, -0x1.a1dce94beb25cp-57, -0x1.25930261b069fp-113, 0x1.b74f463f669e6p-168},
    {0x1.ef02cc07f7979p+1, -0x1.ce94beb25c126p-53, 0x1.b3f6793e584dcp-107, -0x1.61738132c3403p-161},
    {0x1.980fef2f118b6p+0, -0x1.7d64b824b2605p-54, 0x1.e4f96136e9e8cp-109, 0x1.fb34f2ff516bbp-163},
    {0x1.f79788c5ad053p+1, 0x1.a3eda6cfd9e50p-53, -0x1.a7b24585ce04dp-107, 0x1.3cbfd45aea4f7p-161},
    {0x1.88c5ad05368fbp+1, 0x1.a6cfd9e4f9613p-53, 0x1.ba7a31fb34f30p-107, -0x1.5d28ad8453814p-164},
    {0x1.ad05368fb69b4p+1, -0x1.30d834f648b0cp-56, 0x1.8fd9a797fa8b6p-110, -0x1.5b08a7028341dp-165},
    {0x1.368fb69b3f679p+1, 0x1.f2c26dd3d18fep-54, -0x1.961a015d28ad8p-108, -0x1.14e050683a131p-162},
    {0x1.b69b3f6793e58p+1, 0x1.36e9e8c7ecd3dp-53, -0x1.00ae9456c229cp-107, -0x1.41a0e84c2f8c6p-164},
    {0x1.3f6793e584dbap+1, 0x1.e8c7ecd3cbfd4p-53, 0x1.6ba93dd63f5f3p-107, -0x1.d0985f18c10ebp-165},
    {0x1.93e584dba7a32p+1, -0x1.32c3402ba515bp-57, -0x1.14e050683a131p-114, 0x1.0739f78a5292fp-168},
    {0x1.84dba7a31fb35p+1, -0x1.a015d28ad8454p-56, 0x1.faf97c5ecf41dp-110, -0x1.821d6b5b45650p-166},
    {0x1.a7a31fb34f2ffp+1, 0x1.45aea4f758fd8p-53, -0x1.a0e84c2f8c608p-108, -0x1.d6b5b45650128p-162},
    {0x1.1fb34f2ff516cp+1, -0x1.5b08a7028341dp-53, -0x1.30be31821d6b6p-110, 0x1.2ea6bfb5fb120p-164},
    {0x1.4f2ff516ba93ep+1, -0x1.4e050683a130cp-54, 0x1.ce7de294a4baap-110, -0x1.404a04ee072a3p-164},
    {0x1.f516ba93dd63fp+1, 0x1.7cbe2f67a0e74p-53, -0x1.0eb5ada2b2809p-109, -0x1.0277039517bd5p-163},
    {0x1.7527bac7ebe5fp+0, 0x1.7b3d0739f78a5p-56, 0x1.497535fdafd89p-111, -0x1.ca8bdea7f33eep-170},
};

// The difference may be as small as 2^-57, and is as accurate as larger ones: each rounding error is kept.
STRIDED_HD ReducedDouble reduce_near(double x) {
#if STRIDED_HAS_FMA
  constexpr double half_pi1 = half_pi_hi<double>, half_pi2 = half_pi_lo<double>, half_pi3 = -0x1.f1976b7ed8fbcp-110;
  const double t = mul_add(x, 0x1.45f306dc9c883p-1, F64::magic);
  const double n = t - F64::magic;
  const Pair<double> part = two_prod(n, half_pi2);
  // fast_two_sum is right for the smaller first operand, too, which is a multiple of 2^-53.
  const Pair<double> r = fast_two_sum(mul_add(-n, half_pi1, x), -part.hi);
  return {{r.hi, mul_add(-n, half_pi3, r.lo - part.lo)}, to_bits(t)};
#else
  const double t = x * 0x1.45f306dc9c883p-1 + F64::magic;
  const double n = t - F64::magic;
  const Pair<double> w = two_prod(n, kHalfPi3);
  const Pair<double> a = two_sum(x - n * kHalfPi1, -(n * kHalfPi2));
  const Pair<double> b = two_sum(a.hi, -w.hi);
  return {fast_two_sum(b.hi, b.lo + (a.lo - (w.lo + n * kHalfPi4))), to_bits(t)};
#endif
}
STRIDED_HD ReducedDouble reduce_far(double x) {
  const int64_t exponent = static_cast<int64_t>((to_bits(x) >> 52) & 0x7ff);
  const int64_t above = exponent > 1075 ? exponent - 1075 : 0;
  const uint64_t infinite = exponent == 0x7ff ? 0 : ~uint64_t(0);
  const uint64_t row = static_cast<uint64_t>(above) >> 4 & infinite;
  const double scaled = x * from_bits<double>((1023 - 16 * row) << 52);
  const Pair<double> v1 = two_prod(scaled, kTwoOverPi[row][0]);
  const Pair<double> v2 = two_prod(scaled, kTwoOverPi[row][1]);
  const Pair<double> v3 = two_prod(scaled, kTwoOverPi[row][2]);
  const double v4 = scaled * kTwoOverPi[row][3];
  const Pair<double> middle = two_sum(v1.lo, v2.hi);
  const Pair<double> whole = two_sum(modulo_4(v1.hi), modulo_4(middle.hi));
  const double t = whole.hi + F64::magic;
  const double n = t - F64::magic;
  // What is left of `whole`, and the small terms, smallest first.
  const Pair<double> s1 = two_sum(v2.lo, v3.hi);
  const Pair<double> s2 = two_sum(middle.lo, s1.hi);
  const Pair<double> s3 = two_sum(whole.hi - n, whole.lo);
  const Pair<double> s4 = two_sum(s3.hi, s2.hi);
  const double lo = (s4.lo + s3.lo) + ((s2.lo + s1.lo) + (v3.lo + v4));
  const Pair<double> f = fast_two_sum(s4.hi, lo);
  const Pair<double> r = two_prod(f.hi, 0x1.921fb54442d18p0);
  const double r_lo = r.lo + mul_add(f.hi, 0x1.1a62633145c07p-54, f.lo * 0x1.921fb54442d18p0);
  return {fast_two_sum(r.hi, r_lo), to_bits(t)};
}
STRIDED_INLINE_HD ReducedDouble reduce_quadrant(double x) {
  const ReducedDouble near = reduce_near(x), far = reduce_far(x);
  const bool is_near = is_near_quadrant(x);
  return {{is_near ? near.r.hi : far.r.hi, is_near ? near.r.lo : far.r.lo}, is_near ? near.quadrant : far.quadrant};
}

// (sin r - r) / r^3 and (cos r - 1 + r^2 / 2) / r^4, z = r^2, |r| <= pi/4.
STRIDED_HD double sin_tail(double z) {
  return poly(z, -0.16666666666666638, 0.0083333333333232597, -0.00019841269830324842, 2.7557313835979707e-06,
              -2.5050776826389591e-08, 1.5897715008344779e-10);
}
STRIDED_HD double cos_tail(double z) {
  return poly(z, 0.041666666666666602, -0.0013888888888873992, 2.4801587289395967e-05, -2.7557314326270964e-07,
              2.0875719584101213e-09, -1.1359449684479013e-11);
}

STRIDED_HD float sin_tail(float z) { return poly(z, -0.166666552f, 0.00833217334f, -0.000195166518f); }
STRIDED_HD float cos_tail(float z) { return poly(z, 0.0416666456f, -0.00138873619f, 2.4437757e-05f); }

// sin(r + lo), cos(r + lo) as pairs.
template <class T>
STRIDED_HD Pair<T> sin_kernel(T r, T lo) {
  const T z = r * r;
  return fast_two_sum(r, mul_add(z * r, sin_tail(z), lo * mul_add(T(-0.5), z, T(1))));
}
template <class T>
STRIDED_HD Pair<T> cos_kernel(T r, T lo) {
  const T z = r * r;
  const T half = T(0.5) * z;
  const T w = T(1) - half;
  const T z_lo = product_minus(r, r, z);
  return fast_two_sum(w, ((T(1) - w) - half) + (mul_add(z * z, cos_tail(z), T(-0.5) * z_lo) - r * lo));
}

// sin(x + turns pi/2).
template <class T, class Reduced>
STRIDED_INLINE_HD T sin_turned(const Reduced& v, T r, T lo, typename Bits<T>::U turns) {
  constexpr int to_sign = sizeof(T) * 8 - 2;
  const auto q = v.quadrant + turns;
  const T z = r * r;
  const T s = r + mul_add(z * r, sin_tail(z), lo);
  const T rest = mul_add(T(0.5), product_minus(r, r, z), r * lo);  // of z / 2: from rounding it, and from lo
  const T c = T(1) + mul_add(z, mul_add(z, cos_tail(z), T(-0.5)), -rest);
  const T value = (q & 1) != 0 ? c : s;
  return from_bits<T>(to_bits(value) ^ (q & 2) << to_sign);
}
STRIDED_HD float sin_quadrant(const ReducedFloat& v, uint32_t turns) { return sin_turned(v, v.r, v.lo, turns); }
STRIDED_INLINE_HD double sin_quadrant(const ReducedDouble& v, uint64_t turns) {
#if STRIDED_HAS_FMA
  return sin_turned(v, v.r.hi, v.r.lo, turns);
#else  // the short way would be 1.2 ulp off
  const uint64_t q = v.quadrant + turns;
  const double s = sin_kernel(v.r.hi, v.r.lo).hi, c = cos_kernel(v.r.hi, v.r.lo).hi;
  const double value = (q & 1) != 0 ? c : s;
  return from_bits<double>(to_bits(value) ^ (q & 2) << 62);
#endif
}

STRIDED_HD float sin_of(float x, const ReducedFloat& v) {
  const float value = sin_quadrant(v, 0);
  return abs(x) < 0x1p-13f ? x : value;
}
STRIDED_INLINE_HD double sin_of(double x, const ReducedDouble& v) {
  const double value = sin_quadrant(v, 0);
  return abs(x) < 0x1p-27 ? x : value;
}
STRIDED_HD float cos_of(float, const ReducedFloat& v) { return sin_quadrant(v, 1); }
STRIDED_INLINE_HD double cos_of(double x, const ReducedDouble& v) {
  const double value = sin_quadrant(v, 1);
  return abs(x) < 0x1p-27 ? 1.0 : value;
}
STRIDED_HD float tan_of(float x, const ReducedFloat& v) {
  const float r = v.r, z = r * r;
  const float tail =
      poly(z, 0.333333492f, 0.133326516f, 0.0540613458f, 0.0212745629f, 0.0108561637f, 6.30177747e-05f, 0.00438969955f);
  const float lo = mul_add(0.7f * r, product_minus(r, r, z), mul_add(v.lo, z, v.lo));  // from rounding z, and from v.lo
  const Pair<float> tangent = fast_two_sum(r, mul_add(z * r, tail, lo));
  // In odd quadrants -1 / tangent: one division and one Newton step.
  const float inverse = 1.0f / tangent.hi;
  const float rest = mul_add(inverse, tangent.lo, product_minus(inverse, tangent.hi, 1.0f));
  const float value = (v.quadrant & 1) != 0 ? mul_add(inverse, rest, -inverse) : tangent.hi;
  return abs(x) < 0x1p-13f ? x : value;
}
// 1 + z p as a pair, |z p| < 1, and z_lo times the slope: what a rest of z adds.
STRIDED_HD Pair<double> one_plus(double z, double p, double z_lo, double slope) {
  const double h = mul_add(z, p, 1.0);
  return {h, mul_add(z_lo, slope, mul_add(z, p, 1.0 - h))};
}
// tan r = r N(z) / D(z), z = r^2: a minimax fit to 2^-66 with half as many terms as sine and cosine have together. Odd
// quadrants turn the quotient over: -1 / tan r = -D / (r N).
STRIDED_INLINE_HD double tan_of(double x, const ReducedDouble& v) {
  const double r = v.r.hi, z = r * r, z_lo = mul_add(r + r, v.r.lo, product_minus(r, r, z));
  constexpr double n1 = -0.1333830157915751, d1 = -0.46671634912490845;
  const Pair<double> factor = one_plus(z, poly(z, n1, 0.0034248290443628002, -1.7860721408273835e-05), z_lo, n1);
  const Pair<double> d =
      one_plus(z, poly(z, d1, 0.02566361208599901, -0.00031180550167492877, 4.981469842966072e-07), z_lo, d1);
  const double h = r * factor.hi;
  const Pair<double> n = {h, mul_add(v.r.lo, factor.hi, mul_add(r, factor.lo, product_minus(r, factor.hi, h)))};
  const bool odd = (v.quadrant & 1) != 0;
  const double value = divide<double>({odd ? -d.hi : n.hi, odd ? -d.lo : n.lo}, {odd ? n.hi : d.hi, odd ? n.lo : d.lo});
  return abs(x) < 0x1p-27 ? x : value;
}

STRIDED_HD float sin(float x) { return sin_of(x, reduce_quadrant(x)); }
STRIDED_HD double sin(double x) { return sin_of(x, reduce_quadrant(x)); }
STRIDED_HD float cos(float x) { return cos_of(x, reduce_quadrant(x)); }
STRIDED_HD double cos(double x) { return cos_of(x, reduce_quadrant(x)); }
STRIDED_HD float tan(float x) { return tan_of(x, reduce_quadrant(x)); }
STRIDED_INLINE_HD double tan(double x) { return tan_of(x, reduce_quadrant(x)); }
// The same where is_near_quadrant(x).
template <class T>
STRIDED_HD T sin_near(T x) {
  return sin_of(x, reduce_near(x));
}
template <class T>
STRIDED_HD T cos_near(T x) {
  return cos_of(x, reduce_near(x));
}
template <class T>
STRIDED_HD T tan_near(T x) {
  return tan_of(x, reduce_near(x));
}

// (asin s - s) / s^3, z = s^2 <= 1/4.
STRIDED_HD float asin_tail(float z) {
  return poly(z, 0.166667536f, 0.0749524236f, 0.0454770066f, 0.0241480432f, 0.0422178283f);
}
STRIDED_HD double asin_tail(double z) {
  return poly(z, 0.16666666666666322, 0.075000000001780323, 0.044642856933233457, 0.030381955511017071,
              0.022371833213747246, 0.017358703230014799, 0.013894119596030973, 0.012116162047662794,
              0.0067387507606027743, 0.01899396353264261, -0.015442266056926524, 0.031409428329701027);
}
// Beyond 1/2, asin x = pi/2 - 2 asin(sqrt((1 - x) / 2)), with the square root as a pair s + s_lo.
template <class T>
struct ArcSine {
  bool small;
  T s, tail;  // asin of the reduced argument is s + tail
};
template <class T>
STRIDED_HD ArcSine<T> reduced_asin(T x) {
  const T a = abs(x);
  const bool small = a <= T(0.5);
  const T z = choose(small, a * a, (T(1) - a) * T(0.5));
  const T root = math::sqrt(z);
  const T s = small ? a : root;
  const T s_lo = small | (root == T(0)) ? T(0) : product_minus(root, root, z) * T(-0.5) / root;
  return {small, s, mul_add(s * z, asin_tail(z), s_lo)};
}
template <class T>
STRIDED_HD T asin_impl(T x) {
  const ArcSine<T> v = reduced_asin(x);
  const Pair<T> sum = fast_two_sum(half_pi_hi<T>, T(-2) * v.s);
  const T large = sum.hi + (sum.lo + mul_add(T(-2), v.tail, half_pi_lo<T>));
  return copysign(v.small ? v.s + v.tail : large, x);
}
template <class T>
STRIDED_HD T acos_impl(T x) {
  const ArcSine<T> v = reduced_asin(x);
  // pi/2 - asin x within 1/2; beyond 2 asin(...), or pi minus that.
  const T factor = mulsign(v.small ? T(-1) : T(2), x), quarters = v.small ? T(1) : x < T(0) ? T(2) : T(0);
  const Pair<T> sum = fast_two_sum(quarters * half_pi_hi<T>, factor * v.s);
  return sum.hi + (sum.lo + mul_add(factor, v.tail, quarters * half_pi_lo<T>));
}
STRIDED_HD float asin(float x) { return asin_impl(x); }
STRIDED_HD double asin(double x) { return asin_impl(x); }
STRIDED_HD float acos(float x) { return acos_impl(x); }
STRIDED_HD double acos(double x) { return acos_impl(x); }

// (atan t - t) / t^3, z = t^2, |t| <= tan(pi/8).
template <class P>
STRIDED_HD double atan_tail(double z);
template <>
STRIDED_HD double atan_tail<F64>(double z) {
  return poly_in_halves(z, -0.33333333333333331, 0.19999999999999943, -0.14285714285702206, 0.11111111109976152,
                        -0.090909090310806129, 0.076923057147467735, -0.066666230621444375, 0.058816885298133406,
                        -0.052560373914482553, 0.047080460192551798, -0.040632735083338464, 0.029771139227070337,
                        -0.013118525132505617);
}

// eighths pi/4 + sign atan(numerator / denominator), the quotient within +-tan(pi/8); both with what they were rounded
// by.
template <class P>
STRIDED_HD double angle_sum(double eighths, double sign, const Pair<double>& numerator,
                            const Pair<double>& denominator) {
  const double inverse = 1 / denominator.hi;
  const double t = numerator.hi * inverse;
  const double rest =
      (mul_add(-t, denominator.lo, numerator.lo) - product_minus(t, denominator.hi, numerator.hi)) * inverse;
  // Without a fused multiply-add it would underflow.
  const double t_lo = STRIDED_HAS_FMA || abs(numerator.hi) > 0x1p-900 ? rest : 0.0;
  const double z = t * t;
  const double tail = mul_add(t * z, atan_tail<P>(z), t_lo);
  const Pair<double> sum = fast_two_sum(eighths * 0x1.921fb54442p-1, sign * t);
  return sum.hi + (sum.lo + mul_add(eighths, 0x1.a308d313198a3p-42, sign * tail));
}
// The angle of the point (x, y): that of (larger, smaller), turned by -pi/4 where it is above pi/8, so that one
// division serves; reflections at the diagonal and at the vertical axis are undone in the number of eighths and the
// sign.
// kUsual: nothing overflows or underflows on the way.
template <class P, bool kUsual = false>
STRIDED_HD double atan2_impl(double y, double x) {
  const double a = abs(y), b = abs(x);
  const bool swap = a > b, left = signbit(x);
  const double large = swap ? a : b, small = swap ? b : a;
  const double scale = kUsual ? 1.0 : large > 0x1p900 ? 0x1p-200 : large < 0x1p-900 ? 0x1p150 : 1.0;
  // Two zeros, two infinities or one: the direction alone, as the point (1, 0) or (1, 1).
  const bool special = !kUsual && ((large == 0) | (large == infinity<double>()));
  const double p = special ? (small == large) & (large > 0) ? 1.0 : 0.0 : small * scale;
  const double q = special ? 1.0 : large * scale;
  const bool turn = p > q * 0.41421356237309503;
  const Pair<double> numerator = fast_two_sum(turn ? -q : -0.0, p);
  const Pair<double> denominator = fast_two_sum(q, turn ? p : 0.0);
  // With e the eighths of the turn: e, 2 - e, 4 - e or 4 - (2 - e).
  const double sign = swap != left ? -1.0 : 1.0;
  const double eighths = sign * (turn ? 1.0 : 0.0) + ((swap ? 2.0 : 0.0) + (left & !swap ? 4.0 : 0.0));
  const double angle = angle_sum<P>(eighths, sign, numerator, denominator);
  return !kUsual && (isnan(x) | isnan(y)) ? x + y : copysign(angle, y);
}
template <class P>
STRIDED_HD double atan_impl(double x) {
  const double size = abs(x), a = size > 0x1p900 ? 0x1p900 : size;
  const bool middle = a > 0.41421356237309503, big = a > 2.4142135623730951;
  // a / 1, (a - 1) / (a + 1) or -1 / a.
  // (Beside the 1 in a sum a is less than 2.5, so that its rounding is found as that of the smaller operand.)
  const Pair<double> numerator = fast_two_sum(middle ? -1.0 : -0.0, big ? 0.0 : a);
  const Pair<double> denominator = fast_two_sum(big ? 0.0 : 1.0, middle ? a : 0.0);
  const double eighths = (middle ? 1.0 : 0.0) + (big ? 1.0 : 0.0);
  return copysign(angle_sum<P>(eighths, 1.0, numerator, denominator), x);
}

// In float the polynomial reaches to 1: hi + lo + sign atan(numerator / denominator), the quotient within [-1, 1].
STRIDED_HD float angle_sum(float hi, float lo, float sign, float numerator, float denominator) {
  const float inverse = 1.0f / denominator;
  const float t = numerator * inverse;
  const float rest = -product_minus(t, denominator, numerator) * inverse;
  const float z = t * t;
  // The derivative of atan at t, 1 / (1 + t^2), is about 1 - t^2 / 2.
  const float t_lo = abs(numerator) > 0x1p-100f ? rest * mul_add(z, -0.5f, 1.0f) : 0.0f;
  const float tail = mul_add(t * z,
                             poly(z, -0.333333313f, 0.19999826f, -0.142817765f, 0.110704996f, -0.0885568038f,
                                  0.0684049949f, -0.0460519642f, 0.0236765221f, -0.00784436986f, 0.00121760846f),
                             t_lo);
  const Pair<float> sum = fast_two_sum(hi, sign * t);
  return sum.hi + (sum.lo + mul_add(sign, tail, lo));
}
// The angle of the point (x, y), which has the larger and the smaller of |x| and |y|, as they are or scaled.
STRIDED_HD float angle_of(float y, float x, float small, float large) {
  const bool swap = abs(y) > abs(x), left = signbit(x);
  const float quarters = swap ? 1.0f : left ? 2.0f : 0.0f;
  return copysign(
      angle_sum(quarters * half_pi_hi<float>, quarters * half_pi_lo<float>, swap != left ? -1.0f : 1.0f, small, large),
      y);
}
// Where no number of the scheme overflows or underflows.
template <class T>
STRIDED_HD bool has_usual_angle(T y, T x) {
  using U = typename Bits<T>::U;
  constexpr T low = sizeof(T) == 4 ? T(0x1p-60) : T(0x1p-400), high = 1 / low;
  const U least = to_bits(low), a = to_bits(abs(y)) - least, b = to_bits(abs(x)) - least;
  return (a < b ? b : a) < to_bits(high) - least;
}
STRIDED_HD double atan2_usual(double y, double x) { return atan2_impl<F64, true>(y, x); }
STRIDED_HD float atan2_usual(float y, float x) {
  const float a = abs(y), b = abs(x);
  return angle_of(y, x, a > b ? b : a, a > b ? a : b);
}
STRIDED_HD float atan2(float y, float x) {
  const float a = abs(y), b = abs(x);
  const float large = a > b ? a : b, small = a > b ? b : a;
  const float scale = large > 0x1p60f ? 0x1p-40f : large < 0x1p-60f ? 0x1p80f : 1.0f;
  // Two zeros, two infinities or one: the direction alone, as the point (1, 0) or (1, 1).
  const bool special = (large == 0) | (large == infinity<float>());
  const float p = special ? (small == large) & (large > 0) ? 1.0f : 0.0f : small * scale;
  const float angle = angle_of(y, x, p, special ? 1.0f : large * scale);
  // Nearly on the positive axis: the angle is the quotient, which may be subnormal.
  const bool tiny = !special & (small < 0x1p-60f) & (small < large * 0x1p-30f) & (large == x);
  const float value = tiny ? copysign(small / large, y) : angle;
  return isnan(x) | isnan(y) ? x + y : value;
}
STRIDED_HD double atan2(double y, double x) { return atan2_impl<F64>(y, x); }
// Beyond 1 pi/2 - atan(1 / a), with what the quotient lacks times the derivative, about 1 - t^2 / 2.
STRIDED_HD float atan(float x) {
  const float size = abs(x), a = size > 0x1p100f ? 0x1p100f : size, inverse = -1.0f / a;
  const bool big = a > 1.0f;
  const float t = big ? inverse : a, z = t * t;
  const float tail = z * poly(z, -0.333333284f, 0.199997216f, -0.142804682f, 0.110622577f, -0.0882583931f,
                              0.0677451864f, -0.045145981f, 0.0229224358f, -0.00749594066f, 0.00114902842f);
  const float t_lo = t * product_minus(t, a, -1.0f) * mul_add(z, -0.5f, 1.0f);
  const Pair<float> sum = fast_two_sum(half_pi_hi<float>, t);
  const float far = sum.hi + mul_add(t, tail, sum.lo + (t_lo + half_pi_lo<float>));
  return copysign(big ? far : mul_add(t, tail, t), x);
}
STRIDED_HD double atan(double x) { return atan_impl<F64>(x); }

// (erf x - x) / x, z = x^2 <= 1.
template <class P>
STRIDED_HD double erf_tail(double z);
template <>
STRIDED_HD double erf_tail<Lite>(double z) {
  return poly(z, 0.12837916706311922, -0.37612638483616506, 0.11283782745186166, -0.026865445738531887,
              0.005221074717960187, -0.00084847099688690824, 0.00011270538878979821, -9.6801328341240414e-06);
}
template <>
STRIDED_HD double erf_tail<F64>(double z) {
  return poly_in_halves(z, 0.12837916709551259, -0.37612638903183748, 0.11283791670954885, -0.026866170645077868,
                        0.0052239776248283873, -0.00085483269814236361, 0.00012055331132902262, -1.4925595771215512e-05,
                        1.646100846709585e-06, -1.6350396158440569e-07, 1.4660328613604038e-08, -1.1374956544150675e-09,
                        5.9606887360405508e-11);
}
// (1 + 2 x) exp(x^2) erfc(x) in t = (x - 2) / (x + 2), after M. M. Shepherd and J. G. Laframboise, "Chebyshev
// approximation of (1 + 2x) exp(x^2) erfc x", Mathematics of Computation 36 (1981). F64: all x >= 0; Lite: 0.45 <= x
// <= 11.
template <class P>
STRIDED_HD double erfcx_numerator(double t);
template <>
STRIDED_HD double erfcx_numerator<Lite>(double t) {
  return poly(t, 1.2769783815885039, -0.092763824765799807, -0.166030403674919, 0.16405117820026172,
              -0.054219837309539741, -0.0080323908355610131, 0.0087210576603414351, 0.0012602945884489711,
              -0.0014500105023140817, -0.00041807524072280243, 0.00019457027371455447, 9.3921590169094961e-05);
}
template <>
STRIDED_HD double erfcx_numerator<F64>(double t) {
  return poly(t, 1.2769783815525286, -0.092763826585746015, -0.16603039761528937, 0.16405128003344446,
              -0.05422000099203593, -0.008034015082560542, 0.0087226538755756176, 0.0012713389694938386,
              -0.0014568139430271702, -0.0004543408816116156, 0.00020636715565380565, 0.00015103960880853901,
              -1.509409630432737e-06, -3.6425700471105623e-05, -1.3494934457454951e-05, 3.7193000017608169e-06,
              5.2299104757577274e-06, 1.4824272560929263e-06, -7.0701755195490714e-07, -7.9687495774243925e-07,
              -2.4767231929756367e-07, 9.0648054086749636e-08, 1.4740033561376212e-07, 6.8450311380019066e-08,
              -2.0038115709106765e-08, -3.9181261324556561e-08, -8.0929961758715887e-09, 9.3512597776666088e-09,
              3.9015502822911621e-09, -9.3426530076320426e-10, -5.329400173374239e-10);
}
// exp(x^2) erfc(x), x >= 0.
STRIDED_HD double erfcx_positive(double x) { return erfcx_numerator<F64>((x - 2) / (x + 2)) / (1 + 2 * x); }

// erfc(a) for 1/2 <= a <= high.
template <class P>
STRIDED_INLINE_HD double erfc_large(double a) {
  const Pair<double> square = two_prod(a, a);
  const double t = (a - 2) / (a + 2);
  return exp_impl<P>(-square.hi, -square.lo) * (erfcx_numerator<P>(t) / (1 + 2 * a));
}
template <class P>
STRIDED_INLINE_HD double erfc_impl(double x, double high) {
  const double a = abs(x);
  const double near = 1 - mul_add(x, erf_tail<P>(x * x), x);
  const double far = erfc_large<P>(a > high ? high : a);
  const double outer = x < 0 ? 2 - far : far;
  return a < 0.5 ? near : outer;
}
// Pure float: beyond 0.87 as 1 - exp(-p), p a polynomial about a point at which p is a float to 2^-30.
STRIDED_HD float erf(float x) {
  const float a = abs(x);
  const float near = mul_add(a,
                             poly(a * a, 0.128379166f, -0.37612626f, 0.112835817f, -0.0268535707f, 0.00518767582f,
                                  -0.000800278853f, 7.82396528e-05f),
                             a);
  const float d = (a > 3.95f ? 3.95f : a) - 0.91650390625f;
  const float q = poly(d, 2.49906826f, 0.832266212f, 0.0450530313f, -0.0109145828f, 0.00220021722f, -0.000371443341f,
                       6.45068794e-05f, -9.04455646e-06f);
  const float far = 1.0f - exp_plain<F32, true>(-mul_add(d, q, 1.63511515f));
  return copysign(a < 0.87f ? near : far, x);
}
// Beyond 1 as 1 - erfc, with a shorter polynomial for t in [-1/3, 1/2], and of 1 / (a + 2) and 1 / (1 + 2 a) the
// product by one division: errors of erfc count by its sixth at most.
STRIDED_INLINE_HD double erf(double x) {
  const double size = abs(x), a = clamp_keep_nan(size, 0.0, 6.0);
  const double near = mul_add(size, erf_tail<F64>(size * size), size);
  const double up = a + 2, down = mul_add(2.0, a, 1.0), inverse = 1 / (up * down);
  const double numerator =
      poly_in_halves((a - 2) * (down * inverse), 1.2769783815525289, -0.09276382658572887, -0.16603039761518956,
                     0.16405128002675736, -0.054220001071083656, -0.0080340148109563894, 0.0087226613324961378,
                     0.0012713613883333271, -0.0014569677581036592, -0.00045541226462527032, 0.00020529726113865862,
                     0.00015934695043556727, 2.8125634945630283e-5);
  const double far = 1 - exp_plain<F64>(-a * a) * (numerator * (up * inverse));
  return copysign(size < 1 ? near : far, x);
}
// For a result that is rounded to float.
STRIDED_HD double erfc_short(double x) { return erfc_impl<Lite>(x, 10.9); }
STRIDED_HD float erfc(float x) { return static_cast<float>(erfc_short(x)); }
STRIDED_INLINE_HD double erfc(double x) { return erfc_impl<F64>(x, 28.0); }

// The distribution function of the standard normal law at x, and exp(-x^2 / 2).
STRIDED_INLINE_HD Pair<double> normal_law(double x) {
  return {0.5 * erfc(x * -0.70710678118654752440), exp(-0.5 * x * x)};
}
// Pure float: for a = |x| the function at -a is exp(-a^2 / 2) P(t) / (1 + a / k) with t = (a - k) / (a + k), after
// Shepherd and Laframboise as above; k = 19/4 takes the shortest P (degree 8 for an error of 1.3e-8). Beyond 15 it is
// zero.
template <bool kUsual>
STRIDED_HD Pair<float> normal_law_impl(float x) {
  const float size = abs(x), a = !kUsual && size > 15.0f ? 15.0f : size;
  const float half = -0.5f * a, square = half * a, short_power = exp_plain<F32, kUsual>(square);
  const float power = mul_add(short_power, product_minus(half, a, square), short_power);
  const float inverse = 4.75f / (a + 4.75f);
  const float tail = poly(mul_add(inverse, -2.0f, 1.0f), 0.161350802f, -0.137597755f, 0.0993819833f, -0.0598281771f,
                          0.029075129f, -0.0106586702f, 0.00243016658f, 4.75637462e-05f, -0.000275123282f) *
                     inverse * power;
  return {x > 0.0f ? 1.0f - tail : tail, power};
}
STRIDED_HD Pair<float> normal_law(float x) { return normal_law_impl<false>(x); }
// Where nothing underflows.
STRIDED_HD bool has_usual_normal_law(float x) { return abs(x) < 12.75f; }
STRIDED_HD Pair<float> normal_law_usual(float x) { return normal_law_impl<true>(x); }

}  // namespace math
}  // namespace STRIDED_ISA
}  // namespace strided
