// The gamma function's logarithm, its derivatives, Hurwitz's zeta function, and the incomplete gamma functions, of
// float and double, host and device. They may branch and loop; those ending in `_usual` do neither. Each works in
// double; a float argument is converted and the result rounded once. Poles, infinities and NaN follow SciPy and
// PyTorch.
#pragma once

#include "base/math.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace math {

constexpr double kEulerGamma = 0.57721566490153286061;

// The double-precision bodies. Public names follow below.
namespace special {

STRIDED_HD double lgamma(double x) {
#if !STRIDED_DEVICE_CODE && defined(__GLIBC__)
  int sign;  // plain lgamma writes the global `signgam`: a data race between threads
  return ::lgamma_r(x, &sign);
#else
  return ::lgamma(x);
#endif
}

// x - round(x), in [-1/2, 1/2], exact: the argument for the trigonometric reflections.
STRIDED_HD double fraction(double x) { return x - math::round(x); }

// Digamma for x > 0: upward recurrence to x >= 10, then the asymptotic series (Abramowitz and Stegun 6.3.5, 6.3.18).
// Between 1 and 2, where the only positive root x0 lies, both are applied to psi(x) - psi(x0), in which every term
// has the factor x - x0, so that the relative error stays small at the root. Terms are added in pairs, which saves
// every second division.
STRIDED_HD double digamma_positive(double x) {
  const double b[] = {1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12};
  const double root_hi = 1.4616321449683622, root_lo = 9.5499542996561998e-17;
  if (x >= 1 && x <= 2) {
    const double delta = (x - root_hi) - root_lo;
    double sum = 0;
    for (int k = 8; k >= 0; k -= 2) {
      const double p = (root_hi + k) * (x + k), q = (root_hi + k + 1) * (x + k + 1);
      sum += (p + q) / (p * q);
    }
    const double w = x + 10, w0 = root_hi + 10;
    const double z = 1 / (w * w), z0 = 1 / (w0 * w0);
    double quotient = 1, power = 1, tail = b[0];  // quotient = (z^(k+1) - z0^(k+1)) / (z - z0)
    for (int k = 1; k < 7; ++k) {
      power *= z0;
      quotient = quotient * z + power;
      tail += b[k] * quotient;
    }
    return delta * (sum + 1 / (2 * w * w0) + (w + w0) * z * z0 * tail) + math::log1p(delta / w0);
  }
  double shift = 0;
  while (x < 10) {
    shift += (2 * x + 1) / (x * (x + 1));
    x += 2;
  }
  const double z = 1 / (x * x);
  const double series = z * poly(z, b[0], b[1], b[2], b[3], b[4], b[5], b[6]);
  return math::log(x) - 0.5 / x - series - shift;
}

STRIDED_HD double digamma(double x) {
  if (x == 0) return copysign(infinity<double>(), -x);
  if (x > 0 || isnan(x)) return x == infinity<double>() || isnan(x) ? x : digamma_positive(x);
  if (x == math::floor(x)) return quiet_nan<double>();
  return digamma_positive(1 - x) - kPi / math::tan(kPi * fraction(x));
}

// Abramowitz and Stegun 6.4.6, 6.4.7, 6.4.12. Terms are added in pairs, which saves every second division. For x > 0.
STRIDED_INLINE_HD double trigamma_positive(double x) {
  double sum = 0;
  for (int k = 10; k >= 0; k -= 2) {  // the small ones first
    const double p = (x + k) * (x + k), q = (x + k + 1) * (x + k + 1);
    sum += (p + q) / (p * q);
  }
  const double w = x + 12, inverse = 1 / w, z = inverse * inverse;
  const double tail = poly(z, 1. / 6, -1. / 30, 1. / 42, -1. / 30, 5. / 66, -691. / 2730, 7. / 6);
  const double value = sum + (inverse + z * (0.5 + tail * inverse));
  return x > 1e20 ? 1 / x : value;
}
STRIDED_HD double trigamma(double x) {
  if (isnan(x) || x == -infinity<double>()) return quiet_nan<double>();
  if (x <= 0 && x == math::floor(x)) return infinity<double>();
  if (x > 0) return trigamma_positive(x);
  const double s = kPi / math::sin(kPi * fraction(x));
  return s * s - trigamma_positive(1 - x);
}

// Hurwitz zeta for q > 0, x > 1 by Euler-Maclaurin summation (NIST DLMF 25.11.5): so many terms, and the tail from a
// on, where `power` is a^-x. Its terms are B_2j / (2j)!.
constexpr int kZetaTerms = 12;
STRIDED_HD bool has_usual_zeta(double x, double q) {
  return (x > 1) & (q > 0) & (x < infinity<double>()) & (q < infinity<double>());
}
STRIDED_INLINE_HD double with_zeta_tail(double sum, double x, double a, double power) {
  const double b[] = {1. / 12,
                      -1. / 720,
                      1. / 30240,
                      -1. / 1209600,
                      1. / 47900160,
                      -691. / 1307674368000.,
                      1. / 74724249600.,
                      -3617. / 10670622842880000.,
                      43867. / 5109094217170944000.,
                      -174611. / 802857662698291200000.,
                      854513. / 155112100433309859840000.,
                      -236364091. / 1693824136731743669452800000.};
  const double inverse = 1 / a, square = inverse * inverse;
  double factor = x * power * inverse, tail = 0, k = 0;
  for (double coefficient : b) {
    tail += coefficient * factor;
    factor *= (x + k + 1) * (x + k + 2) * square;
    k += 2;
  }
  const double value = sum + (power * a / (x - 1) + (0.5 * power + tail));
  return power <= 1e-17 * sum ? sum : value;  // the factors overflow where a power is 0
}
STRIDED_HD double zeta_positive(double x, double q) {
  double sum = 0, a = q;
  for (int k = 0; k < kZetaTerms; ++k) {
    const double term = math::pow(a, -x);
    sum += term;
    if (term <= 1e-17 * sum || sum == infinity<double>()) return sum;
    a += 1;
  }
  return with_zeta_tail(sum, x, a, math::pow(a, -x));
}

// sum over k >= 0 of (q + k)^-x. For q < 0 (integral x only) the terms left of zero are themselves two zetas of
// positive argument, so that no loop runs over |q| terms.
STRIDED_HD double zeta(double x, double q) {
  if (isnan(x) || isnan(q) || x < 1) return quiet_nan<double>();
  if (x == 1) return infinity<double>();
  if (q <= 0) {
    if (q == math::floor(q)) return infinity<double>();
    if (x != math::floor(x)) return quiet_nan<double>();
    if (isinf(x)) return infinity<double>();
    const double below = math::floor(q);
    const double f = q - below;
    const bool odd = math::floor(x * 0.5) != x * 0.5;
    const double left = zeta_positive(x, 1 - f) - zeta_positive(x, 1 - q);
    return zeta_positive(x, f) + (odd ? -left : left);
  }
  if (isinf(q)) return isinf(x) ? quiet_nan<double>() : 0;
  if (isinf(x)) return q < 1 ? infinity<double>() : q == 1 ? 1 : 0;
  return zeta_positive(x, q);
}

// The n-th derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x) (Abramowitz and Stegun 6.4.10).
STRIDED_HD double polygamma(int64_t n, double x) {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  const double order = static_cast<double>(n);
  double factorial = 1;
  if (n <= 170) {
    for (int64_t k = 2; k <= n; ++k) factorial *= static_cast<double>(k);
  } else {
    factorial = infinity<double>();
  }
  double value = zeta(order + 1, x);
  if (n > 170 && value > 0 && value < 1e-200) {
    // n! overflows where zeta underflows: join them in the exponent.
    value = x > 0 ? math::exp(special::lgamma(order + 1) - (order + 1) * math::log(x)) : value;
    factorial = 1;
  }
  value *= factorial;
  return n % 2 == 0 ? -value : value;
}

// log(1 + u) - u.
STRIDED_HD double log1pmx(double u) {
  if (abs(u) > 0.3) return math::log1p(u) - u;
  double sum = 0, power = u * u;
  for (int k = 2; k < 60; ++k) {
    const double term = power / k;
    sum += k % 2 == 0 ? -term : term;
    if (abs(term) < 1e-17 * abs(sum)) break;
    power *= u;
  }
  return sum;
}

// x^a exp(-x) / Gamma(a + 1), for a, x > 0. With Stirling's series for large a, where the factors alone are huge.
STRIDED_HD double gamma_density(double a, double x) {
  if (a < 10) return math::exp(a * math::log(x) - x - special::lgamma(a + 1));
  const double z = 1 / (a * a);
  const double stirling = poly(z, 1. / 12, -1. / 360, 1. / 1260, -1. / 1680, 1. / 1188, -691. / 360360, 1. / 156) / a;
  const double u = (x - a) / a;
  const double power = u > -0.9 ? a * log1pmx(u) : a * (math::log(x / a) - u);
  return math::exp(power - stirling) / math::sqrt(2 * kPi * a);
}

// Lower function by its power series (DLMF 8.11.4), up to terms of the part `least` of the sum.
STRIDED_HD double igamma_series(double a, double x, double least) {
  double term = 1, sum = 1, r = a;
  for (int k = 0; k < 3000; ++k) {
    r += 1;
    term *= x / r;
    sum += term;
    if (term <= least * sum) break;
  }
  return sum * gamma_density(a, x);
}

// Upper function by its continued fraction (DLMF 8.9.2): convergents p / q by their recurrences, all in one scale. Two
// of them differ by `product` / (q_before q) (DLMF 1.12.8), so that no step divides.
STRIDED_HD double igammac_fraction(double a, double x, double least) {
  const double density = gamma_density(a, x);
  if (density == 0) return 0;
  double b = x + 1 - a, p = 1, p_before = 0, q = b, q_before = 1, product = 1;
  for (int k = 1; k < 3000; ++k) {
    const double numerator = -k * (k - a);
    b += 2;
    const double p_next = mul_add(numerator, p_before, b * p), q_next = mul_add(numerator, q_before, b * q);
    p_before = p, q_before = q, p = p_next, q = q_next;
    product *= abs(numerator);
    if (product <= least * abs(q_before * p)) break;
    if (abs(q) > 1e100) p *= 1e-100, p_before *= 1e-100, q *= 1e-100, q_before *= 1e-100, product *= 1e-200;
  }
  return p / q * a * density;
}

// Upper function for x <= 1.1: one minus the power series, arranged so that nothing cancels for small a.
STRIDED_HD double igammac_series(double a, double x) {
  const double lgamma1p = a < 1e-3 ? a * poly(a, -kEulerGamma, 0.82246703342411321824, -0.40068563438653142847,
                                              0.27058080842778454788, -0.20738555102867398527)
                                   : special::lgamma(1 + a);
  double term = 1, sum = 0;
  for (int k = 1; k < 200; ++k) {
    term *= -x / k;
    const double part = term / (a + k);
    sum += part;
    if (abs(part) <= 1e-17 * abs(sum)) break;
  }
  const double log_x = math::log(x);
  return -math::expm1(a * log_x - lgamma1p) - a * math::exp(a * log_x - lgamma1p) * sum;
}

// Both functions for large a and x not far from it: the uniform expansion of N. M. Temme, "The asymptotic expansion
// of the incomplete gamma functions", SIAM J. Math. Anal. 10 (1979); DLMF 8.12. Coefficients from the recursion DLMF
// 8.12.10.
STRIDED_HD double igamma_temme(double a, double x, bool upper) {
  const double c[6][22] = {
      {-3.33333333333333333e-1,  8.33333333333333333e-2,  -1.48148148148148148e-2,  1.15740740740740741e-3,
       3.527336860670194e-4,     -1.78755144032921811e-4, 3.91926317852243778e-5,   -2.18544851067999216e-6,
       -1.85406221071515996e-6,  8.29671134095308601e-7,  -1.76659527368260793e-7,  6.70785354340149858e-9,
       1.0261809784240308e-8,    -4.38203601845335319e-9, 9.14769958223679023e-10,  -2.55141939949462498e-11,
       -5.83077213255042507e-11, 2.43619480206674162e-11, -5.02766928011417559e-12, 1.10043920319561348e-13,
       3.37176326240098538e-13,  -1.39238872241816207e-13},
      {-1.85185185185185185e-3,  -3.47222222222222222e-3,  2.6455026455026455e-3,   -9.90226337448559671e-4,
       2.05761316872427984e-4,   -4.01877572016460905e-7,  -1.80985503344899778e-5, 7.64916091608111008e-6,
       -1.6120900894563446e-6,   4.64712780280743434e-9,   1.37863344691572096e-7,  -5.75254560351770496e-8,
       1.19516285997781473e-8,   -1.75432417197476476e-11, -1.00915437106004126e-9, 4.16279299184258264e-10,
       -8.56390702649298064e-11, 6.06721510160475862e-14,  7.16249896481148539e-12, -2.93318664377143712e-12,
       5.99669636568368872e-13,  -2.16717865273233141e-16},
      {4.1335978835978836e-3,    -2.68132716049382716e-3,  7.71604938271604938e-4,  2.00938786008230453e-6,
       -1.07366532263651605e-4,  5.29234488291201254e-5,   -1.27606351886187277e-5, 3.42357873409613807e-8,
       1.37219573090629332e-6,   -6.29899213838005502e-7,  1.42806142060642418e-7,  -2.0477098421990866e-10,
       -1.40925299108675211e-8,  6.22897408492202203e-9,   -1.36704883966171135e-9, 9.4283561590146782e-13,
       1.28722524000893181e-10,  -5.56459561343633211e-11, 1.1975935546366981e-11,  -4.1689782251838635e-15,
       -1.09406404278845944e-12, 4.66223994639013575e-13},
      {6.49434156378600823e-4,   2.29472093621399177e-4,   -4.69189494395255712e-4,  2.67720632062838853e-4,
       -7.56180167188397641e-5,  -2.39650511386729665e-7,  1.10826541153473024e-5,   -5.67495282699159657e-6,
       1.42309007324358839e-6,   -2.78610802915281422e-11, -1.69584040919302773e-7,  8.09946490538808236e-8,
       -1.91111684859736541e-8,  2.3928620439808118e-12,   2.06201318154887984e-9,   -9.46049666185513217e-10,
       2.15410497757749078e-10,  -1.38882333681390305e-14, -2.18947616819639394e-11, 9.79099895117168513e-12,
       -2.17821918801809621e-12, 6.20881957340790143e-17},
      {-8.61888290916711699e-4,  7.84039221720066627e-4,  -2.9907248030319018e-4,   -1.46384525788434182e-6,
       6.64149821546512219e-5,   -3.96836504717943466e-5, 1.13757269706784191e-5,   2.5074972262375328e-10,
       -1.6954149536558306e-6,   8.90750753220530969e-7,  -2.29293483400080487e-7,  2.95679413754404905e-11,
       2.88658297427087836e-8,   -1.41897394378032194e-8, 3.44635804994648971e-9,   -2.30245171745280671e-13,
       -3.94092330280464053e-10, 1.86023389685045019e-10, -4.35632300505661804e-11, 1.27860010162962313e-15,
       4.67927502665791946e-12,  -2.14924647061348285e-12},
      {-3.3679855336635815e-4,   -6.97281375836585777e-5,  2.77275324495939208e-4,  -1.99325705161888477e-4,
       6.79778047793720784e-5,   1.41906292064396701e-7,   -1.35940481897686933e-5, 8.01847025633420154e-6,
       -2.29148117650809517e-6,  -3.25247355129845395e-10, 3.4652846491085265e-7,   -1.84471871911713433e-7,
       4.82409670378941808e-8,   -1.79894667217435153e-14, -6.30619450001352344e-9, 3.16241762877456794e-9,
       -7.84092425369742929e-10, 5.19267916525404072e-15,  9.35894424230678358e-11, -4.51342621616327823e-11,
       1.0799129993116827e-11,   -3.66188671268525201e-17},
  };
  const double u = (x - a) / a;
  const double half_eta2 = -log1pmx(u);
  const double eta = copysign(math::sqrt(2 * half_eta2), u);
  double sum = 0;
  for (int k = 6 - 1; k >= 0; --k) {
    double row = 0;
    for (int n = 22 - 1; n >= 0; --n) row = row * eta + c[k][n];
    sum = sum / a + row;
  }
  const double rest = math::exp(-a * half_eta2) / math::sqrt(2 * kPi * a) * sum;
  const double t = eta * math::sqrt(0.5 * a);
  return upper ? 0.5 * math::erfc(t) + rest : 0.5 * math::erfc(-t) - rest;
}

STRIDED_HD bool temme_applies(double a, double x) { return a > 200 && abs(x - a) < 0.4 * a; }

// Regularised lower and upper incomplete gamma functions P(a, x), Q(a, x) = 1 - P(a, x). `least`: the part of a sum
// that need not be added any more.
STRIDED_HD double igamma(double a, double x, double least) {
  if (isnan(a) || isnan(x) || a < 0 || x < 0) return quiet_nan<double>();
  if (a == 0) return x > 0 ? 1 : quiet_nan<double>();
  if (x == 0) return 0;
  if (isinf(a)) return isinf(x) ? quiet_nan<double>() : 0;
  if (isinf(x)) return 1;
  if (temme_applies(a, x)) return igamma_temme(a, x, false);
  if (x > 1 && x > a) return 1 - igammac_fraction(a, x, least);
  return igamma_series(a, x, least);
}

STRIDED_HD double igammac(double a, double x, double least) {
  if (isnan(a) || isnan(x) || a < 0 || x < 0) return quiet_nan<double>();
  if (a == 0) return x > 0 ? 0 : quiet_nan<double>();
  if (x == 0) return 1;
  if (isinf(a)) return isinf(x) ? quiet_nan<double>() : 1;
  if (isinf(x)) return 0;
  if (temme_applies(a, x)) return igamma_temme(a, x, true);
  if (x > 1.1) return x < a ? 1 - igamma_series(a, x, least) : igammac_fraction(a, x, least);
  // The median of the gamma law lies near a: on either side the smaller of the two is computed directly.
  return x <= 0.5 ? (-0.4 / math::log(x) < a ? 1 - igamma_series(a, x, least) : igammac_series(a, x))
                  : (x * 1.1 < a ? 1 - igamma_series(a, x, least) : igammac_series(a, x));
}

}  // namespace special

