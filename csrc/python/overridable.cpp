#include "python/overridable.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "ops/record.h"
#include "python/function.h"
#include "python/method_def.h"
#include "python/overrides.h"
#include "python/owned.h"
#include "python/usual_call.h"

namespace strided::python {
namespace {

// A function written in Python, whose calls can be taken over; in all else it shows the function's attributes.
struct Overridable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *function, *dict;
  bool makes_tensors;  // of any object: PyTorch shows it to modes, but not to types
  // A compiled Function for the usual calls: those that fit it, `last` behind their arguments (then without keywords),
  // and for which it does not return None. Null: none.
  PyObject *usual, *last;
  const char* node;  // what PyTorch calls the node of its results (Node::shown_as); null: as the last step is called
};

// The name as a text that lives for ever.
const char* interned(PyObject* name) {
  static auto& names = *new std::unordered_set<std::string>;
  return guarded<const char*>(nullptr, [&] {
    const char* text = PyUnicode_AsUTF8(name);
    return text ? names.insert(text).first->c_str() : nullptr;
  });
}
// A plain tensor that was made here: an argument keeps the name of its own node.
void show_node(const char* name, PyObject* result, PyObject* const* args, size_t n) {
  if (PyTuple_CheckExact(result) && PyTuple_GET_SIZE(result) > 0) result = PyTuple_GET_ITEM(result, 0);
  if (Py_TYPE(result) == tensor_type && std::find(args, args + n, result) == args + n) shown_as(name, unwrap(result));
}

bool call_usual(const Overridable& p, PyObject* const* args, size_t n, PyObject* kwnames, PyObject** result) {
  if (!p.last) {
    if (!call_if_fits(p.usual, args, n, kwnames, result)) return false;
  } else {
    PyObject* all[8];
    if (kwnames || n + 1 > sizeof(all) / sizeof(all[0])) return false;
    std::copy(args, args + n, all);
    all[n] = p.last;
    if (!call_if_fits(p.usual, all, n + 1, nullptr, result)) return false;
  }
  if (*result != Py_None) return true;
  Py_CLEAR(*result);
  return false;
}

// A function of tensors that is given something else fails where it asks that for an attribute: AttributeError. The
// error says which argument it is instead, as that of a compiled function does.
void explain(const Overridable& p, PyObject* const* args, size_t n_args, PyObject* kwnames) {
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  PyObject* asked = error ? PyObject_GetAttrString(error, "obj") : nullptr;
  PyErr_Clear();
  const size_t n_all = n_args + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  const size_t at = static_cast<size_t>(std::find(args, args + n_all, asked) - args);
  PyObject* text = nullptr;
  if (asked && at < n_all) {
    const auto named = static_cast<Py_ssize_t>(at - n_args);
    PyObject* which = at < n_args ? PyLong_FromSize_t(at) : Py_NewRef(PyTuple_GET_ITEM(kwnames, named));
    text = guarded<PyObject*>(nullptr, [&] {
      return PyObject_CallFunctionObjArgs(hook("wrong_argument"), p.function, which, asked, nullptr);
    });
    PyErr_Clear();
    Py_XDECREF(which);
  }
  Py_XDECREF(asked);
  if (text && text != Py_None) {
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    PyErr_SetObject(PyExc_TypeError, text);
  } else {
    PyErr_Restore(type, error, trace);
  }
  Py_XDECREF(text);
}

PyObject* overridable_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const auto* p = reinterpret_cast<Overridable*>(self);
  const size_t n_args = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  const size_t n_all = n_args + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  const bool hidden = p->makes_tensors && !(modes_on.load(std::memory_order_relaxed) != 0 && mode_is_on());
  const Audience audience = hidden ? Audience::Ours : Audience::Everybody;
  if (taken(args, n_all, audience))
    return guarded<PyObject*>(nullptr, [&] { return hand_over(self, args, n_args, kwnames, audience); });
  // (Our own types take it from within the function, which would not be called.)
  // A tensor of another class may keep its values elsewhere, which the function asks and the compiled one cannot.
  const bool special = p->makes_tensors && n_args == 1 && is_tensor(args[0]) && Py_TYPE(args[0]) != tensor_type;
  if (p->usual && !special && (audience == Audience::Ours || !taken(args, n_all, Audience::Ours))) {
    PyObject* result = nullptr;
    const int fits = guarded<int>(-1, [&] { return call_usual(*p, args, n_args, kwnames, &result) ? 1 : 0; });
    if (fits > 0 && p->node) show_node(p->node, result, args, n_all);
    if (fits != 0) return result;
  }
  PyObject* result = PyObject_Vectorcall(p->function, args, nargsf, kwnames);
  if (result && p->node) show_node(p->node, result, args, n_all);
  if (!result && PyErr_ExceptionMatches(PyExc_AttributeError)) explain(*p, args, n_args, kwnames);
  return result;
}
PyObject* overridable_get(PyObject* self, PyObject*, PyObject*) { return Py_NewRef(self); }  // as function_get
PyObject* overridable_method_get(PyObject* self, PyObject* instance, PyObject*) {
  return instance == nullptr || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}
