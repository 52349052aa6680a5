// Values of images, or volumes, at points, and the gradients of both.
#include <cstring>
#include <type_traits>

#include "base/math.h"
#include "cpu/kernels.h"
#include "cpu/networks.h"
#include "cpu/simd.inc"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

constexpr int64_t kBlock = SamplePlan::kBlock;

// What a block of points reads along one axis: kTaps elements for each, with their weights, the derivatives of these by
// the number in the grid (where kSlopes), and their places, in elements of the image; outside the image a place is -1,
// and the others are 0. `first`: the place of the first element if all of them lie in the image side by side, else -1.
template <class T, int kTaps, bool kSlopes>
struct Along {
  alignas(64) T weight[kTaps][kBlock], slope[kSlopes ? kTaps : 1][kBlock];
  alignas(64) int32_t place[kTaps][kBlock], first[kBlock];
};

// The coordinates of points that are counted in elements, moved into the image (border, reflection), and their
// derivatives. As in PyTorch that is zero on the border. NaN stays.
template <bool kSlopes, class T>
__attribute__((noinline)) void settle(const SamplePlan& plan, int64_t n, int64_t count, T* at, T* slope) {
  if (plan.outside == SamplePlan::Zeros) return;
  const T last = static_cast<T>(n - 1);
  if (plan.outside == SamplePlan::Reflection) {
    const T low = plan.align ? T(0) : T(-0.5), span = plan.align ? last : static_cast<T>(n);
    bool near = true;
    for (int64_t p = 0; p < count; ++p) near &= math::fmod_is_near(at[p] - low, span);
    alignas(64) T rest[kBlock];
    if (near)
      for (int64_t p = 0; p < count; ++p) rest[p] = math::fmod_near(math::abs(at[p] - low), span);
    else
      for (int64_t p = 0; p < count; ++p) rest[p] = span > 0 ? math::fmod(math::abs(at[p] - low), span) : T(0);
    for (int64_t p = 0; p < count; ++p) {
      // Whole numbers of spans: a quotient without the rest may be rounded up to one.
      const T flips = span > 0 ? math::round((math::abs(at[p] - low) - rest[p]) / span) : T(0);
      const bool even = math::floor(flips / 2) * 2 == flips;
      if (kSlopes) slope[p] = (at[p] < low) != even ? slope[p] : -slope[p];
      at[p] = even ? rest[p] + low : span - rest[p] + low;
    }
  }
  for (int64_t p = 0; p < count; ++p) {
    if (kSlopes) slope[p] = at[p] <= 0 || at[p] >= last ? T(0) : slope[p];
    const T x = at[p] < 0 ? T(0) : at[p];
    at[p] = x > last ? last : x;
  }
}

