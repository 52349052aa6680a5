// Functions and methods written in Python whose calls a type or a mode can take over (Note [Who takes a call]).
#pragma once

#include "python/py_tensor.h"

namespace strided::python {

// Adds the types OverridableFunction and OverridableMethod, and what the decorators of strided._calls.overrides make
// them with.
void init_overridable(PyObject* module);

}  // namespace strided::python
