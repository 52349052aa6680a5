// dtype and device as Python types; numbers and sizes; exceptions.

#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>

#include "cuda/runtime/library.h"
#include "python/function.h"
#include "python/py_tensor.h"

namespace strided::python {
namespace {

// (Found by a text without making a string of it: the report that memory is full must not need any.)
std::map<std::string, PyObject*, std::less<>>& hooks() {
  static auto* map = new std::map<std::string, PyObject*, std::less<>>;
  return *map;
}

// ---------------------------------------------------------------- dtype

// PyTorch's dtypes that no tensor here has. Programs have them in tables, and compare them with those of tensors.
struct NameOfDType {
  const char* name;
  int size;
  const char* traits;  // f: floating-point, c: complex, s: signed
};
constexpr NameOfDType kOnlyNames[] = {{"uint1", 1, ""},
                                      {"uint2", 1, ""},
                                      {"uint3", 1, ""},
                                      {"uint4", 1, ""},
                                      {"uint5", 1, ""},
                                      {"uint6", 1, ""},
                                      {"uint7", 1, ""},
                                      {"int1", 1, "s"},
                                      {"int2", 1, "s"},
                                      {"int3", 1, "s"},
                                      {"int4", 1, "s"},
                                      {"int5", 1, "s"},
                                      {"int6", 1, "s"},
                                      {"int7", 1, "s"},
                                      {"bits1x8", 1, ""},
                                      {"bits2x4", 1, ""},
                                      {"bits4x2", 1, ""},
                                      {"bits8", 1, ""},
                                      {"bits16", 2, ""},
                                      {"float8_e4m3fnuz", 1, "fs"},
                                      {"float8_e5m2fnuz", 1, "fs"},
                                      {"float8_e8m0fnu", 1, "f"},
                                      {"float4_e2m1fn_x2", 1, "fs"},
                                      {"qint8", 1, "s"},
                                      {"quint8", 1, ""},
                                      {"qint32", 4, "s"},
                                      {"quint4x2", 1, ""},
                                      {"quint2x4", 1, ""},
                                      {"complex32", 4, "cs"}};

struct PyDType {
  PyObject_HEAD DType dtype;
  const NameOfDType* only;  // null for those that tensors have
  PyObject* text;           // its repr, once somebody asked
};
PyTypeObject* dtype_type = nullptr;
PyObject* dtype_objects[kNumDTypes];

const NameOfDType* only_name(PyObject* o) { return reinterpret_cast<PyDType*>(o)->only; }
DType dtype_of_object(PyObject* o) {
  const NameOfDType* only = only_name(o);
  STRIDED_CHECK(!only, NotImplementedError, "strided has no tensors of dtype torch.", only->name);
  return reinterpret_cast<PyDType*>(o)->dtype;
}
const char* name_of_object(PyObject* o) {
  const NameOfDType* only = only_name(o);
  return only ? only->name : name_of(dtype_of_object(o));
}
template <class F>
PyObject* dtype_trait(PyObject* o, char letter, F&& of_dtype) {
  const NameOfDType* only = only_name(o);
  return PyBool_FromLong(only ? std::strchr(only->traits, letter) != nullptr : of_dtype(dtype_of_object(o)));
}

PyObject* dtype_repr(PyObject* o) {
  PyObject*& text = reinterpret_cast<PyDType*>(o)->text;
  if (text == nullptr) text = PyUnicode_FromFormat("torch.%s", name_of_object(o));
  return Py_XNewRef(text);
}
PyObject* dtype_reduce(PyObject* o, PyObject*) {
  return Py_BuildValue("(O(s))", hook("dtype_by_name"), name_of_object(o));
}
PyObject* dtype_to_real(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] { return wrap(real_of(dtype_of_object(o))); });
}
PyObject* dtype_to_complex(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] {
    const DType t = dtype_of_object(o);
    STRIDED_CHECK(is_floating(t) || is_complex(t), RuntimeError, "to_complex: torch.", name_of(t),
                  " is no dtype of the parts of complex numbers");
    return wrap(complex_of(t));
  });
}
PyObject* dtype_floating(PyObject* o, void*) { return dtype_trait(o, 'f', is_floating); }
PyObject* dtype_complex(PyObject* o, void*) { return dtype_trait(o, 'c', is_complex); }
PyObject* dtype_signed(PyObject* o, void*) { return dtype_trait(o, 's', is_signed); }
PyObject* dtype_itemsize(PyObject* o, void*) {
  const NameOfDType* only = only_name(o);
  return PyLong_FromLongLong(only ? only->size : size_of(dtype_of_object(o)));
}
PyObject* dtype_cpp_name(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] { return PyUnicode_FromString(cpp_name_of(dtype_of_object(o))); });
}
// What the Python files want to know of a DTypeTraits block.
PyObject* dtype_traits(PyObject* o, void*) {
  if (only_name(o)) Py_RETURN_NONE;
  const DTypeInfo& t = info_of(dtype_of_object(o));
  const char* kind = t.kind == kinds::Bool    ? "bool"
                     : t.kind == kinds::Int   ? "int"
                     : t.kind == kinds::Float ? "float"
                                              : "complex";
  return Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:s,s:z,s:i,s:d,s:d}", "kind", kind, "name", t.name, "alias", t.alias,
                       "method", t.method, "cpp_name", t.cpp_name, "type_name", t.type_name, "buffer_format",
                       t.buffer_format, "digits", t.digits, "greatest", t.greatest, "smallest_normal",
                       t.smallest_normal);
}

