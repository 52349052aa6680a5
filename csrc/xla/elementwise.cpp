#include "xla/elementwise.h"

#include <cmath>
#include <limits>

#include "backend/elementwise.h"
#include "xla/number.h"
#include "xla/special.h"

namespace strided::xla {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct In {
  Num x, y, z, w;
  const double* p;
};
using Lowering = Num (*)(const In&);

Num true_like(const Num& x) { return Num(constant_int(1, DType::Bool, x.v->shape)); }
Num false_like(const Num& x) { return Num(constant_int(0, DType::Bool, x.v->shape)); }
Num nonzero(const Num& x) { return cast(x, DType::Bool); }
Num is_inf(const Num& x) { return abs(x) == kInfinity; }
Num is_negative(const Num& x) {  // with the sign of zeros and of NaN
  if (x.integral()) return x.is_signed() ? x < 0.0 : false_like(x);
  const DType bits = size_of(x.v->dtype) == 8 ? DType::Int64 : DType::Int32;
  return Num(bitcast(x.v, bits)) < 0.0;
}
Num copysign(const Num& size, const Num& sign_of) {
  const Num positive = abs(size);
  return where(is_negative(sign_of), -positive, positive);
}
Num sgn(const Num& x) {
  if (!x.complex())
    return x.is_bool()                      ? x
           : x.is_signed() || !x.integral() ? where(nan(x), 0.0, sign(x))
                                            : cast(nonzero(x), x.v->dtype);
  return sign(x);
}
// The larger, and NaN if one is; for bool the one that is true.
Num maximum(const Num& a, const Num& b) { return larger(a, b); }
Num minimum(const Num& a, const Num& b) { return smaller(a, b); }
Num add_(const Num& a, const Num& b) { return a.is_bool() ? a | b : a + b; }

// Integer division by 0 gives 0 here: it was refused before, where the divisor was known.
Num div_trunc(const Num& a, const Num& b) {
  if (!a.integral()) return trunc(a / b);
  return a / b;
}
Num floor_mod(const Num& a, const Num& b) {
  const Num rest = mod(a, b);
  if (a.integral() && !a.is_signed()) return rest;
  if (a.integral()) return where((rest != 0.0) & ((rest < 0.0) ^ (b < 0.0)), rest + b, rest);
  return where(rest != 0.0, where((rest < 0.0) ^ (b < 0.0), rest + b, rest), copysign(rest, b));
}
Num floor_divide(const Num& a, const Num& b) {
  if (a.integral() && !a.is_signed()) return a / b;
  if (a.integral()) {
    const Num rest = mod(a, b);
    const Num quotient = a / b;
    return where((rest != 0.0) & ((rest < 0.0) ^ (b < 0.0)), quotient - 1, quotient);
  }
  const Num rest = mod(a, b), quotient = (a - rest) / b;
  const Num down = where((rest != 0.0) & ((b < 0.0) ^ (rest < 0.0)), quotient - 1, quotient);
  const Num near = floor(down);
  const Num result = where(down != 0.0, where(down - near > 0.5, near + 1, near), copysign(down.like(0), a / b));
  return where(b == 0.0, a / b, result);
}
Num hypot(const Num& a, const Num& b) {
  const Num x = abs(a), y = abs(b), large = larger(x, y), small = smaller(x, y);
  const Num ratio = small / where(large == 0.0, 1.0, large);
  const Num size = large * sqrt(1 + ratio * ratio);
  return where((x == kInfinity) | (y == kInfinity), kInfinity, size);
}
Num round_(const In& e) {
  const Num& x = e.x;
  if (x.integral()) return x;
  const double up = std::pow(10.0, e.p[0] > 0 ? e.p[0] : 0.0), down = std::pow(10.0, e.p[0] < 0 ? -e.p[0] : 0.0);
  auto even = [](const Num& v) { return call("stablehlo.round_nearest_even", v); };
  if (up == 1 && down == 1) return even(x);
  return even(x * up / down) / up * down;
}
Num isclose(const In& e) {
  const Num a = e.x.integral() ? cast(e.x, DType::Float64) : e.x, b = e.x.integral() ? cast(e.y, DType::Float64) : e.y;
  const Num distance = abs(a - b), allowed = abs(abs(b) * e.p[0]) + e.p[1];
  const Num near = (e.x == e.y) | (finite(distance) & (distance <= allowed));
  return e.p[2] != 0 ? near | (nan(a) & nan(b)) : near;
}
Num shift(const char* op, const Num& x, const Num& by, bool arithmetic) {
  const double width = static_cast<double>(8 * size_of(x.v->dtype));
  const Num outside = (by < 0.0) | (by >= width);
  const Num shifted = call(op, x, where(outside, 0.0, by));
  if (!arithmetic) return where(outside, 0.0, shifted);
  return where(outside, call(op, x, x.like(width - 1)), shifted);
}
Num sinc(const Num& x) {
  const Num t = x * math::kPi;
  return where(x == 0.0, 1.0, sin(t) / where(x == 0.0, 1.0, t));
}
Num xlog(const Num& x, const Num& y, const Num& log_y) { return where(nan(y), y, where(x == 0.0, 0.0, x * log_y)); }
Num logaddexp_complex(const Num& a, const Num& b) {
  const Num swap = real(a) < real(b), large = where(swap, b, a), small = where(swap, a, b), size = real(large);
  // Two equal infinities: -inf is the limit, and at +inf only the sum of the exponentials tells the direction.
  const Num infinite = where(size < 0.0, small, log(exp(small) + exp(large)));
  return where((size == real(small)) & is_inf(size), infinite, large + log1p(exp(small - large)));
}
Num logaddexp(const Num& a, const Num& b, double base_log) {
  if (a.complex()) return logaddexp_complex(a, b);
  const Num large = larger(a, b);
  const Num rest = log1p(exp(-abs(a - b) * base_log)) / base_log;
  return where((a == b) & is_inf(a), a, large + rest);
}
Num nan_to_num(const Num& x, const double* p) {
  const double top = kDTypeInfo[index_of(x.v->dtype)].greatest;
  auto given = [](double value, double otherwise) { return is_none(value) ? otherwise : value; };
  return where(nan(x), given(p[0], 0),
               where(x == kInfinity, given(p[1], top), where(x == -kInfinity, given(p[2], -top), x)));
}
Num logit(const Num& x, double eps) {
  if (eps != eps) return log(x / (1 - x));
  const Num low = x.like(eps), inside = smaller(larger(x, low), 1 - low);
  return log(inside / (1 - inside));
}
Num digamma(const Num& x) { return where(x == 0.0, copysign(x.like(kInfinity), -x), call("chlo.digamma", x)); }
Num is_pole(const Num& x) { return (x <= 0.0) & (x == floor(x)); }
Num zeta(const Num& x, const Num& q) {
  const Num at_infinity = where(q < 1.0, kInfinity, where(q == 1.0, 1.0, q * 0.0));
  Num value = where(q == kInfinity, 0.0, where(is_pole(q), kInfinity, call("chlo.zeta", x, q)));
  value = where(x == kInfinity, where(q == kInfinity, q.like(NAN), at_infinity), value);
  value = where(x == 1.0, kInfinity, value);
  return where((x < 1.0) | nan(x) | nan(q), x.like(NAN), value);
}
// In float64, as the factorial and the sum leave the range of float32 before their product does.
Num polygamma(const Num& input, double n) {
  const Num x = cast(input, DType::Float64);
  if (n == 0) return cast(digamma(x), input.v->dtype);
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  const Num sum = zeta(x.like(n + 1), x);
  Num value = sum * std::tgamma(n + 1);
  if (n > 170)
    value = where((sum > 0.0) & (sum < 1e-200) & (x > 0.0), exp(std::lgamma(n + 1) - log(x) * (n + 1)), value);
  if (n == 1) value = where(x == -kInfinity, x.like(NAN), value);
  return cast(value * sign, input.v->dtype);
}
Num elu(const Num& x, const double* p) { return where(x > 0.0, x * p[1], expm1(x * p[2]) * (p[0] * p[1])); }
Num clamp6(const Num& x) { return smaller(larger(x, x.like(0)), x.like(6)); }
Num gelu_tanh_gate(const Num& x) { return sigmoid(x * (1 + x * x * 0.044715) * 1.5957691216057308); }
struct TanhSoftplus {  // tanh(log(1 + exp(x))) = n / (n + rest)
  Num n, rest;
  explicit TanhSoftplus(const Num& x, const Num& t)
      : n(where(x > 0.0, 1 + t * 2, t * (t + 2))), rest(where(x > 0.0, t * t * 2, 2.0)) {}
  explicit TanhSoftplus(const Num& x) : TanhSoftplus(x, exp(-abs(x))) {}
  static Num where(const Num& c, const Num& a, const Num& b) { return xla::where(c, a, b); }
  static Num where(const Num& c, const Num& a, double b) { return xla::where(c, a, b); }
};

Num mish_grad(const Num& g, const Num& x) {
  // 1 - t^2 = rest (2 n + rest) / (n + rest)^2, where the difference would lose digits
  const TanhSoftplus v(x);
  const Num t = v.n / (v.n + v.rest), left = v.rest / (v.n + v.rest);
  return g * (t + x * (left * (t + 1) * sigmoid(x)));
}

// One expression for each op. x, y, z, w: its operands, in the compute dtype; p: its params.
struct Row {
  const char* name;
  Lowering lowering;
};
#define ROW(name, ...) \
  {name, [](const In& e) -> Num { \
     [[maybe_unused]] const Num &x = e.x, &y = e.y, &z = e.z, &w = e.w; \
     [[maybe_unused]] const double* p = e.p; \
     return __VA_ARGS__; \
   }}
const Row kRows[] = {
    ROW("abs", abs(x)),
    ROW("neg", -x),
    ROW("positive", x),
    ROW("sign", sgn(x)),
    ROW("sgn", sgn(x)),
    ROW("angle",
        x.complex() ? atan2(imag(x), real(x)) : where(nan(x), x, where(x < 0.0, x.like(math::kPi), x.like(0)))),
    ROW("conj_physical", x.complex() ? complex(real(x), -imag(x)) : x),
    ROW("ceil", x.integral() ? x : ceil(x)),
    ROW("floor", x.integral() ? x : floor(x)),
    ROW("trunc", x.integral() ? x : trunc(x)),
    ROW("frac", x - trunc(x)),
    ROW("round", round_(e)),
    ROW("sqrt", sqrt(x)),
    ROW("rsqrt", call("stablehlo.rsqrt", x)),
    ROW("square", x.is_bool() ? cast(x, DType::Int64) : x* x),
    ROW("_cube", x * x * x),
    ROW("_inverse_square", 1 / (x * x)),
    ROW("_times_number", x* p[0]),
    ROW("_over_number", x / p[0]),
    ROW("reciprocal", 1 / x),
    ROW("exp", exp(x)),
    ROW("exp2", exp(x* kLn2)),
    ROW("expm1", expm1(x)),
    ROW("log", log(x)),
    ROW("log2", log(x) / kLn2),
    ROW("log10", log(x) / kLn10),
    ROW("log1p", log1p(x)),
    ROW("sigmoid", sigmoid(x)),
    ROW("sin", sin(x)),
    ROW("cos", cos(x)),
    ROW("tan", call("chlo.tan", x)),
    ROW("asin", call("chlo.asin", x)),
    ROW("acos", call("chlo.acos", x)),
    ROW("atan", call("chlo.atan", x)),
    ROW("sinh", call("chlo.sinh", x)),
    ROW("cosh", call("chlo.cosh", x)),
    ROW("tanh", tanh(x)),
    ROW("asinh", call("chlo.asinh", x)),
    ROW("acosh", call("chlo.acosh", x)),
    ROW("atanh", call("chlo.atanh", x)),
    ROW("deg2rad", x*(math::kPi / 180)),
    ROW("rad2deg", x * (180 / math::kPi)),
    ROW("relu", larger(x, x.like(0))),
    ROW("hardshrink", where((x >= -p[0]) & (x <= p[0]), 0.0, x)),
    ROW("nan_to_num", x.integral()  ? x
                      : x.complex() ? complex(nan_to_num(real(x), p), nan_to_num(imag(x), p))
                                    : nan_to_num(x, p)),
    ROW("add", add_(x, y)),
    ROW("sub", x - y),
    ROW("mul", x.is_bool() ? x& y : x* y),
    ROW("div", x / y),
    ROW("_huber_slope", smaller(larger(x - y, x.like(-p[0])), x.like(p[0]))),
    ROW("_huber", (abs(x - y) - smaller(abs(x - y), x.like(p[0])) * 0.5) * smaller(abs(x - y), x.like(p[0]))),
    ROW("_div_trunc", div_trunc(x, y)),
    ROW("floor_divide", floor_divide(x, y)),
    ROW("remainder", floor_mod(x, y)),
    ROW("fmod", mod(x, y)),
    ROW("pow", power(x, y)),
    ROW("ldexp", x* power(x.like(2), y)),
    ROW("hypot", hypot(x, y)),
    ROW("atan2", atan2(x, y)),
    ROW("copysign", copysign(x, y)),
    ROW("nextafter", call("chlo.next_after", x, y)),
    ROW("maximum", maximum(x, y)),
    ROW("minimum", minimum(x, y)),
    ROW("fmax", x.integral() ? maximum(x, y) : where(nan(y), x, where(nan(x), y, larger(x, y)))),
    ROW("fmin", x.integral() ? minimum(x, y) : where(nan(y), x, where(nan(x), y, smaller(x, y)))),
    ROW("clamp_min", maximum(x, y)),
    ROW("clamp_max", minimum(x, y)),
    ROW("heaviside", x.is_bool() ? x | y : where(x == 0.0, y, cast(x > 0.0, x.v->dtype))),
    ROW("eq", x == y),
    ROW("ne", x != y),
    ROW("lt", x < y),
    ROW("le", x <= y),
    ROW("gt", x > y),
    ROW("ge", x >= y),
    ROW("isclose", isclose(e)),
    ROW("isnan", x.integral() ? false_like(x) : nan(x)),
    ROW("isinf", x.integral()  ? false_like(x)
                 : x.complex() ? is_inf(real(x)) | is_inf(imag(x))
                               : is_inf(x)),
    ROW("isreal", x.complex() ? imag(x) == 0.0 : true_like(x)),
    ROW("isfinite", x.integral()  ? true_like(x)
                    : x.complex() ? finite(real(x)) & finite(imag(x))
                                  : finite(x)),
    ROW("isposinf", x.integral() ? false_like(x) : x == kInfinity),
    ROW("isneginf", x.integral() ? false_like(x) : x == -kInfinity),
    ROW("signbit", x.is_bool() ? false_like(x) : is_negative(x)),
    ROW("logical_not", ~nonzero(x)),
    ROW("logical_and", nonzero(x) & nonzero(y)),
    ROW("logical_or", nonzero(x) | nonzero(y)),
    ROW("logical_xor", nonzero(x) ^ nonzero(y)),
    ROW("bitwise_not", ~x),
    ROW("bitwise_and", x& y),
    ROW("bitwise_or", x | y),
    ROW("bitwise_xor", x ^ y),
    ROW("bitwise_left_shift", shift("stablehlo.shift_left", x, y, false)),
    ROW("bitwise_right_shift",
        shift(x.is_signed() ? "stablehlo.shift_right_arithmetic" : "stablehlo.shift_right_logical", x, y,
              x.is_signed())),
    ROW("erf", call("chlo.erf", x)),
    ROW("erfc", erfc(x)),
    ROW("erfinv", call("chlo.erf_inv", x)),
    ROW("special.ndtr", erfc(x * (-1 / kSqrt2)) * 0.5),
    ROW("special.ndtri", call("chlo.erf_inv", x * 2 - 1) * kSqrt2),
    ROW("lgamma", call("chlo.lgamma", x)),
    ROW("digamma", digamma(x)),
    ROW("polygamma", polygamma(x, p[0])),
    ROW("special.zeta", zeta(x, y)),
    ROW("special.i1e", call("chlo.bessel_i1e", x)),
    ROW("special.i1", call("chlo.bessel_i1e", x) * exp(abs(x))),
    ROW("gcd", gcd(x, y)),
    ROW("lcm", lcm(x, y)),
    ROW("special.erfcx", erfcx(x)),
    ROW("special.log_ndtr", log_ndtr(x)),
    ROW("igamma", incomplete_gamma(x, y, false)),
    ROW("igammac", incomplete_gamma(x, y, true)),
    ROW("i0", bessel_i0(x, false)),
    ROW("special.i0e", bessel_i0(x, true)),
    ROW("special.bessel_j0", bessel_j(0, x)),
    ROW("special.bessel_j1", bessel_j(1, x)),
    ROW("special.bessel_y0", bessel_y(0, x)),
    ROW("special.bessel_y1", bessel_y(1, x)),
    ROW("special.modified_bessel_k0", bessel_k(0, x, false)),
    ROW("special.modified_bessel_k1", bessel_k(1, x, false)),
    ROW("special.scaled_modified_bessel_k0", bessel_k(0, x, true)),
    ROW("special.scaled_modified_bessel_k1", bessel_k(1, x, true)),
    ROW("special.spherical_bessel_j0", spherical_bessel_j0(x)),
    ROW("special.airy_ai", airy_ai(x)),
    ROW("special.hermite_polynomial_h", hermite(2, x, y)),
    ROW("special.hermite_polynomial_he", hermite(1, x, y)),
    ROW("special.laguerre_polynomial_l", laguerre(x, y)),
    ROW("special.legendre_polynomial_p", legendre(x, y)),
    ROW("special.chebyshev_polynomial_t", chebyshev(Chebyshev::T, x, y, false)),
    ROW("special.shifted_chebyshev_polynomial_t", chebyshev(Chebyshev::T, x, y, true)),
    ROW("special.chebyshev_polynomial_u", chebyshev(Chebyshev::U, x, y, false)),
    ROW("special.shifted_chebyshev_polynomial_u", chebyshev(Chebyshev::U, x, y, true)),
    ROW("special.chebyshev_polynomial_v", chebyshev(Chebyshev::V, x, y, false)),
    ROW("special.shifted_chebyshev_polynomial_v", chebyshev(Chebyshev::V, x, y, true)),
    ROW("special.chebyshev_polynomial_w", chebyshev(Chebyshev::W, x, y, false)),
    ROW("special.shifted_chebyshev_polynomial_w", chebyshev(Chebyshev::W, x, y, true)),
    ROW("sinc", sinc(x)),
    ROW("special.entr", where(x < 0.0, x.like(-kInfinity), where(x == 0.0, 0.0, -x* log(x)))),
    ROW("xlogy", xlog(x, y, log(y))),
    ROW("special.xlog1py", xlog(x, y, log1p(y))),
    ROW("logaddexp", logaddexp(x, y, 1)),
    ROW("logaddexp2", logaddexp(x, y, kLn2)),
    ROW("logit", logit(x, p[0])),
    ROW("clamp", minimum(maximum(x, y), z)),
    ROW("lerp", where(abs(z) < 0.5, x + z * (y - x), y - (y - x) * (1 - z))),
    ROW("addcmul", x + w * y * z),
    ROW("addcdiv", x + w * y / z),
    ROW("_elu_grad", x* where(y > 0.0, y.like(p[1]), exp(y* p[2]) * (p[0] * p[1] * p[2]))),
    ROW("nn.functional.elu", elu(x, p)),
    ROW("_gelu_grad", x*(erfc(y * (-1 / kSqrt2)) * 0.5 + y * (exp(y * y * -0.5) * (1 / kSqrt2Pi)))),
    ROW("_gelu", x*(erfc(x * (-1 / kSqrt2)) * 0.5)),
    ROW("_gelu_tanh_grad", x*(gelu_tanh_gate(y) + y * (gelu_tanh_gate(y) * (1 - gelu_tanh_gate(y))) *
                                                      ((1 + y * y * (3 * 0.044715)) * 1.5957691216057308))),
    ROW("_gelu_tanh", x* gelu_tanh_gate(x)),
    ROW("_sigmoid_backward", y.complex() ? x* complex(real(y * (1 - y)), -imag(y * (1 - y))) : x*(y * (1 - y))),
    ROW("_tanh_backward", y.complex() ? x* complex(real(1 - y * y), -imag(1 - y * y)) : x * (1 - y * y)),
    ROW("_logsigmoid_grad", x* sigmoid(-y)),
    ROW("_silu_grad", x*(sigmoid(y) * (1 + y * (1 - sigmoid(y))))),
    ROW("nn.functional.silu", x* sigmoid(x)),
    ROW("nn.functional.mish", x*(TanhSoftplus(x).n / (TanhSoftplus(x).n + TanhSoftplus(x).rest))),
    ROW("_mish_grad", mish_grad(x, y)),
    ROW("_softplus_grad", where(y* p[0] > p[1], x, x* sigmoid(y* p[0]))),
    ROW("nn.functional.softplus", where(x* p[0] > p[1], x, log1p(exp(x* p[0])) / p[0])),
    ROW("nn.functional.logsigmoid", smaller(x, x.like(0)) - log1p(exp(-abs(x)))),
    ROW("nn.functional.tanhshrink", x - tanh(x)),
    ROW("_softsign", x / (abs(x) + 1)),
    ROW("_threshold_grad", where(y <= p[0], 0.0, x)),
    ROW("threshold", where(x <= p[0], x.like(p[1]), x)),
    ROW("_hardtanh_grad", where(y <= p[0], 0.0, where(y >= p[1], 0.0, x))),
    ROW("nn.functional.hardtanh", smaller(larger(x, x.like(p[0])), x.like(p[1]))),
    ROW("nn.functional.hardsigmoid", clamp6(x + 3) / 6),
    ROW("nn.functional.hardswish", x* clamp6(x + 3) / 6),
    ROW("_hardswish_grad", where(y <= -3.0, 0.0, where(y < 3.0, x*((y + 1.5) / 3), x))),
    ROW("_softshrink", where(x > p[0], x - p[0], where(x < -p[0], x + p[0], x * 0))),
    ROW("_prelu_grad", where(y > 0.0, x, x* z)),
    ROW("_prelu_kernel", where(x > 0.0, x, x* y)),
    ROW("nn.functional.leaky_relu", where(x > 0.0, x, x* p[0])),
};
#undef ROW

struct Table {
  Lowering lowering[kNumElementwise] = {};
  Table() {
    for_each(ElementwiseOps{}, [&](auto tag, int id) {
      for (const Row& row : kRows)
        if (std::string(row.name) == decltype(tag)::type::info.name) lowering[id] = row.lowering;
    });
  }
};

}  // namespace

Value lower_elementwise(int op, DType compute, std::vector<Value> in, const double* params) {
  static const Table table;
  if (!table.lowering[op]) return {};
  // The 16-bit floats are computed with in float, as on the CPU; their bits stay where they matter.
  const bool widen = size_of(compute) == 2 && !is_integral(compute);
  for (Value& v : in)
    if (widen) v = convert(v, DType::Float32);
  auto at = [&](size_t i) { return Num(in[std::min(i, in.size() - 1)]); };
  return table.lowering[op](In{at(0), at(1), at(2), at(3), params}).v;
}

}  // namespace strided::xla
