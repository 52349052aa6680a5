// Intrusive reference counting: the count lives in the object, so a handle is one pointer and costs no extra
// allocation.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace strided {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  int64_t use_count() const { return count_.load(std::memory_order_relaxed); }
  // A class whose objects if_alive() is asked about says true.
  static constexpr bool kMayBeRevived = false;

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
    if (p_) static_cast<const RefCounted*>(p_)->count_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (!p_) return;
    auto& count = static_cast<const RefCounted*>(p_)->count_;
    // The only handle: nobody is there who could make another one meanwhile, so the count need not change.
    const bool last = (!T::kMayBeRevived && count.load(std::memory_order_acquire) == 1) ||
                      count.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (last) delete static_cast<const RefCounted*>(p_);
  }
  T* p_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>::first(new T(std::forward<Args>(args)...));
}

}  // namespace strided