PyGetSetDef dtype_getset[] = {
    {"is_floating_point", dtype_floating, nullptr, "True for floating-point, not complex, dtypes.", nullptr},
    {"is_complex", dtype_complex, nullptr, "True for complex dtypes.", nullptr},
    {"is_signed", dtype_signed, nullptr, "True when negative numbers can be held.", nullptr},
    {"itemsize", dtype_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"_cpp_name", dtype_cpp_name, nullptr, nullptr, nullptr},
    {"_traits", dtype_traits, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
                               {"to_real", dtype_to_real, METH_NOARGS, "The dtype of the parts of a complex number."},
                               {"to_complex", dtype_to_complex, METH_NOARGS, "The complex dtype with such parts."},
                               {nullptr, nullptr, 0, nullptr}};
PyType_Slot dtype_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
                             {Py_tp_getset, dtype_getset},
                             {Py_tp_methods, dtype_methods},
                             {Py_tp_doc, const_cast<char*>("The type of a tensor's elements.")},
                             {0, nullptr}};
PyType_Spec dtype_spec = {"strided.dtype", sizeof(PyDType), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          dtype_slots};

// ---------------------------------------------------------------- device

struct PyDevice {
  PyObject_HEAD Device device;
};
PyTypeObject* device_type = nullptr;

Device device_of_object(PyObject* o) { return reinterpret_cast<PyDevice*>(o)->device; }

int8_t device_number(int64_t i) {
  STRIDED_CHECK(i >= 0, RuntimeError, "Device index must not be negative");
  STRIDED_CHECK(i < 128, RuntimeError, "Device index must not be beyond 127, got ", i);
  return static_cast<int8_t>(i);
}

