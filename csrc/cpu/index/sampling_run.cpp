// Drivers of functions of images: images, planes or points are spread over threads. Borders and blocks are copies and
// plain sums, whose loops stand here.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/networks.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kGrain = 1 << 15;  // elements that are worth a thread

int64_t grain_of(int64_t elements) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(elements, 1)); }

const SamplingKernels& kernels_of(DType dtype) { return kernel_table().sampling[dtype == DType::Float64 ? 1 : 0]; }

// Elements of the last axis that stand next to each other before and after; from -1: those that are filled.
struct Run {
  int64_t to, from, length;
};
std::vector<Run> runs_of(const int64_t* place, int64_t n) {
  std::vector<Run> runs;
  for (int64_t j = 0; j < n; ++j) {
    Run* const last = runs.empty() ? nullptr : &runs.back();
    if (last && place[j] == (last->from < 0 ? -1 : last->from + last->length)) ++last->length;
    else runs.push_back({j, place[j], 1});
  }
  return runs;
}

template <class Item>
void pad_rows(const PadPlan& plan, const std::vector<Run>& runs, int64_t begin, int64_t end) {
  const int last = plan.axes - 1;
  Item fill{};
  if (plan.fill) std::memcpy(&fill, plan.fill, sizeof(Item));
  int64_t at[PadPlan::kMost] = {}, rest = begin;  // the next row; divisions would take as long as a short row
  for (int axis = last - 1; axis >= 0; --axis) {
    at[axis] = rest % plan.to[axis];
    rest /= plan.to[axis];
  }
  for (int64_t row = begin; row < end; ++row) {
    int64_t from = rest, outside = 0;
    for (int axis = 0; axis < last; ++axis) {
      const int64_t place = plan.place[axis][at[axis]];
      outside |= place;  // negative if one is
      from = from * plan.from[axis] + place;
    }
    int axis = last - 1;
    while (axis >= 0 && ++at[axis] == plan.to[axis]) at[axis--] = 0;
    rest += axis < 0;
    Item* const out = reinterpret_cast<Item*>(plan.out) + row * plan.to[last];
    if (outside < 0) {
      std::fill(out, out + plan.to[last], fill);
      continue;
    }
    const Item* const in = reinterpret_cast<const Item*>(plan.in) + from * plan.from[last];
    for (const Run& run : runs) {
      if (run.from < 0)
        for (int64_t i = 0; i < run.length; ++i) out[run.to + i] = fill;
      else if (run.length < 8)
        for (int64_t i = 0; i < run.length; ++i) out[run.to + i] = in[run.from + i];
      else std::memcpy(out + run.to, in + run.from, static_cast<size_t>(run.length) * sizeof(Item));
    }
  }
}

// The blocks j of one axis whose element `tap` falls inside: first ... last - 1, and where the first one's does.
struct Inside {
  int64_t first, last, at;
  Inside(const FoldPlan& plan, int axis, int64_t tap) {
    const int64_t start = tap * plan.dilation[axis] - plan.padding[axis], stride = plan.stride[axis];
    first = start < 0 ? (-start + stride - 1) / stride : 0;
    const int64_t room = plan.size[axis] - start;  // j * stride < room
    last = std::min(plan.blocks[axis], room <= 0 ? 0 : (room + stride - 1) / stride);
    at = start + first * stride;
  }
};

template <class T>
void fold_planes(const FoldPlan& plan, int64_t begin, int64_t end) {
  const int64_t high = plan.blocks[0], wide = plan.blocks[1], stride = plan.stride[1];
  for (int64_t p = begin; p < end; ++p) {
    const T* columns = static_cast<const T*>(plan.columns) + p * plan.kernel[0] * plan.kernel[1] * high * wide;
    T* const out = static_cast<T*>(plan.out) + p * plan.size[0] * plan.size[1];
    for (int64_t k = 0; k < plan.kernel[0]; ++k) {
      const Inside rows(plan, 0, k);
      for (int64_t l = 0; l < plan.kernel[1]; ++l, columns += high * wide) {
        const Inside inside(plan, 1, l);
        for (int64_t i = rows.first; i < rows.last; ++i) {
          const T* const from = columns + i * wide + inside.first;
          T* const to = out + (rows.at + (i - rows.first) * plan.stride[0]) * plan.size[1] + inside.at;
          const int64_t n = inside.last - inside.first;
          if (stride == 1)
            for (int64_t j = 0; j < n; ++j) to[j] += from[j];
          else
            for (int64_t j = 0; j < n; ++j) to[j * stride] += from[j];
        }
      }
    }
  }
}

}  // namespace

void mix_taps(const TapsPlan& plan) {
  if (plan.transposed)
    std::memset(plan.out, 0, static_cast<size_t>(plan.outer * plan.from * plan.inner * size_of(plan.dtype)));
  const auto run = kernels_of(plan.dtype).taps;
  parallel_for(0, plan.outer, grain_of(plan.to * plan.inner),
               [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void sample(const SamplePlan& plan) {
  const auto run = kernels_of(plan.dtype).sample;
  const int64_t pieces = (plan.points + SamplePlan::kBlock - 1) / SamplePlan::kBlock;
  parallel_for(0, plan.batch * pieces, grain_of(SamplePlan::kBlock * plan.channels),
               [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void convolve_channels(const ChannelsPlan& plan) {
  const auto run = kernels_of(plan.dtype).channels;
  parallel_for(0, plan.planes, grain_of(plan.kernel[0] * plan.kernel[1] * plan.to[0] * plan.to[1] * plan.times),
               [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void pool_maxima(const PoolPlan& plan) {
  const auto run = kernel_table().pool[plan.dtype == DType::Float64 ? 1 : 0];
  const int64_t taps = plan.kernel[0] * plan.kernel[1] * plan.kernel[2];
  parallel_for(0, plan.planes * plan.to[0] * plan.to[1], grain_of(taps * plan.to[2]),
               [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void pad(const PadPlan& plan) {
  const int last = plan.axes - 1;
  const std::vector<Run> runs = runs_of(plan.place[last], plan.to[last]);
  int64_t rows = plan.outer;
  for (int axis = 0; axis < last; ++axis) rows *= plan.to[axis];
  struct Pair {
    int64_t halves[2];
  };
  const auto run = plan.itemsize == 1   ? &pad_rows<int8_t>
                   : plan.itemsize == 2 ? &pad_rows<int16_t>
                   : plan.itemsize == 4 ? &pad_rows<int32_t>
                   : plan.itemsize == 8 ? &pad_rows<int64_t>
                                        : &pad_rows<Pair>;
  parallel_for(0, rows, grain_of(plan.to[last]), [&](int64_t begin, int64_t end) { run(plan, runs, begin, end); });
}

void fold(const FoldPlan& plan) {
  const int64_t image = plan.size[0] * plan.size[1];
  std::memset(plan.out, 0, static_cast<size_t>(plan.planes * image * size_of(plan.dtype)));
  const auto run = plan.dtype == DType::Float64 ? &fold_planes<double> : &fold_planes<float>;
  parallel_for(0, plan.planes, grain_of(plan.kernel[0] * plan.kernel[1] * plan.blocks[0] * plan.blocks[1]),
               [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

}  // namespace cpu
}  // namespace strided
