// The worker threads of parallel_for, and when calling them pays.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

namespace strided {

int allowed_cpus();  // those this process may run on: affinity mask and cgroup quota

// One parallel_for. Its indices are cut into ranges, which are handed out one by one.
struct Job {
  Job(void (*function)(int64_t, int64_t, void*), void* context, int64_t first, int64_t count, int64_t least,
      void (*check)())
      : fn(function), ctx(context), begin(first), n(count), grain(least), look(check) {}

  void (*const fn)(int64_t, int64_t, void*);
  void* const ctx;
  const int64_t begin, n, grain;
  void (*const look)();  // handles signals now and then; it throws when the job is to end
  int64_t ranges = 1;    // their lengths differ by one at most
  std::atomic<bool> stop{false};
  std::mutex error_mutex;
  std::exception_ptr error;

  // Where a range begins, and the range before it ends.
  int64_t start_of(int64_t range) const {
    const int64_t longer = n % ranges;
    return begin + range * (n / ranges) + (range < longer ? range : longer);
  }
  void run(int64_t from, int64_t to) const;  // these indices
  void fail();  // keeps the exception that is being handled, if it is the first, and lets no further range start
};

// The job that this thread works for.
inline thread_local const Job* current_job = nullptr;

// Note [When another thread pays]
// A worker that looks for work has it within a microsecond. One that sleeps costs its caller a call of the system, and
// begins some tens of microseconds later, on a virtual machine above all. Whether it pays depends on how long the work
// takes, and none of these times is the same on two machines. So all are measured while programs run: hand-overs and
// calls by the pool, and work by what an index of this function took in the last range of about this length. Work of
// unknown length is shared.
// A sleeping worker is called for work that takes longer than the call and the wake-up. Shorter pieces of work in a row
// call it when together they do.
// A caller waits for no worker that has not begun: the others do its share. Where one has begun and then loses its
// processor to another program, the caller may lose more than it gains. The pool then rests for ten times as long as
// was lost, so that a busy neighbour costs a tenth at most.
class ThreadPool {
 public:
  // Runs a job on up to `threads` threads, this one included; on this one alone while another thread uses the pool, or
  // where more do not pay. Exceptions of the job go to the caller.
  void run(Job& job, int threads);

 private:
  using Clock = std::chrono::steady_clock;

  // What one thread of a job has to itself. The caller is the first one.
  struct alignas(64) Participant {
    // What is left of its share: the first range in 32 bits, the end in 32. The thread itself takes the first range;
    // threads whose share is done take the last one. So each thread meets the same part of the data in call after call,
    // which its cache then holds.
    std::atomic<uint64_t> left{0};
    std::mutex mutex;  // of what follows
    std::condition_variable wake;
    bool asleep = false, called = false;
    Clock::time_point called_at;

    void set(int64_t first, int64_t end) {
      left.store(static_cast<uint64_t>(first) | static_cast<uint64_t>(end) << 32, std::memory_order_relaxed);
    }
    int64_t take(bool last);  // -1: none is left
  };

  // Which processors the workers may run on. Linux often wakes a thread on the processor of the thread that wakes it,
  // where it waits: two threads then take as long as one. So workers may not run on the caller's processor while it
  // computes. They may again when the caller waits for them, because another program may keep their processors busy.
  class Placement {
   public:
    void add(pthread_t worker);
    void keep_off_mine();
    void let_back();

   private:
    void place(const void* allowed, int avoided);
    int avoided_ = -1;  // the processor that workers are kept off; -1: none
    std::vector<pthread_t> workers_;
  };

  // A time that is measured again and again. A single long sample counts little.
  class Measured {
   public:
    Measured(double first, double most) : value_(first), most_(most) {}
    double nanoseconds() const { return value_.load(std::memory_order_relaxed); }
    void add(Clock::duration sample);

   private:
    std::atomic<double> value_;
    const double most_;
  };

  // Nanoseconds that an index took, by function and length. Jobs whose keys collide forget each other's.
  class Rates {
   public:
    double get(const Job& job) const;  // 0: not known
    void set(const Job& job, double rate);

   private:
    struct Entry {
      std::atomic<uint64_t> key{0};
      std::atomic<double> rate{0};
    };
    static uint64_t key_of(const Job& job);
    std::array<Entry, 256> entries_;
  };

  // Whether each of so many threads has a processor.
  bool spins(int threads) const { return threads <= cpus_; }
  bool share(Job& job, int threads, double expected, Clock::time_point start);
  int make_participants(int threads);
  void call_sleepers(int count, double work);
  int64_t work(Job& job, int own, int count);
  bool wait(Job& job, int count);
  void serve(int id, Participant& participant);
  void join(int id, Participant& participant, uint64_t& seen);

  const int cpus_ = allowed_cpus();
  std::mutex busy_;  // held by the caller whose job this is
  std::vector<std::unique_ptr<Participant>> participants_;
  Placement placement_;
  Job* job_ = nullptr;
  Clock::time_point opened_, last_end_, rest_until_;
  double expected_ = 0;  // nanoseconds of the job; 0: not known
  double missed_ = 0;    // of jobs in a row for which no sleeping worker was called
  bool called_ = false;  // all that sleep were called, or none does

  alignas(64) std::atomic<uint64_t> state_{0};  // of the job, see thread_pool.cpp
  alignas(64) std::atomic<int> sleepers_{0};
  std::atomic<bool> waiting_{false};  // the caller sleeps until the workers are done
  std::mutex done_mutex_;
  std::condition_variable done_;
  Measured hand_over_{500, 2000}, calling_{5000, 20000}, waking_{30000, 100000};
  Rates rates_;
};

}  // namespace strided
