// Tensors as pieces of a file: of safetensors, NumPy and GGUF.
#pragma once

#include <vector>

#include "python/py_tensor.h"

namespace strided::python {

// One axis, on memory of its own.
Tensor read_piece(int64_t fd, int64_t begin, int64_t count, DType dtype);
// Of a sequence of (begin, shape, dtype) a list of tensors on a CUDA device.
PyObject* read_to_device(int64_t fd, PyObject* pieces, Device device);
// All of a file, as bytes on mapped memory.
Tensor map_file(int64_t fd, bool shared);
// A part of the bytes of a storage, with a storage of its own that ends where the part does. A copy where the part is
// not aligned to its elements.
Tensor piece_of(const Tensor& whole, int64_t begin, const Dims& shape, DType dtype);
// Appends bytes, and those of contiguous tensors on the CPU, to a file: a descriptor, or an object with write().
void write_tensors(PyObject* to, PyObject* head, const std::vector<Tensor>& tensors);

}  // namespace strided::python
