// The list of sizes: every change compared with std::vector, across the border between inline and heap storage.
#include "base/dims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

namespace strided {
namespace {

void expect_same(const Dims& d, const std::vector<int64_t>& v) {
  ASSERT_EQ(d.size(), v.size());
  EXPECT_EQ(d.empty(), v.empty());
  EXPECT_TRUE(std::equal(v.begin(), v.end(), d.begin(), d.end()));
  EXPECT_EQ(d, Dims(v));
}

TEST(Dims, RandomChangesAgreeWithVector) {
  std::mt19937 rng(1);
  for (int round = 0; round < 200; ++round) {
    Dims d;
    std::vector<int64_t> v;
    for (int step = 0; step < 60; ++step) {
      const int64_t value = static_cast<int64_t>(rng()) - (int64_t(1) << 31);
      const size_t at = v.empty() ? 0 : rng() % v.size();
      switch (rng() % 8) {
        case 0:
        case 1:
        case 2: d.push_back(value), v.push_back(value); break;
        case 3: d.insert(at, value), v.insert(v.begin() + at, value); break;
        case 4:
          if (!v.empty()) d.erase(at), v.erase(v.begin() + at);
          break;
        case 5:
          if (!v.empty()) d.pop_back(), v.pop_back();
          break;
        case 6: {
          const size_t n = rng() % 20;
          d.resize(n, value), v.resize(n, value);
          break;
        }
        case 7: {  // through a copy and two moves
          Dims copy(d);
          Dims moved(std::move(copy));
          d.clear();
          d = std::move(moved);
          break;
        }
      }
      expect_same(d, v);
    }
  }
}

TEST(Dims, CopyIsIndependent) {
  for (size_t n : {size_t(0), size_t(3), size_t(6), size_t(7), size_t(64)}) {
    Dims a(n, 5);
    Dims b = a;
    if (n) b[0] = 9;
    EXPECT_EQ(a, Dims(n, 5));
    const Dims& itself = a;
    a = itself;  // keeps the content
    EXPECT_EQ(a, Dims(n, 5));
    Dims c;
    c = std::move(a);
    EXPECT_EQ(c, Dims(n, 5));
    EXPECT_TRUE(a.empty());  // NOLINT: a moved-from list is empty and usable
    a.push_back(1);
    EXPECT_EQ(a, Dims({1}));
  }
}

TEST(Dims, ComparesAndPrints) {
  EXPECT_NE(Dims({1, 2}), Dims({1}));
  EXPECT_NE(Dims({1, 2}), Dims({1, 3}));
  std::ostringstream out;
  out << Dims() << Dims({7}) << Dims({2, -1, 3});
  EXPECT_EQ(out.str(), "[][7][2, -1, 3]");
}

TEST(Dims, MultiplyTellsOverflow) {
  int64_t product = 0;
  EXPECT_TRUE(multiply(int64_t(1) << 31, int64_t(1) << 31, &product));
  EXPECT_EQ(product, int64_t(1) << 62);
  EXPECT_FALSE(multiply(int64_t(1) << 32, int64_t(1) << 31, &product));
  EXPECT_FALSE(multiply(int64_t(1) << 62, -4, &product));
}

}  // namespace
}  // namespace strided
