// Maxima of windows of images, and where they are.
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/math.h"
#include "cpu/kernels.h"
#include "cpu/load_apart.inc"
#include "cpu/networks.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

// The least number of steps with 0 <= start + steps * by.
STRIDED_INLINE int64_t steps_to_zero(int64_t start, int64_t by) { return start < 0 ? (-start + by - 1) / by : 0; }

// The windows of a row of outputs. NaN is larger than all, the last one is taken. Codes count elements from where a
// window begins, which may be in the padding.
template <class T>
struct RowOfWindows {
  using Code = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

  const PoolPlan& plan;
  const T* in;     // a plane, of rows that begin with the padding
  int64_t length;  // of these rows
  T* out;
  int64_t* places;
  int64_t layer, row;                                    // where windows begin
  int64_t first_layer, last_layer, first_row, last_row;  // of the kernel: those that meet the plane
  int64_t layer_step = plan.dilation[0] * plan.size[1] * plan.size[2], row_step = plan.dilation[1] * plan.size[2];

  RowOfWindows(const PoolPlan& p, const T* plane, int64_t n, int64_t z, int64_t y, T* to, int64_t* places_to)
      : plan(p),
        in(plane),
        length(n),
        out(to),
        places(places_to),
        layer(z * p.stride[0] - p.padding[0]),
        row(y * p.stride[1] - p.padding[1]),
        first_layer(steps_to_zero(layer, p.dilation[0])),
        last_layer(min_of(p.kernel[0], steps_to_zero(layer - p.size[0], p.dilation[0]))),
        first_row(steps_to_zero(row, p.dilation[1])),
        last_row(min_of(p.kernel[1], steps_to_zero(row - p.size[1], p.dilation[1]))) {}

  // f(elements of the plane from the window's first column on, their code) for each row that the windows meet.
  template <class F>
  STRIDED_INLINE void each_row(F f) const {
    for (int64_t i = first_layer; i < last_layer; ++i)
      for (int64_t j = first_row; j < last_row; ++j) {
        const int64_t place = (layer + i * plan.dilation[0]) * plan.size[1] + row + j * plan.dilation[1];
        f(in + place * length, i * layer_step + j * row_step);
      }
  }
  int64_t place_of(int64_t column) const {
    return (layer * plan.size[1] + row) * plan.size[2] + column - plan.padding[2];
  }
  // Where nothing is larger than -inf.
  int64_t first_code() const { return first_layer * layer_step + first_row * row_step; }

  void one(int64_t x) const {
    const int64_t column = x * plan.stride[2];
    T best = -math::infinity<T>();
    int64_t code = first_code();
    each_row([&](const T* from, int64_t here) {
      for (int64_t k = 0; k < plan.kernel[2]; ++k) {
        const T v = from[column + k * plan.dilation[2]];
        const bool better = v > best || v != v;
        best = better ? v : best;
        code = better ? here + k * plan.dilation[2] : code;
      }
    });
    out[x] = best;
    if (places) places[x] = place_of(column) + code;
  }

  // Outputs x ... x + N * W - 1. Vectors beside each other do not wait for one another.
  template <int N, int W, int kStep, bool kPlaces>
  STRIDED_INLINE void some(int64_t x) const {
    using V = Vec<T, W>;
    using I = Vec<Code, W>;
    const int64_t step = plan.stride[2], column = x * step;
    V best[N];
    I code[N];  // without places: where NaN was seen
#pragma GCC unroll 2
    for (int v = 0; v < N; ++v) {
      best[v] = V{} - math::infinity<T>();
      code[v] = I{} + (kPlaces ? static_cast<Code>(first_code()) : Code(0));
    }
    each_row([&](const T* from, int64_t here) {
      from += column;
      I now = I{} + static_cast<Code>(here);
      for (int64_t k = 0; k < plan.kernel[2]; ++k) {
#pragma GCC unroll 2
        for (int v = 0; v < N; ++v) {
          const V e = load_apart<W, kStep>(from + v * W * step, step);
          if constexpr (kPlaces) {
            const auto better = (e > best[v]) | (e != e);
            best[v] = better ? e : best[v];
            code[v] = better ? now : code[v];
          } else {
            best[v] = e > best[v] ? e : best[v];
            code[v] |= e != e;
          }
        }
        now += static_cast<Code>(plan.dilation[2]);
        from += plan.dilation[2];
      }
    });
#pragma GCC unroll 2
    for (int v = 0; v < N; ++v) {
      if constexpr (!kPlaces) best[v] = code[v] != 0 ? V{} + std::numeric_limits<T>::quiet_NaN() : best[v];
      store(out + x + v * W, best[v]);
      if constexpr (kPlaces) {
        int64_t* const to = places + x + v * W;
        const int64_t start = place_of(column + v * W * step);
        for (int l = 0; l < W; ++l) to[l] = start + l * step + code[v][l];
      }
    }
  }

