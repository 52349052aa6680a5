// torch.Size: a tuple of integers, which is what shapes are in Python.
#pragma once

#include "python/py_tensor.h"

namespace strided::python {

extern PyTypeObject* size_type;

void init_size(PyObject* module);

}  // namespace strided::python
