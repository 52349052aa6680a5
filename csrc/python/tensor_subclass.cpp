#include "python/tensor_subclass.h"

#include "ops/record.h"
#include "python/overrides.h"
#include "python/owned.h"

namespace strided::python {
namespace {

PyObject* unwrapped = nullptr;  // functions whose results keep their type

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
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(result);
  if (n == 0) return result;  // there is one empty tuple, and none is allocated
  Owned held(result);
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
    STRIDED_CHECK(!require_grad || !t.storage().of_inference() || inference_mode(), RuntimeError,
                  "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
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
      const TypesOff off(true);
      result = checked(PyObject_Call(func, positional.o, kwargs == Py_None ? nullptr : kwargs));
    }
    const int keeps = PySet_Contains(unwrapped, func);
    if (keeps < 0) PyErr_Clear();  // not hashable: nothing of ours
    if (keeps == 1 || cls == reinterpret_cast<PyObject*>(tensor_type)) return result;
    return converted(result, reinterpret_cast<PyTypeObject*>(cls));
  });
}

void init_subclasses(PyObject* module) {
  unwrapped = checked(PySet_New(nullptr));
  for (const char* name : {"_base", "grad"}) {
    Owned property(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
    Owned get(PyObject_GetAttrString(property.o, "__get__"));
    if (PySet_Add(unwrapped, get.o) < 0) throw PythonError{};
  }
  if (PyModule_AddObjectRef(module, "_unwrapped_functions", unwrapped) < 0) throw PythonError{};
}

}  // namespace strided::python