  // All outputs by vectors; the last of them overlaps the one before.
  template <int W, int kStep, bool kPlaces>
  STRIDED_INLINE bool by_vectors(int64_t end) const {
    if (end < W) return false;
    int64_t x = 0;
    for (; x + 2 * W <= end; x += 2 * W) some<2, W, kStep, kPlaces>(x);
    for (; x + W <= end; x += W) some<1, W, kStep, kPlaces>(x);
    if (x < end) some<1, W, kStep, kPlaces>(end - W);
    return true;
  }
  template <int kStep, bool kPlaces>
  STRIDED_INLINE void all_in_steps() const {
    const int64_t n = plan.to[2];
    if (by_vectors<kLanes<T>, kStep, kPlaces>(n)) return;
    if constexpr (kLanes<T> > 4)
      if (by_vectors<4, kStep, kPlaces>(n)) return;
    for (int64_t x = 0; x < n; ++x) one(x);
  }
  template <bool kPlaces>
  void all() const {
    if (plan.stride[2] == 1) all_in_steps<1, kPlaces>();
    else if (plan.stride[2] == 2) all_in_steps<2, kPlaces>();
    else if (plan.stride[2] == 3) all_in_steps<3, kPlaces>();
    else all_in_steps<0, kPlaces>();
    if constexpr (kPlaces) {
      // Where nothing is larger than -inf, the place is that of the first element that is no padding.
      const int64_t none = place_of(0) + first_code();
      for (int64_t x = 0; x < plan.to[2] && x * plan.stride[2] < plan.padding[2]; ++x) {
        const int64_t column = x * plan.stride[2];
        if (places[x] == none + column)
          places[x] += steps_to_zero(column - plan.padding[2], plan.dilation[2]) * plan.dilation[2];
      }
    }
  }
};

// Rows begin ... end - 1 of the outputs of all planes. Where windows reach out of the plane along the last axis, a copy
// of the plane has -inf there.
template <class T>
void maxima(const PoolPlan& plan, int64_t begin, int64_t end) {
  const int64_t wide = plan.to[2], width = plan.size[2], rows = plan.size[0] * plan.size[1];
  const int64_t reach = (wide - 1) * plan.stride[2] + (plan.kernel[2] - 1) * plan.dilation[2] + 1;
  const bool padded = plan.padding[2] > 0 || reach > width;
  const int64_t length = padded ? max_of(reach, plan.padding[2] + width) : width;
  T* copy = nullptr;
  if (padded) {
    copy = static_cast<T*>(workspace(WorkspaceSlot::Columns, rows * length * static_cast<int64_t>(sizeof(T))));
    for (int64_t i = 0; i < rows * length; ++i) copy[i] = -math::infinity<T>();
  }
  int64_t copied = -1;
  for (int64_t r = begin; r < end; ++r) {
    const int64_t y = r % plan.to[1], z = r / plan.to[1] % plan.to[0], p = r / plan.to[1] / plan.to[0];
    const T* in = static_cast<const T*>(plan.in) + p * rows * width;
    if (padded && copied != p)
      for (int64_t i = 0; i < rows; ++i)
        std::memcpy(copy + i * length + plan.padding[2], in + i * width, static_cast<size_t>(width) * sizeof(T));
    copied = p;
    T* const out = static_cast<T*>(plan.out) + r * wide;
    const RowOfWindows<T> row(plan, padded ? copy : in, length, z, y, out,
                              plan.places ? plan.places + r * wide : nullptr);
    if (plan.places) row.template all<true>();
    else row.template all<false>();
  }
}

}  // namespace

void fill_pool(KernelTable& table) {
  table.pool[0] = &maxima<float>;
  table.pool[1] = &maxima<double>;
}

}  // namespace STRIDED_ISA
}  // namespace strided
