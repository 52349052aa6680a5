// Random numbers on the CPU: each slot fills n contiguous elements by sequential draws from a generator, in PyTorch's
// order and with PyTorch's arithmetic.
//
// Note [PyTorch's numbers]
// Integers, uniform numbers and everything made of them by one formula equal PyTorch's bit for bit: the same draws, the
// same precision, a fused multiply-add where PyTorch's builds for AVX2 have one, and the C library's transcendental
// functions. So do normal numbers of float32, where this machine has a fused multiply-add. Those of float64, in 16 and
// more contiguous elements, agree to a few units in the last place. The generator is left in the same state in any
// case.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/math_special.h"
#include "base/parallel.h"
#include "core/convert.h"
#include "core/random.h"
#include "cpu/kernels.h"
#include "cpu/operations.h"
#include "cpu/random/draws.h"

namespace strided {

namespace {

const RandomLoops& loops() { return kernel_table().random; }

// ---------------------------------------------------------------- building blocks
uint64_t draw(Generator& g, uint64_t) { return g.random64(); }
uint32_t draw(Generator& g, uint32_t) { return g.random(); }

// to[i] = f(draw i), draws being 32 or 64 bits. They are made in one thread, and turned into values in all of them.
template <class Draw, class T, class F>
void transform(T* to, int64_t n, Generator& g, F f) {
  constexpr int64_t kChunk = 1 << 16, kGrain = 1 << 11;
  constexpr int64_t kWordsPerDraw = sizeof(Draw) / 4;
  std::vector<uint32_t> words(static_cast<size_t>(std::min(n, kChunk) * kWordsPerDraw));
  for (int64_t done = 0; done < n; done += kChunk, to += kChunk) {
    const int64_t count = std::min(n - done, kChunk);
    g.fill_random(words.data(), count * kWordsPerDraw);
    parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) {
      const uint32_t* w = words.data();
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (kWordsPerDraw == 1) to[i] = f(w[i]);
        else to[i] = f(uint64_t{w[2 * i]} << 32 | w[2 * i + 1]);
      }
    });
  }
}
// ---------------------------------------------------------------- uniform and normal numbers
void uniform(float* to, int64_t n, float from, float end, Generator& g) {
  while (n > 0) {
    int64_t count;
    const uint32_t* words = g.pending(&count);
    count = std::min(count, n);
    loops().uniform_float(to, words, count, from, end - from, end);
    g.skip(count);
    to += count;
    n -= count;
  }
}

void uniform(double* to, int64_t n, double from, double end, Generator& g) {
  const double range = end - from;
  while (n > 0) {
    int64_t count;
    const uint32_t* words = g.pending(&count);
    count = std::min(count / 2, n);
    if (count == 0) {  // the two words stand in different blocks
      const double x = std::fma(unit(g.random64()), range, from);
      *to = x == end ? from : x;
      count = 1;
    } else {
      loops().uniform_double(to, words, count, from, range, end);
      g.skip(2 * count);
    }
    to += count;
    n -= count;
  }
}

// f(to, u, n) for n numbers u uniform in [0, 1) with 53 bits, some at a time.
template <class T, class F>
void transform_units(T* to, int64_t n, Generator& g, F f) {
  constexpr int64_t kChunk = 1 << 15;
  std::vector<double> units(static_cast<size_t>(std::min(n, kChunk)));
  for (int64_t done = 0; done < n; done += kChunk, to += kChunk) {
    const int64_t count = std::min(n - done, kChunk);
    uniform(units.data(), count, 0.0, 1.0, g);
    parallel_for(0, count, 1 << 11,
                 [&](int64_t begin, int64_t end) { f(to + begin, units.data() + begin, end - begin); });
  }
}
// to[i] = f(u)
template <class T, class F>
void transform_unit(T* to, int64_t n, Generator& g, F f) {
  transform_units(to, n, g, [f](T* some, const double* units, int64_t count) {
    for (int64_t i = 0; i < count; ++i) some[i] = convert<T>(f(units[i]));
  });
}

