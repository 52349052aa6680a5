#include "cuda/random/random.h"

#include "backend/backend.h"
#include "backend/op.h"
#include "base/math_special.h"
#include "cuda/pointwise/pointwise_run.h"
#include "cuda/runtime/block.h"
#include "cuda/runtime/capture.h"
#include "cuda/runtime/operations.h"
#include "cuda/runtime/report.h"
#include "cuda/sort/sort_rows.h"

namespace strided {
namespace cuda {
namespace {

using Kind = RandomFill::Kind;

// A law L over T: Draw, and fill(args, draws, out), which makes as many values as there are draws.
// Uniform numbers that rounding moved onto the open end go back to the start.
template <class T>
struct UniformLaw {
  using C = compute_t<T>;
  using Draw = std::conditional_t<sizeof(C) == 8, uint64_t, uint32_t>;
  template <int N>
  __device__ static void fill(const RandomArgs& a, const Draw (&draw)[N], T (&out)[N]) {
    const C from = static_cast<C>(T(static_cast<C>(a.a))), end = static_cast<C>(T(static_cast<C>(a.b))),
            span = static_cast<C>(a.b) - static_cast<C>(a.a);
    for (int j = 0; j < N; ++j) {
      C u;
      if constexpr (sizeof(C) == 8) u = unit53(draw[j]);
      else u = unit24(draw[j]);
      const T v = T(static_cast<C>(fma(u, span, static_cast<C>(a.a))));
      out[j] = static_cast<C>(v) == end ? T(from) : v;
    }
  }
};
// G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", Ann. Math. Stat. 29 (1958): two
// draws give two numbers.
template <class T, bool Exponentiated>
struct NormalLaw {
  using C = compute_t<T>;
  using Draw = std::conditional_t<sizeof(C) == 8, uint64_t, uint32_t>;
  template <int N>
  __device__ static void fill(const RandomArgs& a, const Draw (&draw)[N], T (&out)[N]) {
    const C mean = static_cast<C>(a.a), deviation = static_cast<C>(a.b);
    for (int j = 0; j < N; j += 2) {
      C u, angle;  // u in (0, 1]: all bits of the draw, for the tail
      if constexpr (sizeof(C) == 8) {
        u = 1 - unit53(draw[j]);
        angle = 6.283185307179586477 * unit53(draw[j + 1]);
      } else {
        u = fma(static_cast<float>(draw[j]), 0x1p-32f, 0x1p-33f);
        angle = 6.2831853f * unit24(draw[j + 1]);
      }
      const C radius = math::sqrt(C(-2) * math::log(u));
      const C pair[2] = {radius * math::cos(angle), radius * math::sin(angle)};
      for (int k = 0; k < 2; ++k) {
        const C v = static_cast<C>(fma(pair[k], deviation, mean));
        out[j + k] = T(Exponentiated ? math::exp(v) : v);
      }
    }
  }
};
// Laws by one formula from a number u in [0, 1) with 53 bits.
template <class T, Kind K>
struct UnitLaw {
  using Draw = uint64_t;
  template <int N>
  __device__ static void fill(const RandomArgs& a, const Draw (&draw)[N], T (&out)[N]) {
    for (int j = 0; j < N; ++j) {
      const double u = unit53(draw[j]);
      if constexpr (K == RandomFill::Bernoulli) out[j] = convert<T>(u < a.a ? 1.0f : 0.0f);
      else if constexpr (K == RandomFill::Geometric) out[j] = convert<T>(ceil(log(1 - u) / log1p(-a.a)));
      else if constexpr (K == RandomFill::Exponential) out[j] = convert<T>(-1.0 / a.a * log1p(-u));
      else out[j] = convert<T>(fma(a.b, tan(math::kPi * (u - 0.5)), a.a));
    }
  }
};
// base + draw mod range; range 0 stands for 2^64.
template <class T, class D>
struct IntegerLaw {
  using Draw = D;
  template <int N>
  __device__ static void fill(const RandomArgs& a, const Draw (&draw)[N], T (&out)[N]) {
    for (int j = 0; j < N; ++j) {
      uint64_t v;
      if constexpr (sizeof(Draw) == 4) v = draw[j] % static_cast<uint32_t>(a.range);
      else v = a.range == 0 ? draw[j] : draw[j] % a.range;
      out[j] = convert<T>(static_cast<int64_t>(static_cast<uint64_t>(a.base) + v));
    }
  }
};

template <class Law, class T>
__global__ void __launch_bounds__(kThreads) random_kernel(T* to, const STRIDED_GRID_CONSTANT RandomArgs a) {
  using D = Draws<typename Law::Draw>;
  constexpr int N = D::count;
  const uint64_t block = static_cast<uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t first = static_cast<int64_t>(block) * N;
  if (first >= a.n) return;
  const D draws(a, block);
  T out[N];
  Law::fill(a, draws.draw, out);
  // All of a thread's numbers at once where they fit: one by one the lanes of a warp would write to every N-th place.
  if (first + N <= a.n && reinterpret_cast<uintptr_t>(to) % sizeof(Vec<T, N>) == 0) {
    Vec<T, N> all;
    for (int j = 0; j < N; ++j) all.item[j] = out[j];
    *reinterpret_cast<Vec<T, N>*>(to + first) = all;
    return;
  }
  for (int j = 0; j < N; ++j)
    if (first + j < a.n) to[first + j] = out[j];
}

template <class Law, class T>
uint64_t run(const char* name, int device, void* to, const RandomArgs& a) {
  const uint64_t blocks =
      (static_cast<uint64_t>(a.n) + Draws<typename Law::Draw>::count - 1) / Draws<typename Law::Draw>::count;
  launch(random_kernel<Law, T>, dim3(static_cast<unsigned>((blocks + kThreads - 1) / kThreads)), dim3(kThreads), 0,
         current_stream(device), static_cast<T*>(to), a);
  check_launch(name);
  return blocks;
}

template <class T>
uint64_t run_integers(const char* name, int device, void* to, RandomArgs a, bool everything) {
  if (everything) {
    a.base = 0;
    if constexpr (std::is_same_v<T, bool>) a.range = 2;
    else if constexpr (std::is_integral_v<T>)
      a.range = sizeof(T) == 8 && !std::is_signed_v<T> ? 0 : uint64_t(1) << (8 * sizeof(T) - std::is_signed_v<T>);
    else a.range = (uint64_t(1) << DTypeTraits<T>::digits) + 1;
  }
  // Beyond, the remainder of 32 bits would be too uneven.
  return a.range != 0 && a.range < uint64_t{1} << 28 ? run<IntegerLaw<T, uint32_t>, T>(name, device, to, a)
                                                     : run<IntegerLaw<T, uint64_t>, T>(name, device, to, a);
}

template <class T>
uint64_t fill_real(const char* name, int device, Kind kind, void* to, const RandomArgs& a) {
  switch (kind) {
    case RandomFill::Integers: return run_integers<T>(name, device, to, a, false);
    case RandomFill::Everything: return run_integers<T>(name, device, to, a, true);
    case RandomFill::Bernoulli: return run<UnitLaw<T, RandomFill::Bernoulli>, T>(name, device, to, a);
    case RandomFill::Geometric: return run<UnitLaw<T, RandomFill::Geometric>, T>(name, device, to, a);
    default: break;
  }
  if constexpr (!std::is_integral_v<T>) {
    switch (kind) {
      case RandomFill::Uniform: return run<UniformLaw<T>, T>(name, device, to, a);
      case RandomFill::Normal:
      case RandomFill::NormalPairs: return run<NormalLaw<T, false>, T>(name, device, to, a);
      case RandomFill::LogNormal: return run<NormalLaw<T, true>, T>(name, device, to, a);
      case RandomFill::Exponential: return run<UnitLaw<T, RandomFill::Exponential>, T>(name, device, to, a);
      case RandomFill::Cauchy: return run<UnitLaw<T, RandomFill::Cauchy>, T>(name, device, to, a);
      default: break;
    }
  }
  STRIDED_THROW(NotImplementedError, name, ": not implemented for ", dtype_of<T>, " on device 'cuda'");
}

// ---- laws with a parameter for each element
__global__ void __launch_bounds__(kThreads)
    bernoulli_kernel(uint8_t* to, const char* p, uint8_t p_dtype, int64_t p_size, Reporter reporter,
                     const STRIDED_GRID_CONSTANT RandomArgs a) {
  const uint64_t block = static_cast<uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const Draws<uint64_t> draws(a, block);
  for (int j = 0; j < 2; ++j) {
    const int64_t i = static_cast<int64_t>(block) * 2 + j;
    if (i >= a.n) return;
    const double probability = load_as<double>(p + i * p_size, p_dtype);
    if (!(probability >= 0 && probability <= 1)) reporter.tell(Fault::Probability, 0, i, 0);
    to[i] = unit53(draws.draw[j]) < probability;
  }
}

// Draws one after the other, of a subsequence of its own.
struct Sequence {
  Philox philox;
  uint64_t subsequence, at;
  uint64_t waiting = 0;
  bool has_waiting = false;
  __device__ double unit() {
    if (has_waiting) {
      has_waiting = false;
      return unit53(waiting);
    }
    const auto words = philox(subsequence, at++);
    waiting = pair_of(words.word[2], words.word[3]);
    has_waiting = true;
    return unit53(pair_of(words.word[0], words.word[1]));
  }
};
// As on the CPU (csrc/cpu/random/random.cpp): rejection by W. Hormann (1993) for rates from 10 on, products below.
__device__ inline int64_t poisson(double rate, Sequence& s) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double limit = exp(-rate);
    double product = 1;
    for (int64_t count = 0;; ++count) {
      product *= s.unit();
      if (product <= limit) return count;
    }
  }
  const double root = sqrt(rate), log_rate = log(rate);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = s.unit() - 0.5, v = s.unit(), us = 0.5 - fabs(u);
    const int64_t k = convert<int64_t>(floor((2 * a / us + b) * u + rate + 0.43));
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double count = static_cast<double>(k);
    if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= -rate + count * log_rate - lgamma(count + 1)) return k;
  }
}
template <class T>
__global__ void __launch_bounds__(kThreads)
    poisson_kernel(T* to, const T* rate, Reporter reporter, const STRIDED_GRID_CONSTANT RandomArgs a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= a.n) return;
  const double r = static_cast<double>(static_cast<compute_t<T>>(rate[i]));
  if (!(r >= 0) || r > 1e18) {  // (and nothing that never ends)
    if (!(r >= 0)) reporter.tell(Fault::Rate, 0, i, 0);
    to[i] = rate[i];
    return;
  }
  Sequence s{a.philox(), static_cast<uint64_t>(i) + 1, a.first_block()};
  to[i] = convert<T>(poisson(r, s));
}

