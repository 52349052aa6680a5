#include "cpu/index/index.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backend/kernels.h"

namespace strided {
namespace {

struct Item16 {
  uint64_t a, b;
};

template <class T>
T load(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}
template <class T>
void store(char* p, const T& v) {
  std::memcpy(p, &v, sizeof(T));
}

// Indices become places in small batches.
// A batch of indices is first turned into byte offsets, checked and wrapped on the way by a loop without branches; the
// moves then need no test. The batch stays in the L1 cache.
constexpr int64_t kBatch = 1024;

// at[i] = wrap(index[i]) * stride + i * ramp. False when one of them is out of range.
bool places(int64_t* at, const char* index, int64_t step, int64_t n, int64_t ramp, const IndexParams& p) {
  if (p.check == IndexParams::Trusted) {
    for (int64_t i = 0; i < n; ++i) at[i] = load<int64_t>(index + i * step) * p.stride + i * ramp;
    return true;
  }
  const int64_t wrap = p.check == IndexParams::Wrapping ? p.size : 0;
  uint64_t bad = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t v = load<int64_t>(index + i * step);
    v += (v >> 63) & wrap;
    bad |= static_cast<uint64_t>(v) >= static_cast<uint64_t>(p.size);
    // In unsigned arithmetic: a bad index may overflow here, and is not used.
    at[i] = static_cast<int64_t>(static_cast<uint64_t>(v) * static_cast<uint64_t>(p.stride) +
                                 static_cast<uint64_t>(i * ramp));
  }
  if (bad) __atomic_store_n(p.bad, 1, __ATOMIC_RELAXED);
  return !bad;
}

// One row of elements, or single ones, on their way. The order of arguments is to, from.
template <class T>
struct Move {
  using Item = T;
  static void one(char* to, const char* from) { store(to, load<T>(from)); }
  static void row(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
    if (to_stride == sizeof(T) && from_stride == sizeof(T)) {
      std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
    } else if (from_stride == 0) {
      const T v = load<T>(from);
      for (int64_t i = 0; i < n; ++i) store(to + i * to_stride, v);
    } else {
      for (int64_t i = 0; i < n; ++i) store(to + i * to_stride, load<T>(from + i * from_stride));
    }
  }
};

template <class T>
bool is_nan(T v) {
  return v != v;
}

template <ScatterOp Op, class T>
struct Merge {
  using Item = T;
  using C = compute_t<T>;
  static T merge(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) {
      return Op == ScatterOp::Add || Op == ScatterOp::Max ? a || b : a && b;
    } else if constexpr (std::is_integral_v<T>) {
      // Sums and products wrap around.
      if constexpr (Op == ScatterOp::Add) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      else if constexpr (Op == ScatterOp::Mul)
        return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      else if constexpr (Op == ScatterOp::Max) return std::max(a, b);
      else return std::min(a, b);
    } else {
      const C x = static_cast<C>(a), y = static_cast<C>(b);
      if constexpr (Op == ScatterOp::Add) return T(x + y);
      else if constexpr (Op == ScatterOp::Mul) return T(x * y);
      else if constexpr (Op == ScatterOp::Max) return is_nan(x) || x >= y ? a : b;  // a NaN stays, a NaN comes
      else return is_nan(x) || x <= y ? a : b;
    }
  }
  static void one(char* to, const char* from) { store(to, merge(load<T>(to), load<T>(from))); }
  static void row(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
    if (to_stride == sizeof(T) && from_stride == sizeof(T)) {
      for (int64_t i = 0; i < n; ++i) one(to + i * sizeof(T), from + i * sizeof(T));
    } else {
      for (int64_t i = 0; i < n; ++i) one(to + i * to_stride, from + i * from_stride);
    }
  }
};

// f(i, v) for each index v of a contiguous list, wrapped; a bad one counts as 0, and is reported at the end (false).
template <class F>
STRIDED_INLINE bool each_index(const char* index, int64_t n, const IndexParams& p, F f) {
  const int64_t wrap = p.check == IndexParams::Wrapping ? p.size : 0;
  const uint64_t size = p.check == IndexParams::Trusted ? ~uint64_t{0} : static_cast<uint64_t>(p.size);
  uint64_t bad = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t v = load<int64_t>(index + i * 8);
    v += (v >> 63) & wrap;
    const bool out = static_cast<uint64_t>(v) >= size;
    bad |= out;
    f(i, out ? 0 : v);
  }
  if (bad) __atomic_store_n(p.bad, 1, __ATOMIC_RELAXED);
  return !bad;
}

