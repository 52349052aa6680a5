// The Python types that stand for C++ values: Tensor, dtype, device, Size; and how to cross between both.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <optional>
#include <string>

#include "base/stack.h"
#include "core/scalar.h"
#include "ops/copy.h"
#include "tensor/tensor.h"

namespace strided::python {

// A Python exception is set; unwinds to the boundary.
struct PythonError {};

struct PyTensor {
  PyObject_HEAD Tensor tensor;
  PyObject* dict;
  PyObject* weak;
};

extern PyTypeObject* tensor_type;

inline bool is_tensor(PyObject* o) { return Py_TYPE(o) == tensor_type || PyObject_TypeCheck(o, tensor_type); }
inline const Tensor& unwrap(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->tensor; }
// New reference; the same object for the same tensor. None for an undefined one.
PyObject* wrap(const Tensor& t);
PyObject* wrap(Tensor&& t);
PyObject* wrap_as(PyTypeObject* type, Tensor t);

bool is_dtype(PyObject* o);  // a dtype, or float, int, bool, complex
DType to_dtype(PyObject* o);
PyObject* wrap(DType t);
bool is_device(PyObject* o);  // a device, its name, or the index of a cuda device
Device to_device(PyObject* o);
PyObject* wrap(Device d);
PyObject* wrap_size(const Dims& shape);  // torch.Size
PyObject* wrap_tuple(const Dims& values);

const char* short_type_name(PyObject* o);  // without the module

bool is_numpy_scalar(PyObject* o);
bool is_number(PyObject* o);  // Python and NumPy numbers; not tensors
Scalar to_scalar(PyObject* o);
PyObject* wrap(const Scalar& s);
bool is_integer_like(PyObject* o);  // has __index__, and is no bool
int64_t to_int(PyObject* o);        // RuntimeError when it does not fit
// The value of an int of one digit, as nearly all are; false for any other object.
inline bool read_small_int(PyObject* o, int64_t* to) {
  if (!PyLong_CheckExact(o)) return false;
  auto* number = reinterpret_cast<PyLongObject*>(o);
#if PY_VERSION_HEX >= 0x030C0000
  if (!PyUnstable_Long_IsCompact(number)) return false;
  *to = PyUnstable_Long_CompactValue(number);
#else
  const Py_ssize_t digits = Py_SIZE(o);  // negative where the number is
  if (digits < -1 || digits > 1) return false;
  *to = digits * static_cast<int64_t>(number->ob_digit[0]);
#endif
  return true;
}

PyObject* to_list(const Tensor& t);

// An ndarray is viewed, anything else copied as below.
Tensor tensor_from_object(PyObject* o);
// Lists, arrays, numbers, tensors -> a new tensor. nullopt dtype: inferred as torch.tensor does.
Tensor tensor_from_object(PyObject* o, std::optional<DType> dtype);
// PyTorch's warning of `function`(o) where o is a tensor; `level` as PyErr_WarnEx counts frames.
void warn_of_copy(PyObject* o, const std::string& function, int level);
bool is_ndarray(PyObject* o);

// Python helpers the package registers once: "repr", "from_numpy", "return_type", ...
void set_hook(const std::string& name, PyObject* value);
PyObject* hook(const char* name);  // borrowed; RuntimeError when missing

// Runs f and turns C++ exceptions into Python ones; `failed` is returned then. Calls of Python within calls of Python
// come by here again and again, so here the stack is looked at.
void set_python_error();
template <class R, class F>
R guarded(R failed, F&& f) {
  try {
    check_stack();
    return f();
  } catch (...) {
    set_python_error();
    return failed;
  }
}

inline PyObject* checked(PyObject* o) {
  if (o == nullptr) throw PythonError{};
  return o;
}

void init_types(PyObject* module);
void init_tensor(PyObject* module);

// The tensor without its record for autograd: as a view of the same memory, or in place (RuntimeError for a view).
Tensor detach(const Tensor& t);
Tensor detach_(const Tensor& t);

}  // namespace strided::python
