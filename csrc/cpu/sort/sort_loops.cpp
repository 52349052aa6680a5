// Sorting by keys, in vectors (cpu/sort/quicksort.inc). No two words are equal, since each carries its position: the
// sorted order is unique, and stable.
#include "backend/sort_keys.h"
#include "cpu/kernels.h"
#include "cpu/sort/long_rows.inc"
#include "cpu/sort/quicksort.inc"
#include "cpu/sort/select.inc"
#include "cpu/sort/short_rows.inc"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

template <int P>
void sort_runs(const Run<P>& a, int64_t n, int64_t rows, const Run<P>& scratch) {
  Leaves<P> leaves;
  const int depth = depth_of(n);
  for (int64_t r = 0; r < rows; ++r) sort_run(a.from(r * n), n, scratch, depth, &leaves);
  leaves.sort();
}

constexpr int kFewDigits = 2;  // that are sorted from the least significant one on, however long the row
#if defined(__AVX512F__)
// More digits take longer than a quicksort, where a vector has eight words.
constexpr int kCachedDigits = 0;
constexpr int64_t kCounted = 2048;      // words of a row that are worth a look at which bits differ
constexpr int64_t kPrefixed = 1 << 14;  // words of a row whose positions take few bits of the keys
#else
constexpr int kCachedDigits = 3;  // that are sorted so where the row stays in the cache
constexpr int64_t kCounted = 4096;
constexpr int64_t kPrefixed = INT64_MAX;
#endif
constexpr int64_t kCached = 1 << 18;  // words

// Words by one digit: the first place of each digit is counted, then they go from `from` to `to`. Sets the place
// behind each digit.
void sort_digit(const int64_t* from, int64_t* to, int64_t n, int shift, int bits, int64_t* place) {
  const uint64_t mask = (uint64_t(1) << bits) - 1;
  const auto digit_of = [=](int64_t word) { return (static_cast<uint64_t>(word) ^ kSign) >> shift & mask; };
  for (uint64_t d = 0; d <= mask; ++d) place[d] = 0;
  for (int64_t i = 0; i < n; ++i) ++place[digit_of(from[i])];
  int64_t at = 0;
  for (uint64_t d = 0; d <= mask; ++d) {
    const int64_t m = place[d];
    place[d] = at;
    at += m;
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t word = from[i];
    to[place[digit_of(word)]++] = word;
  }
}

// A row whose bits below `low` are positions, which ascend: digits are sorted without them (D. E. Knuth, The Art of
// Computer Programming 3, section 5.2.5). Few digits from the least significant one on; else by the most significant
// one, then each of its values.
void sort_narrow(int64_t* words, int64_t n, int low, int64_t* scratch, FastLeaves<int64_t>* leaves) {
  const auto by_pivots = [&] { sort_run(Run<1>{{words}}, n, Run<1>{{scratch}}, depth_of(n), leaves); };
  if (n < kCounted) return by_pivots();
  uint64_t differ = 0;
  for (int64_t i = 0; i < n; ++i) differ |= static_cast<uint64_t>(words[i] ^ words[0]);
  differ >>= low;
  if (differ == 0) return leaves->sort();  // leaves follow each other
  const int bits = 64 - __builtin_clzll(differ), passes = (bits + kSortDigit - 1) / kSortDigit;
  int64_t place[1 << kSortDigit];
  if (passes <= kFewDigits || (passes <= kCachedDigits && n <= kCached)) {
    leaves->sort();
    const int digit = (bits + passes - 1) / passes;
    int64_t *from = words, *to = scratch;
    for (int pass = 0; pass < passes; ++pass) {
      sort_digit(from, to, n, low + pass * digit, digit, place);
      int64_t* const other = from;
      from = to;
      to = other;
    }
    if (from != words) __builtin_memcpy(words, from, static_cast<size_t>(n) * sizeof(int64_t));
    return;
  }
  if (kCachedDigits == 0) return by_pivots();
  const int most = 60 - __builtin_clzll(static_cast<uint64_t>(n)), digit = most < kSortDigit ? most : kSortDigit;
  sort_digit(words, scratch, n, low + bits - digit, digit, place);
  __builtin_memcpy(words, scratch, static_cast<size_t>(n) * sizeof(int64_t));
  int64_t begin = 0;
  for (int d = 0; d < 1 << digit; ++d) {
    const int64_t end = place[d];
    if (end > begin) sort_narrow(words + begin, end - begin, low, scratch, leaves);
    begin = end;
  }
}

