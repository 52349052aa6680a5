// Logged calls and fused programs as Python objects; strided/_compile traces functions with them.
#pragma once

#include "python/py_tensor.h"

namespace strided::python {

void init_fused(PyObject* module);

}  // namespace strided::python
