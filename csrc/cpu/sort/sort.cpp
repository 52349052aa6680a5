// Sorting by keys.
// Values become keys (Note [Keys] in backend/sort_keys.h). A key of up to 32 bits and the position make one 64-bit
// word, so that comparing words sorts stably; wider keys keep their position beside them. Long rows are sorted by least
// significant digit radix passes (D. E. Knuth, The Art of Computer Programming 3, section 5.2.5), shared among threads.
// A stable order is unique, so the result does not depend on the number of threads.
#include <algorithm>
#include <memory>

#include "backend/sort_keys.h"
#include "base/parallel.h"
#include "core/allocator.h"
#include "cpu/operations.h"

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
  // The bits of the value with this key; a zero or NaN is read from where it stood.
  static K decode(K k, const char* row, int64_t i) {
    return code.stands_for_several(k) ? reinterpret_cast<const K*>(row)[i] : code.decode(k);
  }
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
constexpr int kDigit = 11;  // bits of a digit of long rows; short rows take 8, to have fewer buckets to count
constexpr int64_t kBuckets = int64_t(1) << kDigit;
constexpr int64_t kShort = 160;          // shorter rows are sorted by comparison
constexpr int64_t kLong = 8192;          // long rows
constexpr int64_t kThreadItems = 65536;  // elements that are worth another thread
constexpr int64_t kLongWork = 8192;      // elements that take long enough to let other threads of the interpreter run

// Room for n words: on the stack for short rows, else from the library's allocator, which keeps large blocks (the page
// faults of fresh memory would cost as much as a pass over it).
template <class E>
class Words {
 public:
  explicit Words(int64_t n)
      : bytes_(n > kStack ? static_cast<size_t>(n) * sizeof(E) : 0),
        data(bytes_ ? static_cast<E*>(cpu_allocate(bytes_)) : stack_) {}
  ~Words() {
    if (bytes_) cpu_free(data, bytes_);
  }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

 private:
  static constexpr int64_t kStack = 256;
  E stack_[kStack];
  size_t bytes_;

 public:
  E* const data;
};

template <class E>
void insertion_sort(E* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const E x = a[i];
    int64_t j = i;
    for (; j > 0 && x < a[j - 1]; --j) a[j] = a[j - 1];
    a[j] = x;
  }
}

// Sorts a (n elements) by keys of `bits` bits, elements standing in the order of their positions. The result is in a.
template <class E>
void sort_elements(E* a, int64_t n, int bits) {
  if (n <= 24) return insertion_sort(a, n);
  if (n <= kShort) return std::sort(a, a + n);
  const int digit = n < kLong ? 8 : kDigit;
  const int64_t buckets = int64_t(1) << digit;
  Words<E> other(n);
  E *from = a, *to = other.data;
  const int64_t parts =
      in_parallel_region() ? 1 : std::max<int64_t>(1, std::min<int64_t>(num_threads(), n / kThreadItems));
  const int64_t step = (n + parts - 1) / parts;
  std::unique_ptr<int64_t[]> counts(new int64_t[static_cast<size_t>(parts * buckets)]);
  for (int shift = 0; shift < bits; shift += digit) {
    const uint64_t mask =
        bits - shift < digit ? (uint64_t(1) << (bits - shift)) - 1 : static_cast<uint64_t>(buckets - 1);
    parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        int64_t* count = counts.get() + p * buckets;
        std::fill(count, count + buckets, 0);
        for (int64_t i = p * step, last = std::min(n, i + step); i < last; ++i) ++count[from[i].key() >> shift & mask];
      }
    });
    // Where the elements of each part with each digit go: digits first, then parts in order.
    int64_t at = 0;
    bool one_digit = false;
    for (int64_t d = 0; d < buckets; ++d) {
      const int64_t before = at;
      for (int64_t p = 0; p < parts; ++p) {
        int64_t& c = counts[static_cast<size_t>(p * buckets + d)];
        const int64_t m = c;
        c = at;
        at += m;
      }
      one_digit = one_digit || at - before == n;
    }
    if (one_digit) continue;
    parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        int64_t* place = counts.get() + p * buckets;
        for (int64_t i = p * step, last = std::min(n, i + step); i < last; ++i)
          to[place[from[i].key() >> shift & mask]++] = from[i];
      }
    });
    std::swap(from, to);
  }
  if (from != a) std::copy(from, from + n, a);
}

