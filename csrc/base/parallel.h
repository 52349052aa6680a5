// The thread pool: contiguous ranges of an index space, run by the caller and parked worker threads.
#pragma once

#include <cstdint>
#include <mutex>
#include <type_traits>

namespace strided {

// Number of threads a parallel_for may use (the caller included). At first: the CPUs this process may run on
// (affinity mask and cgroup quota), or STRIDED_NUM_THREADS / OMP_NUM_THREADS when set.
int num_threads();
void set_num_threads(int n);
bool in_parallel_region();

// The lock of the interpreter the library is called from, if it is called from one (Python's GIL). `release` gives it
// up and returns what `acquire` needs to have it back, or null when this thread does not hold it. `poll` takes the lock
// for a moment and runs the handlers of pending signals; it throws when one of them raises (Ctrl-C).
struct HostLock {
  void* (*release)() = nullptr;
  void (*acquire)(void* state) = nullptr;
  void (*poll)() = nullptr;
};
void set_host_lock(HostLock lock);

// While one lives, other threads of the interpreter run. Every parallel_for that is worth splitting has one; kernels
// that take as long without it make their own. Nothing of the interpreter may be touched meanwhile.
class GilRelease {
 public:
  explicit GilRelease(bool when = true);
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;

 private:
  void* state_ = nullptr;
  bool outer_ = false;
};

// A lock_guard that waits without the interpreter's lock, so that who holds the mutex and waits for that can go on.
class GilReleasingLock {
 public:
  explicit GilReleasingLock(std::mutex& mutex) : lock_(mutex, std::try_to_lock) {
    if (lock_.owns_lock()) return;
    const GilRelease unlocked;
    lock_.lock();
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

// Splits [begin, end) into contiguous ranges of at least `grain` indices and runs fn(range_begin, range_end, ctx) on
// each. Runs inline when the range is short, inside another parallel_for, or while another thread uses the pool.
// The split never decides a result: callers must not let it.
// Signals are handled between ranges. When a range throws, or the handler of a signal raises, no further range starts
// and the first exception goes to the caller. What was written until then stays.
void parallel_for(int64_t begin, int64_t end, int64_t grain, void (*fn)(int64_t, int64_t, void*), void* ctx);

// Where one index of a parallel_for is long work, its loop calls this between chunks of about a millisecond or less. It
// throws when the work is to end.
void check_interrupt();

template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
  using Fn = std::remove_reference_t<F>;
  parallel_for(
      begin, end, grain, [](int64_t b, int64_t e, void* ctx) { (*static_cast<Fn*>(ctx))(b, e); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace strided
