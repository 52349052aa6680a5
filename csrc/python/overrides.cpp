#include "python/overrides.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/record.h"
#include "python/function.h"
#include "python/owned.h"
#include "python/usual_call.h"
#include "tensor/graph.h"

namespace strided::python {

std::atomic<int> modes_on{0};

namespace {

enum class State { On, SubclassesOff, AllOff };

thread_local State state = State::On;
thread_local bool skips_next = false;       // the next call that would be taken is not
thread_local bool skips_all = false;        // the same, of whoever would take it
thread_local bool only_dispatches = false;  // the call that was just found to be taken is so by a __torch_dispatch__
bool any_dispatches = false;                // is there a class with a __torch_dispatch__?
thread_local PyObject* drawer = nullptr;    // owned
thread_local std::vector<PyObject*> modes;  // owned; the last one is asked first

PyObject* public_name = nullptr;    // "__torch_function__"
PyObject* internal_name = nullptr;  // "__strided_function__"
PyObject* dispatch_name = nullptr;  // "__strided_dispatch__"
PyObject* disabled = nullptr;       // _disabled_torch_function_impl
PyObject* unwrapped = nullptr;      // functions whose results keep their type

struct StateGuard {
  State before = state;
  explicit StateGuard(State s) { state = std::max(before, s); }
  ~StateGuard() { state = before; }
};

// The top mode is not on while it works.
struct ModeAside {
  PyObject* mode = modes.back();
  ModeAside() {
    modes.pop_back();
    --modes_on;
  }
  ~ModeAside() {
    modes.push_back(mode);
    ++modes_on;
  }
};

PyObject* name_for(Audience audience) {
  return audience == Audience::Ours || state != State::On ? internal_name : public_name;
}

bool has_function(PyTypeObject* type, PyObject* name) {
  if (never_asks(type) || type == &PyUnicode_Type || type == Py_TYPE(Py_None)) return false;
  PyObject* found = _PyType_Lookup(type, name);
  return found && found != disabled;
}

bool is_list(PyObject* o) { return PyTuple_CheckExact(o) || PyList_CheckExact(o); }

// Objects that take calls: one of each type, subclasses before their bases.
void add(PyObject* o, PyObject* name, std::vector<PyObject*>* found) {
  if (is_list(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(o, i);
      if (!is_list(item)) add(item, name, found);
    }
    return;
  }
  PyTypeObject* type = Py_TYPE(o);
  if (!has_function(type, name)) return;
  auto at = found->end();
  for (auto it = found->begin(); it != found->end(); ++it) {
    if (Py_TYPE(*it) == type) return;
    if (at == found->end() && PyType_IsSubtype(type, Py_TYPE(*it))) at = it;
  }
  found->insert(at, o);
}

void add_all(PyObject* args, PyObject* kwargs, PyObject* name, std::vector<PyObject*>* found) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) add(PyTuple_GET_ITEM(args, i), name, found);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);) add(value, name, found);
}

// The name in an error message: torch.add, torch.Tensor.add, torch.Tensor.shape.__get__.
std::string name_of(PyObject* func) {
  auto text = [](PyObject* o, const char* attribute) -> std::string {
    PyObject* value = PyObject_GetAttrString(o, attribute);
    if (!value) PyErr_Clear();
    std::string found = value && PyUnicode_Check(value) ? detail::to_string(value) : std::string();
    Py_XDECREF(value);
    return found;
  };
  PyObject* self = PyObject_GetAttrString(func, "__self__");
  if (!self) PyErr_Clear();
  std::string name = self && Py_TYPE(self) == &PyGetSetDescr_Type
                         ? text(self, "__qualname__") + "." + text(func, "__name__")
                         : text(func, "__qualname__");
  Py_XDECREF(self);
  return "torch." + name;
}

PyObject* ask(PyObject* who, PyObject* name, PyObject* func, PyObject* types, PyObject* args, PyObject* kwargs) {
  Owned method(PyObject_GetAttr(who, name));
  return checked(PyObject_CallFunctionObjArgs(method.o, func, types, args, kwargs, nullptr));
}

[[noreturn]] void declined(PyObject* func, PyObject* mode, const std::vector<PyObject*>& objects) {
  std::string text = "Multiple dispatch failed for '" + name_of(func) +
                     "'; all __torch_function__ handlers returned NotImplemented:\n";
  auto line = [&](const char* what, PyObject* o) {
    Owned shown(PyObject_Repr(o));
    text += std::string("\n  - ") + what + " " + detail::to_string(shown.o);
  };
  if (mode) line("mode object", mode);
  for (PyObject* o : objects) line("tensor subclass", reinterpret_cast<PyObject*>(Py_TYPE(o)));
  throw TypeError(text);
}

