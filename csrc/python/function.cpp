// The callable that serves functions and methods: matches arguments, calls.
#include "python/function.h"

#include <algorithm>
#include <memory>

#include "core/profile.h"
#include "ops/record.h"
#include "python/bind/bind.h"
#include "python/overrides.h"
#include "python/owned.h"
#include "python/signature.h"
#include "python/usual_call.h"

namespace strided::python {
namespace {

// All names of the parameter that answers to this one, PyTorch's in functions and methods and NumPy's; null if it has
// no other.
const std::vector<std::string>* synonyms_of(const std::string& name) {
  static const std::vector<std::vector<std::string>> groups = {{"input", "self", "x", "a", "A", "x1"},
                                                               {"other", "x2", "b", "B"},
                                                               {"dim", "axis"},
                                                               {"dims", "axes"},
                                                               {"keepdim", "keepdims"}};
  for (const auto& group : groups)
    if (std::find(group.begin(), group.end(), name) != group.end()) return &group;
  return nullptr;
}

// ---------------------------------------------------------------- the object

struct Function {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::vector<std::unique_ptr<Overload>>* overloads;
  PyObject* name;
  PyObject* dict;
  Audience audience;
  bool draws;  // random numbers
};

PyTypeObject *function_type = nullptr, *method_type = nullptr;
PyObject* functions = nullptr;  // dict: qualified name -> Function

constexpr int kMaxParams = 16;

std::string type_name(PyObject* o) {
  if (is_tensor(o)) return "Tensor";
  return Py_TYPE(o)->tp_name;
}

// A parameter's type in PyTorch's words.
std::string written_type(const Param& p) {
  const std::string type = p.optional ? p.type.substr(0, p.type.size() - 1) : p.type;
  if (type == "Tensor[]" || type == "Tensor?[]") return "tuple of Tensors";
  if (type == "int[]") return "tuple of ints";
  if (type == "float[]") return "tuple of floats";
  if (type == "TensorOrNumber") return "Tensor";
  return type == "dtype" ? "torch.dtype" : type;
}

// The name in errors, PyTorch's: linalg_inv, gelu. A function of the Python part calls a compiled one by the same name
// behind a `_`.
std::string said_name(const Overload& o) {
  std::string name = o.name.size() > 1 && o.name[0] == '_' && o.name[1] != '_' ? o.name.substr(1) : o.name;
  if (name.compare(0, 14, "nn.functional.") == 0) name.erase(0, 14);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

// What is wrong with an argument. A method's self is not counted, and a keyword has no position.
std::string misfit(const Overload& o, int i, PyObject* arg, bool by_keyword, bool method) {
  const Param& p = o.params[i];
  const int at = i - method;
  const std::string type = written_type(p);
  if (type == "tuple of Tensors" && (PyTuple_Check(arg) || PyList_Check(arg)))
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(arg); ++k)
      if (PyObject* item = PySequence_Fast_GET_ITEM(arg, k); !is_tensor(item))
        return "expected Tensor as element " + std::to_string(k) + " in argument " + std::to_string(at) + ", but got " +
               type_name(item);
  const std::string start = said_name(o) + "(): argument '" + p.name + "'";
  const std::string place = by_keyword ? "" : " (position " + std::to_string(at + 1) + ")";
  if (type == "tuple of ints" && (PyTuple_Check(arg) || PyList_Check(arg)))
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(arg); ++k) {
      PyObject* item = PySequence_Fast_GET_ITEM(arg, k);
      if (detail::is_size_like(item)) continue;
      if (k == 0)
        return start + place + " must be " + type + ", but found element of type " + type_name(item) + " at pos 0";
      return start + " failed to unpack the object at pos " + std::to_string(k + 1) + " with error \"type must be " +
             type + ",but got " + type_name(item) + "\"";
    }
  return start + place + " must be " + type + ", not " + type_name(arg);
}

// What slots own while a call runs.
struct Held {
  Owned tuple;  // of the items of a variadic parameter
  Dims sizes;   // the same, where `reads` (Note [Integers one by one])
  const bool reads;
  explicit Held(bool r) : reads(r) {}
};

// Puts the arguments that have names into the slots; `given`: a bit for each slot that has its argument.
bool match_keywords(const Overload& o, PyObject* const* args, PyObject* kwnames, PyObject** slots, uint32_t* given,
                    std::string* why) {
  const int n = static_cast<int>(o.params.size());
  const Py_ssize_t n_kw = PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < n_kw; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    int at = -1;
    for (int i = 0; i < n && at < 0; ++i)
      if (o.params[i].name_object == name) at = i;
    if (at < 0) {
      const std::string text = detail::to_string(name);
      for (int i = 0; i < n && at < 0; ++i)
        if (o.params[i].name == text) at = i;
      const std::vector<std::string>* names = at < 0 ? synonyms_of(text) : nullptr;
      for (int i = 0; names && i < n && at < 0; ++i)
        if (std::find(names->begin(), names->end(), o.params[i].name) != names->end()) at = i;
      if (at < 0) {
        if (why) *why = said_name(o) + "() got an unexpected keyword argument '" + text + "'";
        return false;
      }
    }
    if (*given >> at & 1) {
      if (why) *why = said_name(o) + "() got multiple values for argument '" + o.params[at].name + "'";
      return false;
    }
    *given |= 1u << at;
    slots[at] = args[k];
  }
  return true;
}

