#include "python/overrides.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "python/function.h"
#include "python/method_def.h"
#include "python/owned.h"

namespace strided::python {

std::atomic<int> modes_on{0};

namespace {

enum class State { On, SubclassesOff, AllOff };

thread_local State state = State::On;
thread_local bool skips_next = false;       // the next call that would be taken is not
thread_local bool skips_all = false;        // the same, of whoever would take it
thread_local bool only_dispatches = false;  // the call that was just found to be taken is so by a __torch_dispatch__
bool any_dispatches = false;                // is there a class with a __torch_dispatch__?
thread_local PyObject* draw_function = nullptr;  // owned
thread_local std::vector<PyObject*> modes;       // owned; the last one is asked first

PyObject* public_name = nullptr;    // "__torch_function__"
PyObject* internal_name = nullptr;  // "__strided_function__"
PyObject* dispatch_name = nullptr;  // "__strided_dispatch__"
PyObject* disabled = nullptr;       // _disabled_torch_function_impl

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

// What stands beside tensors and numbers in most calls: shapes, dtypes, devices, names.
PyTypeObject *dtype_kind = nullptr, *device_kind = nullptr, *size_kind = nullptr;
bool is_silent(PyTypeObject* type) {
  return never_asks(type) || type == dtype_kind || type == size_kind || type == device_kind ||
         type == &PyUnicode_Type || type == Py_TYPE(Py_None);
}
bool are_silent(PyObject* const* args, size_t n) {
  return std::all_of(args, args + n, [](PyObject* o) {
    if (!is_list(o)) return is_silent(Py_TYPE(o));
    PyObject** items = PySequence_Fast_ITEMS(o);
    return std::all_of(items, items + PySequence_Fast_GET_SIZE(o), [](PyObject* i) { return is_silent(Py_TYPE(i)); });
  });
}

}  // namespace

bool mode_is_on() { return modes_on.load(std::memory_order_relaxed) != 0 && state != State::AllOff && !modes.empty(); }

bool is_taken(PyObject* const* args, size_t n, Audience audience) {
  if (modes_on.load(std::memory_order_relaxed) == 0 && are_silent(args, n)) return false;
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

bool draws_for_batch() { return draw_function != nullptr; }

PyObject* draw_for_batch(PyObject* func, PyObject* const* args, size_t n_args, PyObject* kwnames) {
  const size_t n_all = n_args + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  std::vector<PyObject*> all{func};
  all.insert(all.end(), args, args + n_all);
  Owned held(Py_NewRef(draw_function));  // it may be replaced meanwhile
  return PyObject_Vectorcall(held.o, all.data(), 1 + n_args, kwnames);
}

PyObject* hand_over_attribute(const char* name, const char* part, PyObject* const* args, size_t n_args,
                              PyObject* kwnames) {
  Owned attribute(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
  if (!part) return hand_over(attribute.o, args, n_args, kwnames);
  Owned access(PyObject_GetAttrString(attribute.o, part));
  return hand_over(access.o, args, n_args, kwnames);
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
PyObject* set_draw_function(PyObject*, PyObject* next) {
  PyObject* before = draw_function ? draw_function : Py_NewRef(Py_None);
  draw_function = next == Py_None ? nullptr : Py_NewRef(next);
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

PyMethodDef functions[] = {
    {"_disabled_torch_function_impl", as_c(disabled_function), METH_VARARGS | METH_KEYWORDS,
     "As the __torch_function__ of a class: its objects are tensors as all others, and results are plain tensors."},
    {"_has_torch_function", has_function_of, METH_O, nullptr},
    {"_has_torch_function_unary", has_function_unary, METH_O, nullptr},
    {"_has_torch_function_variadic", as_c(has_function_variadic), METH_FASTCALL, nullptr},
    {"_handle_torch_function", as_c(handle), METH_FASTCALL, nullptr},
    {"_set_torch_function_state", set_state, METH_O, nullptr},
    {"_get_torch_function_state", get_state, METH_NOARGS, nullptr},
    {"_set_skip_next_torch_function", skip_next, METH_O, nullptr},
    {"_set_draw_function", set_draw_function, METH_O, nullptr},
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
  dtype_kind = Py_TYPE(Owned(wrap(DType::Float32)).o);
  device_kind = Py_TYPE(Owned(wrap(Device{})).o);
  size_kind = Py_TYPE(Owned(wrap_size(Dims{})).o);
  public_name = checked(PyUnicode_InternFromString("__torch_function__"));
  internal_name = checked(PyUnicode_InternFromString("__strided_function__"));
  dispatch_name = checked(PyUnicode_InternFromString("__strided_dispatch__"));
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
  disabled = checked(PyObject_GetAttrString(module, "_disabled_torch_function_impl"));
}

}  // namespace strided::python
