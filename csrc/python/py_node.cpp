#include "python/py_node.h"

#include <cstring>
#include <unordered_map>
#include <utility>

#include "autograd/engine.h"
#include "python/function_node.h"
#include "python/kept_object.h"
#include "python/owned.h"
#include "python/py_hook.h"

namespace strided::python {

PyTypeObject* node_type = nullptr;

namespace {

void node_dealloc(PyObject* o) {
  PyNode* p = as_node(o);
  PyTypeObject* type = Py_TYPE(o);
  if (PyType_IS_GC(type)) PyObject_GC_UnTrack(o);
  if (p->owned && p->owned->py_object == o)
    p->owned->py_object = nullptr;  // before others run: a dying object is not given out
  if (p->weak) PyObject_ClearWeakRefs(o);
  delete std::exchange(p->saved, nullptr);
  Py_CLEAR(p->saved_objects);
  p->owned.~Ref<Node>();
  Py_CLEAR(p->dict);
  type->tp_free(o);
  Py_DECREF(type);
}

// One class for each name, as type(y.grad_fn).__name__ shows.
PyTypeObject* class_named(const std::string& name) {
  static auto& classes = *new std::unordered_map<std::string, PyTypeObject*>;
  PyTypeObject*& type = classes[name];
  if (!type) {
    PyType_Slot slots[] = {{0, nullptr}};
    static auto& names = *new std::vector<std::unique_ptr<std::string>>;  // the type keeps the pointer
    names.emplace_back(new std::string("builtins." + name));
    const char* text = names.back()->c_str();
    PyType_Spec spec = {text, sizeof(PyNode), 0, Py_TPFLAGS_DEFAULT, slots};
    const Owned bases(PyTuple_Pack(1, node_type));
    type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpecWithBases(&spec, bases.o)));
    type->tp_name = text + std::strlen("builtins.");  // as errors call it
  }
  return type;
}

PyObject* node_name(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] {
    const Node& node = node_of(o);
    return PyUnicode_FromFormat(node.is_accumulator() ? "torch::autograd::%s" : "%s", node.name());
  });
}
PyObject* node_repr(PyObject* o) { return PyUnicode_FromFormat("<%s object at %p>", short_type_name(o), o); }
PyObject* node_next(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] {
    const Node& node = node_of(o);
    PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(node.next.size())));
    for (size_t i = 0; i < node.next.size(); ++i) {
      PyObject* pair = Py_BuildValue("(Ni)", wrap(node.next[i].node), node.next[i].input);
      if (!pair) {
        Py_DECREF(tuple);
        throw PythonError{};
      }
      PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), pair);
    }
    return tuple;
  });
}
PyObject* node_call(PyObject* o, PyObject* args, PyObject* keywords) {
  return guarded<PyObject*>(nullptr, [&] {
    STRIDED_CHECK(!keywords || PyDict_GET_SIZE(keywords) == 0, TypeError, "keyword arguments are not supported");
    const Ref<Node> node(&node_of(o));
    const auto n = static_cast<size_t>(node->num_outputs());
    STRIDED_CHECK(PyTuple_GET_SIZE(args) == static_cast<Py_ssize_t>(n), TypeError, "expected ", n, " arguments, got ",
                  PyTuple_GET_SIZE(args), " instead");
    TensorList grads(n);
    for (size_t i = 0; i < n; ++i) {
      PyObject* given = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
      if (given == Py_None) continue;
      STRIDED_CHECK(is_tensor(given), TypeError, "argument ", i, " is not a Variable");
      grads[i] = unwrap_gradient(given);
    }
    const TensorList result = call_node(*node, std::move(grads));
    return result.size() == 1 ? wrap(result[0]) : tuple_of(result);
  });
}

