// SmallVector does what std::vector does, inside the object and outside, and loses no element.
#include "base/small_vector.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace strided {
namespace {

// A value that counts how many of it live, and is empty after it was moved from.
struct Counted {
  static int live;
  explicit Counted(int v = 0) : value(new int(v)) { ++live; }
  Counted(const Counted& o) : value(o.value ? new int(*o.value) : nullptr) { ++live; }
  Counted(Counted&& o) noexcept : value(std::move(o.value)) { ++live; }
  Counted& operator=(const Counted& o) {
    value.reset(o.value ? new int(*o.value) : nullptr);
    return *this;
  }
  Counted& operator=(Counted&& o) noexcept = default;
  ~Counted() { --live; }
  int get() const { return value ? *value : -1; }
  std::unique_ptr<int> value;
};
int Counted::live = 0;

using List = SmallVector<Counted, 3>;

void expect_same(const List& list, const std::vector<int>& model) {
  ASSERT_EQ(list.size(), model.size());
  ASSERT_EQ(list.empty(), model.empty());
  for (size_t i = 0; i < model.size(); ++i) ASSERT_EQ(list[i].get(), model[i]);
  ASSERT_EQ(list.end() - list.begin(), static_cast<ptrdiff_t>(model.size()));
  if (!model.empty()) {
    ASSERT_EQ(list.data(), list.begin());
  }
}

TEST(SmallVector, BehavesAsVector) {
  std::mt19937 rng(3);
  {
    List lists[3];
    std::vector<int> models[3];
    for (int step = 0; step < 30000; ++step) {
      const size_t a = rng() % 3, b = rng() % 3;
      List& list = lists[a];
      std::vector<int>& model = models[a];
      switch (rng() % 9) {
        case 0:
        case 1:
        case 2:
          if (model.size() < 12) {
            list.push_back(Counted(step));
            model.push_back(step);
          }
          break;
        case 3:
          if (!model.empty()) {
            ASSERT_EQ(list.back().get(), model.back());
            list.pop_back();
            model.pop_back();
          }
          break;
        case 4: {
          const size_t n = rng() % 10;
          list.resize(n);
          model.resize(n);
          break;
        }
        case 5:
          list = lists[b];  // also to itself
          model = std::vector<int>(models[b]);
          break;
        case 6:
          list = std::move(lists[b]);
          if (a != b) {
            model = std::move(models[b]);
            models[b].clear();
          }
          break;
        case 7: {
          List copy(lists[b]), moved(std::move(copy));
          expect_same(copy, {});
          list = std::move(moved);
          model = std::vector<int>(models[b]);
          break;
        }
        default:
          if (rng() % 8 == 0) {
            list.clear();
            model.clear();
          } else {
            list.reserve(rng() % 9);
          }
      }
      for (int k = 0; k < 3; ++k) expect_same(lists[k], models[k]);
      ASSERT_EQ(Counted::live, static_cast<int>(models[0].size() + models[1].size() + models[2].size()));
    }
  }
  EXPECT_EQ(Counted::live, 0);
}

TEST(SmallVector, ConstructorsAndElementsOfItsOwn) {
  {
    const List list{Counted(1), Counted(2), Counted(3), Counted(4)};
    expect_same(list, {1, 2, 3, 4});
    expect_same(List(list.begin() + 1, list.end()), {2, 3, 4});
    expect_same(List(size_t(5)), {0, 0, 0, 0, 0});
    List grows{Counted(7)};
    for (int i = 0; i < 20; ++i) grows.push_back(grows[0]);  // which is moved while the list grows
    expect_same(grows, std::vector<int>(21, 7));
  }
  EXPECT_EQ(Counted::live, 0);
}

TEST(SmallVector, MovingTakesTheMemory) {
  SmallVector<std::string, 2> list{"a", "b", "c"};
  const std::string* data = list.data();
  SmallVector<std::string, 2> other(std::move(list));
  EXPECT_EQ(other.data(), data);
  EXPECT_TRUE(list.empty());
  list.push_back("again");
  EXPECT_EQ(list[0], "again");
  EXPECT_EQ(other[2], "c");
}

}  // namespace
}  // namespace strided
