// What was called, and when: the record that Python's profiler makes tables of. Off, it costs a look at a flag for each
// call.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace strided {

struct ProfileEvent {
  std::string name;
  uint64_t thread;
  int64_t begin, end;  // nanoseconds of the steady clock
  int64_t bytes;       // of the CPU's memory: allocated meanwhile, less what was freed
  bool user;           // named by the user, who began it
};

extern std::atomic<bool> profile_on;
void profile_start();
std::vector<ProfileEvent> profile_stop();  // the calls that have ended since the start
// Of this thread; they nest.
void profile_begin(std::string name, bool user = false);
void profile_end();

class ProfiledCall {
 public:
  // name(): a text; called only while calls are recorded.
  template <class Name>
  explicit ProfiledCall(Name&& name) : begun_(profile_on.load(std::memory_order_relaxed)) {
    if (__builtin_expect(begun_, 0)) profile_begin(name());
  }
  ~ProfiledCall() {
    if (__builtin_expect(begun_, 0)) profile_end();
  }
  ProfiledCall(const ProfiledCall&) = delete;
  ProfiledCall& operator=(const ProfiledCall&) = delete;

 private:
  bool begun_;
};

}  // namespace strided