[[noreturn]] void refuse_device(PyObject* args, PyObject* kwargs) {
  std::string given;
  const auto say = [&](const std::string& text) { given += (given.empty() ? "" : ", ") + text; };
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) say(Py_TYPE(PyTuple_GET_ITEM(args, i))->tp_name);
  PyObject *name, *value;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &name, &value);)
    say(detail::to_string(name) + "=" + Py_TYPE(value)->tp_name);
  if (kwargs && PyDict_GET_SIZE(kwargs)) given += ", ";
  STRIDED_THROW(TypeError, "device() received an invalid combination of arguments - got (", given,
                "), but expected one of:\n * (torch.device device)\n * (str type, int index = -1)\n");
}

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    // PyTorch has two signatures: (device) and (type, index).
    const char* names[] = {"type", "index", nullptr};
    PyObject* type = nullptr;
    PyObject* index = nullptr;
    const bool named = PyTuple_GET_SIZE(args) == 0 && kwargs && PyDict_GET_SIZE(kwargs) == 1 &&
                       (type = PyDict_GetItemString(kwargs, "device"));
    if (!named && !PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &type, &index)) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError{};
      PyErr_Clear();
      type = nullptr;
    }
    if (!type || !is_device(type)) refuse_device(args, kwargs);
    Device device = to_device(type);
    if (index && index != Py_None) {
      STRIDED_CHECK(is_integer_like(index), TypeError, "device(): argument 'index' (position 2) must be int, not ",
                    Py_TYPE(index)->tp_name);
      STRIDED_CHECK(device.index < 0, RuntimeError,
                    "type (string) must not include an index because index was passed explicitly: ", device);
      const int64_t i = to_int(index);
      device.index = device_number(i);
    }
    return wrap(device);
  });
}
PyObject* device_repr(PyObject* o) {
  const Device d = device_of_object(o);
  if (d.index < 0) return PyUnicode_FromFormat("device(type='%s')", name_of(d.type));
  return PyUnicode_FromFormat("device(type='%s', index=%d)", name_of(d.type), d.index);
}
PyObject* device_str(PyObject* o) { return PyUnicode_FromString(strided::to_string(device_of_object(o)).c_str()); }
PyObject* device_type_name(PyObject* o, void*) { return PyUnicode_FromString(name_of(device_of_object(o).type)); }
PyObject* device_index(PyObject* o, void*) {
  const Device d = device_of_object(o);
  if (d.index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(d.index);
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (!PyObject_TypeCheck(a, device_type) || !PyObject_TypeCheck(b, device_type) || (op != Py_EQ && op != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((device_of_object(a) == device_of_object(b)) == (op == Py_EQ));
}
Py_hash_t device_hash(PyObject* o) {
  const Device d = device_of_object(o);
  return static_cast<Py_hash_t>(d.type) * 1000003 + d.index + 7;
}
PyObject* device_reduce(PyObject* o, PyObject*) {
  return Py_BuildValue("(O(s))", reinterpret_cast<PyObject*>(device_type),
                       strided::to_string(device_of_object(o)).c_str());
}
PyGetSetDef device_getset[] = {{"type", device_type_name, nullptr, "'cpu', 'cuda', 'xla' or 'meta'.", nullptr},
                               {"index", device_index, nullptr, "Which one, or None for the current one.", nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
// `with device:`: factories make their tensors there.
PyObject* device_enter(PyObject* o, PyObject*) {
  enter_device(device_of_object(o));
  return Py_NewRef(o);
}
PyObject* device_exit(PyObject*, PyObject*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    leave_device();
    Py_RETURN_NONE;
  });
}
PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, nullptr},
    {"__enter__", device_enter, METH_NOARGS, "From here on, factories of this thread make their tensors there."},
    {"__exit__", device_exit, METH_VARARGS, "Ends what __enter__ began."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot device_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(device_new)},
    {Py_tp_repr, reinterpret_cast<void*>(device_repr)},
    {Py_tp_str, reinterpret_cast<void*>(device_str)},
    {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
    {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
    {Py_tp_getset, device_getset},
    {Py_tp_methods, device_methods},
    {Py_tp_doc,
     const_cast<char*>("device(type, index=None): where a tensor's memory lives. Needs no hardware to be named.\n\n"
                       "As a context: factories that are given no device make their tensors there.\n\n"
                       ">>> strided.device('cuda', 1)\ndevice(type='cuda', index=1)")},
    {0, nullptr}};
PyType_Spec device_spec = {"strided.device", sizeof(PyDevice), 0, Py_TPFLAGS_DEFAULT, device_slots};

}  // namespace

void set_hook(const std::string& name, PyObject* value) {
  Py_INCREF(value);
  hooks()[name] = value;
}

PyObject* hook(const char* name) {
  auto it = hooks().find(name);
  STRIDED_CHECK(it != hooks().end(), RuntimeError, "strided was not imported as a package: hook '", name,
                "' is missing");
  return it->second;
}

void set_python_error() {
  try {
    throw;
  } catch (const PythonError&) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "error without exception");
  } catch (const IndexError& e) {
    PyErr_SetString(PyExc_IndexError, e.what());
  } catch (const ValueError& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const TypeError& e) {
    PyErr_SetString(PyExc_TypeError, e.what());
  } catch (const NotImplementedError& e) {
    PyErr_SetString(PyExc_NotImplementedError, e.what());
  } catch (const BufferError& e) {
    PyErr_SetString(PyExc_BufferError, e.what());
  } catch (const OverflowError& e) {
    PyErr_SetString(PyExc_OverflowError, e.what());
  } catch (const NoCudaLibraryError& e) {
    auto it = hooks().find("NoCudaLibraryError");
    PyErr_SetString(it == hooks().end() ? PyExc_AssertionError : it->second, e.what());
  } catch (const RecursionError& e) {
    PyErr_SetString(PyExc_RecursionError, e.what());
  } catch (const OutOfMemoryError& e) {
    auto it = hooks().find("OutOfMemoryError");
    PyErr_SetString(it == hooks().end() ? PyExc_MemoryError : it->second, e.what());
  } catch (const LinAlgError& e) {
    auto it = hooks().find("LinAlgError");
    PyErr_SetString(it == hooks().end() ? PyExc_RuntimeError : it->second, e.what());
  } catch (const Error& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

bool is_dtype(PyObject* o) {
  return Py_TYPE(o) == dtype_type || o == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
         o == reinterpret_cast<PyObject*>(&PyLong_Type) || o == reinterpret_cast<PyObject*>(&PyBool_Type) ||
         o == reinterpret_cast<PyObject*>(&PyComplex_Type);
}
DType to_dtype(PyObject* o) {
  if (Py_TYPE(o) == dtype_type) return dtype_of_object(o);
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::Float64;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::Int64;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  return DType::Complex128;
}
PyObject* wrap(DType t) { return Py_NewRef(dtype_objects[index_of(t)]); }

bool is_device(PyObject* o) {
  return Py_TYPE(o) == device_type || PyUnicode_Check(o) || (PyLong_Check(o) && !PyBool_Check(o));
}
Device to_device(PyObject* o) {
  if (Py_TYPE(o) == device_type) return device_of_object(o);
  if (PyUnicode_Check(o)) return parse_device(detail::to_string(o));
  const int64_t i = to_int(o);
  return {DeviceType::CUDA, device_number(i)};
}
PyObject* wrap(Device d) {
  auto* o = PyObject_New(PyDevice, device_type);
  if (o) o->device = d;
  return reinterpret_cast<PyObject*>(o);
}

PyObject* wrap_tuple(const Dims& values) {
  PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i)
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(values[i]));
  return tuple;
}

