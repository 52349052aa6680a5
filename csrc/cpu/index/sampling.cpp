// Images of other sizes: sums of a few weighted elements along an axis; convolutions of channels one by one.
#include <cstring>

#include "base/math.h"
#include "cpu/kernels.h"
#include "cpu/load_apart.inc"
#include "cpu/networks.h"
#include "cpu/workspace.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

// ---------------------------------------------------------------- weighted sums along an axis

// to[i] (+)= the sum of weight[k] * from_k[i], where from_k is a row of `inner` elements.
template <int kTaps, class T>
STRIDED_INLINE void mix_rows(const T* in, const int64_t* place, const T* weight, int64_t inner, T* out) {
  const T* from[kTaps];
  T w[kTaps];
  for (int k = 0; k < kTaps; ++k) {
    from[k] = in + place[k] * inner;
    w[k] = weight[k];
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < inner; ++i) {
    T sum = from[0][i] * w[0];
#pragma GCC unroll 4
    for (int k = 1; k < kTaps; ++k) sum = math::mul_add(from[k][i], w[k], sum);
    out[i] = sum;
  }
}

template <int kTaps, class T>
void forward(const TapsPlan& plan, const T* in, const T* weight, T* out) {
  const int64_t inner = plan.inner, to = plan.to;
  const int64_t* const place = plan.place;
  if (inner > 1) {
    for (int64_t j = 0; j < to; ++j) mix_rows<kTaps>(in, place + j * kTaps, weight + j * kTaps, inner, out + j * inner);
    return;
  }
  for (int64_t j = 0; j < to; ++j) {
    T sum = in[place[j * kTaps]] * weight[j * kTaps];
#pragma GCC unroll 4
    for (int k = 1; k < kTaps; ++k) sum = math::mul_add(in[place[j * kTaps + k]], weight[j * kTaps + k], sum);
    out[j] = sum;
  }
}

template <class T>
void forward_any(const TapsPlan& plan, const T* in, const T* weight, T* out) {
  const int64_t inner = plan.inner;
  for (int64_t j = 0; j < plan.to; ++j) {
    T* const to = out + j * inner;
    for (int k = 0; k < plan.taps; ++k) {
      const T* const from = in + plan.place[j * plan.taps + k] * inner;
      const T w = weight[j * plan.taps + k];
      if (k == 0)
#pragma GCC ivdep
        for (int64_t i = 0; i < inner; ++i) to[i] = from[i] * w;
      else
#pragma GCC ivdep
        for (int64_t i = 0; i < inner; ++i) to[i] = math::mul_add(from[i], w, to[i]);
    }
  }
}

template <class T>
void copies(const TapsPlan& plan, const T* in, T* out) {
  if (plan.inner == 1) {
    for (int64_t j = 0; j < plan.to; ++j) out[j] = in[plan.place[j]];
    return;
  }
  for (int64_t j = 0; j < plan.to; ++j)
    std::memcpy(out + j * plan.inner, in + plan.place[j] * plan.inner, static_cast<size_t>(plan.inner) * sizeof(T));
}

template <class T>
void transposed(const TapsPlan& plan, const T* in, const T* weight, T* out) {
  for (int64_t j = 0; j < plan.to; ++j)
    for (int k = 0; k < plan.taps; ++k) {
      const int64_t at = j * plan.taps + k;
      const T w = weight ? weight[at] : T(1);
      T* const to = out + plan.place[at] * plan.inner;
      const T* const from = in + j * plan.inner;
#pragma GCC ivdep
      for (int64_t i = 0; i < plan.inner; ++i) to[i] = math::mul_add(from[i], w, to[i]);
    }
}

// Of bytes: TapsPlan says how sums are rounded. Some columns at a time, whose sums stay in the nearest cache.
void byte_taps(const TapsPlan& plan, int64_t begin, int64_t end) {
  constexpr int64_t kColumns = 1024;
  const int64_t inner = plan.inner;
  const int32_t half = plan.shift > 0 ? 1 << (plan.shift - 1) : 0;
  for (int64_t o = begin; o < end; ++o) {
    const uint8_t* const in = static_cast<const uint8_t*>(plan.in) + o * plan.from * inner;
    uint8_t* const out = static_cast<uint8_t*>(plan.out) + o * plan.to * inner;
    if (!plan.weight) {
      copies(plan, in, out);
      continue;
    }
    for (int64_t j = 0; j < plan.to; ++j) {
      const int64_t* const place = plan.place + j * plan.taps;
      const int32_t* const weight = static_cast<const int32_t*>(plan.weight) + j * plan.taps;
      for (int64_t first = 0; first < inner; first += kColumns) {
        const int64_t m = min_of(kColumns, inner - first);
        alignas(64) int32_t sum[kColumns];
        for (int64_t i = 0; i < m; ++i) sum[i] = half;
        for (int k = 0; k < plan.taps; ++k) {
          const uint8_t* const from = in + place[k] * inner + first;
          const int32_t w = weight[k];
          if (w != 0)
            for (int64_t i = 0; i < m; ++i) sum[i] += from[i] * w;
        }
        uint8_t* const to = out + j * inner + first;
        for (int64_t i = 0; i < m; ++i) {
          const int32_t x = sum[i] >> plan.shift;
          to[i] = static_cast<uint8_t>(x < 0 ? 0 : x > 255 ? 255 : x);
        }
      }
    }
  }
}

