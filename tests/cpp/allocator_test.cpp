// The caching allocator: what it gives, what it counts, what it keeps.
#include "core/allocator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#define SKIP_UNDER_ADDRESS_SANITIZER(why) GTEST_SKIP() << "under AddressSanitizer " << (why)
#else
#define SKIP_UNDER_ADDRESS_SANITIZER(why)
#endif

namespace strided {
namespace {

TEST(Allocator, BlocksAreAlignedWritableAndApart) {
  std::mt19937_64 rng(1);
  struct Block {
    char* data;
    size_t n;
    char mark;
  };
  std::vector<Block> live;
  auto check_and_free = [&](size_t i) {
    for (size_t k : {size_t(0), live[i].n / 2, live[i].n - 1}) ASSERT_EQ(live[i].data[k], live[i].mark);
    cpu_free(live[i].data, live[i].n);
    live.erase(live.begin() + i);
  };
  for (int step = 0; step < 4000; ++step) {
    if (live.size() > 60 || (!live.empty() && rng() % 3 == 0)) {
      check_and_free(rng() % live.size());
      continue;
    }
    const size_t n = 1 + (rng() >> (41 + rng() % 20));  // up to 8 MiB, small ones more often
    char* data = static_cast<char*>(cpu_allocate(n));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(data) % kAlignment, 0u);
    const char mark = static_cast<char>(rng());
    std::memset(data, mark, n);
    live.push_back({data, n, mark});
  }
  while (!live.empty()) check_and_free(0);
}

TEST(Allocator, BlocksOfSeveralPagesBeginAtAPage) {
  for (const size_t n : {16384, 20000, 40000, 250000, 1000000, 3000000}) {
    void* const data = cpu_allocate(n);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 4096, 0u) << n;
    cpu_free(data, n);
  }
}

// The system would make a page for it.
TEST(Allocator, FreedLargeBlocksAreNotWrittenTo) {
  SKIP_UNDER_ADDRESS_SANITIZER("nothing is kept");
  const size_t n = 5 << 20;
  char* const data = static_cast<char*>(cpu_allocate(n));
  std::memset(data, 'x', n);
  cpu_free(data, n);
  char* const again = static_cast<char*>(cpu_allocate(n));
  ASSERT_EQ(again, data);
  EXPECT_EQ(std::count(again, again + n, 'x'), static_cast<std::ptrdiff_t>(n));
  cpu_free(again, n);
}

TEST(Allocator, EmptyRequestIsNull) {
  EXPECT_EQ(cpu_allocate(0), nullptr);
  cpu_free(nullptr, 0);
}

TEST(Allocator, ClearedBlocksAreZero) {
  std::vector<size_t> sizes = {1, 4096, (size_t(4) << 20) - 1, size_t(4) << 20, (size_t(9) << 20) + 12345};
  for (size_t n : sizes) {
    for (int round = 0; round < 2; ++round) {  // the second block is the first one, written to
      char* data = static_cast<char*>(cpu_allocate(n));
      std::memset(data, -1, n);
      if (cpu_clear(data, n)) {
        EXPECT_EQ(std::count(data, data + n, 0), static_cast<std::ptrdiff_t>(n));
      } else {
        EXPECT_EQ(std::count(data, data + n, 0), 0) << "nothing was done";
      }
      cpu_free(data, n);
    }
  }
}

TEST(Allocator, FreedBlocksAreHandedOutAgain) {
  SKIP_UNDER_ADDRESS_SANITIZER("nothing is cached");
  for (size_t n : {size_t(100), size_t(10000), size_t(5) << 20}) {
    void* first = cpu_allocate(n);
    cpu_free(first, n);
    const int64_t hits = cpu_memory_stats().cache_hits;
    void* second = cpu_allocate(n);
    EXPECT_EQ(second, first) << n;
    EXPECT_EQ(cpu_memory_stats().cache_hits, hits + 1);
    cpu_free(second, n);
  }
}

TEST(Allocator, CountsBytes) {
  SKIP_UNDER_ADDRESS_SANITIZER("nothing is cached");
  cpu_reset_peak();
  const MemoryStats before = cpu_memory_stats();
  void* a = cpu_allocate(1 << 20);
  void* b = cpu_allocate(1 << 20);
  const MemoryStats during = cpu_memory_stats();
  EXPECT_GE(during.allocated - before.allocated, 2 << 20);
  EXPECT_LE(during.allocated - before.allocated, (2 << 20) * 5 / 4);  // at most a fifth of a block is unused
  EXPECT_EQ(during.allocations - before.allocations, 2);
  cpu_free(a, 1 << 20);
  cpu_free(b, 1 << 20);
  const MemoryStats after = cpu_memory_stats();
  EXPECT_EQ(after.allocated, before.allocated);
  EXPECT_EQ(after.peak_allocated, during.allocated);
  EXPECT_GE(after.cached, 2 << 20);
  cpu_reset_peak();
  EXPECT_EQ(cpu_memory_stats().peak_allocated, before.allocated);
}