const char* short_type_name(PyObject* o) {
  const char* dot = std::strrchr(Py_TYPE(o)->tp_name, '.');
  return dot ? dot + 1 : Py_TYPE(o)->tp_name;
}

bool is_numpy_scalar(PyObject* o) {
  // numpy.generic without including NumPy: its scalars say so in their module.
  const char* name = Py_TYPE(o)->tp_name;
  return std::strncmp(name, "numpy.", 6) == 0 && !is_ndarray(o);
}

bool is_number(PyObject* o) {
  return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) ||
         (!is_tensor(o) && is_numpy_scalar(o) && PyNumber_Check(o));
}
Scalar to_scalar(PyObject* o) {
  if (PyFloat_Check(o)) return Scalar(PyFloat_AS_DOUBLE(o));
  if (PyBool_Check(o)) return Scalar(o == Py_True);
  if (PyLong_Check(o)) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow == 0) {
      if (v == -1 && PyErr_Occurred()) throw PythonError{};
      return Scalar(static_cast<int64_t>(v));
    }
    const unsigned long long u = overflow > 0 ? PyLong_AsUnsignedLongLong(o) : 0;
    if (overflow < 0 || (u == static_cast<unsigned long long>(-1) && PyErr_Occurred())) {
      PyErr_Clear();
      STRIDED_THROW(OverflowError, "int too big to convert: an integer must fit 64 bits");
    }
    return Scalar(static_cast<uint64_t>(u));
  }
  if (PyComplex_Check(o)) return Scalar(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
  if (is_tensor(o)) return item(unwrap(o));
  // A NumPy scalar: item() gives the Python number.
  PyObject* plain = checked(PyObject_CallMethod(o, "item", nullptr));
  struct Drop {
    PyObject* o;
    ~Drop() { Py_DECREF(o); }
  } drop{plain};
  STRIDED_CHECK(PyFloat_Check(plain) || PyLong_Check(plain) || PyComplex_Check(plain), TypeError,
                "a number is required, not ", Py_TYPE(o)->tp_name);
  return to_scalar(plain);
}
PyObject* wrap(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool: return PyBool_FromLong(s.to_bool());
    case Scalar::Kind::Int: return PyLong_FromLongLong(s.to_int());
    case Scalar::Kind::UInt: return PyLong_FromUnsignedLongLong(static_cast<uint64_t>(s.to_int()));
    case Scalar::Kind::Float: return PyFloat_FromDouble(s.real());
    case Scalar::Kind::Complex: return PyComplex_FromDoubles(s.real(), s.imag());
  }
  Py_RETURN_NONE;
}

