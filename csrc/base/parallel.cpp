#include "base/parallel.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>

#include "base/ref.h"
#include "base/thread_pool.h"
#include "base/unlocked.h"

namespace strided {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(100);

HostLock host_lock;
std::atomic<int> unlocked{0};  // objects of GilRelease that are alive

thread_local bool handles_signals = false;
thread_local bool lock_released = false;  // by a GilRelease of this thread
thread_local std::chrono::steady_clock::time_point next_poll;

struct Stopped {};  // thrown where a job is left that has its exception already

// Runs the handlers of pending signals, now and then. Only the main thread of a process handles signals.
void poll_host() {
  if (!lock_released || host_lock.poll == nullptr) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_poll) return;
  next_poll = now + kPollInterval;
  if (syscall(SYS_gettid) != getpid()) return;
  // A handler may call the library. Its loops run inline: this thread may hold the pool.
  struct Handling {
    const bool before = handles_signals;
    Handling() { handles_signals = true; }
    ~Handling() { handles_signals = before; }
  } const guard;
  host_lock.poll();
}

int read_env(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return 0;
  const int n = std::atoi(text);
  return n > 0 ? n : 0;
}

int default_threads() {
  if (int n = read_env("STRIDED_NUM_THREADS")) return n;
  if (int n = read_env("OMP_NUM_THREADS")) return n;
  return allowed_cpus();
}

std::atomic<int> thread_count{0};
std::atomic<ThreadPool*> pool{nullptr};

// Threads do not survive fork(): the child forgets the parent's pool (its memory is left alone, its locks may be held)
// and makes a new one when it first needs it.
void forget_pool() {
  pool.store(nullptr);
  current_job = nullptr;
  handles_signals = false;
}

ThreadPool& get_pool() {
  ThreadPool* p = pool.load(std::memory_order_acquire);
  if (p != nullptr) return *p;
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, forget_pool); });
  ThreadPool* fresh = new ThreadPool;
  ThreadPool* expected = nullptr;
  if (pool.compare_exchange_strong(expected, fresh)) return *fresh;
  delete fresh;
  return *expected;
}

}  // namespace

int num_threads() {
  int n = thread_count.load(std::memory_order_relaxed);
  if (n == 0) {
    n = default_threads();
    thread_count.store(n);
  }
  return n;
}

void set_num_threads(int n) { thread_count.store(std::max(n, 1)); }

bool in_parallel_region() { return current_job != nullptr || handles_signals; }

void set_host_lock(HostLock lock) {
  host_lock = lock;
  count_under_lock();
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { unlocked = 0; }); });
}
GilRelease::GilRelease(bool when) : outer_(lock_released) {
  if (!when || host_lock.release == nullptr) return;
  ++unlocked;  // before another thread can hold the lock
  state_ = host_lock.release();
  if (state_ == nullptr) {
    --unlocked;
    return;
  }
  lock_released = true;
  next_poll = std::chrono::steady_clock::now() + kPollInterval;
}
GilRelease::~GilRelease() {
  if (state_ == nullptr) return;
  lock_released = outer_;
  host_lock.acquire(state_);
  --unlocked;
}
bool computing_unlocked() { return unlocked.load() > 0; }

void check_interrupt() {
  if (current_job != nullptr && current_job->stop.load(std::memory_order_relaxed)) throw Stopped{};
  poll_host();
}

void parallel_for(int64_t begin, int64_t end, int64_t grain, void (*fn)(int64_t, int64_t, void*), void* ctx) {
  const int64_t n = end - begin;
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  if (n <= grain || in_parallel_region()) return fn(begin, end, ctx);
  const GilRelease unlocked;
  Job job(fn, ctx, begin, n, grain, &check_interrupt);
  const int threads = num_threads();
  if (threads == 1) return job.run(begin, end);
  // A few ranges for each thread, so that a thread that started late finds less left to do. Few ranges are as many for
  // each thread, if they need not be single indices.
  job.ranges = std::min(n / grain, 4 * static_cast<int64_t>(threads));
  if (grain > 1 && job.ranges > threads) job.ranges -= job.ranges % threads;
  if (job.ranges == 1) return job.run(begin, end);
  get_pool().run(job, static_cast<int>(std::min<int64_t>(threads, job.ranges)));
}

}  // namespace strided
