// NumPy arrays and tensors on the same memory, both ways.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/copy.h"
#include "ops/shape/view.h"
#include "python/function.h"
#include "python/interop.h"
#include "tensor/graph.h"

namespace py = pybind11;

namespace strided::python {
namespace {

// What the buffer protocol has no format for comes from ml_dtypes.
py::dtype numpy_dtype(DType t) {
  if (!info_of(t).buffer_format) {
    try {
      return py::dtype::from_args(py::module_::import("ml_dtypes").attr(name_of(t)));
    } catch (py::error_already_set&) {
      STRIDED_THROW(TypeError, "numpy(): NumPy has no ", name_of(t),
                    "; install ml_dtypes for it, or use tensor.float().numpy()");
    }
  }
  static PyObject* made[kNumDTypes] = {};  // kept for good
  PyObject*& dtype = made[index_of(t)];
  if (!dtype) dtype = py::dtype(std::string(name_of(t))).release().ptr();
  return py::reinterpret_borrow<py::dtype>(dtype);
}

// Of NumPy's own dtypes, which kind and size tell apart, in this machine's byte order; asking for the name is slow.
std::optional<DType> native_dtype(const py::dtype& d) {
  if (d.byteorder() != '=' && d.byteorder() != '|') return std::nullopt;
  const char kind = d.kind();
  const DTypeSet kinds = kind == 'f'   ? kFloatDTypes
                         : kind == 'i' ? kIntegerDTypes & kSignedDTypes
                         : kind == 'u' ? kIntegerDTypes & ~kSignedDTypes
                         : kind == 'b' ? kBoolDTypes
                         : kind == 'c' ? kComplexDTypes
                                       : DTypeSet{0};
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto t = static_cast<DType>(i);
    if (contains(kinds, t) && info_of(t).buffer_format && size_of(t) == d.itemsize()) return t;
  }
  return std::nullopt;
}

DType dtype_of_array(const py::array& a) {
  const py::dtype d = a.dtype();
  // Arrays of one dtype share its object, and most are of the dtype of the one before.
  static PyObject* latest = nullptr;  // owned
  static DType latest_dtype{};
  if (d.ptr() == latest) return latest_dtype;
  STRIDED_CHECK(
      d.byteorder() != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<'), ValueError,
      "from_numpy: the array's byte order is not this machine's; use array.astype(array.dtype.newbyteorder('='))");
  if (const std::optional<DType> native = native_dtype(d)) {
    PyObject* const before = std::exchange(latest, Py_NewRef(d.ptr()));
    Py_XDECREF(before);
    return latest_dtype = *native;
  }
  const std::string name = py::str(d.attr("name"));
  for (int i = 0; i < kNumDTypes; ++i)
    if (name == kDTypeInfo[i].name) return static_cast<DType>(i);
  std::string known;
  for (const DTypeInfo& t : kDTypeInfo) known += (known.empty() ? "" : ", ") + std::string(t.name);
  const std::string kind = py::str(d.attr("type").attr("__name__"));  // str_, where the name is str64
  STRIDED_THROW(TypeError, "can't convert np.ndarray of type numpy.", kind, ". The only supported types are: ", known,
                ".");
}

void drop_reference(void* owner) {
  if (!Py_IsInitialized()) return;  // the interpreter is gone, and the array with it
  if (PyGILState_Check()) {
    Py_DECREF(static_cast<PyObject*>(owner));
    return;
  }
  const PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(static_cast<PyObject*>(owner));
  PyGILState_Release(state);
}

}  // namespace

bool is_ndarray(PyObject* o) {
  // Before NumPy is imported nothing can be an array of it.
  if (is_tensor(o) || PyLong_Check(o) || PyFloat_Check(o) || PyTuple_Check(o) || PyList_Check(o) || o == Py_None)
    return false;
  return py::isinstance<py::array>(o);
}

