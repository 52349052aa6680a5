// Special functions that StableHLO has no operation for, as sums and loops. Each computes in float64.
#pragma once

#include "xla/number.h"

namespace strided::xla {

Num erfcx(const Num& x);
Num log_ndtr(const Num& x);
Num bessel_i0(const Num& x, bool scaled);
Num bessel_k(int order, const Num& x, bool scaled);
Num bessel_j(int order, const Num& x);
Num bessel_y(int order, const Num& x);
Num spherical_bessel_j0(const Num& x);
Num airy_ai(const Num& x);
Num incomplete_gamma(const Num& a, const Num& x, bool upper);

// Polynomials of degree trunc(n).
enum class Chebyshev { T, U, V, W };
Num chebyshev(Chebyshev kind, const Num& x, const Num& n, bool shifted);
Num hermite(double factor, const Num& x, const Num& n);  // 2: orthogonal with exp(-x^2); 1: with exp(-x^2 / 2)
Num laguerre(const Num& x, const Num& n);
Num legendre(const Num& x, const Num& n);

Num gcd(const Num& a, const Num& b);
Num lcm(const Num& a, const Num& b);

}  // namespace strided::xla