// The 16-bit floats: drawn in float, rounded, and moved off the open end if rounding led there.
template <class T>
void uniform(T* to, int64_t n, double from, double end, Generator& g) {
  const float low = T(static_cast<float>(from)), high = T(static_cast<float>(end));
  float buffer[Generator::kWords];
  while (n > 0) {
    const int64_t count = std::min<int64_t>(n, Generator::kWords);
    uniform(buffer, count, static_cast<float>(from), static_cast<float>(end), g);
    for (int64_t i = 0; i < count; ++i) {
      const T x(buffer[i]);
      to[i] = x == high ? T(low) : x;
    }
    to += count;
    n -= count;
  }
}

void box_muller(float* data, int64_t blocks, float mean, float std) {
  loops().box_muller_float(data, blocks, mean, std);
}
void box_muller(double* data, int64_t blocks, double mean, double std) {
  loops().box_muller_double(data, blocks, mean, std);
}

// For n >= 16: whole blocks of 16, and one more that ends with the last element.
template <class T>
void normal(T* to, int64_t n, double mean, double std, Generator& g) {
  const T m = static_cast<T>(mean), s = static_cast<T>(std);
  constexpr int64_t kChunk = 1 << 16;
  int64_t done = 0;
  for (; done < n; done += kChunk) {
    const int64_t count = std::min(n - done, kChunk);
    uniform(to + done, count, T(0), T(1), g);
    parallel_for(0, count / 16, 128,
                 [&](int64_t begin, int64_t end) { box_muller(to + done + 16 * begin, end - begin, m, s); });
  }
  if (n % 16 == 0) return;
  uniform(to + n - 16, 16, T(0), T(1), g);
  box_muller(to + n - 16, 1, m, s);
}

// The 16-bit floats go through a buffer; here the numbers left over are not drawn before the last block.
template <class T>
void normal_16bit(T* to, int64_t n, double mean, double std, Generator& g) {
  const float m = static_cast<float>(mean), s = static_cast<float>(std);
  float buffer[1024];
  auto put = [&](T* where, int64_t count) {
    uniform(buffer, count, 0.0f, 1.0f, g);
    box_muller(buffer, count / 16, m, s);
    for (int64_t i = 0; i < count; ++i) where[i] = T(buffer[i]);
  };
  for (int64_t done = 0; done < n / 16 * 16; done += 1024) put(to + done, std::min<int64_t>(n / 16 * 16 - done, 1024));
  if (n % 16 != 0) put(to + n - 16, 16);
}

template <class T, class F>
void normal_pairs(T* to, int64_t n, double mean, double std, Generator& g, F f) {
  for (int64_t i = 0; i < n; ++i) to[i] = convert<T>(f(std::fma(normal_of_pair(g), std, mean)));
}

// ---------------------------------------------------------------- integers
// x mod d for 32 bits without a division. D. Lemire, O. Kaser and N. Kurz, "Faster remainder by direct computation",
// Software: Practice and Experience 49 (2019).
struct FastRemainder {
  uint64_t inverse, divisor;
  explicit FastRemainder(uint32_t d) : inverse(~uint64_t{0} / d + 1), divisor(d) {}
  uint64_t operator()(uint32_t x) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(inverse * x) * divisor >> 64);
  }
};

template <class T>
void integers(T* to, int64_t n, int64_t base, uint64_t range, Generator& g) {
  const auto value = [start = static_cast<uint64_t>(base)](uint64_t offset) {
    return convert<T>(static_cast<int64_t>(start + offset));
  };
  if (range == 1) {
    transform<uint32_t>(to, n, g, [=](uint32_t) { return value(0); });
  } else if (range == 0) {
    transform<uint64_t>(to, n, g, value);
  } else if (range < uint64_t{1} << 28) {  // beyond, the remainder of 32 bits would be too uneven: PyTorch draws 64
    const FastRemainder remainder(static_cast<uint32_t>(range));
    transform<uint32_t>(to, n, g, [=](uint32_t bits) { return value(remainder(bits)); });
  } else {
    transform<uint64_t>(to, n, g, [=](uint64_t bits) { return value(bits % range); });
  }
}

