// Intrusive reference counting: the count lives in the object, so a handle is one pointer and costs no extra
// allocation.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace strided {

// Note [Counts under the interpreter's lock]
// An instruction that is atomic between processors takes as long as twenty others, and a view needs four: for its
// storage and for its base, when it comes and when it goes. Where an interpreter with a lock is (Python's GIL), handles
// of tensors and storages are made, copied and dropped by the thread that holds it, and by no other: kernels run
// without it (GilRelease), but know no tensors, and destructors that anybody may call take it first. Counts of such
// classes (kUnderLock) are then plain numbers. Without an interpreter they are atomic, as those of all other classes.
// Tests have each change checked: it ends the process if the lock is not held.
enum class Counting : uint8_t { Atomic, UnderLock, Checked };
namespace detail {
inline Counting counting = Counting::Atomic;
void check_count();  // with Counting::Checked
// For a count that is not 1: one less, and whether it was the last one.
bool drop_under_lock(std::atomic<int32_t>& count);
}  // namespace detail
void count_under_lock();
// `held` says whether this thread holds the lock, and is asked at each change; null: no longer.
void check_counts(bool (*held)());

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  int64_t use_count() const { return count_.load(std::memory_order_relaxed); }
  // A class whose objects if_alive() is asked about says true.
  static constexpr bool kMayBeRevived = false;
  static constexpr bool kUnderLock = false;  // Note [Counts under the interpreter's lock]

 protected:
  virtual ~RefCounted() = default;

 private:
  template <class T>
  friend class Ref;
  mutable std::atomic<int32_t> count_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) : p_(p) { retain(); }
  Ref(const Ref& other) : p_(other.p_) { retain(); }
  Ref(Ref&& other) noexcept : p_(other.p_) { other.p_ = nullptr; }
  template <class U>
  Ref(const Ref<U>& other) : p_(other.get()) {
    retain();
  }
  // The first handle to a new object, which no other thread knows yet: nothing atomic.
  static Ref first(T* p) {
    auto& count = static_cast<const RefCounted*>(p)->count_;
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    Ref out;
    out.p_ = p;
    return out;
  }
  // A handle to an object that may be about to die (its count is zero and its destructor waits for a lock the caller
  // holds): null then.
  static Ref if_alive(T* p) {
    static_assert(T::kMayBeRevived, "see release()");
    Ref out;
    auto& count = static_cast<const RefCounted*>(p)->count_;
    for (int32_t n = count.load(std::memory_order_relaxed); n > 0;)
      if (count.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) {
        out.p_ = p;
        break;
      }
    return out;
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~Ref() { release(); }

  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.p_ == b.p_; }
  friend bool operator!=(const Ref& a, const Ref& b) { return a.p_ != b.p_; }

 private:
  void retain() {
    if (!p_) return;
    auto& count = static_cast<const RefCounted*>(p_)->count_;
    if constexpr (T::kUnderLock) {
      if (__builtin_expect(detail::counting == Counting::UnderLock, 1)) {
        count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return;
      }
      detail::check_count();
    }
    count.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (!p_) return;
    auto& count = static_cast<const RefCounted*>(p_)->count_;
    // The only handle: nobody is there who could make another one meanwhile, so the count need not change.
    bool last = !T::kMayBeRevived && count.load(std::memory_order_acquire) == 1;
    if constexpr (T::kUnderLock) last = last || detail::drop_under_lock(count);
    else last = last || count.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (last) delete static_cast<const RefCounted*>(p_);
  }
  T* p_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>::first(new T(std::forward<Args>(args)...));
}

}  // namespace strided
