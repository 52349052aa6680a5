// Three products of a convolution.
// Forward, gradient of the input and gradient of the weight are three bilinear maps, and the derivatives of each are
// the other two. So there are three functions, each with the others for its backward pass, and every order of
// derivative is right. The gradient of the input is the forward pass of a transposed convolution. Gradients of complex
// products read the conjugate of the other factor.
#include "ops/linalg/convolution.h"

#include <algorithm>

#include "backend/network_plans.h"
#include "ops/factory.h"
#include "ops/linalg/matmul.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/join.h"
#include "ops/shape/view.h"
#include "ops/shape/windows.h"

namespace strided {
namespace {

constexpr int64_t kBuffer = 1 << 22;  // bytes of columns that are made at a time: they should stay in the cache
constexpr int64_t kSums = 1 << 19;    // bytes of gradients of single samples, before they are added
// Outputs of a sample: fewer make one product for all samples, for short ones read the weight too often.
constexpr int64_t kFew = 256;
constexpr int64_t kFewPhases = 8;  // convolutions that make one in larger steps

// Of one convolution.
struct Geometry : Windows {
  int64_t groups = 1;
};

// The dtype in which products are added up: float32 for 16-bit floats, which are rounded once, at the end.
DType sums_of(const Tensor& x) { return is_floating(x.dtype()) ? compute_dtype_of(x.dtype()) : x.dtype(); }
// The dtype of sums of several products, on a device: each of them would be rounded to 16 bits otherwise.
DType sums_on(const Tensor& x) { return network_functions(x.device()).wide_sums ? sums_of(x) : x.dtype(); }
// A factor of such products, where these are not taken in 16 bits.
Tensor factor(const Tensor& x) { return to_dtype(x, sums_on(x)); }

Tensor padded(const Tensor& x, const Geometry& g) { return padded_image(x, g, Scalar(0)); }

// A view of the padded input: (batch, groups, channels, kernel..., output...).
Tensor windows(const Tensor& x, const Geometry& g) {
  const Dims& steps = x.strides();
  const int64_t channels = x.size(1) / g.groups;
  Dims shape = joined(joined({x.size(0), g.groups, channels}, g.kernel), g.out),
       strides{steps[0], channels * steps[1], steps[1]};
  for (size_t i = 0; i < g.axes(); ++i) strides.push_back(steps[2 + i] * g.dilation[i]);
  for (size_t i = 0; i < g.axes(); ++i) strides.push_back(g.step(i, steps[2 + i]));
  return as_strided(x, shape, strides, x.offset());
}

// ---------------------------------------------------------------- the three maps, not recorded

// The sizes of the planes in memory, of which those of x are a part or all.
Dims planes_around(const Tensor& x) {
  const Dims& steps = x.strides();
  const bool rows = x.ndim() == 4 && steps[3] == 1 && steps[2] >= x.size(3) && steps[2] > 0 && steps[1] % steps[2] == 0;
  return rows ? Dims{steps[1] / steps[2], steps[2]} : sizes_of(x);
}

// So few outputs of one channel take less time alone than as rows of a product.
constexpr int64_t kFewOutputs = 2;

// Groups of one input channel, where the device has an operation for them; else an undefined tensor. x is padded.
Tensor forward_of_channels(const Tensor& x, const Tensor& weight, const Geometry& g, bool turned) {
  const auto operation = network_functions(x.device()).convolve_channels;
  if (operation == nullptr || weight.size(1) != 1 || g.axes() > 2) return {};
  if (g.groups == 1 && weight.size(0) > kFewOutputs) return {};
  if (sums_of(x) != x.dtype() && x.dtype() == weight.dtype())
    return to_dtype(forward_of_channels(to_dtype(x, sums_of(x)), to_dtype(weight, sums_of(x)), g, turned), x.dtype());
  const bool fits = x.dtype() == weight.dtype() && (x.dtype() == DType::Float32 || x.dtype() == DType::Float64);
  if (!fits) return {};
  const Dims larger = planes_around(x);
  const bool in_place = x.strides() == Layout::contiguous_strides(joined({x.size(0), x.size(1)}, larger));
  const Tensor image = in_place ? x : contiguous(x), kernels = contiguous(weight);
  const Dims sizes = in_place ? larger : sizes_of(x);
  const Tensor out = empty(joined({x.size(0), weight.size(0)}, g.out), x.dtype(), x.device());
  if (out.numel() == 0) return out;
  ChannelsPlan plan;
  plan.dtype = x.dtype();
  plan.turned = turned;
  plan.channels = g.groups;
  plan.planes = x.size(0) * g.groups;
  plan.times = weight.size(0) / g.groups;
  for (size_t i = 0; i < 2; ++i) {  // a line is one row
    const bool absent = i == 0 && g.axes() == 1;
    const size_t axis = g.axes() == 1 ? 0 : i;
    plan.size[i] = absent ? 1 : sizes[axis];
    plan.kernel[i] = absent ? 1 : g.kernel[axis];
    plan.dilation[i] = absent ? 1 : g.dilation[axis];
    plan.stride[i] = absent ? 1 : g.stride[axis];
    plan.to[i] = absent ? 1 : g.out[axis];
  }
  plan.in = image.data();
  plan.weight = kernels.data();
  plan.out = out.data();
  operation(plan);
  return out;
}

// Over an image that is padded. It may be a part of a larger one. `turned`: the kernel is taken backwards.
Tensor forward_over(const Tensor& image, const Tensor& weight, const Geometry& g, bool turned) {
  const int64_t n = image.size(0), o = weight.size(0), axes = static_cast<int64_t>(g.axes()) + 1;
  const Dims shape = joined({n, o}, g.out);
  if (Tensor made = forward_of_channels(image, weight, g, turned); made.defined()) return made;
  const Tensor seen = windows(image, g), kernels = turned ? flip(weight, range_of(2, axes + 1)) : weight;
  const Tensor matrix = reshape(kernels, {g.groups, o / g.groups, weight.size(1) * product_of(g.kernel)});
  if (g.groups == 1 && n > 1 && product_of(g.out) < kFew) {
    Dims order = range_of(1, axes + 1);
    order.push_back(0);
    for (int64_t i = axes + 1; i < 2 * axes; ++i) order.push_back(i);
    const Tensor made = matmul_folded(select(matrix, 0, 0), permute(select(seen, 1, 0), order), axes, std::nullopt);
    return contiguous(transpose(view(made, joined({o, n}, g.out)), 0, 1));
  }
  const Tensor a = expand(unsqueeze(matrix, 0), joined({n}, matrix.shape()));
  return view(matmul_folded(a, seen, axes, std::nullopt), shape);
}
Tensor forward(const Tensor& x, const Tensor& weight, const Geometry& g, bool turned = false) {
  return forward_over(padded(x, g), weight, g, turned);
}

// For groups of one input channel and steps of 1. An element of the kernel is then multiplied with the padded plane
// from some offset on. So planes are taken as vectors, which are long, and not as rows, which are short; what stands
// behind the end of an output row is multiplied with zero.
Tensor weight_gradient_of_planes(const Tensor& x, const Tensor& grad, const Geometry& g) {
  const int64_t n = x.size(0), c = x.size(1), times = grad.size(1) / c;
  const Dims sizes = g.padded(), steps = Layout::contiguous_strides(sizes);
  int64_t last = 0;
  for (size_t i = 0; i < g.axes(); ++i) last += (g.kernel[i] - 1) * g.dilation[i] * steps[i];
  const int64_t length = product_of(sizes) - last;
  Tensor vectors = zeros({n, c * times, length}, grad.dtype(), grad.device());
  copy_into(as_strided(vectors, grad.shape(), joined({vectors.strides()[0], vectors.strides()[1]}, steps), 0), grad);
  vectors = view(factor(vectors), {n, c, times, length});
  // The taps along the last axis are the columns of one product.
  const Tensor planes = factor(padded(x, g));
  const int64_t plane = product_of(sizes), wide = g.kernel.back(), step = g.dilation.back();
  Dims rows = g.kernel;
  rows.pop_back();
  const Tensor made = empty({c * times, product_of(rows), wide}, sums_of(x), x.device());
  Dims at(rows.size());
  int64_t row = 0;
  do {
    int64_t offset = planes.offset();
    for (size_t i = 0; i < rows.size(); ++i) offset += at[i] * g.dilation[i] * steps[i];
    const Tensor taps = as_strided(planes, {n, c, length, wide}, {c * plane, plane, 1, step}, offset);
    copy_into(select(made, 1, row++), reshape(sum(matmul(vectors, taps), Dims{0}), {c * times, wide}));
  } while (next(&at, rows));
  return reshape(to_dtype(made, x.dtype()), joined({c * times, 1}, g.kernel));
}

// For few outputs of a sample, which are columns of one product for many samples; channels come last, as they are
// longer rows than those of the image.
Tensor input_gradient_of_few(Tensor grad, const Tensor& weight, const Geometry& g) {
  const int64_t n = grad.size(0), o = grad.size(1), c = weight.size(1), taps = product_of(g.kernel),
                length = product_of(g.out);
  const Tensor matrix = reshape(movedim(weight, {1}, {-1}), {o, taps * c});
  grad = transpose(reshape(grad, {n, o, length}), 1, 2);
  Dims shape = joined({n}, g.padded());
  shape.push_back(c);
  const DType sums = sums_on(grad);
  const Tensor made = zeros(shape, sums, grad.device());
  const int64_t many =
      std::max<int64_t>(1, kBuffer / std::max<int64_t>(1, taps * c * length * static_cast<int64_t>(grad.itemsize())));
  for (int64_t i = 0; i < n; i += many) {
    const int64_t count = std::min(many, n - i);
    const Tensor part = narrow(made, 0, i, count);
    Dims split = joined(joined({count}, g.out), {taps, c});
    const Tensor columns = view(mm_as(reshape(narrow(grad, 0, i, count), {count * length, o}), matrix, sums), split);
    Dims at(g.axes());
    int64_t k = 0;
    do elementwise_<Add>(tap_of(part, g, at, 1), select(columns, -2, k++));
    while (next(&at, g.kernel));
  }
  return contiguous(movedim(inside_of(made, g, 1), {-1}, {1}));
}

// The elements of the input that the elements rest, rest + step, ... of the kernel meet, along one axis.
struct Phase {
  int64_t first, count;  // first, first + step, ... in the input
  int64_t taps, begin;   // as many elements of the kernel; the first of them meets outputs from there on
  Phase(const Geometry& g, size_t axis, int64_t rest) {
    const int64_t step = g.stride[axis], place = rest - g.padding[axis];
    first = (place % step + step) % step;
    count = std::max<int64_t>(0, (g.size[axis] - first + step - 1) / step);
    taps = std::max<int64_t>(0, (g.kernel[axis] - rest + step - 1) / step);
    begin = (first - place) / step - (taps - 1);
  }
};

// For small steps: each phase of the input is a convolution of the gradient in steps of one with a part of the kernel.
// The weight is (input channels, outputs of a group, kernel...).
Tensor input_gradient_of_phases(const Tensor& grad, const Tensor& weight, const Geometry& g) {
  const int64_t n = grad.size(0), c = weight.size(0);
  Geometry whole;  // the gradient with what all phases read around it
  whole.size = g.out;
  whole.out = whole.kernel = whole.stride = whole.dilation = Dims(g.axes(), 1);
  whole.padding = Dims(g.axes(), 0);
  bool all = true;
  for (size_t i = 0; i < g.axes(); ++i)
    for (int64_t rest = 0; rest < g.stride[i]; ++rest) {
      const Phase phase(g, i, rest);
      all = all && phase.taps > 0;
      const int64_t behind = phase.begin + phase.count + phase.taps - 1 - g.out[i];
      whole.padding[i] = std::max({whole.padding[i], -phase.begin, behind});
    }
  const Tensor image = padded(grad, whole);
  const Dims shape = joined({n, c}, g.size);
  const Tensor made = all ? empty(shape, grad.dtype(), grad.device()) : zeros(shape, grad.dtype(), grad.device());
  Geometry part = whole;
  part.groups = g.groups;
  part.padding = Dims(g.axes(), 0);
  Dims rest(g.axes());
  do {
    Tensor to = made, kernel = weight, from = image;
    for (size_t i = 0; i < g.axes(); ++i) {
      const int axis = static_cast<int>(i) + 2;
      const Phase phase(g, i, rest[i]);
      part.kernel[i] = phase.taps, part.out[i] = phase.count;
      part.size[i] = phase.count + phase.taps - 1;
      if (phase.count == 0 || phase.taps == 0) continue;
      to = slice(to, axis, phase.first, g.size[i], g.stride[i]);
      kernel = slice(kernel, axis, rest[i], g.kernel[i], g.stride[i]);
      from = narrow(from, axis, whole.padding[i] + phase.begin, part.size[i]);
    }
    if (least_of(part.kernel) > 0 && least_of(part.out) > 0) copy_into(to, forward_over(from, kernel, part, true));
  } while (next(&rest, g.stride));
  return made;
}

// Sums of what each element of the kernel gives at its places, where the device has it in one step.
bool folds_in_one_step(DType dtype, Device device, const Geometry& g) {
  return g.axes() <= static_cast<size_t>(FoldPlan::kMost) && network_functions(device).fold != nullptr &&
         (dtype == DType::Float32 || dtype == DType::Float64);
}
// columns: (count, channels, elements of the kernel, outputs...); to: (count, channels, sizes...), both contiguous.
void fold_columns(const Tensor& columns, const Geometry& g, const Tensor& to) {
  if (to.numel() == 0) return;
  const Tensor in = contiguous(columns);
  FoldPlan plan;
  plan.dtype = to.dtype();
  plan.planes = to.size(0) * to.size(1);
  for (size_t i = 0, at = FoldPlan::kMost - g.axes(); i < g.axes(); ++i, ++at) {
    plan.size[at] = g.size[i];
    plan.kernel[at] = g.kernel[i];
    plan.blocks[at] = g.out[i];
    plan.dilation[at] = g.dilation[i];
    plan.padding[at] = g.padding[i];
    plan.stride[at] = g.stride[i];
  }
  plan.columns = in.data();
  plan.out = to.data();
  network_functions(to.device()).fold(plan);
}

Tensor input_gradient(Tensor grad, Tensor weight, const Geometry& g) {
  const int64_t n = grad.size(0), o = grad.size(1), c = weight.size(1) * g.groups, length = product_of(g.out);
  Geometry whole = g;
  bool fits = g.has_steps_of_one();
  for (size_t i = 0; i < g.axes(); ++i) {
    whole.padding[i] = g.span(i) - 1 - g.padding[i];
    fits = fits && whole.padding[i] >= 0;
  }
  // Over a small image the other way is less work: each gradient is multiplied with each element of the kernel once.
  if (fits && (length >= kFew || product_of(g.size) <= 2 * length)) {
    whole.size = sizes_of(grad);
    whole.set_out();
    if (whole.out == g.size) {
      const Tensor split = reshape(weight, joined({g.groups, o / g.groups, c / g.groups}, g.kernel));
      return forward(grad, reshape(transpose(split, 1, 2), joined({c, o / g.groups}, g.kernel)), whole, true);
    }
  }
  const DType dtype = grad.dtype();
  const int64_t taps = product_of(g.kernel), rows = weight.size(1) * taps;
  if (g.groups == 1 && length < kFew && c >= g.out.back())
    return to_dtype(input_gradient_of_few(grad, weight, g), dtype);
  if (!g.has_steps_of_one() && product_of(g.stride) <= kFewPhases && product_of(g.dilation) == 1) {
    const Tensor split = reshape(weight, joined({g.groups, o / g.groups, c / g.groups}, g.kernel));
    const Tensor turned = reshape(transpose(split, 1, 2), joined({c, o / g.groups}, g.kernel));
    return input_gradient_of_phases(grad, turned, g);
  }
  grad = factor(grad), weight = factor(weight);
  grad = reshape(grad, {n, g.groups, o / g.groups, length});
  const Tensor matrix = transpose(reshape(weight, {g.groups, o / g.groups, rows}), 1, 2);
  const bool folds = folds_in_one_step(sums_of(grad), grad.device(), g);
  const Dims shape = joined({n, c}, folds ? g.size : g.padded());
  const Tensor made = folds ? empty(shape, sums_of(grad), grad.device()) : zeros(shape, sums_of(grad), grad.device());
  const int64_t many = std::max<int64_t>(
      1, kBuffer / std::max<int64_t>(1, g.groups * rows * length * static_cast<int64_t>(grad.itemsize())));
  for (int64_t i = 0; i < n; i += many) {
    const int64_t count = std::min(many, n - i);
    const Tensor part = narrow(made, 0, i, count);
    const Tensor columns = view(matmul(matrix, narrow(grad, 0, i, count)), joined({count, c, taps}, g.out));
    if (folds) {
      fold_columns(columns, g, part);
      continue;
    }
    Dims at(g.axes());
    int64_t k = 0;
    do elementwise_<Add>(tap_of(part, g, at), select(columns, 2, k++));
    while (next(&at, g.kernel));
  }
  return to_dtype(folds ? made : contiguous(inside_of(made, g)), dtype);
}

// Of 16-bit floats: the columns are copied, and the products of some samples at a time are added in float32.
Tensor weight_gradient_of_narrow(const Tensor& x, const Tensor& grad, const Geometry& g) {
  const int64_t n = x.size(0), o = grad.size(1), c = x.size(1) / g.groups, rows = c * product_of(g.kernel),
                length = product_of(g.out), axes = static_cast<int64_t>(g.axes());
  const Tensor all = windows(padded(x, g), g), made = zeros({g.groups, o / g.groups, rows}, DType::Float32, x.device());
  const int64_t most = std::max<int64_t>(1, kBuffer / std::max<int64_t>(1, g.groups * rows * length * x.itemsize()));
  Dims order = range_of(1, axes + 3);  // (groups, channels, kernel..., samples, output...)
  order.push_back(0);
  order = joined(order, range_of(axes + 3, 2 * axes + 3));
  for (int64_t i = 0; i < n; i += most) {
    const int64_t count = std::min(most, n - i);
    const Tensor columns = reshape(permute(narrow(all, 0, i, count), order), {g.groups, rows, count * length});
    const Tensor part =
        permute(reshape(narrow(grad, 0, i, count), {count, g.groups, o / g.groups, length}), {1, 2, 0, 3});
    gemm_into(made, reshape(part, {g.groups, o / g.groups, count * length}), transpose(columns, 1, 2), Scalar(1),
              Scalar(1));
  }
  return view(to_dtype(made, x.dtype()), joined({o, c}, g.kernel));
}

Tensor weight_gradient(Tensor x, Tensor grad, const Geometry& g) {
  const int64_t n = x.size(0), c = x.size(1), o = grad.size(1);
  if (c == g.groups && c > 1 && g.has_steps_of_one()) return weight_gradient_of_planes(x, grad, g);
  const int64_t rows = c / g.groups * product_of(g.kernel), axes = static_cast<int64_t>(g.axes()),
                length = product_of(g.out);
  const DType dtype = x.dtype();
  if (sums_on(x) != dtype && x.dtype() == grad.dtype() && network_functions(x.device()).widened_gemm != nullptr)
    return weight_gradient_of_narrow(x, grad, g);
  const Dims shape = joined({o, c / g.groups}, g.kernel);
  x = factor(x), grad = factor(grad);
  const Tensor all = windows(padded(x, g), g);
  const auto seen_by = [&](const Dims& first) {  // and (output..., channels, kernel...)
    return permute(all, joined(joined(first, range_of(axes + 3, 2 * axes + 3)), range_of(2, axes + 3)));
  };
  if (length < kFew) {  // of all samples at once, which are an axis of the sum
    grad = reshape(permute(reshape(grad, {n, g.groups, o / g.groups, length}), {1, 2, 0, 3}),
                   {g.groups, o / g.groups, n * length});
    return view(to_dtype(matmul_folded(grad, seen_by({1, 0}), axes + 1, std::nullopt), dtype), shape);
  }
  grad = view(contiguous(grad), {n, g.groups, o / g.groups, length});  // a gradient of a sum repeats one element
  const Tensor seen = seen_by({0, 1}), made = zeros({g.groups, o / g.groups, rows}, x.dtype(), x.device());
  // Samples are one product as long as their sums stay in the cache.
  const int64_t most = std::max<int64_t>(1, kSums / std::max<int64_t>(made.numel() * made.itemsize(), 1));
  for (int64_t i = 0; i < n; i += most) {
    const int64_t count = std::min(most, n - i);
    if (count == 1) matmul_folded(select(grad, 0, i), select(seen, 0, i), axes, made);
    else
      elementwise_<Add>(made,
                        sum(matmul_folded(narrow(grad, 0, i, count), narrow(seen, 0, i, count), axes, {}), Dims{0}));
  }
  return view(to_dtype(made, dtype), shape);
}

// ---------------------------------------------------------------- recorded

// Images have their channels last in memory where one of the factors has. PyTorch's volumes of float64 never have.
bool has_images_channels_last(const Tensor& a, const Tensor& b) {
  if (a.ndim() == 5 && a.dtype() == DType::Float64) return false;
  return has_channels_last(a) || has_channels_last(b);
}

template <Tensor (*f)(Tensor, Tensor, const Geometry&)>
Tensor unrecorded(const Tensor& a, const Tensor& b, const Geometry& g) {
  NoGradGuard guard;
  const Tensor made = f(a, b, g);
  const bool last = f != weight_gradient && has_images_channels_last(a, b) && made.numel() > 0;
  if (last) return with_channels_last(made);
  const Tensor out = contiguous(made);
  // A result of its own: no view of what was made here. Axes of one element have the strides that PyTorch gives them.
  return make_view(out, Layout(out.shape(), Layout::contiguous_strides(out.shape()), out.offset()));
}

Tensor recorded_input_gradient(const Tensor& grad, const Tensor& weight, const Geometry& g);
Tensor recorded_weight_gradient(const Tensor& x, const Tensor& grad, const Geometry& g);
Tensor forward_of(Tensor x, Tensor weight, const Geometry& g) { return forward(x, weight, g); }

Tensor recorded(const Tensor& x, const Tensor& weight, const Geometry& g) {
  const Tensor out = unrecorded<forward_of>(x, weight, g);
  if (!needs_grad(x, weight)) return out;
  return record(
      "ConvolutionBackwardBackward0", out, {x, weight},
      [x = saved_if(weight.requires_grad(), x), w = saved_if(x.requires_grad(), weight), g](const Tensor& grad) {
        return std::vector<Tensor>{w.was_saved() ? recorded_input_gradient(grad, conj(w.get()), g) : Tensor(),
                                   x.was_saved() ? recorded_weight_gradient(conj(x.get()), grad, g) : Tensor()};
      });
}

Tensor recorded_input_gradient(const Tensor& grad, const Tensor& weight, const Geometry& g) {
  const Tensor out = unrecorded<input_gradient>(grad, weight, g);
  if (!needs_grad(grad, weight)) return out;
  return record(
      "ConvolutionBackwardBackward0", out, {grad, weight},
      [grad = saved_if(weight.requires_grad(), grad), w = saved_if(grad.requires_grad(), weight), g](const Tensor& x) {
        return std::vector<Tensor>{w.was_saved() ? recorded(x, conj(w.get()), g) : Tensor(),
                                   grad.was_saved() ? recorded_weight_gradient(x, conj(grad.get()), g) : Tensor()};
      });
}

Tensor recorded_weight_gradient(const Tensor& x, const Tensor& grad, const Geometry& g) {
  const Tensor out = unrecorded<weight_gradient>(x, grad, g);
  if (!needs_grad(x, grad)) return out;
  return record(
      "ConvolutionBackwardBackward0", out, {x, grad},
      [x = saved_if(grad.requires_grad(), x), grad = saved_if(x.requires_grad(), grad), g](const Tensor& weight) {
        return std::vector<Tensor>{grad.was_saved() ? recorded_input_gradient(conj(grad.get()), weight, g) : Tensor(),
                                   x.was_saved() ? recorded(conj(x.get()), weight, g) : Tensor()};
      });
}

// ---------------------------------------------------------------- arguments

const char* word_for(const Tensor& t) { return info_of(t.dtype()).type_name; }

// One number for each axis.
Dims for_axes(const char* what, const Dims& given, size_t axes) {
  STRIDED_CHECK(given.size() == 1 || given.size() == axes, RuntimeError, "expected ", what,
                " to be a single integer value or a list of ", axes,
                " values to match the convolution dimensions, but got ", what, "=", given);
  return given.size() == axes ? given : Dims(axes, given[0]);
}
// The checks of both directions; the input with a batch, and all of the geometry but sizes.
Tensor prepare(const char* name, Geometry* g, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
               const Dims& stride, const Dims& padding, const Dims& dilation, int64_t groups, int axes,
               bool transposed) {
  STRIDED_CHECK(x.ndim() == axes + 1 || x.ndim() == axes + 2, RuntimeError, "Expected ", axes + 1, "D (unbatched) or ",
                axes + 2, "D (batched) input to ", name, ", but got input of size: ", x.shape());
  STRIDED_CHECK(weight.ndim() >= 3, RuntimeError, "weight should have at least three dimensions");
  STRIDED_CHECK(weight.ndim() == axes + 2, RuntimeError, "Expected ", weight.ndim(), "-dimensional input for ",
                weight.ndim(), "-dimensional weight ", weight.shape(), ", but got ", axes + 2,
                "-dimensional input of size ", x.shape(), " instead");
  // PyTorch compares with the bias first, but not in conv_transpose.
  if (bias && !transposed)
    for (const Tensor* other : {&*bias, &weight})
      STRIDED_CHECK(other->dtype() == x.dtype(), RuntimeError, "Input type (", word_for(x), ") and bias type (",
                    word_for(*other), ") should be the same");
  for (const Tensor* other : {&weight, bias ? &*bias : &weight})
    STRIDED_CHECK(other->dtype() == x.dtype(), RuntimeError, "expected scalar type ", cpp_name_of(x.dtype()),
                  " but found ", cpp_name_of(other->dtype()));
  const size_t n = static_cast<size_t>(axes);
  g->kernel = sizes_of(weight);
  g->stride = for_axes("stride", stride, n), g->padding = for_axes("padding", padding, n);
  g->dilation = for_axes("dilation", dilation, n), g->groups = groups;
  STRIDED_CHECK(groups > 0, RuntimeError, "expected groups to be greater than 0, but got groups=", groups);
  STRIDED_CHECK(least_of(g->stride) > 0, RuntimeError, "non-positive stride is not supported");
  STRIDED_CHECK(least_of(g->dilation) > 0, RuntimeError, "dilation should be greater than zero");
  STRIDED_CHECK(least_of(g->padding) >= 0, RuntimeError, "negative padding is not supported");
  STRIDED_CHECK(weight.size(0) >= groups, RuntimeError, "Given groups=", groups, ", expected weight to be at least ",
                groups, " at dimension 0, but got weight of size ", weight.shape(), " instead");
  STRIDED_CHECK(weight.size(0) % groups == 0, RuntimeError, "Given groups=", groups,
                ", expected weight to be divisible by ", groups, " at dimension 0, but got weight of size ",
                weight.shape(), " instead");
  STRIDED_CHECK(least_of(g->kernel) > 0, RuntimeError, name,
                ": expected a kernel of positive sizes, but got weight of size ", weight.shape());
  for (size_t i = 0; i < n; ++i)
    if (g->kernel[i] == 1) g->dilation[i] = 1;  // any number means the same
  return x.ndim() == axes + 2 ? x : unsqueeze(x, 0);
}

void check_bias(const std::optional<Tensor>& bias, const Tensor& weight, int64_t channels) {
  STRIDED_CHECK(!bias || (bias->ndim() == 1 && bias->size(0) == channels), RuntimeError, "Given weight of size ",
                weight.shape(), ", expected bias to be 1-dimensional with ", channels,
                " elements, but got bias of size ", bias->shape(), " instead");
}

// The gradients of x and weight are functions of the gradient and the other of the two.
template <class OfX, class OfWeight>
struct ConvolutionFormula {
  SavedTensor x, weight;
  Geometry g;
  std::optional<Dims> output_padding;  // of a transposed convolution
  int64_t bias_size;
  bool with_bias;
  OfX of_x;
  OfWeight of_weight;