PyTypeObject* metadata_type = nullptr;
PyObject* node_outputs(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] {
    const Node& node = node_of(o);
    Owned tuple(PyTuple_New(node.num_outputs()));
    for (int i = 0; i < node.num_outputs(); ++i) {
      const Node::Output& output = node.output(i);
      PyObject* entry = checked(PyStructSequence_New(metadata_type));
      PyTuple_SET_ITEM(tuple.o, i, entry);
      Owned shape(PyList_New(output.shape.ndim()));
      for (int k = 0; k < output.shape.ndim(); ++k) PyList_SET_ITEM(shape.o, k, PyLong_FromLongLong(output.shape[k]));
      PyStructSequence_SetItem(entry, 0, wrap(output.dtype));
      PyStructSequence_SetItem(entry, 1, wrap(output.device));
      PyStructSequence_SetItem(entry, 2, shape.release());
      PyStructSequence_SetItem(entry, 3, Py_NewRef(Py_False));
      PyStructSequence_SetItem(entry, 4, Py_NewRef(Py_False));
    }
    return tuple.release();
  });
}
PyObject* node_metadata(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] {
    Ref<RefCounted>& kept = node_of(o).hooks().metadata;
    if (!kept) {
      const Owned fresh(PyDict_New());
      kept = Ref<RefCounted>(new RefOwned(fresh.o));
    }
    return Py_NewRef(static_cast<const RefOwned*>(kept.get())->object.get());
  });
}
PyObject* node_variable(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Node& node = node_of(o);
    if (!node.is_accumulator()) {
      PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", node.name());
      return nullptr;
    }
    return wrap(accumulated_leaf(node));
  });
}
PyObject* node_requires_grad(PyObject*, void*) { Py_RETURN_TRUE; }
PyObject* node_sequence(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] {
    const Node& node = node_of(o);
    return PyLong_FromUnsignedLongLong(node.is_accumulator() ? UINT64_MAX : node.sequence);  // as in PyTorch
  });
}
// As PyTorch shows what its nodes saved: integers without a sign, so that -1 is 2**64 - 1; None for no tensor.
struct WrapSaved {
  PyObject* operator()(std::monostate) const { Py_RETURN_NONE; }
  PyObject* operator()(const Tensor& t) const { return t.defined() ? wrap(t) : Py_NewRef(Py_None); }
  PyObject* operator()(bool flag) const { return PyBool_FromLong(flag); }
  PyObject* operator()(const Scalar& number) const { return wrap(number); }
  PyObject* operator()(const std::string& text) const { return checked(PyUnicode_FromString(text.c_str())); }
  PyObject* operator()(int64_t i) const { return checked(PyLong_FromUnsignedLongLong(static_cast<uint64_t>(i))); }
  PyObject* operator()(const Dims& list) const {
    return tuple(list.size(), [&](size_t i) { return (*this)(list[i]); });
  }
  PyObject* operator()(const std::vector<Tensor>& list) const {
    return tuple(list.size(), [&](size_t i) { return (*this)(list[i]); });
  }

 private:
  template <class F>
  static PyObject* tuple(size_t n, F entry) {
    Owned out(PyTuple_New(static_cast<Py_ssize_t>(n)));
    for (size_t i = 0; i < n; ++i) PyTuple_SET_ITEM(out.o, static_cast<Py_ssize_t>(i), entry(i));
    return out.release();
  }
};
// _saved_self, _saved_dim, ...: what the backward formula will read.
PyObject* node_getattr(PyObject* o, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(o, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  const char* text = PyUnicode_AsUTF8(name);
  if (!text || std::strncmp(text, "_saved_", 7) != 0) return nullptr;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* result = guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    SavedValue saved;
    Node& node = node_of(o);
    const CurrentNodeGuard running(&node);
    if (!node.find_saved(text + 7, &saved)) return nullptr;
    return std::visit(WrapSaved(), saved);
  });
  if (result || PyErr_Occurred()) {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return result;
  }
  PyErr_Restore(type, value, trace);
  return nullptr;
}

PyObject* node_dir(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] {
    const Owned names(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__dir__", "O", o));
    Owned list(PySequence_List(names.o));
    if (as_node(o)->raw == nullptr) return list.release();  // a context outside of the graph
    for (const std::string& name : as_node(o)->raw->saved_names()) {
      const Owned text(PyUnicode_FromFormat("_saved_%s", name.c_str()));
      if (PyList_Append(list.o, text.o) < 0) throw PythonError{};
    }
    return list.release();
  });
}

template <HookKind Kind>
PyObject* node_hook(PyObject* o, PyObject* callable) {
  return guarded<PyObject*>(nullptr, [&] { return add_node_hook(node_of(o), Kind, callable); });
}

PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "The operation's name, as 'MulBackward0'."},
    {"__dir__", node_dir, METH_NOARGS, nullptr},
    {"_sequence_nr", node_sequence, METH_NOARGS, "Grows with the time the node was made."},
    {"register_hook", node_hook<HookKind::Post>, METH_O,
     "register_hook(f) -> handle: f(grad_inputs, grad_outputs) is called with two tuples after the node has run; it may return\n"
     "other grad_inputs."},
    {"register_prehook", node_hook<HookKind::Pre>, METH_O,
     "register_prehook(f) -> handle: f(grad_outputs) is called with a tuple before the node runs; it may return others."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef node_getset[] = {{"next_functions", node_next, nullptr,
                              "For each input: (the node that made it or None, which of its outputs).", nullptr},
                             {"_input_metadata", node_outputs, nullptr,
                              "For each output of the operation: dtype, device and shape of its gradient.", nullptr},
                             {"metadata", node_metadata, nullptr, "A dict for the user.", nullptr},
                             {"variable", node_variable, nullptr, "Of an AccumulateGrad node: the leaf.", nullptr},
                             {"requires_grad", node_requires_grad, nullptr, nullptr, nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef node_members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyNode, dict), READONLY, nullptr},
                              {"__weaklistoffset__", T_PYSSIZET, offsetof(PyNode, weak), READONLY, nullptr},
                              {nullptr, 0, 0, 0, nullptr}};