Tensor from_numpy(PyObject* object, bool copy_odd) {
  STRIDED_CHECK(is_ndarray(object), TypeError, "expected np.ndarray (got ", Py_TYPE(object)->tp_name, ")");
  py::array a = py::reinterpret_borrow<py::array>(object);
  const DType dtype = dtype_of_array(a);
  const int64_t itemsize = size_of(dtype);
  Layout layout;
  bool fits = reinterpret_cast<uintptr_t>(a.data()) % static_cast<uintptr_t>(std::min<int64_t>(itemsize, 8)) == 0;
  for (py::ssize_t i = 0; i < a.ndim(); ++i) {
    layout.shape.push_back(a.shape(i));
    layout.strides.push_back(a.strides(i) / itemsize);
    fits = fits && (a.strides(i) % itemsize == 0 || a.shape(i) <= 1);
  }
  if (!fits) {
    STRIDED_CHECK(
        copy_odd, ValueError,
        "from_numpy: the array is not aligned to its items, or its strides are no multiple of the item size (",
        itemsize, " bytes); copy it first");
    return from_numpy(py::array(a.attr("copy")()).ptr(), false);
  }
  // The storage starts at the lowest address that is reached.
  int64_t first = 0, last = 0;
  int64_t bytes = 0;
  char* data = static_cast<char*>(const_cast<void*>(a.data()));
  if (layout.extent(&first, &last)) {
    bytes = (last - first + 1) * itemsize;
    data += first * itemsize;
    layout.offset = -first;
  }
  PyObject* owner = a.ptr();
  Py_INCREF(owner);
  auto storage = make_ref<Storage>(data, static_cast<size_t>(bytes), Device{}, owner, drop_reference, !a.writeable());
  return Tensor(make_ref<TensorImpl>(storage, std::move(layout), dtype));
}

Tensor tensor_from_object(PyObject* o) {
  if (is_tensor(o)) return unwrap(o);
  if (is_ndarray(o)) return from_numpy(o, true);
  return tensor_from_object(o, std::nullopt);
}

PyObject* to_numpy(const Tensor& t, bool force) {
  Tensor host = t;
  STRIDED_CHECK(force || !grad_enabled() || !t.requires_grad(), RuntimeError,
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
  if (!t.device().is_cpu()) {
    STRIDED_CHECK(force, TypeError, "can't convert ", t.device(),
                  " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.");
    host = to_device(t, Device{});
  }
  std::vector<py::ssize_t> shape, strides;
  for (int i = 0; i < host.ndim(); ++i) {
    shape.push_back(host.size(i));
    strides.push_back(host.strides()[i] * host.itemsize());
  }
  // The array keeps the storage alive, not the Python tensor: either side may go first.
  host.storage().set_exported();
  auto* held = new Tensor(make_view(host, host.layout()));
  py::capsule owner(held, [](void* p) { delete static_cast<Tensor*>(p); });
  static char nothing[16];
  py::array a(numpy_dtype(host.dtype()), shape, strides, host.numel() ? static_cast<void*>(host.data()) : nothing,
              owner);
  if (host.storage().read_only()) a.attr("flags").attr("writeable") = false;
  return a.release().ptr();
}

Tensor from_buffer(PyObject* object, DType dtype, int64_t count, int64_t offset) {
  auto* view = new Py_buffer;
  bool read_only = false;
  if (PyObject_GetBuffer(object, view, PyBUF_WRITABLE) != 0) {
    PyErr_Clear();
    read_only = true;
    if (PyObject_GetBuffer(object, view, PyBUF_SIMPLE) != 0) {
      delete view;
      throw PythonError{};
    }
  }
  auto release = [](void* p) {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyBuffer_Release(static_cast<Py_buffer*>(p));
    delete static_cast<Py_buffer*>(p);
    PyGILState_Release(state);
  };
  const int64_t size = size_of(dtype), bytes = view->len;
  try {
    STRIDED_CHECK(bytes > 0 && count != 0, ValueError, "both buffer length (", bytes, ") and count (", count,
                  ") must not be 0");
    STRIDED_CHECK(offset >= 0 && offset < bytes, ValueError, "offset (", offset,
                  " bytes) must be non-negative and no greater than buffer length (", bytes, " bytes) minus 1");
    const int64_t left = bytes - offset;
    STRIDED_CHECK(count > 0 || left % size == 0, ValueError, "buffer length (", left, " bytes) after offset (", offset,
                  " bytes) must be a multiple of element size (", size, ")");
    STRIDED_CHECK(count < 0 || count <= left / size, ValueError, "requested buffer length (", count, " * ", size,
                  " bytes) after offset (", offset, " bytes) must not be greater than actual buffer length (", bytes,
                  " bytes)");
    if (count < 0) count = left / size;
    STRIDED_CHECK(reinterpret_cast<uintptr_t>(static_cast<char*>(view->buf) + offset) %
                          static_cast<uintptr_t>(std::min<int64_t>(size, 8)) ==
                      0,
                  ValueError, "frombuffer: offset ", offset, " is not aligned to elements of ", size, " bytes");
  } catch (...) {
    release(view);
    throw;
  }
  auto storage = make_ref<Storage>(static_cast<char*>(view->buf) + offset, static_cast<size_t>(count * size), Device{},
                                   view, release, read_only);
  return Tensor(make_ref<TensorImpl>(storage, Layout(Dims{count}), dtype));
}

}  // namespace strided::python