// The same for one element at a place, with what goes to each place next to each other: sums stay in a register. The
// memory is the thread's workspace.
template <class T>
struct Gathered {
  int64_t places;
  int64_t *start, *index;  // of place p: start[p] ... start[p + 1] - 1
  T* weight = nullptr;     // null: ones

  explicit Gathered(const TapsPlan& plan) : places(plan.from) {
    const int64_t n = plan.to * plan.taps, words = 2 * places + 1 + n, item = static_cast<int64_t>(sizeof(int64_t));
    const T* const given = static_cast<const T*>(plan.weight);
    start = static_cast<int64_t*>(
        workspace(WorkspaceSlot::Columns, words * item + (given ? n * static_cast<int64_t>(sizeof(T)) : 0)));
    index = start + places + 1;
    int64_t* const next = index + n;
    if (given) weight = reinterpret_cast<T*>(next + places);
    for (int64_t p = 0; p <= places; ++p) start[p] = 0;
    for (int64_t at = 0; at < n; ++at) ++start[plan.place[at] + 1];
    for (int64_t p = 0; p < places; ++p) {
      next[p] = start[p];
      start[p + 1] += start[p];
    }
    for (int64_t at = 0; at < n; ++at) {
      const int64_t to = next[plan.place[at]]++;
      index[to] = at / plan.taps;
      if (given) weight[to] = given[at];
    }
  }
  void run(const T* in, T* out) const {
    int64_t at = 0;
    for (int64_t p = 0; p < places; ++p) {
      const int64_t end = start[p + 1];
      T sum = 0;
      if (weight)
        for (; at < end; ++at) sum = math::mul_add(in[index[at]], weight[at], sum);
      else
        for (; at < end; ++at) sum += in[index[at]];
      out[p] = sum;
    }
  }
};

template <class T>
void taps(const TapsPlan& plan, int64_t begin, int64_t end) {
  const T* const weight = static_cast<const T*>(plan.weight);
  const int64_t small = plan.from * plan.inner, large = plan.to * plan.inner;
  if (plan.transposed && plan.inner == 1) {
    const Gathered<T> gathered(plan);
    for (int64_t o = begin; o < end; ++o)
      gathered.run(static_cast<const T*>(plan.in) + o * large, static_cast<T*>(plan.out) + o * small);
    return;
  }
  for (int64_t o = begin; o < end; ++o) {
    const T* const in = static_cast<const T*>(plan.in) + o * (plan.transposed ? large : small);
    T* const out = static_cast<T*>(plan.out) + o * (plan.transposed ? small : large);
    if (plan.transposed) transposed(plan, in, weight, out);
    else if (!weight) copies(plan, in, out);
    else if (plan.taps == 2) forward<2>(plan, in, weight, out);
    else if (plan.taps == 4) forward<4>(plan, in, weight, out);
    else forward_any(plan, in, weight, out);
  }
}

// ---------------------------------------------------------------- convolutions of single channels

// sum[k] += the sum over i < taps of weight[i * turn] * from[i * apart + k * stride]; `first`: = instead.
template <int kTaps, class T>
STRIDED_INLINE void add_taps(bool first, const T* from, int64_t apart, int64_t stride, const T* weight, int64_t turn,
                             int64_t n, T* sum) {
  T w[kTaps];
  for (int i = 0; i < kTaps; ++i) w[i] = weight[i * turn];
  const auto add = [&](int64_t step, bool is_first) {
#pragma GCC ivdep
    for (int64_t k = 0; k < n; ++k) {
      T s = is_first ? from[k * step] * w[0] : math::mul_add(from[k * step], w[0], sum[k]);
#pragma GCC unroll 5
      for (int i = 1; i < kTaps; ++i) s = math::mul_add(from[i * apart + k * step], w[i], s);
      sum[k] = s;
    }
  };
  if (stride == 1) first ? add(1, true) : add(1, false);
  else if (stride == 2) first ? add(2, true) : add(2, false);
  else first ? add(stride, true) : add(stride, false);
}

