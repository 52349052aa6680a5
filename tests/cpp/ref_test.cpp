// Handles: when the object goes, and that it goes once.
#include "base/ref.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace strided {
namespace {

struct Watched : RefCounted {
  explicit Watched(std::atomic<int>* gone) : gone(gone) {}
  ~Watched() override { ++*gone; }
  std::atomic<int>* gone;
};
struct Reviving : Watched {
  using Watched::Watched;
  static constexpr bool kMayBeRevived = true;
};

template <class T>
void expect_counted() {
  std::atomic<int> gone{0};
  Ref<T> a = make_ref<T>(&gone);
  EXPECT_EQ(a->use_count(), 1);
  {
    const Ref<T> b = a, c(a.get());
    EXPECT_EQ(a->use_count(), 3);
  }
  EXPECT_EQ(a->use_count(), 1);
  const Ref<T> moved = std::move(a);
  EXPECT_EQ(moved->use_count(), 1);
  a = moved;
  a = nullptr;
  EXPECT_EQ(gone, 0);
  a = make_ref<T>(&gone);
  a = moved;
  EXPECT_EQ(gone, 1);
}

TEST(Ref, Counts) {
  expect_counted<Watched>();
  expect_counted<Reviving>();
}

TEST(Ref, LastOfManyThreads) {
  std::atomic<int> gone{0};
  for (int round = 0; round < 200; ++round) {
    Ref<Watched> first = make_ref<Watched>(&gone);
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k)
      threads.emplace_back([own = first]() mutable {
        for (int i = 0; i < 50; ++i) const Ref<Watched> copy = own;
        own = nullptr;
      });
    first = nullptr;
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(gone, round + 1);
  }
}

TEST(Ref, RevivedOnlyWhileAlive) {
  std::atomic<int> gone{0};
  Ref<Reviving> a = make_ref<Reviving>(&gone);
  {
    const Ref<Reviving> again = Ref<Reviving>::if_alive(a.get());
    EXPECT_EQ(again->use_count(), 2);
  }
  a = nullptr;
  EXPECT_EQ(gone, 1);
}

}  // namespace
}  // namespace strided