PyObject* overridable_attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return PyObject_GetAttr(reinterpret_cast<Overridable*>(self)->function, name);
}
template <int member>  // what the type has too, and the function shall say
PyObject* of_function(PyObject* self, void*) {
  static constexpr const char* names[] = {"__doc__", "__module__"};
  return PyObject_GetAttrString(reinterpret_cast<Overridable*>(self)->function, names[member]);
}
PyObject* overridable_signature(PyObject* self, void*) {
  PyObject* inspect = PyImport_ImportModule("inspect");
  PyObject* made = inspect
                       ? PyObject_CallMethod(inspect, "signature", "O", reinterpret_cast<Overridable*>(self)->function)
                       : nullptr;
  Py_XDECREF(inspect);
  return made;
}
PyObject* overridable_flag(PyObject* self, void*) {
  return PyBool_FromLong(!reinterpret_cast<Overridable*>(self)->makes_tensors);
}
PyObject* overridable_repr(PyObject* self) { return PyObject_Repr(reinterpret_cast<Overridable*>(self)->function); }
PyObject* overridable_reduce(PyObject* self, PyObject*) {  // by its name
  return PyObject_GetAttrString(reinterpret_cast<Overridable*>(self)->function, "__qualname__");
}

PyGetSetDef overridable_getset[] = {{"__doc__", of_function<0>, nullptr, nullptr, nullptr},
                                    {"__module__", of_function<1>, nullptr, nullptr, nullptr},
                                    {"__signature__", overridable_signature, nullptr, nullptr, nullptr},
                                    {"_overridable", overridable_flag, nullptr, nullptr, nullptr},
                                    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef overridable_methods[] = {{"__reduce__", overridable_reduce, METH_NOARGS, nullptr},
                                     {nullptr, nullptr, 0, nullptr}};
PyMemberDef overridable_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(Overridable, function), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Overridable, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Overridable, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot overridable_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                   {Py_tp_descr_get, reinterpret_cast<void*>(overridable_get)},
                                   {Py_tp_getattro, reinterpret_cast<void*>(overridable_attribute)},
                                   {Py_tp_repr, reinterpret_cast<void*>(overridable_repr)},
                                   {Py_tp_getset, overridable_getset},
                                   {Py_tp_methods, overridable_methods},
                                   {Py_tp_members, overridable_members},
                                   {0, nullptr}};
PyType_Spec overridable_spec = {
    "strided.OverridableFunction", sizeof(Overridable), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    overridable_slots};
// (What Py_TPFLAGS_HAVE_VECTORCALL wants of a type, it wants of a derived one again.)
PyMemberDef overridable_method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Overridable, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot overridable_method_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                          {Py_tp_members, overridable_method_members},
                                          {Py_tp_descr_get, reinterpret_cast<void*>(overridable_method_get)},
                                          {Py_tp_getset, overridable_getset},
                                          {0, nullptr}};
PyType_Spec overridable_method_spec = {
    "strided.OverridableMethod", sizeof(Overridable), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    overridable_method_slots};
PyTypeObject *overridable_type = nullptr, *overridable_method_type = nullptr;

// _overridable(function, makes_tensors=False, usual=None, last=None, method=False). What it makes lives as long as the
// package. The function's attribute _node_name says what the node of its results is called.
PyObject* overridable(PyObject*, PyObject* const* args, Py_ssize_t n) {
  auto* p = PyObject_New(Overridable, n > 4 && args[4] == Py_True ? overridable_method_type : overridable_type);
  if (!p) return nullptr;
  p->vectorcall = overridable_call;
  p->function = Py_NewRef(args[0]);
  p->dict = nullptr;
  p->makes_tensors = n > 1 && args[1] == Py_True;
  p->usual = n > 2 && args[2] != Py_None ? Py_NewRef(args[2]) : nullptr;
  p->last = n > 3 && args[3] != Py_None ? Py_NewRef(args[3]) : nullptr;
  PyObject* node = PyObject_GetAttrString(args[0], "_node_name");
  if (!node) PyErr_Clear();
  p->node = node ? interned(node) : nullptr;
  const bool failed = node && !p->node;
  Py_XDECREF(node);
  return failed ? nullptr : reinterpret_cast<PyObject*>(p);
}

// _shown_as(name, result, *inputs): the result, whose node is shown under that name unless it is an input.
PyObject* shown_as_name(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n < 2) {
    PyErr_SetString(PyExc_TypeError, "_shown_as() takes a name, a result and inputs");
    return nullptr;
  }
  const char* name = interned(args[0]);
  if (!name) return nullptr;
  show_node(name, args[1], args + 2, static_cast<size_t>(n - 2));
  return Py_NewRef(args[1]);
}

PyMethodDef functions[] = {{"_shown_as", as_c(shown_as_name), METH_FASTCALL, nullptr},
                           {"_overridable", as_c(overridable), METH_FASTCALL, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_overridable(PyObject* module) {
  overridable_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&overridable_spec)));
  PyModule_AddObjectRef(module, "OverridableFunction", reinterpret_cast<PyObject*>(overridable_type));
  overridable_method_type = reinterpret_cast<PyTypeObject*>(
      checked(PyType_FromSpecWithBases(&overridable_method_spec, reinterpret_cast<PyObject*>(overridable_type))));
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace strided::python
