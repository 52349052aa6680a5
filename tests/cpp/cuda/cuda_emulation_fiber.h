// A fiber: a stack, and the switch between two of them. Hand-written for x86-64, where ucontext would make two system
// calls for each switch; ucontext elsewhere.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define STRIDED_FIBER_ASAN 1
#else
#define STRIDED_FIBER_ASAN 0
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace cuda_emulation {

constexpr size_t kStackBytes = STRIDED_FIBER_ASAN ? 256 << 10 : 64 << 10;  // instrumented frames are larger

// Stacks that are kept, each with a page below that must not be touched.
class Stacks {
 public:
  char* take() {
    if (!free_.empty()) {
      char* stack = free_.back();
      free_.pop_back();
      return stack;
    }
    constexpr size_t kGuard = 4096;
    void* memory =
        mmap(nullptr, kStackBytes + kGuard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory, kGuard, PROT_NONE);
    return static_cast<char*>(memory) + kGuard;
  }
  void give(char* stack) {
#if STRIDED_FIBER_ASAN
    __asan_unpoison_memory_region(stack, kStackBytes);  // frames that were left, not returned from
#endif
    free_.push_back(stack);
  }

 private:
  std::vector<char*> free_;
};

#if defined(__x86_64__)
// Saves what a call must keep on the stack, and goes on where `to` stopped. The jump instead of a `ret` does not
// mislead the processor's return predictor: 9 ns against 26.
__attribute__((naked, noinline)) static void switch_stacks(void** /*save*/, void* /*to*/) {
  asm volatile(
      "pushq %rbp\n\t"
      "pushq %rbx\n\t"
      "pushq %r12\n\t"
      "pushq %r13\n\t"
      "pushq %r14\n\t"
      "pushq %r15\n\t"
      "movq %rsp, (%rdi)\n\t"
      "movq %rsi, %rsp\n\t"
      "popq %r15\n\t"
      "popq %r14\n\t"
      "popq %r13\n\t"
      "popq %r12\n\t"
      "popq %rbx\n\t"
      "popq %rbp\n\t"
      "popq %rcx\n\t"
      "jmpq *%rcx\n\t");
}
#endif

// One end of a switch: a fiber, or the thread that the fibers run in.
class Context {
 public:
  // Makes this a fiber on `stack` that will run `entry`, which must not return.
  void prepare(char* stack, void (*entry)()) {
    stack_ = stack;
#if defined(__x86_64__)
    // Six registers and the address to go to; on entry the stack is as after a call: 8 below a multiple of 16.
    void** top = reinterpret_cast<void**>(stack + kStackBytes);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(entry);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    saved_ = top;
#else
    getcontext(&saved_);
    saved_.uc_stack.ss_sp = stack;
    saved_.uc_stack.ss_size = kStackBytes;
    saved_.uc_link = nullptr;
    makecontext(&saved_, entry, 0);
#endif
  }
  char* stack() const { return stack_; }

  // Runs `to` until it switches back. `last`: this one will not run again.
  void switch_to(Context& to, [[maybe_unused]] bool last = false) {
#if STRIDED_FIBER_ASAN
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(last ? nullptr : &fake, to.bottom(), to.size());
#endif
#if defined(__x86_64__)
    switch_stacks(&saved_, to.saved_);
#else
    swapcontext(&saved_, &to.saved_);
#endif
#if STRIDED_FIBER_ASAN
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  }
  // To be called first on a new fiber; `from` is the thread's context.
  static void entered([[maybe_unused]] Context& from) {
#if STRIDED_FIBER_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &from.thread_bottom_, &from.thread_size_);
#endif
  }

 private:
#if STRIDED_FIBER_ASAN
  const void* bottom() const { return stack_ ? stack_ : thread_bottom_; }
  size_t size() const { return stack_ ? kStackBytes : thread_size_; }
  const void* thread_bottom_ = nullptr;
  size_t thread_size_ = 0;
#endif
  char* stack_ = nullptr;
#if defined(__x86_64__)
  void* saved_ = nullptr;
#else
  ucontext_t saved_;
#endif
};

}  // namespace cuda_emulation