// to[i] = from[index[i]], in one pass.
template <class T>
bool take_line(char* to, int64_t to_stride, const char* from, int64_t ramp, const char* index, int64_t n,
               const IndexParams& p) {
  if (p.size <= 0) {
    __atomic_store_n(p.bad, 1, __ATOMIC_RELAXED);
    return false;
  }
  auto run = [&](int64_t stride, int64_t step) {
    return each_index(index, n, p,
                      [&](int64_t i, int64_t v) { store(to + i * step, load<T>(from + v * stride + i * ramp)); });
  };
  return p.stride == sizeof(T) && to_stride == sizeof(T) ? run(sizeof(T), sizeof(T)) : run(p.stride, to_stride);
}

// to[index[i]] merged with from[i], in one pass. The index was checked before anything was written; should another
// thread have changed it since, element 0 is written to.
template <class Op>
bool put_line(char* to, int64_t ramp, const char* from, int64_t from_stride, const char* index, int64_t n,
              const IndexParams& p) {
  auto run = [&](int64_t stride, int64_t step) {
    return each_index(index, n, p, [&](int64_t i, int64_t v) { Op::one(to + v * stride + i * ramp, from + i * step); });
  };
  constexpr int64_t item = sizeof(typename Op::Item);
  return p.stride == item && from_stride == item ? run(item, item) : run(p.stride, from_stride);
}

// The loop behind take (places on the side of `from`) and put and combine (places on the side of `to`).
template <class Op, bool places_in_to>
void indexed(char** data, const int64_t* s, int64_t n0, int64_t n1, const void* params) {
  const IndexParams& p = *static_cast<const IndexParams*>(params);
  if (p.bad && __atomic_load_n(p.bad, __ATOMIC_RELAXED)) return;
  char* const to = data[0];
  const char* const from = data[1];
  const char* const index = data[2];
  constexpr int named = places_in_to ? 0 : 1;
  int64_t at[kBatch];
  if (s[2] == 0) {
    // One index for each row.
    for (int64_t j0 = 0; j0 < n1; j0 += kBatch) {
      const int64_t m = std::min(kBatch, n1 - j0);
      if (!places(at, index + j0 * s[5], s[5], m, s[3 + named], p)) return;
      char* const to0 = to + j0 * s[3];
      const char* const from0 = from + j0 * s[4];
      if (n0 == 1) {
        for (int64_t j = 0; j < m; ++j)
          Op::one(places_in_to ? to0 + at[j] : to0 + j * s[3], places_in_to ? from0 + j * s[4] : from0 + at[j]);
      } else {
        for (int64_t j = 0; j < m; ++j)
          Op::row(places_in_to ? to0 + at[j] : to0 + j * s[3], s[0], places_in_to ? from0 + j * s[4] : from0 + at[j],
                  s[1], n0);
      }
    }
    return;
  }
  if constexpr (places_in_to) {
    if (s[2] == 8 && (s[5] != 0 || n1 == 1)) {
      for (int64_t j = 0; j < n1; ++j)
        if (!put_line<Op>(to + j * s[3], s[0], from + j * s[4], s[1], index + j * s[5], n0, p)) return;
      return;
    }
  } else {
    if (s[2] == 8 && (s[5] != 0 || n1 == 1) && p.check != IndexParams::Trusted) {
      for (int64_t j = 0; j < n1; ++j)
        if (!take_line<typename Op::Item>(to + j * s[3], s[0], from + j * s[4], s[1], index + j * s[5], n0, p)) return;
      return;
    }
  }
  for (int64_t i0 = 0; i0 < n0; i0 += kBatch) {
    const int64_t m = std::min(kBatch, n0 - i0);
    for (int64_t j = 0; j < n1; ++j) {
      if ((j == 0 || s[5] != 0) && !places(at, index + i0 * s[2] + j * s[5], s[2], m, s[named], p)) return;
      char* const to0 = to + i0 * s[0] + j * s[3];
      const char* const from0 = from + i0 * s[1] + j * s[4];
      auto run = [&](int64_t dense) {
        for (int64_t i = 0; i < m; ++i)
          Op::one(places_in_to ? to0 + at[i] : to0 + i * dense, places_in_to ? from0 + i * dense : from0 + at[i]);
      };
      // A known stride makes a shorter loop.
      if (s[1 - named] == sizeof(typename Op::Item)) run(sizeof(typename Op::Item));
      else run(s[1 - named]);
    }
  }
}