// Sums of a piece of a plane: n elements, one for each that a kernel may begin at.
template <class T>
void sum_taps(const ChannelsPlan& plan, const T* from, const T* weight, int64_t stride, int64_t n, T* sum) {
  const int64_t high = plan.kernel[0], wide = plan.kernel[1], turn = plan.turned ? -1 : 1;
  if (plan.turned) weight += high * wide - 1;
  for (int64_t i = 0; i < high; ++i) {
    const T* const row = from + i * plan.dilation[0] * plan.size[1];
    for (int64_t j = 0; j < wide; weight += turn) {
      const T* const tap = row + j * plan.dilation[1];
      const bool first = i == 0 && j == 0;
      if (j + 5 <= wide) {
        add_taps<5>(first, tap, plan.dilation[1], stride, weight, turn, n, sum);
        weight += 4 * turn;
        j += 5;
      } else if (j + 3 <= wide) {
        add_taps<3>(first, tap, plan.dilation[1], stride, weight, turn, n, sum);
        weight += 2 * turn;
        j += 3;
      } else {
        add_taps<1>(first, tap, plan.dilation[1], stride, weight, turn, n, sum);
        ++j;
      }
    }
  }
}

// In larger steps rows are short, and what they read does not lie in vectors. So W sums of each of R rows stay in
// registers over the whole kernel. Rows y ... y + R - 1 of the outputs, from column x on.
template <int R, int W, int kStep, class T>
STRIDED_INLINE void sums_apart(const ChannelsPlan& plan, const T* in, const T* weight, int64_t y, int64_t x, T* out) {
  using V = Vec<T, W>;
  const int64_t width = plan.size[1], step = plan.stride[1], turn = plan.turned ? -1 : 1;
  const int64_t apart = plan.stride[0] * width;
  if (plan.turned) weight += plan.kernel[0] * plan.kernel[1] - 1;
  in += y * apart + x * step;
  V sum[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) sum[r] = V{};
  for (int64_t i = 0; i < plan.kernel[0]; ++i) {
    const T* tap = in + i * plan.dilation[0] * width;
    for (int64_t j = 0; j < plan.kernel[1]; ++j, weight += turn, tap += plan.dilation[1]) {
      const V w = V{} + *weight;
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[r] += load_apart<W, kStep>(tap + r * apart, step) * w;
    }
  }
  out += y * plan.to[1] + x;
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) store(out + r * plan.to[1], sum[r]);
}
// The last vector of a row overlaps the one before.
template <int R, int W, int kStep, class T>
STRIDED_INLINE void rows_apart(const ChannelsPlan& plan, const T* in, const T* weight, int64_t y, T* out) {
  const int64_t wide = plan.to[1];
  for (int64_t x = 0; x + W <= wide; x += W) sums_apart<R, W, kStep>(plan, in, weight, y, x, out);
  if (wide % W != 0) sums_apart<R, W, kStep>(plan, in, weight, y, wide - W, out);
}
template <int W, int kStep, class T>
void plane_apart(const ChannelsPlan& plan, const T* in, const T* weight, T* out) {
  int64_t y = 0;
  for (; y + 4 <= plan.to[0]; y += 4) rows_apart<4, W, kStep>(plan, in, weight, y, out);
  for (; y < plan.to[0]; ++y) rows_apart<1, W, kStep>(plan, in, weight, y, out);
}
// In steps of two: elements in even and in odd places of rows follow each other in a copy of the plane, which a large
// kernel reads many times, so that each row of sums reads vectors.
constexpr int64_t kManyTaps = 8;
template <class T>
struct Phases {
  const T* data;  // for each row, `half` elements in even places, then as many in odd ones; null: not made
  int64_t half;
};
template <class T>
Phases<T> phases_of(const ChannelsPlan& plan, const T* in) {
  constexpr int64_t L = kLanes<T>;
  const int64_t high = plan.size[0], wide = plan.size[1], half = (wide + 1) / 2;
  const bool fits = plan.stride[1] == 2 && plan.dilation[1] == 1 && plan.kernel[0] * plan.kernel[1] >= kManyTaps;
  if (!fits || plan.to[1] < L) return {nullptr, 0};
  T* const copy = static_cast<T*>(workspace(WorkspaceSlot::Columns, 2 * high * half * static_cast<int64_t>(sizeof(T))));
  for (int64_t i = 0; i < high; ++i) {
    const T* const from = in + i * wide;
    T *const even = copy + 2 * i * half, *const odd = even + half;
    int64_t x = 0;
    for (; x + L <= wide / 2; x += L) {
      store(even + x, load_apart<L, 2>(from + 2 * x, 2));
      store(odd + x, load_apart<L, 2>(from + 2 * x + 1, 2));
    }
    for (; x < half; ++x) {
      even[x] = from[2 * x];
      odd[x] = 2 * x + 1 < wide ? from[2 * x + 1] : T(0);
    }
  }
  return {copy, half};
}
template <int R, class T>
STRIDED_INLINE void sums_of_phases(const ChannelsPlan& plan, const Phases<T>& phases, const T* weight, int64_t y,
                                   int64_t x, T* out) {
  using V = Vec<T>;
  const int64_t turn = plan.turned ? -1 : 1, row = 2 * phases.half, apart = plan.stride[0] * row;
  if (plan.turned) weight += plan.kernel[0] * plan.kernel[1] - 1;
  const T* const from = phases.data + y * apart + x;
  V sum[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) sum[r] = V{};
  for (int64_t i = 0; i < plan.kernel[0]; ++i)
    for (int64_t j = 0; j < plan.kernel[1]; ++j, weight += turn) {
      const T* const tap = from + i * plan.dilation[0] * row + (j & 1) * phases.half + j / 2;
      const V w = V{} + *weight;
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sum[r] += load<V>(tap + r * apart) * w;
    }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) store(out + (y + r) * plan.to[1] + x, sum[r]);
}
template <int R, class T>
STRIDED_INLINE int64_t rows_of_phases(const ChannelsPlan& plan, const Phases<T>& phases, const T* weight, int64_t y,
                                      T* out) {
  constexpr int64_t L = kLanes<T>;
  for (; y + R <= plan.to[0]; y += R)
    for (int64_t x = 0; x < plan.to[1]; x += L)
      sums_of_phases<R>(plan, phases, weight, y, min_of(x, plan.to[1] - L), out);
  return y;
}
template <class T>
void plane_of_phases(const ChannelsPlan& plan, const Phases<T>& phases, const T* weight, T* out) {
  int64_t y = rows_of_phases<8>(plan, phases, weight, 0, out);
  y = rows_of_phases<4>(plan, phases, weight, y, out);
  rows_of_phases<1>(plan, phases, weight, y, out);
}