// A tuple of the items of a variadic parameter.
PyObject* gather(PyObject* const* items, size_t n) {
  PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(n)));
  for (size_t k = 0; k < n; ++k) PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(k), Py_NewRef(items[k]));
  return tuple;
}
// The integers of a variadic parameter, if all of them are such as nearly all are.
bool read_sizes(PyObject* const* items, size_t n, Dims* to) {
  for (size_t k = 0; k < n; ++k) {
    int64_t size;
    if (!read_small_int(items[k], &size)) return false;
    to->push_back(size);
  }
  return true;
}
std::string too_many(const Overload& o, size_t given, bool method) {
  const int takes = o.positional - method;
  const auto needed = std::count_if(o.params.begin() + method, o.params.begin() + o.positional,
                                    [](const Param& p) { return !p.default_value; });
  given -= method;
  if (method && o.params.size() == 1)
    return "TensorBase." + said_name(o) + "() takes no arguments (" + std::to_string(given) + " given)";
  const std::string range = needed == takes ? "" : "from " + std::to_string(needed) + " to ";
  return said_name(o) + "() takes " + range + std::to_string(takes) + " positional argument" +
         (takes == 1 && range.empty() ? "" : "s") + " but " + std::to_string(given) +
         (given == 1 && range.empty() ? " was given" : " were given");
}

// Puts the arguments into the overload's slots. False when they do not fit; `why` then says what is wrong. `strict`: a
// tensor is a tensor, and no number. `method`: the first one is self.
bool match(const Overload& o, PyObject* const* args, size_t n_args, PyObject* kwnames, PyObject** slots, Held* held,
           std::string* why, bool strict = false, bool method = false) {
  const int n = static_cast<int>(o.params.size());
  size_t used = 0;
  uint32_t given = 0;
  int by_position = 0, gathered = -1;  // the parameter whose items were looked at one by one
  for (int i = 0; i < o.positional && used < n_args; ++i, ++by_position) {
    given |= 1u << i;
    if (i == o.variadic) {
      if (o.gathers && held->reads && read_sizes(args + used, n_args - used, &held->sizes)) {
        slots[i] = detail::as_slot(&held->sizes);
        gathered = i;
        used = n_args;
        continue;
      }
      // One list, or its items one by one: integers, or tensors where the parameter is a list of tensors.
      const bool tensors = o.params[i].takes_tensors && o.params[i].type == "Tensor[]";
      auto belongs = [&](PyObject* a) { return tensors ? is_tensor(a) : detail::is_size_like(a); };
      const bool one = !belongs(args[used]);
      if (one) {
        slots[i] = args[used++];
      } else {
        size_t last = used;
        while (last < n_args && belongs(args[last])) ++last;
        if (strict && !tensors && std::any_of(args + used, args + last, is_tensor)) return false;
        held->tuple.o = slots[i] = gather(args + used, last - used);
        gathered = i;
        used = last;
      }
      continue;
    }
    slots[i] = args[used++];
  }
  if (used < n_args) {
    if (why && gathered >= 0 && gathered == o.positional - 1) {  // a list whose items were given one by one
      const Owned items(gather(args + gathered, n_args - static_cast<size_t>(gathered)));
      *why = misfit(o, gathered, items.o, false, method);
    } else if (why) {
      *why = too_many(o, n_args, method);
    }
    return false;
  }
  if (kwnames && !match_keywords(o, args + n_args, kwnames, slots, &given, why)) return false;
  for (int i = 0; i < n; ++i) {
    const Param& p = o.params[i];
    if (!(given >> i & 1)) {
      if (!p.default_value) {
        if (i == o.variadic && p.type == "Tensor[]") {  // block_diag() and the like: an empty list
          static PyObject* empty = PyTuple_New(0);
          slots[i] = empty;
          continue;
        }
        if (why) *why = said_name(o) + "() missing 1 required positional arguments: \"" + p.name + "\"";
        return false;
      }
      slots[i] = p.default_value;
      continue;
    }
    if ((p.any_tensor && Py_TYPE(slots[i]) == tensor_type) || i == gathered || (o.writes_out && i == n - 1)) continue;
    if (strict && !p.takes_tensors && is_tensor(slots[i])) return false;
    if (!o.accepts(o, i, slots[i])) {
      if (why) *why = misfit(o, i, slots[i], i >= by_position, method);
      return false;
    }
  }
  return true;
}

