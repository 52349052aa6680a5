// Arguments of Python functions as C++ values: whether an object fits a type of parameter, and what it becomes.
#include "python/function.h"
#include "python/owned.h"

namespace strided::python::detail {

bool is_other_size(PyObject* o) {
  if (PyTuple_Check(o) || PyList_Check(o)) return false;
  if (is_ndarray(o)) {  // one without axes is a number, as NumPy's scalars
    PyObject* number = PyNumber_Index(o);
    if (!number) PyErr_Clear();
    Py_XDECREF(number);
    return number != nullptr;
  }
  return is_integer_like(o) || (is_tensor(o) && unwrap(o).numel() == 1 && is_integer(unwrap(o).dtype()));
}

std::string to_string(PyObject* o) {
  Py_ssize_t n = 0;
  const char* text = PyUnicode_AsUTF8AndSize(o, &n);
  if (!text) throw PythonError{};
  return std::string(text, static_cast<size_t>(n));
}

bool accepts_dims(PyObject* o) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return is_size_like(o);
  PyObject** items = PySequence_Fast_ITEMS(o);
  for (Py_ssize_t i = 0, n = PySequence_Fast_GET_SIZE(o); i < n; ++i)
    if (!is_size_like(items[i])) return false;
  return true;
}

namespace {
// An item of a sequence of integers. One beyond 64 bits is a TypeError, as in PyTorch, where a single one is a
// ValueError.
int64_t to_int_at(PyObject* o, Py_ssize_t place) {
  PyObject* index = checked(PyNumber_Index(o));
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(index, &overflow);
  Py_DECREF(index);
  STRIDED_CHECK(!overflow, TypeError, "failed to unpack the object at pos ", place + 1,
                " with error \"Overflow when unpacking long long\"");
  return v;
}
}  // namespace

Dims to_dims(PyObject* o) {
  Dims out;
  if (!PyTuple_Check(o) && !PyList_Check(o)) {
    out.push_back(to_int(o));
    return out;
  }
  // An __index__ method may change a list while it is read: every item is fetched anew.
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(o, i);
    int64_t value;
    if (!read_small_int(item, &value)) value = to_int_at(item, i);
    out.push_back(value);
  }
  return out;
}

bool accepts_tensors(PyObject* o) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    if (!is_tensor(PySequence_Fast_GET_ITEM(o, i))) return false;
  return true;
}

// The __index__ method of another argument may have changed the list since it was accepted: its items are looked at
// again.
const Tensor& still_tensor(PyObject* o) {
  STRIDED_CHECK(is_tensor(o), TypeError,
                "expected Tensor, but a list of tensors was changed during the call and holds ", Py_TYPE(o)->tp_name);
  return unwrap(o);
}

std::vector<Tensor> to_tensors(PyObject* o) {
  std::vector<Tensor> out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    out.push_back(still_tensor(PySequence_Fast_GET_ITEM(o, i)));
  return out;
}

bool accepts_optional_tensors(PyObject* o) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    PyObject* e = PySequence_Fast_GET_ITEM(o, i);
    if (e != Py_None && !is_tensor(e)) return false;
  }
  return true;
}

std::vector<std::optional<Tensor>> to_optional_tensors(PyObject* o) {
  std::vector<std::optional<Tensor>> out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    PyObject* e = PySequence_Fast_GET_ITEM(o, i);
    if (e == Py_None) out.push_back(std::nullopt);
    else out.push_back(still_tensor(e));
  }
  return out;
}

bool is_number_tensor(PyObject* o) { return is_tensor(o) && unwrap(o).numel() == 1 && !unwrap(o).requires_grad(); }

bool accepts_double(PyObject* o) {
  if (PyFloat_Check(o) || PyLong_Check(o)) return true;
  if (is_tensor(o)) return is_number_tensor(o) && !is_complex(unwrap(o).dtype());
  return is_number(o) && !PyComplex_Check(o);
}

double to_double(PyObject* o) {
  if (is_tensor(o)) return item(unwrap(o)).real();
  const double v = PyFloat_AsDouble(o);
  if (v == -1.0 && PyErr_Occurred()) throw PythonError{};
  return v;
}

bool accepts_bool(PyObject* o) {
  if (PyBool_Check(o)) return true;
  return is_number(o) && std::string(Py_TYPE(o)->tp_name).find("bool") != std::string::npos;
}

PyObject* tensors_to_tuple(const Overload& o, const Tensor* first, size_t n, bool in_out) {
  PyObject* tuple;
  if (o.fields.size() == n && n > 0) {
    PyObject*& made = in_out ? const_cast<Overload&>(o).out_type : const_cast<Overload&>(o).return_type;
    if (!made) {
      const Owned fields(PyTuple_New(static_cast<Py_ssize_t>(n)));
      for (size_t i = 0; i < n; ++i)
        PyTuple_SET_ITEM(fields.o, static_cast<Py_ssize_t>(i), PyUnicode_FromString(o.fields[i].c_str()));
      const std::string name = o.name + (in_out ? "_out" : "");
      made = checked(PyObject_CallFunction(hook("return_type"), "sO", name.c_str(), fields.o));
    }
    auto* type = reinterpret_cast<PyTypeObject*>(made);
    tuple = checked(type->tp_alloc(type, static_cast<Py_ssize_t>(n)));
  } else {
    tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(n)));
  }
  for (size_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), wrap(first[i]));
  return tuple;
}

}  // namespace strided::python::detail
