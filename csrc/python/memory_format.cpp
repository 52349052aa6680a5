#include "python/memory_format.h"

#include "ops/copy.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/shape/view.h"
#include "python/function.h"

namespace strided::python {
namespace {

struct Row {
  const char* name;
  MemoryFormat format;
};
constexpr Row kFormats[] = {{"torch.preserve_format", MemoryFormat::Preserve},
                            {"torch.contiguous_format", MemoryFormat::Contiguous},
                            {"torch.channels_last", MemoryFormat::ChannelsLast},
                            {"torch.channels_last_3d", MemoryFormat::ChannelsLast3d}};

// The axes from the outermost to the innermost: (0, 2, ..., n - 1, 1).
Dims order_in(MemoryFormat format, size_t ndim) {
  const bool volumes = format == MemoryFormat::ChannelsLast3d;
  STRIDED_CHECK(ndim == (volumes ? 5 : 4), RuntimeError, "required rank ", volumes ? 5 : 4,
                " tensor to use channels_last", volumes ? "_3d" : "", " format");
  return volumes ? Dims{0, 2, 3, 4, 1} : Dims{0, 2, 3, 1};
}

bool is_channels_last(MemoryFormat format) {
  return format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d;
}

}  // namespace

MemoryFormat memory_format(PyObject* argument, MemoryFormat otherwise) {
  if (argument == Py_None) return otherwise;
  const Row* found = nullptr;
  if (reinterpret_cast<PyObject*>(Py_TYPE(argument)) == hook("memory_format")) {
    PyObject* text = checked(PyObject_Repr(argument));
    for (const Row& row : kFormats)
      if (PyUnicode_CompareWithASCIIString(text, row.name) == 0) found = &row;
    Py_DECREF(text);
  }
  STRIDED_CHECK(found, TypeError, "argument 'memory_format' must be torch.memory_format, not ",
                Py_TYPE(argument)->tp_name);
  return found->format;
}

Dims strides_in(MemoryFormat format, const Dims& shape, const Dims& preserved) {
  if (format == MemoryFormat::Preserve) return preserved;
  if (format == MemoryFormat::Contiguous) return Layout::contiguous_strides(shape);
  const Dims order = order_in(format, shape.size());
  Dims strides = shape;
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t axis = static_cast<size_t>(order[i]);
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

bool is_contiguous_in(MemoryFormat format, const Tensor& x) {
  if (!is_channels_last(format)) return x.is_contiguous();
  if (x.ndim() != (format == MemoryFormat::ChannelsLast ? 4 : 5)) return false;
  return permute(x, order_in(format, x.shape().size())).is_contiguous();
}

Tensor clone_in(MemoryFormat format, const Tensor& x) {
  if (format == MemoryFormat::Preserve) return clone(x);
  if (format == MemoryFormat::Contiguous && !x.is_contiguous()) return contiguous(x);
  // Axes of one element get the strides of the format, too.
  const Tensor out = empty_strided(x.shape(), strides_in(format, x.shape(), {}), x.dtype(), x.device());
  copy_into(out, x);
  return record("CloneBackward0", out, x, [](const Tensor& g) { return g; });
}

Tensor contiguous_in(MemoryFormat format, const Tensor& x) {
  if (is_channels_last(format)) order_in(format, x.shape().size());
  if (is_contiguous_in(format, x)) return x;
  STRIDED_CHECK(format != MemoryFormat::Preserve, RuntimeError,
                "preserve memory format is unsupported by the contiguous operator");
  return clone_in(format, x);
}

}  // namespace strided::python