std::string describe_arguments(PyObject* const* args, size_t n_args, PyObject* kwnames) {
  std::string out = "(";
  for (size_t i = 0; i < n_args; ++i) out += (i ? ", " : "") + type_name(args[i]);
  const Py_ssize_t n_kw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t k = 0; k < n_kw; ++k)
    out += (n_args || k ? ", " : "") + detail::to_string(PyTuple_GET_ITEM(kwnames, k)) + "=" +
           type_name(args[n_args + static_cast<size_t>(k)]);
  return out + ")";
}

// A new tensor, which nobody else has seen, in page-locked memory instead.
PyObject* pinned(PyObject* made) {
  if (!made) return nullptr;
  const Tensor t = unwrap(made);
  Py_DECREF(made);
  NoGradGuard no_grad;
  PyObject* copy = wrap(pin_memory(t));
  if (t.requires_grad() && PyObject_SetAttrString(copy, "requires_grad", Py_True) < 0) {
    Py_DECREF(copy);
    return nullptr;
  }
  return copy;
}

bool is_given(const Overload& o, PyObject** slots, const char* name) {
  for (size_t i = 0; i < o.params.size(); ++i)
    if (o.params[i].name == name) return slots[i] != Py_None;
  return false;
}

PyObject* run(const Overload& o, PyObject** slots) {
  if (o.pins >= 0) {
    PyObject* pin = slots[o.pins];
    STRIDED_CHECK(pin == Py_None || PyBool_Check(pin), TypeError, o.name,
                  "(): argument 'pin_memory' must be bool, not ", Py_TYPE(pin)->tp_name);
    if (pin == Py_True && !is_given(o, slots, "out")) return pinned(o.invoke(o, slots));
  }
  if (o.writes_out && slots[o.params.size() - 1] != Py_None) return detail::run_with_out(o, slots);
  return o.invoke(o, slots);
}

[[noreturn]] void no_match(const Function& function, PyObject* const* args, size_t n_args, PyObject* kwnames,
                           PyObject** slots) {
  const auto& overloads = *function.overloads;
  std::string why;
  const bool method = n_args > 0 && function.ob_base.ob_type == method_type;
  STRIDED_CHECK(!method || is_tensor(args[0]), TypeError, "descriptor '", said_name(*overloads[0]),
                "' for 'torch._C.TensorBase' objects doesn't apply to a '", Py_TYPE(args[0])->tp_name, "' object");
  // Where the arguments are enough for one overload only, that one says what is wrong.
  const size_t given = n_args + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  const Overload* meant = nullptr;
  size_t enough = 0;
  for (const auto& overload : overloads) {
    const auto& params = overload->params;
    const auto required = std::count_if(params.begin(), params.end(), [](const Param& p) { return !p.default_value; });
    if (overloads.size() > 1 && static_cast<size_t>(required) > given) continue;
    meant = &*overload;
    ++enough;
  }
  // Every overload takes the same number by position, and more are given.
  const bool many = overloads[0]->variadic < 0 && n_args > static_cast<size_t>(overloads[0]->positional) &&
                    std::all_of(overloads.begin(), overloads.end(), [&](const auto& o) {
                      return o->positional == overloads[0]->positional && o->variadic < 0;
                    });
  if (many) {
    why = too_many(*overloads[0], n_args, method);
  } else if (enough == 1) {
    Held held(false);
    match(*meant, args, n_args, kwnames, slots, &held, &why, false, method);
  } else {
    why = said_name(*overloads[0]) + "() received an invalid combination of arguments - got " +
          describe_arguments(args + method, n_args - method, kwnames) + ", but expected one of:";
    for (const auto& overload : overloads) why += "\n * " + overload->signature;
  }
  throw TypeError(why);
}

