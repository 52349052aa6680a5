// Sorting, selection and search, by keys (Note [Keys] in backend/sort_keys.h).
#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/sort_keys.h"
#include "base/parallel.h"
#include "cpu/operations.h"
#include "cpu/sort/select.h"
#include "cpu/sort/short_rows.h"
#include "cpu/sort/sorted_rows.h"

namespace strided {
namespace cpu {
namespace {

template <class T>
constexpr bool is_float_v = is_floating(dtype_of<T>);

template <class T>
struct Keys {
  using K = key_t<T>;
  static constexpr KeyCode<K> code = key_code<K>(dtype_of<T>);
  static constexpr K nan = KeyCode<K>::nan;

  static K encode(const char* row, int64_t i) { return code.encode(reinterpret_cast<const K*>(row)[i]); }
};

// A key with its position. Narrow: in one word.
struct Narrow {
  uint64_t word;
  static Narrow make(uint64_t key, int64_t i) { return {key << 32 | static_cast<uint64_t>(i)}; }
  uint64_t key() const { return word >> 32; }
  int64_t index() const { return static_cast<int64_t>(word & 0xffffffffu); }
  friend bool operator<(Narrow a, Narrow b) { return a.word < b.word; }
};
struct Wide {
  uint64_t k;
  int64_t i;
  static Wide make(uint64_t key, int64_t i) { return {key, i}; }
  uint64_t key() const { return k; }
  int64_t index() const { return i; }
  friend bool operator<(const Wide& a, const Wide& b) { return a.k < b.k || (a.k == b.k && a.i < b.i); }
};
constexpr int64_t kGroupItems = 4096;                   // elements of rows that are sorted together
constexpr int64_t kFewFailures = 2, kFailureRows = 64;  // attempts at short rows that fail: worth it if so rare
constexpr int64_t kShortAlone = 16;                     // elements of a row alone that takes longer as a short row
constexpr int64_t kMostLanes = 16;                      // rows that are sorted side by side
constexpr int64_t kLongWork = 8192;  // elements that take long enough to let other threads of the interpreter run

template <class T>
uint64_t flip_mask(bool descending) {
  return descending ? static_cast<uint64_t>(static_cast<key_t<T>>(~key_t<T>(0))) : 0;
}

// Narrow words hold positions of 32 bits.
template <class T>
constexpr bool fits_word = sizeof(T) <= 4;
bool short_enough(int64_t n) { return n <= 0xffffffff; }

// Row r of a result with `length` elements in each row; null when the result is not wanted.
template <class P>
P* row_of(P* result, int64_t r, int64_t length) {
  return result ? result + r * length : nullptr;
}

void sort_rows(const SortPlan& plan, bool descending) {
  const int64_t n = plan.n, bytes = n * size_of(plan.dtype);
  // Some rows at a time, so that all of their words stay in the cache.
  const int64_t group = std::max<int64_t>(1, kGroupItems / std::max<int64_t>(n, 1));
  const GilRelease unlocked(n * plan.rows > kLongWork);
  auto sort = [&](int64_t r, int64_t rows) {
    if (group == 1 && sort_long_row(plan.dtype, row_of(plan.values, r, bytes), row_of(plan.index, r, n),
                                    plan.in + r * bytes, n, descending))
      return;
    const SortedRows sorted(plan.dtype, plan.in + r * bytes, n, rows, descending);
    sorted.write(row_of(plan.values, r, bytes), row_of(plan.index, r, n), n);
  };
  const bool is_short = n <= kShortRow && n > (plan.rows == 1 ? kShortAlone : 1);
  if (plan.rows == 1 && !is_short) return sort(0, 1);  // by several threads
  const auto sort_groups = [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r += group) sort(r, std::min(group, end - r));
  };
  const auto sort_short = [&](int64_t begin, int64_t end) {
    const Words<int64_t> memory(short_row_bytes(n) / 8 + 8);
    char* scratch = reinterpret_cast<char*>(memory.data);
    scratch += -reinterpret_cast<uintptr_t>(scratch) % 64;
    int64_t failures = 0, tried = begin;
    for (int64_t again = 0;; sort(begin, again), begin += again) {
      begin += sort_short_rows(plan.dtype, row_of(plan.values, begin, bytes), row_of(plan.index, begin, n),
                               plan.in + begin * bytes, n, end - begin, descending, scratch, &again);
      if (begin == end) return;
      // Keys that differ in their last bits only: the next ones will too.
      if (++failures > kFewFailures && failures * kFailureRows > begin - tried) return sort_groups(begin, end);
    }
  };
  const int64_t together = n <= kShortRow ? kMostLanes : 1;
  parallel_for(0, plan.rows, std::max({group, together, kGroupItems * 2 / std::max<int64_t>(n, 1)}),
               [&](int64_t begin, int64_t end) {
                 if (is_short) sort_short(begin, end);
                 else sort_groups(begin, end);
               });
}

// ---------------------------------------------------------------- the first k

int64_t top_capacity(int64_t k) { return 2 * k + 64; }

constexpr int64_t kTopBlock = 4096;  // elements that are looked at for keys below the limit

// Brings the k smallest elements to the front, in no order. Long rows are thinned by what is known to be too large. A
// later element with the limit's key is: equals are in the order of their positions.
template <class T, class E>
void select_front(E* a, int64_t n, int64_t k, const char* in, bool largest) {
  const uint64_t flip = flip_mask<T>(largest);
  const auto fill = [&](int64_t filled, int64_t i) { a[filled] = E::make(Keys<T>::encode(in, i) ^ flip, i); };
  const int64_t capacity = top_capacity(k), first = n <= 2 * capacity ? n : capacity;
  for (int64_t i = 0; i < first; ++i) fill(i, i);
  if (k < first) std::nth_element(a, a + k, a + first);
  if (first == n) return;
  const auto limit_of_front = [&] { return std::max_element(a, a + k)->key(); };
  const auto places_below = kernel_table().sort.select.places_below[kernel_row(dtype_of<T>)];
  const SortCoding coding = coding_of(dtype_of<T>, largest);
  uint64_t limit = limit_of_front();
  int64_t filled = k;
  uint32_t places[kTopBlock];
  for (int64_t begin = first; begin < n; begin += kTopBlock) {
    const char* const from = in + begin * static_cast<int64_t>(sizeof(T));
    const int64_t m = places_below(from, std::min(kTopBlock, n - begin), coding, limit, places);
    for (int64_t j = 0; j < m; ++j) fill(filled++, begin + places[j]);
    if (filled < capacity) continue;
    std::nth_element(a, a + k, a + filled);
    limit = limit_of_front();
    filled = k;
  }
  if (k < filled) std::nth_element(a, a + k, a + filled);
}

template <class T, class E>
void top_row(char* values, int64_t* index, const char* in, int64_t n, int64_t k, bool largest) {
  if (k == 0) return;
  const Words<E> words(n <= 2 * top_capacity(k) ? n : top_capacity(k) + kTopBlock);
  select_front<T>(words.data, n, k, in, largest);
  std::sort(words.data, words.data + k);
  using K = key_t<T>;
  for (int64_t i = 0; i < k; ++i) {
    const int64_t at = words.data[i].index();
    if (values) reinterpret_cast<K*>(values)[i] = reinterpret_cast<const K*>(in)[at];
    if (index) index[i] = at;
  }
}

// ---------------------------------------------------------------- the k-th

// Position of the element that is chosen, the first one among equals.
int64_t choose_of_row(DType dtype, const char* in, int64_t n, OrderStatistic what, int64_t k, int64_t* scratch) {
  const int row = kernel_row(dtype);
  const SortCoding coding = coding_of(dtype, false);
  const auto find = kernel_table().sort.select.find_key[row];
  if (what != OrderStatistic::Kth) {
    int64_t nans = 0;
    if (is_floating(dtype)) {
      constexpr uint64_t nan = KeyCode<uint64_t>::nan;  // its lower bits: the key of smaller elements
      if (what == OrderStatistic::Median) {
        const int64_t at = find(in, n, coding, nan);
        if (at < n) return at;
      } else {
        nans = kernel_table().sort.select.count_key[row](in, n, coding, nan);
        if (nans == n) return 0;
      }
    }
    k = (n - nans - 1) / 2;
  }
  return find(in, n, coding, kernel_table().sort.select.kth_key[row](in, n, k, coding, scratch));
}

// Calls f(first row, number of rows, their sorted values, the positions of these) for rows that are sorted some at a
// time. Null: values or positions that the plan does not want.
template <class F>
void for_sorted_groups(const SortPlan& plan, bool descending, F&& f) {
  const int64_t n = plan.n, item = size_of(plan.dtype), group = std::max<int64_t>(1, kGroupItems / n);
  const GilRelease unlocked(n * plan.rows > kLongWork);
  parallel_for(0, plan.rows, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
    const int64_t most = std::min(group, end - begin) * n;
    const Words<int64_t> index(plan.index ? most : 0), values(plan.values ? (most * item + 7) / 8 : 0);
    for (int64_t r = begin; r < end; r += group) {
      SortPlan part = plan;
      part.rows = std::min(group, end - r);
      part.in = plan.in + r * n * item;
      part.values = plan.values ? reinterpret_cast<char*>(values.data) : nullptr;
      part.index = plan.index ? index.data : nullptr;
      sort_rows(part, descending);
      f(r, part.rows, part.values, part.index);
    }
  });
}

// The place of the element that is chosen among the sorted ones of a row: the first of equal ones; for the mode, the
// last of the most frequent ones, which are the smallest of equally frequent ones.
template <class T>
int64_t place_among_sorted(const char* values, int64_t n, OrderStatistic what, int64_t k) {
  const auto key = [values](int64_t i) { return Keys<T>::encode(values, i); };
  if (what == OrderStatistic::Mode) {
    int64_t most = 0, place = 0;
    for (int64_t i = 0; i < n;) {
      int64_t j = i + 1;
      while (j < n && key(j) == key(i)) ++j;
      if (j - i > most) most = j - i, place = j - 1;
      i = j;
    }
    return place;
  }
  int64_t nans = 0;
  if (is_float_v<T> && what != OrderStatistic::Kth)
    while (nans < n && key(n - 1 - nans) == Keys<T>::nan) ++nans;
  if (what == OrderStatistic::Median) k = nans > 0 ? n - 1 : (n - 1) / 2;
  else if (what == OrderStatistic::NanMedian) k = nans == n ? 0 : (n - nans - 1) / 2;
  while (k > 0 && key(k - 1) == key(k)) --k;
  return k;
}

// Rows so short that sorting many of them side by side takes less time than a selection in each.
constexpr int64_t kSelectedWhole = 96;

template <class T>
void select_rows(const SortPlan& plan, OrderStatistic what, int64_t k) {
  const int64_t n = plan.n, item = size_of(plan.dtype);
  const auto write = [&](int64_t r, int64_t at) {
    std::memcpy(plan.values + r * item, plan.in + (r * n + at) * item, static_cast<size_t>(item));
    plan.index[r] = at;
  };
  if (what == OrderStatistic::Mode || (plan.rows > 1 && n <= kSelectedWhole))
    return for_sorted_groups(plan, false, [&](int64_t first, int64_t rows, const char* values, const int64_t* index) {
      for (int64_t i = 0; i < rows; ++i)
        write(first + i, index[i * n + place_among_sorted<T>(values + i * n * item, n, what, k)]);
    });
  const GilRelease unlocked(n * plan.rows > kLongWork);
  parallel_for(0, plan.rows, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
    const Words<int64_t> scratch(select_words(n));
    for (int64_t r = begin; r < end; ++r)
      write(r, choose_of_row(plan.dtype, plan.in + r * n * item, n, what, k, scratch.data));
  });
}

