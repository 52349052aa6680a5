// Drivers of functions of images: images, planes or points are spread over threads. Borders and blocks are copies and
// plain sums, whose loops stand here.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/networks.h"
#include "cpu/transposed.h"
#include "cpu/workspace.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kGrain = 1 << 15;  // elements that are worth a thread

int64_t grain_of(int64_t elements) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(elements, 1)); }

const SamplingKernels& kernels_of(DType dtype) { return kernel_table().sampling[dtype == DType::Float64 ? 1 : 0]; }

// Planes of rows with borders. The axes behind the last one that has a border make wide elements, and the rows of a
// plan with one axis are one plane.
class Padding {
 public:
  explicit Padding(const PadPlan& plan) : plan_(plan), item_(plan.itemsize), planes_(plan.outer) {
    static_assert(PadPlan::kMost == 3, "before rows and columns, planes have one axis at most");
    int column = plan.axes - 1;
    for (; column > 0 && is_unchanged(column); --column) block_ *= plan.to[column];
    for (int64_t i = 0; i < plan.runs[column]; ++i) {
      const Run& run = plan.run[column][i];
      columns_.push_back({run.to * block_, run.from * block_, run.length * block_});
    }
    width_ = plan.to[column] * block_;
    width_from_ = plan.from[column] * block_;
    if (column > 0) {
      rows_.assign(plan.run[column - 1], plan.run[column - 1] + plan.runs[column - 1]);
      height_ = plan.to[column - 1];
      height_from_ = plan.from[column - 1];
    } else {
      rows_ = {{0, 0, plan.outer}};
      height_ = height_from_ = plan.outer;
      planes_ = 1;
    }
    if (column > 1) {
      planes_ *= plan.to[0];
      for (int64_t i = 0; i < plan.runs[0]; ++i) {
        const Run& run = plan.run[0][i];
        for (int64_t j = 0; j < run.length; ++j) depth_.push_back(run.from < 0 ? -1 : run.from + j);
      }
    }
    // Elements only move: any dtype of their size does.
    const DType type = item_ == 1   ? DType::Int8
                       : item_ == 2 ? DType::Int16
                       : item_ == 4 ? DType::Int32
                       : item_ == 8 ? DType::Int64
                                    : DType::Complex128;
    copy_ = kernel_table().copy[index_of(type)][index_of(type)];
  }

  void run() const {
    constexpr int64_t kLow = 16, kPlanes = 32;
    if (height_ <= kLow && planes_ >= kPlanes && depth_.empty())
      return parallel_for(0, planes_, grain_of(height_ * width_), [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; plane += kPlanes) write_planes(plane, std::min(kPlanes, end - plane));
      });
    parallel_for(0, planes_ * height_, grain_of(width_), [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t row = begin % height_, stop = std::min(height_, row + end - begin);
        write_rows(begin / height_, row, stop);
        begin += stop - row;
      }
    });
  }

 private:
  using Run = PadPlan::Run;

  bool is_unchanged(int axis) const {
    return plan_.run[axis][0].from == 0 && plan_.run[axis][0].length == plan_.to[axis] &&
           plan_.from[axis] == plan_.to[axis];
  }

  // Rows of n elements, so many elements apart; from null: filled.
  void write(char* to, const char* from, int64_t n, int64_t rows, int64_t to_step, int64_t from_step) const {
    static constexpr char zeros[16] = {};
    char* data[] = {to, const_cast<char*>(from ? from : plan_.fill ? plan_.fill : zeros)};
    const bool dense = n == to_step && (!from || n == from_step);
    if (dense) n *= rows, rows = 1;
    const int64_t strides[] = {item_, from ? item_ : 0, to_step * item_, from ? from_step * item_ : 0};
    copy_(data, strides, n, rows, nullptr);
  }

  // Low planes: each row of all of them at once.
  void write_planes(int64_t first, int64_t planes) const {
    const int64_t to_step = height_ * width_, from_step = height_from_ * width_from_;
    char* const out = plan_.out + first * to_step * item_;
    const char* const in = plan_.in + first * from_step * item_;
    for (const Run& run : rows_)
      for (int64_t j = 0; j < run.length; ++j) {
        char* const to = out + (run.to + j) * width_ * item_;
        const char* const from = run.from < 0 ? nullptr : in + (run.from + j) * width_from_ * item_;
        if (!from) write(to, nullptr, width_, planes, to_step, 0);
        else
          for (const Run& part : columns_)
            write(to + part.to * item_, part.from < 0 ? nullptr : from + part.from * item_, part.length, planes,
                  to_step, from_step);
      }
  }

  // Rows [begin, end) of a plane of the result.
  void write_rows(int64_t plane, int64_t begin, int64_t end) const {
    char* const out = plan_.out + plane * height_ * width_ * item_;
    if (!depth_.empty()) {
      const int64_t place = depth_[static_cast<size_t>(plane % plan_.to[0])];
      if (place < 0) return write(out + begin * width_ * item_, nullptr, width_, end - begin, width_, 0);
      plane = plane / plan_.to[0] * plan_.from[0] + place;
    }
    const char* const in = plan_.in + plane * height_from_ * width_from_ * item_;
    for (const Run& run : rows_) {
      const int64_t first = std::max(begin, run.to), n = std::min(end, run.to + run.length) - first;
      if (n <= 0) continue;
      char* const to = out + first * width_ * item_;
      if (run.from < 0) {
        write(to, nullptr, width_, n, width_, 0);
        continue;
      }
      const char* const from = in + (run.from + first - run.to) * width_from_ * item_;
      for (const Run& part : columns_)
        write(to + part.to * item_, part.from < 0 ? nullptr : from + part.from * item_, part.length, n, width_,
              width_from_);
    }
  }

  const PadPlan& plan_;
  const int64_t item_;
  int64_t planes_, block_ = 1;
  int64_t height_, height_from_, width_, width_from_;  // rows of a plane, elements of a row; in the result and before
  std::vector<Run> rows_, columns_;
  std::vector<int64_t> depth_;  // where the planes along the first of three axes come from
  Loop2d copy_;
};

