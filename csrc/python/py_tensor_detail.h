// What the parts of the Tensor type share: operators and life (py_tensor.cpp), properties and methods
// (py_tensor_members.cpp).
#pragma once

#include <optional>

#include "ops/call.h"
#include "python/py_tensor.h"

namespace strided::python {

inline const Tensor& self_of(PyObject* o) { return unwrap(o); }

extern PyGetSetDef tensor_getset[];
extern PyMethodDef tensor_methods[];

// What another type makes of a method of one object.
PyObject* handed_over(const char* name, PyObject* o, PyObject* argument = nullptr);
// What may stand beside a tensor: a tensor, a number, an ndarray (which is viewed). False: not ours.
bool as_operand(PyObject* o, Tensor* hold, std::optional<Operand>* out);
// The number for float(x), int(x) and complex(x).
Scalar only_element(const Tensor& t);

}  // namespace strided::python