// Rows so short that all of them are sorted at once, side by side, sooner than the first k of each are found.
constexpr int64_t kSortedWhole = 128;

void top_short_rows(const SortPlan& plan, int64_t k, bool largest) {
  const int64_t n = plan.n, item = size_of(plan.dtype);
  for_sorted_groups(plan, largest, [&](int64_t first, int64_t rows, const char* values, const int64_t* index) {
    for (int64_t i = 0; i < rows; ++i) {
      if (values)
        std::memcpy(plan.values + (first + i) * k * item, values + i * n * item, static_cast<size_t>(k * item));
      if (index) std::copy(index + i * n, index + i * n + k, plan.index + (first + i) * k);
    }
  });
}

template <class T>
void top_rows(const SortPlan& plan, int64_t k, bool largest) {
  const int64_t n = plan.n, item = sizeof(T);
  if (plan.rows > 1 && n >= 2 && n <= kSortedWhole && k > 0) return top_short_rows(plan, k, largest);
  const GilRelease unlocked(n * plan.rows > kLongWork);
  parallel_for(0, plan.rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const char* row = plan.in + r * n * item;
      char* const values = row_of(plan.values, r, k * item);
      int64_t* const index = row_of(plan.index, r, k);
      if (k > n / 8) SortedRows(plan.dtype, plan.in + r * n * item, n, 1, largest).write(values, index, k);
      else if (fits_word<T> && short_enough(n)) top_row<T, Narrow>(values, index, row, n, k, largest);
      else top_row<T, Wide>(values, index, row, n, k, largest);
    }
  });
}

