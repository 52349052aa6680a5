// The vectorised sort of one instruction set, and its way out of bad pivots, beside std::sort.
#include "cpu/sort/sort_loops.cpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
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

}  // namespace
}  // namespace STRIDED_ISA
}  // namespace strided
