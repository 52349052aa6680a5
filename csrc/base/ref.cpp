#include "base/ref.h"

#include <cstdio>
#include <cstdlib>

namespace strided {
namespace {

bool (*lock_held)() = nullptr;

}  // namespace

void count_under_lock() { detail::counting = Counting::UnderLock; }

void check_counts(bool (*held)()) {
  lock_held = held;
  detail::counting = held != nullptr ? Counting::Checked : Counting::UnderLock;
}

void detail::check_count() {
  if (counting != Counting::Checked || lock_held()) return;
  std::fputs("strided: a handle of a tensor was changed without the interpreter's lock\n", stderr);
  std::abort();
}

bool detail::drop_under_lock(std::atomic<int32_t>& count) {
  if (counting != Counting::UnderLock) {
    check_count();
    return count.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  const int32_t n = count.load(std::memory_order_relaxed);
  count.store(n - 1, std::memory_order_relaxed);
  return n == 1;
}

}  // namespace strided