TEST(Allocator, CacheHasALimitAndCanBeEmptied) {
  SKIP_UNDER_ADDRESS_SANITIZER("nothing is cached");
  const size_t n = size_t(3) << 20;
  cpu_empty_cache();
  const int64_t kept = cpu_memory_stats().cached;  // blocks that threads keep for themselves
  EXPECT_LT(kept, 4 << 20);
  cpu_set_cache_limit(0);
  cpu_free(cpu_allocate(n), n);
  EXPECT_EQ(cpu_memory_stats().cached, kept);
  cpu_set_cache_limit(int64_t(1) << 30);
  cpu_free(cpu_allocate(n), n);
  EXPECT_GE(cpu_memory_stats().cached, kept + static_cast<int64_t>(n));
  cpu_empty_cache();
  EXPECT_EQ(cpu_memory_stats().cached, kept);
}

TEST(Allocator, OldSizesMakeRoomForLargerOnes) {
  SKIP_UNDER_ADDRESS_SANITIZER("nothing is kept");
  constexpr size_t kMiB = size_t(1) << 20;
  cpu_empty_cache();
  cpu_reset_peak();
  for (size_t size = 300; size <= 700; size += 100) {
    cpu_free(cpu_allocate(size * kMiB), size * kMiB);  // their pages are not touched
    EXPECT_GE(cpu_memory_stats().cached, static_cast<int64_t>(size * kMiB));
  }
  // All five were 2500 MiB; of smaller ones so many are kept.
  EXPECT_LE(cpu_memory_stats().cached, static_cast<int64_t>((896 + 256) * kMiB));
  const int64_t hits = cpu_memory_stats().cache_hits;
  cpu_free(cpu_allocate(700 * kMiB), 700 * kMiB);
  EXPECT_EQ(cpu_memory_stats().cache_hits, hits + 1);
  cpu_empty_cache();
}

TEST(Allocator, ImpossibleRequestsRaiseAndCountNothing) {
  const MemoryStats before = cpu_memory_stats();
  for (size_t n : {size_t(1) << 46, size_t(1) << 47, size_t(1) << 62, ~size_t(0)})
    EXPECT_THROW(cpu_allocate(n), OutOfMemoryError) << n;
  EXPECT_EQ(cpu_memory_stats().allocated, before.allocated);
  EXPECT_EQ(cpu_memory_stats().allocations, before.allocations);
}

TEST(Allocator, BlocksPassBetweenThreads) {
  const int64_t before = cpu_memory_stats().allocated;
  constexpr int kThreads = 4, kSlots = 64;
  std::atomic<char*> slots[kSlots] = {};
  auto size_of_slot = [](int i) { return size_t(1) << (6 + i % 14); };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 rng(t);
      for (int step = 0; step < 20000; ++step) {
        const int i = static_cast<int>(rng() % kSlots);
        char* fresh = static_cast<char*>(cpu_allocate(size_of_slot(i)));
        fresh[0] = fresh[size_of_slot(i) - 1] = static_cast<char>(i);
        if (char* old = slots[i].exchange(fresh)) {
          ASSERT_EQ(old[0], static_cast<char>(i));
          ASSERT_EQ(old[size_of_slot(i) - 1], static_cast<char>(i));
          cpu_free(old, size_of_slot(i));
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (int i = 0; i < kSlots; ++i) cpu_free(slots[i].load(), size_of_slot(i));
  EXPECT_EQ(cpu_memory_stats().allocated, before);
}

// A child forked while another thread is inside the allocator must be able to allocate.
TEST(Allocator, ForkedChildAllocates) {
  SKIP_UNDER_ADDRESS_SANITIZER("malloc itself may not be forked while threads are in it");
  const size_t n = size_t(1) << 20;
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int t = 0; t < 2; ++t)
    busy.emplace_back([&] {
      while (!stop) cpu_free(cpu_allocate(n), n);
    });
  bool alive = true;
  for (int round = 0; round < 200 && alive; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      char* data = static_cast<char*>(cpu_allocate(n));
      data[0] = data[n - 1] = 1;
      cpu_free(data, n);
      _exit(0);
    }
    int status = -1;
    alive = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    EXPECT_TRUE(alive) << "child " << child << " of round " << round << " ended with status " << status;
  }
  stop = true;
  for (std::thread& t : busy) t.join();
}

}  // namespace
}  // namespace strided