// then(i, slots) with the first overload that the arguments fit; TypeError if there is none.
// `reads`: see Note [Integers one by one].
template <class F>
PyObject* with_match(const Function& function, PyObject* const* args, size_t n_args, PyObject* kwnames, bool reads,
                     F then) {
  const auto& overloads = *function.overloads;
  PyObject* slots[kMaxParams];
  // max(x, dim) does not take a 0-d tensor for dim as long as max(x, other) does for other.
  for (bool strict = overloads.size() > 1;; strict = false) {
    for (size_t i = 0; i < overloads.size(); ++i) {
      Held held(reads);
      if (match(*overloads[i], args, n_args, kwnames, slots, &held, nullptr, strict)) return then(i, slots);
    }
    if (!strict) break;
  }
  no_match(function, args, n_args, kwnames, slots);
}

// Apart, so that other calls pay for a look at a flag and no more.
__attribute__((noinline)) PyObject* run_profiled(const Overload& o, PyObject** slots) {
  const ProfiledCall profiled([&] { return o.name; });
  return run(o, slots);
}

// A call that fits no overload, but that PyTorch takes besides its signatures: python/strided/_calls/old_calls.py knows
// them. Py_NotImplemented if it is none.
__attribute__((noinline)) PyObject* old_call(PyObject* self, PyObject* const* args, size_t n_args) {
  const Owned given(PyTuple_New(static_cast<Py_ssize_t>(n_args)));
  for (size_t i = 0; i < n_args; ++i) PyTuple_SET_ITEM(given.o, static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
  return PyObject_CallFunctionObjArgs(hook("old_call"), self, given.o, nullptr);
}

PyObject* function_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const size_t n_args = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
    const Function* function = reinterpret_cast<Function*>(self);
    const size_t n_all = n_args + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
    if (taken(args, n_all, function->audience)) return hand_over(self, args, n_args, kwnames, function->audience);
    if (function->draws && draws_for_batch()) return draw_for_batch(self, args, n_args, kwnames);
    const auto& overloads = *function->overloads;
    try {
      return with_match(*function, args, n_args, kwnames, true, [&](size_t i, PyObject** slots) {
        if (__builtin_expect(profile_on.load(std::memory_order_relaxed), 0)) return run_profiled(*overloads[i], slots);
        return run(*overloads[i], slots);
      });
    } catch (const TypeError&) {
      if (kwnames || n_args < 2) throw;
      PyObject* result = old_call(self, args, n_args);
      if (result != Py_NotImplemented) return result;
      Py_DECREF(result);
      throw;
    }
  });
}

// f._bind(*args, **kwargs): (which overload a call would take, the value of each of its parameters).
PyObject* function_bind(PyObject* self, PyObject* const* args, Py_ssize_t n_args, PyObject* kwnames) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Function& function = *reinterpret_cast<Function*>(self);
    const auto& overloads = *function.overloads;
    return with_match(function, args, static_cast<size_t>(n_args), kwnames, false, [&](size_t i, PyObject** slots) {
      const size_t n = overloads[i]->params.size();
      PyObject* values = checked(PyTuple_New(static_cast<Py_ssize_t>(n)));
      for (size_t k = 0; k < n; ++k) PyTuple_SET_ITEM(values, static_cast<Py_ssize_t>(k), Py_NewRef(slots[k]));
      return Py_BuildValue("(nN)", static_cast<Py_ssize_t>(i), values);
    });
  });
}