#if !STRIDED_DEVICE_CODE
// For float, in double and without branches: (y - 1) (y - 2) P(y) for y in [1, 3], below 1 by the recurrence, above 3
// by Stirling's series (Abramowitz and Stegun 6.1.41, its tail a minimax fit), below 0 by the reflection 6.1.17.
STRIDED_INLINE_HD double log_gamma_positive(double a) {
  const double log_a = log_usual(a);
  const bool below = a < 1, above = a > 3;
  const double t = (above ? 2.0 : below ? a + 1 : a) - 2;
  const double near =
      t * (t + 1) *
          poly(t, 0.42278433506216323, -0.10031730378140348, 0.03296500517689905, -0.012384115119283862,
               0.004998547660068339, -0.002108941607188789, 0.0009161035808405888, -0.0004019826539457029,
               0.00017980688209969512, -9.173403401517861e-05, 4.370566818943785e-05, -7.2824924385764e-06,
               2.249322527369149e-06, -9.677462762397166e-06, 4.874198082323692e-06) +
      (below ? -log_a : 0.0);
  const double inverse = 1 / a;
  const double tail = inverse * poly(inverse * inverse, 0.08333333070593381, -0.0027774466547639824,
                                     0.0007822283055245423, -0.0004416980468469119);
  const double far = mul_add(a - 0.5, log_a, -a) + (0.91893853320467274 + tail);
  return above ? far : near;
}
// |sin(pi r)| of |r| <= 1/2.
STRIDED_INLINE_HD double sine_of_half_turns(double r) {
  return abs(r) * poly(r * r, 3.1415926535895973, -5.167712779977313, 2.5501640354193365, -0.5992644257357763,
                       0.08214473211521793, -0.007363785026948129, 0.00044720029376000376);
}
STRIDED_INLINE_HD float lgamma_usual(float x) {
  const double d = x, a = abs(d), r = special::fraction(a);
  const double positive = log_gamma_positive(a);
  const double negative = log_usual(3.141592653589793 / (a * sine_of_half_turns(r))) - positive;
  const double below = r == 0 ? infinity<double>() : negative;
  return static_cast<float>(d < 0 ? below : positive);
}
// But for the neighbourhoods of the zeros below 0, where what was computed is the difference of larger numbers.
STRIDED_INLINE_HD bool has_usual_lgamma(float x) {
  const bool away = abs(lgamma_usual(x)) > 0.04f;
  return ((x > 0) | away) & (x != 0) & (abs(x) < infinity<float>());
}
STRIDED_INLINE_HD float lgamma(float x) {
  return has_usual_lgamma(x) ? lgamma_usual(x) : static_cast<float>(special::lgamma(x));
}
// For double in the same way, with logarithms and large terms as pairs. The coefficients interpolate at the zeros of
// Chebyshev's polynomials.
STRIDED_INLINE_HD Pair<double> log_gamma_pair(double a) {
  const Pair<double> log_a = log_pair<true>(a);
  const bool below = a < 1, above = a > 3;
  const double t = above ? 0.0 : a - (below ? 1 : 2);
  const double slope =
      poly_in_halves(t, -0.10031730167435392, 0.03296500062115691, -0.012384192193371805, 0.004998641164627129,
                     -0.0021081308339216706, 0.0009153769240386907, -0.0004057073983775151, 0.0001825526153982638,
                     -8.309511477709561e-05, 3.816907658276081e-05, -1.7661767658452517e-05, 8.221234475942905e-06,
                     -3.846858091533014e-06, 1.8113906873056685e-06, -8.54560908975883e-07, 3.958940459367468e-07,
                     -1.878442644643758e-07, 1.042041826608264e-07, -4.9827532071170234e-08, 5.910565853507869e-09,
                     -2.7296358592514825e-09, 1.6194359237484174e-08, -7.842557720538356e-09, -4.312495770350818e-09,
                     2.0986002157033107e-09, 1.5746606982777302e-09, -7.639292345836201e-10);
  const Pair<double> p = two_sum(0.42278433509846713, t * slope), product = two_prod(t, below ? a : a - 1),
                     near = two_prod(product.hi, p.hi), sum = two_sum(near.hi, below ? -log_a.hi : 0.0);
  const double near_lo = mul_add(product.hi, p.lo + 4.942915152430645e-18, mul_add(product.lo, p.hi, near.lo));
  const double sum_lo = sum.lo + (near_lo - (below ? log_a.lo : 0.0));
  const double inverse = 1 / a, half_less = a - 0.5;
  const double tail =
      inverse * poly(above ? inverse * inverse : 0.0, 0.0833333333333333, -0.0027777777777198706, 0.0007936507724234067,
                     -0.0005952350113118343, 0.0008415163778136668, -0.0019068288114279443, 0.006092364447572614,
                     -0.023023388614372777, 0.0813307211132798, -0.2070933006751568, 0.26180852870866445);
  const Pair<double> far = two_prod(half_less, log_a.hi), less = two_sum(far.hi, -a),
                     whole = two_sum(less.hi, 0.9189385332046728);
  const double whole_lo =
      whole.lo + (less.lo + (mul_add(half_less, log_a.lo, far.lo) + (tail - 3.8782941580672414e-17)));
  return {above ? whole.hi : sum.hi, above ? whole_lo : sum_lo};
}
STRIDED_INLINE_HD double lgamma_usual(double x) {
  const double a = abs(x), r = abs(special::fraction(a)), z = r * r;
  const Pair<double> positive = log_gamma_pair(a);
  // |sin(pi r)| times a
  const Pair<double> line = two_prod(r, kPi);
  const double bend =
      r * z *
      poly(z, -5.16771278004997, 2.55016403987734, -0.599264529320343, 0.08214588659675232, -0.007370430719634586,
           0.00046630087411496363, -2.1906201655131958e-05, 7.725743030789876e-07);
  const Pair<double> sine = two_sum(line.hi, bend), product = two_prod(a, sine.hi);
  const double product_lo = mul_add(a, sine.lo + mul_add(r, 1.2246467991473532e-16, line.lo), product.lo);
  const Pair<double> log_product = log_pair<true>(r == 0 ? 1.0 : product.hi);
  const Pair<double> both = two_sum(log_product.hi, positive.hi), less = two_sum(1.1447298858494002, -both.hi);
  const double rest = less.lo - (both.lo + (positive.lo + (log_product.lo + product_lo / product.hi)));
  const double negative = r == 0 ? infinity<double>() : less.hi + (rest + 1.0265951162707826e-17);
  return x < 0 ? negative : positive.hi + positive.lo;
}
// Far from the ends of the exponents, whose products are no normal numbers.
STRIDED_INLINE_HD bool has_usual_lgamma(double x) {
  const bool away = abs(lgamma_usual(x)) > 0.15;
  return ((x > 0) | away) & (abs(x) > 0x1p-400) & (abs(x) < 0x1p900);
}
STRIDED_INLINE_HD double lgamma(double x) { return has_usual_lgamma(x) ? lgamma_usual(x) : special::lgamma(x); }

