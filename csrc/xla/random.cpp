// Random numbers, made on the device: those of Philox (core/philox.h), taken as device cuda takes them, so that a seed
// gives the same integers and uniform numbers there and here.
#include <cmath>
#include <string>

#include "xla/memory.h"
#include "xla/number.h"
#include "xla/slots.h"

namespace strided::xla {
namespace {

using Kind = RandomFill::Kind;

Num word(uint64_t v, const Dims& shape) { return Num(constant_int(static_cast<int64_t>(v), DType::UInt64, shape)); }

// The four words of blocks offset, offset + 1, ...: 32-bit numbers in 64 bits, one value for each word.
std::vector<Num> philox(int64_t blocks, const RandomSource& source) {
  const Dims shape{blocks};
  auto given = [&](uint64_t v) { return Num(broadcast(argument(&v, DType::UInt64), shape)); };
  const Num low_half = word(0xffffffffu, shape), shift = word(32, shape);
  auto low = [&](const Num& x) { return x & low_half; };
  auto high = [&](const Num& x) { return call("stablehlo.shift_right_logical", x, shift); };
  const Num seed = given(source.seed), counter = Num(iota(DType::UInt64, shape, 0)) + given(source.offset);
  Num k0 = low(seed), k1 = high(seed);
  std::vector<Num> c = {low(counter), high(counter), word(0, shape), word(0, shape)};
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
  std::vector<Num> w = philox(blocks, source);
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
  if (is_complex(dtype)) refuse(on, "random complex numbers");
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
    default: return give(call("chlo.tan", (u - 0.5) * 3.14159265358979323846) * what.b + what.a);
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

// Random keys, sorted; enough bits that two hardly ever agree.
void random_permutation(const OpContext&, DType dtype, void* to, int64_t n, RandomSource& source) {
  source.used = 0;
  if (n == 0) return;
  write(to, dtype, {n}, sorted_order(flat(draws(true, n, source), n).v));
}

}  // namespace strided::xla