  std::vector<Tensor> operator()(const Tensor& grad) const {
    Dims others = range_of(1, grad.ndim());
    others[0] = 0;
    return {weight.was_saved() && is_gradient_used(0) ? of_x(grad, conj(weight.get()), g) : Tensor(),
            x.was_saved() && is_gradient_used(1) ? of_weight(conj(x.get()), grad, g) : Tensor(),
            with_bias && is_gradient_used(2) ? sum(grad, others) : Tensor()};
  }
  void release() {
    release_value(x);
    release_value(weight);
  }
  const char* names() const {
    return "input weight bias_sym_sizes_opt stride padding dilation transposed output_padding groups";
  }
  SavedValue value(int which, const Node& node) const {
    switch (which) {
      case 0: return saved_value(node, x);
      case 1: return saved_value(node, weight);
      case 2: return Dims{bias_size};
      case 3: return g.stride;
      case 4: return g.padding;
      case 5: return g.dilation;
      case 6: return output_padding.has_value();
      case 7: return output_padding.value_or(Dims(g.axes(), 0));
      default: return g.groups;
    }
  }
};

// Adds the bias to what was just made, and records all.
template <class OfX, class OfWeight>
Tensor finish(const Tensor& out, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, bool batched,
              const Geometry& g, const std::optional<Dims>& output_padding, OfX of_x, OfWeight of_weight) {
  if (bias) {
    NoGradGuard guard;
    Dims shape(static_cast<size_t>(out.ndim() - 1), 1);
    shape[0] = -1;
    elementwise_<Add>(out, reshape(*bias, shape));
  }
  if (needs_grad(x, weight) || (bias && needs_grad(*bias)))
    record("ConvolutionBackward0", out, {x, weight, bias.value_or(Tensor())},
           ConvolutionFormula<OfX, OfWeight>{saved_if(weight.requires_grad(), x), saved_if(x.requires_grad(), weight),
                                             g, output_padding, bias ? bias->size(0) : 0, bias && bias->requires_grad(),
                                             of_x, of_weight});
  return batched ? out : squeeze(out, {0});
}

}  // namespace

template <int axes>
Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const Dims& stride,
                   const Dims& padding, const Dims& dilation, int64_t groups) {
  constexpr const char* names[] = {"conv1d", "conv2d", "conv3d"};
  Geometry g;
  const Tensor x = prepare(names[axes - 1], &g, input, weight, bias, stride, padding, dilation, groups, axes, false);
  STRIDED_CHECK(x.size(1) == weight.size(1) * groups, RuntimeError, "Given groups=", groups, ", weight of size ",
                weight.shape(), ", expected input", input.shape(), " to have ", weight.size(1) * groups,
                " channels, but got ", x.size(1), " channels instead");
  g.size = sizes_of(x);
  const Dims have = g.padded(), need = g.spans();
  for (size_t i = 0; i < g.axes(); ++i)
    STRIDED_CHECK(have[i] >= need[i], RuntimeError, "Calculated padded input size per channel: (", by_x(have),
                  "). Kernel size: (", by_x(need), "). Kernel size can't be greater than actual input size");
  check_bias(bias, weight, weight.size(0));
  g.set_out();
  return finish(
      unrecorded<forward_of>(x, weight, g), x, weight, bias, input.ndim() == x.ndim(), g, {},
      [](const Tensor& grad, const Tensor& w, const Geometry& g) { return recorded_input_gradient(grad, w, g); },
      [](const Tensor& x, const Tensor& grad, const Geometry& g) { return recorded_weight_gradient(x, grad, g); });
}

