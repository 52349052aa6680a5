#include "python/py_storage.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "ops/copy.h"
#include "python/function.h"
#include "python/owned.h"

namespace strided::python {
namespace {

PyTypeObject* storage_type = nullptr;

struct PyStorage {
  PyObject_HEAD Ref<Storage> owned;  // null while the storage owns the object
  Storage* shown;                    // the same, also then; null once it is gone
  PyObject *dict, *weak;
};

PyStorage* as_storage(PyObject* o) { return reinterpret_cast<PyStorage*>(o); }

// Storage::py_object is the address of the object, with the lowest bit set while the storage owns it.
constexpr uintptr_t kOwns = 1;
bool owns_object(const Storage& storage) { return reinterpret_cast<uintptr_t>(storage.py_object) & kOwns; }
PyObject* object_of(void* py_object) {
  return reinterpret_cast<PyObject*>(reinterpret_cast<uintptr_t>(py_object) & ~kOwns);
}

// The object owns its storage again; what the storage had is the caller's reference.
PyObject* take_back(Storage& storage) {
  PyObject* o = object_of(storage.py_object);
  as_storage(o)->owned = Ref<Storage>(&storage);
  storage.py_object = o;
  return o;
}

void drop_object(void* py_object) {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* o = object_of(py_object);
  as_storage(o)->shown = nullptr;
  Py_DECREF(o);
  PyGILState_Release(state);
}

PyObject* show(PyTypeObject* type, const Ref<Storage>& storage) {
  PyObject* o = checked(type->tp_alloc(type, 0));
  new (&as_storage(o)->owned) Ref<Storage>(storage);
  as_storage(o)->shown = storage.get();
  storage->py_object = o;
  return o;
}

int64_t bytes_of(PyObject* size, const char* name) {
  STRIDED_CHECK(is_integer_like(size), TypeError, name, ": a number of bytes is required, not ",
                Py_TYPE(size)->tp_name);
  const int64_t n = to_scalar(size).to_int();
  STRIDED_CHECK(n >= 0, RuntimeError, name, ": the size must not be negative, got ", n);
  return n;
}

Ref<Storage> storage_of_bytes(std::string_view bytes, Device device) {
  auto storage = make_ref<Storage>(bytes.size(), Device{});
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(storage->data()));
  const Layout layout(Dims{static_cast<int64_t>(bytes.size())});
  return to_device(Tensor(make_ref<TensorImpl>(storage, layout, DType::UInt8)), device).impl()->storage;
}

PyObject* storage_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject *size = nullptr, *device = Py_None;
  static const char* names[] = {"size", "device", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$O:UntypedStorage", const_cast<char**>(names), &size, &device))
    return nullptr;
  return guarded<PyObject*>(nullptr, [&] {
    const Device where = device == Py_None ? Device{} : resolve_device(to_device(device));
    if (size && (PyList_Check(size) || PyTuple_Check(size))) {  // the bytes themselves
      const Owned bytes(PyBytes_FromObject(size));
      return show(
          type, storage_of_bytes({PyBytes_AS_STRING(bytes.o), static_cast<size_t>(PyBytes_GET_SIZE(bytes.o))}, where));
    }
    const int64_t nbytes = size ? bytes_of(size, "UntypedStorage") : 0;
    return show(type, make_ref<Storage>(static_cast<size_t>(nbytes), where));
  });
}

int storage_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  // While others have the storage the object would come back: what it refers to is no garbage.
  if (const Ref<Storage>& owned = as_storage(o)->owned; !owned || owned->use_count() == 1)
    Py_VISIT(as_storage(o)->dict);
  return 0;
}
int storage_clear(PyObject* o) {
  Py_CLEAR(as_storage(o)->dict);
  return 0;
}

void storage_dealloc(PyObject* o) {
  PyStorage* p = as_storage(o);
  if (p->owned) {
    // Note [One object for a storage]. A subclass's object has lost its attributes and weak references before this is
    // called: another one is made then.
    if (Py_TYPE(o) == storage_type && p->owned->use_count() > 1) {
      Py_SET_REFCNT(o, 1);
      p->shown->py_object = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(o) | kOwns);
      p->owned = nullptr;
      return;
    }
    p->shown->py_object = nullptr;
  }
  PyObject_GC_UnTrack(o);
  if (p->weak) PyObject_ClearWeakRefs(o);
  Py_CLEAR(p->dict);
  p->owned.~Ref<Storage>();
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* storage_compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || !is_storage(b)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((as_storage(a)->shown == as_storage(b)->shown) == (op == Py_EQ));
}
Py_hash_t storage_hash(PyObject* o) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(as_storage(o)->shown) >> 4);
}
Py_ssize_t storage_length(PyObject* o) {
  return guarded<Py_ssize_t>(-1, [&] { return static_cast<Py_ssize_t>(unwrap_storage(o)->nbytes()); });
}