// As an attribute of another class than Tensor, a function is itself: op = torch.add in a class takes no self.
PyObject* function_get(PyObject* self, PyObject*, PyObject*) { return Py_NewRef(self); }
PyObject* method_get(PyObject* self, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

PyObject* function_repr(PyObject* self) {
  return PyUnicode_FromFormat("<function strided.%U>", reinterpret_cast<Function*>(self)->name);
}

PyObject* function_name(PyObject* self, void*) {
  return guarded<PyObject*>(nullptr, [&] {
    const std::string full = detail::to_string(reinterpret_cast<Function*>(self)->name);
    const size_t dot = full.rfind('.');
    return PyUnicode_FromString(full.substr(dot == std::string::npos ? 0 : dot + 1).c_str());
  });
}
PyObject* function_qualname(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<Function*>(self)->name); }
PyObject* function_module(PyObject*, void*) { return PyUnicode_FromString("strided"); }
PyObject* function_doc(PyObject* self, void*) {
  return guarded<PyObject*>(nullptr, [&] {
    std::string text;
    const auto& overloads = *reinterpret_cast<Function*>(self)->overloads;
    for (size_t i = 0; i < overloads.size(); ++i) {
      const bool known = std::any_of(overloads.begin(), overloads.begin() + static_cast<std::ptrdiff_t>(i),
                                     [&](const auto& other) { return other->doc == overloads[i]->doc; });
      if (!known) text += (text.empty() ? "" : "\n\n") + overloads[i]->doc;
    }
    return PyUnicode_FromString(text.c_str());
  });
}
PyObject* function_signatures(PyObject* self, void*) {
  const auto& overloads = *reinterpret_cast<Function*>(self)->overloads;
  PyObject* list = PyTuple_New(static_cast<Py_ssize_t>(overloads.size()));
  for (size_t i = 0; i < overloads.size(); ++i)
    PyTuple_SET_ITEM(list, static_cast<Py_ssize_t>(i), PyUnicode_FromString(overloads[i]->signature.c_str()));
  return list;
}
PyObject* function_overridable(PyObject* self, void*) {
  return PyBool_FromLong(reinterpret_cast<Function*>(self)->audience == Audience::Everybody);
}
// (parameters, result type, names of the result's parts) of each overload. A parameter is (name, type, kind, default),
// without the default if there is none; its kind is "positional", "variadic" or "keyword".
PyObject* function_overloads(PyObject* self, void*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const auto& overloads = *reinterpret_cast<Function*>(self)->overloads;
    PyObject* list = checked(PyTuple_New(static_cast<Py_ssize_t>(overloads.size())));
    for (size_t i = 0; i < overloads.size(); ++i) {
      const Overload& o = *overloads[i];
      PyObject* params = checked(PyTuple_New(static_cast<Py_ssize_t>(o.params.size())));
      for (size_t k = 0; k < o.params.size(); ++k) {
        const Param& p = o.params[k];
        const char* kind = p.variadic ? "variadic" : p.keyword_only ? "keyword" : "positional";
        PyTuple_SET_ITEM(
            params, static_cast<Py_ssize_t>(k),
            checked(p.default_value ? Py_BuildValue("(OssO)", p.name_object, p.type.c_str(), kind, p.default_value)
                                    : Py_BuildValue("(Oss)", p.name_object, p.type.c_str(), kind)));
      }
      PyObject* fields = checked(PyTuple_New(static_cast<Py_ssize_t>(o.fields.size())));
      for (size_t k = 0; k < o.fields.size(); ++k)
        PyTuple_SET_ITEM(fields, static_cast<Py_ssize_t>(k), checked(PyUnicode_FromString(o.fields[k].c_str())));
      PyTuple_SET_ITEM(list, static_cast<Py_ssize_t>(i),
                       checked(Py_BuildValue("(NsN)", params, o.result.c_str(), fields)));
    }
    return list;
  });
}
// One inspect.Signature for all overloads.
PyObject* function_signature(PyObject* self, void*) {
  return guarded<PyObject*>(nullptr, [&] { return PyObject_CallOneArg(hook("signature"), self); });
}
PyObject* function_text_signature(PyObject* self, void*) {
  return guarded<PyObject*>(nullptr, [&] { return PyObject_CallOneArg(hook("text_signature"), self); });
}
PyObject* function_reduce(PyObject* self, PyObject*) {
  PyObject* maker = hook("function_by_name");
  return Py_BuildValue("(O(O))", maker, reinterpret_cast<Function*>(self)->name);
}