template <class T>
uint64_t flip_mask(bool descending) {
  return descending ? static_cast<uint64_t>(static_cast<key_t<T>>(~key_t<T>(0))) : 0;
}

// How the keys of a row become those that are sorted: (key ^ flip) - base, of `bits` bits.
struct Coding {
  uint64_t flip = 0, base = 0;
  int bits = 64;
};
// Long rows often use a small part of the keys there are: then fewer digits do, and wide keys fit a word.
template <class T>
Coding coding_of(const char* in, int64_t n, bool descending) {
  Coding c{flip_mask<T>(descending), 0, 8 * static_cast<int>(sizeof(T))};
  if (n <= kShort) return c;
  using K = key_t<T>;
  K low = static_cast<K>(~K(0)), high = 0;
  for (int64_t i = 0; i < n; ++i) {
    const K k = static_cast<K>(Keys<T>::encode(in, i) ^ static_cast<K>(c.flip));
    low = k < low ? k : low;
    high = k > high ? k : high;
  }
  c.base = low;
  c.bits = 0;
  for (uint64_t range = static_cast<uint64_t>(high) - low; range > 0; range >>= 1) ++c.bits;
  return c;
}

template <class T, class E>
void encode_row(E* a, const char* in, int64_t n, const Coding& c) {
  parallel_for(0, n, kThreadItems, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) a[i] = E::make((Keys<T>::encode(in, i) ^ c.flip) - c.base, i);
  });
}
template <class T>
key_t<T> original_key(uint64_t key, const Coding& c) {
  return static_cast<key_t<T>>((key + c.base) ^ c.flip);
}
template <class T, class E>
void write_row(char* values, int64_t* index, const E* a, int64_t n, const char* in, const Coding& c) {
  using K = key_t<T>;
  parallel_for(0, n, kThreadItems, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (values) reinterpret_cast<K*>(values)[i] = Keys<T>::decode(original_key<T>(a[i].key(), c), in, a[i].index());
      if (index) index[i] = a[i].index();
    }
  });
}

// Calls f(words, coding) with the sorted words of a row, whose positions and keys fit their type.
template <class T, class F>
void with_sorted_words(const char* in, int64_t n, bool descending, F&& f) {
  const Coding c = coding_of<T>(in, n, descending);
  auto run = [&](auto tag) {
    using E = typename decltype(tag)::type;
    Words<E> words(n);
    encode_row<T>(words.data, in, n, c);
    sort_elements(words.data, n, c.bits);
    f(words.data, c);
  };
  if (c.bits <= 32 && n <= 0xffffffff) run(Tag<Narrow>{});
  else run(Tag<Wide>{});
}

template <class T>
void sort_row(char* values, int64_t* index, const char* in, int64_t n, bool descending) {
  with_sorted_words<T>(in, n, descending,
                       [&](const auto* words, const Coding& c) { write_row<T>(values, index, words, n, in, c); });
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

template <class T>
void sort_rows(const SortPlan& plan, bool descending) {
  const int64_t n = plan.n, bytes = n * static_cast<int64_t>(sizeof(T));
  auto one = [&](int64_t r) {
    sort_row<T>(row_of(plan.values, r, bytes), row_of(plan.index, r, n), plan.in + r * bytes, n, descending);
  };
  const GilRelease unlocked(n * plan.rows > kLongWork);
  if (plan.rows == 1) return one(0);  // the sort of one row uses threads itself
  parallel_for(0, plan.rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) one(r);
  });
}

// ---------------------------------------------------------------- the first k

int64_t room_for(int64_t k) { return 2 * k + 64; }