// ---------------------------------------------------------------- groups of equal elements

// NaN equals nothing, as everywhere; zeros are one.
template <class T>
bool same(const char* in, int64_t i, int64_t j) {
  const auto a = Keys<T>::encode(in, i), b = Keys<T>::encode(in, j);
  if constexpr (is_float_v<T>) return a == b && a != Keys<T>::nan;
  else return a == b;
}

template <class T>
int64_t group_slices(const UniquePlan& plan) {
  const char* const in = plan.in;
  const int64_t n = plan.n, m = plan.m;
  int64_t* const order = plan.order;
  const GilRelease unlocked(n * m > kLongWork);
  if (order && m == 1) {
    SortedRows(plan.dtype, in, n, 1, false).write(nullptr, order, n);
  } else if (order) {
    for (int64_t i = 0; i < n; ++i) order[i] = i;
    std::sort(order, order + n, [&](int64_t a, int64_t b) {
      for (int64_t c = 0; c < m; ++c) {
        const auto x = Keys<T>::encode(in, a * m + c), y = Keys<T>::encode(in, b * m + c);
        if (x != y) return x < y;
      }
      return a < b;
    });
  }
  int64_t groups = 0;
  if (m == 1) {  // without branches, which no processor foresees
    for (int64_t i = 0; i < n; ++i) {
      const int64_t a = i > 0 ? i - 1 : 0;
      const bool equal = same<T>(in, order ? order[a] : a, order ? order[i] : i);
      plan.starts[groups] = i;
      groups += (i == 0) | !equal;
      plan.group[i] = groups - 1;
    }
    return groups;
  }
  for (int64_t i = 0; i < n; ++i) {
    bool equal = i > 0;
    const int64_t a = order && equal ? order[i - 1] : i - 1, b = order ? order[i] : i;
    for (int64_t c = 0; c < m && equal; ++c) equal = same<T>(in, a * m + c, b * m + c);
    if (!equal) plan.starts[groups++] = i;
    plan.group[i] = groups - 1;
  }
  return groups;
}

