// Bessel functions of the orders 0 and 1, plain and modified, the Airy function Ai, and the spherical Bessel
// function j0, host and device.
// Branch-free: every range is computed and the right one selected, so that loops over them vectorise. Each works in
// double; a float argument is converted and the result rounded once.
//
// Near 0 the functions are smooth factors beside what is not (a logarithm, a pole, the first zeros); far from it they
// are Hankel's forms (NIST DLMF 10.17, 10.40, 9.7), whose slowly varying factors are rational functions of the
// reciprocal argument, as in J. F. Hart et al., "Computer Approximations" (1968). The coefficients are fits of our own
// (tools/special_coefficients.py).
//
// double, against 40 digits (tests/python/ops/test_special_accuracy.py): I, K, Ai for x > -1, j0 within 4 ulp; J, Y
// and Ai where they oscillate within 4 ulp of the envelope (Y 5), so that only digits next to a zero are lost (J0 and
// J1 keep theirs up to 5).
#pragma once

#include "base/math.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace math {
namespace special {

// The first kTerms terms of c0 + c1 T_1(t) + c2 T_2(t) + ... by Clenshaw's recurrence; the coefficients are arguments,
// as those of `poly` are. C. W. Clenshaw, "A note on the summation of Chebyshev series", MTAC 9 (1955).
template <int kTerms>
STRIDED_INLINE_HD Pair<double> clenshaw(double) {
  return {0, 0};
}
template <int kTerms, class... Rest>
STRIDED_INLINE_HD Pair<double> clenshaw(double twice, double c, Rest... rest) {
  if constexpr (kTerms <= 0) return {0, 0};
  const Pair<double> later = clenshaw<kTerms - 1>(twice, rest...);
  return {mul_add(twice, later.hi, c - later.lo), later.hi};
}
template <int kTerms, class... Rest>
STRIDED_INLINE_HD double chebyshev_sum(double t, double c0, Rest... rest) {
  const Pair<double> later = clenshaw<kTerms - 1>(2 * t, rest...);
  return mul_add(t, later.hi, c0 - later.lo);
}

// Modified Bessel functions of the first kind, divided by exp(|x|): Chebyshev series in x on [0, 8] and, times
// sqrt(x), in 16 / x - 1 beyond, fitted to 60 digits for this library. kShort: to 2^-30, for results in float.
template <bool kShort>
STRIDED_INLINE_HD double i0e(double x) {
  const double a = abs(x);
  const double near = chebyshev_sum<kShort ? 19 : 30>(
      a * 0.25 - 1, 3.38397637204738042e-1, -3.04682672343198399e-1, 1.71620901522208775e-1, -9.49010970480476444e-2,
      4.93052842396707085e-2, -2.37374148058994688e-2, 1.05464603945949983e-2, -4.32430999505057594e-3,
      1.6394756169413358e-3, -5.76375574538582366e-4, 1.88502885095841656e-4, -5.7541950100821037e-5,
      1.64484480707288971e-5, -4.41673835845875056e-6, 1.11738753912010372e-6, -2.67079385394061173e-7,
      6.04699502254191895e-8, -1.30002500998624804e-8, 2.65982372468238665e-9, -5.18979560163526291e-10,
      9.67580903537323691e-11, -1.72682629144155571e-11, 2.95505266312963983e-12, -4.85644678311192946e-13,
      7.67618549860493562e-14, -1.16853328779934517e-14, 1.71539128555513303e-15, -2.43127984654795469e-16,
      3.3307945188222381e-17, -4.41534164647933938e-18);
  const double far =
      chebyshev_sum<kShort ? 8 : 25>(
          16 / a - 1, 4.02245205507054416e-1, 3.36911647825569409e-3, 6.88975834691682398e-5, 2.89137052083475648e-6,
          2.04891858946906374e-7, 2.26666899049817806e-8, 3.39623202570838635e-9, 4.94060238822496959e-10,
          1.18891471078464383e-11, -3.14991652796324136e-11, -1.32158118404477131e-11, -1.79417853150680612e-12,
          7.18012445138366623e-13, 3.8527783827421427e-13, 1.54008621752140983e-14, -4.15056934728722209e-14,
          -9.55484669882830765e-15, 3.81168066935262242e-15, 1.77256013305652638e-15, -3.42548561967721913e-16,
          -2.82762398051658348e-16, 3.46122286769746109e-17, 4.46562142029676e-17, -4.83050448594418207e-18,
          -7.23318048787475395e-18) /
      math::sqrt(a);
  return choose(a > 8, far, near);
}
template <bool kShort>
STRIDED_INLINE_HD double i1e(double x) {
  const double a = abs(x);
  const double near =
      a * chebyshev_sum<kShort ? 18 : 28>(
              a * 0.25 - 1, 1.26293593221816827e-1, -1.76416518357834055e-1, 1.02643658689847095e-1,
              -5.29459812080949914e-2, 2.47264490306265168e-2, -1.05640848946261982e-2, 4.15642294431288816e-3,
              -1.51357245063125315e-3, 5.12285956168575773e-4, -1.61760815825896746e-4, 4.78156510755005423e-5,
              -1.32731636560394358e-5, 3.47025130813767848e-6, -8.56872026469545474e-7, 2.00329475355213526e-7,
              -4.44505912879632808e-8, 9.38153738649577178e-9, -1.88724975172282929e-9, 3.62559028155211704e-10,
              -6.66348972350202774e-11, 1.17361862988909016e-11, -1.98397439776494372e-12, 3.22379336594557471e-13,
              -5.04218550472791169e-14, 7.60068429473540693e-15, -1.10559694773538631e-15, 1.55363195773620047e-16,
              -2.11142121435816608e-17);
  const double far =
      chebyshev_sum<kShort ? 8 : 25>(
          16 / a - 1, 3.8928811750914006e-1, -9.76109749136146841e-3, -1.10588938762623716e-4, -3.88256480887769039e-6,
          -2.51223623787020893e-7, -2.63146884688951951e-8, -3.83538038596423702e-9, -5.58974346219658381e-10,
          -1.89749581235054123e-11, 3.25260358301548824e-11, 1.41258074366137813e-11, 2.03562854414708951e-12,
          -7.19855177624590851e-13, -4.08355111109219732e-13, -2.10154184277266431e-14, 4.27244001671195135e-14,
          1.04202769841288028e-14, -3.8144030724370078e-15, -1.88035477551078245e-15, 3.30820231092092828e-16,
          2.96262899764595014e-16, -3.20952592199342396e-17, -4.65030536848935833e-17, 4.41434832307170795e-18,
          7.51729631084210481e-18) /
      math::sqrt(a);
  return copysign(choose(a > 8, far, near), x);
}

// value * exp(a), a >= 0, also where exp(a) alone overflows.
STRIDED_INLINE_HD double times_exp(double value, double a) {
  const bool large = a > 700;
  const double product = value * math::exp(a - (large ? 350.0 : 0.0)) * (large ? 0x1.ec417a3e63c6ap+504 : 1.0);
  return a == infinity<double>() ? copysign(a, value) : product;
}
template <bool kShort>
STRIDED_INLINE_HD double i0(double x) {
  return times_exp(i0e<kShort>(x), abs(x));
}
template <bool kShort>
STRIDED_INLINE_HD double i1(double x) {
  return times_exp(i1e<kShort>(x), abs(x));
}

// sin(x + lo) + cos(x + lo) and sin(x + lo) - cos(x + lo), for a small lo: they cancel, so their terms are pairs.
struct Quadrature {
  double sum, difference;
};

STRIDED_INLINE_HD Quadrature sin_and_cos(double x, double lo) {
#if STRIDED_DEVICE_CODE
  double sine, cosine;
  ::sincos(x, &sine, &cosine);
  const Pair<double> s{sine, 0}, c{cosine, 0};
#else
  const ReducedDouble v = reduce_quadrant(x);
  const Pair<double> first = sin_kernel(v.r.hi, v.r.lo), second = cos_kernel(v.r.hi, v.r.lo);
  const bool odd = (v.quadrant & 1) != 0;
  const uint64_t s_sign = (v.quadrant & 2) << 62, c_sign = ((v.quadrant + 1) & 2) << 62;
  const Pair<double> s{from_bits<double>(to_bits(odd ? second.hi : first.hi) ^ s_sign),
                       from_bits<double>(to_bits(odd ? second.lo : first.lo) ^ s_sign)};
  const Pair<double> c{from_bits<double>(to_bits(odd ? first.hi : second.hi) ^ c_sign),
                       from_bits<double>(to_bits(odd ? first.lo : second.lo) ^ c_sign)};
#endif
  const Pair<double> sum = two_sum(s.hi, c.hi), difference = two_sum(s.hi, -c.hi);
  const double plus = sum.hi + (sum.lo + (s.lo + c.lo)), minus = difference.hi + (difference.lo + (s.lo - c.lo));
  // turned by lo
  return {plus - lo * (minus + 0.5 * lo * plus), minus + lo * (plus - 0.5 * lo * minus)};
}

// x^2 - zero^2, where the square of the zero is hi + lo: accurate next to it.
STRIDED_HD double square_minus(double x, double hi, double lo) { return product_minus(x, x, hi) - lo; }

// J and Y for x >= 5: sqrt(2 / (pi x)) times P cos chi - w Q sin chi and P sin chi + w Q cos chi, where w = 5 / x and
// chi = x - pi/4 or x - 3 pi/4.
struct CylinderPair {
  double j, y;
};
template <int kOrder>
STRIDED_INLINE_HD CylinderPair hankel(double x) {
  const double w = 5 / x, z = w * w;
  double p, q;
  if constexpr (kOrder == 0) {
    p = 1 + z * (poly(z, -0.0028124999999981407, -0.01479003597069735, -0.02387147592187586, -0.014117353109720017,
                      -0.002825585714860745, -0.00012925066338962985) /
                 poly(z, 1.0, 5.322481539498733, 8.81419370975285, 5.518056801131459, 1.2673106067701418,
                      0.08675091559149585, 0.0009381081140857724));
    q = poly(z, -0.024999999999999998, -0.1798840273628883, -0.4229938201034251, -0.40275047840277006,
             -0.15604398415324966, -0.02151904737756812, -0.0006995280526196187) /
        poly(z, 1.0, 7.218798594515514, 17.086036413776426, 16.490372790299993, 6.584470084709394, 0.9791095932615559,
             0.040506926138541594, 0.00017707458937901146);
  } else {
    p = 1 + z * (poly(z, 0.004687499999997844, 0.02426321535750036, 0.03843809104180907, 0.022239898682933048,
                      0.00434090084168023, 0.00019332553535642317) /
                 poly(z, 1.0, 5.225371359543074, 8.448074593839229, 5.1158042272075885, 1.116800560331139,
                      0.06971043561328026, 0.0005794352878130472));
    q = poly(z, 0.075, 0.5314550797598034, 1.227044313001319, 1.1428186903608402, 0.43117184421055, 0.05765921059590774,
             0.0018222939846498764) /
        poly(z, 1.0, 7.097005230130706, 16.43703000855116, 15.409297614197875, 5.900258903137988, 0.8195109763849044,
             0.029413026796012636, 6.0461994890834256e-05);
  }
  const Quadrature v = sin_and_cos(x, 0);
  const double cosine = kOrder == 0 ? v.sum : v.difference, sine = kOrder == 0 ? v.difference : -v.sum;
  const double scale = 0.56418958354775629 / math::sqrt(x);  // 1 / sqrt(pi x)
  return {(p * cosine - w * q * sine) * scale, (p * sine + w * q * cosine) * scale};
}

// J for |x| <= 5: the zeros are factors.
STRIDED_HD double j0_near(double x) {
  const double s = x * x;
  const double first = square_minus(x, 5.783185962946784, 4.123247343506204e-16);
  const double second = square_minus(x, 30.471262343662087, -2.366534485750659e-16);
  return first * second *
         (poly(s - 12.5, 0.004026801864307379, -0.00011841473391182757, 1.0382972683031615e-06,
               -2.802349454348165e-09) /
          poly(s, 1.0, 0.018594236054228983, 0.00018149793184504636, 1.2349168134152047e-06, 6.537950942050117e-09,
               2.831369791186094e-11, 1.0157726020289513e-13, 2.919930800761255e-16, 5.844931286436021e-19));
}
STRIDED_HD double j1_near(double x) {
  const double s = x * x;
  return x * square_minus(x, 14.681970642123893, -9.858177825793294e-17) *
         (poly(s - 12.5, -0.01959875212176383, 0.0009611345418982715, -1.4539342340280861e-05, 8.52482215902088e-08,
               -1.7069441986595947e-10) /
          poly(s, 1.0, 0.016780699617048006, 0.00014657990856696044, 8.837656866228905e-07, 4.097468663619047e-09,
               1.5312653042607307e-11, 4.648133604410855e-14, 1.0977599653346835e-16, 1.6864743920325603e-19));
}

STRIDED_INLINE_HD double bessel_j0(double x) {
  const double a = abs(x);
  const double far = hankel<0>(a).j, near = j0_near(a);
  const double value = choose(a > 5, far, near);
  return a == infinity<double>() ? 0 : value;
}
STRIDED_INLINE_HD double bessel_j1(double x) {
  const double a = abs(x);
  const double far = hankel<1>(a).j, near = j1_near(a);
  const double value = mulsign(choose(a > 5, far, near), x);
  return a == infinity<double>() ? 0 : value;
}

constexpr double kTwoOverPiDouble = 0.63661977236758134308;

// Y for 0 < x <= 5: what is left of the logarithm (and the pole) is smooth in x^2.
STRIDED_INLINE_HD double bessel_y0(double x) {
  const double s = x * x;
  const double rest =
      poly(s - 12.5, 0.5859145787841918, -0.032918762362907625, -0.00422138890732672, 0.00018017424124890617,
           -2.2964173884752673e-06, 1.1677641647358737e-08, -2.096120697777861e-11) /
      poly(s, 1.0, 0.015293766207079408, 0.00012013244695749244, 6.392630597668044e-07, 2.5436874006900146e-09,
           7.790022227852591e-12, 1.7722681521608824e-14, 2.4837397779206406e-17);
  const double near = rest + kTwoOverPiDouble * math::log(x) * j0_near(x);
  const double far = hankel<0>(x).y;
  const double value = choose(x > 5, far, near);
  return x == infinity<double>() ? 0 : value;
}
STRIDED_INLINE_HD double bessel_y1(double x) {
  const double s = x * x;
  const double rest =
      poly(s - 12.5, 0.17365876028696667, 0.012087480126381006, -0.0011115395858350106, 2.1173326484963114e-05,
           -1.4307734460687034e-07, 3.179693415231505e-10) /
      poly(s, 1.0, 0.017296570175674174, 0.00015620572984643107, 9.772513298286772e-07, 4.722294207184923e-09,
           1.8496752661109483e-11, 5.929686767745191e-14, 1.4960130722505256e-16, 2.5173437370621087e-19);
  const double smooth = x * rest + kTwoOverPiDouble * math::log(x) * j1_near(x);
  const double near = x == 0 ? -infinity<double>() : smooth - kTwoOverPiDouble / x;
  const double far = hankel<1>(x).y;
  const double value = choose(x > 5, far, near);
  return x == infinity<double>() ? 0 : value;
}

// K for 0 < x <= 1, in the same way.
STRIDED_HD double k0_near(double x) {
  const double s = x * x;
  const double i0 = poly(s, 1.0, 0.25000000000000006, 0.015624999999999273, 0.0004340277777836988,
                         6.781684004196391e-06, 6.781689114306733e-08, 4.708896399928675e-10, 2.440351007363786e-12);
  const double rest =
      poly(s, 0.11593151565841245, 0.27898287891460316, 0.025248929932161213, 0.0008460350907213994,
           1.4914719243009326e-05, 1.6271068934994194e-07, 1.2082660370193394e-09, 6.611701639080273e-12);
  return rest - math::log(x) * i0;
}
STRIDED_HD double k1_near(double x) {
  const double s = x * x;
  const double i1_over_x = poly(s, 0.5, 0.0625, 0.002604166666666625, 5.4253472222559135e-05, 6.781684014451334e-07,
                                5.651406214810376e-09, 3.363591409036204e-11, 1.5226715820907188e-13);
  const double rest =
      poly(s, -0.3079657578292062, -0.08537071972865079, -0.004642182766471444, -0.00011253607036725084,
           -1.559288766434388e-06, -1.4030171840262574e-08, -8.870924859071906e-11, -4.221990848152531e-13);
  const double value = 1 / x + x * (rest + math::log(x) * i1_over_x);
  return x == 0 ? infinity<double>() : value;
}
// exp(x) K for x >= 1.
STRIDED_HD double scaled_k0_far(double x) {
  const double u = 1 / x;
  return (1.2533141373155003 +
          u * (poly(u, -0.156664267164434, -2.52288123837315, -14.997851558032892, -41.782084545788244,
                    -57.30072246871984, -37.25277236894856, -10.088165422956555, -0.8215787847674824,
                    -0.00355872023512163) /
               poly(u, 1.0, 16.666243910689467, 104.52125832762547, 316.62328867634074, 495.74894140891314,
                    399.20250283700386, 155.15669930770662, 25.0714164996263, 1.1651573922039073))) /
         math::sqrt(x);
}
STRIDED_HD double scaled_k1_far(double x) {
  const double u = 1 / x;
  return (1.2533141373155003 +
          u * (poly(u, 0.4699928014933067, 7.364464266351978, 42.57698267979101, 115.47662013633683, 154.79696024894352,
                    99.35565613925834, 27.22602998010926, 2.4303801707913855, 0.02985447961894325) /
               poly(u, 1.0, 15.98181289788018, 95.31159136647835, 271.4980663677207, 393.5468091461547,
                    286.76765117881973, 97.29943972552984, 12.881786478730387, 0.4273598776961365))) /
         math::sqrt(x);
}

STRIDED_HD double bessel_k0(double x) { return x > 1 ? scaled_k0_far(x) * math::exp(-x) : k0_near(x); }
STRIDED_HD double bessel_k1(double x) { return x > 1 ? scaled_k1_far(x) * math::exp(-x) : k1_near(x); }
STRIDED_HD double scaled_bessel_k0(double x) { return x > 1 ? scaled_k0_far(x) : k0_near(x) * math::exp(x); }
STRIDED_HD double scaled_bessel_k1(double x) { return x > 1 ? scaled_k1_far(x) : k1_near(x) * math::exp(x); }

// zeta = 2/3 a^(3/2) as a pair, for a > 0: rounding it would be an error of zeta ulp in exp and sin of it.
struct AiryPhase {
  Pair<double> zeta;
  double root;  // sqrt(a)
};
STRIDED_INLINE_HD AiryPhase airy_phase(double a) {
  const double root = math::sqrt(a);
  const double root_lo = -product_minus(root, root, a) / (2 * root);
  const Pair<double> cube = two_prod(a, root);
  const Pair<double> zeta = two_prod(cube.hi, 0.66666666666666663);
  const double lo = zeta.lo + cube.hi * 3.700743415417188e-17 + (cube.lo + a * root_lo) * 0.66666666666666663;
  return {fast_two_sum(zeta.hi, lo), root};
}

// Ai, in four ranges. For x < -1e7 the phase is that of a rounded zeta: what comes back has the right size only.
STRIDED_INLINE_HD double airy_ai(double x) {
  const double a = abs(x);
  // What is not used is kept finite: Ai(200) is 0 already.
  const double far = x > 200 ? 200.0 : a > 1e200 ? 1e200 : a;
  const AiryPhase phase = airy_phase(far);
  const double zeta = phase.zeta.hi, u = 1 / zeta, v = u * u;
  const double quarter = math::sqrt(phase.root);  // a^(1/4)

  const double lo = choose(abs(phase.zeta.lo) < 1e-4, phase.zeta.lo, 0.0);
  const Quadrature turn = sin_and_cos(zeta, lo);
  const double p = 1 + v * (poly(v, -0.037133487654275, -5.2971615028330366, -245.87216973075982, -4606.572419659391,
                                 -35012.615573564806, -94145.8583831176, -58630.3189222309) /
                            poly(v, 1.0, 144.2043565358182, 6837.328214868326, 133619.80831484505, 1107099.0374446355,
                                 3597030.3188932207, 3668918.3504104377, 626177.640878998));
  const double q = poly(v, 0.06944444444444442, 11.278998887045113, 607.9697890576522, 13651.017295664133,
                        131405.27007628398, 499971.70271987724, 588739.6690493074, 94012.90789774052) /
                   poly(v, 1.0, 162.96468402488557, 8842.251122931575, 201152.43481549583, 1989385.5864408447,
                        8038491.866072031, 11041889.338852452, 3166411.6999482955);
  const double left = 0.39894228040143268 * (turn.sum * p + turn.difference * (q * u)) / quarter;

  const double decay = math::exp(-zeta);
  const double factor =
      1 + u * (poly(u, -0.06944444444444069, -1.1082824387602541, -6.580361656579198, -18.554040442619502,
                    -26.360150281834816, -18.536363433856117, -5.931177121341827, -0.7157712399931405,
                    -0.020428514944166608) /
               poly(u, 1.0, 16.493989340353476, 103.029810438441, 314.07679739473696, 503.1830272223671,
                    426.3091226530767, 183.176704235133, 36.13610131948884, 2.662004338396254, 0.04360463425876878));
  const double right = 0.28209479177387814 * (decay - decay * phase.zeta.lo) * factor / quarter;

  const double near = poly(x, 0.3550280538878172, 0.03915630484590801, -0.07702170975357069, 0.0037736891310138523,
                           0.005759684870375133, -0.0009544044922402874, -0.00010065361063156422, 3.712650737424219e-05,
                           -2.66175451100071e-06) /
                      poly(x, 1.0, 0.8393018674881113, 0.39491498673565234, 0.13186002548106995, 0.03321789211665913,
                           0.006697164899414411, 0.0010580242335146465, 0.00013385092744749413, 1.1941714063065526e-05,
                           7.361050712247079e-07);
  const double t = x + 2;
  const double middle =
      poly(t, 0.22740742820168558, 0.6182590207416907, -0.227407428201685, -0.16818510221359845, 0.08942282309540465,
           0.0054481388109664155, -0.01156769161327895, 0.0018696796566045463, 0.0005104200351688642,
           -0.00021259794025448064, 9.431555200647534e-06, 8.50562649748509e-06, -1.7535018679085003e-06,
           -4.8629673004224575e-08, 6.60154913284067e-08, -7.848734481358694e-09, -7.624406008437369e-10,
           2.815063182671371e-10, -1.6331585996753543e-11);

  const double below = choose(x < -3, left, middle), above = choose(x > 1, right, near);
  const double value = choose(x < -1, below, above);
  return a == infinity<double>() ? 0 : value;
}

}  // namespace special