// A type, or in a list one of the types, with a function of that name.
bool asks(PyObject* o, PyObject* name) {
  if (!is_list(o)) return has_function(Py_TYPE(o), name);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    if (has_function(Py_TYPE(PySequence_Fast_GET_ITEM(o, i)), name)) return true;
  return false;
}

// (Of another thread's modes, too, the count says that there are some.)
bool mode_is_on() { return modes_on.load(std::memory_order_relaxed) != 0 && state != State::AllOff && !modes.empty(); }

}  // namespace

bool is_taken(PyObject* const* args, size_t n, Audience audience) {
  PyObject* name = name_for(audience);
  const auto any = [&](PyObject* method) {
    return std::any_of(args, args + n, [&](PyObject* o) { return asks(o, method); });
  };
  bool yes = (audience != Audience::Ours && mode_is_on()) || any(name);
  const bool skipped = yes && skips_next && name == public_name;
  if (skipped) yes = skips_next = false;
  if (!yes) yes = only_dispatches = any_dispatches && audience != Audience::Questions && any(dispatch_name);
  else only_dispatches = false;
  if (yes && skips_all) yes = skips_all = only_dispatches = false;
  return yes;
}

namespace {

PyObject* ask_all(PyObject* func, PyObject* args, PyObject* kwargs, const std::vector<PyObject*>& found,
                  Audience audience, PyObject* last = nullptr) {
  PyObject* name = name_for(audience);
  Owned types(PyTuple_New(static_cast<Py_ssize_t>(found.size())));
  for (size_t i = 0; i < found.size(); ++i)
    PyTuple_SET_ITEM(types.o, static_cast<Py_ssize_t>(i), Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(found[i]))));
  PyObject* mode = nullptr;
  if (audience != Audience::Ours && mode_is_on()) {
    ModeAside aside;
    mode = aside.mode;
    PyObject* result = ask(mode, public_name, func, types.o, args, kwargs ? kwargs : Py_None);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
  }
  for (PyObject* o : found) {
    PyObject* result = ask(o, name, func, types.o, args, kwargs);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
  }
  if (last) return ask(last, dispatch_name, func, Py_None, args, kwargs ? kwargs : Py_None);
  declined(func, mode, found);
}

}  // namespace

PyObject* hand_over(PyObject* func, PyObject* args, PyObject* kwargs, Audience audience) {
  std::vector<PyObject*> found, last;
  if (std::exchange(only_dispatches, false)) {
    add_all(args, kwargs, dispatch_name, &found);
    return ask(found.at(0), dispatch_name, func, Py_None, args, kwargs ? kwargs : Py_None);
  }
  add_all(args, kwargs, name_for(audience), &found);
  if (found.empty() && any_dispatches) add_all(args, kwargs, dispatch_name, &last);
  return ask_all(func, args, kwargs, found, audience, last.empty() ? nullptr : last[0]);
}

PyObject* hand_over(PyObject* func, PyObject* const* args, size_t n_args, PyObject* kwnames, Audience audience) {
  Owned positional(PyTuple_New(static_cast<Py_ssize_t>(n_args)));
  for (size_t i = 0; i < n_args; ++i) PyTuple_SET_ITEM(positional.o, static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
  if (!kwnames || PyTuple_GET_SIZE(kwnames) == 0) return hand_over(func, positional.o, nullptr, audience);
  Owned named(PyDict_New());
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k)
    if (PyDict_SetItem(named.o, PyTuple_GET_ITEM(kwnames, k), args[n_args + static_cast<size_t>(k)]) < 0)
      throw PythonError{};
  return hand_over(func, positional.o, named.o, audience);
}

bool draws_for_batch() { return drawer != nullptr; }

PyObject* draw_for_batch(PyObject* func, PyObject* const* args, size_t n_args, PyObject* kwnames) {
  const size_t n_all = n_args + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  std::vector<PyObject*> all{func};
  all.insert(all.end(), args, args + n_all);
  Owned held(Py_NewRef(drawer));  // it may be replaced meanwhile
  return PyObject_Vectorcall(held.o, all.data(), 1 + n_args, kwnames);
}

