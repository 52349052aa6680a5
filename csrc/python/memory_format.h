// The argument memory_format= of PyTorch: an order of the axes in memory.
#pragma once

#include "python/py_tensor.h"

namespace strided::python {

// Preserve keeps the order of a dense tensor. In the last two the axis after the batch is the innermost one: images
// (batch, channels, height, width) and volumes (batch, channels, depth, height, width).
enum class MemoryFormat { Preserve, Contiguous, ChannelsLast, ChannelsLast3d };

// What an argument says; None says `otherwise`.
MemoryFormat memory_format(PyObject* argument, MemoryFormat otherwise);

// The strides of a tensor without gaps in a format; `preserved` are those that Preserve gives. RuntimeError when the
// format is for another number of dimensions.
Dims strides_in(MemoryFormat format, const Dims& shape, const Dims& preserved);

bool is_contiguous_in(MemoryFormat format, const Tensor& x);
Tensor clone_in(MemoryFormat format, const Tensor& x);       // always a copy
Tensor contiguous_in(MemoryFormat format, const Tensor& x);  // the tensor itself when it is so already

}  // namespace strided::python