bool is_integer_like(PyObject* o) {
  if (PyLong_Check(o)) return !PyBool_Check(o);
  if (is_tensor(o)) return unwrap(o).ndim() == 0 && is_integer(unwrap(o).dtype());
  return PyIndex_Check(o) && !is_ndarray(o);
}
int64_t to_int(PyObject* o) {
  if (int64_t v; read_small_int(o, &v)) return v;
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    STRIDED_CHECK(!overflow, ValueError, "Overflow when unpacking long long");
    return v;
  }
  PyObject* index = checked(PyNumber_Index(o));
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(index, &overflow);
  Py_DECREF(index);
  STRIDED_CHECK(!overflow, ValueError, "Overflow when unpacking long long");
  return v;
}

void init_types(PyObject* module) {
  dtype_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&dtype_spec)));
  device_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&device_spec)));
  PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(dtype_type));
  PyModule_AddObjectRef(module, "device", reinterpret_cast<PyObject*>(device_type));
  PyObject* all = PyTuple_New(kNumDTypes);
  for (int i = 0; i < kNumDTypes; ++i) {
    auto* o = PyObject_New(PyDType, dtype_type);
    o->dtype = static_cast<DType>(i);
    o->only = nullptr;
    o->text = nullptr;
    dtype_objects[i] = reinterpret_cast<PyObject*>(o);
    PyModule_AddObjectRef(module, kDTypeInfo[i].name, dtype_objects[i]);
    PyTuple_SET_ITEM(all, i, Py_NewRef(dtype_objects[i]));
  }
  PyModule_AddObjectRef(module, "dtypes", all);
  Py_DECREF(all);
  PyObject* names = PyTuple_New(std::size(kOnlyNames));
  for (size_t i = 0; i < std::size(kOnlyNames); ++i) {
    auto* o = PyObject_New(PyDType, dtype_type);
    o->only = &kOnlyNames[i];
    o->text = nullptr;
    PyModule_AddObjectRef(module, o->only->name, reinterpret_cast<PyObject*>(o));
    PyTuple_SET_ITEM(names, static_cast<Py_ssize_t>(i), reinterpret_cast<PyObject*>(o));
  }
  PyModule_AddObjectRef(module, "dtypes_without_tensors", names);
  Py_DECREF(names);
}

}  // namespace strided::python
