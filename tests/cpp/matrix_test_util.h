// Shared by the tests of the matrix kernels: every compiled instruction set that this machine runs, and operands in
// every layout with guard elements around them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "base/parallel.h"
#include "cpu/workspace.h"
#include "instruction_sets.h"

namespace strided {

#if defined(STRIDED_HAVE_DOTS) || defined(STRIDED_HAVE_TILES)
namespace v4 {  // csrc/cpu/gemm/narrow_products.cpp
void fill_dot_products(KernelTable& table);
void fill_tile_products(KernelTable& table);
}  // namespace v4
#endif

// all_kernels, and what some processors have beside x86-64-v4, for the products of one dtype.
inline std::vector<NamedKernels> kernels_of([[maybe_unused]] DType dtype) {
  std::vector<NamedKernels> sets = all_kernels();
  [[maybe_unused]] const auto add = [&](const char* name, void (*fill)(KernelTable&)) {
    sets.push_back({name, all_kernels().back().kernels});
    fill(sets.back().kernels);
  };
#ifdef STRIDED_HAVE_DOTS
  if (has_products(Products::Dots)) add("v4 dots", v4::fill_dot_products);
#endif
#ifdef STRIDED_HAVE_TILES
  if (has_products(Products::Tiles) && may_use_tiles()) add("v4 tiles", v4::fill_tile_products);
#endif
  // Most dtypes have products of one kind.
  while (sets.size() > all_kernels().size() &&
         sets.back().kernels.gemm[index_of(dtype)] == all_kernels().back().kernels.gemm[index_of(dtype)])
    sets.pop_back();
  return sets;
}

// A wide type in which references are computed: modulo 2^64 for the integers.
struct LongComplex {
  long double re = 0, im = 0;
};
template <class T>
using Wide =
    std::conditional_t<is_complex_v<T>, LongComplex, std::conditional_t<std::is_integral_v<T>, uint64_t, long double>>;

template <class T>
Wide<T> widen(T x) {
  if constexpr (is_complex_v<T>) {
    return {x.re, x.im};
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(x);
  } else {
    return static_cast<long double>(static_cast<double>(static_cast<compute_t<T>>(x)));
  }
}

template <class T>
T random_value(std::mt19937& rng) {
  auto uniform = [&] { return static_cast<int32_t>(rng()) * 0x1p-31; };  // [-1, 1)
  if constexpr (is_complex_v<T>) {
    const double re = uniform(), im = uniform();
    return T(static_cast<real_t<T>>(re), static_cast<real_t<T>>(im));
  } else if constexpr (std::is_same_v<T, bool>) {
    return rng() % 8 == 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>((static_cast<uint64_t>(rng()) << 32) | rng());
  } else {
    return static_cast<T>(static_cast<float>(uniform()));
  }
}

enum class Order { Rows, Columns, PaddedRows, Reversed, Spread, RepeatedRow, RepeatedColumn };
constexpr Order kReadable[] = {Order::Rows,   Order::Columns,     Order::PaddedRows,    Order::Reversed,
                               Order::Spread, Order::RepeatedRow, Order::RepeatedColumn};
constexpr int kWritable = 5;  // the first ones may be an output

// A matrix somewhere inside a larger buffer of random values.
template <class T>
struct Operand {
  std::vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>> buffer;
  int64_t rows, cols, rs, cs, offset = 0;

  Operand(int64_t m, int64_t n, Order order, std::mt19937& rng) : rows(m), cols(n) {
    rs = n, cs = 1;
    if (order == Order::Columns) rs = 1, cs = m;
    if (order == Order::PaddedRows) rs = n + 5;
    if (order == Order::Reversed) rs = -(n + 1), cs = -1;
    if (order == Order::Spread) rs = 2 * n + 3, cs = 2;
    if (order == Order::RepeatedRow) rs = 0;
    if (order == Order::RepeatedColumn) rs = 1, cs = 0;
    const int64_t far_row = (m > 0 ? m - 1 : 0) * rs, far_col = (n > 0 ? n - 1 : 0) * cs;
    const int64_t low = std::min<int64_t>(0, far_row) + std::min<int64_t>(0, far_col);
    const int64_t high = std::max<int64_t>(0, far_row) + std::max<int64_t>(0, far_col);
    offset = 3 - low;
    buffer.resize(high - low + 8);
    for (auto& x : buffer) x = random_value<T>(rng);
  }
  T* data() { return reinterpret_cast<T*>(buffer.data()) + offset; }
  T at(int64_t i, int64_t j) const { return reinterpret_cast<const T*>(buffer.data())[offset + i * rs + j * cs]; }
  T& at(int64_t i, int64_t j) { return data()[i * rs + j * cs]; }
  Matrix matrix() { return {data(), rs, cs}; }
};

}  // namespace strided
