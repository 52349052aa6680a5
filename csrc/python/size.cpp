#include "python/size.h"

#include <string>

#include "python/function.h"
#include "python/owned.h"

namespace strided::python {

PyTypeObject* size_type = nullptr;

namespace {

// Room for n sizes. The collector of cycles does not see it: integers make none.
PyObject* allocate(Py_ssize_t n) {
  auto* made = checked(reinterpret_cast<PyObject*>(PyObject_GC_NewVar(PyTupleObject, size_type, n)));
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(made, i, nullptr);
#if PY_VERSION_HEX >= 0x030E0000
  reinterpret_cast<PyTupleObject*>(made)->ob_hash = -1;
#endif
  return made;
}

// A new reference to the size as it is stored: an int, or an integer of NumPy as it is.
PyObject* stored(PyObject* size, Py_ssize_t i) {
  if (PyLong_Check(size)) return Py_NewRef(size);
  PyObject* number = PyNumber_Index(size);
  if (!number) {
    if (PyErr_ExceptionMatches(PyExc_TypeError))
      PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i,
                   short_type_name(size));
    throw PythonError{};
  }
  if (!is_numpy_scalar(size)) return number;
  Py_DECREF(number);
  return Py_NewRef(size);
}

PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    Owned made(PyTuple_Type.tp_new(type, args, kwargs));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(made.o); ++i) {
      PyObject* given = PyTuple_GET_ITEM(made.o, i);
      if (PyLong_CheckExact(given)) continue;
      PyTuple_SET_ITEM(made.o, i, stored(given, i));
      Py_DECREF(given);
    }
    return made.release();
  });
}

void size_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);  // those made by size_new are tracked
  for (Py_ssize_t i = PyTuple_GET_SIZE(self); --i >= 0;) Py_XDECREF(PyTuple_GET_ITEM(self, i));
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* size_repr(PyObject* self) {
  return guarded<PyObject*>(nullptr, [&] {
    std::string text = "torch.Size([";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
      const Owned size(PyObject_Str(PyTuple_GET_ITEM(self, i)));
      text += (i ? ", " : "") + detail::to_string(size.o);
    }
    return PyUnicode_FromString((text + "])").c_str());
  });
}

PyObject* size_subscript(PyObject* self, PyObject* key) {
  if (PyLong_CheckExact(key)) {
    int overflow = 0;
    long long i = PyLong_AsLongLongAndOverflow(key, &overflow);
    const Py_ssize_t n = PyTuple_GET_SIZE(self);
    if (i < 0) i += n;
    if (!overflow && i >= 0 && i < n) return Py_NewRef(PyTuple_GET_ITEM(self, static_cast<Py_ssize_t>(i)));
  }
  PyObject* found = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  if (!found || !PySlice_Check(key)) return found;
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Owned part(found);
    PyObject* made = allocate(PyTuple_GET_SIZE(found));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(found); ++i)
      PyTuple_SET_ITEM(made, i, Py_NewRef(PyTuple_GET_ITEM(found, i)));
    return made;
  });
}

// A tuple that other functions made, as a Size. Null stays null.
PyObject* as_size(PyObject* tuple) {
  if (!tuple) return nullptr;
  PyObject* made = PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), tuple);
  Py_DECREF(tuple);
  return made;
}

// size + tuple, and tuple + size.
PyObject* size_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a)) Py_RETURN_NOTIMPLEMENTED;
  if (!PyTuple_Check(b)) {
    if (PyObject_HasAttrString(b, "__radd__")) Py_RETURN_NOTIMPLEMENTED;  // another type's, which Python asks next
    PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not %s) to torch.Size", short_type_name(b));
    return nullptr;
  }
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}

PyObject* size_repeat(PyObject* self, Py_ssize_t times) {
  return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(self, times));
}

PyObject* size_numel(PyObject* self, PyObject*) {
  PyObject* n = PyLong_FromLong(1);
  for (Py_ssize_t i = 0; n && i < PyTuple_GET_SIZE(self); ++i) {
    PyObject* next = PyNumber_Multiply(n, PyTuple_GET_ITEM(self, i));  // may be beyond 64 bits
    Py_DECREF(n);
    n = next;
  }
  return n;
}

// Protocols below 2 ask for this.
PyObject* size_reduce(PyObject* self, PyObject*) {
  PyObject* tuple = PySequence_Tuple(self);
  return tuple ? Py_BuildValue("(O(N))", Py_TYPE(self), tuple) : nullptr;
}

const char* const kDoc =
    "Size(iterable=(), /)\n--\n\n"
    "The sizes of a tensor's axes; a tuple in every respect, but slices and sums of it are ``Size`` again.\n\n"
    "A size is an int, or an integer of another kind, a tensor with one element for instance, which becomes an int.\n"
    "TypeError for anything else. (A tensor's own shape is made without this constructor.)\n\n"
    ">>> s = strided.Size([2, 3, 4])\n"
    ">>> s, s[1:], s + (5,), s.numel()\n"
    "(torch.Size([2, 3, 4]), torch.Size([3, 4]), torch.Size([2, 3, 4, 5]), 24)\n"
    ">>> s == (2, 3, 4) and hash(s) == hash((2, 3, 4))\n"
    "True\n";

PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS,
                               "numel($self, /)\n--\n\n"
                               "The product of the sizes: elements of a tensor of this shape (1 for no axes)."},
                              {"__reduce__", size_reduce, METH_NOARGS, nullptr},
                              {nullptr, nullptr, 0, nullptr}};
PyType_Slot size_slots[] = {{Py_tp_doc, const_cast<char*>(kDoc)},
                            {Py_tp_new, reinterpret_cast<void*>(size_new)},
                            {Py_tp_dealloc, reinterpret_cast<void*>(size_dealloc)},
                            {Py_tp_repr, reinterpret_cast<void*>(size_repr)},
                            {Py_tp_methods, size_methods},
                            {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
                            {Py_nb_add, reinterpret_cast<void*>(size_add)},
                            {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
                            {0, nullptr}};
PyType_Spec size_spec = {"strided.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, size_slots};

}  // namespace

PyObject* wrap_size(const Dims& shape) {
  Owned made(allocate(static_cast<Py_ssize_t>(shape.size())));
  for (size_t i = 0; i < shape.size(); ++i)
    PyTuple_SET_ITEM(made.o, static_cast<Py_ssize_t>(i), checked(PyLong_FromLongLong(shape[i])));
  return made.release();
}

void init_size(PyObject* module) {
  size_type = reinterpret_cast<PyTypeObject*>(
      checked(PyType_FromSpecWithBases(&size_spec, reinterpret_cast<PyObject*>(&PyTuple_Type))));
  PyModule_AddObjectRef(module, "Size", reinterpret_cast<PyObject*>(size_type));
}

}  // namespace strided::python
