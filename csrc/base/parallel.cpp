#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/ref.h"
#include "base/unlocked.h"

namespace strided {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(100);
constexpr auto kPatience = std::chrono::microseconds(500);  // before let_back
constexpr auto kSpin = std::chrono::microseconds(50);
constexpr int64_t kPieceGrains = 64;  // between two looks at signals: about a millisecond

HostLock host_lock;
std::atomic<int> unlocked{0};  // objects of GilRelease that are alive

thread_local bool inside = false;
thread_local bool lock_released = false;  // by a GilRelease of this thread
thread_local std::chrono::steady_clock::time_point next_poll;
thread_local const std::atomic<bool>* job_stopped = nullptr;  // of the job this thread works for

struct Stopped {};  // thrown where a job is left that has its exception already

// Runs the handlers of pending signals, now and then. Only the main thread of a process handles signals.
void poll_host() {
  if (!lock_released || host_lock.poll == nullptr) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_poll) return;
  next_poll = now + kPollInterval;
  if (syscall(SYS_gettid) != getpid()) return;
  // A handler may call the library. Its loops run inline: this thread may hold the pool.
  struct Inside {
    const bool before = inside;
    Inside() { inside = true; }
    ~Inside() { inside = before; }
  } const guard;
  host_lock.poll();
}

// fn on [begin, end) in pieces, with a look at signals between them.
void run_pieces(int64_t begin, int64_t end, int64_t grain, void (*fn)(int64_t, int64_t, void*), void* ctx) {
  const int64_t piece = grain > (end - begin) / kPieceGrains ? end - begin : grain * kPieceGrains;
  for (; end - begin > piece; begin += piece) {
    fn(begin, begin + piece, ctx);
    check_interrupt();
  }
  fn(begin, end, ctx);
}

int read_env(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return 0;
  const int n = std::atoi(text);
  return n > 0 ? n : 0;
}

int cgroup_cpus() {
  // cgroup v2: "<quota> <period>" or "max <period>".
  std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "r");
  if (file == nullptr) return 0;
  long quota = 0, period = 0;
  const int read = std::fscanf(file, "%ld %ld", &quota, &period);
  std::fclose(file);
  return read == 2 && quota > 0 && period > 0 ? static_cast<int>((quota + period - 1) / period) : 0;
}

int allowed_cpus() {
  int n = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) n = CPU_COUNT(&set);
  if (int limit = cgroup_cpus()) n = std::min(n, limit);
  return std::max(n, 1);
}
int default_threads() {
  if (int n = read_env("STRIDED_NUM_THREADS")) return n;
  if (int n = read_env("OMP_NUM_THREADS")) return n;
  return allowed_cpus();
}

// Until it holds, or the time that falling asleep and being woken up costs is over.
template <class Condition>
void spin_until(const Condition& holds) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  while (!holds() && std::chrono::steady_clock::now() < end) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
}

struct Job {
  void (*fn)(int64_t, int64_t, void*);
  void* ctx;
  int64_t begin, end, step, grain;
  std::atomic<int64_t> next{0};  // ranges handed out
  int64_t ranges;
  std::atomic<bool> stop{false};
  std::mutex error_mutex;
  std::exception_ptr error;

  void fail() {
    std::lock_guard<std::mutex> lock(error_mutex);
    if (!error) error = std::current_exception();
    stop.store(true, std::memory_order_relaxed);
  }

  void work() {
    inside = true;
    job_stopped = &stop;
    try {
      for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < ranges;) {
        run_pieces(begin + i * step, std::min(end, begin + (i + 1) * step), grain, fn, ctx);
        check_interrupt();
      }
    } catch (...) {
      fail();
    }
    job_stopped = nullptr;
    inside = false;
  }
};

// Which processors the workers may run on. Linux often wakes a thread on the processor of the thread that wakes it,
// where it waits: two threads then take as long as one. So workers may not run on the caller's processor while it
// computes. They may again when the caller waits for them, because another program may keep their processors busy.
class Placement {
 public:
  void add(pthread_t worker) {
    workers_.push_back(worker);
    avoided_ = -1;  // it may run where its maker may
  }
  void keep_off_mine() {
#if defined(__linux__)
    const int mine = sched_getcpu();
    if (mine == avoided_ || mine < 0) return;
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
    if (static_cast<size_t>(CPU_COUNT(&allowed)) <= workers_.size()) return;  // they would share what is left
    CPU_CLR(mine, &allowed);
    place(allowed, mine);
#endif
  }
  void let_back() {
#if defined(__linux__)
    cpu_set_t allowed;
    if (avoided_ >= 0 && sched_getaffinity(0, sizeof(allowed), &allowed) == 0) place(allowed, -1);
#endif
  }

