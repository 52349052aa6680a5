// The CPU's Fourier transforms: how the rows of a batch are taken, lanes or one by one, and the threads.
#include <algorithm>
#include <cstring>

#include "base/dims.h"
#include "base/parallel.h"
#include "cpu/fft/plan.h"
#include "cpu/operations.h"
#include "cpu/workspace.h"

namespace strided {
namespace cpu {
namespace {

using fft::HalfPlan;
using fft::KernelPlan;
using fft::RowPlan;

// Where the rows of a batch are.
class Batch {
 public:
  explicit Batch(const FftPlan& plan) {
    const int64_t* strides[] = {plan.out_strides, plan.in_strides};
    int axes[kMaxDims];
    ndim_ = merge_axes(plan.ndim, plan.shape, 2, strides, sizes_, axes);
    for (int i = 0; i < ndim_; ++i) {
      in_[i] = plan.in_strides[axes[i]];
      out_[i] = plan.out_strides[axes[i]];
    }
    for (int i = 0; i < plan.ndim; ++i) rows_ *= plan.shape[i];
  }
  int64_t rows() const { return rows_; }
  // Bytes from the first row to this one, on both sides.
  std::pair<int64_t, int64_t> offsets(int64_t row) const {
    std::pair<int64_t, int64_t> at{0, 0};
    for (int i = 0; i < ndim_; ++i) {
      const int64_t place = row % sizes_[i];
      row /= sizes_[i];
      at.first += place * in_[i];
      at.second += place * out_[i];
    }
    return at;
  }
  // How many rows from this one on are as far from each other as step() says.
  int64_t in_step_from(int64_t row) const { return ndim_ > 0 ? sizes_[0] - row % sizes_[0] : 1; }
  std::pair<int64_t, int64_t> step() const {
    if (ndim_ == 0) return {0, 0};
    return {in_[0], out_[0]};
  }
  // Whether neighbouring rows are neighbours in memory on either side.
  bool in_columns(int64_t in_bytes, int64_t out_bytes) const {
    return ndim_ > 0 && (in_[0] == in_bytes || out_[0] == out_bytes);
  }
  // Whether neighbouring rows share the sets of the first level of the cache, half of them or one.
  bool in_same_sets() const { return ndim_ > 0 && (in_[0] % 2048 == 0 || out_[0] % 2048 == 0); }

 private:
  int ndim_ = 0;
  int64_t rows_ = 1;
  int64_t sizes_[kMaxDims], in_[kMaxDims], out_[kMaxDims];
};

// One kind of transform, with what its rows share.
class Transform {
 public:
  explicit Transform(const FftPlan& plan)
      : plan_(plan),
        wide_(plan.dtype == DType::Float64),
        part_(wide_ ? 8 : 4),
        packed_(plan.kind != FftPlan::Complex && plan.n % 2 == 0),
        length_(packed_ ? plan.n / 2 : plan.n),
        kernels_(kernel_table().fft[wide_]),
        lane_kernels_(kernels_of_lanes()) {
    in_bytes_ = plan.kind == FftPlan::RealToComplex ? part_ : 2 * part_;
    out_bytes_ = plan.kind == FftPlan::ComplexToReal ? part_ : 2 * part_;
    if (packed_) half_ = fft::half_plan(plan.n, wide_);
  }

  void run(const Batch& batch) {
    const int64_t lanes = lane_kernels_.lanes, rows = batch.rows(), groups = (rows + lanes - 1) / lanes;
    const fft::Costs costs = fft::costs(length_, wide_);
    // Measured with rows of 256, 512 and 1024 complex numbers. From beyond the second level of the cache lanes are
    // faster all the same: they fetch the rows that come next.
    const bool near = rows * (in_bytes_ + out_bytes_) * plan_.n <= 1 << 20;
    const double crowded = near && batch.in_same_sets() ? 2.2 : 1;
    const double side_by_side = crowded * costs.lanes * static_cast<double>(groups * lanes) / static_cast<double>(rows);
    // Rows that are not contiguous are copied first, and columns cost most.
    const bool strided = plan_.in_stride != in_bytes_ || plan_.out_stride != out_bytes_;
    const double copies = !strided ? 0 : batch.in_columns(in_bytes_, out_bytes_) ? 2 : 1;
    const GilRelease unlocked(rows * length_ > 4096);
    if (length_ < 4 || side_by_side <= costs.row + copies) {
      run_lanes(batch, groups);
    } else {
      run_rows(batch);
    }
  }

