// What the tests of the CUDA backend share: arrays that live on the host and on the device, plans over them, and the
// plain loops that results are compared with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "core/convert.h"
#include "cuda/runtime/allocator.h"

namespace strided {
namespace cuda {

inline void to_device(void* to, const void* from, size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, current_stream(0)), "test");
  check(cudaStreamSynchronize(current_stream(0)), "test");
}
inline void to_host(void* to, const void* from, size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, current_stream(0)), "test");
  check(cudaStreamSynchronize(current_stream(0)), "test");
}

// In which order the threads of a block run from now on, where the device is emulated: a seed, 0 that of their numbers.
inline void set_order([[maybe_unused]] uint64_t seed) {
#if STRIDED_EMULATED
  cuda_emulation::set_order(seed);
#endif
}

// A strided array: its bytes on the host, where the test writes and reads, and on the device.
struct Array {
  DType dtype = DType::Float32;
  std::vector<int64_t> shape, strides;  // outermost first; strides in elements
  int64_t offset = 0;                   // elements
  std::vector<char> host;
  std::shared_ptr<Workspace> device;

  Array() = default;
  Array(DType t, std::vector<int64_t> shape_) : dtype(t), shape(std::move(shape_)), strides(shape.size()) {
    int64_t step = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      strides[i] = step;
      step *= shape[i];
    }
    make();
  }
  Array(DType t, std::vector<int64_t> shape_, std::vector<int64_t> strides_, int64_t padding = 0)
      : dtype(t), shape(std::move(shape_)), strides(std::move(strides_)), offset(padding) {
    for (size_t i = 0; i < shape.size(); ++i)
      if (strides[i] < 0 && shape[i] > 0) offset -= strides[i] * (shape[i] - 1);
    make();
  }

  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : shape) n *= s;
    return n;
  }
  // Byte of element i in row-major order.
  int64_t at(int64_t i) const {
    int64_t place = offset;
    for (size_t k = shape.size(); k-- > 0;) {
      place += i % shape[k] * strides[k];
      i /= shape[k];
    }
    return place * size_of(dtype);
  }
  char* element(int64_t i) { return host.data() + at(i); }
  const char* element(int64_t i) const { return host.data() + at(i); }
  template <class T>
  T get(int64_t i) const {
    T v;
    std::memcpy(&v, element(i), sizeof(T));
    return v;
  }
  template <class T>
  void set(int64_t i, T v) {
    std::memcpy(element(i), &v, sizeof(T));
  }
  char* data() const { return device->data() + offset * size_of(dtype); }
  void upload() const { to_device(device->data(), host.data(), host.size()); }
  void download() { to_host(host.data(), device->data(), host.size()); }

  // Numbers that every dtype can hold are mixed with some of its own; fractions for floats. No NaN.
  void fill_random(std::mt19937& random, int low = -8, int high = 8) {
    const int64_t n = static_cast<int64_t>(host.size()) / size_of(dtype);
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < n; ++i) {
        const int k = low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
        T v;
        if constexpr (std::is_same_v<T, bool>) v = k % 2 != 0;
        else if constexpr (std::is_integral_v<T>) v = static_cast<T>(k);
        else if constexpr (is_complex_v<T>)
          v = T(static_cast<real_t<T>>(k / 4.0), static_cast<real_t<T>>(static_cast<int>(random() % 9) / 4.0 - 1));
        else v = T(static_cast<compute_t<T>>(k / 4.0));
        std::memcpy(host.data() + i * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
      }
    });
    upload();
  }

 private:
  void make() {
    int64_t last = offset;
    for (size_t i = 0; i < shape.size(); ++i)
      if (strides[i] > 0 && shape[i] > 0) last += strides[i] * (shape[i] - 1);
    host.assign(static_cast<size_t>((last + 1) * size_of(dtype)), 0);
    device = std::make_shared<Workspace>(host.size(), 0);
    upload();
  }
};