// Points in a grid are -1 ... 1 for the n elements of an axis; `step` elements of the image are one along the axis.
// `at`: those of this axis, written over.
template <class T, int kTaps, bool kSlopes>
void find_along(const SamplePlan& plan, T* at, int64_t n, int32_t step, int64_t count, Along<T, kTaps, kSlopes>* to) {
  alignas(64) T slope[kBlock];
  const T size = static_cast<T>(n), last = size - 1, scale = plan.align ? last / 2 : size / 2;
  if (plan.align)
    for (int64_t p = 0; p < count; ++p) at[p] = (at[p] + 1) * scale;
  else
    for (int64_t p = 0; p < count; ++p) at[p] = ((at[p] + 1) * size - 1) / 2;
  if (kSlopes)
    for (int64_t p = 0; p < count; ++p) slope[p] = scale;
  if constexpr (kTaps == 1) {
    settle<kSlopes>(plan, n, count, at, slope);
    for (int64_t p = 0; p < count; ++p) {
      const T x = math::round(at[p]);
      const bool inside = x >= 0 && x <= last;
      to->first[p] = inside ? static_cast<int32_t>(x) * step : -1;
    }
  } else if constexpr (kTaps == 2) {
    settle<kSlopes>(plan, n, count, at, slope);
    for (int64_t p = 0; p < count; ++p) {
      const T low = math::floor(at[p]), high = low + 1;
      const bool first = low >= 0 && low <= last, second = high >= 0 && high <= last;
      to->weight[0][p] = first ? high - at[p] : T(0);
      to->weight[1][p] = second ? at[p] - low : T(0);
      if constexpr (kSlopes) {
        to->slope[0][p] = first ? -slope[p] : T(0);
        to->slope[1][p] = second ? slope[p] : T(0);
      }
      to->place[0][p] = first ? static_cast<int32_t>(low) * step : -1;
      to->place[1][p] = second ? static_cast<int32_t>(high) * step : -1;
      to->first[p] = second ? to->place[0][p] : -1;
    }
  } else {
    static_assert(kTaps == 4);
    alignas(64) T tap[kBlock];
    constexpr T a = T(-0.75);  // R. Keys, "Cubic convolution interpolation for digital image processing" (1981)
    for (int k = 0; k < 4; ++k) {
      for (int64_t p = 0; p < count; ++p) tap[p] = math::floor(at[p]) + static_cast<T>(k - 1);
      settle<false>(plan, n, count, tap, slope);
      for (int64_t p = 0; p < count; ++p) {
        const T x = math::round(tap[p]), d = at[p] - (math::floor(at[p]) + static_cast<T>(k - 1)), y = d < 0 ? -d : d;
        const bool inside = x >= 0 && x <= last, far = k == 0 || k == 3;
        const T weight = far ? ((a * y - 5 * a) * y + 8 * a) * y - 4 * a : ((a + 2) * y - (a + 3)) * y * y + 1;
        to->weight[k][p] = inside ? weight : T(0);
        if constexpr (kSlopes) {
          const T by_y = far ? (3 * a * y - 10 * a) * y + 8 * a : (3 * (a + 2) * y - 2 * (a + 3)) * y;
          to->slope[k][p] = inside ? (k < 2 ? by_y : -by_y) * slope[p] : T(0);
        }
        to->place[k][p] = inside ? static_cast<int32_t>(x) * step : -1;
      }
    }
    for (int64_t p = 0; p < count; ++p) {
      const T low = math::floor(at[p]) - 1;
      to->first[p] = low >= 0 && low + 3 <= last ? static_cast<int32_t>(low) * step : -1;
    }
  }
}

constexpr int power(int n, int k) { return k == 0 ? 1 : n * power(n, k - 1); }

// The elements around a block of points: along each axis kTaps, the last axis fastest.
template <class T, int kAxes, int kTaps, bool kSlopes>
struct Corners {
  static constexpr int kCount = power(kTaps, kAxes);
  // Two neighbours in two rows make a vector, or the four of each row.
  static constexpr bool kPairs = kAxes == 2 && kTaps == 2, kRows = kAxes == 2 && kTaps == 4;

  Along<T, kTaps, kSlopes> along[kAxes];
  alignas(64) T weight[kCount][kBlock];
  alignas(64) T beside[kPairs || kRows ? kBlock * 4 : 1];  // of a point side by side: weights of pairs, or of a row
  // Points with all elements inside are summed together, from `base` on; `edges` are the others, for which `base` is 0,
  // and which are summed one by one: 0 times infinity is no number. Of a single element there is no sum: outside of the
  // image `base` is -1, and there are no edges and no weights.
  alignas(64) int32_t base[kBlock];
  int32_t edge[kBlock];
  int64_t edges = 0;
  int64_t offset[kCount];  // of a corner from `base`
  int64_t width;           // of the image's rows

  explicit Corners(const SamplePlan& plan) : width(plan.size[kAxes - 1]) {
    for (int corner = 0; corner < kCount; ++corner) {
      offset[corner] = 0;
      for (int axis = 0; axis < kAxes; ++axis) offset[corner] = offset[corner] * plan.size[axis] + tap(corner, axis);
    }
  }
  static constexpr int tap(int corner, int axis) { return corner / power(kTaps, kAxes - 1 - axis) % kTaps; }

  // Negative: outside.
  int32_t place(int corner, int64_t p) const {
    int32_t sum = 0, sign = 0;
    for (int axis = 0; axis < kAxes; ++axis) {
      const int32_t here = along[axis].place[tap(corner, axis)][p];
      sum += here;
      sign |= here;
    }
    return sign < 0 ? -1 : sum;
  }