__global__ void __launch_bounds__(kThreads)
    permutation_keys_kernel(uint64_t* keys, int bits, const STRIDED_GRID_CONSTANT RandomArgs a) {
  const uint64_t block = static_cast<uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const Draws<uint64_t> draws(a, block);
  for (int j = 0; j < 2; ++j) {
    const int64_t i = static_cast<int64_t>(block) * 2 + j;
    if (i >= a.n) return;
    keys[i] = draws.draw[j] >> (64 - bits);
  }
}

// ---- choosing with weights: a block sums up a row, then each sample is looked up
template <class T>
__global__ void __launch_bounds__(kThreads)
    cumulate_kernel(const T* weights, double* sums, int64_t categories, int* fault) {
  const T* row = weights + blockIdx.x * categories;
  double* out = sums + blockIdx.x * categories;
  double carry = 0;
  int bad = 0;
  for (int64_t begin = 0; begin < categories; begin += kThreads) {
    const int64_t i = begin + threadIdx.x;
    const double w = i < categories ? static_cast<double>(static_cast<compute_t<T>>(row[i])) : 0;
    if (!(w >= 0)) bad |= 1;
    else if (math::isinf(w)) bad |= 2;
    double all;
    const double before = sum_before<double>(w, &all);
    if (i < categories) out[i] = carry + before + w;
    carry += all;
  }
  if (!(carry > 0)) bad |= 4;
  if (bad) atomicOr(fault, bad);
}
__global__ void __launch_bounds__(kThreads) choose_kernel(int64_t* to, const double* sums, int64_t categories,
                                                          int64_t samples, const STRIDED_GRID_CONSTANT RandomArgs a) {
  const uint64_t block = static_cast<uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const Draws<uint64_t> draws(a, block);
  for (int j = 0; j < 2; ++j) {
    const int64_t i = static_cast<int64_t>(block) * 2 + j;
    if (i >= a.n) return;
    const double* row = sums + i / samples * categories;
    const double u = unit53(draws.draw[j]) * row[categories - 1];
    // The first category whose sum is above u: one of no weight is never chosen.
    int64_t low = 0, high = categories - 1;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (row[middle] > u) high = middle;
      else low = middle + 1;
    }
    to[i] = low;
  }
}

