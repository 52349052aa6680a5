#include "cpu/streaming.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/kernels.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kLine = 64, kNever = std::numeric_limits<int64_t>::max();

#if defined(__x86_64__)
// Intel's processors whose third-level cache does not include the second-level ones (all with a mesh): one core gets no
// more from it than from memory, so what has left the second level is far away.
bool is_third_level_far() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned inclusive = 1u << 1;
  return __builtin_cpu_is("intel") && __get_cpuid_count(4, 3, &eax, &ebx, &ecx, &edx) != 0 && (edx & inclusive) == 0;
}
int64_t default_bytes() {
  __builtin_cpu_init();
  const int64_t second = sysconf(_SC_LEVEL2_CACHE_SIZE), third = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (second > 0 && is_third_level_far()) return 7 * second / 2;
  return third > 0 ? third / 2 : kNever;  // the result and one operand fill it
}
#else
int64_t default_bytes() { return kNever; }
#endif

int64_t chosen_bytes() {
  const char* wish = std::getenv("STRIDED_STREAM_BYTES");
  if (!wish || !*wish) return default_bytes();
  char* end = nullptr;
  errno = 0;
  const long long bytes = std::strtoll(wish, &end, 10);
  STRIDED_CHECK(*end == 0 && errno == 0 && bytes >= 0, ValueError, "STRIDED_STREAM_BYTES=", wish,
                " in the environment: expected a number of bytes");
  return bytes;
}

std::atomic<int64_t>& first_streamed() {
  static std::atomic<int64_t> bytes{chosen_bytes()};
  return bytes;
}

}  // namespace

int64_t streamed_from() { return first_streamed().load(std::memory_order_relaxed); }
void set_streamed_from(int64_t bytes) { first_streamed().store(bytes); }

bool is_streamed(int64_t bytes) { return bytes / num_threads() >= streamed_from(); }

void stream(char* to, const char* from, int64_t bytes) {
  const int64_t head = std::min(bytes, static_cast<int64_t>(-reinterpret_cast<uintptr_t>(to) % kLine));
  if (head > 0) std::memcpy(to, from, static_cast<size_t>(head));
  const int64_t lines = (bytes - head) / kLine * kLine, tail = bytes - head - lines;
  kernel_table().stream(to + head, from + head, lines);
  if (tail > 0) std::memcpy(to + head + lines, from + head + lines, static_cast<size_t>(tail));
}

void end_stream() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

Stream::Stream(char* to) : head_(static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLine)), filled_(head_) {
  to_ = to - head_;
}

void Stream::flush() {
  const int64_t lines = filled_ / kLine * kLine;
  if (lines == 0) return;
  const int64_t begin = head_ > 0 ? kLine : 0;
  if (head_ > 0) std::memcpy(to_ + head_, block_ + head_, static_cast<size_t>(kLine - head_));
  kernel_table().stream(to_ + begin, block_ + begin, lines - begin);
  std::memcpy(block_, block_ + lines, static_cast<size_t>(filled_ - lines));
  head_ = 0;
  to_ += lines;
  filled_ -= lines;
}

void Stream::finish() {
  flush();
  if (filled_ > head_) std::memcpy(to_ + head_, block_ + head_, static_cast<size_t>(filled_ - head_));
  to_ += filled_;
  head_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to_) % kLine);
  to_ -= head_;
  filled_ = head_;
  end_stream();
}

}  // namespace cpu
}  // namespace strided
