// Tensors from sizes and numbers.
#include <cstring>
#include <limits>

#include "base/warning.h"
#include "core/promotion.h"
#include "ops/call.h"
#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/out.h"
#include "python/bind/bind.h"
#include "python/memory_format.h"
#include "tensor/graph.h"

namespace strided::python {

namespace {

using OptTensor = std::optional<Tensor>;
using OptDType = std::optional<DType>;
using OptDevice = std::optional<Device>;

// dtype=, device= and out= of a factory, as they are in effect.
struct Target {
  DType dtype;
  Device device;

  Target(const OptTensor& out, const OptDType& asked, const OptDevice& where, DType otherwise, OptDevice home = {})
      : dtype(out ? out->dtype() : asked.value_or(otherwise)),
        device(out     ? out->device()
               : where ? *where
               : home  ? *home
                       : device_in_effect()) {
    STRIDED_CHECK(!asked || dtype == *asked, RuntimeError, "dtype ", *asked, " does not match dtype of out parameter (",
                  dtype, ")");
    if (device.is_cpu()) device.index = -1;
  }
};

// PyTorch resizes the out= of a factory without a warning, but for arange.
Tensor deliver(const char* op, Tensor made, const OptTensor& out, bool requires_grad, ResizeText text = nullptr) {
  const DType t = out ? out->dtype() : made.dtype();
  STRIDED_CHECK(!requires_grad || is_floating(t) || is_complex(t), RuntimeError,
                "Only Tensors of floating point and complex dtype can require gradients");
  if (out) {
    write_out(op, *out, made, text);
    made = *out;
  }
  if (requires_grad) autograd_meta(made).requires_grad = true;
  return made;
}

// What deterministic programs may ask for: memory that nobody has written to holds NaN, True or the dtype's maximum.
bool fills_new_memory = false;
void set_fills_new_memory(bool on) { fills_new_memory = on; }

// A vector, which fills an `out` of as many elements row by row, whatever its shape.
Tensor deliver_row(const char* op, const Tensor& made, const OptTensor& out, bool requires_grad,
                   ResizeText text = nullptr) {
  const bool fills = out && out->ndim() != 1 && out->numel() == made.numel();
  return deliver(op, fills ? make_view(made, Layout(out->shape())) : made, out, requires_grad, text);
}

void check_sizes(const char* op, const Dims& size) {
  // PyTorch's words for zeros, and those for all others.
  for (int64_t s : size) {
    STRIDED_CHECK(s >= 0 || std::strcmp(op, "zeros") != 0, RuntimeError, op, ": Dimension size must be non-negative.");
    STRIDED_CHECK(s >= 0, RuntimeError, "Trying to create tensor with negative dimension ", s, ": ", size);
  }
}

#define OPTIONS const OptTensor &out, OptDType dtype, Ignored, OptDevice device, Ignored, bool requires_grad
#define OPTIONS_TEXT \
  "Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool? pin_memory=None, bool requires_grad=False)"

// ---------------------------------------------------------------- one value

Tensor make_of_object(PyObject* data) {
  warn_of_copy(data, "torch.tensor", 1);
  const Tensor made = tensor_from_object(data, std::nullopt);
  const Device* device = default_device();
  return device ? to_device(made, *device) : made;
}
Tensor make_empty(const Dims& size, OPTIONS, PyObject* format) {
  const Target to(out, dtype, device, default_dtype());
  check_sizes("empty", size);
  if (format != Py_None && !out) {
    const MemoryFormat asked = memory_format(format, MemoryFormat::Contiguous);
    STRIDED_CHECK(asked != MemoryFormat::Preserve, RuntimeError, "empty: Unsupported memory format option Preserve");
    const Dims strides = strides_in(asked, size, {});
    return deliver("empty", blank(empty_strided(size, strides, to.dtype, to.device)), out, requires_grad);
  }
  return deliver("empty", blank(empty(size, to.dtype, to.device)), out, requires_grad);
}
Tensor make_zeros(const Dims& size, OPTIONS) {
  const Target to(out, dtype, device, default_dtype());
  check_sizes("zeros", size);
  return deliver("zeros", zeros(size, to.dtype, to.device), out, requires_grad);
}
Tensor make_ones(const Dims& size, OPTIONS) {
  const Target to(out, dtype, device, default_dtype());
  check_sizes("ones", size);
  return deliver("ones", ones(size, to.dtype, to.device), out, requires_grad);
}
Tensor make_full(const Dims& size, const Scalar& value, OPTIONS) {
  const Target to(out, dtype, device, value.dtype(default_dtype()));
  check_sizes("full", size);
  return deliver("full", full(size, value, to.dtype, to.device), out, requires_grad);
}
Tensor make_empty_strided(const Dims& size, const Dims& stride, OptDType dtype, Ignored, OptDevice device, Ignored,
                          bool requires_grad) {
  const Target to({}, dtype, device, default_dtype());
  STRIDED_CHECK(size.size() == stride.size(), RuntimeError, "dimensionality of sizes (", size.size(),
                ") must match dimensionality of strides (", stride.size(), ")");
  check_sizes("empty_strided", size);
  return deliver("empty_strided", blank(empty_strided(size, stride, to.dtype, to.device)), {}, requires_grad);
}

// ---------------------------------------------------------------- like another tensor

#define LIKE_OPTIONS OptDType dtype, Ignored, OptDevice device, Ignored, bool requires_grad, PyObject *format
#define LIKE_TEXT \
  "dtype? dtype=None, layout? layout=None, device? device=None, bool? pin_memory=None, bool requires_grad=False, memory_format? memory_format=None)"

Tensor blank_like(const Tensor& x, const OptDType& dtype, const OptDevice& device, PyObject* format) {
  const Target to({}, dtype, device, x.dtype(), x.device());
  // The order of axes of the other tensor, unless memory_format= asks for another one.
  const Dims strides = strides_in(memory_format(format, MemoryFormat::Preserve), x.shape(), strides_like(x.layout()));
  return empty_strided(x.shape(), strides, to.dtype, to.device);
}
Tensor filled_like(const Tensor& x, const Scalar& value, const OptDType& dtype, const OptDevice& device,
                   bool requires_grad, PyObject* format) {
  const Tensor made = blank_like(x, dtype, device, format);
  check_fits(value, made.dtype());
  fill_into(made, value);
  return deliver("full_like", made, {}, requires_grad);
}
Tensor make_empty_like(const Tensor& x, LIKE_OPTIONS) {
  return deliver("empty_like", blank(blank_like(x, dtype, device, format)), {}, requires_grad);
}
Tensor make_zeros_like(const Tensor& x, LIKE_OPTIONS) {
  const Target to({}, dtype, device, x.dtype(), x.device());
  if (format == Py_None && x.strides() == Layout::contiguous_strides(x.shape()))
    return deliver("zeros_like", zeros(x.shape(), to.dtype, to.device), {}, requires_grad);
  return filled_like(x, Scalar(false), dtype, device, requires_grad, format);
}
Tensor make_ones_like(const Tensor& x, LIKE_OPTIONS) {
  return filled_like(x, Scalar(int64_t(1)), dtype, device, requires_grad, format);
}
Tensor make_full_like(const Tensor& x, const Scalar& value, LIKE_OPTIONS) {
  return filled_like(x, value, dtype, device, requires_grad, format);
}

#define NEW_OPTIONS OptDType dtype, OptDevice device, bool requires_grad, Ignored, Ignored
#define NEW_TEXT \
  "dtype? dtype=None, device? device=None, bool requires_grad=False, layout? layout=None, bool? pin_memory=None)"

Tensor new_empty(const Tensor& x, const Dims& size, NEW_OPTIONS) {
  const Target to({}, dtype, device, x.dtype(), x.device());
  check_sizes("new_empty", size);
  return deliver("new_empty", blank(empty(size, to.dtype, to.device)), {}, requires_grad);
}
Tensor new_empty_strided(const Tensor& x, const Dims& size, const Dims& stride, NEW_OPTIONS) {
  return make_empty_strided(size, stride, dtype.value_or(x.dtype()), {}, device.value_or(x.device()), {},
                            requires_grad);
}
Tensor new_full(const Tensor& x, const Dims& size, const Scalar& value, NEW_OPTIONS) {
  const Target to({}, dtype, device, x.dtype(), x.device());
  check_sizes("new_full", size);
  return deliver("new_full", full(size, value, to.dtype, to.device), {}, requires_grad);
}
Tensor new_zeros(const Tensor& x, const Dims& size, NEW_OPTIONS) {
  const Target to({}, dtype, device, x.dtype(), x.device());
  check_sizes("new_zeros", size);
  return deliver("new_zeros", zeros(size, to.dtype, to.device), {}, requires_grad);
}
Tensor new_ones(const Tensor& x, const Dims& size, NEW_OPTIONS) {
  return new_full(x, size, Scalar(int64_t(1)), dtype, device, requires_grad, {}, {});
}

// ---------------------------------------------------------------- evenly spaced values

std::string rounded_size_text(const Tensor& out, const Dims& shape) {
  return concat("The number of elements in the out tensor of shape ", out.shape(), " is ", out.numel(),
                " which does not match the computed number of elements ", shape[0],
                ". Note that this may occur as a result of rounding error. The out tensor will be resized to a tensor "
                "of shape (",
                shape[0], ",).");
}
Tensor make_arange(const Scalar& start, const Scalar& end, const Scalar& step, OPTIONS) {
  const Target to(out, dtype, device, range_dtype(start, end, step));
  return deliver_row("arange", arange(start, end, step, to.dtype, to.device), out, requires_grad, rounded_size_text);
}
Tensor make_arange_from_zero(const Scalar& end, OPTIONS) {
  return make_arange(Scalar(int64_t(0)), end, Scalar(int64_t(1)), out, dtype, {}, device, {}, requires_grad);
}
Tensor make_range(const Scalar& start, const Scalar& end, const Scalar& step, OPTIONS) {
  const Target to(out, dtype, device, default_dtype());
  warn(
      "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
      "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).");
  return deliver_row("range", range(start, end, step, to.dtype, to.device), out, requires_grad);
}
DType spaced_dtype(const Scalar& start, const Scalar& end) {
  return start.is_complex() || end.is_complex() ? complex_of(default_dtype()) : default_dtype();
}
Tensor make_linspace(const Scalar& start, const Scalar& end, int64_t steps, OPTIONS) {
  const Target to(out, dtype, device, spaced_dtype(start, end));
  return deliver_row("linspace", linspace(start, end, steps, to.dtype, to.device), out, requires_grad);
}
Tensor make_logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, OPTIONS) {
  const Target to(out, dtype, device, spaced_dtype(start, end));
  return deliver_row("logspace", logspace(start, end, steps, base, to.dtype, to.device), out, requires_grad);
}

// Bounds of which one is a tensor that the overloads for numbers do not take for one.
void check_bounds(const char* op, const Operand& start, const Operand& end) {
  const auto words = [](const char* name, const Operand& bound) {
    return bound.tensor && bound.tensor->ndim() > 0 ? concat(name, " with ", bound.tensor->ndim(), " dimension(s)")
                                                    : std::string();
  };
  const std::string first = words("start", start), second = words("end", end);
  STRIDED_CHECK(first.empty() && second.empty(), RuntimeError, op,
                " only supports 0-dimensional start and end tensors, but got ", first,
                first.empty() || second.empty() ? "" : " and ", second, ".");
}
Scalar number_of(const Operand& bound) { return bound.tensor ? item(*bound.tensor) : bound.scalar; }
Tensor linspace_of_tensors(const Operand& start, const Operand& end, int64_t steps, OPTIONS) {
  check_bounds("linspace", start, end);
  return make_linspace(number_of(start), number_of(end), steps, out, dtype, {}, device, {}, requires_grad);
}
Tensor logspace_of_tensors(const Operand& start, const Operand& end, int64_t steps, double base, OPTIONS) {
  check_bounds("logspace", start, end);
  return make_logspace(number_of(start), number_of(end), steps, base, out, dtype, {}, device, {}, requires_grad);
}

// ---------------------------------------------------------------- matrices

Tensor make_eye(int64_t n, std::optional<int64_t> m, OPTIONS) {
  const Target to(out, dtype, device, default_dtype());
  return deliver("eye", eye(n, m.value_or(n), to.dtype, to.device), out, requires_grad);
}
#define TRIANGLE_TEXT \
  "(int row, int col, int offset=0, *, dtype? dtype=None, device? device=None, layout? layout=None, bool? pin_memory=None)"

Tensor make_tril_indices(int64_t row, int64_t col, int64_t offset, OptDType dtype, OptDevice device, Ignored, Ignored) {
  const Target to({}, dtype, device, DType::Int64);
  return tril_indices(row, col, offset, to.dtype, to.device);
}
Tensor make_triu_indices(int64_t row, int64_t col, int64_t offset, OptDType dtype, OptDevice device, Ignored, Ignored) {
  const Target to({}, dtype, device, DType::Int64);
  return triu_indices(row, col, offset, to.dtype, to.device);
}

void bind_filled() {
  def<&make_of_object>("_tensor(Any data)", "tensor() as it is called mostly.", kFunction);
  def<&set_fills_new_memory>("_fill_new_memory(bool on)", "Whether empty and its like fill what they make.", kFunction);
  def<&make_empty>(
      "empty(int[] *size, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool? pin_memory=None, "
      "bool requires_grad=False, memory_format? memory_format=None)",
      "A tensor of the given size whose elements are whatever the memory holds. dtype is the default dtype when not given.\n\n"
      ">>> strided.empty(2, 3).shape\ntorch.Size([2, 3])",
      kFunction);
  def<&make_zeros>(
      "zeros(int[] *size, *, " OPTIONS_TEXT,
      "A tensor of the given size filled with 0. dtype is the default dtype when not given. RuntimeError for a negative size.\n\n"
      ">>> strided.zeros(2, 3)\ntensor([[0., 0., 0.],\n        [0., 0., 0.]])",
      kFunction);
  def<&make_ones>("ones(int[] *size, *, " OPTIONS_TEXT,
                  "A tensor of the given size filled with 1. dtype is the default dtype when not given.\n\n"
                  ">>> strided.ones(2, dtype=strided.int8)\ntensor([1, 1], dtype=torch.int8)",
                  kFunction);
  const char* filled =
      "A tensor of the given size filled with one number, which decides the dtype when none is given: bool, int64, the default dtype or\n"
      "its complex partner. RuntimeError when the number does not fit the dtype.\n\n>>> strided.full((2, 2), 7)\ntensor([[7, 7],\n        [7, 7]])";
  def<&make_full>("full(int[] size, Number fill_value, *, " OPTIONS_TEXT, filled, kFunction);
  def<&make_full>("full(int[] size, Number value, *, " OPTIONS_TEXT, "The same, with another name for the number.",
                  kFunction);
  def<&make_empty_strided>(
      "empty_strided(int[] size, int[] stride, *, dtype? dtype=None, layout? layout=None, device? device=None, bool? pin_memory=None, "
      "bool requires_grad=False)",
      "An uninitialised tensor with the given strides. RuntimeError for negative ones.\n\n"
      ">>> strided.empty_strided((2, 3), (1, 2)).stride()\n(1, 2)",
      kFunction);
}

void bind_like() {
  const char* like =
      "A tensor of the shape, dtype and device of another one, unless they are given, uninitialised. Its axes lie in memory in the same order\n"
      "when the other one has no gaps.\n\n>>> strided.empty_like(strided.zeros(2, 3)).shape\ntorch.Size([2, 3])";
  def<&make_empty_like>("empty_like(Tensor input, *, " LIKE_TEXT, like, kFunction);
  def<&make_zeros_like>("zeros_like(Tensor input, *, " LIKE_TEXT,
                        "As empty_like, filled with 0.\n\n>>> strided.zeros_like(strided.ones(2))\ntensor([0., 0.])",
                        kFunction);
  def<&make_ones_like>("ones_like(Tensor input, *, " LIKE_TEXT,
                       "As empty_like, filled with 1.\n\n>>> strided.ones_like(strided.arange(2))\ntensor([1, 1])",
                       kFunction);
  def<&make_full_like>(
      "full_like(Tensor input, Number fill_value, *, " LIKE_TEXT,
      "As empty_like, filled with one number, which is converted to the dtype. RuntimeError when it does not fit.\n\n"
      ">>> strided.full_like(strided.zeros(2), 7)\ntensor([7., 7.])",
      kFunction);
  def<&new_empty>(
      "new_empty(Tensor input, int[] *size, *, " NEW_TEXT,
      "An uninitialised tensor of the given size, and of this one's dtype and device.\n\n>>> strided.arange(2).new_empty(2, 3).shape\ntorch.Size([2, 3])",
      kMethod);
  def<&new_empty_strided>("new_empty_strided(Tensor input, int[] size, int[] stride, *, " NEW_TEXT,
                          "As new_empty, with the given strides.", kMethod);
  def<&new_full>("new_full(Tensor input, int[] size, Number fill_value, *, " NEW_TEXT,
                 "As new_empty, filled with one number.\n\n>>> strided.arange(2).new_full((3,), 7)\ntensor([7, 7, 7])",
                 kMethod);
  def<&new_zeros>("new_zeros(Tensor input, int[] *size, *, " NEW_TEXT,
                  "As new_empty, filled with 0.\n\n>>> strided.arange(2).new_zeros(3)\ntensor([0, 0, 0])", kMethod);
  def<&new_ones>("new_ones(Tensor input, int[] *size, *, " NEW_TEXT,
                 "As new_empty, filled with 1.\n\n>>> strided.arange(2).new_ones(3)\ntensor([1, 1, 1])", kMethod);
}

void bind_spaced() {
  const char* arange_doc =
      "start, start + step, ... up to, not including, end. Integers give int64, a floating-point number the default dtype. RuntimeError for\n"
      "a step of 0, one that leads away from the end, and bounds that are not finite.\n\n"
      ">>> strided.arange(1, 4)\ntensor([1, 2, 3])\n>>> strided.arange(0, 1, 0.25)\ntensor([0.0000, 0.2500, 0.5000, 0.7500])";
  def<&make_arange_from_zero>("arange(Number end, *, " OPTIONS_TEXT, "0, 1, ... up to, not including, end.", kFunction);
  def<&make_arange>("arange(Number start, Number end, Number step=1, *, " OPTIONS_TEXT, arange_doc, kFunction);
  def<&make_range>(
      "range(Number start, Number end, Number step=1, *, " OPTIONS_TEXT,
      "arange with the end included, and always of the default dtype when none is given. Deprecated in PyTorch; use arange.\n\n"
      ">>> strided.range(1, 3)\ntensor([1., 2., 3.])",
      kFunction);
  def<&make_linspace>(
      "linspace(Number start, Number end, int steps, *, " OPTIONS_TEXT,
      "`steps` numbers at equal distances from start to end, both included. Computed from both ends towards the middle, so that the end is\n"
      "exact. dtype is the default dtype, complex when a bound is. RuntimeError for a negative number of steps.\n\n"
      ">>> strided.linspace(0, 1, 5)\ntensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])",
      kFunction);
  def<&make_logspace>(
      "logspace(Number start, Number end, int steps, float base=10.0, *, " OPTIONS_TEXT,
      "base to the power of `steps` numbers at equal distances from start to end.\n\n>>> strided.logspace(0, 2, 3)\ntensor([  1.,  10., 100.])",
      kFunction);
  const char* bounds = "Tensors as bounds have no dimensions (RuntimeError).";
  def<&linspace_of_tensors>("linspace(TensorOrNumber start, TensorOrNumber end, int steps, *, " OPTIONS_TEXT, bounds,
                            kFunction);
  def<&logspace_of_tensors>(
      "logspace(TensorOrNumber start, TensorOrNumber end, int steps, float base=10.0, *, " OPTIONS_TEXT, bounds,
      kFunction);
}

void bind_rest() {
  def<&make_eye>(
      "eye(int n, int? m=None, *, " OPTIONS_TEXT,
      "The n x m matrix (square when m is not given) with ones on its main diagonal.\n\n>>> strided.eye(2)\ntensor([[1., 0.],\n        [0., 1.]])",
      kFunction);
  def<&make_tril_indices>(
      "tril_indices" TRIANGLE_TEXT,
      "Rows and columns (a 2 x n integer tensor, int64 when no dtype is given) of the elements of a row x col matrix on and below the\n"
      "diagonal `offset`, row by row.\n\n>>> strided.tril_indices(2, 2)\ntensor([[0, 1, 1],\n        [0, 0, 1]])",
      kFunction);
  def<&make_triu_indices>(
      "triu_indices" TRIANGLE_TEXT,
      "Rows and columns of the elements of a row x col matrix on and above the diagonal `offset`, row by row.\n\n"
      ">>> strided.triu_indices(2, 2)\ntensor([[0, 0, 1],\n        [0, 1, 1]])",
      kFunction);
  def<&complex>(
      "complex(Tensor real, Tensor imag, *, Tensor? out=None)",
      "A complex tensor from its real and imaginary parts: two float32 or two float64 tensors, which broadcast.\n\n"
      ">>> strided.complex(strided.tensor([1.]), strided.tensor([2.]))\ntensor([1.+2.j])",
      kFunction);
  def<&polar>(
      "polar(Tensor abs, Tensor angle, *, Tensor? out=None)",
      "A complex tensor from absolute values and angles (in radians): two float32 or two float64 tensors, which broadcast.\n\n"
      ">>> strided.polar(strided.tensor([2.]), strided.tensor([0.]))\ntensor([2.+0.j])",
      kFunction);
}

#undef OPTIONS
#undef OPTIONS_TEXT
#undef LIKE_OPTIONS
#undef LIKE_TEXT
#undef NEW_OPTIONS
#undef NEW_TEXT
#undef TRIANGLE_TEXT

}  // namespace

Tensor blank(Tensor made) {
  if (fills_new_memory && made.numel() > 0) {
    const DType t = made.dtype();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (is_complex(t)) fill_into(made, Scalar(nan, nan));
    else if (is_floating(t)) fill_into(made, Scalar(nan));
    else if (t == DType::Bool) fill_into(made, Scalar(true));
    else if (t == DType::Int8 || t == DType::Int16 || t == DType::Int32 || t == DType::Int64)
      fill_into(made, Scalar(std::numeric_limits<int64_t>::max() >> (64 - 8 * size_of(t))));
    else fill_into(made, Scalar(std::numeric_limits<uint64_t>::max() >> (64 - 8 * size_of(t))));
  }
  return made;
}

void bind_factories() {
  bind_filled();
  bind_like();
  bind_spaced();
  bind_rest();
}

}  // namespace strided::python