  void find(const SamplePlan& plan, const T* grid, int64_t count) {
    int32_t step = 1;
    for (int axis = kAxes - 1; axis >= 0; --axis) {
      alignas(64) T at[kBlock];
      for (int64_t p = 0; p < count; ++p) at[p] = grid[p * kAxes + (kAxes - 1 - axis)];
      find_along(plan, at, plan.size[axis], step, count, &along[axis]);
      step *= static_cast<int32_t>(plan.size[axis]);
    }
    int32_t signs = 0;
    for (int64_t p = 0; p < count; ++p) {
      int32_t sum = along[0].first[p], sign = sum;
      for (int axis = 1; axis < kAxes; ++axis) sum += along[axis].first[p], sign |= along[axis].first[p];
      base[p] = sign < 0 ? -1 : sum;
      signs |= sign;
    }
    if constexpr (kTaps == 1) return;
    edges = 0;
    if (signs < 0) {
      for (int64_t p = 0; p < count; ++p) {
        edge[edges] = static_cast<int32_t>(p);
        edges += base[p] < 0;
      }
      for (int64_t p = 0; p < count; ++p) base[p] = base[p] < 0 ? 0 : base[p];
    }
    for (int64_t p = count; p < ((count + 3) & -4); ++p) base[p] = 0;
    for (int corner = 0; corner < kCount; ++corner)
      for (int64_t p = 0; p < count; ++p) {
        T product = along[0].weight[tap(corner, 0)][p];
        for (int axis = 1; axis < kAxes; ++axis) product *= along[axis].weight[tap(corner, axis)][p];
        weight[corner][p] = product;
      }
    if constexpr (kPairs) set_beside(count, weight);
    if constexpr (kRows) set_beside(count, along[1].weight);
  }
  void set_beside(int64_t count, const T (*row)[kBlock]) {
    for (int64_t p = 0; p < count; p += 4)
      transpose_4x4(beside + p * 4, 4, row[0] + p, row[1] + p, row[2] + p, row[3] + p);
  }
};

// The sums of the elements of each of a, b, c, d.
template <class T>
STRIDED_INLINE Vec<T, 4> sums_of(Vec<T, 4> a, Vec<T, 4> b, Vec<T, 4> c, Vec<T, 4> d) {
  using V = Vec<T, 4>;
  const V ab = shuffle<V, 0, 2, 4, 6>(a, b) + shuffle<V, 1, 3, 5, 7>(a, b),
          cd = shuffle<V, 0, 2, 4, 6>(c, d) + shuffle<V, 1, 3, 5, 7>(c, d);
  return shuffle<V, 0, 2, 4, 6>(ab, cd) + shuffle<V, 1, 3, 5, 7>(ab, cd);
}
// Two neighbours, and those in the row below.
template <class T>
STRIDED_INLINE Vec<T, 4> pair_of(const T* from, int64_t width) {
  if constexpr (std::is_same_v<T, float>) {
    const Vec<double, 2> pairs = {load<double>(from), load<double>(from + width)};
    return reinterpret_cast<Vec<float, 4>>(pairs);
  } else {
    return Vec<T, 4>{from[0], from[1], from[width], from[width + 1]};
  }
}
// out[p] = the sum of the vector that weighted(p, &vector) sets.
template <class T, class F>
STRIDED_INLINE void sum_vectors(int64_t count, T* out, F weighted) {
  Vec<T, 4> v[4];
  for (int64_t p = 0; p < count; p += 4) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) weighted(p + k, &v[k]);
    const Vec<T, 4> sums = sums_of<T>(v[0], v[1], v[2], v[3]);
    if (p + 4 <= count) {
      store(out + p, sums);
    } else {
      for (int64_t k = 0; p + k < count; ++k) out[p + k] = sums[k];
    }
  }
}

