// Modes of autograd that call Python: hooks that pack saved tensors, and traces of failures (anomaly mode).
#pragma once

#include "python/py_tensor.h"

namespace strided::python {

void init_autograd_modes(PyObject* module);

}  // namespace strided::python