RandomArgs args_of(const OpContext& on, const RandomSource& source, int64_t n) {
  RandomArgs a;
  a.seed = source.seed;
  a.offset = source.offset;
  a.n = n;
  if (const RandomWords captured = captured_random(on.device); captured.words) {
    if (source.seed != captured.seed || source.offset < captured.first)
      refuse_capture(on.device, concat(on.name, " with a generator other than the default one").c_str());
    a.captured = captured.words;
    a.offset -= captured.first;
  }
  return a;
}
dim3 grid_for(int64_t threads) { return dim3(static_cast<unsigned>((threads + kThreads - 1) / kThreads)); }

// n contiguous elements as another dtype.
void cast_vector(const char* name, int device, void* to, DType to_dtype, char* from, DType from_dtype, int64_t n) {
  const int64_t to_stride = size_of(to_dtype), from_stride = size_of(from_dtype);
  LoopPlan cast;
  cast.name = name;
  cast.device = device;
  cast.ndim = 1;
  cast.shape = &n;
  cast.n_operands = 2;
  cast.operand[0] = {static_cast<char*>(to), &to_stride, to_dtype, false};
  cast.operand[1] = {from, &from_stride, from_dtype, false};
  run_copy(cast);
}

}  // namespace

void random_fill(const OpContext& on, const RandomFill& what, DType dtype, void* to, int64_t n, RandomSource& source) {
  source.used = 0;
  if (n == 0) return;
  const OnDevice guard(on.device);
  source.used = dispatch_loops(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    RandomArgs a = args_of(on, source, is_complex_v<T> ? 2 * n : n);  // a complex number is two real ones
    a.a = what.a;
    a.b = what.b;
    a.base = what.base;
    a.range = what.range;
    return fill_real<real_t<T>>(on.name, on.device, what.kind, to, a);
  });
}