template <class T>
void everything(T* to, int64_t n, Generator& g) {
  if constexpr (std::is_same_v<T, bool>) {
    transform<uint32_t>(to, n, g, [](uint32_t bits) { return (bits & 1) != 0; });
  } else if constexpr (std::is_integral_v<T>) {
    using Draw = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    constexpr Draw mask = static_cast<Draw>(std::numeric_limits<T>::max());
    transform<Draw>(to, n, g, [](Draw bits) { return static_cast<T>(bits & mask); });
  } else {
    using Draw = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    constexpr Draw count = (Draw{1} << DTypeTraits<T>::digits) + 1;
    transform<Draw>(to, n, g, [](Draw bits) { return convert<T>(static_cast<int64_t>(bits % count)); });
  }
}

// ---------------------------------------------------------------- Poisson's law
// For rates from 10 on the transformed rejection PTRS of W. Hormann, "The transformed rejection method for generating
// Poisson random variables", Insurance: Mathematics and Economics 12 (1993); below, products of uniform numbers against
// exp(-rate) (D. E. Knuth, The Art of Computer Programming 2, section 3.4.1).
int64_t poisson(double rate, Generator& g) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double product = 1;
    for (int64_t count = 0;; ++count) {
      product *= unit(g.random64());
      if (product <= limit) return count;
    }
  }
  const double root = std::sqrt(rate), log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * root;
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = unit(g.random64()) - 0.5;
    const double v = unit(g.random64());
    const double us = 0.5 - std::fabs(u);
    const int64_t k = convert<int64_t>(std::floor((2 * a / us + b) * u + rate + 0.43));
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double count = static_cast<double>(k);
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -rate + count * log_rate - math::special::lgamma(count + 1))
      return k;
  }
}

// ---------------------------------------------------------------- choosing with weights
template <class T>
WeightsFailure check_weights(const T* weights, int64_t rows, int64_t categories) {
  using C = compute_t<T>;
  for (int64_t i = 0; i < rows; ++i) {
    C sum = 0;
    for (int64_t j = 0; j < categories; ++j) {
      const C w = static_cast<C>(weights[i * categories + j]);
      if (!(w >= 0)) return WeightsFailure::Negative;
      if (!std::isfinite(w)) return WeightsFailure::NotFinite;
      sum += w;
    }
    if (!(sum > 0)) return WeightsFailure::ZeroSum;
  }
  return WeightsFailure::None;
}

// By the inverse of the cumulative distribution.
template <class T>
void choose(int64_t* out, const T* weights, int64_t rows, int64_t categories, int64_t samples, Generator& g) {
  using C = compute_t<T>;
  std::vector<C> cumulative(static_cast<size_t>(categories));
  for (int64_t i = 0; i < rows; ++i) {
    C sum = 0;
    for (int64_t j = 0; j < categories; ++j) cumulative[j] = sum += static_cast<C>(weights[i * categories + j]);
    for (C& c : cumulative) c /= sum;
    cumulative[categories - 1] = 1;
    for (int64_t j = 0; j < samples; ++j) {
      const double u = unit(g.random64());
      const auto at = std::partition_point(cumulative.begin(), cumulative.end(), [u](C c) { return c < u; });
      out[i * samples + j] = at - cumulative.begin();
    }
  }
}

template <class T>
void fill_real(const RandomFill& what, T* to, int64_t n, Generator& g) {
  const double a = what.a, b = what.b;
  switch (what.kind) {
    case RandomFill::Integers: return integers(to, n, what.base, what.range, g);
    case RandomFill::Everything: return everything(to, n, g);
    case RandomFill::Bernoulli: return transform_unit(to, n, g, [a](double u) { return u < a ? 1.0f : 0.0f; });
    case RandomFill::Geometric: {
      const double log_failure = std::log1p(-a);
      return transform_unit(to, n, g, [=](double u) { return std::ceil(std::log(u) / log_failure); });
    }
    default: break;
  }
  if constexpr (!std::is_integral_v<T>) {
    using C = compute_t<T>;
    switch (what.kind) {
      case RandomFill::Uniform: return uniform(to, n, static_cast<C>(a), static_cast<C>(b), g);
      case RandomFill::Normal:
        if (n >= 16) {
          if constexpr (std::is_same_v<C, T>) return normal(to, n, a, b, g);
          else return normal_16bit(to, n, a, b, g);
        }
        [[fallthrough]];
      case RandomFill::NormalPairs: return normal_pairs(to, n, a, b, g, [](double x) { return x; });
      case RandomFill::LogNormal: return normal_pairs(to, n, a, b, g, [](double x) { return std::exp(x); });
      case RandomFill::Exponential:
        if constexpr (std::is_same_v<T, float>)
          return transform_units(to, n, g, [a](float* some, const double* units, int64_t count) {
            loops().exponential_float(some, units, count, -1.0 / a);
          });
        return transform_unit(to, n, g, [a](double u) { return -1.0 / a * std::log1p(-u); });
      case RandomFill::Cauchy:
        return transform_unit(to, n, g, [=](double u) { return std::fma(b, std::tan(math::kPi * (u - 0.5)), a); });
      default: break;
    }
  }
}

}  // namespace