void sort_narrow_rows(int64_t* words, int64_t n, int64_t rows, int low, int64_t* scratch) {
  FastLeaves<int64_t> leaves;
  for (int64_t r = 0; r < rows; ++r) sort_narrow(words + r * n, n, low, scratch, &leaves);
  leaves.sort();
}

// Keys of a sorted row of prefixes: those of one prefix are brought into order, with the positions in the words.
void sort_within_prefixes(int64_t* key, int64_t* words, int64_t n, uint64_t mask, const Run<2>& scratch) {
  constexpr int64_t kInserted = 16;
  const auto prefix = [=](int64_t j) { return static_cast<uint64_t>(words[j]) & ~mask; };
  for (int64_t begin = 0, end; begin < n; begin = end) {
    bool wrong = false;
    for (end = begin + 1; end < n && prefix(end) == prefix(begin); ++end) wrong |= key[end] < key[end - 1];
    if (!wrong) continue;
    if (end - begin > kInserted) {
      sort_runs<2>({{key + begin, words + begin}}, end - begin, 1, scratch);
      continue;
    }
    for (int64_t j = begin + 1; j < end; ++j) {
      const int64_t k = key[j], word = words[j];
      int64_t i = j;
      for (; i > begin && k < key[i - 1]; --i) key[i] = key[i - 1], words[i] = words[i - 1];
      key[i] = k, words[i] = word;
    }
  }
}

// Keys with positions in one word: the positions, which ascend, take the place of the lowest bits of the keys. That is
// the order of the keys but where two differ in those bits alone, which are looked at afterwards.
void sort_prefixes(int64_t* words, int64_t* index, int64_t n, int64_t rows, int64_t* scratch) {
  const int bits = 64 - __builtin_clzll(static_cast<uint64_t>(n - 1) | 1);
  const uint64_t mask = (uint64_t(1) << bits) - 1;
  const int64_t first = index[0];
  uint64_t used = mask;
  for (int64_t i = 0; i < n * rows; ++i) used |= static_cast<uint64_t>(words[i]) ^ kSign;
  const int free = __builtin_clzll(used), shift = free < bits ? free : bits;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t *const word = words + r * n, *const key = index + r * n;
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      const uint64_t k = static_cast<uint64_t>(word[j]);
      key[j] = static_cast<int64_t>(k);
      word[j] = static_cast<int64_t>(((((k ^ kSign) << shift) & ~mask) | static_cast<uint64_t>(j)) ^ kSign);
    }
  }
  sort_narrow_rows(words, n, rows, bits, scratch);
  for (int64_t r = 0; r < rows; ++r, words += n, index += n) {
    int64_t before = INT64_MIN;
    bool wrong = false;
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      const int64_t key = index[static_cast<uint64_t>(words[j]) & mask];
      wrong |= key < before;
      scratch[j] = before = key;
    }
    if (wrong) {  // the keys have a copy, so that their own memory serves; what is behind is the next row's
      int64_t behind[kSortSlack];
      __builtin_memcpy(behind, index + n, sizeof(behind));
      sort_within_prefixes(scratch, words, n, mask, {{index, scratch + n + kSortSlack}});
      __builtin_memcpy(index + n, behind, sizeof(behind));
    }
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      index[j] = first + static_cast<int64_t>(static_cast<uint64_t>(words[j]) & mask);
      words[j] = scratch[j];
    }
  }
}

void sort_words(int64_t* words, int64_t* index, int64_t n, int64_t rows, int64_t* scratch) {
  if (index == nullptr) sort_narrow_rows(words, n, rows, 32, scratch);
  else if (n > 0 && n <= kPrefixed) sort_prefixes(words, index, n, rows, scratch);
  else sort_runs<2>({{words, index}}, n, rows, {{scratch, scratch + n + kSortSlack}});
}

// ---------------------------------------------------------------- values and words

template <class K>
void key_range(const char* in, int64_t n, const SortCoding& c, uint64_t* low, uint64_t* high) {
  with_code<K>(c, [&](auto code) {
    const K flip = static_cast<K>(c.flip);
    K least = static_cast<K>(~K(0)), most = 0;
    for (int64_t i = 0; i < n; ++i) {
      const K k = static_cast<K>(code.encode(load<K>(in + i * sizeof(K))) ^ flip);
      least = k < least ? k : least;
      most = k > most ? k : most;
    }
    *low = least;
    *high = most;
  });
}

