// Copies, casts and questions about dtypes.
#include <algorithm>

#include "base/warning.h"
#include "core/promotion.h"
#include "ops/factory.h"
#include "ops/operators.h"
#include "ops/out.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"
#include "ops/shape/windows.h"
#include "python/bind/bind.h"
#include "python/memory_format.h"
#include "tensor/graph.h"
#include "xla/backend.h"

namespace strided::python {
namespace {

Tensor clone_(const Tensor& x, PyObject* format) { return clone_in(memory_format(format, MemoryFormat::Preserve), x); }
Tensor contiguous_(const Tensor& x, PyObject* format) {
  return format == Py_None ? contiguous(x) : contiguous_in(memory_format(format, MemoryFormat::Contiguous), x);
}
void warn_of_cast(const Tensor& x, DType to) {
  if (is_complex(x.dtype()) && !is_complex(to) && !is_bool(to))
    warn_once("Casting complex values to real discards the imaginary part");
}
Tensor copy_from(const Tensor& self, const Operand& src, bool non_blocking) {
  if (src.tensor) warn_of_cast(*src.tensor, self.dtype());
  if (src.tensor) return copy_(self, *src.tensor, non_blocking);
  return copy_(self, scalar_tensor(src.scalar, src.scalar.dtype(DType::Float64)));
}
Tensor fill_any(const Tensor& self, const Operand& value) {
  if (!value.tensor) return fill_(self, value.scalar);
  STRIDED_CHECK(value.tensor->ndim() == 0, RuntimeError,
                "fill_ only supports 0-dimension value tensor but got tensor with ", value.tensor->ndim(),
                " dimensions.");
  return copy_(self, *value.tensor);
}
Tensor fill(const Tensor& x, const Operand& value) {
  const Tensor out = empty_strided(x.shape(), strides_like(x.layout()), x.dtype(), x.device());
  {
    const NoGradGuard guard;
    fill_any(out, value);
  }
  if (is_integral(out.dtype())) return out;
  if (!value.tensor) return record("FillBackward0", out, x, [](const Tensor& g) { return zeros_like(g); });
  return record("FillBackward1", out, {x, *value.tensor},
                [](const Tensor& g) { return std::vector<Tensor>{zeros_like(g), g}; });
}

Tensor to_this_dtype(const Tensor& x, DType dtype) {
  warn_of_cast(x, dtype);
  return to_dtype(x, dtype);
}
// to(...) in its many forms comes down to this: dtype and device, copy or not.
Tensor convert(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device, bool copy,
               bool non_blocking) {
  Tensor out = x;
  if (device) out = to_device(out, *device, non_blocking);
  if (dtype) out = to_this_dtype(out, *dtype);
  return copy && out.impl() == x.impl() ? clone(x) : out;
}

Tensor to_place(const Tensor& x, std::optional<Device> device, std::optional<DType> dtype) {
  return convert(x, dtype, device, false, false);
}
Tensor to_that_of(const Tensor& x, const Tensor& other) {
  return convert(x, other.dtype(), other.device(), false, false);
}

bool same_elements(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  if (a.numel() == 0) return true;
  NoGradGuard guard;
  const auto same = [](const Tensor& x, const Tensor& y) { return item(all(elementwise<Eq>(x, y))).to_bool(); };
  // Piece by piece, so that a difference ends it and comparisons stay in the cache; elsewhere each piece would wait.
  constexpr int64_t least = 4096, most = int64_t{1} << 16;
  if (!a.device().is_cpu() || a.numel() <= least || !a.is_contiguous() || !b.is_contiguous()) return same(a, b);
  const Tensor x = strided::view(a, Dims{-1}), y = strided::view(b, Dims{-1});
  for (int64_t start = 0, piece = least; start < a.numel(); start += piece, piece = most) {
    const int64_t n = std::min(piece, a.numel() - start);
    if (!same(strided::narrow(x, 0, start, n), strided::narrow(y, 0, start, n))) return false;
  }
  return true;
}

}  // namespace

void check_tolerances(double rtol, double atol) {
  STRIDED_CHECK(rtol >= 0, RuntimeError, "rtol must be greater than or equal to zero, but got ", rtol);
  STRIDED_CHECK(atol >= 0, RuntimeError, "atol must be greater than or equal to zero, but got ", atol);
}

namespace {

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  check_tolerances(rtol, atol);
  NoGradGuard guard;
  STRIDED_CHECK(a.dtype() == b.dtype(), RuntimeError, a.dtype(), " did not match ", b.dtype());
  const double params[4] = {rtol, atol, equal_nan ? 1.0 : 0.0};
  const Operand in[] = {Operand(a), Operand(b)};
  return item(all(call_elementwise(op_def(elementwise_id<Isclose>), in, params))).to_bool();
}

DType promote(DType a, DType b) { return promote_types(a, b); }
bool castable(DType a, DType b) { return can_cast(a, b); }
DType result_type(const Operand& a, const Operand& b) {
  ResultType type;
  for (const Operand* o : {&a, &b})
    if (o->tensor) type.add_tensor(o->tensor->dtype(), o->tensor->ndim() == 0);
    else type.add_scalar(o->scalar);
  return type.get();
}
DType get_default() { return default_dtype(); }
void set_default(DType t) {
  STRIDED_CHECK(is_floating(t) && has_loops(t), TypeError,
                "only floating-point types are supported as the default type");
  set_default_dtype(t);
}
bool floating_point(const Tensor& x) { return is_floating(x.dtype()); }
bool complex_numbers(const Tensor& x) { return is_complex(x.dtype()); }
bool signed_numbers(const Tensor& x) { return is_signed(x.dtype()); }
int64_t count(const Tensor& x) { return x.numel(); }

void write_results(const std::string& name, const std::vector<Tensor>& outs, const std::vector<Tensor>& results) {
  STRIDED_CHECK(outs.size() == results.size(), ValueError, name, ": out= must be one tensor for each result");
  write_out(name.c_str(), outs, results);
}

// ---------------------------------------------------------------- where factories make their tensors

PyObject* chosen_device() {
  if (const Device* device = default_device()) return wrap(*device);
  Py_RETURN_NONE;
}
void choose_device(std::optional<Device> device) { set_default_device(device ? &*device : nullptr); }

// Device xla, for tests: memory of the host, and a table with nothing in it.
void register_empty_backend() {
  DeviceMemory memory = device_memory(Device{});
  memory.current = [] { return 0; };
  memory.require = [](int index) { STRIDED_CHECK(index == 0, RuntimeError, "there is one device xla"); };
  clear_xla_backend();
  register_device_memory(DeviceType::XLA, memory);
}

}  // namespace

