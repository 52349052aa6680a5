// Methods of Tensor that make objects of its subclasses.
#pragma once

#include "python/py_tensor.h"

namespace strided::python {

PyObject* method_as_subclass(PyObject* self, PyObject* cls);
PyObject* method_make_subclass(PyObject*, PyObject* args, PyObject* kwargs);
PyObject* method_torch_function(PyObject* cls, PyObject* args, PyObject* kwargs);

// Adds _unwrapped_functions: the functions whose results method_torch_function leaves as they are.
void init_subclasses(PyObject* module);

}  // namespace strided::python
