// Fourier transforms on the device, by cuFFT.
//
// cuFFT takes rows at one distance from each other, with elements at one positive step, and has one direction for real
// numbers on either side. What does not lie so is copied, before or after; factors and conjugates are part of a copy
// where there is one, else a pass over the result. Halves of conjugate elements are always copied: cuFFT may overwrite
// them, and has no rule for imaginary parts that must be zero.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/complex.h"
#include "cuda/fft/cufft.h"
#include "cuda/pointwise/loop.h"
#include "cuda/runtime/capture.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

// ---- copies
constexpr uint32_t kNowhere = 0xffffffff;
struct MoveArgs {
  uint32_t n = 0;  // elements of all rows
  int32_t ndim = 0;
  int32_t along = 0;  // the axis of a row
  Divisor size[kMaxAxes];
  int64_t from_stride[kMaxAxes] = {}, to_stride[kMaxAxes] = {};  // bytes
  const char* from = nullptr;
  char* to = nullptr;
  double scale = 1;
  uint8_t conjugate = 0;
  uint32_t real_at[2] = {kNowhere, kNowhere};  // places in a row whose imaginary part counts as zero
};

template <class From, class To>
__global__ void __launch_bounds__(kThreads) move_kernel(const STRIDED_GRID_CONSTANT MoveArgs a) {
  using R = real_t<From>;
  uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= a.n) return;
  int64_t from = 0, to = 0;
  uint32_t place = 0;  // in its row
#pragma unroll 1
  for (int d = 0; d < a.ndim; ++d) {
    const uint32_t outer = d < a.ndim - 1 ? a.size[d].divide(i) : 0, here = i - outer * a.size[d].d;
    from += here * a.from_stride[d];
    to += here * a.to_stride[d];
    if (d == a.along) place = here;
    i = outer;
  }
  const From x = *reinterpret_cast<const From*>(a.from + from);
  const R scale = static_cast<R>(a.scale);
  R re, im = 0;
  if constexpr (is_complex_v<From>) {
    re = x.re;
    im = place == a.real_at[0] || place == a.real_at[1] ? R(0) : a.conjugate ? -x.im : x.im;
  } else {
    re = x;
  }
  if constexpr (is_complex_v<To>) *reinterpret_cast<To*>(a.to + to) = To(re * scale, im * scale);
  else *reinterpret_cast<To*>(a.to + to) = re * scale;
}

// ---- rows
// The axes of the batch, innermost first, with bytes from row to row on both sides.
struct Axis {
  int64_t size, in, out;
};
// One side of a transform: its memory, the elements of a row, and bytes from element to element.
struct Side {
  char* data;
  int64_t elements, item, step;
};

class Transform {
 public:
  explicit Transform(const FftPlan& plan) : plan_(plan), stream_(current_stream(plan.device)) {
    for (int i = plan.ndim - 1; i >= 0; --i)
      if (plan.shape[i] != 1) axes_.push_back({plan.shape[i], plan.in_strides[i], plan.out_strides[i]});
  }

  template <class R>
  void run() {
    run_part<R>(plan_.in, plan_.out, axes_.size());
  }

 private:
  // The innermost `n` axes. Launches count in 32 bits.
  template <class R>
  void run_part(const char* in, char* out, size_t n) {
    int64_t rows = 1;
    for (size_t d = 0; d < n; ++d) rows *= axes_[d].size;
    if (rows < kMaxItems && rows * plan_.n < kMaxItems) return run_rows<R>(in, out, n, rows);
    STRIDED_CHECK(n > 0, NotImplementedError, plan_.name, ": rows of ", plan_.n, " elements on device 'cuda'");
    for (int64_t i = 0; i < axes_[n - 1].size; ++i)
      run_part<R>(in + i * axes_[n - 1].in, out + i * axes_[n - 1].out, n - 1);
  }

