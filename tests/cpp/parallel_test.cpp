// The thread pool: every index once, errors reach the caller, nesting and forking work.
#include "base/parallel.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
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

// Runs a job whose ranges wait for `microseconds` or until two threads have come. Returns the workers that came.
std::set<pthread_t> threads_that_come(int microseconds) {
  std::mutex mutex;
  std::set<pthread_t> ids;
  std::atomic<size_t> came{0};
  parallel_for(0, 8, 1, [&](int64_t, int64_t) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      ids.insert(pthread_self());
      came = ids.size();
    }
    for (int i = 0; i < microseconds / 100 && came < 2; ++i) usleep(100);
  });
  ids.erase(pthread_self());
  return ids;
}

// The same until some come: a job that was short is not shared at once when it is long.
std::set<pthread_t> workers_that_come() {
  std::set<pthread_t> workers;
  for (int round = 0; round < 100 && workers.empty(); ++round) workers = threads_that_come(10000);
  return workers;
}

TEST(Parallel, SeveralThreadsWork) {
  Threads use(4);
  EXPECT_FALSE(workers_that_come().empty());
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

// What a worker does that has lost its processor: it waits in a handler of a signal until it is let go.
std::atomic<bool> in_handler{false}, let_go{false};
void wait_in_handler(int) {
  in_handler = true;
  while (!let_go) usleep(100);
}

TEST(Parallel, NobodyWaitsForAWorkerThatHasNotBegun) {
  Threads use(2);
  const std::set<pthread_t> workers = workers_that_come();
  ASSERT_EQ(workers.size(), 1u);
  usleep(20000);  // it falls asleep
  in_handler = let_go = false;
  struct sigaction before, handler{};
  handler.sa_handler = wait_in_handler;
  ASSERT_EQ(sigaction(SIGUSR1, &handler, &before), 0);
  ASSERT_EQ(pthread_kill(*workers.begin(), SIGUSR1), 0);
  while (!in_handler) usleep(100);
  std::atomic<bool> done{false}, late{false};
  std::thread watch([&] {
    for (int i = 0; i < 20000 && !done; ++i) usleep(1000);
    late = !done;
    let_go = true;
  });
  for (int round = 0; round < 20; ++round) EXPECT_EQ(visits(0, 1000, 1), std::vector<int>(1000, 1));
  done = true;
  watch.join();
  EXPECT_FALSE(late);
  EXPECT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
  EXPECT_EQ(workers_that_come(), workers);  // it works again
}

// A worker begins a range and is kept from ending it: the job takes far longer than its caller alone would need.
TEST(Parallel, ThePoolRestsWhenItLost) {
  Threads use(2);
  bool rested = false;
  for (int round = 0; round < 50 && !rested; ++round) {
    const auto caller = std::this_thread::get_id();
    std::atomic<bool> came{false};
    parallel_for(0, 8, 1, [&](int64_t, int64_t) {
      if (std::this_thread::get_id() != caller) {
        came = true;
        usleep(20000);
      } else {
        for (int i = 0; i < 20 && !came; ++i) usleep(50);
      }
    });
    rested = came && threads_that_come(1000).empty();
    usleep(150000);  // longer than any rest
  }
  EXPECT_TRUE(rested);
  EXPECT_EQ(workers_that_come().size(), 1u);
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
