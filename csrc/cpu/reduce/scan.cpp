// Running sums, products and extremes. A scan is a chain of dependent steps: vectors help across rows, and to convert
// 16-bit floats. Scans with exponentials: softmax.cpp.
#include "backend/scan_steps.h"
#include "cpu/half_rows.inc"
#include "cpu/kernels.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

constexpr int64_t kRows = 256;  // rows side by side

// Sums of a row of float, in double: four elements are added up by themselves, and what came before joins them in one
// step, the only one that the next four wait for. (Products in another order could overflow elsewhere.)
void sum_row_in_fours(float* to, const float* from, int64_t n) {
  double acc = 0;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const double a = from[i], b = from[i + 1], c = from[i + 2], d = from[i + 3];
    const double two = a + b, three = two + c, four = two + (c + d);
    to[i] = static_cast<float>(acc + a);
    to[i + 1] = static_cast<float>(acc + two);
    to[i + 2] = static_cast<float>(acc + three);
    acc += four;
    to[i + 3] = static_cast<float>(acc);
  }
  for (; i < n; ++i) {
    acc += static_cast<double>(from[i]);
    to[i] = static_cast<float>(acc);
  }
}

// Contiguous rows whose chains of steps run side by side. Row strides are bytes.
constexpr int64_t kTogether = 4;
template <class Op, class T>
void fold_some_rows(T* out, int64_t out_row_stride, const T* in, int64_t in_row_stride, int64_t n) {
  using A = typename scan::Wider<T>::type;
  constexpr int64_t kSome = is_half_row<T> ? kRows : 1;
  const int64_t x_step = in_row_stride / static_cast<int64_t>(sizeof(T)),
                y_step = out_row_stride / static_cast<int64_t>(sizeof(T));
  A acc[kTogether];
  for (A& a : acc) a = Op::template start<A>();
  if constexpr (is_half_row<T>) {
    alignas(64) A wide[kTogether][kSome];
    for (int64_t i = 0; i < n; i += kSome) {
      const int64_t m = n - i < kSome ? n - i : kSome;
      for (int64_t q = 0; q < kTogether; ++q) widen_row(wide[q], in + q * x_step + i, m);
      for (int64_t k = 0; k < m; ++k)
#pragma GCC unroll 4
        for (int64_t q = 0; q < kTogether; ++q) wide[q][k] = acc[q] = Op::step(acc[q], wide[q][k]);
      for (int64_t q = 0; q < kTogether; ++q) narrow_row(out + q * y_step + i, wide[q], m);
    }
  } else {
    for (int64_t i = 0; i < n; ++i)
#pragma GCC unroll 4
      for (int64_t q = 0; q < kTogether; ++q) {
        acc[q] = Op::step(acc[q], static_cast<A>(in[q * x_step + i]));
        out[q * y_step + i] = static_cast<T>(acc[q]);
      }
  }
}

