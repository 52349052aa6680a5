// autograd.Function in the graph.
#pragma once

#include <string>

#include "python/kept_object.h"
#include "python/owned.h"
#include "python/py_node.h"

namespace strided::python {

// The object's `_backward` gets the gradients of the outputs and returns a tuple with
// one for each edge.
class FunctionNode : public Node {
 public:
  FunctionNode(PyObject* object, std::string name) : object_(object), name_(std::move(name)) {}
  ~FunctionNode() override { reinterpret_cast<PyNode*>(object_.get())->raw = nullptr; }
  const char* own_name() const override { return name_.c_str(); }
  bool is_user_defined() const override { return true; }
  bool takes_undefined() const override { return true; }
  PyObject* object() const { return object_.get(); }

  TensorList apply(TensorList& grads) override {
    const CurrentNodeGuard running(this);
    const Owned given(tuple_of(grads));
    const Owned method(PyObject_GetAttrString(object_.get(), "_backward"));
    const Owned result(PyObject_CallOneArg(method.o, given.o));
    STRIDED_CHECK(PyTuple_Check(result.o) && PyTuple_GET_SIZE(result.o) == static_cast<Py_ssize_t>(next.size()),
                  RuntimeError, name_, ": the gradients of ", next.size(), " inputs are expected");
    TensorList out(next.size());
    for (size_t i = 0; i < next.size(); ++i) {
      PyObject* item = PyTuple_GET_ITEM(result.o, static_cast<Py_ssize_t>(i));
      if (item == Py_None) continue;
      STRIDED_CHECK(is_tensor(item), RuntimeError, "expected Variable or None (got ", Py_TYPE(item)->tp_name, ")");
      out[i] = unwrap_gradient(item);
    }
    return out;
  }
  void release_saved() override {
    if (auto* saved = reinterpret_cast<PyNode*>(object_.get())->saved)
      for (SavedTensor& t : *saved) t.release();
  }

 private:
  SharedOwned object_;
  std::string name_;
};

// Adds the type FunctionNode, and the functions that autograd/function.py is made of.
void init_function_nodes(PyObject* module);

}  // namespace strided::python
