#include "python/fused.h"

#include <string>

#include "autograd/fused_gradient.h"
#include "core/promotion.h"
#include "ops/call.h"
#include "ops/fuse/logged_call.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "python/method_def.h"
#include "python/overrides.h"
#include "python/owned.h"

namespace strided::python {
namespace {

constexpr const char* kCall = "strided.logged_call";

void free_call(PyObject* capsule) { delete static_cast<LoggedCall*>(PyCapsule_GetPointer(capsule, kCall)); }

const LoggedCall& call_of(PyObject* capsule) {
  const void* call = PyCapsule_GetPointer(capsule, kCall);
  if (!call) throw PythonError{};
  return *static_cast<const LoggedCall*>(call);
}

// (call, name, obstacle or None, the tensors it reads, its result, whether it reduces rows one by one: None for no
// reduction)
PyObject* described(LoggedCall&& logged) {
  Owned call(PyCapsule_New(new LoggedCall(std::move(logged)), kCall, free_call));
  const LoggedCall& c = call_of(call.o);
  Owned reads(PyList_New(0));
  for (const LoggedCall::Value& v : c.in) {
    if (!v.is_tensor) continue;
    Owned t(wrap(v.tensor));
    if (PyList_Append(reads.o, t.o) < 0) throw PythonError{};
  }
  Owned out(wrap(c.out));
  PyObject* by_row = c.kind != LoggedCall::Kind::Reduction ? Py_None : reduces_by_row(c) ? Py_True : Py_False;
  return checked(Py_BuildValue("(OszOOO)", call.o, name_of(c), c.obstacle, reads.o, out.o, by_row));
}

// _log_calls(function, args, kwargs or None): its result, how many calls wrote to an operand, and the calls.
PyObject* log_calls(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    STRIDED_CHECK(n == 3, TypeError, "_log_calls takes a function, its arguments and its keywords");
    CallLog log;
    PyObject* made;
    {
      const CallLogGuard logging(&log);
      made = PyObject_Call(args[0], args[1], args[2] == Py_None ? nullptr : args[2]);
    }
    Owned result(made);
    Owned calls(PyList_New(0));
    for (LoggedCall& call : log.calls) {
      Owned entry(described(std::move(call)));
      if (PyList_Append(calls.o, entry.o) < 0) throw PythonError{};
    }
    return Py_BuildValue("(OLO)", result.o, static_cast<long long>(log.writes), calls.o);
  });
}

// ---------------------------------------------------------------- programs

struct PyProgram {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::shared_ptr<const FusedProgram> program;
};
PyTypeObject* program_type = nullptr;

const std::shared_ptr<const FusedProgram>& program_of(PyObject* self) {
  return reinterpret_cast<PyProgram*>(self)->program;
}

PyObject* wrap_results(std::vector<Tensor>&& results) {
  if (results.size() == 1) return wrap(std::move(results[0]));
  Owned tuple(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  for (size_t i = 0; i < results.size(); ++i)
    PyTuple_SET_ITEM(tuple.o, static_cast<Py_ssize_t>(i), checked(wrap(std::move(results[i]))));
  return tuple.release();
}

std::vector<Tensor> tensors_of(PyObject* const* args, Py_ssize_t n, int wanted) {
  STRIDED_CHECK(n == wanted, TypeError, "a fused program takes ", wanted, " tensors, got ", n);
  std::vector<Tensor> inputs;
  inputs.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    STRIDED_CHECK(is_tensor(args[i]), TypeError, "a fused program takes tensors, got ", Py_TYPE(args[i])->tp_name);
    inputs.push_back(unwrap(args[i]));
  }
  return inputs;
}

PyObject* program_call(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  return guarded<PyObject*>(nullptr, [&] {
    STRIDED_CHECK(!names || PyTuple_GET_SIZE(names) == 0, TypeError, "a fused program takes no keywords");
    const auto& program = program_of(self);
    return wrap_results(run_recorded(program, tensors_of(args, PyVectorcall_NARGS(flags), program->n_inputs())));
  });
}

PyObject* program_run_calls(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return guarded<PyObject*>(nullptr, [&] {
    const auto& program = program_of(self);
    const std::vector<Tensor> inputs = tensors_of(args, n, program->n_inputs());
    return wrap_results(program->run_calls(inputs.data()));
  });
}

void program_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  using Program = std::shared_ptr<const FusedProgram>;
  reinterpret_cast<PyProgram*>(self)->program.~Program();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* program_obstacle(PyObject* self, void*) {
  const FusedProgram& program = *program_of(self);
  if (program.is_fused()) Py_RETURN_NONE;
  return PyUnicode_FromString(program.obstacle().c_str());
}
PyObject* program_registers(PyObject* self, void*) { return PyLong_FromLong(program_of(self)->n_registers()); }

// _fuse_calls(calls, inputs, outputs): a FusedProgram.
PyObject* fuse_calls(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    STRIDED_CHECK(n == 3, TypeError, "_fuse_calls takes calls, inputs and outputs");
    std::vector<const LoggedCall*> calls;
    std::vector<Tensor> tensors[2];
    for (int k = 0; k < 3; ++k) {
      Owned list(PySequence_Fast(args[k], "_fuse_calls takes lists"));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.o); ++i) {
        PyObject* item = PySequence_Fast_GET_ITEM(list.o, i);
        if (k == 0) {
          calls.push_back(&call_of(item));
        } else {
          STRIDED_CHECK(is_tensor(item), TypeError, "_fuse_calls: a tensor is required");
          tensors[k - 1].push_back(unwrap(item));
        }
      }
    }
    STRIDED_CHECK(!tensors[1].empty(), ValueError, "_fuse_calls: there must be an output");
    auto program = std::make_shared<const FusedProgram>(calls, tensors[0], tensors[1]);
    auto* p = PyObject_New(PyProgram, program_type);
    if (!p) return nullptr;
    p->vectorcall = program_call;
    new (&p->program) std::shared_ptr<const FusedProgram>(std::move(program));
    return reinterpret_cast<PyObject*>(p);
  });
}