template <class F>
PyObject* ask(PyObject* o, F f) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* { return f(*unwrap_storage(o)); });
}
PyObject* get_nbytes(PyObject* o, PyObject*) {
  return ask(o, [](const Storage& s) { return PyLong_FromSize_t(s.nbytes()); });
}
PyObject* get_data_ptr(PyObject* o, PyObject*) {
  return ask(o, [](const Storage& s) { return PyLong_FromVoidPtr(s.data()); });
}
PyObject* is_resizable(PyObject* o, PyObject*) {
  return ask(o, [](const Storage& s) { return PyBool_FromLong(s.resizable()); });
}
PyObject* resize(PyObject* o, PyObject* size) {
  return ask(o, [&](Storage& s) {
    s.resize(static_cast<size_t>(bytes_of(size, "resize_")));
    return Py_NewRef(Py_None);
  });
}
PyObject* get_cdata(PyObject* o, void*) {
  return ask(o, [](Storage& s) { return PyLong_FromVoidPtr(&s); });
}
PyObject* get_read_only(PyObject* o, void*) {
  return ask(o, [](const Storage& s) { return PyBool_FromLong(s.read_only()); });
}
PyObject* get_device(PyObject* o, void*) {
  return ask(o, [](const Storage& s) { return wrap(s.device()); });
}

// (tensor) -> its storage
PyObject* storage_of_tensor(PyObject*, PyObject* t) {
  return guarded<PyObject*>(nullptr, [&] {
    STRIDED_CHECK(is_tensor(t), TypeError, "expected a Tensor, got ", Py_TYPE(t)->tp_name);
    return wrap_storage(unwrap(t).impl()->storage);
  });
}
// (storage, dtype) -> all its elements, a vector
PyObject* storage_as_tensor(PyObject*, PyObject* args) {
  PyObject *o, *dtype;
  if (!PyArg_ParseTuple(args, "OO", &o, &dtype)) return nullptr;
  return guarded<PyObject*>(nullptr, [&] {
    STRIDED_CHECK(is_storage(o), TypeError, "expected an UntypedStorage, got ", Py_TYPE(o)->tp_name);
    const Ref<Storage>& storage = unwrap_storage(o);
    const DType t = to_dtype(dtype);
    const Layout layout(Dims{static_cast<int64_t>(storage->nbytes()) / size_of(t)});
    return wrap(Tensor(make_ref<TensorImpl>(storage, layout, t)));
  });
}

PyMethodDef methods[] = {
    {"nbytes", get_nbytes, METH_NOARGS, "Number of bytes."},
    {"size", get_nbytes, METH_NOARGS, "Number of bytes."},
    {"data_ptr", get_data_ptr, METH_NOARGS, "Address of the first byte."},
    {"resize_", resize, METH_O, "Grows or shrinks the memory; RuntimeError where it is not resizable()."},
    {"resizable", is_resizable, METH_NOARGS,
     "False for memory that belongs to somebody else, or whose address somebody else has: an array, DLPack."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef getset[] = {
    {"_cdata", get_cdata, nullptr, "Which storage it is: the same number for all tensors on it.", nullptr},
    {"is_read_only", get_read_only, nullptr, "Whether the memory may not be written to.", nullptr},
    {"device", get_device, nullptr, "Where the memory is.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyStorage, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(PyStorage, weak), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyMethodDef functions[] = {{"untyped_storage", storage_of_tensor, METH_O, nullptr},
                           {"storage_as_tensor", storage_as_tensor, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* wrap_storage(const Ref<Storage>& storage) {
  if (!storage->py_object) return show(storage_type, storage);
  return owns_object(*storage) ? take_back(*storage) : Py_NewRef(object_of(storage->py_object));
}
bool is_storage(PyObject* o) { return PyObject_TypeCheck(o, storage_type); }
const Ref<Storage>& unwrap_storage(PyObject* o) {
  PyStorage* p = as_storage(o);
  STRIDED_CHECK(p->shown, RuntimeError, "the memory of this storage is gone");
  if (!p->owned) Py_DECREF(take_back(*p->shown));  // a weak reference gave the object
  return p->owned;
}

void init_storage(PyObject* module) {
#define SLOT(name, f) {Py_##name, reinterpret_cast<void*>(f)}
  PyType_Slot slots[] = {SLOT(tp_new, storage_new),
                         SLOT(tp_dealloc, storage_dealloc),
                         SLOT(tp_traverse, storage_traverse),
                         SLOT(tp_clear, storage_clear),
                         SLOT(tp_richcompare, storage_compare),
                         SLOT(tp_hash, storage_hash),
                         SLOT(mp_length, storage_length),
                         SLOT(sq_length, storage_length),
                         SLOT(tp_methods, methods),
                         SLOT(tp_getset, getset),
                         SLOT(tp_members, members),
                         {Py_tp_doc, const_cast<char*>("The bytes behind one or more tensors.")},
                         {0, nullptr}};
  PyType_Spec spec = {"strided._C.UntypedStorage", sizeof(PyStorage), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
#undef SLOT
  storage_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  drop_storage_object = drop_object;
  if (PyModule_AddObjectRef(module, "UntypedStorage", reinterpret_cast<PyObject*>(storage_type)) < 0 ||
      PyModule_AddFunctions(module, functions) < 0)
    throw PythonError{};
}

}  // namespace strided::python