PyObject* hand_over_attribute(const char* name, const char* part, PyObject* const* args, size_t n_args,
                              PyObject* kwnames) {
  Owned attribute(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
  if (!part) return hand_over(attribute.o, args, n_args, kwnames);
  Owned access(PyObject_GetAttrString(attribute.o, part));
  return hand_over(access.o, args, n_args, kwnames);
}

// ---------------------------------------------------------------- subclasses of Tensor

namespace {

PyTypeObject* subclass_of_tensor(PyObject* cls) {
  STRIDED_CHECK(PyType_Check(cls), TypeError, "cls must be a type (got ", Py_TYPE(cls)->tp_name, ")");
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  STRIDED_CHECK(
      PyType_IsSubtype(type, tensor_type), TypeError,
      "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
      "class inherits from Tensor.");
  return type;
}

PyObject* as_subclass(const Tensor& t, PyTypeObject* type) {
  return wrap_as(type, record("AliasBackward0", view_of(t, t.layout()), t, [](const Tensor& g) { return g; }));
}

// The result of a function as an object of a subclass. A tensor that nobody else has seen changes its object only.
PyObject* converted(PyObject* result, PyTypeObject* type) {
  if (is_tensor(result)) {
    if (PyType_IsSubtype(Py_TYPE(result), type)) return result;
    Owned held(result);
    const Tensor t = unwrap(result);
    const auto* object = reinterpret_cast<PyTensor*>(result);
    if (Py_REFCNT(result) > 1 || object->dict || object->weak || Py_TYPE(result) != tensor_type)
      return as_subclass(t, type);
    return wrap_as(type, t);
  }
  if (!PyTuple_Check(result) && !PyList_Check(result)) return result;
  Owned held(result);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(result);
  PyTypeObject* kind = Py_TYPE(result);
  Owned made(PyList_CheckExact(result) ? PyList_New(n)
             : PyTuple_Check(result)   ? kind->tp_alloc(kind, n)
                                       : PyList_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(result, i);
    // Nobody else sees a tuple that has just been made: its items may be taken out of it.
    PyObject* own = Py_NewRef(item);
    if (Py_REFCNT(result) == 1 && PyTuple_Check(result)) {
      PyTuple_SET_ITEM(result, i, Py_NewRef(Py_None));
      Py_DECREF(item);
    }
    PyObject* part = converted(own, type);
    if (PyTuple_Check(made.o)) PyTuple_SET_ITEM(made.o, i, part);
    else PyList_SET_ITEM(made.o, i, part);
  }
  return made.release();
}

}  // namespace

PyObject* method_as_subclass(PyObject* self, PyObject* cls) {
  return guarded<PyObject*>(nullptr, [&] { return as_subclass(unwrap(self), subclass_of_tensor(cls)); });
}

PyObject* method_make_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    static const char* names[] = {"cls", "data", "require_grad", nullptr};
    PyObject *cls, *data;
    int require_grad = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|p:_make_subclass", const_cast<char**>(names), &cls, &data,
                                     &require_grad))
      return nullptr;
    PyTypeObject* type = subclass_of_tensor(cls);
    STRIDED_CHECK(is_tensor(data), TypeError, "_make_subclass(): argument 'data' (position 2) must be Tensor, not ",
                  Py_TYPE(data)->tp_name);
    const Tensor t = detach(unwrap(data));
    STRIDED_CHECK(!require_grad || is_floating(t.dtype()) || is_complex(t.dtype()), RuntimeError,
                  "Only Tensors of floating point and complex dtype can require gradients");
    if (require_grad) autograd_meta(t).requires_grad = true;
    return wrap_as(type, t);
  });
}

// What a subclass that does not say otherwise does with a call: the call, with its results as objects of the subclass.
PyObject* method_torch_function(PyObject* cls, PyObject* given, PyObject* named) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    static const char* names[] = {"func", "types", "args", "kwargs", nullptr};
    PyObject *func, *types, *args = nullptr, *kwargs = nullptr;
    if (!PyArg_ParseTupleAndKeywords(given, named, "OO|OO:__torch_function__", const_cast<char**>(names), &func, &types,
                                     &args, &kwargs))
      return nullptr;
    Owned list(PySequence_Fast(types, "types must be a sequence of types"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.o); ++i) {
      const int is = PyObject_IsSubclass(cls, PySequence_Fast_GET_ITEM(list.o, i));
      if (is < 0) throw PythonError{};
      if (!is) Py_RETURN_NOTIMPLEMENTED;
    }
    // A function of another library, PyTorch for one, asks again instead of computing: it does not know our tensors.
    static thread_local PyObject* running = nullptr;
    if (running == func) Py_RETURN_NOTIMPLEMENTED;
    struct Restore {
      PyObject* before;
      ~Restore() { running = before; }
    } restore{running};
    running = func;
    Owned positional(args && args != Py_None ? PySequence_Tuple(args) : PyTuple_New(0));
    PyObject* result;
    {
      StateGuard off(State::SubclassesOff);
      result = checked(PyObject_Call(func, positional.o, kwargs == Py_None ? nullptr : kwargs));
    }
    const int keeps = PySet_Contains(unwrapped, func);
    if (keeps < 0) PyErr_Clear();  // not hashable: nothing of ours
    if (keeps == 1 || cls == reinterpret_cast<PyObject*>(tensor_type)) return result;
    return converted(result, reinterpret_cast<PyTypeObject*>(cls));
  });
}