// The blocks j of one axis whose element `tap` falls into [low, high): first ... last - 1, and where the first one's
// does.
struct Inside {
  int64_t first, last, at;
  Inside(const FoldPlan& plan, int axis, int64_t tap, int64_t low, int64_t high) {
    const int64_t start = tap * plan.dilation[axis] - plan.padding[axis], stride = plan.stride[axis];
    first = start < low ? (low - start + stride - 1) / stride : 0;
    const int64_t extent = high - start;  // j * stride < extent
    last = std::min(plan.blocks[axis], extent <= 0 ? 0 : (extent + stride - 1) / stride);
    at = start + first * stride;
  }
  Inside(const FoldPlan& plan, int axis, int64_t tap) : Inside(plan, axis, tap, 0, plan.size[axis]) {}
};

// Rows [begin, end) of the layers of a plane.
template <class T>
void fold_rows(const FoldPlan& plan, int64_t plane, int64_t begin, int64_t end) {
  const int64_t *const kernel = plan.kernel, *const blocks = plan.blocks, *const size = plan.size;
  const int64_t column = blocks[0] * blocks[1] * blocks[2], stride = plan.stride[2];
  const T* columns = static_cast<const T*>(plan.columns) + plane * kernel[0] * kernel[1] * kernel[2] * column;
  T* const out = static_cast<T*>(plan.out) + plane * size[0] * size[1] * size[2];
  const auto add = [&](const Inside& layers, const Inside& rows, const Inside& inside) {
    const int64_t n = inside.last - inside.first;
    for (int64_t h = layers.first; h < layers.last; ++h) {
      T* const layer = out + (layers.at + (h - layers.first) * plan.stride[0]) * size[1] * size[2] + inside.at;
      for (int64_t i = rows.first; i < rows.last; ++i) {
        const T* const from = columns + (h * blocks[1] + i) * blocks[2] + inside.first;
        T* const to = layer + (rows.at + (i - rows.first) * plan.stride[1]) * size[2];
        if (stride == 1)
          for (int64_t j = 0; j < n; ++j) to[j] += from[j];
        else
          for (int64_t j = 0; j < n; ++j) to[j * stride] += from[j];
      }
    }
  };
  for (int64_t k = 0; k < kernel[0]; ++k) {
    const Inside layers(plan, 0, k);
    for (int64_t l = 0; l < kernel[1]; ++l) {
      const Inside rows(plan, 1, l, begin, end);
      for (int64_t m = 0; m < kernel[2]; ++m, columns += column) add(layers, rows, Inside(plan, 2, m));
    }
  }
}

// Sums along the last axis, which no vector serves: some rows at a time are laid side by side, and brought back.
void mix_turned(const TapsPlan& plan, decltype(SamplingKernels::taps) run) {
  constexpr int64_t kRows = 64;
  const int64_t size = size_of(plan.dtype);
  parallel_for(
      0, (plan.outer + kRows - 1) / kRows, grain_of(kRows * plan.to * plan.taps), [&](int64_t begin, int64_t end) {
        char* const in = static_cast<char*>(workspace(WorkspaceSlot::Columns, (plan.from + plan.to) * kRows * size));
        char* const out = in + plan.from * kRows * size;
        for (int64_t b = begin; b < end; ++b) {
          const int64_t first = b * kRows, rows = std::min(kRows, plan.outer - first);
          TapsPlan part = plan;
          part.outer = 1;
          part.inner = rows;
          part.in = in;
          part.out = out;
          copy_turned(size, in, rows * size, static_cast<const char*>(plan.in) + first * plan.from * size,
                      plan.from * size, rows, plan.from);
          run(part, 0, 1);
          copy_turned(size, static_cast<char*>(plan.out) + first * plan.to * size, plan.to * size, out, rows * size,
                      plan.to, rows);
        }
      });
}