#define STRIDED_THROUGH_DOUBLE(name) \
  template <class T> \
  STRIDED_INLINE_HD T name(T x) { \
    return T(special::name(double(x))); \
  }
// J where the near expansion serves alone.
template <class T>
STRIDED_HD bool has_usual_bessel(T x) {
  return abs(x) <= T(5);
}
template <class T>
STRIDED_HD T bessel_j0_usual(T x) {
  return T(special::j0_near(abs(double(x))));
}
template <class T>
STRIDED_HD T bessel_j1_usual(T x) {
  return T(mulsign(special::j1_near(abs(double(x))), double(x)));
}
STRIDED_THROUGH_DOUBLE(bessel_j0)
STRIDED_THROUGH_DOUBLE(bessel_j1)
STRIDED_THROUGH_DOUBLE(bessel_y0)
STRIDED_THROUGH_DOUBLE(bessel_y1)
STRIDED_THROUGH_DOUBLE(bessel_k0)
STRIDED_THROUGH_DOUBLE(bessel_k1)
STRIDED_THROUGH_DOUBLE(scaled_bessel_k0)
STRIDED_THROUGH_DOUBLE(scaled_bessel_k1)
STRIDED_THROUGH_DOUBLE(airy_ai)
#undef STRIDED_THROUGH_DOUBLE
#define STRIDED_THROUGH_DOUBLE(name) \
  template <class T> \
  STRIDED_INLINE_HD T name(T x) { \
    return T(special::name<sizeof(T) == 4>(double(x))); \
  }
STRIDED_THROUGH_DOUBLE(i0)
STRIDED_THROUGH_DOUBLE(i0e)
STRIDED_THROUGH_DOUBLE(i1)
STRIDED_THROUGH_DOUBLE(i1e)
#undef STRIDED_THROUGH_DOUBLE

// sin(x) / x.
template <class T>
STRIDED_HD T spherical_j0(T x) {
  const T value = math::sin(x) / x;
  return x == T(0) ? T(1) : isinf(x) ? T(0) : value;
}

}  // namespace math
}  // namespace STRIDED_ISA
}  // namespace strided