template <class T, int kAxes, int kTaps, bool kSlopes>
void sum_corners(const Corners<T, kAxes, kTaps, kSlopes>& corners, const T* in, int64_t count, T* out) {
  using Found = Corners<T, kAxes, kTaps, kSlopes>;
  if constexpr (kTaps == 1) {
    for (int64_t p = 0; p < count; ++p) {
      const int32_t at = corners.base[p];
      const T value = in[at < 0 ? 0 : at];
      out[p] = at < 0 ? T(0) : value;
    }
    return;
  }
  if (corners.edges < count) {  // else the image may be smaller than what a point reads
    const int64_t width = corners.width;
    if constexpr (Found::kPairs) {
      sum_vectors(count, out, [&](int64_t p, Vec<T, 4>* to) {
        *to = pair_of(in + corners.base[p], width) * load<Vec<T, 4>>(corners.beside + p * 4);
      });
    } else if constexpr (Found::kRows) {
      using V = Vec<T, 4>;
      sum_vectors(count, out, [&](int64_t p, V* to) {
        const T* const from = in + corners.base[p];
        V sum = load<V>(from) * corners.along[0].weight[0][p];
#pragma GCC unroll 3
        for (int i = 1; i < 4; ++i) sum += load<V>(from + i * width) * corners.along[0].weight[i][p];
        *to = sum * load<V>(corners.beside + p * 4);
      });
    } else {
      for (int64_t p = 0; p < count; ++p) {
        T sum = 0;
#pragma GCC unroll 8
        for (int c = 0; c < Found::kCount; ++c)
          sum = math::mul_add(in[corners.base[p] + corners.offset[c]], corners.weight[c][p], sum);
        out[p] = sum;
      }
    }
  }
  for (int64_t e = 0; e < corners.edges; ++e) {
    const int64_t p = corners.edge[e];
    T sum = 0;
    for (int c = 0; c < Found::kCount; ++c)
      if (corners.place(c, p) >= 0) sum = math::mul_add(in[corners.place(c, p)], corners.weight[c][p], sum);
    out[p] = sum;
  }
}

// Adds the gradient of one plane of results to that of the plane of the image.
template <class T, int kAxes, int kTaps, bool kSlopes>
void add_corners(const Corners<T, kAxes, kTaps, kSlopes>& corners, const T* gradient, int64_t count, T* to) {
  using Found = Corners<T, kAxes, kTaps, kSlopes>;
  if constexpr (kTaps == 1) {
    for (int64_t p = 0; p < count; ++p)
      if (const int32_t at = corners.base[p]; at >= 0) to[at] += gradient[p];
    return;
  }
  int64_t e = 0;
  for (int64_t p = 0; p < count; ++p) {
    const T g = gradient[p];
    if (e < corners.edges && corners.edge[e] == p) {
      ++e;
      for (int c = 0; c < Found::kCount; ++c)
        if (corners.place(c, p) >= 0) to[corners.place(c, p)] += g * corners.weight[c][p];
    } else if constexpr (Found::kRows) {
      using V = Vec<T, 4>;
      const V row = load<V>(corners.beside + p * 4) * g;
      T* const at = to + corners.base[p];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        T* const here = at + i * corners.width;
        store(here, load<V>(here) + row * corners.along[0].weight[i][p]);
      }
    } else {
      T* const at = to + corners.base[p];
#pragma GCC unroll 8
      for (int c = 0; c < Found::kCount; ++c) at[corners.offset[c]] += g * corners.weight[c][p];
    }
  }
}

// The sums over channels of the gradient of a point times the elements at its corners. Those of edges are apart.
template <class T, int kAxes, int kTaps>
struct Products {
  using Found = Corners<T, kAxes, kTaps, true>;
  static constexpr int kCount = Found::kCount;
  static constexpr bool kFlat = Found::kPairs || Found::kRows;

  alignas(64) T dot[kCount][kBlock], edge_dot[kCount][kBlock];
  // Side by side: those of pairs; of rows the sums weighted along the first axis, and those with its slopes.
  alignas(64) T beside[kFlat ? kBlock * 4 : 1], sloped[Found::kRows ? kBlock * 4 : 1];

  void clear(const Found& corners, int64_t count) {
    for (int corner = 0; corner < kCount; ++corner) {
      for (int64_t e = 0; e < corners.edges; ++e) edge_dot[corner][e] = 0;
      if (!kFlat)
        for (int64_t p = 0; p < count; ++p) dot[corner][p] = 0;
    }
    if constexpr (kFlat) std::memset(beside, 0, static_cast<size_t>(count) * 4 * sizeof(T));
    if constexpr (Found::kRows) std::memset(sloped, 0, static_cast<size_t>(count) * 4 * sizeof(T));
  }