constexpr int64_t kMostFlags = 1 << 20;  // keys of a range whose presence is noted

// A key that stands for several values: all NaN, and the first zero. Their number, which NaN changes.
template <class T>
int64_t restore_values(const SortPlan& plan, const SortCoding& coding, int64_t m) {
  using K = key_t<T>;
  const auto* const in = reinterpret_cast<const K*>(plan.in);
  K *const values = reinterpret_cast<K*>(plan.values), *end = values + m;
  if (Keys<T>::code.encode(end[-1]) == Keys<T>::nan) --end;
  K* const zero = std::partition_point(values, end, [](K v) { return Keys<T>::code.encode(v) < Keys<T>::code.zero; });
  if (zero < end && Keys<T>::code.encode(*zero) == Keys<T>::code.zero)
    *zero =
        in[kernel_table().sort.select.find_key[kernel_row(plan.dtype)](plan.in, plan.n, coding, Keys<T>::code.zero)];
  if (end < values + m)
    for (int64_t i = 0; i < plan.n; ++i)
      if (Keys<T>::code.encode(in[i]) == Keys<T>::nan) *end++ = in[i];
  return end - values;
}

template <class T>
int64_t distinct_values(const SortPlan& plan) {
  const int64_t n = plan.n;
  if (n == 0) return 0;
  const GilRelease unlocked(n > kLongWork);
  const int row = kernel_row(plan.dtype);
  const SortCoding coding = coding_of(plan.dtype, false);
  if constexpr (!is_float_v<T>) {
    uint64_t low = 0, high = 0;
    kernel_table().sort.key_range[row](plan.in, n, coding, &low, &high);
    if (high - low < static_cast<uint64_t>(std::min(4 * n, kMostFlags))) {
      std::vector<uint8_t> is(static_cast<size_t>(high - low) + 1);
      for (int64_t i = 0; i < n; ++i) is[static_cast<size_t>(Keys<T>::encode(plan.in, i) - low)] = 1;
      auto* const values = reinterpret_cast<key_t<T>*>(plan.values);
      int64_t m = 0;
      for (size_t k = 0; k < is.size(); ++k)
        if (is[k]) values[m++] = Keys<T>::code.decode(static_cast<key_t<T>>(low + k));
      return m;
    }
  }
  // Alone: on two threads a sort of halves and a merge of them took longer, at every length up to a million.
  const Words<int64_t> scratch(select_words(n));
  const int64_t m = kernel_table().sort.select.distinct_keys[row](plan.values, plan.in, n, coding, scratch.data);
  if constexpr (is_float_v<T>) return restore_values<T>(plan, coding, m);
  else return m;
}