 private:
#if defined(__linux__)
  void place(const cpu_set_t& allowed, int avoided) {
    for (pthread_t worker : workers_) pthread_setaffinity_np(worker, sizeof(allowed), &allowed);
    avoided_ = avoided;
  }
#endif
  int avoided_ = -1;  // the processor that workers are kept off; -1: none
  std::vector<pthread_t> workers_;
};

class Pool {
 public:
  // One job at a time; whoever finds the pool busy runs its own loop inline.
  bool run(Job& job, int threads) {
    std::unique_lock<std::mutex> busy(busy_, std::try_to_lock);
    if (!busy.owns_lock()) return false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      while (workers_ < threads - 1) {
        // The system may refuse a thread: limits of processes, little memory. Those that are there do the work.
        try {
          std::thread thread([this, id = workers_] { worker(id); });
          placement_.add(thread.native_handle());
          thread.detach();
        } catch (const std::system_error&) {
          break;
        }
        ++workers_;
      }
      job_ = &job;
      wanted_ = std::min(workers_, threads - 1);
      running_ = wanted_;
      ++generation_;
      placement_.keep_off_mine();
    }
    wake_.notify_all();
    job.work();
    const auto done = [&] { return running_ == 0; };
    if (spins(threads)) spin_until(done);
    std::unique_lock<std::mutex> lock(mutex_);
    if (!done_.wait_for(lock, kPatience, done)) placement_.let_back();
    while (!done_.wait_for(lock, kPollInterval, done)) {
      lock.unlock();
      try {
        poll_host();
      } catch (...) {
        job.fail();
      }
      lock.lock();
    }
    job_ = nullptr;
    return true;
  }

 private:
  // Where each thread has a processor, a thread looks for a while whether there is something to do before it sleeps:
  // many short loops in a row then cost no calls of the system.
  bool spins(int threads) const { return threads <= cpus_; }

  void worker(int id) {
    uint64_t seen = 0;
    for (;;) {
      const auto called = [&] { return generation_ != seen; };
      if (spins(id + 2)) spin_until(called);
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, called);
      seen = generation_;
      if (job_ == nullptr || id >= wanted_) continue;
      Job* job = job_;
      lock.unlock();
      job->work();
      lock.lock();
      if (--running_ == 0) done_.notify_one();
    }
  }

  std::mutex busy_, mutex_;
  std::condition_variable wake_, done_;
  Placement placement_;
  const int cpus_ = allowed_cpus();
  Job* job_ = nullptr;
  std::atomic<uint64_t> generation_{0};  // these two are written under the mutex
  std::atomic<int> running_{0};
  int workers_ = 0, wanted_ = 0;
};

std::atomic<int> thread_count{0};
std::atomic<Pool*> pool{nullptr};

// Threads do not survive fork(): the child forgets the parent's pool (its memory is left alone, its locks may be held)
// and makes a new one when it first needs it.
void forget_pool() {
  pool.store(nullptr);
  inside = false;
}

Pool& get_pool() {
  Pool* p = pool.load(std::memory_order_acquire);
  if (p != nullptr) return *p;
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, forget_pool); });
  Pool* fresh = new Pool;
  Pool* expected = nullptr;
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

bool in_parallel_region() { return inside; }

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
  if (job_stopped != nullptr && job_stopped->load(std::memory_order_relaxed)) throw Stopped{};
  poll_host();
}

void parallel_for(int64_t begin, int64_t end, int64_t grain, void (*fn)(int64_t, int64_t, void*), void* ctx) {
  const int64_t n = end - begin;
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int threads = num_threads();
  if (n <= grain || inside) return fn(begin, end, ctx);
  const GilRelease unlocked;
  if (threads == 1) return run_pieces(begin, end, grain, fn, ctx);
  Job job;
  job.fn = fn;
  job.ctx = ctx;
  job.begin = begin;
  job.end = end;
  job.grain = grain;
  // A few ranges for each thread, so that a thread that started late finds less left to do. Rather one more than larger
  // ones: 10 tasks in pairs would be 5 ranges, of which one of two threads gets three.
  const int64_t wanted = std::min<int64_t>((n + grain - 1) / grain, 4 * static_cast<int64_t>(threads));
  job.step = std::max(grain, n / wanted);
  job.ranges = (n + job.step - 1) / job.step;
  const int used = static_cast<int>(std::min<int64_t>(threads, job.ranges));
  if (used == 1 || !get_pool().run(job, used)) return run_pieces(begin, end, grain, fn, ctx);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace strided