 private:
  // Where the two buffers of a transform in lanes are beyond the first level of the cache, and vectors of half the size
  // compute as fast: with half the lanes. 4000 rows of 256 complex64 took 1.4 times as long in whole ones.
  const FftKernels& kernels_of_lanes() const {
    constexpr int64_t kNear = 48 << 10;
    const KernelTable* const far = kernel_table().far;
    const int64_t buffers = 4 * part_ * length_ * kernels_.lanes;
    return far && buffers > kNear ? far->fft[wide_] : kernels_;
  }

  void run_lanes(const Batch& batch, int64_t groups) {
    kernel_ = fft::kernel_plan(length_, wide_);
    const int64_t lanes = lane_kernels_.lanes, grain = std::max<int64_t>(1, 16384 / (length_ * lanes));
    parallel_for(0, groups, grain, [&](int64_t begin, int64_t end) {
      FftRows rows;
      rows.kind = plan_.kind;
      rows.inverse = plan_.inverse;
      rows.n = plan_.n;
      rows.scale = plan_.scale;
      rows.kernel = &kernel_->kernel;
      rows.half = packed_ ? half_->roots.data() : nullptr;
      rows.in_stride = plan_.in_stride;
      rows.out_stride = plan_.out_stride;
      for (int64_t group = begin; group < end; group += rows.groups) {
        const int64_t first = group * lanes;
        rows.active = static_cast<int>(std::min(lanes, batch.rows() - first));
        const int64_t together = batch.in_step_from(first);
        if (together >= lanes) {
          const auto [in_step, out_step] = batch.step();
          const auto [in, out] = batch.offsets(first);
          for (int l = 0; l < lanes; ++l) {
            rows.in[l] = plan_.in + in + l * in_step;
            rows.out[l] = plan_.out + out + l * out_step;
          }
          rows.in_step = in_step;
          rows.out_step = out_step;
        } else {
          for (int l = 0; l < lanes; ++l) {
            const auto [in, out] = batch.offsets(first + std::min<int64_t>(l, rows.active - 1));
            rows.in[l] = plan_.in + in;
            rows.out[l] = plan_.out + out;
          }
          rows.in_step = rows.out_step = 0;
        }
        const bool columns = rows.in_step == in_bytes_ && rows.out_step == out_bytes_;
        const int64_t most = std::min<int64_t>(end - group, columns ? kFftGroups : 64);
        rows.groups = static_cast<int>(std::clamp<int64_t>(together / lanes, 1, most));
        lane_kernels_.rows(rows);
      }
    });
  }

  void run_rows(const Batch& batch) {
    row_ = fft::row_plan(length_, wide_);
    auto range = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto [in, out] = batch.offsets(i);
        one_row(plan_.in + in, plan_.out + out);
      }
    };
    // Few rows: the threads share each of them.
    if (batch.rows() < num_threads() && length_ >= 4096) return range(0, batch.rows());
    parallel_for(0, batch.rows(), std::max<int64_t>(1, 16384 / length_), range);
  }

