#include "python/kept_object.h"

#include <new>
#include <utility>

#include "python/overrides.h"
#include "python/owned.h"
#include "python/py_node.h"
#include "tensor/foreign.h"

namespace strided::python {
namespace {

// What is kept of an object (Note [Objects that come back]).
struct Kept {
  PyTypeObject* type;  // owned
  PyObject* dict;      // owned, or null

  Kept(PyTypeObject* t, PyObject* d) : type(t), dict(d) { Py_INCREF(type); }
  Kept(const Kept&) = delete;
  ~Kept() {
    Py_XDECREF(dict);
    Py_DECREF(type);
  }
};

constexpr uintptr_t kKept = 1;
Kept* kept_of(void* py_object) {
  const auto address = reinterpret_cast<uintptr_t>(py_object);
  return address & kKept ? reinterpret_cast<Kept*>(address - kKept) : nullptr;
}

void drop_kept(void* py_object) {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  delete kept_of(py_object);
  PyGILState_Release(state);
}

// As Note [Gradients whose values are elsewhere] has it.
bool class_has(const Tensor& grad, const char* name) {
  void* shown = grad.impl()->py_object;
  if (!shown) return false;
  const Kept* kept = kept_of(shown);
  PyTypeObject* type = kept ? kept->type : Py_TYPE(static_cast<PyObject*>(shown));
  return type != tensor_type && PyObject_HasAttrString(reinterpret_cast<PyObject*>(type), name);
}
bool dispatches(const Tensor& grad) { return class_has(grad, "__strided_dispatch__"); }
bool is_foreign(const Tensor& grad, bool same_device) {
  return same_device ? dispatches(grad) : class_has(grad, "_values_are_elsewhere") || dispatches(grad);
}
bool is_batch(const Tensor& grad) { return class_has(grad, "_as_gradient"); }

void carry(const Tensor& from, const Tensor& to) {
  if (!dispatches(from)) return;
  void* shown = from.impl()->py_object;
  const Kept* kept = kept_of(shown);
  auto* object = static_cast<PyObject*>(shown);
  PyObject* dict = kept ? kept->dict : reinterpret_cast<PyTensor*>(object)->dict;
  PyObject* copy = dict ? checked(PyDict_Copy(dict)) : nullptr;
  // (What it is a view of would hold the graph that holds it.)
  if (copy && PyDict_DelItemString(copy, "_strided_view") < 0) PyErr_Clear();
  auto* made = new Kept(kept ? kept->type : Py_TYPE(object), copy);
  to.impl()->py_object = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(made) | kKept);
}

Tensor add(const Tensor& a, const Tensor& b, bool in_place) {
  const bool theirs = dispatches(a) || dispatches(b);
  if (!theirs && is_foreign(a, false) && !is_foreign(b, false))
    return add(b, a, false);  // a dense tensor takes a sparse one, not the reverse
  const TypesOff off(theirs);
  in_place = in_place && (!theirs || dispatches(a));
  const Owned first(wrap(a)), second(wrap(b));
  const Owned sum((in_place ? PyNumber_InPlaceAdd : PyNumber_Add)(first.o, second.o));
  return unwrap_gradient(sum.o);
}

PyObject* to_object(const TensorList& list) {
  PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); ++i) PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), wrap(list[i]));
  return tuple;
}
TensorList to_list(PyObject* tuple) {
  TensorList list(static_cast<size_t>(PyTuple_GET_SIZE(tuple)));
  for (size_t i = 0; i < list.size(); ++i)
    if (PyObject* item = PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(i)); item != Py_None)
      list[i] = unwrap_gradient(item);
  return list;
}

Tensor fit_batch(const Tensor& grad, const Dims& shape, DType dtype) {
  const Owned object(wrap(grad)), sizes(wrap_size(shape)), kind(wrap(dtype));
  const Owned made(checked(PyObject_CallFunctionObjArgs(hook("fitted_gradient"), object.o, sizes.o, kind.o, nullptr)));
  return unwrap_gradient(made.o);
}
std::vector<TensorList> samples(const TensorList& grads) {
  const Owned given(to_object(grads));
  const Owned made(checked(PyObject_CallOneArg(hook("samples_of_gradients"), given.o)));
  std::vector<TensorList> rows;
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(made.o); ++k) rows.push_back(to_list(PyList_GET_ITEM(made.o, k)));
  return rows;
}
TensorList join(const TensorList& grads, const std::vector<TensorList>& results) {
  const Owned given(to_object(grads)), rows(PyList_New(static_cast<Py_ssize_t>(results.size())));
  for (size_t k = 0; k < results.size(); ++k)
    PyList_SET_ITEM(rows.o, static_cast<Py_ssize_t>(k), to_object(results[k]));
  const Owned made(checked(PyObject_CallFunctionObjArgs(hook("joined_gradients"), given.o, rows.o, nullptr)));
  return to_list(made.o);
}

Tensor own(const Tensor& grad, const Tensor& leaf, bool copy) {
  if (!dispatches(grad)) return grad;
  const TypesOff off(true);
  const Owned object(wrap(grad)), like(wrap(leaf));
  const Owned made(checked(
      PyObject_CallFunctionObjArgs(hook("own_gradient"), object.o, like.o, copy ? Py_True : Py_False, nullptr)));
  return unwrap(made.o);
}

}  // namespace

Tensor unwrap_gradient(PyObject* o) {
  if (Py_TYPE(o) == tensor_type || !PyObject_HasAttrString(o, "_as_gradient")) return unwrap(o);
  const Owned made(checked(PyObject_CallMethod(o, "_as_gradient", nullptr)));
  return unwrap(made.o);
}

void keep_object(PyObject* o) {
  auto* p = reinterpret_cast<PyTensor*>(o);
  TensorImpl& impl = *p->tensor.impl();
  impl.py_object = nullptr;
  const bool plain = Py_TYPE(o) == tensor_type && (!p->dict || PyDict_GET_SIZE(p->dict) == 0);
  if (plain || impl.use_count() == 1) return;
  auto* kept = new (std::nothrow) Kept(Py_TYPE(o), p->dict);
  if (!kept) {  // an object cannot refuse to die, so its attributes do too
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NoMemory();
    PyErr_WriteUnraisable(nullptr);
    return PyErr_Restore(type, value, trace);
  }
  p->dict = nullptr;
  impl.py_object = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(kept) | kKept);
}

PyObject* shown_object(const Tensor& t) {
  void* shown = t.impl()->py_object;
  Kept* kept = kept_of(shown);
  if (!kept) return Py_NewRef(static_cast<PyObject*>(shown));
  PyObject* o = wrap_as(kept->type, t);
  reinterpret_cast<PyTensor*>(o)->dict = std::exchange(kept->dict, nullptr);
  delete kept;
  track(o);
  return o;
}

PyObject* kept_attributes(const Tensor& t) {
  const Kept* kept = kept_of(t.impl()->py_object);
  return kept ? kept->dict : nullptr;
}

void init_kept_objects() {
  drop_kept_object = drop_kept;
  foreign_gradients = {is_foreign, dispatches, add, own, is_batch, fit_batch, samples, join};
  carry_object = carry;
}

}  // namespace strided::python