// The Python objects that a node leads to, if `node` is its only owner.
int visit_node(const Ref<Node>& node, visitproc visit, void* arg) {
  if (!node || node->use_count() != 1) return 0;
  if (const NodeHooks* hooks = node->hooks_or_null()) {
    const auto visit_all = [&](const std::vector<Ref<Hook>>& list) {
      for (const auto& hook : list)
        if (const int stop = visit_hook(hook, visit, arg)) return stop;
      return 0;
    };
    for (const auto& entry : hooks->tensor)
      if (const int stop = visit_all(entry.list)) return stop;
    for (const auto* list : {&hooks->pre, &hooks->post})
      if (const int stop = visit_all(*list)) return stop;
    if (hooks->metadata) Py_VISIT(static_cast<const RefOwned*>(hooks->metadata.get())->object.get());
  }
  if (node->is_user_defined()) Py_VISIT(static_cast<const FunctionNode*>(node.get())->object());
  return 0;
}

}  // namespace

int node_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(as_node(o)->dict);
  return visit_node(as_node(o)->owned, visit, arg);
}
int node_clear(PyObject* o) {
  Py_CLEAR(as_node(o)->dict);
  if (as_node(o)->owned && as_node(o)->owned->use_count() == 1) {
    const Ref<Node> node = std::move(as_node(o)->owned);  // dies here
    as_node(o)->raw = nullptr;
    node->py_object = nullptr;
  }
  return 0;
}

PyObject* tuple_of(const TensorList& list) {
  PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); ++i) PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), wrap(list[i]));
  return tuple;
}
PyObject* wrap(const Ref<Node>& node) {
  if (!node) Py_RETURN_NONE;
  if (node->py_object) return Py_NewRef(static_cast<PyObject*>(node->py_object));
  PyTypeObject* type = class_named(node->name());
  PyObject* o = checked(type->tp_alloc(type, 0));
  new (&as_node(o)->owned) Ref<Node>(node);
  as_node(o)->raw = node.get();
  node->py_object = o;
  return o;
}
bool is_node(PyObject* o) { return PyObject_TypeCheck(o, node_type); }
Node& node_of(PyObject* o) {
  STRIDED_CHECK(is_node(o), TypeError, "expected a node of the graph, got ", Py_TYPE(o)->tp_name);
  STRIDED_CHECK(
      as_node(o)->raw, RuntimeError,
      "Attribute of a Function's context is invalid outside of the graph: its result needed no gradient, or is gone");
  return *as_node(o)->raw;
}

// A node that this tensor alone holds: its hooks and, of an autograd.Function, the context.
int visit_record(const Tensor& t, visitproc visit, void* arg) {
  const TensorImpl& impl = *t.impl();
  if (impl.use_count() != 1 || !impl.autograd) return 0;
  for (const auto* list : {&impl.autograd->hooks, &impl.autograd->post_accumulate})
    for (const auto& hook : *list)
      if (const int stop = visit_hook(hook, visit, arg)) return stop;
  const Tensor& grad = impl.autograd->grad;
  if (grad.defined() && grad.impl()->use_count() == 1) Py_VISIT(kept_attributes(grad));
  return visit_node(impl.autograd->grad_fn, visit, arg);
}
void clear_record(const Tensor& t) {
  AutogradMeta* meta = t.impl()->autograd.get();
  if (!meta || t.impl()->use_count() != 1) return;
  std::vector<Ref<Hook>> hooks = std::move(meta->hooks), more = std::move(meta->post_accumulate);
  if (meta->grad_fn && meta->grad_fn->use_count() == 1) {
    const Ref<Node> node = std::move(meta->grad_fn);  // dies here
  }
}
void track(PyObject* tensor) {
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
}

void init_nodes(PyObject* module) {
  static PyStructSequence_Field fields[] = {{"dtype", nullptr},
                                            {"device", nullptr},
                                            {"shape", nullptr},
                                            {"is_nested_tensor", nullptr},
                                            {"is_cpp_nested_tensor", nullptr},
                                            {nullptr, nullptr}};
  static PyStructSequence_Desc description = {"strided.autograd.graph._InputMetadata",
                                              "What a node knows of an output of its operation.", fields, 5};
  metadata_type =
      reinterpret_cast<PyTypeObject*>(checked(reinterpret_cast<PyObject*>(PyStructSequence_NewType(&description))));
#define SLOT(name, f) {Py_##name, reinterpret_cast<void*>(f)}
  PyType_Slot node_slots[] = {SLOT(tp_dealloc, node_dealloc),
                              SLOT(tp_repr, node_repr),
                              SLOT(tp_call, node_call),
                              SLOT(tp_methods, node_methods),
                              SLOT(tp_getset, node_getset),
                              SLOT(tp_members, node_members),
                              SLOT(tp_getattro, node_getattr),
                              SLOT(tp_traverse, node_traverse),
                              SLOT(tp_clear, node_clear),
                              {Py_tp_doc, const_cast<char*>("A step of the graph: tensor.grad_fn.")},
                              {0, nullptr}};
  PyType_Spec node_spec = {
      "strided.autograd.graph.Node", sizeof(PyNode), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};
  node_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&node_spec)));
#undef SLOT
  PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(node_type));
}

}  // namespace strided::python
