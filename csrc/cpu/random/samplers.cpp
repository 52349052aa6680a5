// Laws drawn by rejection, one element after the other: the draws, their order and the precision of each step are
// PyTorch's (Note [PyTorch's numbers] in cpu/random/random.cpp), so a seed gives its numbers.
#include "cpu/random/samplers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math_special.h"
#include "core/convert.h"
#include "cpu/operations.h"
#include "cpu/random/draws.h"

namespace strided {
namespace {

// ---------------------------------------------------------------- the gamma law
// G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
// Software 26 (2000): d v for v = (1 + x / sqrt(9 d))^3 of normal x, accepted by a squeeze or by the logarithm. Below a
// concentration of 1, a number of concentration + 1 times u^(1 / concentration).
struct GammaNumber {
  double power = 0;  // the logarithm of that factor
  double scale = 1;  // the factor
  double d = 0, v = 0;
};

// C: the parameters' precision, in which PyTorch takes 1 / a and a - 1 / 3.
template <class C>
GammaNumber gamma_number(C a, Generator& g) {
  GammaNumber drawn;
  if (a < 1) {
    const double u = 1 - unit(g.random64());
    drawn.power = std::log(u) / static_cast<double>(a);
    drawn.scale = std::pow(u, static_cast<double>(1 / a));
    a += 1;
  }
  drawn.d = static_cast<double>(a - static_cast<C>(1.0f / 3.0f));
  const double c = 1 / std::sqrt(9 * drawn.d);
  for (;;) {
    double x, y;
    do {
      x = normal_of_pair(g);
      y = 1 + c * x;
    } while (y <= 0);
    drawn.v = y * y * y;
    const double u = 1 - unit(g.random64()), square = x * x;
    if (u < 1 - static_cast<double>(0.0331f) * square * square) return drawn;
    if (std::log(u) < 0.5 * square + drawn.d * (1 - drawn.v + std::log(drawn.v))) return drawn;
  }
}

template <class C>
C gamma_of(C a, bool logarithm, Generator& g) {
  constexpr C kLeast = std::numeric_limits<C>::min();  // no number is 0, where densities may have no value
  if (a == 0) return logarithm ? -std::numeric_limits<C>::infinity() : kLeast;
  if (!(a > 0)) return std::numeric_limits<C>::quiet_NaN();
  const GammaNumber drawn = gamma_number(a, g);
  if (logarithm) return static_cast<C>(drawn.power + std::log(drawn.d) + std::log(drawn.v));
  return std::max(kLeast, static_cast<C>(drawn.scale * drawn.d * drawn.v));
}

// ---------------------------------------------------------------- the binomial law
// log(k!) less Stirling's approximation: W. Hormann, "The generation of binomial random variates", Journal of
// Statistical Computation and Simulation 46 (1993), table and series.
double stirling_rest(double k) {
  static constexpr double kFirst[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                      0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                      0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kFirst[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// The gaps between successes have a geometric law (L. Devroye, "Non-Uniform Random Variate Generation", 1986, X.4.3).
template <class C>
C binomial_by_gaps(C n, C p, Generator& g) {
  const double log_failure = static_cast<double>(std::log1p(-p));
  double position = 0;
  for (C successes = 0;; ++successes) {
    position += std::ceil(std::log(unit(g.random64())) / log_failure);
    if (position > n) return successes;
  }
}

// Hormann's transformed rejection with a squeeze, BTRS, for n p >= 10 and p <= 1/2.
template <class C>
C binomial_by_rejection(C n, C p, Generator& g) {
  const double spread = static_cast<double>(std::sqrt(n * p * (1 - p)));
  const double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5;
  const double v_r = 0.92 - 4.2 / b, odds = static_cast<double>(p / (1 - p)), alpha = (2.83 + 5.1 / b) * spread;
  const double mode = static_cast<double>(std::floor((n + 1) * p));
  for (;;) {
    const double u = unit(g.random64()) - 0.5, v = unit(g.random64()), us = 0.5 - std::fabs(u);
    const C k = static_cast<C>(std::floor((2 * a / us + b) * u + c));
    if (k < 0 || k > n) continue;
    if (us >= 0.07 && v <= v_r) return k;
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (n - mode + 1))) +
                         (n + 1) * std::log((n - mode + 1) / (n - k + 1)) +
                         (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) + stirling_rest(mode) +
                         stirling_rest(n - mode) - stirling_rest(k) - stirling_rest(n - k);
    if (std::log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

template <class C>
C binomial_of(C n, C p, Generator& g) {
  if (std::isnan(n) || std::isnan(p)) return std::numeric_limits<C>::quiet_NaN();
  if (n <= 0 || p <= 0) return 0;
  if (p >= 1 || std::isinf(n)) return n;
  const C q = p <= C(0.5) ? p : 1 - p;
  const C drawn = n * q >= 10 ? binomial_by_rejection(n, q, g) : binomial_by_gaps(n, q, g);
  return p <= C(0.5) ? drawn : n - drawn;
}

// f of each index, for the floating dtypes, 16 bits computed in float32.
template <class F>
void for_floats(DType dtype, int64_t n, F f) {
  dispatch_loops(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<compute_t<T>>)
      for (int64_t i = 0; i < n; ++i) f(i, tag);
  });
}

}  // namespace

namespace cpu {

void random_gamma(const OpContext&, DType dtype, void* to, const void* concentration, int64_t n, bool logarithm,
                  RandomSource& source) {
  for_floats(dtype, n, [&](int64_t i, auto tag) {
    using T = typename decltype(tag)::type;
    using C = compute_t<T>;
    static_cast<T*>(to)[i] =
        convert<T>(gamma_of(C(static_cast<const T*>(concentration)[i]), logarithm, *source.generator));
  });
}

void random_binomial(const OpContext&, DType dtype, void* to, const void* count, const void* probability, int64_t n,
                     RandomSource& source) {
  for_floats(dtype, n, [&](int64_t i, auto tag) {
    using T = typename decltype(tag)::type;
    using C = compute_t<T>;
    static_cast<T*>(to)[i] = convert<T>(
        binomial_of(C(static_cast<const T*>(count)[i]), C(static_cast<const T*>(probability)[i]), *source.generator));
  });
}

}  // namespace cpu
}  // namespace strided
