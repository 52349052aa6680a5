// Objects of Python classes of tensors that come back.
#pragma once

#include "python/py_tensor.h"

namespace strided::python {

// Note [Objects that come back]
// A tensor does not own its Python object: while nobody in Python holds it, C++ may (a gradient of a leaf, a saved
// tensor). An object of a subclass, or one with attributes, then leaves its class and attributes with the tensor, and
// who asks for the tensor gets an object of them again. `TensorImpl::py_object` holds the address of the object, or,
// with the lowest bit set, of what is kept.

// Called when an object dies: keeps what is needed, if others hold its tensor.
void keep_object(PyObject* o);
// The object of a tensor with `py_object` set: it, or another one of what is kept. New reference.
PyObject* shown_object(const Tensor& t);
// The attributes that are kept with a tensor which no object shows; borrowed, or null.
PyObject* kept_attributes(const Tensor& t);
// A tensor that is a gradient: of a batch of samples (a BatchedTensor) C++ gets a shell of the shape of one sample.
Tensor unwrap_gradient(PyObject* o);
void init_kept_objects();

}  // namespace strided::python