PyGetSetDef function_getset[] = {
    {"__name__", function_name, nullptr, nullptr, nullptr},
    {"__qualname__", function_qualname, nullptr, nullptr, nullptr},
    {"__module__", function_module, nullptr, nullptr, nullptr},
    {"__doc__", function_doc, nullptr, nullptr, nullptr},
    {"__signature__", function_signature, nullptr, nullptr, nullptr},
    {"__text_signature__", function_text_signature, nullptr, nullptr, nullptr},
    {"signatures", function_signatures, nullptr, "The signatures of all overloads, as texts.", nullptr},
    {"_overridable", function_overridable, nullptr, "True if calls go to __torch_function__ of types that have one.",
     nullptr},
    {"overloads", function_overloads, nullptr, "The signatures of all overloads, as tuples.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef function_methods[] = {{"_bind", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function_bind)),
                                   METH_FASTCALL | METH_KEYWORDS, nullptr},
                                  {"__reduce__", function_reduce, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Function, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot function_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(function_get)},
                                {Py_tp_repr, reinterpret_cast<void*>(function_repr)},
                                {Py_tp_getset, function_getset},
                                {Py_tp_methods, function_methods},
                                {Py_tp_members, function_members},
                                {0, nullptr}};
PyType_Spec function_spec = {
    "strided.Function", sizeof(Function), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    function_slots};
// (What Py_TPFLAGS_HAVE_VECTORCALL wants of a type, it wants of a derived one again.)
PyMemberDef method_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, vectorcall), READONLY, nullptr},
                                {nullptr, 0, 0, 0, nullptr}};
PyType_Slot method_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                              {Py_tp_members, method_members},
                              {Py_tp_descr_get, reinterpret_cast<void*>(method_get)},
                              {Py_tp_getset, function_getset},  // again: each type has its own __doc__ and __module__
                              {0, nullptr}};
PyType_Spec method_spec = {
    "strided.Method", sizeof(Function), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    method_slots};

Function* function_named(const std::string& name) {
  if (PyObject* found = PyDict_GetItemString(functions, name.c_str())) return reinterpret_cast<Function*>(found);
  auto* f = PyObject_New(Function, name.compare(0, 7, "Tensor.") == 0 ? method_type : function_type);
  f->vectorcall = function_call;
  f->overloads = new std::vector<std::unique_ptr<Overload>>;
  f->name = PyUnicode_InternFromString(name.c_str());
  f->dict = nullptr;
  f->audience = Audience::Ours;
  f->draws = false;
  PyDict_SetItemString(functions, name.c_str(), reinterpret_cast<PyObject*>(f));
  return f;  // the table keeps it alive for good
}

// Methods of one name may have other overloads than the function (relu_ exists only as a method and so on), so the
// two are told apart by the table's key: methods stand under "Tensor.name".
void add(const std::string& key, const Overload& o) {
  Function* f = function_named(key);
  f->overloads->push_back(std::make_unique<Overload>(o));
  f->draws =
      f->draws || std::any_of(o.params.begin(), o.params.end(), [](const Param& p) { return p.type == "Generator?"; });
  // Modes see what has to do with tensors (Note [Who takes a call]).
  const bool tensors =
      o.result.find("Tensor") != std::string::npos ||
      std::any_of(o.params.begin(), o.params.end(), [](const Param& p) { return p.type.compare(0, 6, "Tensor") == 0; });
  const size_t dot = key.rfind('.');
  if (tensors && key[dot == std::string::npos ? 0 : dot + 1] != '_') f->audience = Audience::Everybody;
}