  void add(const Found& corners, const T* in, const T* gradient, int64_t count) {
    using V = Vec<T, 4>;
    if (corners.edges < count) {
      const int64_t width = corners.width;
      if constexpr (Found::kPairs) {
        for (int64_t p = 0; p < count; ++p) {
          T* const to = beside + p * 4;
          store(to, load<V>(to) + pair_of(in + corners.base[p], width) * gradient[p]);
        }
      } else if constexpr (Found::kRows) {
        for (int64_t p = 0; p < count; ++p) {
          const T* const from = in + corners.base[p];
          V sum = V{}, slope = V{};
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) {
            const V row = load<V>(from + i * width);
            sum += row * corners.along[0].weight[i][p];
            slope += row * corners.along[0].slope[i][p];
          }
          store(beside + p * 4, load<V>(beside + p * 4) + sum * gradient[p]);
          store(sloped + p * 4, load<V>(sloped + p * 4) + slope * gradient[p]);
        }
      } else {
        for (int c = 0; c < kCount; ++c) {
          const T* const from = in + corners.offset[c];
          for (int64_t p = 0; p < count; ++p) dot[c][p] = math::mul_add(from[corners.base[p]], gradient[p], dot[c][p]);
        }
      }
    }
    for (int64_t e = 0; e < corners.edges; ++e) {
      const int64_t p = corners.edge[e];
      for (int c = 0; c < kCount; ++c) {
        const int32_t place = corners.place(c, p);
        if (place >= 0) edge_dot[c][e] = math::mul_add(in[place], gradient[p], edge_dot[c][e]);
      }
    }
  }

  // The gradient of a point along an axis, of products as dot_of(corner) gives them.
  template <class F>
  static STRIDED_INLINE T along_axis(const Found& corners, int axis, int64_t p, F dot_of) {
    T sum = 0;
#pragma GCC unroll 16
    for (int corner = 0; corner < kCount; ++corner) {
      T product = dot_of(corner) * corners.along[axis].slope[Found::tap(corner, axis)][p];
      for (int k = 0; k < kAxes; ++k)
        if (k != axis) product *= corners.along[k].weight[Found::tap(corner, k)][p];
      sum += product;
    }
    return sum;
  }

  // In the grid the last axis comes first.
  void finish(const Found& corners, int64_t count, T* to) const {
    const auto& along = corners.along;
    if constexpr (Found::kPairs) {
      for (int64_t p = 0; p < count; ++p) {
        const T* const d = beside + p * 4;
        to[2 * p] = (d[0] * along[1].slope[0][p] + d[1] * along[1].slope[1][p]) * along[0].weight[0][p] +
                    (d[2] * along[1].slope[0][p] + d[3] * along[1].slope[1][p]) * along[0].weight[1][p];
        to[2 * p + 1] = (d[0] * along[1].weight[0][p] + d[1] * along[1].weight[1][p]) * along[0].slope[0][p] +
                        (d[2] * along[1].weight[0][p] + d[3] * along[1].weight[1][p]) * along[0].slope[1][p];
      }
    } else if constexpr (Found::kRows) {
      for (int64_t p = 0; p < count; ++p) {
        T across = 0, down = 0;
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          across += beside[p * 4 + j] * along[1].slope[j][p];
          down += sloped[p * 4 + j] * along[1].weight[j][p];
        }
        to[2 * p] = across;
        to[2 * p + 1] = down;
      }
    } else {
      for (int axis = 0; axis < kAxes; ++axis)
        for (int64_t p = 0; p < count; ++p)
          to[p * kAxes + (kAxes - 1 - axis)] = along_axis(corners, axis, p, [&](int corner) { return dot[corner][p]; });
    }
    for (int64_t e = 0; e < corners.edges; ++e) finish_edge(corners, e, to + corners.edge[e] * kAxes);
  }
  __attribute__((noinline)) void finish_edge(const Found& corners, int64_t e, T* to) const {
#pragma GCC unroll 1
    for (int axis = 0; axis < kAxes; ++axis)
      to[kAxes - 1 - axis] =
          along_axis(corners, axis, corners.edge[e], [&](int corner) { return edge_dot[corner][e]; });
  }
};

// A block of points: its number, and where it lies.
struct Piece {
  int64_t image, first, count;
  Piece(const SamplePlan& plan, int64_t number) {
    const int64_t pieces = (plan.points + kBlock - 1) / kBlock;
    image = number / pieces;
    first = number % pieces * kBlock;
    count = min_of(kBlock, plan.points - first);
  }
};
template <class T>
const T* grid_of(const SamplePlan& plan, const Piece& piece) {
  return static_cast<const T*>(plan.grid) + (piece.image * plan.points + piece.first) * plan.axes;
}
inline int64_t elements_of(const SamplePlan& plan) {
  int64_t size = 1;
  for (int axis = 0; axis < plan.axes; ++axis) size *= plan.size[axis];
  return size;
}