// Brings the k smallest elements to the front, in no order. Long rows are first thinned by what is known to be too
// large.
template <class T, class E>
void select_front(E* a, int64_t n, int64_t k, const char* in, const Coding& c) {
  const int64_t room = room_for(k);
  if (n <= 2 * room) {
    encode_row<T>(a, in, n, c);
    if (k < n) std::nth_element(a, a + k, a + n);
    return;
  }
  int64_t filled = 0;
  E limit = E::make(~uint64_t(0) >> (sizeof(E) == 8 ? 32 : 0), sizeof(E) == 8 ? 0xffffffff : n);
  for (int64_t i = 0; i < n; ++i) {
    const E x = E::make(Keys<T>::encode(in, i) ^ c.flip, i);
    if (!(x < limit)) continue;
    a[filled++] = x;
    if (filled == room) {
      std::nth_element(a, a + k, a + filled);
      limit = *std::max_element(a, a + k);
      filled = k;
    }
  }
  if (k < filled) std::nth_element(a, a + k, a + filled);
}

template <class T, class E>
void top_row(char* values, int64_t* index, const char* in, int64_t n, int64_t k, bool largest) {
  if (k == 0) return;
  Words<E> words(std::min(n, 2 * room_for(k)));
  const Coding c{flip_mask<T>(largest)};
  select_front<T>(words.data, n, k, in, c);
  std::sort(words.data, words.data + k);
  write_row<T>(values, index, words.data, k, in, c);
}

// ---------------------------------------------------------------- the k-th

// Position of the k-th smallest element (from 0), the first one among equals.
template <class T, class E>
int64_t kth_of_row(const char* in, int64_t n, int64_t k) {
  using K = key_t<T>;
  constexpr int digit = sizeof(T) == 1 ? 8 : kDigit, shift = 8 * static_cast<int>(sizeof(T)) - digit;
  std::unique_ptr<E[]> list;
  int64_t m = 0;
  if (n > 1024) {
    // Only the elements that share the leading digit with the k-th one are looked at closer.
    int64_t count[kBuckets] = {};
    for (int64_t i = 0; i < n; ++i) ++count[Keys<T>::encode(in, i) >> shift];
    K bucket = 0;
    while (k >= count[bucket]) k -= count[bucket++];
    list.reset(new E[static_cast<size_t>(count[bucket])]);
    for (int64_t i = 0; i < n; ++i) {
      const K key = Keys<T>::encode(in, i);
      if (static_cast<K>(key >> shift) == bucket) list[static_cast<size_t>(m++)] = E::make(key, i);
    }
  } else {
    list.reset(new E[static_cast<size_t>(n)]);
    for (; m < n; ++m) list[static_cast<size_t>(m)] = E::make(Keys<T>::encode(in, m), m);
  }
  E* a = list.get();
  std::nth_element(a, a + k, a + m);
  const uint64_t key = a[k].key();
  int64_t first = a[k].index();
  for (int64_t i = 0; i < k; ++i)
    if (a[i].key() == key) first = std::min(first, a[i].index());
  return first;
}

template <class T>
int64_t nan_count(const char* in, int64_t n, int64_t* first) {
  int64_t count = 0;
  *first = -1;
  if constexpr (is_float_v<T>)
    for (int64_t i = 0; i < n; ++i)
      if (Keys<T>::encode(in, i) == Keys<T>::nan) {
        if (count++ == 0) *first = i;
      }
  return count;
}

template <class T, class E>
int64_t choose_of_row(const char* in, int64_t n, OrderStatistic what, int64_t k) {
  if (what != OrderStatistic::Kth) {
    int64_t first_nan = -1;
    const int64_t nans = nan_count<T>(in, n, &first_nan);
    if (nans > 0 && (what == OrderStatistic::Median || nans == n)) return first_nan;
    k = (n - nans - 1) / 2;
  }
  return kth_of_row<T, E>(in, n, k);
}

// Most frequent value, the smallest among equally frequent ones, at its last position.
template <class T>
int64_t mode_of_row(const char* in, int64_t n) {
  int64_t best = 0, at = 0;
  with_sorted_words<T>(in, n, false, [&](const auto* words, const Coding&) {
    for (int64_t i = 0; i < n;) {
      int64_t j = i + 1;
      while (j < n && words[j].key() == words[i].key()) ++j;
      if (j - i > best) best = j - i, at = words[j - 1].index();
      i = j;
    }
  });
  return at;
}

