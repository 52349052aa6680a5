#include "core/profile.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "core/allocator.h"

namespace strided {

std::atomic<bool> profile_on{false};

namespace {

struct Open {
  std::string name;
  int64_t begin, bytes;
  bool user;
  uint64_t recording;
};

std::mutex mutex;
std::vector<ProfileEvent> events;
std::atomic<uint64_t> recording{0}, threads{0};

int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}
std::vector<Open>& open_calls() {
  static thread_local std::vector<Open> calls;
  return calls;
}
uint64_t thread_number() {
  static thread_local const uint64_t number = threads.fetch_add(1);
  return number;
}

}  // namespace

void profile_start() {
  const std::lock_guard<std::mutex> lock(mutex);
  events.clear();
  ++recording;
  profile_on = true;
}

std::vector<ProfileEvent> profile_stop() {
  const std::lock_guard<std::mutex> lock(mutex);
  profile_on = false;
  return std::exchange(events, {});
}

void profile_begin(std::string name, bool user) {
  open_calls().push_back({std::move(name), now(), cpu_memory_stats().allocated, user, recording.load()});
}

void profile_end() {
  const int64_t end = now();
  if (open_calls().empty()) return;
  Open call = std::move(open_calls().back());
  open_calls().pop_back();
  const std::lock_guard<std::mutex> lock(mutex);
  if (!profile_on || call.recording != recording) return;  // it began in an earlier recording, or this one is over
  events.push_back(
      {std::move(call.name), thread_number(), call.begin, end, cpu_memory_stats().allocated - call.bytes, call.user});
}

}  // namespace strided
