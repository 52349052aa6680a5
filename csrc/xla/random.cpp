// Random numbers, made on the device: those of Philox (core/philox.h), taken as device cuda takes them, so that a seed
// gives the same integers and uniform numbers there and here.
#include <cmath>
#include <string>

#include "base/math_basic.h"
#include "xla/loop.h"
#include "xla/memory.h"
#include "xla/number.h"
#include "xla/slots.h"

namespace strided::xla {
namespace {

using Kind = RandomFill::Kind;

Num word(uint64_t v, const Dims& shape) { return Num(constant_int(static_cast<int64_t>(v), DType::UInt64, shape)); }

// The four words of blocks first, first + 1, ...: 32-bit numbers in 64 bits, one value for each word. `third`: the
// third word of the counter, which tells sequences apart.
std::vector<Num> philox(int64_t blocks, const Value& key, const Value& first, const Num& third) {
  const Dims shape{blocks};
  const Num low_half = word(0xffffffffu, shape), shift = word(32, shape);
  auto low = [&](const Num& x) { return x & low_half; };
  auto high = [&](const Num& x) { return call("stablehlo.shift_right_logical", x, shift); };
  const Num seed(broadcast(key, shape)), counter = Num(iota(DType::UInt64, shape, 0)) + Num(broadcast(first, shape));
  Num k0 = low(seed), k1 = high(seed);
  std::vector<Num> c = {low(counter), high(counter), third, word(0, shape)};
  for (int round = 0; round < 10; ++round) {
    const Num p0 = c[0] * word(0xD2511F53u, shape), p1 = c[2] * word(0xCD9E8D57u, shape);
    c = {high(p1) ^ c[1] ^ k0, low(p1), high(p0) ^ c[3] ^ k1, low(p0)};
    k0 = low(k0 + word(0x9E3779B9u, shape));
    k1 = low(k1 + word(0xBB67AE85u, shape));
  }
  return c;
}

// Columns side by side, the first n elements: element j of a block after element j - 1.
Num flat(const std::vector<Num>& columns, int64_t n) {
  std::vector<Value> parts;
  const int64_t blocks = columns[0].v->shape[0];
  for (const Num& c : columns) parts.push_back(reshape(c.v, {blocks, 1}));
  const Value all = reshape(concatenate(parts, 1), {blocks * static_cast<int64_t>(columns.size())});
  return Num(slice(all, {0}, {n}));
}

// Draws of 32 bits (four of a block) or 64 (two), as unsigned 64-bit numbers.
std::vector<Num> draws(bool wide, int64_t n, RandomSource& source) {
  const int64_t each = wide ? 2 : 4, blocks = (n + each - 1) / each;
  source.used = static_cast<uint64_t>(blocks);
  const Value seed = argument(&source.seed, DType::UInt64), first = argument(&source.offset, DType::UInt64);
  note_random(source, seed, first);
  std::vector<Num> w = philox(blocks, seed, first, word(0, {blocks}));
  if (!wide) return w;
  const Num up = word(32, {blocks});
  auto pair = [&](const Num& low, const Num& high) { return call("stablehlo.shift_left", high, up) | low; };
  return {pair(w[0], w[1]), pair(w[2], w[3])};
}

// In [0, 1): by 53 bits of 64, or 24 of 32.
Num unit(const Num& draw, bool wide) {
  const Dims& shape = draw.v->shape;
  const Num bits = call("stablehlo.shift_right_logical", draw, word(wide ? 11 : 8, shape));
  const Num real = cast(cast(bits, DType::Int64), wide ? DType::Float64 : DType::Float32);
  return real * (wide ? 0x1p-53 : 0x1p-24);
}

// Box and Muller: two draws, two numbers.
std::vector<Num> normal(const std::vector<Num>& draw, bool wide, double mean, double deviation) {
  std::vector<Num> out;
  for (size_t j = 0; j < draw.size(); j += 2) {
    const Num u =
        wide ? 1 - unit(draw[j], true) : cast(cast(draw[j], DType::Int64), DType::Float32) * 0x1p-32 + 0x1p-33;
    const Num angle = unit(draw[j + 1], wide) * 6.283185307179586477, radius = sqrt(log(u) * -2.0);
    out.push_back(radius * cos(angle) * deviation + mean);
    out.push_back(radius * sin(angle) * deviation + mean);
  }
  return out;
}

uint64_t range_of_everything(DType dtype) {
  if (dtype == DType::Bool) return 2;
  const DTypeInfo& info = kDTypeInfo[index_of(dtype)];
  if (!is_integral(dtype)) return (uint64_t(1) << info.digits) + 1;
  const int bits = 8 * static_cast<int>(size_of(dtype)) - info.is_signed;
  return bits == 64 ? 0 : uint64_t(1) << bits;
}

}  // namespace

void random_fill(const OpContext& on, const RandomFill& what, DType dtype, void* to, int64_t n, RandomSource& source) {
  source.used = 0;
  if (n == 0) return;
  if (is_complex(dtype)) return random_fill(on, what, real_of(dtype), to, 2 * n, source);  // as two real ones
  const bool wide = size_of(dtype) == 8;
  auto give = [&](const Num& values) { write(to, dtype, {n}, values.v); };
  switch (what.kind) {
    case Kind::Uniform: {
      const Num v = cast(unit(flat(draws(wide, n, source), n), wide) * (what.b - what.a) + what.a, dtype);
      const Num end = v.like(what.b);
      return give(where(v == end, what.a, v));  // rounding may reach the open end
    }
    case Kind::Normal:
    case Kind::NormalPairs: return give(flat(normal(draws(wide, n, source), wide, what.a, what.b), n));
    case Kind::LogNormal: return give(exp(flat(normal(draws(wide, n, source), wide, what.a, what.b), n)));
    case Kind::Integers:
    case Kind::Everything: {
      const bool every = what.kind == Kind::Everything;
      const uint64_t size = every ? range_of_everything(dtype) : what.range;
      const Num draw = flat(draws(size == 0 || size >= uint64_t{1} << 28, n, source), n);
      const Num rest = size == 0 ? draw : mod(draw, word(size, {n}));
      const Num base(constant_int(every ? 0 : what.base, DType::Int64, {n}));
      return give(cast(rest, DType::Int64) + base);
    }
    default: break;
  }
  const Num u = unit(flat(draws(true, n, source), n), true);
  switch (what.kind) {
    case Kind::Bernoulli: return give(u < what.a);
    case Kind::Geometric: return give(ceil(log(1 - u) / std::log1p(-what.a)));
    case Kind::Exponential: return give(log1p(-u) * (-1 / what.a));
    default: return give(call("chlo.tan", (u - 0.5) * math::kPi) * what.b + what.a);
  }
}

void random_bernoulli(const OpContext& on, DType dtype, void* to, DType p_dtype, const void* p, int64_t n,
                      RandomSource& source) {
  source.used = 0;
  if (n == 0) return;
  const Num u = unit(flat(draws(true, n, source), n), true);
  const Num chance = cast(Num(read(p, p_dtype, {n})), DType::Float64);
  const Num bad = cast(~((chance >= 0.0) & (chance <= 1.0)), DType::Int64);
  const std::string name = on.name;
  raise_later(on.device, fold("stablehlo.maximum", bad.v, constant_int(kGood, DType::Int64), {0}), [name](int64_t) {
    STRIDED_THROW(RuntimeError, name, ": Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
  });
  write(to, dtype, {n}, (u < chance).v);
}

namespace {

// Numbers in [0, 1) by 53 bits, element i from block i of a sequence of its own for each step of a loop, which takes no
// blocks of the generator. `seed` and `first` are numbers of the loop.
struct Fresh {
  Num u, v;
};
Fresh fresh(int64_t n, const Value& seed, const Value& first, const Num& step) {
  const std::vector<Num> w = philox(n, seed, first, cast(step, DType::UInt64));
  const Num up = word(32, {n});
  auto pair = [&](const Num& low, const Num& high) { return unit(call("stablehlo.shift_left", high, up) | low, true); };
  return {pair(w[0], w[1]), pair(w[2], w[3])};
}

Value any(const Num& x) { return fold("stablehlo.or", x.v, constant_int(0, DType::Bool), {0}); }

}  // namespace

// Below 10 by inversion: the probabilities are summed until they exceed a uniform number. From 10 on by the
// transformed rejection PTRS of W. Hormann, "The transformed rejection method for generating Poisson random variables",
// Insurance: Mathematics and Economics 12 (1993).
void random_poisson(const OpContext& on, DType dtype, void* to, const void* rate, int64_t n, RandomSource& source) {
  source.used = 0;
  if (n == 0) return;
  source.used = static_cast<uint64_t>(n);
  const Num given = cast(Num(read(rate, dtype, {n})), DType::Float64), bad = cast(~(given >= 0.0), DType::Int64);
  raise_later(on.device, fold("stablehlo.maximum", bad.v, constant_int(kGood, DType::Int64), {0}),
              [](int64_t) { STRIDED_THROW(RuntimeError, "invalid Poisson rate, expected rate to be non-negative"); });
  const Num usual = finite(given) & (given >= 0.0), small = given < 10.0;
  const Num low = where(usual & small, given, 1.0), high = where(usual & ~small, given, 10.0);
  const Value seed = argument(&source.seed, DType::UInt64), first = argument(&source.offset, DType::UInt64);
  const Value zero = constant_int(0, DType::Int64);

  const Num u = fresh(n, seed, first, Num(constant_int(0, DType::Int64, {n}))).u, chance = exp(-low);
  const Values summed = loop(
      {constant(0, DType::Float64), low.v, u.v, chance.v, chance.v, low.like(0).v},
      [](const Values& v) { return binary("stablehlo.and", any(Num(v[2]) >= Num(v[4])), (Num(v[0]) < 200.0).v); },
      [&](const Values& v) {
        const Num rate(v[1]), u(v[2]), sum(v[4]), k = Num(v[0]) + 1, more = u >= sum;
        const Num chance = Num(v[3]) * rate / Num(broadcast(k.v, {n}));
        return Values{k.v, rate.v, u.v, chance.v, (sum + chance).v, where(more, Num(v[5]) + 1, Num(v[5])).v};
      });

  const Num wanted = usual & ~small;
  const Values drawn = loop(
      {zero, seed, first, high.v, high.v, wanted.v}, [](const Values& v) { return any(Num(v[5])); },
      [&](const Values& v) {
        const Num step = Num(v[0]) + 1, rate(v[3]), going(v[5]), slope = sqrt(rate) * 2.53 + 0.931;
        const Num a = slope * 0.02483 - 0.059, inverse = 1.1328 / (slope - 3.4) + 1.1239;
        const Fresh f = fresh(n, v[1], v[2], Num(broadcast(step.v, {n})));
        const Num u = f.u - 0.5, side = 0.5 - abs(u), inside = where(side > 0.0, side, 0.5);
        const Num k = floor((a * 2 / inside + slope) * u + rate + 0.43);
        const Num quick = (side >= 0.07) & (f.v <= 0.9277 - 3.6224 / (slope - 2));
        const Num never = (k < 0.0) | (side <= 0.0) | ((side < 0.013) & (f.v > side));
        const Num left = log(f.v * inverse / (a / (inside * inside) + slope));
        const Num right = k * log(rate) - rate - call("chlo.lgamma", where(k < 0.0, 0.0, k) + 1);
        const Num taken = going & ~never & (quick | (left <= right));
        return Values{step.v, v[1], v[2], rate.v, where(taken, k, Num(v[4])).v, (going & ~taken).v};
      });
  write(to, dtype, {n}, where(wanted, Num(drawn[4]), where(given == 0.0, 0.0, Num(summed[5]))).v);
}

// By halving, where a uniform share of the sum falls among the running sums.
void random_choice(const OpContext& on, DType dtype, int64_t* to, const void* weights, int64_t rows, int64_t categories,
                   int64_t samples, RandomSource& source, WeightsFailure* failure) {
  source.used = 0;
  const Dims shape{rows, categories}, row{rows}, drawn{rows, samples};
  const Num w = cast(Num(read(weights, dtype, shape)), DType::Float64);
  const Value none = constant(0, DType::Float64);
  const Num zero_sum = ~(Num(fold("stablehlo.add", w.v, none, {1})) > 0.0);
  auto flag = [](const Num& bad, const Dims& axes) {
    return cast(Num(fold("stablehlo.or", bad.v, constant_int(0, DType::Bool), axes)), DType::Int64);
  };
  const Num negative = flag(~(w >= 0.0), {0, 1}), infinite = flag(~finite(w), {0, 1}), empty = flag(zero_sum, {0});
  const int64_t found = value_now((negative * 4 + infinite * 2 + empty).v, on.device);
  *failure = found & 4   ? WeightsFailure::Negative
             : found & 2 ? WeightsFailure::NotFinite
             : found & 1 ? WeightsFailure::ZeroSum
                         : WeightsFailure::None;
  if (found || samples == 0) return;
  const Num sums(running("stablehlo.add", w.v, none, 1));
  const Value flat_sums = reshape(sums.v, {rows * categories});
  const Num total(broadcast(slice(sums.v, {0, categories - 1}, {rows, categories}), drawn, {0, 1}));
  const Num u(reshape(unit(flat(draws(true, rows * samples, source), rows * samples), true).v, drawn));
  const Num share = u * total, base = Num(iota(DType::Int64, drawn, 0)) * static_cast<double>(categories);
  // How many of the sums do not exceed the share; of the last ones, which are the total, the first is the last choice.
  auto not_above = [&](const Num& limit, bool equal) {
    Num count(constant_int(0, DType::Int64, drawn));
    int64_t step = 1;
    while (step * 2 <= categories) step *= 2;
    for (; step > 0; step /= 2) {
      const Num next = count + static_cast<double>(step), inside = next <= static_cast<double>(categories);
      const Num sum(take(flat_sums, (base + where(inside, next, 1.0) - 1).v));
      count = where(inside & (equal ? sum <= limit : sum < limit), next, count);
    }
    return count;
  };
  write(to, DType::Int64, drawn, smaller(not_above(share, true), not_above(total, false)).v);
}

// Random keys, sorted; enough bits that two hardly ever agree.
void random_permutation(const OpContext&, DType dtype, void* to, int64_t n, RandomSource& source) {
  source.used = 0;
  if (n == 0) return;
  write(to, dtype, {n}, sorted_order(flat(draws(true, n, source), n).v));
}

}  // namespace strided::xla
