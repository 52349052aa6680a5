// The special functions against values with 50 digits, and at their special values. The functions are compiled for each
// instruction set, as in math_test.cpp.
#include "base/math_special.h"
#include "base/math_bessel.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

using namespace strided;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Special functions: values computed with 50 digits by mpmath; double to `bound`, float to one rounding.
template <class F>
void check_table(const char* name, F f, std::initializer_list<std::array<double, 2>> rows, double bound) {
  for (const auto& [x, want] : rows) {
    EXPECT_LE(std::abs(f(x) - want), bound * std::abs(want)) << name << "(" << x << ") = " << f(x) << ", not " << want;
    const float narrow = f(static_cast<float>(x));
    if (static_cast<double>(static_cast<float>(x)) != x || std::isinf(static_cast<float>(want))) continue;
    EXPECT_LE(std::abs(narrow - want), 1.3e-7 * std::abs(want) + 1e-45) << name << "f(" << x << ") = " << narrow;
  }
}
template <class F>
void check_table2(const char* name, F f, std::initializer_list<std::array<double, 3>> rows, double bound) {
  for (const auto& [x, y, want] : rows) {
    EXPECT_LE(std::abs(f(x, y) - want), bound * std::abs(want))
        << name << "(" << x << ", " << y << ") = " << f(x, y) << ", not " << want;
  }
}

}  // namespace