// ---------------------------------------------------------------- the slots
namespace cpu {

void random_fill(const OpContext&, const RandomFill& what, DType dtype, void* to, int64_t n, RandomSource& source) {
  dispatch_loops(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = real_t<T>;  // a complex number is two real ones
    fill_real(what, static_cast<R*>(to), is_complex_v<T> ? 2 * n : n, *source.generator);
  });
}

void random_bernoulli(const OpContext&, DType dtype, void* to, DType p_dtype, const void* p, int64_t n,
                      RandomSource& source) {
  Generator& g = *source.generator;
  dispatch_loops(p_dtype, [&](auto p_tag) {
    using P = typename decltype(p_tag)::type;
    using C = compute_t<P>;
    if constexpr (std::is_floating_point_v<C>) {
      const P* probability = static_cast<const P*>(p);
      for (int64_t i = 0; i < n; ++i)
        STRIDED_CHECK(C(probability[i]) >= 0 && C(probability[i]) <= 1, RuntimeError,
                      "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
      using Draw = std::conditional_t<sizeof(C) == 8, uint64_t, uint32_t>;
      dispatch_loops(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        T* result = static_cast<T*>(to);
        for (int64_t i = 0; i < n; ++i) result[i] = convert<T>(unit(draw(g, Draw{})) < C(probability[i]) ? 1.0f : 0.0f);
      });
    }
  });
}

void random_poisson(const OpContext&, DType dtype, void* to, const void* rate, int64_t n, RandomSource& source) {
  dispatch_loops(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = compute_t<T>;
    if constexpr (std::is_floating_point_v<C>) {
      const T* rates = static_cast<const T*>(rate);
      T* result = static_cast<T*>(to);
      for (int64_t i = 0; i < n; ++i)
        STRIDED_CHECK(C(rates[i]) >= 0, RuntimeError, "invalid Poisson rate, expected rate to be non-negative");
      for (int64_t i = 0; i < n; ++i) result[i] = convert<T>(poisson(C(rates[i]), *source.generator));
    }
  });
}

// R. Durstenfeld, "Algorithm 235: Random permutation", CACM 7 (1964).
void random_permutation(const OpContext&, DType dtype, void* out, int64_t n, RandomSource& source) {
  Generator& g = *source.generator;
  dispatch_loops(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out);
    if (n < std::numeric_limits<uint32_t>::max() / 20) {
      for (int64_t i = 0; i < n; ++i) to[i] = convert<T>(i);
      for (int64_t i = 0; i < n - 1; ++i) std::swap(to[i], to[i + g.random() % static_cast<uint32_t>(n - i)]);
      return;
    }
    // So many need draws of 64 bits to be even; PyTorch then builds the permutation from the front.
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t z = g.random64() % static_cast<uint64_t>(i + 1);
      to[i] = convert<T>(i);
      to[i] = to[z];
      to[z] = convert<T>(i);
    }
  });
}

void random_choice(const OpContext&, DType dtype, int64_t* to, const void* weights, int64_t rows, int64_t categories,
                   int64_t samples, RandomSource& source, WeightsFailure* failure) {
  *failure = WeightsFailure::None;
  dispatch_loops(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<compute_t<T>>) {
      const T* w = static_cast<const T*>(weights);
      *failure = check_weights(w, rows, categories);
      if (*failure == WeightsFailure::None) choose(to, w, rows, categories, samples, *source.generator);
    }
  });
}

}  // namespace cpu
}  // namespace strided