template <class Op, class T>
void scan_fold(char* const* out, const int64_t* out_stride, const int64_t* out_row_stride, const char* in,
               int64_t in_stride, int64_t in_row_stride, int64_t n, int64_t rows) {
  using A = typename scan::Wider<T>::type;
  const bool side_by_side = rows > 1 && in_row_stride == sizeof(T) && out_row_stride[0] == sizeof(T);
  if (side_by_side) {
    A acc[kRows];
    for (int64_t r0 = 0; r0 < rows; r0 += kRows) {
      const int64_t m = rows - r0 < kRows ? rows - r0 : kRows;
      for (int64_t r = 0; r < m; ++r) acc[r] = Op::template start<A>();
      for (int64_t i = 0; i < n; ++i) {
        const T* x = reinterpret_cast<const T*>(in + i * in_stride) + r0;
        T* y = reinterpret_cast<T*>(out[0] + i * out_stride[0]) + r0;
        if constexpr (is_half_row<T>) {
          alignas(64) A wide[kRows];
          widen_row(wide, x, m);
          for (int64_t r = 0; r < m; ++r) acc[r] = Op::step(acc[r], wide[r]);
          narrow_row(y, acc, m);
          continue;
        }
#pragma GCC ivdep
        for (int64_t r = 0; r < m; ++r) {
          acc[r] = Op::step(acc[r], static_cast<A>(x[r]));
          y[r] = static_cast<T>(acc[r]);
        }
      }
    }
    return;
  }
  constexpr bool in_fours = std::is_same_v<T, float> && std::is_same_v<Op, scan::Sum>;
  const bool contiguous = in_stride == sizeof(T) && out_stride[0] == sizeof(T);
  int64_t r = 0;
  if constexpr (!in_fours)
    for (; contiguous && r + kTogether <= rows; r += kTogether)
      fold_some_rows<Op>(reinterpret_cast<T*>(out[0] + r * out_row_stride[0]), out_row_stride[0],
                         reinterpret_cast<const T*>(in + r * in_row_stride), in_row_stride, n);
  for (; r < rows; ++r) {
    const char* x = in + r * in_row_stride;
    char* y = out[0] + r * out_row_stride[0];
    if constexpr (in_fours)
      if (contiguous) {
        sum_row_in_fours(reinterpret_cast<T*>(y), reinterpret_cast<const T*>(x), n);
        continue;
      }
    A acc = Op::template start<A>();
    if constexpr (is_half_row<T>)
      if (contiguous) {
        alignas(64) A wide[kRows];
        const T* const from = reinterpret_cast<const T*>(x);
        for (int64_t i = 0; i < n; i += kRows) {
          const int64_t m = n - i < kRows ? n - i : kRows;
          widen_row(wide, from + i, m);
          for (int64_t k = 0; k < m; ++k) wide[k] = acc = Op::step(acc, wide[k]);
          narrow_row(reinterpret_cast<T*>(y) + i, wide, m);
        }
        continue;
      }
    // Four steps to a turn of the loop: of integers they take less time than the loop's own.
    if (std::is_integral_v<T> && contiguous) {
      const T* const from = reinterpret_cast<const T*>(x);
      T* const to = reinterpret_cast<T*>(y);
#pragma GCC unroll 4
      for (int64_t i = 0; i < n; ++i) {
        acc = Op::step(acc, static_cast<A>(from[i]));
        to[i] = static_cast<T>(acc);
      }
      continue;
    }
    for (int64_t i = 0; i < n; ++i) {
      acc = Op::step(acc, static_cast<A>(*reinterpret_cast<const T*>(x + i * in_stride)));
      *reinterpret_cast<T*>(y + i * out_stride[0]) = static_cast<T>(acc);
    }
  }
}

constexpr int64_t kBlock = 16;

// One contiguous row. In most blocks no element replaces the best one: they are compared, and filled, side by side.
template <class Order, class T, class F>
STRIDED_INLINE void extreme_row(T* value, int64_t* place, const char* from, int64_t n, F read) {
  auto top = read(from);
  int64_t at = 0;
  const auto step = [&](int64_t i) {
    const auto x = read(from + i * static_cast<int64_t>(sizeof(T)));
    if (scan::replaces<Order>(x, top)) top = x, at = i;
    value[i] = T(top);
    place[i] = at;
  };
  const int64_t whole = n - n % kBlock;
  for (int64_t i = 0; i < whole; i += kBlock) {
    // Bits of the width of an element, for vectors. NaN is below nothing, and nothing is below NaN.
    using Bits = std::conditional_t<sizeof(top) == 8, int64_t, std::conditional_t<sizeof(top) == 4, int32_t, int8_t>>;
    Bits below = -1;
    for (int64_t k = 0; k < kBlock; ++k) {
      const auto x = read(from + (i + k) * static_cast<int64_t>(sizeof(T)));
      below &= static_cast<Bits>(-static_cast<Bits>(Order::takes(top, x) & (top != x)));
    }
    if (below == 0) {
      for (int64_t k = 0; k < kBlock; ++k) step(i + k);
      continue;
    }
    const T best = T(top);
    for (int64_t k = 0; k < kBlock; ++k) value[i + k] = best;
    for (int64_t k = 0; k < kBlock; ++k) place[i + k] = at;
  }
  for (int64_t i = whole; i < n; ++i) step(i);
}