TEST(MathSpecial, OneArgument) {
  check_table(
      "digamma", [](auto x) { return math::digamma(x); },
      {{9.765625e-4, -1024.5756104293406219},
       {0.5, -1.9635100260214234794},
       {1.25, -0.22745353337626540809},
       {1.4375, -0.023613544005297899142},
       {1.5, 0.036489973978576520559},
       {2.75, 0.81890102497543259228},
       {7.5, 1.9467574842460867881},
       {30.5, 3.4012436689616610844},
       {1000.0, 6.9072551956488120521},
       {-0.25, 2.9141391202135278304},
       {-2.625, -0.15766205280814323877},
       {-7.75, -1.0307688328309315122}},
      2e-15);
  check_table(
      "trigamma", [](auto x) { return math::trigamma(x); },
      {{9.765625e-4, 1.0485776425893921526e+6},
       {0.5, 4.9348022005446793094},
       {1.25, 1.1973291545071107393},
       {1.4375, 0.98950291789562720386},
       {1.5, 0.93480220054467930942},
       {2.75, 0.43757125764893076144},
       {7.5, 0.14261589669670379977},
       {30.5, 0.033330248112801608527},
       {1000.0, 0.0010005001666666333334},
       {-0.25, 18.541879647671606498},
       {-2.625, 11.245600574166866843},
       {-7.75, 19.618144334352289465}},
      2e-15);
  check_table(
      "lgamma", [](auto x) { return math::lgamma(x); },
      {{9.765625e-4, 6.9309089024194618895},
       {0.5, 0.57236494292470008707},
       {1.25, -0.098271836421813161464},
       {1.4375, -0.12120242719902265897},
       {1.5, -0.12078223763524522235},
       {2.75, 0.47521466691493713031},
       {7.5, 7.5343642367587329552},
       {30.5, 72.953471184169408324},
       {1000.0, 5905.2204232091812118},
       {-0.25, 1.5895753125511859903},
       {-2.625, -0.11751110030890485999},
       {-7.75, -8.5818477635518666694}},
      2e-15);
  check_table(
      "erfinv", [](auto x) { return math::erfinv(x); },
      {{9.5367431640625e-7, 8.4517185731217291722e-7},
       {0.25, 0.22531205501217810473},
       {0.4375, 0.40950827913413152004},
       {0.5, 0.47693627620446987338},
       {0.875, 1.0847870400692831413},
       {0.9375, 1.3171503349861307489},
       {0.9921875, 1.8809517454731394206},
       {0.99658203125, 2.0699921661610250405},
       {-0.984375, -1.7094723742995114785},
       {0.9999999999990905053, 5.0512540852493899671}},
      2e-15);
  check_table(
      "erfcx", [](auto x) { return math::erfcx(x); },
      {{0.0, 1.0},
       {0.25, 0.77034654773099674392},
       {1.0, 0.42758357615580700441},
       {3.5, 0.1552936556088942974},
       {26.5, 0.021275046685371105955},
       {1000.0, 5.641893014533876542e-4},
       {1.0e+10, 5.6418958354775628695e-11},
       {-1.5, 18.653886256262733939},
       {-20.25, 2.4485613000901128214e+178}},
      3e-15);
  check_table(
      "ndtr", [](auto x) { return math::ndtr(x); },
      {{-37.0, 5.7255712225245768227e-300},
       {-10.5, 4.3190063178092303465e-26},
       {-3.0, 0.0013498980316300945267},
       {-1.0, 0.15865525393145705141},
       {-0.25, 0.40129367431707627576},
       {0.0, 0.5},
       {0.5, 0.69146246127401310364},
       {2.0, 0.9772498680518207928},
       {8.0, 0.9999999999999993779}},
      1e-14);
  check_table(
      "log_ndtr", [](auto x) { return math::log_ndtr(x); },
      {{-1000.0, -500007.82669481218431},
       {-37.0, -689.0305855768905936},
       {-10.5, -58.404187061073243416},
       {-1.0, -1.8410216450092635058},
       {-0.25, -0.91306176481113505517},
       {0.0, -0.69314718055994530942},
       {0.5, -0.36894641528865639307},
       {2.0, -0.023012909328963488465},
       {8.0, -6.2209605742717860585e-16}},
      3e-15);
  check_table(
      "ndtri", [](auto x) { return math::ndtri(x); },
      {{4.9090934652977265531e-91, -20.199856642545821698},
       {9.0949470177292823792e-13, -7.0477002566644087254},
       {0.03125, -1.8627318674216514555},
       {0.0625, -1.5341205443525463117},
       {0.25, -0.6744897501960817432},
       {0.4375, -0.15731068461017069552},
       {0.75, 0.6744897501960817432},
       {0.96875, 1.8627318674216514555},
       {0.99999904632568359375, 4.763001034267813957}},
      2e-15);
  check_table(
      "i0", [](auto x) { return math::i0(x); },
      {{0.0, 1.0},
       {0.5, 1.0634833707413235193},
       {-3.0, 4.8807925858650240856},
       {7.75, 338.51375374727594515},
       {8.25, 540.32507907480697909},
       {30.0, 7.8167229782397748972e+11},
       {700.0, 1.5295933476718737363e+302},
       {-713.0, 6.7051282636709966729e+307}},
      2e-15);
  check_table(
      "i0e", [](auto x) { return math::i0e(x); },
      {{0.0, 1.0},
       {0.5, 0.64503527044915006811},
       {-3.0, 0.24300035416182539847},
       {7.75, 0.14581227430891430778},
       {8.25, 0.14116455063299349976},
       {30.0, 0.073145946482237293929},
       {700.0, 0.015081295651531357587},
       {1.0e+6, 3.9894233026924577878e-4}},
      2e-15);
  check_table(
      "i1", [](auto x) { return math::i1(x); },
      {{9.5367431640625e-7, 4.7683715820317921011e-7},
       {0.5, 0.25789430539089631636},
       {-3.0, -3.9533702174026093965},
       {7.75, 315.8524809240034021},
       {8.25, 506.43383830764546706},
       {30.0, 7.6853203893895699949e+11},
       {700.0, 1.5285003902339006881e+302},
       {-713.0, -6.7004245591864025018e+307}},
      3e-15);
  check_table(
      "i1e", [](auto x) { return math::i1e(x); },
      {{9.5367431640625e-7, 4.7683670345604516396e-7},
       {0.5, 0.15642080318487169714},
       {-3.0, -0.19682671329730085363},
       {7.75, 0.13605110008033910914},
       {8.25, 0.13231017396500142316},
       {30.0, 0.071916330598647554706},
       {700.0, 0.015070519444716846949},
       {1.0e+6, 3.9894213079803077631e-4}},
      3e-15);
  check_table(
      "sinc", [](auto x) { return math::sinc(x); },
      {{9.5367431640625e-7, 0.99999999999850394118},
       {0.25, 0.90031631615710606956},
       {0.5, 0.63661977236758134308},
       {-1.25, -0.18006326323142121391},
       {7.625, -0.038567867389010022394},
       {100.5, 0.0031672625490924444929}},
      1e-15);
  check_table(
      "logit", [](auto x) { return math::logit(x); },
      {{8.6736173798840354721e-19, -41.588830833596718564},
       {0.25, -1.0986122886681096914},
       {0.3020692765712738, -0.83746346404612628765},  // next to where another formula began
       {0.4375, -0.25131442828090607769},
       {0.5, 0.0},
       {0.515625, 0.062520356981333989528},
       {0.75, 1.0986122886681096914},
       {0.99999904632568359375, 13.862942657524135034}},
      3e-16);
  check_table(
      "entr", [](auto x) { return math::entr(x); },
      {{8.6736173798840354721e-19, 3.6072560592734155692e-17},
       {0.25, 0.34657359027997265471},
       {1.0, 0.0},
       {3.5, -4.3846703897337879849}},
      1e-15);
}

