#include "cpu/fft/plan.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <mutex>
#include <tuple>

#include "cpu/kernels.h"

namespace strided {
namespace fft {
namespace {

constexpr long double kPi = 3.14159265358979323846264338327950288L;

struct Root {
  long double re, im;
};
// e^(-2 pi i k / n) for 0 <= k < n, from an angle of at most pi / 4.
Root root(int64_t k, int64_t n) {
  const int64_t eight = 8 * k, octant = eight / n;
  // The angle from the nearest multiple of pi / 2, in units of 2 pi / (4 n).
  const int64_t quarter = (octant + 1) / 2, rest = 4 * k - quarter * n;
  const long double angle = kPi / 2 * static_cast<long double>(rest) / static_cast<long double>(n);
  const long double c = std::cos(angle), s = std::sin(angle);
  switch (quarter % 4) {
    case 0: return {c, -s};
    case 1: return {-s, -c};
    case 2: return {-c, s};
    default: return {s, c};
  }
}
void set_root(Table& table, size_t i, Root w) {
  table.set(2 * i, w.re);
  table.set(2 * i + 1, w.im);
}
// e^(-pi i j^2 / n)
Root chirp_root(int64_t j, int64_t n) {
  return root(static_cast<int64_t>(static_cast<unsigned __int128>(j) * static_cast<unsigned __int128>(j) %
                                   static_cast<unsigned __int128>(2 * n)),
              2 * n);
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

// The transform of n elements `step` apart, in place of `out`, in long double: only for tables.
void slow_transform(int64_t n, const Root* in, int64_t step, Root* out, const std::vector<Root>& roots) {
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
      const Root w = roots[static_cast<size_t>(k * (all / n))], a = out[k], b = out[m + k];
      const Root t{b.re * w.re - b.im * w.im, b.re * w.im + b.im * w.re};
      out[k] = {a.re + t.re, a.im + t.im};
      out[m + k] = {a.re - t.re, a.im - t.im};
    }
    return;
  }
  std::vector<Root> part(static_cast<size_t>(r));
  for (int64_t k = 0; k < m; ++k) {
    for (int64_t j = 0; j < r; ++j) {
      const Root w = roots[static_cast<size_t>(j * k % n * (all / n))], x = out[j * m + k];
      part[static_cast<size_t>(j)] = {x.re * w.re - x.im * w.im, x.re * w.im + x.im * w.re};
    }
    for (int64_t q = 0; q < r; ++q) {
      Root sum = part[0];
      for (int64_t j = 1; j < r; ++j) {
        const Root w = roots[static_cast<size_t>(j * q % r * (all / r))], x = part[static_cast<size_t>(j)];
        sum.re += x.re * w.re - x.im * w.im;
        sum.im += x.re * w.im + x.im * w.re;
      }
      out[q * m + k] = sum;
    }
  }
}

Table chirp_table(int64_t n, bool wide) {
  Table table(wide, static_cast<size_t>(2 * n));
  for (int64_t j = 0; j < n; ++j) set_root(table, static_cast<size_t>(j), chirp_root(j, n));
  return table;
}
Table spectrum_table(int64_t n, int64_t length, bool wide) {
  std::vector<Root> b(static_cast<size_t>(length), Root{0, 0}), spectrum(b.size()), roots(b.size());
  for (int64_t j = 0; j < n; ++j) {
    const Root w = chirp_root(j, n);
    b[static_cast<size_t>(j)] = b[static_cast<size_t>(j == 0 ? 0 : length - j)] = {w.re, -w.im};
  }
  for (int64_t k = 0; k < length; ++k) roots[static_cast<size_t>(k)] = root(k, length);
  slow_transform(length, b.data(), 1, spectrum.data(), roots);
  Table table(wide, static_cast<size_t>(2 * length));
  for (size_t k = 0; k < b.size(); ++k) {
    const auto m = static_cast<long double>(length);
    set_root(table, k, {spectrum[k].re / m, spectrum[k].im / m});
  }
  return table;
}

// For sums of a prime number r of elements: e^(2 pi i j k / r), k and j from 1 to r / 2.
Table prime_table(int64_t r, bool wide) {
  const int64_t h = r / 2;
  Table roots(wide, static_cast<size_t>(2 * h * h));
  size_t i = 0;
  for (int64_t k = 1; k <= h; ++k) {
    for (int64_t j = 1; j <= h; ++j) {
      const Root w = root(j * k % r, r);
      set_root(roots, i++, {w.re, -w.im});
    }
  }
  return roots;
}
// For butterflies of an odd radix r: the real parts of e^(2 pi i j / r), then the imaginary ones.
Table odd_table(int64_t r, bool wide) {
  Table roots(wide, static_cast<size_t>(2 * r));
  for (int64_t j = 0; j < r; ++j) {
    const Root w = root(j, r);
    roots.set(static_cast<size_t>(j), w.re);
    roots.set(static_cast<size_t>(r + j), -w.im);
  }
  return roots;
}
// e^(-2 pi i j k step / n) for columns j, as many side by side as a vector has lanes, and rows k; 0 beyond the columns.
Table matrix_table(int64_t n, int64_t columns, int64_t rows, int64_t step, bool wide) {
  const int64_t lanes = lanes_of(wide), groups = (columns + lanes - 1) / lanes;
  Table table(wide, static_cast<size_t>(2 * lanes * rows * groups));
  size_t i = 0;
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t k = 0; k < rows; ++k, i += static_cast<size_t>(2 * lanes)) {
      for (int64_t l = 0; l < lanes; ++l) {
        const int64_t j = g * lanes + l;
        const Root w = j < columns ? root(j * k * step % n, n) : Root{0, 0};
        table.set(i + static_cast<size_t>(l), w.re);
        table.set(i + static_cast<size_t>(lanes + l), w.im);
      }
    }
  }
  return table;
}

