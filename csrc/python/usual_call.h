// Compiled functions that take the place of functions written in Python, for their usual calls.
#pragma once

#include "python/function.h"

namespace strided::python {

// call_if_fits with keywords: the last arguments are those of kwnames (a tuple, or null).
bool call_if_fits(PyObject* function, PyObject* const* args, size_t n, PyObject* kwnames, PyObject** result);

}  // namespace strided::python