TEST(MathSpecial, TwoArguments) {
  check_table2(
      "igamma", [](auto x, auto y) { return math::igamma(x, y); },
      {{9.765625e-4, 0.5, 0.99945306660633099696},
       {0.5, 0.25, 0.52049987781304653768},
       {3.0, 2.5, 0.456186884116670482},
       {3.0, 10.0, 0.99723060428448842406},
       {30.0, 20.0, 0.021818217525557391559},
       {150.0, 160.0, 0.79562618823432246184},
       {250.0, 230.0, 0.10043419856707392306},
       {250.0, 120.0, 2.8273219487691165205e-25},
       {10000.0, 10100.0, 0.8413487504471796224},
       {1.0e+6, 999000.0, 0.15865521357430365246}},
      5e-14);
  check_table2(
      "igammac", [](auto x, auto y) { return math::igammac(x, y); },
      {{9.765625e-4, 0.5, 5.469333936690030355e-4},
       {0.5, 0.25, 0.47950012218695346232},
       {9.0949470177292823792e-13, 0.75, 3.0953816614008354544e-13},
       {3.0, 2.5, 0.543813115883329518},
       {3.0, 10.0, 0.0027693957155115759437},
       {30.0, 20.0, 0.97818178247444260844},
       {150.0, 160.0, 0.20437381176567753816},
       {250.0, 230.0, 0.89956580143292607694},
       {250.0, 420.0, 1.1492504306421805264e-19},
       {10000.0, 10100.0, 0.1586512495528203776},
       {1.0e+6, 999000.0, 0.84134478642569634754}},
      5e-14);
  check_table2(
      "zeta", [](auto x, auto y) { return math::zeta(x, y); },
      {{1.0009765625, 1.0, 1024.5772867695045941},
       {2.0, 1.0, 1.6449340668482264365},
       {2.0, 0.125, 65.388133444988034473},
       {3.5, 7.25, 0.0033524741021978822311},
       {12.0, 30.0, 6.1351954821582552389e-18},
       {60.0, 1.5, 2.7197216389365647494e-11},
       {2.0, -1.25, 19.181879647671606498},
       {3.0, -5.75, 62.025272630795194445}},
      3e-15);
  check_table2(
      "logaddexp", [](auto x, auto y) { return math::logaddexp(x, y); },
      {{0.0, 0.0, 0.69314718055994530942},
       {1.0, -3.0, 1.0181499279178097404},
       {100.0, 90.0, 100.00004539889921686},
       {-800.0, -801.0, -799.68673831248177717}},
      1e-15);
  check_table2(
      "logaddexp2", [](auto x, auto y) { return math::logaddexp2(x, y); },
      {{0.0, 0.0, 1.0},
       {1.0, -3.0, 1.0874628412503394083},
       {100.0, 90.0, 100.00140819439280839},
       {-1100.0, -1101.0, -1099.4150374992788438}},
      1e-15);
  check_table2(
      "xlogy", [](auto x, auto y) { return math::xlogy(x, y); },
      {{2.0, 3.0, 2.1972245773362193828}, {-0.5, 0.125, 1.0397207708399179641}}, 1e-15);
  check_table2(
      "polygamma", [](auto n, auto x) { return math::polygamma(static_cast<int64_t>(n), x); },
      {{0.0, 0.25, -4.2274535333762654081},      {0.0, 1.5, 0.036489973978576520559},
       {0.0, 12.0, 2.4426616799758120167},       {0.0, -1.25, 3.7141391202135278304},
       {1.0, 0.25, 17.197329154507110739},       {1.0, 1.5, 0.93480220054467930942},
       {1.0, 12.0, 0.08690187287176839075},      {1.0, -1.25, 19.181879647671606498},
       {2.0, 0.25, -129.32773993753692033},      {2.0, 1.5, -0.8287966442343199956},
       {2.0, 12.0, -0.0075472053689989119399},   {2.0, -1.25, 123.72136678366236037},
       {3.0, 0.25, 1538.782144009188396},        {3.0, 1.5, 1.4090910340024372364},
       {3.0, 12.0, 0.0013100932310708259704},    {3.0, -1.25, 1558.2209125348505998},
       {7.0, 0.25, 3.3030229370901344778e+8},    {7.0, 1.5, 200.21818559806496949},
       {7.0, 12.0, 2.6599144024323066307e-5},    {7.0, -1.25, 3.3035268771818605685e+8},
       {20.0, 0.25, -1.0700016188919209272e+31}, {20.0, 1.5, -4.8777294946260987364e+14},
       {20.0, 12.0, -6.5472119367160101655e-5},  {20.0, -1.25, 1.0700016187896297695e+31}},
      5e-15);
}