Overload make_overload(const char* signature, const detail::Callable& callable, const void* context,
                       bool with_out = true) {
  Overload o = parse_signature(signature, with_out);
  o.arity = callable.arity;
  o.accepts = callable.accepts;
  o.invoke = callable.invoke;
  o.notation = callable.notation;
  o.given = callable.result;
  o.context = context;
  if (o.result.empty()) {
    const auto parts = static_cast<size_t>(o.given.parts);
    o.result = o.given.type;
    for (size_t i = 1; i < parts; ++i) o.result += std::string(", ") + o.given.type;
    if (parts) o.result = "(" + o.result + ")";
  }
  const int n = static_cast<int>(o.params.size());
  for (Param& p : o.params) {
    p.takes_tensors = p.type.find("Tensor") != std::string::npos;
    p.any_tensor = p.type == "Tensor" || p.type == "Tensor?";
  }
  o.gathers = o.variadic >= 0 && context == nullptr && o.params[o.variadic].type == "int[]" &&
              callable.notation(o, o.variadic).types == detail::From<Dims>::notation.types;
  o.writes_out = n > 0 && o.params.back().name == "out" &&
                 (context ? callable.arity == detail::kAllButOut : n == callable.arity + 1);
  if ((n != callable.arity && !o.writes_out && context == nullptr) || n > kMaxParams)
    throw std::logic_error(std::string("signature and C++ function differ in the number of parameters: ") + signature);
  return o;
}

}  // namespace

void register_overload(const char* signature, const char* doc, unsigned where, const detail::Callable& callable,
                       const void* context) {
  Overload o = make_overload(signature, callable, context);
  o.doc = doc;
  o.resizes_out = where & kResizesOut;
  o.positions = where & kPositions;
  o.joins = where & kJoins;
  if (where & kFunction) add(o.name, o);
  if (where & kMethod) {
    const size_t dot = o.name.rfind('.');
    if (o.writes_out || (context && o.params.back().name == "out")) {  // which methods do not have
      o = make_overload(signature, callable, context, false);
      o.doc = doc;
    }
    add("Tensor." + (dot == std::string::npos ? o.name : o.name.substr(dot + 1)), o);
  }
}

std::vector<std::string> signature_mismatches() {
  std::vector<std::string> found;
  PyObject *name, *function;
  for (Py_ssize_t at = 0; PyDict_Next(functions, &at, &name, &function);)
    for (const auto& o : *reinterpret_cast<Function*>(function)->overloads) list_mismatches(*o, &found);
  return found;
}

std::vector<std::string> signature_mismatches(const char* name, const char* text) {
  PyObject* f = PyDict_GetItemString(functions, name);
  STRIDED_CHECK(f, ValueError, "no function ", name);
  const Overload& registered = *reinterpret_cast<Function*>(f)->overloads->front();
  const detail::Callable callable{registered.arity, registered.accepts, registered.invoke, registered.notation,
                                  registered.given};
  std::vector<std::string> found;
  list_mismatches(make_overload(text, callable, registered.context), &found);
  return found;
}

PyObject* call_function(const char* name, PyObject* const* args, size_t n) {
  PyObject* f = PyDict_GetItemString(functions, name);
  STRIDED_CHECK(f, NotImplementedError, name, ": not implemented");
  return PyObject_Vectorcall(f, args, n, nullptr);
}

bool call_if_fits(PyObject* function, PyObject* const* args, size_t n, PyObject** result) {
  return call_if_fits(function, args, n, nullptr, result);
}
bool call_if_fits(PyObject* function, PyObject* const* args, size_t n, PyObject* kwnames, PyObject** result) {
  if (Py_TYPE(function) != function_type && Py_TYPE(function) != method_type) return false;
  PyObject* slots[kMaxParams];
  for (const auto& overload : *reinterpret_cast<Function*>(function)->overloads) {
    const Overload& o = *overload;
    Held held(true);
    if (!match(o, args, n, kwnames, slots, &held, nullptr, true)) continue;
    *result = profile_on.load(std::memory_order_relaxed) ? run_profiled(o, slots) : run(o, slots);
    return true;
  }
  return false;
}

void init_functions(PyObject* module) {
  functions = PyDict_New();
  function_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&function_spec)));
  PyModule_AddObjectRef(module, "Function", reinterpret_cast<PyObject*>(function_type));
  method_type = reinterpret_cast<PyTypeObject*>(
      checked(PyType_FromSpecWithBases(&method_spec, reinterpret_cast<PyObject*>(function_type))));
  PyModule_AddObjectRef(module, "functions", functions);
}

}  // namespace strided::python