// ---------------------------------------------------------------- searching

// Calls f(row, i, end) for ranges of values [i, end), counted over all rows, that belong to one row; on several
// threads.
template <class F>
void for_values(const SearchPlan& plan, F&& f) {
  parallel_for(0, plan.rows * plan.m, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t row = plan.rows == 1 ? 0 : i / plan.m;
      const int64_t stop = std::min(end, (row + 1) * plan.m);
      f(row, i, stop);
      i = stop;
    }
  });
}

constexpr int kSearches = 8;  // at once: a step of one waits for memory, steps of several wait together

// place[k] of value[k], as insertion_place has it. What is left of the searches is `most` elements, or one less where
// short_by[k] is -1 and not 0.
template <class At, class C>
void insertion_places_of(const At& at, int64_t n, const C* value, bool right, int64_t* place) {
  int64_t low[kSearches] = {}, short_by[kSearches] = {};
  const auto search = [&](auto stands_after) {
    int64_t most = n;
    for (; most > 1; most >>= 1) {
      const int64_t half = most >> 1;
      if (most & 1) {
        for (int k = 0; k < kSearches; ++k) {
          const int64_t after = -static_cast<int64_t>(stands_after(at(low[k] + half), value[k]));
          low[k] += (half + 1) & after;
          short_by[k] &= after;
        }
      } else {
        for (int k = 0; k < kSearches; ++k) {
          const int64_t middle = half + short_by[k];
          const int64_t after = -static_cast<int64_t>(stands_after(at(low[k] + middle), value[k]));
          low[k] += (middle + 1) & after;
          short_by[k] |= after;
        }
      }
    }
    if (most > 0) {
      for (int k = 0; k < kSearches; ++k)
        low[k] += (1 + short_by[k]) & -static_cast<int64_t>(stands_after(at(low[k] + short_by[k]), value[k]));
    }
  };
  if (right) search([](C y, C x) { return !(y > x); });
  else search([](C y, C x) { return !(y >= x); });
  std::copy(low, low + kSearches, place);
}

// Calls f(i, place) for begin <= i < end.
template <class At, class T, class F>
void for_places(const At& at, int64_t n, const T* x, int64_t begin, int64_t end, bool right, F&& f) {
  using C = compute_t<T>;
  for (int64_t i = begin; i < end; i += kSearches) {
    const int64_t some = std::min<int64_t>(kSearches, end - i);
    C value[kSearches] = {};
    for (int64_t k = 0; k < some; ++k) value[k] = static_cast<C>(x[i + k]);
    int64_t place[kSearches];
    insertion_places_of(at, n, value, right, place);
    for (int64_t k = 0; k < some; ++k) f(i + k, place[k]);
  }
}

constexpr int64_t kManyValues = 16;  // that are worth a look at all sorted elements

// Whether elements ascend, and none of them is NaN.
template <class T>
bool ascends(const T* row, int64_t n) {
  for (int64_t i = 0; i + 1 < n; ++i)
    if (!(row[i] <= row[i + 1])) return false;
  return n == 0 || row[0] == row[0];
}

template <class T>
void insertion_places(const SearchPlan& plan, bool right) {
  using C = compute_t<T>;
  const T* const x = reinterpret_cast<const T*>(plan.values);
  int64_t* const out = reinterpret_cast<int64_t*>(plan.out);
  const int64_t n = plan.n;
  const SortKernels& kernels = kernel_table().sort;
  const auto few_places = kernels.few_places[index_of(dtype_of<T>)];
  const bool few = few_places && n * static_cast<int64_t>(sizeof(T)) <= kernels.few_bytes;
  for_values(plan, [&](int64_t r, int64_t begin, int64_t end) {
    const T* const row = reinterpret_cast<const T*>(plan.sorted) + r * n;
    const int64_t* const sorter = row_of(plan.sorter, r, n);
    if constexpr (std::is_arithmetic_v<T>)
      if (few && !sorter && end - begin >= kManyValues && ascends(row, n))
        return few_places(out + begin, reinterpret_cast<const char*>(x + begin), end - begin,
                          reinterpret_cast<const char*>(row), n, right);
    const auto put = [=](int64_t i, int64_t place) { out[i] = place; };
    if (sorter) for_places([=](int64_t k) { return static_cast<C>(row[sorter[k]]); }, n, x, begin, end, right, put);
    else for_places([=](int64_t k) { return static_cast<C>(row[k]); }, n, x, begin, end, right, put);
  });
}