TEST(MathSpecial, SpecialValues) {
  const auto same = [](double got, double want) {
    return std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want);
  };
#define SAME(expression, want) EXPECT_TRUE(same(expression, want)) << #expression << " = " << (expression)
  SAME(math::digamma(0.0), -kInf);
  SAME(math::digamma(-0.0), kInf);
  SAME(math::digamma(-1.0), kNan);
  SAME(math::digamma(kInf), kInf);
  SAME(math::digamma(-kInf), kNan);
  SAME(math::digamma(kNan), kNan);
  SAME(math::trigamma(0.0), kInf);
  SAME(math::trigamma(-2.0), kInf);
  SAME(math::trigamma(kInf), 0.0);
  SAME(math::polygamma(2, 0.0), -kInf);
  SAME(math::polygamma(3, -1.0), kInf);
  SAME(math::polygamma(2, kNan), kNan);
  SAME(math::lgamma(0.0), kInf);
  SAME(math::lgamma(-3.0), kInf);
  SAME(math::lgamma(1.0), 0.0);
  SAME(math::exp(-104.5f), 0.0f);
  SAME(math::exp(-103.9f), 0x1p-149f);  // the smallest number
  SAME(math::exp(-746.5), 0.0);
  SAME(math::exp(-745.1), 0x1p-1074);
  SAME(math::erfinv(1.0), kInf);
  SAME(math::erfinv(-1.0), -kInf);
  SAME(math::erfinv(1.5), kNan);
  SAME(math::erfinv(-0.0), -0.0);
  SAME(math::ndtri(0.0), -kInf);
  SAME(math::ndtri(1.0), kInf);
  SAME(math::ndtri(-0.5), kNan);
  SAME(math::ndtr(-kInf), 0.0);
  SAME(math::ndtr(kInf), 1.0);
  SAME(math::log_ndtr(-kInf), -kInf);
  SAME(math::erfcx(-kInf), kInf);
  SAME(math::erfcx(kInf), 0.0);
  SAME(math::i0(kInf), kInf);
  SAME(math::i1(-kInf), -kInf);
  SAME(math::i0e(kInf), 0.0);
  SAME(math::i0(kNan), kNan);
  SAME(math::igamma(0.0, 0.0), kNan);
  SAME(math::igamma(0.0, 1.0), 1.0);
  SAME(math::igamma(1.0, 0.0), 0.0);
  SAME(math::igamma(kInf, 1.0), 0.0);
  SAME(math::igamma(1.0, kInf), 1.0);
  SAME(math::igamma(-1.0, 1.0), kNan);
  SAME(math::igammac(0.0, 1.0), 0.0);
  SAME(math::igammac(1.0, 0.0), 1.0);
  SAME(math::igammac(kInf, 1.0), 1.0);
  SAME(math::igammac(kInf, kInf), kNan);
  EXPECT_NEAR(math::igamma(5e-324, 0.5), 1.0, 1e-15);
  SAME(math::zeta(1.0, 2.0), kInf);
  SAME(math::zeta(0.5, 2.0), kNan);
  SAME(math::zeta(2.0, -3.0), kInf);
  SAME(math::zeta(2.5, -0.5), kNan);
  SAME(math::zeta(kInf, 1.0), 1.0);
  SAME(math::zeta(2.0, kInf), 0.0);
  SAME(math::zeta(1e300, 4.5), 0.0);
  SAME(math::sinc(0.0), 1.0);
  SAME(math::sinc(kInf), kNan);
  SAME(math::entr(0.0), 0.0);
  SAME(math::entr(-1.0), -kInf);
  SAME(math::logit(0.0), -kInf);
  SAME(math::logit(1.0), kInf);
  SAME(math::logit(2.0), kNan);
  SAME(math::xlogy(0.0, 0.0), 0.0);
  SAME(math::xlogy(0.0, kNan), kNan);
  SAME(math::xlogy(1.0, 0.0), -kInf);
  SAME(math::logaddexp(kInf, kInf), kInf);
  SAME(math::logaddexp(-kInf, -kInf), -kInf);
  SAME(math::logaddexp(kInf, -kInf), kInf);
  SAME(math::logaddexp(kNan, kInf), kNan);
  SAME(math::logaddexp2(-kInf, 2.0), 2.0);
#undef SAME
}

TEST(MathSpecial, Integers) {
  EXPECT_EQ(math::gcd(12, -18), 6);
  EXPECT_EQ(math::gcd(0, 0), 0);
  EXPECT_EQ(math::lcm(4, -6), 12);
  EXPECT_EQ(math::lcm(0, 5), 0);
  EXPECT_EQ(math::gcd<int8_t>(-128, 3), 1);
  EXPECT_EQ(math::gcd<int8_t>(-128, 0), -128);  // 128 wraps, as in PyTorch
  EXPECT_EQ(math::lcm<int8_t>(-128, 3), -128);
  EXPECT_EQ(math::gcd<int64_t>(INT64_MIN, INT64_MIN), INT64_MIN);
  EXPECT_EQ(math::gcd<int64_t>(INT64_MIN, -6), 2);
  EXPECT_EQ(math::gcd<uint64_t>(UINT64_MAX, 15), 15u);
  EXPECT_EQ(math::lcm<uint8_t>(12, 18), 36);
  EXPECT_EQ(math::lcm<int64_t>(INT64_MIN, -1), INT64_MIN);
}
