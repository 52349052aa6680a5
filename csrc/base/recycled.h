// Memory of small objects that come and go with every call.
#pragma once

#include <cstddef>
#include <new>

namespace strided {

// A base of classes whose objects are made by `new`: each thread keeps the memory of some that it deleted for the next
// ones. malloc and free take a fifth of the time of a view, and several times as long where hundreds of objects live.
// Not in sanitized builds, which would not see uses after the end.
template <class T>
class Recycled {
#if !defined(__SANITIZE_ADDRESS__)
 public:
  static void* operator new(size_t n) {
    Spare& spare = spare_;
    if (spare.first == nullptr || n != sizeof(T)) return ::operator new(n);
    Place* place = spare.first;
    spare.first = place->next;
    ++spare.left;
    return place;
  }
  static void operator delete(void* p, size_t n) {
    if (n != sizeof(T) || (spare_.left == 0 && !begin())) return ::operator delete(p);
    Spare& spare = spare_;
    spare.first = new (p) Place{spare.first};
    --spare.left;
  }

 private:
  static constexpr int kMost = 1024;
  struct Place {
    Place* next;
  };
  struct Spare {
    Place* first;
    int left;  // how many more it may keep: none before the first, nor at the end of the thread
    bool begun;
  };
  struct AtEnd {
    ~AtEnd() {
      spare_.left = 0;
      while (Place* place = spare_.first) {
        spare_.first = place->next;
        ::operator delete(place);
      }
    }
  };
  // Called for the first one that the thread deletes: whether it may be kept.
  __attribute__((noinline)) static bool begin() {
    if (spare_.begun) return false;
    static thread_local AtEnd at_end;
    static_cast<void>(at_end);
    spare_.begun = true;
    spare_.left = kMost;
    return true;
  }
  // "initial-exec" is the fastest kind of thread-local memory. A shared library may use some hundred bytes of it.
  __attribute__((tls_model("initial-exec"))) static inline thread_local Spare spare_{};
#endif
};

}  // namespace strided
