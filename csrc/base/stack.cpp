#include "base/stack.h"

#include <algorithm>
#include <cstddef>

#if defined(__GLIBC__)
#include <pthread.h>
#endif

namespace strided::detail {
namespace {

struct Stack {
  const char* first = nullptr;  // its lowest byte; null where that is not known
  size_t size = 0;
};

Stack stack_of_thread() {
  Stack stack;
#if defined(__GLIBC__)
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack;
  void* first = nullptr;
  if (pthread_attr_getstack(&attributes, &first, &stack.size) == 0) stack.first = static_cast<const char*>(first);
  pthread_attr_destroy(&attributes);
#endif
  return stack;
}

}  // namespace

__thread const char* low_stack = reinterpret_cast<const char*>(UINTPTR_MAX);

void look_at_stack(const char* frame) {
  static thread_local const Stack stack = stack_of_thread();
  // What one call needs, with everything that it calls.
  constexpr size_t kNeeded = size_t(512) << 10;
  low_stack = stack.first ? stack.first + std::min(kNeeded, stack.size / 4) : nullptr;
  // A frame below the stack is on another one, of which nothing is known: coroutines have their own.
  STRIDED_CHECK(frame >= low_stack || frame < stack.first, RecursionError,
                "maximum recursion depth exceeded: the thread's stack of ", stack.size >> 10,
                " KiB is nearly used up by calls within calls");
}

}  // namespace strided::detail