template <class K>
void encode(int64_t* words, int64_t* index, const char* in, int64_t first, int64_t n, int64_t rows,
            const SortCoding& c) {
  with_code<K>(c, [&](auto code) {
    const uint64_t flip = c.flip, base = c.base;
    for (int64_t r = 0; r < rows; ++r, words += n, in += n * sizeof(K)) {
      if (index == nullptr) {
        for (int64_t i = 0; i < n; ++i) {
          const uint64_t k = (code.encode(load<K>(in + i * sizeof(K))) ^ flip) - base;
          words[i] = static_cast<int64_t>((k << 32 | static_cast<uint64_t>(first + i)) ^ kSign);
        }
      } else {
        for (int64_t i = 0; i < n; ++i) {
          const uint64_t k = (code.encode(load<K>(in + i * sizeof(K))) ^ flip) - base;
          words[i] = static_cast<int64_t>(k ^ kSign);
          index[i] = first + i;
        }
        index += n;
      }
    }
  });
}

// The key of a word, as encode has it of the value.
template <class K, bool kNarrow>
STRIDED_INLINE K key_of(int64_t word, const SortCoding& c) {
  const uint64_t w = static_cast<uint64_t>(word) ^ kSign;
  return static_cast<K>(((kNarrow ? w >> 32 : w) + c.base) ^ c.flip);
}

// Values of one key that differ (zeros, NaN) are read from where they stood. They follow each other.
template <class K, bool kNarrow>
void copy_equals(char* values, const int64_t* words, const int64_t* index, const char* in, int64_t n, K key,
                 const SortCoding& c) {
  int64_t low = 0;
  for (int64_t m = n; m > 0;) {
    const int64_t half = m / 2;
    const K k = key_of<K, kNarrow>(words[low + half], c);
    const bool before = static_cast<K>(k ^ c.flip) < static_cast<K>(key ^ c.flip);
    low += before ? half + 1 : 0;
    m = before ? m - half - 1 : half;
  }
  for (int64_t i = low; i < n && key_of<K, kNarrow>(words[i], c) == key; ++i) {
    const int64_t from = kNarrow ? words[i] & 0xffffffff : index[i];
    store(values + i * sizeof(K), load<K>(in + from * sizeof(K)));
  }
}

template <class K, bool kNarrow>
void decode_row(char* values, const int64_t* words, const int64_t* index, const char* in, int64_t n,
                const SortCoding& c) {
  with_code<K>(c, [&](auto code) {
    K several = 0;
    for (int64_t i = 0; i < n; ++i) {
      const K k = key_of<K, kNarrow>(words[i], c);
      several |= static_cast<K>(code.stands_for_several(k));
      store(values + i * sizeof(K), code.decode(k));
    }
    if (several == 0) return;
    copy_equals<K, kNarrow>(values, words, index, in, n, code.zero, c);
    copy_equals<K, kNarrow>(values, words, index, in, n, code.nan, c);
  });
}

// n of the words of a row, which begins at `in`; or all of several rows.
template <class K>
void decode(char* values, int64_t* to, const int64_t* words, const int64_t* index, const char* in, int64_t n,
            int64_t rows, const SortCoding& c) {
  constexpr int64_t item = sizeof(K);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t* const w = words + r * n;
    if (values && index) decode_row<K, false>(values + r * n * item, w, index + r * n, in + r * n * item, n, c);
    else if (values) decode_row<K, true>(values + r * n * item, w, nullptr, in + r * n * item, n, c);
    if (to == nullptr) continue;
    if (index) __builtin_memcpy(to + r * n, index + r * n, static_cast<size_t>(n) * sizeof(int64_t));
    else
      for (int64_t i = 0; i < n; ++i) to[r * n + i] = w[i] & 0xffffffff;
  }
}

template <class K>
void fill_size(SortKernels& sort, int row) {
  sort.key_range[row] = key_range<K>;
  sort.encode[row] = encode<K>;
  sort.decode[row] = decode<K>;
  fill_select<K>(sort.select, row);
  fill_long_rows<K>(sort, row);
}

}  // namespace

void fill_sort_loops(KernelTable& table) {
  table.sort.words = sort_words;
  fill_size<uint8_t>(table.sort, 0);
  fill_size<uint16_t>(table.sort, 1);
  fill_size<uint32_t>(table.sort, 2);
  fill_size<uint64_t>(table.sort, 3);
  fill_short_rows(table.sort);
}

}  // namespace STRIDED_ISA
}  // namespace strided