template <int axes>
Tensor transposed_convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                              const Dims& stride, const Dims& padding, const Dims& output_padding, int64_t groups,
                              const Dims& dilation) {
  constexpr const char* names[] = {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"};
  Geometry g;
  const Tensor x = prepare(names[axes - 1], &g, input, weight, bias, stride, padding, dilation, groups, axes, true);
  STRIDED_CHECK(x.size(1) == weight.size(0), RuntimeError, "Given transposed=1, weight of size ", weight.shape(),
                ", expected input", input.shape(), " to have ", weight.size(0), " channels, but got ", x.size(1),
                " channels instead");
  const Dims more = for_axes("output_padding", output_padding, g.axes()),
             given = for_axes("dilation", dilation, g.axes());
  g.out = sizes_of(x);
  for (size_t i = 0; i < g.axes(); ++i) {
    STRIDED_CHECK(more[i] < std::max(g.stride[i], given[i]), RuntimeError,
                  "output padding must be smaller than either stride or dilation");
    STRIDED_CHECK(more[i] >= 0, RuntimeError, "negative output_padding is not supported");
  }
  g.set_size(more);
  STRIDED_CHECK(least_of(g.size) > 0, RuntimeError, "Given input size per channel: ", g.out,
                ". Calculated output size per channel: ", g.size, ". Output size is too small");
  check_bias(bias, weight, weight.size(1) * groups);
  return finish(
      unrecorded<input_gradient>(x, weight, g), x, weight, bias, input.ndim() == x.ndim(), g, more,
      [](const Tensor& grad, const Tensor& w, const Geometry& g) { return recorded(grad, w, g); },
      [](const Tensor& x, const Tensor& grad, const Geometry& g) { return recorded_weight_gradient(grad, x, g); });
}

#define STRIDED_AXES(n) \
  template Tensor convolution<n>(const Tensor&, const Tensor&, const std::optional<Tensor>&, const Dims&, const Dims&, \
                                 const Dims&, int64_t); \
  template Tensor transposed_convolution<n>(const Tensor&, const Tensor&, const std::optional<Tensor>&, const Dims&, \
                                            const Dims&, const Dims&, int64_t, const Dims&);
STRIDED_AXES(1)
STRIDED_AXES(2)
STRIDED_AXES(3)
#undef STRIDED_AXES

}  // namespace strided