  // n elements of `bytes` bytes, `from_step` and `to_step` bytes apart.
  static void copy(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t n, int64_t bytes) {
    if (to_step == bytes && from_step == bytes) {
      std::memcpy(to, from, static_cast<size_t>(n * bytes));
    } else if (bytes == 8) {
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_step, from + i * from_step, 8);
    } else if (bytes == 16) {
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_step, from + i * from_step, 16);
    } else {
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_step, from + i * from_step, 4);
    }
  }

  void one_row(const char* in, char* out) {
    const int64_t n = plan_.n, complex_bytes = 2 * part_, half = n / 2 + 1;
    const int64_t in_elements = plan_.kind == FftPlan::ComplexToReal ? half : n;
    const int64_t out_elements = plan_.kind == FftPlan::RealToComplex ? half : n;
    char* buffer = static_cast<char*>(workspace(WorkspaceSlot::FftHalf, 2 * (n + 2) * complex_bytes));
    char* const second = buffer + (n + 2) * complex_bytes;
    if (plan_.kind != FftPlan::Complex && !packed_) return odd_real_row(in, out, buffer);
    if (plan_.in_stride != in_bytes_) {
      copy(second, in_bytes_, in, plan_.in_stride, in_elements, in_bytes_);
      in = second;
    }
    char* const to = plan_.out_stride == out_bytes_ ? out : buffer;
    if (plan_.kind == FftPlan::Complex) {
      long_row(*row_, in, to, plan_.inverse, plan_.scale);
    } else {
      FftHalf f;
      f.h = n / 2;
      f.half = half_->roots.data();
      f.scale = plan_.scale;
      f.conjugate = plan_.inverse == (plan_.kind == FftPlan::RealToComplex);
      if (plan_.kind == FftPlan::RealToComplex) {
        long_row(*row_, in, to, false, 1);
        f.in = f.out = to;
        kernels_.split_half(f);
      } else {
        f.in = in;
        f.out = buffer;
        kernels_.join_half(f);
        long_row(*row_, buffer, to, true, plan_.scale);
      }
    }
    if (to != out) copy(out, plan_.out_stride, to, out_bytes_, out_elements, out_bytes_);
  }

  // As complex numbers.
  void odd_real_row(const char* in, char* out, char* buffer) {
    const int64_t n = plan_.n, complex_bytes = 2 * part_;
    if (plan_.kind == FftPlan::RealToComplex) {
      std::memset(buffer, 0, static_cast<size_t>(n * complex_bytes));
      copy(buffer, complex_bytes, in, plan_.in_stride, n, part_);
      long_row(*row_, buffer, buffer, plan_.inverse, plan_.scale);
      std::memset(buffer + part_, 0, static_cast<size_t>(part_));
      copy(out, plan_.out_stride, buffer, complex_bytes, n / 2 + 1, complex_bytes);
      return;
    }
    copy(buffer, complex_bytes, in, plan_.in_stride, n / 2 + 1, complex_bytes);
    if (wide_) complete(reinterpret_cast<double*>(buffer));
    else complete(reinterpret_cast<float*>(buffer));
    long_row(*row_, buffer, buffer, plan_.inverse, plan_.scale);
    copy(out, plan_.out_stride, buffer, complex_bytes, n, part_);
  }
  template <class T>
  void complete(T* x) const {
    x[1] = 0;
    for (int64_t k = 1; 2 * k < plan_.n; ++k) {
      x[2 * (plan_.n - k)] = x[2 * k];
      x[2 * (plan_.n - k) + 1] = -x[2 * k + 1];
    }
  }

  // A contiguous row of complex numbers; may be in place.
  void long_row(const RowPlan& row, const void* in, void* out, bool inverse, double scale) const {
    const int64_t complex_bytes = 2 * part_;
    if (row.convolution) {
      const int64_t length = row.convolution->n;
      char* a = static_cast<char*>(workspace(WorkspaceSlot::FftChirp, 2 * length * complex_bytes));
      char* b = a + length * complex_bytes;
      kernels_.multiply(a, in, row.chirp.data(), row.n, 1, inverse, false);
      std::memset(a + row.n * complex_bytes, 0, static_cast<size_t>((length - row.n) * complex_bytes));
      long_row(*row.convolution, a, b, false, 1);
      kernels_.multiply(b, b, row.spectrum.data(), length, 1, false, true);
      long_row(*row.convolution, b, a, false, 1);
      kernels_.multiply(out, a, row.chirp.data(), row.n, scale, true, inverse);
      return;
    }
    const int64_t lanes = kernels_.lanes;
    FftLong f = row.matrix;
    const int64_t groups = (f.n2 + lanes - 1) / lanes, blocks = (f.n1 + lanes - 1) / lanes;
    f.in = in;
    f.out = out;
    f.matrix = workspace(WorkspaceSlot::FftMatrix, groups * blocks * lanes * lanes * complex_bytes);
    f.inverse = inverse;
    f.scale = scale;
    constexpr int64_t kGrain = 8192;
    parallel_for(0, groups, std::max<int64_t>(1, kGrain / (f.n1 * lanes)),
                 [&](int64_t begin, int64_t end) { kernels_.columns(f, begin, end); });
    parallel_for(0, blocks, std::max<int64_t>(1, kGrain / (f.n2 * lanes)),
                 [&](int64_t begin, int64_t end) { kernels_.matrix_rows(f, begin, end); });
  }

  const FftPlan& plan_;
  const bool wide_;
  const int64_t part_;  // bytes of a real number
  const bool packed_;   // a real row of even length: pairs are taken as complex numbers
  const int64_t length_;
  const FftKernels &kernels_, &lane_kernels_;
  int64_t in_bytes_, out_bytes_;
  std::shared_ptr<const KernelPlan> kernel_;
  std::shared_ptr<const RowPlan> row_;
  std::shared_ptr<const HalfPlan> half_;
};

}  // namespace

void fft(const FftPlan& plan) {
  STRIDED_CHECK(plan.dtype == DType::Float32 || plan.dtype == DType::Float64, NotImplementedError, plan.name,
                ": not implemented for ", plan.dtype, " on device 'cpu'");
  const Batch batch(plan);
  if (batch.rows() > 0) Transform(plan).run(batch);
}

}  // namespace cpu
}  // namespace strided