void random_bernoulli(const OpContext& on, DType dtype, void* to, DType p_dtype, const void* p, int64_t n,
                      RandomSource& source) {
  source.used = 0;
  if (n == 0) return;
  const OnDevice guard(on.device);
  const Workspace bits(static_cast<size_t>(n), on.device);
  const int64_t blocks = (n + 1) / 2;
  launch(bernoulli_kernel, grid_for(blocks), dim3(kThreads), 0, current_stream(on.device), bits.as<uint8_t>(),
         static_cast<const char*>(p), static_cast<uint8_t>(p_dtype), size_of(p_dtype), reporter(on.device, on.name, 0),
         args_of(on, source, n));
  check_launch(on.name);
  cast_vector(on.name, on.device, to, dtype, bits.data(), DType::UInt8, n);
  source.used = static_cast<uint64_t>(blocks);
}

void random_poisson(const OpContext& on, DType dtype, void* to, const void* rate, int64_t n, RandomSource& source) {
  source.used = 0;
  if (n == 0) return;
  const OnDevice guard(on.device);
  bool done = false;
  for_each(DTypesOf<kinds::Float>{}, [&](auto tag, int) {
    using T = typename decltype(tag)::type;
    if (dtype_of<T> != dtype) return;
    launch(poisson_kernel<T>, grid_for(n), dim3(kThreads), 0, current_stream(on.device), static_cast<T*>(to),
           static_cast<const T*>(rate), reporter(on.device, on.name, 0), args_of(on, source, n));
    done = true;
  });
  STRIDED_CHECK(done, NotImplementedError, on.name, ": not implemented for ", dtype, " on device 'cuda'");
  check_launch(on.name);
  source.used = uint64_t(1) << 20;  // more than any element draws
}

