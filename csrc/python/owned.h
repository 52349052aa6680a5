// References to Python objects that are owned.
#pragma once

#include <utility>

#include "python/py_tensor.h"

namespace strided::python {

// For one scope.
struct Owned {
  PyObject* o = nullptr;

  Owned() = default;
  explicit Owned(PyObject* object) : o(checked(object)) {}  // takes the reference over; throws for null
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_XDECREF(o); }
  PyObject* release() { return std::exchange(o, nullptr); }
};

// Of an object of C++ that may die in any thread, also without the interpreter's lock.
class SharedOwned {
 public:
  explicit SharedOwned(PyObject* o) : o_(Py_NewRef(o)) {}
  ~SharedOwned() { clear(); }
  SharedOwned(const SharedOwned&) = delete;
  SharedOwned& operator=(const SharedOwned&) = delete;
  PyObject* get() const { return o_; }
  void clear() {
    if (o_ == nullptr || !Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_CLEAR(o_);
    PyGILState_Release(state);
  }

 private:
  PyObject* o_;
};

// For what knows nothing of Python and owns an object by a Ref.
struct RefOwned : RefCounted {
  explicit RefOwned(PyObject* o) : object(o) {}
  SharedOwned object;
};

}  // namespace strided::python