void resolve(char** data, const int64_t* s, int64_t n0, int64_t n1, const void* params) {
  const IndexParams& p = *static_cast<const IndexParams*>(params);
  int64_t at[kBatch];
  for (int64_t j = 0; j < n1; ++j) {
    for (int64_t i0 = 0; i0 < n0; i0 += kBatch) {
      const int64_t m = std::min(kBatch, n0 - i0);
      if (!places(at, data[1] + j * s[3] + i0 * s[1], s[1], m, 0, p)) return;
      char* const to = data[0] + j * s[2] + i0 * s[0];
      for (int64_t i = 0; i < m; ++i) store(to + i * s[0], load<int64_t>(to + i * s[0]) + at[i]);
    }
  }
}

int64_t first_bad(const int64_t* index, int64_t n, const IndexParams& p) {
  const uint64_t below = p.check == IndexParams::Wrapping ? static_cast<uint64_t>(p.size) : 0;  // -below ... size - 1
  const uint64_t good = below + static_cast<uint64_t>(p.size);
  auto out_of_range = [&](int64_t v) { return static_cast<uint64_t>(v) + below >= good; };
  for (int64_t i0 = 0; i0 < n; i0 += kBatch) {
    const int64_t end = std::min(i0 + kBatch, n);
    uint64_t bad = 0;
    for (int64_t i = i0; i < end; ++i) bad |= out_of_range(index[i]);
    if (!bad) continue;
    for (int64_t i = i0; i < end; ++i)
      if (out_of_range(index[i])) return i;
  }
  return -1;
}

template <class T>
void divide(char** data, const int64_t* s, int64_t n0, int64_t n1, const void*) {
  for (int64_t j = 0; j < n1; ++j)
    for (int64_t i = 0; i < n0; ++i) {
      char* const to = data[0] + i * s[0] + j * s[2];
      const int64_t count = load<int64_t>(data[1] + i * s[1] + j * s[3]);
      if (count <= 1) continue;
      const T v = load<T>(to);
      if constexpr (std::is_same_v<T, bool>) {
        continue;
      } else if constexpr (std::is_integral_v<T>) {
        if constexpr (std::is_signed_v<T>) {
          const int64_t q = static_cast<int64_t>(v) / count, r = static_cast<int64_t>(v) % count;
          store(to, static_cast<T>(q - (r < 0)));
        } else {
          store(to, static_cast<T>(static_cast<uint64_t>(v) / static_cast<uint64_t>(count)));
        }
      } else {
        using C = compute_t<T>;
        store(to, T(static_cast<C>(v) / C(static_cast<real_t<C>>(count))));
      }
    }
}

template <class T>
void fill_moves(IndexKernels& k, int row) {
  k.take[row] = indexed<Move<T>, false>;
  k.put[row] = indexed<Move<T>, true>;
}

}  // namespace

void fill_index_kernels(KernelTable& table) {
  IndexKernels& k = table.index;
  k.resolve = resolve;
  k.first_bad = first_bad;
  fill_moves<uint8_t>(k, 0);
  fill_moves<uint16_t>(k, 1);
  fill_moves<uint32_t>(k, 2);
  fill_moves<uint64_t>(k, 3);
  fill_moves<Item16>(k, 4);
  for_each(LoopDTypes{}, [&](auto tag, int) {
    using T = typename decltype(tag)::type;
    constexpr int t = index_of(dtype_of<T>);
    k.combine[static_cast<int>(ScatterOp::Add)][t] = indexed<Merge<ScatterOp::Add, T>, true>;
    k.combine[static_cast<int>(ScatterOp::Mul)][t] = indexed<Merge<ScatterOp::Mul, T>, true>;
    if constexpr (!is_complex_v<T>) {
      k.combine[static_cast<int>(ScatterOp::Max)][t] = indexed<Merge<ScatterOp::Max, T>, true>;
      k.combine[static_cast<int>(ScatterOp::Min)][t] = indexed<Merge<ScatterOp::Min, T>, true>;
    }
    k.divide[t] = divide<T>;
  });
}

}  // namespace strided