// ---------------------------------------------------------------- guards

template <class T>
void put(std::string* key, const T& value) {
  key->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

PyTypeObject* parameter_type = nullptr;  // strided.nn.Parameter: _trace_parameter_type tells it

constexpr int kMostNested = 32;  // lists in lists; one may hold itself

// What a trace of a function depends on, of one argument; false for an object that it cannot tell.
bool put_argument(std::string* key, PyObject* o, std::vector<const TensorImpl*>* seen, int depth = 0) {
  if (depth > kMostNested) return false;
  if (Py_TYPE(o) == tensor_type || Py_TYPE(o) == parameter_type) {
    const Tensor& t = unwrap(o);
    key->push_back('t');
    key->push_back(static_cast<char>(t.dtype()));
    key->push_back(static_cast<char>(t.device().type));
    key->push_back(static_cast<char>(t.device().index));
    key->push_back(static_cast<char>(t.requires_grad() + 2 * (Py_TYPE(o) == parameter_type)));
    key->push_back(static_cast<char>(t.ndim()));
    // The same tensor twice is another trace.
    size_t same = 0;
    while (same < seen->size() && (*seen)[same] != t.impl()) ++same;
    put(key, same);
    seen->push_back(t.impl());
    for (int64_t s : t.shape()) put(key, s);
    for (int64_t s : t.strides()) put(key, s);
    return true;
  }
  if (o == Py_None || o == Py_True || o == Py_False) {
    key->push_back(o == Py_None ? 'N' : o == Py_True ? 'T' : 'F');
    return true;
  }
  if (PyFloat_CheckExact(o)) {
    key->push_back('f');
    put(key, PyFloat_AS_DOUBLE(o));
    return true;
  }
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) return false;
    key->push_back('i');
    put(key, value);
    return true;
  }
  if (PyUnicode_CheckExact(o)) {
    Py_ssize_t n = 0;
    const char* text = PyUnicode_AsUTF8AndSize(o, &n);
    if (!text) {
      PyErr_Clear();
      return false;
    }
    key->push_back('s');
    put(key, n);
    key->append(text, static_cast<size_t>(n));
    return true;
  }
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    key->push_back(PyTuple_CheckExact(o) ? '(' : '[');
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    put(key, n);
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!put_argument(key, PySequence_Fast_GET_ITEM(o, i), seen, depth + 1)) return false;
    return true;
  }
  if (PyDict_CheckExact(o)) {
    key->push_back('{');
    put(key, PyDict_GET_SIZE(o));
    PyObject *name, *value;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &name, &value);)
      if (!PyUnicode_CheckExact(name) || !put_argument(key, name, seen) || !put_argument(key, value, seen, depth + 1))
        return false;
    return true;
  }
  return false;
}

// _trace_key(args, kwargs): bytes that are equal for calls which the same trace serves as far as their arguments and
// the modes of this thread go. None while a mode is on, and where an argument is neither tensor, number, text nor a
// list, tuple or dict of them, nested 32 deep at most.
PyObject* trace_key(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    if (taken(args, size_t(0))) Py_RETURN_NONE;  // a mode is on, which is to see the calls
    thread_local std::string key;
    thread_local std::vector<const TensorImpl*> seen;
    key.clear();
    seen.clear();
    key.push_back(static_cast<char>(grad_enabled()));
    key.push_back(static_cast<char>(default_dtype()));
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!put_argument(&key, args[i], &seen)) Py_RETURN_NONE;
    return PyBytes_FromStringAndSize(key.data(), static_cast<Py_ssize_t>(key.size()));
  });
}

PyObject* set_parameter_type(PyObject*, PyObject* type) {
  parameter_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
  Py_RETURN_NONE;
}

PyMethodDef program_methods[] = {
    {"calls", as_c(program_run_calls), METH_FASTCALL, "The same, call by call, on inputs of any layout."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef program_getset[] = {
    {"obstacle", program_obstacle, nullptr, "Why calls run one by one; None: they are fused.", nullptr},
    {"registers", program_registers, nullptr, "Number of block buffers.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef program_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyProgram, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot program_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                               {Py_tp_dealloc, reinterpret_cast<void*>(program_dealloc)},
                               {Py_tp_methods, program_methods},
                               {Py_tp_getset, program_getset},
                               {Py_tp_members, program_members},
                               {0, nullptr}};
PyType_Spec program_spec = {"strided._C.FusedProgram", sizeof(PyProgram), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                            program_slots};

PyMethodDef functions[] = {{"_log_calls", as_c(log_calls), METH_FASTCALL, nullptr},
                           {"_fuse_calls", as_c(fuse_calls), METH_FASTCALL, nullptr},
                           {"_trace_key", as_c(trace_key), METH_FASTCALL, nullptr},
                           {"_trace_parameter_type", set_parameter_type, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_fused(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
  if (PyModule_AddIntConstant(module, "_MOST_FUSED_ROW", FusedPlan::kMostRow) < 0) throw PythonError{};
  program_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&program_spec)));
}

}  // namespace strided::python
