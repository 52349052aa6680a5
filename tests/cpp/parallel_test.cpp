// The thread pool: every index once, errors reach the caller, nesting and forking work.
#include "base/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"

namespace strided {
namespace {

// Sets the number of threads for one test.
struct Threads {
  explicit Threads(int n) : before(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
  int before;
};

// How often each index of [begin, end) was visited; what lies outside is a failure.
std::vector<int> visits(int64_t begin, int64_t end, int64_t grain) {
  std::vector<std::atomic<int>> count(end > begin ? end - begin : 0);
  parallel_for(begin, end, grain, [&](int64_t b, int64_t e) {
    ASSERT_LE(begin, b);
    ASSERT_LT(b, e);
    ASSERT_LE(e, end);
    for (int64_t i = b; i < e; ++i) count[i - begin].fetch_add(1);
  });
  return {count.begin(), count.end()};
}

TEST(Parallel, EveryIndexExactlyOnce) {
  for (int threads : {1, 2, 3, 8}) {
    Threads use(threads);
    for (int64_t n : {0, 1, 2, 7, 64, 1000, 4097})
      for (int64_t grain : {0, 1, 3, 64, 5000})
        for (int64_t begin : {int64_t(0), int64_t(-5), int64_t(1) << 40})
          ASSERT_EQ(visits(begin, begin + n, grain), std::vector<int>(n, 1)) << threads << ' ' << n << ' ' << grain;
  }
  EXPECT_TRUE(visits(5, 2, 1).empty());
}

TEST(Parallel, RangesAreNoShorterThanTheGrain) {
  Threads use(4);
  std::mutex mutex;
  std::vector<int64_t> sizes;
  parallel_for(0, 1000, 300, [&](int64_t b, int64_t e) {
    std::lock_guard<std::mutex> lock(mutex);
    sizes.push_back(e - b);
  });
  int shorter = 0;
  for (int64_t n : sizes) shorter += n < 250;  // ranges are equal; the last one takes what is left
  EXPECT_LE(shorter, 1);
  EXPECT_LE(sizes.size(), 4u);
}

TEST(Parallel, SeveralThreadsWork) {
  Threads use(4);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  std::atomic<int> waiting{0};
  // Each range waits until a second thread has come, so one thread alone cannot do them all (it gives up after a
  // while).
  parallel_for(0, 16, 1, [&](int64_t, int64_t) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      ids.insert(std::this_thread::get_id());
    }
    ++waiting;
    for (int i = 0; i < 2000 && waiting < 2; ++i) usleep(1000);
  });
  EXPECT_GE(ids.size(), 2u);
}

TEST(Parallel, ExceptionsReachTheCallerAndThePoolGoesOn) {
  Threads use(4);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> done{0};
    auto work = [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        STRIDED_CHECK(i != 33, IndexError, "bad index ", i);
        ++done;
      }
    };
    try {
      parallel_for(0, 100, 1, work);
      FAIL() << "raised nothing";
    } catch (const IndexError& error) {
      EXPECT_STREQ(error.what(), "bad index 33");
    }
    EXPECT_FALSE(in_parallel_region());
  }
  EXPECT_EQ(visits(0, 1000, 1), std::vector<int>(1000, 1));
}

TEST(Parallel, AnExceptionEndsRangesThatAsk) {
  for (int threads : {1, 4}) {
    Threads use(threads);
    std::atomic<int> left{0};
    auto work = [&](int64_t b, int64_t) {
      if (b == 0) STRIDED_THROW(ValueError, "stop");
      for (;;) {
        try {
          check_interrupt();
        } catch (...) {
          ++left;
          throw;
        }
      }
    };
    EXPECT_THROW(parallel_for(0, 64, 1, work), ValueError);
    EXPECT_NO_THROW(check_interrupt());
    EXPECT_LT(left, threads);
  }
  EXPECT_EQ(visits(0, 1000, 1), std::vector<int>(1000, 1));
}

TEST(Parallel, NestedRunsInline) {
  Threads use(4);
  EXPECT_FALSE(in_parallel_region());
  std::vector<std::atomic<int>> count(40 * 40);
  parallel_for(0, 40, 1, [&](int64_t b, int64_t e) {
    EXPECT_TRUE(in_parallel_region());
    const auto self = std::this_thread::get_id();
    for (int64_t i = b; i < e; ++i)
      parallel_for(0, 40, 1, [&](int64_t b2, int64_t e2) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        for (int64_t j = b2; j < e2; ++j) count[40 * i + j].fetch_add(1);
      });
  });
  for (auto& c : count) ASSERT_EQ(c, 1);
  EXPECT_FALSE(in_parallel_region());
}

TEST(Parallel, ManyCallersAtOnce) {
  Threads use(3);
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t)
    callers.emplace_back([] {
      for (int round = 0; round < 200; ++round) ASSERT_EQ(visits(0, 500, 7), std::vector<int>(500, 1));
    });
  for (std::thread& t : callers) t.join();
}

TEST(Parallel, NumberOfThreadsCanChange) {
  for (int n : {1, 6, 2, 4, 1}) {
    Threads use(n);
    EXPECT_EQ(num_threads(), n);
    ASSERT_EQ(visits(0, 3000, 1), std::vector<int>(3000, 1));
  }
  Threads use(2);
  set_num_threads(-3);
  EXPECT_EQ(num_threads(), 1);
}

// A child has none of its parent's threads, and must neither hang nor crash.
TEST(Parallel, ForkedChildHasItsOwnPool) {
  Threads use(3);
  ASSERT_EQ(visits(0, 1000, 1), std::vector<int>(1000, 1));  // the parent's pool runs
  std::atomic<bool> stop{false};
  std::thread busy([&] {  // and is in use while the process is forked
    while (!stop) visits(0, 2000, 1);
  });
  bool alive = true;
  for (int round = 0; round < 20 && alive; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      bool good = !in_parallel_region();
      for (int k = 0; k < 3; ++k) good = good && visits(0, 1000, 1) == std::vector<int>(1000, 1);
      _exit(good ? 0 : 1);
    }
    int status = -1;
    alive = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    EXPECT_TRUE(alive) << "child " << child << " ended with status " << status;
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace strided