template <class T, int kAxes, int kTaps>
struct Points {
  using Found = Corners<T, kAxes, kTaps, false>;

  static void values(const SamplePlan& plan, int64_t begin, int64_t end) {
    const int64_t size = elements_of(plan);
    Found corners(plan);
    for (int64_t b = begin; b < end; ++b) {
      const Piece piece(plan, b);
      corners.find(plan, grid_of<T>(plan, piece), piece.count);
      const T* in = static_cast<const T*>(plan.in) + piece.image * plan.channels * size;
      T* out = static_cast<T*>(plan.out) + piece.image * plan.channels * plan.points + piece.first;
      for (int64_t c = 0; c < plan.channels; ++c, in += size, out += plan.points)
        sum_corners(corners, in, piece.count, out);
    }
  }

  static void by_image(const SamplePlan& plan, int64_t begin, int64_t end) {
    const int64_t size = elements_of(plan), pieces = (plan.points + kBlock - 1) / kBlock;
    Found corners(plan);
    T* const made = static_cast<T*>(plan.by_in);
    std::memset(made + begin * size, 0, static_cast<size_t>((end - begin) * size) * sizeof(T));
    while (begin < end) {
      const int64_t image = begin / plan.channels, stop = min_of(end, (image + 1) * plan.channels);
      for (int64_t b = image * pieces; b < (image + 1) * pieces; ++b) {
        const Piece piece(plan, b);
        corners.find(plan, grid_of<T>(plan, piece), piece.count);
        const T* const gradient = static_cast<const T*>(plan.gradient) + piece.first;
        for (int64_t c = begin; c < stop; ++c)
          add_corners(corners, gradient + c * plan.points, piece.count, made + c * size);
      }
      begin = stop;
    }
  }

  static void by_grid(const SamplePlan& plan, int64_t begin, int64_t end) {
    const int64_t size = elements_of(plan);
    typename Products<T, kAxes, kTaps>::Found corners(plan);
    Products<T, kAxes, kTaps> products;
    for (int64_t b = begin; b < end; ++b) {
      const Piece piece(plan, b);
      corners.find(plan, grid_of<T>(plan, piece), piece.count);
      products.clear(corners, piece.count);
      const T* in = static_cast<const T*>(plan.in) + piece.image * plan.channels * size;
      const T* gradient =
          static_cast<const T*>(plan.gradient) + piece.image * plan.channels * plan.points + piece.first;
      for (int64_t c = 0; c < plan.channels; ++c, in += size, gradient += plan.points)
        products.add(corners, in, gradient, piece.count);
      products.finish(corners, piece.count,
                      static_cast<T*>(plan.by_grid) + (piece.image * plan.points + piece.first) * kAxes);
    }
  }
};

// Calls run(Points<T, axes, taps>()).
template <class T, class F>
void with_points(const SamplePlan& plan, F run) {
  const bool flat = plan.axes == 2;
  if (plan.mode == SamplePlan::Cubic) run(Points<T, 2, 4>());
  else if (plan.mode == SamplePlan::Linear) flat ? run(Points<T, 2, 2>()) : run(Points<T, 3, 2>());
  else flat ? run(Points<T, 2, 1>()) : run(Points<T, 3, 1>());
}
template <class T>
void values(const SamplePlan& plan, int64_t begin, int64_t end) {
  with_points<T>(plan, [&](auto points) { points.values(plan, begin, end); });
}
template <class T>
void by_image(const SamplePlan& plan, int64_t begin, int64_t end) {
  with_points<T>(plan, [&](auto points) { points.by_image(plan, begin, end); });
}
template <class T>
void by_grid(const SamplePlan& plan, int64_t begin, int64_t end) {
  if (plan.mode == SamplePlan::Linear)
    plan.axes == 2 ? Points<T, 2, 2>::by_grid(plan, begin, end) : Points<T, 3, 2>::by_grid(plan, begin, end);
  else if (plan.mode == SamplePlan::Cubic) Points<T, 2, 4>::by_grid(plan, begin, end);
}

}  // namespace

void fill_points(KernelTable& table) {
  table.points[0] = {&values<float>, &by_image<float>, &by_grid<float>};
  table.points[1] = {&values<double>, &by_image<double>, &by_grid<double>};
}

}  // namespace STRIDED_ISA
}  // namespace strided
