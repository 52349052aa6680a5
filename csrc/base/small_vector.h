// A list whose first N elements stay inside the object: edges of a graph, gradients of one step. Any movable type;
// numbers have Dims.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <new>
#include <utility>

namespace strided {

template <class T, size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  explicit SmallVector(size_t n) { resize(n); }
  SmallVector(std::initializer_list<T> list) {
    reserve(list.size());
    for (const T& v : list) push_back(v);
  }
  template <class It>
  SmallVector(It first, It last) {
    for (; first != last; ++first) push_back(*first);
  }
  SmallVector(SmallVector&& other) noexcept { steal(other); }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      steal(other);
    }
    return *this;
  }
  SmallVector(const SmallVector& other) : SmallVector(other.begin(), other.end()) {}
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) *this = SmallVector(other);
    return *this;
  }
  ~SmallVector() { release(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }

  void push_back(T v) {
    if (size_ == capacity_) reserve(2 * capacity_);
    new (data_ + size_) T(std::move(v));
    ++size_;
  }
  void pop_back() { data_[--size_].~T(); }
  void resize(size_t n) {
    reserve(n);
    while (size_ > n) pop_back();
    for (; size_ < n; ++size_) new (data_ + size_) T();
  }
  void clear() { resize(0); }
  void reserve(size_t n) {
    if (n <= capacity_) return;
    T* more = static_cast<T*>(::operator new(n * sizeof(T)));
    for (size_t i = 0; i < size_; ++i) {
      new (more + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    if (!is_inside()) ::operator delete(data_);
    data_ = more;
    capacity_ = n;
  }

 private:
  T* inside() { return reinterpret_cast<T*>(space_); }
  bool is_inside() { return data_ == inside(); }
  void release() {
    clear();
    if (!is_inside()) ::operator delete(data_);
    data_ = inside();
    capacity_ = N;
  }
  // `this` is empty and inside.
  void steal(SmallVector& other) {
    if (other.is_inside()) {
      for (T& v : other) push_back(std::move(v));
      other.clear();
    } else {
      data_ = std::exchange(other.data_, other.inside());
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, N);
    }
  }

  T* data_ = inside();
  size_t size_ = 0, capacity_ = N;
  alignas(T) char space_[N * sizeof(T)];
};

}  // namespace strided
