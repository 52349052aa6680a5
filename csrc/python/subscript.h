// x[key] and x[key] = value.
#pragma once

#include "python/py_tensor.h"

namespace strided::python {

// Slots of the Tensor type (mp_subscript, mp_ass_subscript). A key is an int, a slice (steps may be negative), None, an
// ellipsis, a bool, a tensor, list or ndarray of integers or bools, or a tuple of these.
PyObject* subscript_get(PyObject* self, PyObject* key);
PyObject* row_of(const Tensor& self, int64_t i);                    // self[i], self has axes
int subscript_set(PyObject* self, PyObject* key, PyObject* value);  // value null: `del x[key]`, a TypeError

void warn_of_byte_mask();  // before a mask of uint8 is taken, as PyTorch warns

}  // namespace strided::python
