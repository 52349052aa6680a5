// Memory shared with other libraries: NumPy, the buffer protocol, DLPack.
#pragma once

#include "python/py_tensor.h"

namespace strided::python {

// A view of the array's memory; read-only and negative strides carry over. An array whose strides are no multiple of
// the item size is copied if copy_odd, else refused.
Tensor from_numpy(PyObject* array, bool copy_odd);
// New reference: an ndarray on the tensor's memory.
PyObject* to_numpy(const Tensor& t, bool force);
Tensor from_buffer(PyObject* object, DType dtype, int64_t count, int64_t offset);

// DLPack 1.x. A capsule named "dltensor_versioned" (or "dltensor" for consumers that ask for no version).
PyObject* to_dlpack(const Tensor& t, bool versioned, bool copied);
// Takes over a capsule of either kind.
Tensor from_dlpack_capsule(PyObject* capsule);

}  // namespace strided::python
