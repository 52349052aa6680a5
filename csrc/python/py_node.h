// Nodes of the graph as Python objects.
#pragma once

#include "ops/record.h"
#include "python/py_tensor.h"

namespace strided::python {

// A node as Python sees it; the same object for the same node. The context of an autograd.Function is such an object
// too, of a class derived from FunctionNode: then the node owns the object (`raw` points back), not the object the
// node.
struct PyNode {
  PyObject_HEAD Ref<Node> owned;
  Node* raw;
  std::vector<SavedTensor>* saved;  // of an autograd.Function
  PyObject* saved_objects;          // for each of them a weak reference to the object it was, or null
  PyObject* dict;
  PyObject* weak;
};

extern PyTypeObject* node_type;

inline PyNode* as_node(PyObject* o) { return reinterpret_cast<PyNode*>(o); }
PyObject* wrap(const Ref<Node>& node);       // new reference; None for null
PyObject* tuple_of(const TensorList& list);  // new reference
bool is_node(PyObject* o);
Node& node_of(PyObject* o);  // RuntimeError for a Function's context that never became a node

// What the garbage collector asks a node, and a type that is derived from it.
int node_traverse(PyObject* o, visitproc visit, void* arg);
int node_clear(PyObject* o);
// What it has to know of a tensor that nothing but its Python object holds: the Python objects its
// record leads to.
int visit_record(const Tensor& t, visitproc visit, void* arg);
void clear_record(const Tensor& t);
// Tells it to look at the tensor.
void track(PyObject* tensor);

void init_nodes(PyObject* module);

}  // namespace strided::python
