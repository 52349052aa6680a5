#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <thread>

namespace strided {
namespace {

constexpr auto kSpin = std::chrono::microseconds(50);
constexpr auto kPatience = std::chrono::microseconds(200);  // with workers that have begun, before let_back
constexpr auto kPollInterval = std::chrono::milliseconds(100);
constexpr int64_t kPieceGrains = 64;  // between two looks at signals: about a millisecond
constexpr double kLongestRest = 1e8;  // nanoseconds
constexpr int kRest = 10;             // times what was lost
constexpr double kHandOvers = 4;      // as long as these takes the least work that is worth one
constexpr double kGrowth = 8;         // of a rate: what is beyond was rather an interruption
constexpr double kUnknown = 1e18;     // nanoseconds
constexpr double kCalls = 1.5;        // as long as so many takes the work that is worth calling sleeping workers

// The state of the pool: which job it is, whether threads may still join, how many threads may take part, and how many
// workers do.
constexpr uint64_t kWorker = 1, kParticipant = 1 << 16, kOpen = uint64_t{1} << 32, kJob = uint64_t{1} << 33;
constexpr int kMostParticipants = (1 << 16) - 1;
uint64_t workers_of(uint64_t state) { return state % kParticipant; }
uint64_t participants_of(uint64_t state) { return state / kParticipant % kParticipant; }
uint64_t job_of(uint64_t state) { return state / kJob; }
bool open_for(uint64_t state, int id, uint64_t seen) {
  return (state & kOpen) != 0 && job_of(state) != seen && static_cast<uint64_t>(id) < participants_of(state);
}

double nanoseconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double, std::nano>(d).count();
}

// Whether it came to hold before the time was over that falling asleep and being woken up costs.
template <class Condition>
bool spin_until(const Condition& holds) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  return true;
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

// A thread that works for a job: its loops run inline, and end with the job.
struct Working {
  explicit Working(const Job& job) { current_job = &job; }
  ~Working() { current_job = nullptr; }
  Working(const Working&) = delete;
};

}  // namespace

int allowed_cpus() {
  int n = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) n = CPU_COUNT(&set);
  if (int limit = cgroup_cpus()) n = std::min(n, limit);
  return std::max(n, 1);
}

// In pieces, with a look at signals between them.
void Job::run(int64_t from, int64_t to) const {
  const int64_t piece = grain > (to - from) / kPieceGrains ? to - from : grain * kPieceGrains;
  for (; to - from > piece; from += piece) {
    fn(from, from + piece, ctx);
    look();
  }
  fn(from, to, ctx);
}

void Job::fail() {
  const std::lock_guard<std::mutex> lock(error_mutex);
  if (!error) error = std::current_exception();
  stop.store(true, std::memory_order_relaxed);
}

int64_t ThreadPool::Participant::take(bool last) {
  uint64_t now = left.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t first = now & 0xffffffff, end = now >> 32;
    if (first >= end) return -1;
    const uint64_t then = last ? first | (end - 1) << 32 : (first + 1) | end << 32;
    if (left.compare_exchange_weak(now, then, std::memory_order_relaxed))
      return static_cast<int64_t>(last ? end - 1 : first);
  }
}

void ThreadPool::Placement::add(pthread_t worker) {
  workers_.push_back(worker);
  avoided_ = -1;  // it may run where its maker may
}
void ThreadPool::Placement::keep_off_mine() {
#if defined(__linux__)
  const int mine = sched_getcpu();
  if (mine == avoided_ || mine < 0) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  if (static_cast<size_t>(CPU_COUNT(&allowed)) <= workers_.size()) return;  // they would share what is left
  CPU_CLR(mine, &allowed);
  place(&allowed, mine);
#endif
}
void ThreadPool::Placement::let_back() {
#if defined(__linux__)
  cpu_set_t allowed;
  if (avoided_ >= 0 && sched_getaffinity(0, sizeof(allowed), &allowed) == 0) place(&allowed, -1);
#endif
}
void ThreadPool::Placement::place([[maybe_unused]] const void* allowed, int avoided) {
#if defined(__linux__)
  for (pthread_t worker : workers_)
    pthread_setaffinity_np(worker, sizeof(cpu_set_t), static_cast<const cpu_set_t*>(allowed));
#endif
  avoided_ = avoided;
}

