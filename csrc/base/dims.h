// A short list of 64-bit integers: sizes, strides, axes. Up to six stay inside the object, so that the
// shape of an ordinary tensor costs no allocation.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <ostream>
#include <vector>

#include "base/error.h"

namespace strided {

constexpr int kMaxDims = 64;

class Dims {
 public:
  Dims() {}  // (not defaulted: Dims() would clear the places)
  explicit Dims(size_t n, int64_t value = 0) { resize(n, value); }
  Dims(std::initializer_list<int64_t> list) { assign(list.begin(), list.size()); }
  Dims(const int64_t* first, size_t n) { assign(first, n); }
  Dims(const std::vector<int64_t>& v) { assign(v.data(), v.size()); }
  Dims(const Dims& other) { assign(other.data_, other.size_); }
  Dims(Dims&& other) noexcept { steal(other); }
  Dims& operator=(const Dims& other) {
    if (this != &other) assign(other.data_, other.size_);
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    if (this != &other) {
      release();
      steal(other);
    }
    return *this;
  }
  ~Dims() { release(); }

  size_t size() const { return size_; }
  int ndim() const { return static_cast<int>(size_); }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return data_; }
  const int64_t* data() const { return data_; }
  int64_t& operator[](size_t i) { return data_[i]; }
  int64_t operator[](size_t i) const { return data_[i]; }
  int64_t* begin() { return data_; }
  int64_t* end() { return data_ + size_; }
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + size_; }
  int64_t back() const { return data_[size_ - 1]; }
  int64_t& back() { return data_[size_ - 1]; }

  void reserve(size_t n) {
    if (n <= capacity_) return;
    int64_t* fresh = new int64_t[n];
    std::memcpy(fresh, data_, size_ * sizeof(int64_t));
    release();
    data_ = fresh;
    capacity_ = static_cast<uint32_t>(n);
  }
  void resize(size_t n, int64_t value = 0) {
    reserve(n);
    for (size_t i = size_; i < n; ++i) data_[i] = one(value);
    size_ = static_cast<uint32_t>(n);
  }
  void push_back(int64_t value) {
    if (size_ == capacity_) reserve(2 * capacity_);
    data_[size_++] = value;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void erase(size_t at) {
    --size_;
    for (size_t i = at; i < size_; ++i) data_[i] = one(data_[i + 1]);
  }
  void insert(size_t at, int64_t value) {
    push_back(0);
    for (size_t i = size_ - 1; i > at; --i) data_[i] = one(data_[i - 1]);
    data_[at] = value;
  }

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i)
      if (a.data_[i] != b.data_[i]) return false;
    return true;
  }
  friend bool operator!=(const Dims& a, const Dims& b) { return !(a == b); }
  // Prints as PyTorch prints sizes in errors: [2, 3].
  friend std::ostream& operator<<(std::ostream& out, const Dims& d) {
    out << '[';
    for (size_t i = 0; i < d.size_; ++i) out << (i ? ", " : "") << d.data_[i];
    return out << ']';
  }

 private:
  static constexpr uint32_t kInline = 6;

  // Numbers are moved one by one.
  // What is moved was mostly just written, number by number. A processor that reads it back in vectors, as memcpy and
  // the compiler's loops do, has to wait until the single writes have left it: five times as long as the move takes.
  static int64_t one(int64_t value) {
#if defined(__GNUC__)
    asm("" : "+r"(value));
#endif
    return value;
  }
  void assign(const int64_t* first, size_t n) {
    size_ = 0;
    reserve(n);
    for (size_t i = 0; i < n; ++i) data_[i] = one(first[i]);
    size_ = static_cast<uint32_t>(n);
  }
  void release() {
    if (data_ != inline_) delete[] data_;
    data_ = inline_;
    capacity_ = kInline;
  }
  void steal(Dims& other) {
    size_ = other.size_;
    if (other.data_ == other.inline_) {
      data_ = inline_;
      capacity_ = kInline;
      for (size_t i = 0; i < size_ && i < kInline; ++i) inline_[i] = one(other.inline_[i]);
    } else {
      data_ = other.data_;
      capacity_ = other.capacity_;
      other.data_ = other.inline_;
      other.capacity_ = kInline;
    }
    other.size_ = 0;
  }

  int64_t* data_ = inline_;
  uint32_t size_ = 0;
  uint32_t capacity_ = kInline;
  int64_t inline_[kInline];
};

// a * b, or false when it does not fit 64 bits (CVE class: overflow in numel, shape or bytes).
inline bool multiply(int64_t a, int64_t b, int64_t* out) { return !__builtin_mul_overflow(a, b, out); }

}  // namespace strided
