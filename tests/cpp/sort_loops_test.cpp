// The vectorised sort of one instruction set, and its way out of bad pivots, beside std::sort.
#include "cpu/sort/sort_loops.cpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace strided {

inline namespace STRIDED_ISA {
namespace {

using Pair = std::pair<int64_t, int64_t>;

enum class Shape { Random, FewKeys, Sorted, Reversed, Equal, SawTooth, LowBits };

std::vector<int64_t> keys_of(Shape shape, int64_t n, std::mt19937_64& random) {
  std::vector<int64_t> keys(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    int64_t& k = keys[static_cast<size_t>(i)];
    switch (shape) {
      case Shape::Random: k = static_cast<int64_t>(random()); break;
      case Shape::FewKeys: k = static_cast<int64_t>(random() % 5) - 2; break;
      case Shape::Sorted: k = i; break;
      case Shape::Reversed: k = -i; break;
      case Shape::Equal: k = INT64_MAX; break;
      case Shape::SawTooth: k = i % 17; break;
      // Far apart, or apart by the bits whose place sort_prefixes gives to positions.
      case Shape::LowBits: k = static_cast<int64_t>((random() & 1) << 62 | random() % 8); break;
    }
  }
  return keys;
}

constexpr Shape kShapes[] = {Shape::Random, Shape::FewKeys,  Shape::Sorted, Shape::Reversed,
                             Shape::Equal,  Shape::SawTooth, Shape::LowBits};
constexpr int64_t kGuard = 0x5a5a5a5a;

// Sorts rows of n words with at most `depth` partitions one inside the other; -1: as many as the sort allows itself.
void check(Shape shape, int64_t n, int64_t rows, int depth, std::mt19937_64& random) {
  const int64_t total = n * rows;
  const std::vector<int64_t> keys = keys_of(shape, total, random);
  const auto room = static_cast<size_t>(total + kSortSlack);
  std::vector<int64_t> key(room, kGuard), index(room, kGuard), word(room, kGuard);
  std::vector<int64_t> scratch(static_cast<size_t>(2 * (n + kSortSlack)));
  std::vector<Pair> want;
  for (int64_t i = 0; i < total; ++i) {
    const auto at = static_cast<size_t>(i);
    key[at] = keys[at];
    index[at] = i % n;
    word[at] = static_cast<int64_t>(static_cast<uint64_t>(keys[at]) << 32 | static_cast<uint64_t>(i % n));
    want.emplace_back(keys[at], i % n);
  }
  std::vector<int64_t> words(word.begin(), word.begin() + total);
  for (int64_t r = 0; r < rows; ++r) {
    std::sort(want.begin() + r * n, want.begin() + (r + 1) * n);
    std::sort(words.begin() + r * n, words.begin() + (r + 1) * n);
  }
  if (depth < 0) {
    sort_words(key.data(), index.data(), n, rows, scratch.data());
    sort_words(word.data(), nullptr, n, rows, scratch.data());
  } else {
    const Run<2> pairs{{key.data(), index.data()}}, far{{scratch.data(), scratch.data() + n + kSortSlack}};
    const Run<1> single{{word.data()}}, near{{scratch.data()}};
    Leaves<2> leaves;
    Leaves<1> others;
    for (int64_t r = 0; r < rows; ++r) {
      sort_run(pairs.from(r * n), n, far, depth, &leaves);
      sort_run(single.from(r * n), n, near, depth, &others);
    }
    leaves.sort();
    others.sort();
  }
  for (int64_t i = 0; i < total; ++i) {
    const auto at = static_cast<size_t>(i);
    ASSERT_EQ(Pair(key[at], index[at]), want[at]) << n << " x " << rows << ", place " << i;
    ASSERT_EQ(word[at], words[at]) << n << " x " << rows << ", place " << i;
  }
  for (int64_t i = 0; i < kSortSlack; ++i) {
    const auto at = static_cast<size_t>(total + i);
    ASSERT_EQ(key[at], kGuard);
    ASSERT_EQ(index[at], kGuard);
    ASSERT_EQ(word[at], kGuard);
  }
}

TEST(SortLoops, EveryLengthAroundTheBlocks) {
  std::mt19937_64 random(1);
  for (int64_t n = 1; n <= 200; ++n)
    for (const Shape shape : kShapes) check(shape, n, n % 3 == 0 ? 1 : 9, -1, random);
}
TEST(SortLoops, LongRows) {
  std::mt19937_64 random(2);
  for (const int64_t n : {255, 256, 1000, 4097, 70001})
    for (const Shape shape : kShapes) check(shape, n, n < 5000 ? 5 : 1, -1, random);
}
TEST(SortLoops, BadPivotsEndInAHeapSort) {
  std::mt19937_64 random(3);
  for (const int depth : {0, 1, 2, 5})
    for (const int64_t n : {65, 100, 777, 5000})
      for (const Shape shape : kShapes) check(shape, n, 3, depth, random);
}

// ---------------------------------------------------------------- selection

template <class K>
void check_selection(KeyKind kind) {
  std::mt19937_64 random(7);
  SortCoding c;
  c.kind = static_cast<uint8_t>(kind);
  c.infinity = sizeof(K) == 2 ? 0x7c00 : sizeof(K) == 4 ? 0x7f800000 : 0x7ff0000000000000;
  for (const uint64_t flip : {uint64_t(0), ~uint64_t(0)})
    for (const int64_t n : {1, 2, 63, 64, 65, 100, 255, 257, 1000, 16384, 16385, 40003})
      for (int shape = 0; shape < 5; ++shape) {
        c.flip = flip & ~uint64_t(0) >> (64 - 8 * sizeof(K));
        const KeyCode<K> code{kind, static_cast<K>(c.infinity)};
        std::vector<K> in(static_cast<size_t>(n)), keys;
        for (int64_t i = 0; i < n; ++i) {
          const uint64_t r = random();
          K& x = in[static_cast<size_t>(i)];
          x = static_cast<K>(shape == 0   ? r
                             : shape == 1 ? r % 3
                             : shape == 2 ? ~uint64_t(0)
                             : shape == 3 ? i
                                          : ~(r % 7));
          keys.push_back(static_cast<K>(code.encode(x) ^ static_cast<K>(c.flip)));
        }
        const auto* const from = reinterpret_cast<const char*>(in.data());
        std::vector<K> sorted = keys;
        std::sort(sorted.begin(), sorted.end());
        std::vector<int64_t> scratch(static_cast<size_t>(select_words(n)));
        for (const int64_t k : {int64_t(0), int64_t(1), n / 7, n / 2, n - 1}) {
          if (k >= n) continue;
          const K want = sorted[static_cast<size_t>(k)];
          ASSERT_EQ(kth_key<K>(from, n, k, c, scratch.data()), want) << n << ", " << k << ", shape " << shape;
          ASSERT_EQ(find_key<K>(from, n, c, want), std::find(keys.begin(), keys.end(), want) - keys.begin());
          ASSERT_EQ(count_key<K>(from, n, c, want), std::count(keys.begin(), keys.end(), want));
          std::vector<uint32_t> places(static_cast<size_t>(n)), below;
          for (size_t i = 0; i < keys.size(); ++i)
            if (keys[i] < want) below.push_back(static_cast<uint32_t>(i));
          places.resize(static_cast<size_t>(places_below<K>(from, n, c, want, places.data())));
          ASSERT_EQ(places, below);
        }
        std::vector<K> values(static_cast<size_t>(n)), different = sorted;
        different.erase(std::unique(different.begin(), different.end()), different.end());
        const int64_t found = distinct_keys<K>(reinterpret_cast<char*>(values.data()), from, n, c, scratch.data());
        ASSERT_EQ(found, static_cast<int64_t>(different.size()));
        for (size_t i = 0; i < different.size(); ++i)
          ASSERT_EQ(values[i], code.decode(static_cast<K>(different[i] ^ static_cast<K>(c.flip))));
        const K absent = static_cast<K>(sorted.back() + 1);
        if (absent != 0) {
          ASSERT_EQ(find_key<K>(from, n, c, absent), n);
        }
      }
}
TEST(Selection, OfOneByte) { check_selection<uint8_t>(KeyKind::Signed); }
TEST(Selection, OfTwoBytes) { check_selection<uint16_t>(KeyKind::Float); }
TEST(Selection, OfFourBytes) { check_selection<uint32_t>(KeyKind::Float); }
TEST(Selection, OfEightBytes) { check_selection<uint64_t>(KeyKind::Float); }
TEST(Selection, OfUnsignedWords) { check_selection<uint64_t>(KeyKind::Unsigned); }

// ---------------------------------------------------------------- short rows

enum class Bits { Any, Few, NearOne, NearOneAndFar, Equal };

template <class K>
std::vector<K> bits_of(Bits bits, size_t n, std::mt19937_64& random) {
  const K one = static_cast<K>(K(0x3f) << (8 * sizeof(K) - 8));  // near 1 as a float
  std::vector<K> x(n);
  for (K& k : x) {
    const uint64_t r = random();
    switch (bits) {
      case Bits::Any: k = static_cast<K>(r); break;
      case Bits::Few: k = static_cast<K>(r % 7); break;
      case Bits::NearOne: k = static_cast<K>(one + r % 50); break;
      // Apart in bits that words have no room for, and by bits beside which these are the last ones.
      case Bits::NearOneAndFar: k = static_cast<K>(r >> 32 & 7 ? one + r % 50 : r); break;
      case Bits::Equal: k = one; break;
    }
  }
  return x;
}

// How many rows had to be sorted in another way.
template <class K>
int64_t check_short(Bits bits, KeyKind kind, bool descending, int64_t n, int64_t rows, std::mt19937_64& random) {
  const auto total = static_cast<size_t>(n * rows);
  const std::vector<K> in = bits_of<K>(bits, total, random);
  SortCoding c;
  c.kind = static_cast<uint8_t>(kind);
  c.infinity = sizeof(K) == 2 ? 0x7c00 : sizeof(K) == 4 ? 0x7f800000 : 0x7ff0000000000000;
  c.flip = descending ? static_cast<K>(~K(0)) : 0;
  const KeyCode<K> code{kind, static_cast<K>(c.infinity)};
  constexpr K guard = static_cast<K>(0x5a5a5a5a5a5a5a5a);
  std::vector<K> values(total + 64, guard);
  std::vector<int64_t> index(total + 64, kGuard), alone(total + 64, kGuard);
  std::vector<int64_t> memory(static_cast<size_t>(short_row_bytes(n) / 8 + 16), kGuard);
  char* scratch = reinterpret_cast<char*>(memory.data());
  scratch += -reinterpret_cast<uintptr_t>(scratch) % 64;
  char* const end = scratch + short_row_bytes(n);
  const std::string before(end, reinterpret_cast<char*>(memory.data() + memory.size()));
  int64_t again = 0, sorted = 0, others = 0;
  for (; sorted < rows; sorted += again, others += again) {
    const auto at = static_cast<size_t>(sorted * n);
    const auto* from = reinterpret_cast<const char*>(in.data() + at);
    const int64_t done = sort_short_rows<K>(reinterpret_cast<char*>(values.data() + at), index.data() + at, from, n,
                                            rows - sorted, c, scratch, &again);
    EXPECT_EQ(done, sort_short_rows<K>(nullptr, alone.data() + at, from, n, rows - sorted, c, scratch, &again));
    for (int64_t r = sorted; r < sorted + done; ++r) {
      const K* const row = in.data() + r * n;
      std::vector<int64_t> want(static_cast<size_t>(n));
      for (int64_t j = 0; j < n; ++j) want[static_cast<size_t>(j)] = j;
      std::stable_sort(want.begin(), want.end(), [&](int64_t a, int64_t b) {
        return static_cast<K>(code.encode(row[a]) ^ c.flip) < static_cast<K>(code.encode(row[b]) ^ c.flip);
      });
      for (int64_t j = 0; j < n; ++j) {
        const auto to = static_cast<size_t>(r * n + j);
        const int64_t from_place = want[static_cast<size_t>(j)];
        EXPECT_EQ(index[to], from_place) << n << " of row " << r << " of " << rows << ", place " << j;
        EXPECT_EQ(alone[to], from_place);
        EXPECT_EQ(values[to], kind == KeyKind::Bool ? row[from_place] != 0 : row[from_place]);
      }
    }
    sorted += done;
    if (sorted == rows || ::testing::Test::HasFailure()) break;
  }
  for (size_t i = 0; i < 64; ++i)
    EXPECT_TRUE(values[total + i] == guard && index[total + i] == kGuard && alone[total + i] == kGuard);
  EXPECT_EQ(before, std::string(end, before.size()));
  return others;
}

template <class K>
void check_short_of_size(std::initializer_list<KeyKind> kinds) {
  std::mt19937_64 random(4);
  std::vector<int64_t> lengths{95,  96,  97,  127, 128, 129,  136,  192,  255,
                               256, 257, 511, 513, 777, 1023, 1024, 2047, kShortRow};
  for (int64_t n = 2; n < 75; ++n) lengths.push_back(n);
  for (const KeyKind kind : kinds)
    for (const Bits bits : {Bits::Any, Bits::Few, Bits::NearOne, Bits::NearOneAndFar, Bits::Equal})
      for (const int64_t n : lengths) {
        const int64_t rows = n > 75       ? 3 * kAtOnce - 1
                             : n % 4 == 0 ? 1
                             : n % 4 == 1 ? kAtOnce
                             : n % 4 == 2 ? kAtOnce + 1
                                          : 3 * kAtOnce - 1;
        const int64_t others = check_short<K>(bits, kind, n % 3 == 0, n, rows, random);
        const bool few_far = sizeof(K) >= 4 && bits == Bits::NearOneAndFar;
        if ((n <= 2 * kFew && !few_far) || (n > 75 && (bits == Bits::Equal || bits == Bits::Few))) {
          ASSERT_EQ(others, 0);
        }
        ASSERT_FALSE(::testing::Test::HasFailure());
      }
}
// Three rows of words of 32 bits by partitions, with what stands behind them.
template <class W, class SomeLeaves>
void check_narrow_runs(int64_t n, int depth, std::mt19937_64& random) {
  std::vector<W> words(static_cast<size_t>(3 * n + kSortSlack)), scratch(static_cast<size_t>(n + kSortSlack));
  for (W& w : words) w = static_cast<W>(random());
  for (int64_t i = 0; i < 3 * n; ++i) {  // distinct in a row
    W& w = words[static_cast<size_t>(i)];
    w = static_cast<W>((w & ~W(4095)) | static_cast<W>(i % n));
  }
  std::vector<W> want = words;
  SomeLeaves leaves;
  for (int64_t r = 0; r < 3; ++r) {
    std::sort(want.begin() + r * n, want.begin() + (r + 1) * n);
    sort_run(Run<1, W>{{words.data() + r * n}}, n, Run<1, W>{{scratch.data()}}, depth, &leaves);
  }
  leaves.sort();
  ASSERT_EQ(words, want) << n << " at depth " << depth;
}
template <class W, class SomeLeaves>
void check_narrow_runs_of_every_length() {
  std::mt19937_64 random(5);
  for (const int depth : {0, 1, 3, 40})
    for (int64_t n = 1; n <= kShortRow; n += n < 300 ? 1 : 97) check_narrow_runs<W, SomeLeaves>(n, depth, random);
}
TEST(ShortRows, RunsOfNarrowWords) {
  check_narrow_runs_of_every_length<uint32_t, Leaves<1, uint32_t>>();
  check_narrow_runs_of_every_length<uint32_t, LoneLeaves<uint32_t>>();
  check_narrow_runs_of_every_length<int64_t, LoneLeaves<int64_t>>();
}
template <class K>
void check_few_rows(KeyKind kind) {
  std::mt19937_64 random(6);
  for (const int64_t n : {65, 66, 71, 72, 100, 127, 129, 500, 1000, 1023, 1024, 1025, 3001})
    for (const Bits bits : {Bits::Any, Bits::Few, Bits::NearOne, Bits::NearOneAndFar, Bits::Equal})
      for (const int64_t rows : {1, 2, 3, 9}) {
        const int64_t others = check_short<K>(bits, kind, n % 2 == 0, n, rows, random);
        ASSERT_FALSE(::testing::Test::HasFailure());
        if (bits == Bits::Any) {
          ASSERT_EQ(others, 0) << n << ", " << rows;
        }
      }
}
TEST(ShortRows, FewOfFourBytes) { check_few_rows<uint32_t>(KeyKind::Float); }
TEST(ShortRows, FewOfEightBytes) { check_few_rows<uint64_t>(KeyKind::Signed); }
TEST(ShortRows, FewOfTwoBytes) { check_few_rows<uint16_t>(KeyKind::Unsigned); }
TEST(ShortRows, OfOneByte) { check_short_of_size<uint8_t>({KeyKind::Bool, KeyKind::Signed, KeyKind::Unsigned}); }
TEST(ShortRows, OfTwoBytes) { check_short_of_size<uint16_t>({KeyKind::Float, KeyKind::Signed, KeyKind::Unsigned}); }
TEST(ShortRows, OfFourBytes) { check_short_of_size<uint32_t>({KeyKind::Float, KeyKind::Signed, KeyKind::Unsigned}); }
TEST(ShortRows, OfEightBytes) { check_short_of_size<uint64_t>({KeyKind::Float, KeyKind::Signed, KeyKind::Unsigned}); }

}  // namespace
}  // namespace STRIDED_ISA
}  // namespace strided