// A plan over arrays of one shape, as core/iter would hand it over (axes reversed, and merged when asked for).
class Plan {
 public:
  Plan(const char* name, const std::vector<const Array*>& operands, bool merge = true) {
    const auto& shape = operands[0]->shape;
    const size_t n = operands.size();
    strides_.resize(n);
    for (size_t i = shape.size(); i-- > 0;) {
      bool fits = merge && !shape_.empty();
      for (size_t k = 0; fits && k < n; ++k) fits = stride(*operands[k], i) == strides_[k].back() * shape_.back();
      if (shape[i] == 1 && merge) continue;
      if (fits) {
        shape_.back() *= shape[i];
        continue;
      }
      shape_.push_back(shape[i]);
      for (size_t k = 0; k < n; ++k) strides_[k].push_back(stride(*operands[k], i));
    }
    plan.name = name;
    plan.ndim = static_cast<int>(shape_.size());
    plan.shape = shape_.data();
    plan.n_operands = static_cast<int>(n);
    for (size_t k = 0; k < n; ++k)
      plan.operand[k] = {operands[k]->data(), strides_[k].data(), operands[k]->dtype, false};
  }
  // The input k is a number instead.
  template <class T>
  void immediate(int k, T value) {
    std::memcpy(value_[k], &value, sizeof(T));
    plan.operand[k] = {value_[k], nullptr, dtype_of<T>, true};
  }
  LoopPlan plan;

 private:
  static int64_t stride(const Array& a, size_t i) { return a.strides[i] * size_of(a.dtype); }
  std::vector<int64_t> shape_;
  std::vector<std::vector<int64_t>> strides_;
  alignas(16) char value_[8][16];
};

// A device makes one operation of a product and a sum, which rounds once, and has elementary functions of its own: only
// an emulation without that (CMake's STRIDED_EMULATE_FUSED is off) has the bits of the host's loops.
#if STRIDED_EMULATED && !STRIDED_EMULATED_FUSED
constexpr bool kRoundsAlike = true;
#else
constexpr bool kRoundsAlike = false;
#endif

// Equal bits, or both NaN; close where the device rounds in its own way.
template <class T>
bool agrees(T got, T want) {
  if (std::memcmp(&got, &want, sizeof(T)) == 0) return true;
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else if constexpr (is_complex_v<T>) {
    return agrees(got.re, want.re) && agrees(got.im, want.im);
  } else {
    const double a = static_cast<double>(static_cast<compute_t<T>>(got)),
                 b = static_cast<double>(static_cast<compute_t<T>>(want));
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    const double epsilon = sizeof(T) == 8 ? 1e-11 : sizeof(T) == 4 ? 1e-5 : 1e-2;
    return kRoundsAlike ? a == b : std::abs(a - b) <= epsilon * (1 + std::abs(b));
  }
}

inline bool agrees(DType dtype, const char* got, const char* want) {
  return dispatch(dtype, [&](auto tag) {
    typename decltype(tag)::type a, b;
    std::memcpy(&a, got, sizeof(a));
    std::memcpy(&b, want, sizeof(b));
    return agrees(a, b);
  });
}

// An array of the shape with random strides: contiguous, axes permuted, gaps, backwards, broadcast, off the start.
inline Array random_layout(DType dtype, const std::vector<int64_t>& shape, std::mt19937& random, bool may_broadcast) {
  std::vector<int64_t> strides(shape.size());
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  if (random() % 3 == 0) std::shuffle(order.begin(), order.end(), random);
  int64_t step = random() % 4 == 0 ? 1 + random() % 3 : 1;
  for (size_t i : order) {
    strides[i] = step;
    step *= shape[i];
    if (random() % 4 == 0) step += random() % 3;
    else if (random() % 4 == 0) step = (step + 15) / 16 * 16;
    if (random() % 8 == 0) strides[i] = -strides[i];
    if (may_broadcast && random() % 6 == 0) {
      step = std::abs(strides[i]);
      strides[i] = 0;
    }
  }
  return Array(dtype, shape, strides, random() % 3 == 0 ? random() % 5 : 0);
}

}  // namespace cuda
}  // namespace strided