template <class T>
void select_rows(const SortPlan& plan, OrderStatistic what, int64_t k) {
  using K = key_t<T>;
  const int64_t n = plan.n, item = sizeof(T);
  const GilRelease unlocked(n * plan.rows > kLongWork);
  parallel_for(0, plan.rows, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const char* row = plan.in + r * n * item;
      const bool narrow = fits_word<T> && short_enough(n);
      int64_t at;
      if (what == OrderStatistic::Mode) at = mode_of_row<T>(row, n);
      else at = narrow ? choose_of_row<T, Narrow>(row, n, what, k) : choose_of_row<T, Wide>(row, n, what, k);
      reinterpret_cast<K*>(plan.values)[r] = reinterpret_cast<const K*>(row)[at];
      plan.index[r] = at;
    }
  });
}

template <class T>
void top_rows(const SortPlan& plan, int64_t k, bool largest) {
  const int64_t n = plan.n, item = sizeof(T);
  const GilRelease unlocked(n * plan.rows > kLongWork);
  parallel_for(0, plan.rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const char* row = plan.in + r * n * item;
      char* const values = row_of(plan.values, r, k * item);
      int64_t* const index = row_of(plan.index, r, k);
      if (fits_word<T> && short_enough(n)) top_row<T, Narrow>(values, index, row, n, k, largest);
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
    sort_row<T>(nullptr, order, in, n, false);
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
  for (int64_t i = 0; i < n; ++i) {
    bool equal = i > 0;
    const int64_t a = order && equal ? order[i - 1] : i - 1, b = order ? order[i] : i;
    for (int64_t c = 0; c < m && equal; ++c) equal = same<T>(in, a * m + c, b * m + c);
    if (!equal) plan.starts[groups++] = i;
    plan.group[i] = groups - 1;
  }
  return groups;
}

template <class T>
int64_t distinct_values(char* values, const char* in, int64_t n) {
  const GilRelease unlocked(n > kLongWork);
  using K = key_t<T>;
  K* out = reinterpret_cast<K*>(values);
  int64_t m = 0;
  with_sorted_words<T>(in, n, false, [&](const auto* words, const Coding& c) {
    for (int64_t i = 0; i < n; ++i) {
      const K k = original_key<T>(words[i].key(), c);
      const bool nan = is_float_v<T> && k == Keys<T>::nan;
      if (i == 0 || nan || words[i - 1].key() != words[i].key()) out[m++] = Keys<T>::decode(k, in, words[i].index());
    }
  });
  return m;
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

template <class T>
void insertion_places(const SearchPlan& plan, bool right) {
  using C = compute_t<T>;
  const T* const x = reinterpret_cast<const T*>(plan.values);
  int64_t* const out = reinterpret_cast<int64_t*>(plan.out);
  const int64_t n = plan.n;
  for_values(plan, [&](int64_t r, int64_t begin, int64_t end) {
    const T* const row = reinterpret_cast<const T*>(plan.sorted) + r * n;
    const int64_t* const sorter = row_of(plan.sorter, r, n);
    for (int64_t i = begin; i < end; ++i) {
      const C v = static_cast<C>(x[i]);
      out[i] = sorter ? insertion_place([=](int64_t k) { return static_cast<C>(row[sorter[k]]); }, n, v, right)
                      : insertion_place([=](int64_t k) { return static_cast<C>(row[k]); }, n, v, right);
    }
  });
}

template <class T>
void contains(const SearchPlan& plan, bool invert) {
  using C = compute_t<T>;
  const T* const x = reinterpret_cast<const T*>(plan.values);
  for_values(plan, [&](int64_t r, int64_t begin, int64_t end) {
    const T* const row = reinterpret_cast<const T*>(plan.sorted) + r * plan.n;
    int64_t n = plan.n;
    // NaN equals nothing, and insertion_place needs comparable elements.
    while (n > 0 && static_cast<C>(row[n - 1]) != static_cast<C>(row[n - 1])) --n;
    for (int64_t i = begin; i < end; ++i) {
      const C v = static_cast<C>(x[i]);
      const int64_t at = insertion_place([=](int64_t k) { return static_cast<C>(row[k]); }, n, v, false);
      plan.out[i] = (at < n && static_cast<C>(row[at]) == v) != invert;
    }
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
    if (keep == plan.n) sort_rows<T>(plan, descending);
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
  for_ordered(plan.name, plan.dtype,
              [&](auto tag) { *count = distinct_values<typename decltype(tag)::type>(plan.values, plan.in, plan.n); });
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
