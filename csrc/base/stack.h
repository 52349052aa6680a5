// How much of the thread's stack is left.
#pragma once

#include "base/error.h"
#include "base/macros.h"

namespace strided {

struct RecursionError : Error {
  using Error::Error;
};

namespace detail {
// Frames below this address are looked at more closely; at first all are. (In the fastest kind of thread-local memory.)
extern __attribute__((tls_model("initial-exec"))) __thread const char* low_stack;
void look_at_stack(const char* frame);
}  // namespace detail

// RecursionError where the stack of this thread is nearly used up. Calls that may come back through callbacks (hooks,
// functions of the user's own) begin with it: the interpreter counts its own frames, and those of C++ are larger.
STRIDED_INLINE void check_stack() {
  const auto* frame = static_cast<const char*>(__builtin_frame_address(0));
  if (STRIDED_UNLIKELY(frame < detail::low_stack)) detail::look_at_stack(frame);
}

}  // namespace strided
