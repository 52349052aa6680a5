// Handles: when the object goes, and that it goes once.
#include "base/ref.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "base/recycled.h"

namespace strided {
namespace {

struct Watched : RefCounted {
  explicit Watched(std::atomic<int>* gone) : gone(gone) {}
  ~Watched() override { ++*gone; }
  std::atomic<int>* gone;
};
struct UnderLock : Watched {
  using Watched::Watched;
  static constexpr bool kUnderLock = true;
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

TEST(Ref, CountsUnderALock) {
  static int asked;
  asked = 0;
  expect_counted<UnderLock>();  // there is none
  EXPECT_EQ(asked, 0);
  check_counts(+[] {
    ++asked;
    return true;
  });
  expect_counted<UnderLock>();
  EXPECT_GT(asked, 5);
  asked = 0;
  check_counts(nullptr);
  EXPECT_EQ(detail::counting, Counting::UnderLock);
  expect_counted<UnderLock>();
  expect_counted<Watched>();
  EXPECT_EQ(asked, 0);
  check_counts(+[] { return false; });
  EXPECT_DEATH(expect_counted<UnderLock>(), "without the interpreter's lock");
  detail::counting = Counting::Atomic;
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

struct Small : RefCounted, Recycled<Small> {
  explicit Small(int v) : value(v) {}
  int value;
};
struct Larger : Small {
  using Small::Small;
  double more[8] = {};
};

#if !defined(__SANITIZE_ADDRESS__)
TEST(Recycled, TheNextObjectTakesTheMemory) {
  auto first = std::make_unique<Small>(1);
  const void* at = first.get();
  first.reset();
  const Small again(2);  // not of the heap
  const auto second = std::make_unique<Small>(3);
  EXPECT_EQ(second.get(), at);
  const auto third = std::make_unique<Small>(4);
  EXPECT_NE(third.get(), at);
}
#endif

TEST(Recycled, ADerivedClassHasMemoryOfItsOwnSize) {
  for (int round = 0; round < 3; ++round) {
    std::unique_ptr<Small> small(new Small(1)), larger(new Larger(2));
    EXPECT_EQ(static_cast<Larger&>(*larger).more[7], 0);
    larger.reset();  // by the destructor of the base
    const auto next = std::make_unique<Small>(3);
    EXPECT_EQ(next->value, 3);
    EXPECT_EQ(small->value, 1);
  }
}

TEST(Recycled, ManyObjectsAndThreadsThatEnd) {
  std::vector<Ref<Small>> all;
  for (int i = 0; i < 5000; ++i) all.push_back(make_ref<Small>(i));
  std::set<const Small*> places;
  for (const auto& ref : all) places.insert(ref.get());
  EXPECT_EQ(places.size(), all.size());
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)  // what one thread made dies in others, which make some of their own and end
    threads.emplace_back([&all, k] {
      for (size_t i = static_cast<size_t>(k); i < all.size(); i += 4) {
        all[i] = nullptr;
        const auto own = make_ref<Small>(k);
        EXPECT_EQ(own->value, k);
        if (i % 3 == 0) all[i] = make_ref<Small>(static_cast<int>(i));
      }
    });
  for (std::thread& t : threads) t.join();
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(static_cast<bool>(all[i]), i % 3 == 0);
    if (all[i]) {
      EXPECT_EQ(all[i]->value, static_cast<int>(i));
    }
  }
}

}  // namespace
}  // namespace strided