// Which integers from `low` on stand in a row: a byte for each, where these are not many more than what is asked.
struct Members {
  uint64_t low = 0;
  std::vector<uint8_t> is;
};
template <class T>
Members members(const T* row, int64_t n, int64_t asked) {
  Members found;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (n == 0) return found;
    found.low = static_cast<uint64_t>(row[0]);
    const uint64_t last = static_cast<uint64_t>(row[n - 1]) - found.low;
    if (last > 4 * static_cast<uint64_t>(asked + n)) return found;
    found.is.resize(static_cast<size_t>(last) + 1);
    for (int64_t i = 0; i < n; ++i) found.is[static_cast<size_t>(static_cast<uint64_t>(row[i]) - found.low)] = 1;
  }
  return found;
}

template <class T>
void contains(const SearchPlan& plan, bool invert) {
  using C = compute_t<T>;
  const T* const x = reinterpret_cast<const T*>(plan.values);
  const Members table = plan.rows == 1 ? members(reinterpret_cast<const T*>(plan.sorted), plan.n, plan.m) : Members();
  for_values(plan, [&](int64_t r, int64_t begin, int64_t end) {
    if constexpr (std::is_integral_v<T>)
      if (!table.is.empty()) {
        const uint64_t low = table.low, last = table.is.size() - 1;
        const uint8_t* const is = table.is.data();
        for (int64_t i = begin; i < end; ++i) {
          const uint64_t at = static_cast<uint64_t>(x[i]) - low;
          plan.out[i] = ((at <= last) & is[at <= last ? at : 0]) != invert;
        }
        return;
      }
    const T* const row = reinterpret_cast<const T*>(plan.sorted) + r * plan.n;
    int64_t n = plan.n;
    // NaN equals nothing, and a search needs comparable elements.
    while (n > 0 && static_cast<C>(row[n - 1]) != static_cast<C>(row[n - 1])) --n;
    for_places([=](int64_t k) { return static_cast<C>(row[k]); }, n, x, begin, end, false,
               [=](int64_t i, int64_t at) {
                 plan.out[i] = (at < n && static_cast<C>(row[at]) == static_cast<C>(x[i])) != invert;
               });
  });
}

// Calls f(Tag<T>) for a dtype that has an order.
template <class F>
void for_ordered(const char* name, DType dtype, F&& f) {
  dispatch_loops(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_complex_v<T>)
      STRIDED_THROW(NotImplementedError, name, ": not implemented for ", dtype, " on device 'cpu'");
    else f(tag);
  });
}

}  // namespace

void sort(const SortPlan& plan, int64_t keep, bool descending) {
  if (plan.rows == 0) return;
  for_ordered(plan.name, plan.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (keep == plan.n) sort_rows(plan, descending);
    else top_rows<T>(plan, keep, descending);
  });
}

void order_statistic(const SortPlan& plan, OrderStatistic what, int64_t k) {
  if (plan.rows == 0) return;
  for_ordered(plan.name, plan.dtype, [&](auto tag) { select_rows<typename decltype(tag)::type>(plan, what, k); });
}

void unique_rows(const UniquePlan& plan, int64_t* groups) {
  for_ordered(plan.name, plan.dtype, [&](auto tag) { *groups = group_slices<typename decltype(tag)::type>(plan); });
}

void unique_values(const SortPlan& plan, int64_t* count) {
  for_ordered(plan.name, plan.dtype, [&](auto tag) { *count = distinct_values<typename decltype(tag)::type>(plan); });
}

void search(const SearchPlan& plan, Search what) {
  for (int64_t k = 0; plan.sorter && k < plan.rows * plan.n; ++k)
    STRIDED_CHECK(plan.sorter[k] >= 0 && plan.sorter[k] < plan.n, RuntimeError, plan.name,
                  ": sorter index out of range");
  for_ordered(plan.name, plan.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (what == Search::Left || what == Search::Right) insertion_places<T>(plan, what == Search::Right);
    else contains<T>(plan, what == Search::NotIn);
  });
}

}  // namespace cpu
}  // namespace strided