void ThreadPool::Measured::add(Clock::duration sample) {
  const double before = nanoseconds();
  value_.store(std::min((3 * before + std::min(strided::nanoseconds(sample), 2 * before)) / 4, most_),
               std::memory_order_relaxed);
}

uint64_t ThreadPool::Rates::key_of(const Job& job) {
  int length = 0;  // bits
  while (length < 63 && job.n >> length != 0) ++length;
  uint64_t key = reinterpret_cast<uintptr_t>(job.fn);
  for (const uint64_t part : {static_cast<uint64_t>(job.grain), static_cast<uint64_t>(length)})
    key = ((key ^ key >> 32) + part) * 0x9e3779b97f4a7c15;  // the golden ratio's bits
  return key | 1;
}
double ThreadPool::Rates::get(const Job& job) const {
  const uint64_t key = key_of(job);
  const Entry& entry = entries_[key >> 56];
  return entry.key.load(std::memory_order_relaxed) == key ? entry.rate.load(std::memory_order_relaxed) : 0;
}
void ThreadPool::Rates::set(const Job& job, double rate) {
  const uint64_t key = key_of(job);
  Entry& entry = entries_[key >> 56];
  if (entry.key.load(std::memory_order_relaxed) == key)
    rate =
        std::min(rate, kGrowth * entry.rate.load(std::memory_order_relaxed));  // the thread may have been interrupted
  entry.key.store(key, std::memory_order_relaxed);
  entry.rate.store(rate, std::memory_order_relaxed);
}

void ThreadPool::run(Job& job, int threads) {
  const double expected = rates_.get(job) * static_cast<double>(job.n);
  if (expected > 0) {
    const double most = expected / (kHandOvers * hand_over_.nanoseconds());
    threads = static_cast<int>(std::min<double>(threads, most));
  }
  const Clock::time_point start = Clock::now();
  {
    std::unique_lock<std::mutex> busy(busy_, std::defer_lock);
    if (threads > 1 && busy.try_lock() && start >= rest_until_ && share(job, threads, expected, start)) {
      if (job.error) std::rethrow_exception(job.error);
      return;
    }
  }
  const Working working(job);
  job.run(job.begin, job.begin + job.n);
  rates_.set(job, nanoseconds(Clock::now() - start) / static_cast<double>(job.n));
}

// Gives the job to workers as well; false, and nothing is done, where there are none.
bool ThreadPool::share(Job& job, int threads, double expected, Clock::time_point start) {
  const int count = make_participants(std::min(threads, kMostParticipants));
  if (count < 2) return false;
  for (int i = 0; i < count; ++i) participants_[i]->set(job.ranges * i / count, job.ranges * (i + 1) / count);
  job_ = &job;
  opened_ = start;
  placement_.keep_off_mine();
  const uint64_t number = job_of(state_.load(std::memory_order_relaxed)) + 1;
  state_.store(kJob * number | kOpen | kParticipant * static_cast<uint64_t>(count));
  if (start - last_end_ > kSpin) missed_ = 0;
  missed_ += expected;
  expected_ = expected;
  called_ = sleepers_.load() == 0;
  if (!called_) call_sleepers(count, expected > 0 ? missed_ : kUnknown);

  const int64_t done = work(job, 0, count);
  Clock::time_point end = Clock::now();
  const double rate = nanoseconds(end - start) / static_cast<double>(std::max<int64_t>(done, 1));
  const bool alone = workers_of(state_.fetch_and(~kOpen, std::memory_order_acquire)) == 0;
  const bool long_wait = !alone && wait(job, count);
  if (done > 0 && !job.error) rates_.set(job, rate);
  if (long_wait) {
    end = Clock::now();
    const double by_itself = rate * static_cast<double>(job.n), lost = nanoseconds(end - start) - by_itself;
    if (done > 0 && lost > by_itself / 2)
      rest_until_ = end + std::chrono::nanoseconds(static_cast<int64_t>(std::min(kRest * lost, kLongestRest)));
  }
  last_end_ = end;
  return true;
}

