// A reference to a Python object for one scope.
#pragma once

#include <utility>

#include "python/py_tensor.h"

namespace strided::python {

struct Owned {
  PyObject* o = nullptr;

  Owned() = default;
  explicit Owned(PyObject* object) : o(checked(object)) {}  // takes the reference over; throws for null
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_XDECREF(o); }
  PyObject* release() { return std::exchange(o, nullptr); }
};

}  // namespace strided::python