template <class Order, class T>
void scan_extreme(char* const* out, const int64_t* out_stride, const int64_t* out_row_stride, const char* in,
                  int64_t in_stride, int64_t in_row_stride, int64_t n, int64_t rows) {
  using A = std::conditional_t<std::is_same_v<T, bool>, uint8_t, compute_t<T>>;
  using M = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;  // a byte viewed as bool may hold anything
  A best[kRows];
  int64_t index[kRows];
  for (int64_t r0 = 0; r0 < rows; r0 += kRows) {
    const int64_t m = in_row_stride == sizeof(T) ? (rows - r0 < kRows ? rows - r0 : kRows) : 1;
    const auto read = [=](const char* at) {
      A x = static_cast<A>(*reinterpret_cast<const M*>(at));
      if constexpr (std::is_same_v<T, bool>) x = x != 0;
      return x;
    };
    if (m == 1) {  // the best one so far stays in a register
      const char* from = in + r0 * in_row_stride;
      char *value = out[0] + r0 * out_row_stride[0], *place = out[1] + r0 * out_row_stride[1];
      A top = read(from);
      int64_t at = 0;
      if (in_stride == sizeof(T) && out_stride[0] == sizeof(T) && out_stride[1] == sizeof(int64_t) && n >= kBlock) {
        extreme_row<Order, T>(reinterpret_cast<T*>(value), reinterpret_cast<int64_t*>(place), from, n, read);
        r0 -= kRows - 1;
        continue;
      }
      for (int64_t i = 0; i < n; ++i, from += in_stride, value += out_stride[0], place += out_stride[1]) {
        const A x = read(from);
        if (scan::replaces<Order>(x, top)) top = x, at = i;
        *reinterpret_cast<T*>(value) = T(top);
        *reinterpret_cast<int64_t*>(place) = at;
      }
      r0 -= kRows - 1;  // rows far apart go one by one
      continue;
    }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t r = 0; r < m; ++r) {
        const A x = read(in + (r0 + r) * in_row_stride + i * in_stride);
        if (i == 0 || scan::replaces<Order>(x, best[r])) {
          best[r] = x;
          index[r] = i;
        }
        *reinterpret_cast<T*>(out[0] + (r0 + r) * out_row_stride[0] + i * out_stride[0]) = T(best[r]);
        *reinterpret_cast<int64_t*>(out[1] + (r0 + r) * out_row_stride[1] + i * out_stride[1]) = index[r];
      }
  }
}

}  // namespace

void fill_scan(KernelTable& table) {
  auto fold = [&](auto tag, ScanOp op) {
    using Op = typename decltype(tag)::type;
    for_each(typename Op::Types{}, [&](auto type, int) {
      using T = typename decltype(type)::type;
      table.scan[static_cast<int>(op)][index_of(dtype_of<T>)] = scan_fold<Op, T>;
    });
  };
  fold(Tag<scan::Sum>{}, ScanOp::Sum);
  fold(Tag<scan::Product>{}, ScanOp::Product);
  for_each(scan::Max::Types{}, [&](auto type, int) {
    using T = typename decltype(type)::type;
    table.scan[static_cast<int>(ScanOp::Max)][index_of(dtype_of<T>)] = scan_extreme<scan::Highest, T>;
    table.scan[static_cast<int>(ScanOp::Min)][index_of(dtype_of<T>)] = scan_extreme<scan::Lowest, T>;
  });
}

}  // namespace STRIDED_ISA
}  // namespace strided