namespace {

PyObject* disabled_function(PyObject*, PyObject* given, PyObject* named) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    static const char* names[] = {"func", "types", "args", "kwargs", nullptr};
    PyObject *func, *types, *args = nullptr, *kwargs = nullptr;
    if (!PyArg_ParseTupleAndKeywords(given, named, "OO|OO:_disabled_torch_function_impl", const_cast<char**>(names),
                                     &func, &types, &args, &kwargs))
      return nullptr;
    Owned positional(args && args != Py_None ? PySequence_Tuple(args) : PyTuple_New(0));
    StateGuard off(State::SubclassesOff);
    return PyObject_Call(func, positional.o, kwargs == Py_None ? nullptr : kwargs);
  });
}

// ---------------------------------------------------------------- switches and questions, for torch.overrides

PyObject* has_function_unary(PyObject*, PyObject* o) { return PyBool_FromLong(taken(o, Audience::Questions)); }
PyObject* has_function_variadic(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return PyBool_FromLong(taken(args, static_cast<size_t>(n), Audience::Questions));
}
PyObject* has_function_of(PyObject*, PyObject* relevant) {
  return guarded<PyObject*>(nullptr, [&] {
    Owned list(PySequence_Fast(relevant, "expected a sequence"));
    return PyBool_FromLong(taken(PySequence_Fast_ITEMS(list.o), static_cast<size_t>(PySequence_Fast_GET_SIZE(list.o)),
                                 Audience::Questions));
  });
}
// handle_torch_function(func, relevant, *args, **kwargs): `relevant` are the objects that are asked.
PyObject* handle(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    Owned relevant(PySequence_Tuple(args[1]));
    std::vector<PyObject*> found;
    add_all(relevant.o, nullptr, name_for(Audience::Everybody), &found);
    return ask_all(args[0], args[2], args[3], found, Audience::Everybody);
  });
}
PyObject* set_state(PyObject*, PyObject* value) {
  const long next = PyLong_AsLong(value);
  if (next == -1 && PyErr_Occurred()) return nullptr;
  const long before = static_cast<long>(state);
  state = static_cast<State>(std::clamp(next, 0L, 2L));
  return PyLong_FromLong(before);
}
PyObject* get_state(PyObject*, PyObject*) { return PyLong_FromLong(static_cast<long>(state)); }
// Sets the function that draws for a batch, None for no batch; the one before.
PyObject* set_drawer(PyObject*, PyObject* next) {
  PyObject* before = drawer ? drawer : Py_NewRef(Py_None);
  drawer = next == Py_None ? nullptr : Py_NewRef(next);
  return before;
}
PyObject* skip_next(PyObject*, PyObject* on) {
  skips_next = on == Py_True;
  Py_RETURN_NONE;
}
// _call_base(func, args, kwargs): nobody takes this call; those that func makes are taken as ever.
PyObject* call_base(PyObject*, PyObject* const* args, Py_ssize_t) {
  const bool before = std::exchange(skips_all, true);
  PyObject* result = PyObject_Call(args[0], args[1], args[2] == Py_None ? nullptr : args[2]);
  skips_all = before;
  return result;
}
// _share_version(view, base): a write to one of two tensors without memory counts as a write to the other.
PyObject* share_version(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor &view = unwrap(args[0]), &base = unwrap(args[1]);
    if (view.device().is_meta() && base.device().is_meta()) view.impl()->storage = base.impl()->storage;
    Py_RETURN_NONE;
  });
}
PyObject* set_dispatches(PyObject*, PyObject*) {
  any_dispatches = true;
  Py_RETURN_NONE;
}
PyObject* is_enabled(PyObject*, PyObject*) { return PyBool_FromLong(state == State::On); }
PyObject* is_all_disabled(PyObject*, PyObject*) { return PyBool_FromLong(state == State::AllOff); }
PyObject* is_mode_on(PyObject*, PyObject*) { return PyBool_FromLong(mode_is_on()); }
PyObject* push_mode(PyObject*, PyObject* mode) {
  modes.push_back(Py_NewRef(mode));
  ++modes_on;
  Py_RETURN_NONE;
}
PyObject* pop_mode(PyObject*, PyObject*) {
  if (modes.empty()) {
    PyErr_SetString(PyExc_RuntimeError, "there is no mode to pop");
    return nullptr;
  }
  PyObject* mode = modes.back();
  modes.pop_back();
  --modes_on;
  return mode;
}
PyObject* count_modes(PyObject*, PyObject*) { return PyLong_FromSize_t(modes.size()); }
PyObject* mode_at(PyObject*, PyObject* index) {
  const Py_ssize_t i = PyNumber_AsSsize_t(index, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) return nullptr;
  if (i < 0 || i >= static_cast<Py_ssize_t>(modes.size())) {
    PyErr_SetString(PyExc_IndexError, "no mode at this place of the stack");
    return nullptr;
  }
  return Py_NewRef(modes[static_cast<size_t>(i)]);
}