  template <class R>
  void run_rows(const char* in_data, char* out_data, size_t n_axes, int64_t rows) {
    using C = Complex<R>;
    const bool from_real = plan_.kind == FftPlan::RealToComplex, to_real = plan_.kind == FftPlan::ComplexToReal;
    const int64_t half = plan_.n / 2 + 1;
    Side in{const_cast<char*>(in_data), to_real ? half : plan_.n, from_real ? int64_t{sizeof(R)} : int64_t{sizeof(C)},
            plan_.in_stride};
    Side out{out_data, from_real ? half : plan_.n, to_real ? int64_t{sizeof(R)} : int64_t{sizeof(C)}, plan_.out_stride};
    std::vector<int64_t> in_strides, out_strides;
    for (size_t d = 0; d < n_axes; ++d) {
      in_strides.push_back(axes_[d].in);
      out_strides.push_back(axes_[d].out);
    }
    if (plan_.n == 1) {
      const MoveArgs a = move_args(n_axes, 1, in.data, 0, in_strides, out.data, 0, out_strides, plan_.scale, false);
      if (from_real) launch_move<R, C>(a);
      else if (to_real) launch_move<C, R>(a);
      else launch_move<C, C>(a);
      return;
    }
    // cuFFT has e^(-...) from real numbers and e^(+...) to them: the other ones are those of conjugates.
    const bool conjugate_in = to_real && !plan_.inverse, conjugate_out = from_real && plan_.inverse;
    double scale = plan_.scale;

    Side direct_in = in, direct_out = out;
    const std::optional<int64_t> in_distance = to_real ? std::nullopt : distance(in, n_axes, in_strides);
    const std::optional<int64_t> out_distance = distance(out, n_axes, out_strides);
    std::unique_ptr<Workspace> first, second;
    if (!in_distance) {
      first = std::make_unique<Workspace>(static_cast<size_t>(rows * in.elements * in.item), plan_.device);
      direct_in = {first->data(), in.elements, in.item, in.item};
      MoveArgs a = move_args(n_axes, in.elements, in.data, in.step, in_strides, first->data(), in.item,
                             packed(n_axes, in), scale, conjugate_in);
      if (to_real) {
        a.real_at[0] = 0;
        if (plan_.n % 2 == 0) a.real_at[1] = static_cast<uint32_t>(plan_.n / 2);
      }
      if (from_real) launch_move<R, R>(a);
      else launch_move<C, C>(a);
      scale = 1;
    }
    if (!out_distance) {
      if (plan_.kind == FftPlan::Complex && first) {
        direct_out = direct_in;  // in place
      } else {
        second = std::make_unique<Workspace>(static_cast<size_t>(rows * out.elements * out.item), plan_.device);
        direct_out = {second->data(), out.elements, out.item, out.item};
      }
    }
    execute<R>(direct_in, in_distance.value_or(in.elements * in.item), direct_out,
               out_distance.value_or(out.elements * out.item), rows);
    if (out_distance && scale == 1 && !conjugate_out) return;
    const MoveArgs a = move_args(n_axes, out.elements, direct_out.data, direct_out.step,
                                 out_distance ? out_strides : packed(n_axes, out), out.data, out.step, out_strides,
                                 scale, conjugate_out);
    if (to_real) launch_move<R, R>(a);
    else launch_move<C, C>(a);
  }

  // Bytes from row to row, if all are at one distance and cuFFT can have them where they are. It wants numbers where
  // complex ones could be.
  std::optional<int64_t> distance(const Side& side, size_t n_axes, const std::vector<int64_t>& strides) const {
    const int64_t complex = plan_.dtype == DType::Float64 ? 16 : 8;
    if (reinterpret_cast<uintptr_t>(side.data) % static_cast<uintptr_t>(complex) != 0) return std::nullopt;
    if (side.step <= 0 || side.step % side.item != 0) return std::nullopt;
    if (n_axes == 0) return side.step * side.elements;
    if (strides[0] <= 0 || strides[0] % side.item != 0) return std::nullopt;
    for (size_t d = 1; d < n_axes; ++d)
      if (strides[d] != strides[d - 1] * axes_[d - 1].size) return std::nullopt;
    return strides[0];
  }
  // The strides of rows one behind the other.
  std::vector<int64_t> packed(size_t n_axes, const Side& side) const {
    std::vector<int64_t> strides;
    int64_t stride = side.elements * side.item;
    for (size_t d = 0; d < n_axes; ++d) {
      strides.push_back(stride);
      stride *= axes_[d].size;
    }
    return strides;
  }