// For float, in double and without branches, below 0 by the reflection (Abramowitz and Stegun 6.3.7). The sum of
// 1 / (a + k) is the derivative of the product of the a + k by that product.
STRIDED_INLINE_HD float digamma_usual(float x) {
  const bool negative = x < 0;
  const double a = negative ? 1 - static_cast<double>(x) : x;
  const bool low = a < 8;
  double product = low ? a : 1, slope = 1;
  for (int k = 1; k < 8; ++k) {
    const double next = (low ? a : 1) + k;
    slope = mul_add(slope, next, product);
    product *= next;
  }
  const double w = low ? a + 8 : a, inverse = 1 / w, z = inverse * inverse;
  const double series = z * poly(z, 1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132);
  const double r = special::fraction(x), sine = copysign(sine_of_half_turns(r), r);
  const double reflected = kPi * sine_of_half_turns(0.5 - abs(r)) / sine;
  return static_cast<float>(log_usual(w) - 0.5 * inverse - series - (low ? slope / product : 0) -
                            (negative ? reflected : 0));
}
// But for the poles, and for the neighbourhoods of the zeros, where the terms cancel.
STRIDED_INLINE_HD bool has_usual_digamma(float x) {
  const bool positive = (x > 0) & (abs(x - 1.4616321f) > 1e-3f);
  const bool negative = (x < 0) & (x != math::floor(x)) & (abs(digamma_usual(x)) > 0.1f);
  return (positive | negative) & (abs(x) < infinity<float>());
}
STRIDED_INLINE_HD float digamma(float x) {
  return has_usual_digamma(x) ? digamma_usual(x) : static_cast<float>(special::digamma(x));
}
#endif
template <class T>
STRIDED_HD T lgamma(T x) {
  return T(special::lgamma(double(x)));
}
template <class T>
STRIDED_HD T digamma(T x) {
  return T(special::digamma(double(x)));
}
template <class T>
STRIDED_HD T trigamma(T x) {
  return T(special::trigamma(double(x)));
}
// n >= 0; the caller checks.
template <class T>
STRIDED_HD T polygamma(int64_t n, T x) {
  return T(special::polygamma(n, double(x)));
}
template <class T>
STRIDED_HD T zeta(T x, T q) {
  return T(special::zeta(double(x), double(q)));
}
template <class T>
constexpr double kLeastTerm = sizeof(T) == sizeof(double) ? 1e-17 : 1e-10;
template <class T>
STRIDED_HD T igamma(T a, T x) {
  return T(special::igamma(double(a), double(x), kLeastTerm<T>));
}
template <class T>
STRIDED_HD T igammac(T a, T x) {
  return T(special::igammac(double(a), double(x), kLeastTerm<T>));
}

}  // namespace math
}  // namespace STRIDED_ISA
}  // namespace strided