template <class F>
PyCFunction as_c(F f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

// ---------------------------------------------------------------- functions written in Python

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
  const char* text = PyUnicode_AsUTF8(name);
  return text ? names.insert(text).first->c_str() : nullptr;
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
PyType_Slot overridable_method_slots[] = {{Py_tp_descr_get, reinterpret_cast<void*>(overridable_method_get)},
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
  Py_XDECREF(node);
  return reinterpret_cast<PyObject*>(p);
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

PyMethodDef functions[] = {
    {"_shown_as", as_c(shown_as_name), METH_FASTCALL, nullptr},
    {"_overridable", as_c(overridable), METH_FASTCALL, nullptr},
    {"_disabled_torch_function_impl", as_c(disabled_function), METH_VARARGS | METH_KEYWORDS,
     "As the __torch_function__ of a class: its objects are tensors as all others, and results are plain tensors."},
    {"_has_torch_function", has_function_of, METH_O, nullptr},
    {"_has_torch_function_unary", has_function_unary, METH_O, nullptr},
    {"_has_torch_function_variadic", as_c(has_function_variadic), METH_FASTCALL, nullptr},
    {"_handle_torch_function", as_c(handle), METH_FASTCALL, nullptr},
    {"_set_torch_function_state", set_state, METH_O, nullptr},
    {"_get_torch_function_state", get_state, METH_NOARGS, nullptr},
    {"_set_skip_next_torch_function", skip_next, METH_O, nullptr},
    {"_set_drawer", set_drawer, METH_O, nullptr},
    {"_call_base", as_c(call_base), METH_FASTCALL, nullptr},
    {"_share_version", as_c(share_version), METH_FASTCALL, nullptr},
    {"_set_dispatches", set_dispatches, METH_NOARGS, nullptr},
    {"_is_torch_function_enabled", is_enabled, METH_NOARGS, nullptr},
    {"_is_torch_function_all_disabled", is_all_disabled, METH_NOARGS, nullptr},
    {"_is_torch_function_mode_enabled", is_mode_on, METH_NOARGS, nullptr},
    {"_push_on_torch_function_stack", push_mode, METH_O, nullptr},
    {"_pop_torch_function_stack", pop_mode, METH_NOARGS, nullptr},
    {"_len_torch_function_stack", count_modes, METH_NOARGS, nullptr},
    {"_get_function_stack_at", mode_at, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

TypesOff::TypesOff(bool on) : before_(static_cast<int>(state)) {
  if (on) state = std::max(state, State::SubclassesOff);
}
TypesOff::~TypesOff() { state = static_cast<State>(before_); }

void init_overrides(PyObject* module) {
  public_name = checked(PyUnicode_InternFromString("__torch_function__"));
  internal_name = checked(PyUnicode_InternFromString("__strided_function__"));
  dispatch_name = checked(PyUnicode_InternFromString("__strided_dispatch__"));
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
  overridable_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&overridable_spec)));
  PyModule_AddObjectRef(module, "OverridableFunction", reinterpret_cast<PyObject*>(overridable_type));
  overridable_method_type = reinterpret_cast<PyTypeObject*>(
      checked(PyType_FromSpecWithBases(&overridable_method_spec, reinterpret_cast<PyObject*>(overridable_type))));
  disabled = checked(PyObject_GetAttrString(module, "_disabled_torch_function_impl"));
  unwrapped = checked(PySet_New(nullptr));
  for (const char* name : {"_base", "grad"}) {
    Owned property(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
    Owned get(PyObject_GetAttrString(property.o, "__get__"));
    if (PySet_Add(unwrapped, get.o) < 0) throw PythonError{};
  }
  if (PyModule_AddObjectRef(module, "_unwrapped_functions", unwrapped) < 0) throw PythonError{};
}

}  // namespace strided::python