void for_blocks(const SamplePlan& plan, decltype(PointKernels::values) run) {
  const int64_t pieces = (plan.points + SamplePlan::kBlock - 1) / SamplePlan::kBlock;
  parallel_for(0, plan.batch * pieces, grain_of(SamplePlan::kBlock * plan.channels),
               [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}
const PointKernels& points_of(const SamplePlan& plan) {
  return kernel_table().points[plan.dtype == DType::Float64 ? 1 : 0];
}

// Planes begin ... end - 1 of windows between edges.
template <class T>
void maxima_between(const PoolPlan& plan, int64_t begin, int64_t end) {
  const int64_t high = plan.size[1], wide = plan.size[2];
  for (int64_t p = begin; p < end; ++p) {
    const T* const in = static_cast<const T*>(plan.in) + p * plan.size[0] * high * wide;
    const int64_t* const layers = plan.edges + p * plan.edges_step;
    const int64_t *const rows = layers + 2 * plan.to[0], *const columns = rows + 2 * plan.to[1];
    int64_t made = p * plan.to[0] * plan.to[1] * plan.to[2];
    for (int64_t z = 0; z < plan.to[0]; ++z)
      for (int64_t y = 0; y < plan.to[1]; ++y)
        for (int64_t x = 0; x < plan.to[2]; ++x, ++made) {
          T best = -std::numeric_limits<T>::infinity();
          int64_t place = (layers[2 * z] * high + rows[2 * y]) * wide + columns[2 * x];
          for (int64_t k = layers[2 * z]; k < layers[2 * z + 1]; ++k)
            for (int64_t j = rows[2 * y]; j < rows[2 * y + 1]; ++j)
              for (int64_t i = columns[2 * x], row = (k * high + j) * wide; i < columns[2 * x + 1]; ++i)
                if (const T v = in[row + i]; v > best || v != v) best = v, place = row + i;
          static_cast<T*>(plan.out)[made] = best;
          if (plan.places) plan.places[made] = place;
        }
  }
}

}  // namespace

void mix_taps(const TapsPlan& plan) {
  if (plan.transposed)
    std::memset(plan.out, 0, static_cast<size_t>(plan.outer * plan.from * plan.inner * size_of(plan.dtype)));
  const auto run = plan.dtype == DType::UInt8 ? kernel_table().byte_taps : kernels_of(plan.dtype).taps;
  const bool many = plan.weight != nullptr && (plan.dtype == DType::UInt8 || plan.taps == 3 || plan.taps > 4);
  if (plan.inner == 1 && !plan.transposed && many && plan.outer > 1) return mix_turned(plan, run);
  parallel_for(0, plan.outer, grain_of(plan.to * plan.inner * plan.taps),
               [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void sample(const SamplePlan& plan) { for_blocks(plan, points_of(plan).values); }

void sample_gradient(const SamplePlan& plan) {
  if (plan.by_in)
    parallel_for(0, plan.batch * plan.channels, grain_of(plan.points),
                 [&](int64_t begin, int64_t end) { points_of(plan).by_image(plan, begin, end); });
  if (plan.by_grid) for_blocks(plan, points_of(plan).by_grid);
}

void convolve_channels(const ChannelsPlan& plan) {
  const auto run = kernels_of(plan.dtype).channels;
  parallel_for(0, plan.planes, grain_of(plan.kernel[0] * plan.kernel[1] * plan.to[0] * plan.to[1] * plan.times),
               [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void pool_maxima(const PoolPlan& plan) {
  if (plan.edges) {
    const auto run = plan.dtype == DType::Float64 ? &maxima_between<double> : &maxima_between<float>;
    return parallel_for(0, plan.planes, grain_of(plan.size[0] * plan.size[1] * plan.size[2]),
                        [&](int64_t begin, int64_t end) { run(plan, begin, end); });
  }
  const auto run = kernel_table().pool[plan.dtype == DType::Float64 ? 1 : 0];
  const int64_t taps = plan.kernel[0] * plan.kernel[1] * plan.kernel[2];
  parallel_for(0, plan.planes * plan.to[0] * plan.to[1], grain_of(taps * plan.to[2]),
               [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void pad(const PadPlan& plan) { Padding(plan).run(); }

void fold(const FoldPlan& plan) {
  const int64_t image = plan.size[0] * plan.size[1] * plan.size[2];
  std::memset(plan.out, 0, static_cast<size_t>(plan.planes * image * size_of(plan.dtype)));
  const auto run = plan.dtype == DType::Float64 ? &fold_rows<double> : &fold_rows<float>;
  int64_t elements = 1;
  for (int i = 0; i < FoldPlan::kMost; ++i) elements *= plan.kernel[i] * plan.blocks[i];
  const int64_t high = plan.size[1];
  parallel_for(0, plan.planes * high, grain_of(std::max<int64_t>(1, elements / high)), [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t row = begin % high, stop = std::min(high, row + end - begin);
      run(plan, begin / high, row, stop);
      begin += stop - row;
    }
  });
}

}  // namespace cpu
}  // namespace strided
