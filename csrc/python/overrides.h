// __torch_function__: calls that a type of the user's own takes over.
#pragma once

#include <atomic>

#include "python/py_tensor.h"

namespace strided::python {

// Note [Who takes a call]
// Where arguments arrive (Function, the slots, methods and properties of Tensor, functions written in Python that
// `overridable` in python/strided/_calls/overrides.py marks) one question is asked first: is there, among the arguments
// and in lists of them, an object whose type has a __torch_function__ of its own, or is a mode on? For tensors the
// answer is a comparison of types. If so, hand_over asks the modes, then these objects, subclasses before their bases
// and else from left to right, until one does not return NotImplemented.
// Functions whose name begins with an underscore are no API: they are handed only to types of this package, which say
// so by a method __strided_function__ (strided.func). These take calls also while __torch_function__ is switched off.
// A class with a __torch_dispatch__ has a method __strided_dispatch__ (strided._dispatch.subclasses). It is asked last,
// also by private functions and while __torch_function__ is switched off, except for Questions: about shapes, dtypes
// and gradients, which the tensor itself answers.
enum class Audience { Everybody, Ours, Questions };

extern std::atomic<int> modes_on;  // of all threads
bool mode_is_on();                 // of this one

bool is_taken(PyObject* const* args, size_t n, Audience audience);

inline bool never_asks(PyTypeObject* type) {
  return type == tensor_type || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type;
}
inline bool taken(PyObject* const* args, size_t n, Audience audience = Audience::Everybody) {
  for (size_t i = 0; i < n; ++i)
    if (!never_asks(Py_TYPE(args[i]))) return is_taken(args, n, audience);
  return modes_on.load(std::memory_order_relaxed) != 0 && is_taken(args, n, audience);
}
inline bool taken(PyObject* o, Audience audience = Audience::Everybody) { return taken(&o, 1, audience); }
inline bool taken(PyObject* a, PyObject* b) {
  if (never_asks(Py_TYPE(a)) && never_asks(Py_TYPE(b)) && modes_on.load(std::memory_order_relaxed) == 0) return false;
  PyObject* both[] = {a, b};
  return is_taken(both, 2, Audience::Everybody);
}

// Inside strided.vmap random numbers are drawn by a function that strided.func sets: they depend on the batch.
bool draws_for_batch();
PyObject* draw_for_batch(PyObject* func, PyObject* const* args, size_t n_args, PyObject* kwnames);

// The result of func(*args, **kwargs) from those who take it. New references; TypeError if all decline.
PyObject* hand_over(PyObject* func, PyObject* args, PyObject* kwargs, Audience audience = Audience::Everybody);
PyObject* hand_over(PyObject* func, PyObject* const* args, size_t n_args, PyObject* kwnames,
                    Audience audience = Audience::Everybody);
// The same of an attribute of Tensor: a method, a slot, or with `part` ("__get__", "__set__") a property.
PyObject* hand_over_attribute(const char* name, const char* part, PyObject* const* args, size_t n_args,
                              PyObject* kwnames = nullptr);

// Types are not asked for __torch_function__, if `on`.
class TypesOff {
 public:
  explicit TypesOff(bool on);
  TypesOff(const TypesOff&) = delete;
  ~TypesOff();

 private:
  int before_;
};

void init_overrides(PyObject* module);

}  // namespace strided::python