// ---------------------------------------------------------------- making plans

std::shared_ptr<KernelPlan> make_kernel(int64_t n, bool wide) {
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
    for (int64_t p = 1; p < rest; ++p)
      for (int64_t k = 1; k < r; ++k) set_root(twiddles, i++, root(p * k % (rest * r), rest * r));
    pass.twiddles = keep(std::move(twiddles));
    if (r > kFftLargestOdd) {
      auto chirp = std::make_unique<FftChirp>();
      const int64_t length = convolution_length(r, 1);
      plan->convolutions.push_back(kernel_plan(length, wide));
      chirp->n = r;
      chirp->convolution = &plan->convolutions.back()->kernel;
      chirp->chirp = keep(chirp_table(r, wide));
      chirp->spectrum = keep(spectrum_table(r, length, wide));
      pass.chirp = chirp.get();
      plan->chirps.push_back(std::move(chirp));
      kernel.work = std::max(kernel.work, 4 * length);
    } else if (r > kFftLargestRadix) {
      pass.roots = keep(prime_table(r, wide));
      kernel.work = std::max(kernel.work, 4 * (r / 2));
    } else if (r % 2 != 0) {
      pass.roots = keep(odd_table(r, wide));
    }
    s *= r;
  }
  return plan;
}

void make_twiddles(RowPlan& plan, bool wide) {
  FftLong& f = plan.matrix;
  constexpr int64_t kMostTwiddles = 1 << 16;
  if (f.n1 * f.n2 > kMostTwiddles)
    for (f.block = 1; f.block * f.block < f.n1; f.block *= 2) {
    }
  const int64_t count = f.block ? f.block : f.n1, blocks = f.block ? (f.n1 + f.block - 1) / f.block : 0;
  auto fill = [&](Table& table, int64_t rows, int64_t step) {
    table = matrix_table(plan.n, f.n2, rows, step, wide);
    plan.bytes += table.bytes();
  };
  fill(plan.twiddles, count, 1);
  f.twiddles = plan.twiddles.data();
  if (f.block == 0) return;
  fill(plan.multiples, blocks, f.block);
  f.multiples = plan.multiples.data();
}

std::shared_ptr<RowPlan> make_row(int64_t n, bool wide) {
  auto plan = std::make_shared<RowPlan>();
  plan->n = n;
  const Split split = best_split(n, wide);
  if (split.n1 == 0 || chirp_cost(n, wide) < split.cost) {
    const int64_t length = convolution_length(n, 64);
    plan->convolution = row_plan(length, wide);
    plan->chirp = chirp_table(n, wide);
    plan->spectrum = spectrum_table(n, length, wide);
    plan->bytes = plan->chirp.bytes() + plan->spectrum.bytes();
    return plan;
  }
  plan->columns = kernel_plan(split.n1, wide);
  plan->rows = kernel_plan(split.n2, wide);
  plan->matrix.n1 = split.n1;
  plan->matrix.n2 = split.n2;
  plan->matrix.columns = &plan->columns->kernel;
  plan->matrix.rows = &plan->rows->kernel;
  make_twiddles(*plan, wide);
  return plan;
}

std::shared_ptr<HalfPlan> make_half(int64_t n, bool wide) {
  auto plan = std::make_shared<HalfPlan>();
  plan->roots = Table(wide, static_cast<size_t>(2 * (n / 4 + 1)));
  for (int64_t k = 0; k <= n / 4; ++k) set_root(plan->roots, static_cast<size_t>(k), root(k, n));
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
    std::shared_ptr<const P> plan = make(n, wide);
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
  return cache().get<KernelPlan>(0, n, wide, make_kernel);
}
std::shared_ptr<const RowPlan> row_plan(int64_t n, bool wide) { return cache().get<RowPlan>(1, n, wide, make_row); }
std::shared_ptr<const HalfPlan> half_plan(int64_t n, bool wide) { return cache().get<HalfPlan>(2, n, wide, make_half); }

Costs costs(int64_t n, bool wide) { return *cache().get<Costs>(3, n, wide, make_costs); }

}  // namespace fft
}  // namespace strided
