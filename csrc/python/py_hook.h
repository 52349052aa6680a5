// Functions that users attach to tensors and nodes, and the handles that take them off again.
#pragma once

#include "python/py_tensor.h"
#include "tensor/graph.h"

namespace strided::python {

// When the function is called: with the gradient of a tensor, before or after a node runs, or when a leaf has its sum.
enum class HookKind { Tensor, Pre, Post, Accumulated };

// Each gives a handle with remove().
PyObject* add_tensor_hook(const Tensor& t, PyObject* callable);
PyObject* add_post_accumulate_hook(const Tensor& t, PyObject* callable);
PyObject* add_node_hook(Node& node, HookKind kind, PyObject* callable);  // Pre or Post

// The functions by the numbers of their handles, as an OrderedDict; None where none were added.
PyObject* tensor_hooks(const Tensor& t);
PyObject* post_accumulate_hooks(const Tensor& t);
// Takes these in place of the tensor's hooks: a dict, whose keys nothing reads, or None.
void set_tensor_hooks(const Tensor& t, PyObject* functions);

// Shows the garbage collector the function of a hook that has no other owner.
int visit_hook(const Ref<Hook>& hook, visitproc visit, void* arg);

void init_hooks(PyObject* module);

}  // namespace strided::python
