// The set elements of masks. A mask is cut into ranges: threads count the set elements of each, running sums say where
// the elements of each range go, and threads write them.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/operations.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kRange = int64_t(1) << 16;  // elements of a range
constexpr int64_t kGrain = 4;                 // ranges that are worth another thread

struct Nonzero {
  const char* mask;
  int64_t n;
  std::vector<int64_t> starts;  // set elements before each range; the last entry: all of them

  // Calls f(first element of the range, set elements before it, set elements in it).
  template <class F>
  void for_ranges(F&& f) const {
    parallel_for(0, static_cast<int64_t>(starts.size()) - 1, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t before = starts[static_cast<size_t>(r)];
        f(r * kRange, before, starts[static_cast<size_t>(r) + 1] - before);
      }
    });
  }
};

// The positions of the first `count` set elements of a mask, counted from `first`.
void write_positions(int64_t* to, const char* mask, int64_t count, int64_t first) {
  int64_t k = 0, i = 0;
  while (k + 8 <= count) {
    uint64_t eight;
    std::memcpy(&eight, mask + i, sizeof(eight));
    if (eight == 0) {
      i += 8;
      continue;
    }
    for (int r = 0; r < 8; ++r, ++i) {
      to[k] = first + i;
      k += mask[i] != 0;
    }
  }
  for (; k < count; ++i) {
    to[k] = first + i;
    k += mask[i] != 0;
  }
}

}  // namespace

void nonzero_begin(const OpContext&, const char* mask, int64_t n, void** handle, int64_t* count) {
  const int64_t ranges = (n + kRange - 1) / kRange;
  std::unique_ptr<Nonzero> set(new Nonzero{mask, n, std::vector<int64_t>(static_cast<size_t>(ranges) + 1, 0)});
  std::vector<int64_t>& starts = set->starts;
  const auto count_true = kernel_table().index.count_true;
  parallel_for(0, ranges, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      starts[static_cast<size_t>(r) + 1] = count_true(mask + r * kRange, std::min(kRange, n - r * kRange));
  });
  for (size_t r = 1; r < starts.size(); ++r) starts[r] += starts[r - 1];
  *count = starts.back();
  *handle = set.release();
}

void nonzero_write(const OpContext&, void* handle, char* to, const char* from, int64_t itemsize) {
  const Nonzero& set = *static_cast<const Nonzero*>(handle);
  if (!from) {
    int64_t* const positions = reinterpret_cast<int64_t*>(to);
    return set.for_ranges([&](int64_t first, int64_t before, int64_t count) {
      write_positions(positions + before, set.mask + first, count, first);
    });
  }
  const auto compress = kernel_table().index.compress[item_row(itemsize)];
  set.for_ranges([&](int64_t first, int64_t before, int64_t count) {
    compress(to + before * itemsize, from + first * itemsize, set.mask + first, count);
  });
}

void nonzero_end(const OpContext&, void* handle) { delete static_cast<Nonzero*>(handle); }

namespace {

// p / d for 0 <= p < 2^32 and 0 < d < 2^32 by a product: m is 2^64 / d rounded up, so that m d - 2^64 < d, and
// p m / 2^64 exceeds p / d by less than 1 / d.
struct Divisor {
  uint64_t d, m;
  explicit Divisor(uint64_t divisor) : d(divisor), m(~uint64_t{0} / divisor + 1) {}
  uint64_t quotient(uint64_t p) const {
    return d == 1 ? p : static_cast<uint64_t>(static_cast<unsigned __int128>(p) * m >> 64);
  }
};

}  // namespace

void unravel(const OpContext&, int64_t* to, const int64_t* position, int64_t n, int64_t inner, int64_t size) {
  if (n == 0) return;  // there may be an axis without elements
  constexpr uint64_t kSmall = uint64_t(1) << 32;
  const bool small = static_cast<uint64_t>(inner) < kSmall && static_cast<uint64_t>(size) < kSmall;
  const Divisor by_inner(small ? static_cast<uint64_t>(inner) : 1), by_size(small ? static_cast<uint64_t>(size) : 1);
  parallel_for(0, n, 32768, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = position[i];
      if (small && static_cast<uint64_t>(at) < kSmall) {
        const uint64_t outer = by_inner.quotient(static_cast<uint64_t>(at));
        to[i] = static_cast<int64_t>(outer - by_size.quotient(outer) * by_size.d);
      } else {
        const int64_t outer = at / inner - (at % inner < 0);
        const int64_t r = outer % size;
        to[i] = r < 0 ? r + size : r;
      }
    }
  });
}

}  // namespace cpu
}  // namespace strided
