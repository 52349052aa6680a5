// What a Tensor shows of autograd's record: the getters, setters and methods of its type (py_tensor.cpp).
#pragma once

#include "python/py_tensor.h"

namespace strided::python {

PyObject* get_requires_grad(PyObject* o, void*);
int set_requires_grad(PyObject* o, PyObject* value, void*);
PyObject* get_is_leaf(PyObject* o, void*);
PyObject* get_grad(PyObject* o, void*);
int set_grad(PyObject* o, PyObject* value, void*);
PyObject* get_grad_dtype(PyObject* o, void*);
int set_grad_dtype(PyObject* o, PyObject* value, void*);
PyObject* method_detach(PyObject* o, PyObject*);
PyObject* get_data(PyObject* o, void*);
int set_data(PyObject* o, PyObject* value, void*);
PyObject* method_detach_in_place(PyObject* o, PyObject*);
PyObject* get_grad_fn(PyObject* o, void*);
PyObject* get_output_nr(PyObject* o, void*);
PyObject* get_base(PyObject* o, void*);
PyObject* get_hooks(PyObject* o, void*);
int set_hooks(PyObject* o, PyObject* value, void*);
PyObject* get_post_accumulate_hooks(PyObject* o, void*);
PyObject* method_is_view(PyObject* o, PyObject*);
PyObject* method_retain_grad(PyObject* o, PyObject*);
PyObject* get_retains_grad(PyObject* o, void*);
PyObject* method_register_hook(PyObject* o, PyObject* callable);
PyObject* method_register_post_accumulate(PyObject* o, PyObject* callable);

// Opens the cycle that a gradient with a graph makes with its leaf, whose Python object goes.
void drop_graph_of_gradient(const Tensor& leaf);

}  // namespace strided::python
