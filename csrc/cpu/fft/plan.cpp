#include "cpu/fft/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <list>
#include <map>
#include <mutex>
#include <tuple>
#include <type_traits>

#include "cpu/kernels.h"

namespace strided {
namespace fft {
namespace {

constexpr long double kPi = 3.14159265358979323846264338327950288L;

// Tables of float32 numbers are computed in double, those of float64 numbers in long double.
template <class R>
constexpr bool kWide = std::is_same<R, long double>::value;

template <class R>
struct Root {
  R re, im;
};
template <class R>
Root<R> operator*(Root<R> a, Root<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// e^(-2 pi i k / n) for 0 <= k < n. Sines and cosines cost more than the transforms that use them, so only those of
// about sqrt(2 n) angles are computed; an angle of at most pi / 4 is the sum of two of them.
template <class R>
class Roots {
 public:
  explicit Roots(int64_t n) : n_(n) {
    while (int64_t{1} << 2 * bits_ < n / 2 + 1) ++bits_;
    for (int64_t k = 0; k < int64_t{1} << bits_; ++k) fine_.push_back(turn(k));
    for (int64_t k = 0; k <= n / 2; k += int64_t{1} << bits_) coarse_.push_back(turn(k));
  }
  Root<R> operator()(int64_t k) const {
    const int64_t octant = 8 * k / n_;
    // The angle from the nearest multiple of pi / 2, in units of 2 pi / (4 n).
    const int64_t quarter = (octant + 1) / 2, rest = 4 * k - quarter * n_, units = std::abs(rest);
    const Root<R> w =
        coarse_[static_cast<size_t>(units >> bits_)] * fine_[static_cast<size_t>(units & ((int64_t{1} << bits_) - 1))];
    const R c = w.re, s = rest < 0 ? -w.im : w.im;
    switch (quarter % 4) {
      case 0: return {c, -s};
      case 1: return {-s, -c};
      case 2: return {-c, s};
      default: return {s, c};
    }
  }

 private:
  Root<R> turn(int64_t units) const {
    const R angle = static_cast<R>(kPi / 2) * static_cast<R>(units) / static_cast<R>(n_);
    return {std::cos(angle), std::sin(angle)};
  }

  int64_t n_;
  int bits_ = 0;
  std::vector<Root<R>> fine_, coarse_;
};

template <class R>
void set_root(Table& table, size_t i, Root<R> w) {
  table.set(2 * i, w.re);
  table.set(2 * i + 1, w.im);
}
// e^(-pi i j^2 / n) for j < n
template <class R>
std::vector<Root<R>> chirp_roots(int64_t n) {
  const Roots<R> root(2 * n);
  std::vector<Root<R>> chirp;
  chirp.reserve(static_cast<size_t>(n));
  for (int64_t j = 0, square = 0; j < n; ++j) {  // j^2 modulo 2 n
    chirp.push_back(root(square));
    square = (square + 2 * j + 1) % (2 * n);
  }
  return chirp;
}

int lanes_of(bool wide) { return kernel_table().fft[wide].lanes; }

// ---------------------------------------------------------------- choice

// The radices of n, primes without a loop last. Powers of two are eights, and fours or a two for the rest.
std::vector<int64_t> radices_of(int64_t n) {
  std::vector<int64_t> radices;
  for (const int64_t r : {13, 11, 7, 5, 3}) {
    for (; n % r == 0; n /= r) radices.push_back(r);
  }
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  std::vector<int64_t> powers;
  if (twos == 1) powers = {2};
  for (; twos % 3 != 0 && twos > 1; twos -= 2) powers.push_back(4);
  for (; twos >= 3; twos -= 3) powers.push_back(8);
  radices.insert(radices.begin(), powers.begin(), powers.end());
  for (int64_t p = 17; p * p <= n; p += 2) {
    for (; n % p == 0; n /= p) radices.push_back(p);
  }
  if (n > 1) radices.push_back(n);
  return radices;
}

// The length of the convolution for a chirp of n: at least 2 n - 1, of small factors.
int64_t convolution_length(int64_t n, int64_t multiple) {
  int64_t best = 0;
  for (const int64_t odd : {1, 3, 5, 9, 15}) {
    int64_t m = odd * multiple;
    while (m < 2 * n - 1) m *= 2;
    if (best == 0 || m < best) best = m;
  }
  return best;
}

// Time of a pass for each element of each lane, loads and stores among it; measured, in arbitrary units.
double pass_cost(int64_t radix) {
  switch (radix) {
    case 2: return 1;
    case 3: return 1.3;
    case 4: return 1.2;
    case 5: return 1.8;
    case 7: return 2.4;
    case 8: return 1.7;
    case 11: return 4;
    case 13: return 5;
    default: return 0.42 * static_cast<double>(radix);
  }
}
double kernel_cost(int64_t n, bool wide, double beyond_second_level = 2.5) {
  double cost = 0;
  for (const int64_t r : radices_of(n)) {
    if (r <= kFftLargestOdd) {
      cost += pass_cost(r);
    } else {
      const int64_t m = convolution_length(r, 1);
      cost += (2 * kernel_cost(m, wide) + 3) * static_cast<double>(m) / static_cast<double>(r);
    }
  }
  // Two buffers of n vectors of 2 parts: beyond the first and the second level of the cache.
  const double bytes = 4.0 * static_cast<double>(n) * lanes_of(wide) * (wide ? 8 : 4);
  return cost * (bytes <= 32768 ? 1 : bytes <= 400000 ? 1.3 : bytes <= 4000000 ? beyond_second_level : 5);
}

struct Split {
  int64_t n1 = 0, n2 = 0;
  double cost = 0;  // of an element
};
// The best matrix for a row of n; n1 = 0 if there is none, for a prime.
Split best_split(int64_t n, bool wide) {
  const double lanes = lanes_of(wide), elements = static_cast<double>(n);
  Split best;
  auto consider = [&](int64_t n1) {
    const int64_t n2 = n / n1;
    const double a = static_cast<double>(n1), b = static_cast<double>(n2);
    const double around = n <= kFftCompact ? 0.8 : 1.5;  // reading, twiddles and writing
    auto groups_cost = [&](int64_t length, double count) {
      const double groups = std::ceil(count / lanes), lane_by_lane = groups * lanes > count ? 2 : 0;
      return groups * static_cast<double>(length) * (kernel_cost(length, wide) + around + lane_by_lane);
    };
    const double cost = (groups_cost(n1, b) + groups_cost(n2, a)) / elements;
    if (best.n1 == 0 || cost < best.cost) best = {n1, n2, cost};
  };
  for (int64_t d = 2; d * d <= n; ++d) {
    if (n % d != 0) continue;
    consider(d);
    consider(n / d);
  }
  return best;
}
double chirp_cost(int64_t n, bool wide) {
  const int64_t m = convolution_length(n, 64);
  return (2 * best_split(m, wide).cost + 2) * static_cast<double>(m) / static_cast<double>(n);
}

// ---------------------------------------------------------------- the spectrum of a chirp

// The transform of n elements `step` apart, in place of `out`: only for tables.
template <class R>
void slow_transform(int64_t n, const Root<R>* in, int64_t step, Root<R>* out, const std::vector<Root<R>>& roots) {
  if (n == 1) {
    *out = *in;
    return;
  }
  int64_t r = 2;
  while (n % r != 0) ++r;
  const int64_t m = n / r, all = static_cast<int64_t>(roots.size());
  for (int64_t j = 0; j < r; ++j) slow_transform(m, in + j * step, step * r, out + j * m, roots);
  if (r == 2) {
    for (int64_t k = 0; k < m; ++k) {
      const Root<R> a = out[k], t = out[m + k] * roots[static_cast<size_t>(k * (all / n))];
      out[k] = {a.re + t.re, a.im + t.im};
      out[m + k] = {a.re - t.re, a.im - t.im};
    }
    return;
  }
  std::vector<Root<R>> part(static_cast<size_t>(r));
  for (int64_t k = 0; k < m; ++k) {
    for (int64_t j = 0; j < r; ++j)
      part[static_cast<size_t>(j)] = out[j * m + k] * roots[static_cast<size_t>(j * k % n * (all / n))];
    for (int64_t q = 0; q < r; ++q) {
      Root<R> sum = part[0];
      for (int64_t j = 1; j < r; ++j) {
        const Root<R> t = part[static_cast<size_t>(j)] * roots[static_cast<size_t>(j * q % r * (all / r))];
        sum = {sum.re + t.re, sum.im + t.im};
      }
      out[q * m + k] = sum;
    }
  }
}

template <class R>
Table table_of(const std::vector<Root<R>>& roots) {
  Table table(kWide<R>, 2 * roots.size());
  for (size_t i = 0; i < roots.size(); ++i) set_root(table, i, roots[i]);
  return table;
}
template <class R>
Table spectrum_table(const std::vector<Root<R>>& chirp, int64_t length) {
  std::vector<Root<R>> b(static_cast<size_t>(length), Root<R>{0, 0}), spectrum(b.size()), roots(b.size());
  for (size_t j = 0; j < chirp.size(); ++j) b[j] = b[j == 0 ? 0 : b.size() - j] = {chirp[j].re, -chirp[j].im};
  const Roots<R> root(length);
  for (int64_t k = 0; k < length; ++k) roots[static_cast<size_t>(k)] = root(k);
  slow_transform(length, b.data(), 1, spectrum.data(), roots);
  for (Root<R>& w : spectrum) w = {w.re / static_cast<R>(length), w.im / static_cast<R>(length)};
  return table_of(spectrum);
}

// For sums of a prime number r of elements: e^(2 pi i j k / r), k and j from 1 to r / 2.
template <class R>
Table prime_table(int64_t r) {
  const int64_t h = r / 2;
  const Roots<R> root(r);
  Table roots(kWide<R>, static_cast<size_t>(2 * h * h));
  size_t i = 0;
  for (int64_t k = 1; k <= h; ++k) {
    for (int64_t j = 1; j <= h; ++j) {
      const Root<R> w = root(j * k % r);
      set_root<R>(roots, i++, {w.re, -w.im});
    }
  }
  return roots;
}
// For butterflies of an odd radix r: the real parts of e^(2 pi i j / r), then the imaginary ones.
template <class R>
Table odd_table(int64_t r) {
  const Roots<R> root(r);
  Table roots(kWide<R>, static_cast<size_t>(2 * r));
  for (int64_t j = 0; j < r; ++j) {
    const Root<R> w = root(j);
    roots.set(static_cast<size_t>(j), w.re);
    roots.set(static_cast<size_t>(r + j), -w.im);
  }
  return roots;
}
// e^(-2 pi i j k step / n) for columns j, as many side by side as a vector has lanes, and rows k; 0 beyond the columns.
template <class R>
Table matrix_table(const Roots<R>& root, int64_t n, int64_t columns, int64_t rows, int64_t step) {
  const int64_t lanes = lanes_of(kWide<R>), groups = (columns + lanes - 1) / lanes;
  Table table(kWide<R>, static_cast<size_t>(2 * lanes * rows * groups));
  size_t i = 0;
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t k = 0; k < rows; ++k, i += static_cast<size_t>(2 * lanes)) {
      for (int64_t l = 0; l < lanes; ++l) {
        const int64_t j = g * lanes + l;
        const Root<R> w = j < columns ? root(j * k * step % n) : Root<R>{0, 0};
        table.set(i + static_cast<size_t>(l), w.re);
        table.set(i + static_cast<size_t>(lanes + l), w.im);
      }
    }
  }
  return table;
}

// ---------------------------------------------------------------- making plans

template <class R>
std::shared_ptr<KernelPlan> make_kernel(int64_t n) {
  constexpr bool wide = kWide<R>;
  auto plan = std::make_shared<KernelPlan>();
  FftKernel& kernel = plan->kernel;
  kernel.n = n;
  auto keep = [&](Table table) {
    plan->tables.push_back(std::make_unique<Table>(std::move(table)));
    plan->bytes += plan->tables.back()->bytes();
    return plan->tables.back()->data();
  };
  int64_t s = 1, rest = n;
  for (const int64_t r : radices_of(n)) {
    STRIDED_CHECK(kernel.n_passes < FftKernel::kMostPasses, RuntimeError, "fft: a length of too many factors");
    FftPass& pass = kernel.pass[kernel.n_passes++];
    rest /= r;
    pass.radix = r;
    pass.s = s;
    pass.m = rest;
    Table twiddles(wide, static_cast<size_t>(2 * (rest - 1) * (r - 1)));
    size_t i = 0;
    const Roots<R> root(rest * r);
    for (int64_t p = 1; p < rest; ++p)
      for (int64_t k = 1; k < r; ++k) set_root(twiddles, i++, root(p * k % (rest * r)));
    pass.twiddles = keep(std::move(twiddles));
    if (r > kFftLargestOdd) {
      auto chirp = std::make_unique<FftChirp>();
      const int64_t length = convolution_length(r, 1);
      plan->convolutions.push_back(kernel_plan(length, wide));
      chirp->n = r;
      chirp->convolution = &plan->convolutions.back()->kernel;
      const std::vector<Root<R>> roots = chirp_roots<R>(r);
      chirp->chirp = keep(table_of(roots));
      chirp->spectrum = keep(spectrum_table(roots, length));
      pass.chirp = chirp.get();
      plan->chirps.push_back(std::move(chirp));
      kernel.work = std::max(kernel.work, 4 * length);
    } else if (r > kFftLargestRadix) {
      pass.roots = keep(prime_table<R>(r));
      kernel.work = std::max(kernel.work, 4 * (r / 2));
    } else if (r % 2 != 0) {
      pass.roots = keep(odd_table<R>(r));
    }
    s *= r;
  }
  return plan;
}

template <class R>
void make_twiddles(RowPlan& plan) {
  FftLong& f = plan.matrix;
  constexpr int64_t kMostTwiddles = 1 << 16;
  if (f.n1 * f.n2 > kMostTwiddles)
    for (f.block = 1; f.block * f.block < f.n1; f.block *= 2) {
    }
  const int64_t count = f.block ? f.block : f.n1, blocks = f.block ? (f.n1 + f.block - 1) / f.block : 0;
  const Roots<R> root(plan.n);
  auto fill = [&](Table& table, int64_t rows, int64_t step) {
    table = matrix_table(root, plan.n, f.n2, rows, step);
    plan.bytes += table.bytes();
  };
  fill(plan.twiddles, count, 1);
  f.twiddles = plan.twiddles.data();
  if (f.block == 0) return;
  fill(plan.multiples, blocks, f.block);
  f.multiples = plan.multiples.data();
}

template <class R>
std::shared_ptr<RowPlan> make_row(int64_t n) {
  constexpr bool wide = kWide<R>;
  auto plan = std::make_shared<RowPlan>();
  plan->n = n;
  const Split split = best_split(n, wide);
  if (split.n1 == 0 || chirp_cost(n, wide) < split.cost) {
    const int64_t length = convolution_length(n, 64);
    plan->convolution = row_plan(length, wide);
    const std::vector<Root<R>> roots = chirp_roots<R>(n);
    plan->chirp = table_of(roots);
    plan->spectrum = spectrum_table(roots, length);
    plan->bytes = plan->chirp.bytes() + plan->spectrum.bytes();
    return plan;
  }
  plan->columns = kernel_plan(split.n1, wide);
  plan->rows = kernel_plan(split.n2, wide);
  plan->matrix.n1 = split.n1;
  plan->matrix.n2 = split.n2;
  plan->matrix.columns = &plan->columns->kernel;
  plan->matrix.rows = &plan->rows->kernel;
  make_twiddles<R>(*plan);
  return plan;
}

template <class R>
std::shared_ptr<HalfPlan> make_half(int64_t n) {
  const Roots<R> root(n);
  auto plan = std::make_shared<HalfPlan>();
  plan->roots = Table(kWide<R>, static_cast<size_t>(2 * (n / 4 + 1)));
  for (int64_t k = 0; k <= n / 4; ++k) set_root(plan->roots, static_cast<size_t>(k), root(k));
  plan->bytes = plan->roots.bytes();
  return plan;
}

std::shared_ptr<Costs> make_costs(int64_t n, bool wide) {
  auto plan = std::make_shared<Costs>();
  const Split split = best_split(n, wide);
  const double chirp = chirp_cost(n, wide);
  // Beside each other in memory, rows one by one cost more than the loops of one row in the cache; measured, too. Lanes
  // fetch the rows that come next.
  plan->row = (split.n1 == 0 ? chirp : std::min(split.cost, chirp)) * (wide ? 2 : 1.3) + 150 / static_cast<double>(n);
  plan->lanes = (kernel_cost(n, wide, 1.6) + 2.5) / lanes_of(wide);
  plan->bytes = sizeof(Costs);
  return plan;
}

// ---------------------------------------------------------------- plans that are kept

constexpr size_t kMostBytes = size_t{64} << 20;

// The last ones used come first.
class Cache {
 public:
  template <class P, class Make>
  std::shared_ptr<const P> get(int kind, int64_t n, bool wide, Make make) {
    const Key key{kind, n, wide};
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (const auto it = places_.find(key); it != places_.end()) {
        entries_.splice(entries_.begin(), entries_, it->second);
        return std::static_pointer_cast<const P>(it->second->second);
      }
    }
    std::shared_ptr<const P> plan = make(n);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (places_.count(key)) return plan;
    entries_.emplace_front(key, plan);
    places_[key] = entries_.begin();
    bytes_ += plan->bytes;
    while (bytes_ > kMostBytes && entries_.size() > 1) {
      bytes_ -= entries_.back().second->bytes;
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return plan;
  }

 private:
  using Key = std::tuple<int, int64_t, bool>;
  using Entry = std::pair<Key, std::shared_ptr<const Plan>>;
  std::mutex mutex_;
  std::list<Entry> entries_;
  std::map<Key, std::list<Entry>::iterator> places_;
  size_t bytes_ = 0;
};
Cache& cache() {
  static auto* c = new Cache;
  return *c;
}

}  // namespace

std::shared_ptr<const KernelPlan> kernel_plan(int64_t n, bool wide) {
  return cache().get<KernelPlan>(0, n, wide, wide ? make_kernel<long double> : make_kernel<double>);
}
std::shared_ptr<const RowPlan> row_plan(int64_t n, bool wide) {
  return cache().get<RowPlan>(1, n, wide, wide ? make_row<long double> : make_row<double>);
}
std::shared_ptr<const HalfPlan> half_plan(int64_t n, bool wide) {
  return cache().get<HalfPlan>(2, n, wide, wide ? make_half<long double> : make_half<double>);
}

Costs costs(int64_t n, bool wide) {
  return *cache().get<Costs>(3, n, wide, [wide](int64_t length) { return make_costs(length, wide); });
}

}  // namespace fft
}  // namespace strided