void random_permutation(const OpContext& on, DType dtype, void* to, int64_t n, RandomSource& source) {
  source.used = 0;
  if (n == 0) return;
  STRIDED_CHECK(n < kMaxItems, NotImplementedError, on.name, ": ", n, " elements on device 'cuda'");
  const OnDevice guard(on.device);
  // Random keys, sorted. Equal ones would keep their order, so there are enough bits that this hardly ever happens.
  int bits = 20;
  while (bits < 64 && (uint64_t(1) << ((bits - 20) / 2)) < static_cast<uint64_t>(n)) ++bits;
  const Workspace keys(static_cast<size_t>(n) * sizeof(uint64_t), on.device),
      order(static_cast<size_t>(n) * sizeof(int64_t), on.device);
  const int64_t blocks = (n + 1) / 2;
  launch(permutation_keys_kernel, grid_for(blocks), dim3(kThreads), 0, current_stream(on.device), keys.as<uint64_t>(),
         bits, args_of(on, source, n));
  check_launch(on.name);
  RowSort sort;
  sort.name = on.name;
  sort.device = on.device;
  sort.in = keys.data();
  sort.n = sort.keep = n;
  sort.index = order.as<int64_t>();
  sort.bits = bits;
  sort_rows(sort);
  cast_vector(on.name, on.device, to, dtype, order.data(), DType::Int64, n);
  source.used = static_cast<uint64_t>(blocks);
}

void random_choice(const OpContext& on, DType dtype, int64_t* to, const void* weights, int64_t rows, int64_t categories,
                   int64_t samples, RandomSource& source, WeightsFailure* failure) {
  source.used = 0;
  *failure = WeightsFailure::None;
  if (rows == 0 || categories == 0) return;
  const OnDevice guard(on.device);
  const cudaStream_t stream = current_stream(on.device);
  const Workspace sums(static_cast<size_t>(rows * categories) * sizeof(double), on.device),
      faults(sizeof(int), on.device);
  check(cudaMemsetAsync(faults.data(), 0, sizeof(int), stream), on.name);
  bool done = false;
  for_each(DTypesOf<kinds::Float>{}, [&](auto tag, int) {
    using T = typename decltype(tag)::type;
    if (dtype_of<T> != dtype) return;
    launch(cumulate_kernel<T>, dim3(static_cast<unsigned>(rows)), dim3(kThreads), 0, stream,
           static_cast<const T*>(weights), sums.as<double>(), categories, faults.as<int>());
    done = true;
  });
  STRIDED_CHECK(done, NotImplementedError, on.name, ": not implemented for ", dtype, " on device 'cuda'");
  check_launch(on.name);
  int bad = 0;
  check(cudaMemcpyAsync(&bad, faults.data(), sizeof(int), cudaMemcpyDeviceToHost, stream), on.name);
  synchronize_stream(on.device, stream);
  *failure = bad & 1   ? WeightsFailure::Negative
             : bad & 2 ? WeightsFailure::NotFinite
             : bad & 4 ? WeightsFailure::ZeroSum
                       : WeightsFailure::None;
  if (bad || samples == 0) return;
  const int64_t n = rows * samples, blocks = (n + 1) / 2;
  launch(choose_kernel, grid_for(blocks), dim3(kThreads), 0, stream, to, sums.as<const double>(), categories, samples,
         args_of(on, source, n));
  check_launch(on.name);
  source.used = static_cast<uint64_t>(blocks);
}

}  // namespace cuda
}  // namespace strided
