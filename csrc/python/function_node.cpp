#include "python/function_node.h"

#include <optional>
#include <utility>
#include <vector>

#include "ops/record.h"

namespace strided::python {
namespace {

PyTypeObject* function_node_type = nullptr;

PyObject* function_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) new (&as_node(o)->owned) Ref<Node>();
  return o;
}

PyNode* context_of(PyObject* o) {
  STRIDED_CHECK(PyObject_TypeCheck(o, function_node_type), TypeError,
                "expected the context of an autograd.Function, got ", Py_TYPE(o)->tp_name);
  return as_node(o);
}

// (context, name, tensors): the context becomes a node with an edge for each tensor.
PyObject* function_start(PyObject*, PyObject* args) {
  PyObject *o, *tensors;
  const char* name;
  if (!PyArg_ParseTuple(args, "OsO!", &o, &name, &PyTuple_Type, &tensors)) return nullptr;
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyNode* context = context_of(o);
    STRIDED_CHECK(context->raw == nullptr, RuntimeError, name, ": this context is part of a graph already");
    const Ref<Node> node(new FunctionNode(o, name));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
      PyObject* t = PyTuple_GET_ITEM(tensors, i);
      STRIDED_CHECK(is_tensor(t), TypeError, name, ": tensors are expected");
      node->add_edge(gradient_edge(unwrap(t)));
    }
    context->raw = node.get();
    node->py_object = o;
    // Until an output holds the node, a capsule does.
    return checked(PyCapsule_New(new Ref<Node>(node), nullptr, [](PyObject* c) {
      delete static_cast<Ref<Node>*>(PyCapsule_GetPointer(c, nullptr));
    }));
  });
}
// (context, tensor, i, how): the tensor becomes output i. how: 0; 1: an argument that was changed in place; a view of
// an argument, 2: the only result, 3: one of several.
PyObject* function_output(PyObject*, PyObject* args) {
  PyObject *o, *t;
  int i, how;
  if (!PyArg_ParseTuple(args, "OOii", &o, &t, &i, &how)) return nullptr;
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    STRIDED_CHECK(is_tensor(t), TypeError, "a tensor is expected");
    const Ref<Node> node(&node_of(o));
    const Tensor& out = unwrap(t);
    if (how == 1) {
      check_inplace(node->name(), out, true);
      rebase_history(out, node, i);
    } else {
      set_history(out, node, i, how > 1);
      if (how > 1) out.impl()->view_kind = how == 2 ? ViewKind::Function : ViewKind::Multi;
      out.impl()->seen_version = out.storage().version();
    }
    track(t);
    Py_RETURN_NONE;
  });
}
// A result of an unrecorded forward that is a view of what forward made: to the caller it is no view.
PyObject* function_result(PyObject*, PyObject* t) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    STRIDED_CHECK(is_tensor(t), TypeError, "a tensor is expected");
    TensorImpl& impl = *unwrap(t).impl();
    impl.base = nullptr;
    impl.view_kind = ViewKind::Plain;
    Py_RETURN_NONE;
  });
}
// Is what a graph gives back still what the object holds?  It has another record when it was written to, or detached.
bool is_same(const Tensor& object, const Tensor& kept) {
  const Layout &a = object.layout(), &b = kept.layout();
  if (a.shape != b.shape || a.strides != b.strides || a.offset != b.offset || &object.storage() != &kept.storage() ||
      object.requires_grad() != kept.requires_grad())
    return false;
  if (!object.requires_grad()) return true;
  const Ref<Node>& made = grad_fn(object);
  return made.get() == grad_fn(kept).get() &&
         (!made || object.impl()->autograd->output == kept.impl()->autograd->output);
}
// (context, tensors, positions): keeps them for the backward pass; a position >= 0 says that a tensor is that output.
PyObject* function_save(PyObject*, PyObject* args) {
  PyObject *o, *tensors, *positions;
  if (!PyArg_ParseTuple(args, "OO!O!", &o, &PyTuple_Type, &tensors, &PyTuple_Type, &positions)) return nullptr;
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyNode* context = context_of(o);
    std::vector<SavedTensor> saved;
    const Owned objects(PyTuple_New(PyTuple_GET_SIZE(tensors)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
      PyObject* t = PyTuple_GET_ITEM(tensors, i);
      if (t == Py_None) {
        saved.emplace_back();
        continue;
      }
      STRIDED_CHECK(is_tensor(t), TypeError, "save_for_backward can only save variables, but argument ", i,
                    " is of type ", Py_TYPE(t)->tp_name);
      const long position = PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
      saved.push_back(position >= 0 ? SavedTensor::output(unwrap(t), static_cast<int>(position))
                                    : SavedTensor(unwrap(t)));
      // What a hook unpacks is another tensor, and so is an output.
      if (position < 0 && !saved_tensor_hooks()) PyTuple_SET_ITEM(objects.o, i, checked(PyWeakref_NewRef(t, nullptr)));
    }
    delete std::exchange(context->saved, new std::vector<SavedTensor>(std::move(saved)));
    Py_XSETREF(context->saved_objects, Py_NewRef(objects.o));
    Py_RETURN_NONE;
  });
}
PyObject* function_saved(PyObject*, PyObject* o) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyNode* context = context_of(o);
    if (!context->saved) return PyTuple_New(0);
    std::optional<CurrentNodeGuard> running;
    if (context->raw) running.emplace(context->raw);
    TensorList list;
    for (const SavedTensor& t : *context->saved) list.push_back(t.get());
    PyObject* tuple = tuple_of(list);
    if (PyObject* objects = context->saved_objects) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(objects); ++i) {
        PyObject* link = PyTuple_GET_ITEM(objects, i);
        PyObject* object = link ? PyObject_CallNoArgs(link) : nullptr;
        if (!object) continue;
        if (is_tensor(object) && is_same(unwrap(object), list[static_cast<size_t>(i)])) {
          Py_DECREF(PyTuple_GET_ITEM(tuple, i));
          PyTuple_SET_ITEM(tuple, i, object);
        } else {
          Py_DECREF(object);
        }
      }
    }
    return tuple;
  });
}

PyMethodDef functions[] = {{"function_start", function_start, METH_VARARGS, nullptr},
                           {"function_output", function_output, METH_VARARGS, nullptr},
                           {"function_result", function_result, METH_O, nullptr},
                           {"function_save", function_save, METH_VARARGS, nullptr},
                           {"function_saved", function_saved, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_function_nodes(PyObject* module) {
#define SLOT(name, f) {Py_##name, reinterpret_cast<void*>(f)}
  PyType_Slot function_slots[] = {SLOT(tp_new, function_new),
                                  SLOT(tp_traverse, node_traverse),
                                  SLOT(tp_clear, node_clear),
                                  {Py_tp_doc, const_cast<char*>("The context of an autograd.Function.")},
                                  {0, nullptr}};
  PyType_Spec function_spec = {"strided._C.FunctionNode", sizeof(PyNode), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, function_slots};
  const Owned bases(PyTuple_Pack(1, node_type));
  function_node_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpecWithBases(&function_spec, bases.o)));
#undef SLOT
  PyModule_AddObjectRef(module, "FunctionNode", reinterpret_cast<PyObject*>(function_node_type));
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace strided::python