  MoveArgs move_args(size_t n_axes, int64_t elements, const char* from, int64_t from_step,
                     const std::vector<int64_t>& from_strides, char* to, int64_t to_step,
                     const std::vector<int64_t>& to_strides, double scale, bool conjugate) const {
    struct Stride {
      int64_t size, from, to;
      bool along;
    };
    std::vector<Stride> all{{elements, from_step, to_step, true}};
    for (size_t d = 0; d < n_axes; ++d) all.push_back({axes_[d].size, from_strides[d], to_strides[d], false});
    // Neighbouring threads write to neighbouring places.
    std::stable_sort(all.begin(), all.end(),
                     [](const Stride& x, const Stride& y) { return std::abs(x.to) < std::abs(y.to); });
    // Axes that go on where the one before ends are one; but places along a row must be known.
    std::vector<Stride> merged;
    for (const Stride& s : all) {
      Stride* last = merged.empty() ? nullptr : &merged.back();
      if (last && !last->along && !s.along && s.from == last->from * last->size && s.to == last->to * last->size)
        last->size *= s.size;
      else merged.push_back(s);
    }
    STRIDED_CHECK(merged.size() <= static_cast<size_t>(kMaxAxes), NotImplementedError, plan_.name, ": ", merged.size(),
                  " axes on device 'cuda'");
    MoveArgs a;
    a.n = 1;
    a.ndim = static_cast<int32_t>(merged.size());
    for (size_t d = 0; d < merged.size(); ++d) {
      a.n *= static_cast<uint32_t>(merged[d].size);
      a.size[d] = Divisor(static_cast<uint32_t>(merged[d].size));
      a.from_stride[d] = merged[d].from;
      a.to_stride[d] = merged[d].to;
      if (merged[d].along) a.along = static_cast<int32_t>(d);
    }
    a.from = from;
    a.to = to;
    a.scale = scale;
    a.conjugate = conjugate;
    return a;
  }
  template <class From, class To>
  void launch_move(const MoveArgs& a) const {
    launch(move_kernel<From, To>, dim3((a.n + kThreads - 1) / kThreads), dim3(kThreads), 0, stream_, a);
    check_launch(plan_.name);
  }

  template <class R>
  void execute(const Side& in, int64_t in_distance, const Side& out, int64_t out_distance, int64_t rows) const {
    constexpr int real = kDataTypes[sizeof(R) == 8], complex = kDataTypes[2 + (sizeof(R) == 8)];
    const CuFft& f = cufft(plan_.name);
    FftShape s;
    s.in_type = plan_.kind == FftPlan::RealToComplex ? real : complex;
    s.out_type = plan_.kind == FftPlan::ComplexToReal ? real : complex;
    s.compute = complex;
    s.n = plan_.n;
    s.in_elements = in.elements;
    s.out_elements = out.elements;
    s.rows = rows;
    s.in_step = in.step / in.item;
    s.in_distance = in_distance / in.item;
    s.out_step = out.step / out.item;
    s.out_distance = out_distance / out.item;
    const OutsideCapture outside(plan_.device);  // to make a plan allocates, and an old one may go
    const LentFftPlan lent(f, plan_.name, plan_.device, s);
    const Workspace work(lent.work_bytes(), plan_.device);
    f.cufftSetStream(plan_.name, lent.plan(), stream_);
    f.cufftSetWorkArea(plan_.name, lent.plan(), work.data());
    const bool inverse = plan_.kind == FftPlan::Complex ? plan_.inverse : plan_.kind == FftPlan::ComplexToReal;
    f.cufftXtExec(plan_.name, lent.plan(), in.data, out.data, inverse ? kInverse : kForward);
  }

  const FftPlan& plan_;
  const cudaStream_t stream_;
  std::vector<Axis> axes_;
};

}  // namespace

void fft(const FftPlan& plan) {
  for (int i = 0; i < plan.ndim; ++i)
    if (plan.shape[i] == 0) return;
  const OnDevice guard(plan.device);
  if (plan.dtype == DType::Float32) return Transform(plan).run<float>();
  STRIDED_CHECK(plan.dtype == DType::Float64, NotImplementedError, plan.name, ": not implemented for ", plan.dtype,
                " on device 'cuda'");
  Transform(plan).run<double>();
}

}  // namespace cuda
}  // namespace strided