void bind_copies() {
  def<&clone_>(
      "clone(Tensor input, *, memory_format? memory_format=None)",
      "A copy with memory of its own; a dense order of dimensions is kept, unless memory_format says another one.");
  def<&has_channels_last>("_has_channels_last(Tensor input)",
                          "Whether channels are the last axis in memory, by the strides of all axes.", kFunction);
  def<&contiguous_>("contiguous(Tensor self, memory_format? memory_format=None)",
                    "The tensor itself if it is contiguous in that format, else a copy that is.", kMethod);
  def<&copy_from>("copy_(Tensor self, TensorOrNumber src, bool non_blocking=False)",
                  "Copies src, broadcast and cast, into self, and returns self.", kMethod);
  def<&fill_any>("fill_(Tensor self, TensorOrNumber value)", "Sets every element to value, and returns self.", kBoth);
  def<&fill>("fill(Tensor input, TensorOrNumber value)", "A tensor like input with every element set to value.",
             kFunction);
  def<&zero_>("zero_(Tensor self)", "Sets every element to 0, and returns self.", kBoth);
  def<&convert>("_convert(Tensor self, dtype? dtype, device? device, bool copy, bool non_blocking=False)",
                "What to() comes down to.", kBoth);
  def<&to_this_dtype>("_to(Tensor self, dtype dtype)", "to() as it is called mostly.", kFunction);
  def<&to_place>("_to(Tensor self, device? device, dtype? dtype=None)", "The same.", kFunction);
  def<&to_that_of>("_to(Tensor self, Tensor other)", "The same.", kFunction);
  def<&write_results>("_write_out(str name, Tensor[] out, Tensor[] results)", "What out= comes down to.", kFunction);
  def<&same_elements>(
      "equal(Tensor input, Tensor other)",
      "True if both have the same shape and equal elements, whatever their dtypes. NaN equals nothing.");
  def<&allclose>("allclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)",
                 "True if |input - other| <= atol + rtol * |other| everywhere.");
  def<&promote>("promote_types(dtype type1, dtype type2)", "The smallest dtype that holds both.", kFunction);
  def<&castable>(
      "can_cast(dtype from_, dtype to)",
      "True if PyTorch's rules let a result of one dtype be written to another: the kind (bool, integer, floating, complex) must not go down.",
      kFunction);
  def<&result_type>("result_type(TensorOrNumber tensor1, TensorOrNumber tensor2)",
                    "The dtype an operation on both computes in.", kFunction);
  def<&get_default>("get_default_dtype()", "The dtype of new floating-point tensors.", kFunction);
  def<&set_default>("set_default_dtype(dtype d)",
                    "Sets the dtype of new floating-point tensors; TypeError if it is no floating-point dtype.",
                    kFunction);
  def<&floating_point>("is_floating_point(Tensor input)", "True if the dtype is a floating-point, not complex, one.");
  def<&complex_numbers>("is_complex(Tensor input)", "True if the dtype is complex.");
  def<&signed_numbers>("is_signed(Tensor self)", "True if the dtype holds negative numbers.", kMethod);
  def<&chosen_device>("_default_device() -> Any", "The device of factories that are given none, or None.", kFunction);
  def<&choose_device>("_set_default_device(device? device)", "Sets that of this thread.", kFunction);
  def<&register_empty_backend>("_register_empty_backend()", "Device xla, for tests.", kFunction);
  def<&count>("numel(Tensor input)", "Number of elements.", kFunction);
}

}  // namespace strided::python