// Starts workers until there are so many threads, if the system allows it: it limits processes and memory. Returns how
// many there are, which do the work.
int ThreadPool::make_participants(int threads) {
  if (participants_.empty()) participants_.push_back(std::make_unique<Participant>());
  while (static_cast<int>(participants_.size()) < threads) {
    auto participant = std::make_unique<Participant>();
    try {
      std::thread thread(
          [this, id = static_cast<int>(participants_.size()), own = participant.get()] { serve(id, *own); });
      placement_.add(thread.native_handle());
      thread.detach();
    } catch (const std::system_error&) {
      break;
    }
    participants_.push_back(std::move(participant));
  }
  return std::min(threads, static_cast<int>(participants_.size()));
}

// Calls workers that sleep, if that pays for so many nanoseconds of work.
void ThreadPool::call_sleepers(int count, double work) {
  const int callees = std::min(count - 1, sleepers_.load(std::memory_order_relaxed));
  if (work < kCalls * (callees * calling_.nanoseconds() + waking_.nanoseconds())) return;
  missed_ = 0;
  called_ = true;
  for (int i = 1; i < count; ++i) {
    Participant& participant = *participants_[i];
    const Clock::time_point now = Clock::now();
    {
      const std::lock_guard<std::mutex> lock(participant.mutex);
      if (!participant.asleep || participant.called) continue;
      participant.called = true;
      participant.called_at = now;
    }
    participant.wake.notify_one();
    calling_.add(Clock::now() - now);
  }
}

// Runs ranges until none is left, and returns how many indices they had.
int64_t ThreadPool::work(Job& job, int own, int count) {
  const Working working(job);
  int64_t done = 0;
  try {
    for (int i = 0; i < count; ++i) {
      Participant& participant = *participants_[(own + i) % count];
      for (int64_t range; (range = participant.take(i > 0)) >= 0;) {
        const int64_t from = job.start_of(range), to = job.start_of(range + 1);
        job.run(from, to);
        done += to - from;
        // What takes longer than expected may be worth a call after all.
        if (own == 0 && !called_) call_sleepers(count, missed_ + nanoseconds(Clock::now() - opened_) - expected_);
        job.look();
      }
    }
  } catch (...) {
    job.fail();
  }
  return done;
}

// Waits for the workers that have begun, and returns whether that took long.
bool ThreadPool::wait(Job& job, int count) {
  const auto done = [&] { return workers_of(state_.load()) == 0; };
  if (spins(count) && spin_until(done)) return false;
  std::unique_lock<std::mutex> lock(done_mutex_);
  waiting_.store(true);
  const bool soon = done_.wait_for(lock, kPatience, done);
  if (!soon) placement_.let_back();
  while (!done_.wait_for(lock, kPollInterval, done)) {
    lock.unlock();
    try {
      job.look();
    } catch (...) {
      job.fail();
    }
    lock.lock();
  }
  waiting_.store(false);
  return !soon;
}

void ThreadPool::serve(int id, Participant& participant) {
  uint64_t seen = 0;
  for (;;) {
    join(id, participant, seen);
    work(*job_, id, static_cast<int>(participants_of(state_.load(std::memory_order_relaxed))));
    if (workers_of(state_.fetch_sub(kWorker)) == 1 && waiting_.load()) {
      const std::lock_guard<std::mutex> lock(done_mutex_);
      done_.notify_one();
    }
  }
}

// Waits for a job that the worker has not seen, and joins it. Where each thread has a processor, it looks for one for a
// while before it sleeps: many short loops in a row then cost no calls of the system.
void ThreadPool::join(int id, Participant& participant, uint64_t& seen) {
  uint64_t state = 0;
  const auto open = [&] { return open_for(state = state_.load(), id, seen); };
  for (;;) {
    const bool awake = spins(id + 1) && spin_until(open);
    if (!awake) {
      std::unique_lock<std::mutex> lock(participant.mutex);
      participant.asleep = true;
      sleepers_.fetch_add(1);
      if (!open()) {
        participant.wake.wait(lock, [&] { return participant.called; });
        waking_.add(Clock::now() - participant.called_at);
      }
      participant.asleep = participant.called = false;
      sleepers_.fetch_sub(1);
    }
    for (open(); open_for(state, id, seen);) {
      if (!state_.compare_exchange_weak(state, state + kWorker, std::memory_order_acquire)) continue;
      seen = job_of(state);
      if (awake) hand_over_.add(Clock::now() - opened_);
      return;
    }
  }
}

}  // namespace strided