// False for rows that are shorter than vectors.
template <class T>
bool is_plane_apart(const ChannelsPlan& plan, const T* in, const T* weight, T* out) {
  constexpr int L = kLanes<T>, few = L > 4 ? 4 : L;
  const bool two = plan.stride[1] == 2;
  if (plan.to[1] >= L) two ? plane_apart<L, 2>(plan, in, weight, out) : plane_apart<L, 0>(plan, in, weight, out);
  else if (plan.to[1] >= few)
    two ? plane_apart<few, 2>(plan, in, weight, out) : plane_apart<few, 0>(plan, in, weight, out);
  else return false;
  return true;
}

constexpr int64_t kPiece = 2048;  // elements of sums that stay in the nearest cache

// With steps of 1 some rows of the plane are one row of sums, with a few that are none between those of the result.
template <class T>
void channels(const ChannelsPlan& plan, int64_t begin, int64_t end) {
  const int64_t width = plan.size[1], high = plan.to[0], wide = plan.to[1], taps = plan.kernel[0] * plan.kernel[1];
  const bool joined = plan.stride[0] == 1 && plan.stride[1] == 1 && width <= kPiece / 2;
  const int64_t rows = joined ? kPiece / width : 1;
  alignas(64) T sums[kPiece];
  for (int64_t p = begin; p < end; ++p) {
    const T* const in = static_cast<const T*>(plan.in) + p * plan.size[0] * width;
    const Phases<T> phases = phases_of(plan, in);
    for (int64_t t = 0; t < plan.times; ++t) {
      const T* const weight = static_cast<const T*>(plan.weight) + (p % plan.channels * plan.times + t) * taps;
      T* const out = static_cast<T*>(plan.out) + (p * plan.times + t) * high * wide;
      if (phases.data != nullptr) {
        plane_of_phases(plan, phases, weight, out);
        continue;
      }
      if (plan.stride[1] > 1 && is_plane_apart(plan, in, weight, out)) continue;
      for (int64_t y = 0; y < high; y += rows) {
        const T* const from = in + y * plan.stride[0] * width;
        if (!joined) {
          sum_taps(plan, from, weight, plan.stride[1], wide, out + y * wide);
          continue;
        }
        const int64_t count = min_of(rows, high - y);
        sum_taps(plan, from, weight, 1, (count - 1) * width + wide, sums);
        for (int64_t r = 0; r < count; ++r)
          std::memcpy(out + (y + r) * wide, sums + r * width, static_cast<size_t>(wide) * sizeof(T));
      }
    }
  }
}

}  // namespace

void fill_sampling(KernelTable& table) {
  table.sampling[0] = {&taps<float>, &channels<float>};
  table.byte_taps = &byte_taps;
  table.sampling[1] = {&taps<double>, &channels<double>};
}

}  // namespace STRIDED_ISA
}  // namespace strided
