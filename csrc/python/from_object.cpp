// Tensors from Python objects: numbers, nested sequences, tensors and arrays inside them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/warning.h"
#include "core/convert.h"
#include "core/promotion.h"
#include "ops/copy.h"
#include "ops/shape/view.h"
#include "python/function.h"

namespace strided::python {
namespace {

// A class of tensors that keeps its values elsewhere (sparse, sharded, batched ones) says so by an attribute: what it
// has here is a shell.
const Tensor& values_of(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  STRIDED_CHECK(
      type == tensor_type || !PyObject_HasAttrString(reinterpret_cast<PyObject*>(type), "_values_are_elsewhere"),
      NotImplementedError, "values of a ", type->tp_name, " cannot be copied one by one: clone() copies it");
  return unwrap(o);
}

struct Item {  // owned reference
  PyObject* o;
  explicit Item(PyObject* p) : o(checked(p)) {}
  ~Item() { Py_DECREF(o); }
  Item(const Item&) = delete;
};

bool is_plain_list(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }
bool is_sequence(PyObject* o) {
  return PyList_Check(o) || PyTuple_Check(o) ||
         (PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o) && !PyDict_Check(o));
}

// A list of n floats (or n ints of a digit) and nothing else: reading it runs no code of anybody's.
bool is_float(PyObject* o) { return PyFloat_CheckExact(o); }
bool is_small_int(PyObject* o) {
  int64_t v;
  return read_small_int(o, &v);
}
template <class Is>
bool is_list_of(Is is, PyObject* o, int64_t n) {
  if (!(PyList_CheckExact(o) || PyTuple_CheckExact(o)) || PySequence_Fast_GET_SIZE(o) != n) return false;
  PyObject* const* items = PySequence_Fast_ITEMS(o);
  return std::all_of(items, items + n, is);
}

// An int that has more than 64 bits is a float, where it goes to a floating-point dtype.
bool is_wide(PyObject* o) {
  if (!PyLong_Check(o)) return false;
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow == 0) {
    if (v == -1 && PyErr_Occurred()) throw PythonError{};
    return false;
  }
  const bool fits = overflow > 0 && PyLong_AsUnsignedLongLong(o) != static_cast<unsigned long long>(-1);
  const bool wide = !fits && PyErr_Occurred() != nullptr;
  PyErr_Clear();
  return overflow < 0 || wide;
}
Scalar number_of(PyObject* o, DType dtype) {
  if (is_bool(dtype) && is_wide(o)) return Scalar(true);
  if (!is_wide(o)) return to_scalar(o);
  STRIDED_CHECK(is_floating(dtype) || is_complex(dtype), ValueError, "Overflow when unpacking long long");
  const double v = PyLong_AsDouble(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError{};
  return Scalar(v);
}

// Shape by the first elements, dtype by all of them; every element is checked against the shape.
class Reader {
 public:
  explicit Reader(PyObject* o) { find_shape(o); }

  Tensor read(PyObject* o, std::optional<DType> dtype) {
    scan(o, 0);
    DType t = dtype ? *dtype : type_.has_value() ? *type_ : default_dtype();
    Tensor out = empty(shape_, t);
    at_ = out.numel() ? out.data() : nullptr;
    if (out.numel()) fill(o, 0, out);
    return out;
  }

 private:
  void find_shape(PyObject* o) {
    if (PyFloat_CheckExact(o) || PyLong_CheckExact(o)) return;
    const bool is_list = is_plain_list(o);
    if (!is_list && is_tensor(o)) {
      const Tensor& t = values_of(o);
      if (t.numel() == 1) return;  // a number, whatever its shape
      for (int64_t s : t.shape()) shape_.push_back(s);
    } else if (!is_list && is_ndarray(o)) {
      const Tensor t = tensor_from_object(o);
      for (int64_t s : t.shape()) shape_.push_back(s);
    } else if (is_list || (!is_number(o) && is_sequence(o))) {
      STRIDED_CHECK(shape_.ndim() < kMaxDims, ValueError, "too many dimensions: a tensor has at most ", kMaxDims);
      const Py_ssize_t n = PySequence_Size(o);
      if (n < 0) throw PythonError{};
      shape_.push_back(n);
      if (n == 0) return;
      Item first(PySequence_GetItem(o, 0));
      check_holds_others(o, first.o);
      find_shape(first.o);
    }
  }

  static void check_holds_others(PyObject* sequence, PyObject* element) {
    STRIDED_CHECK(sequence != element, TypeError, "new(): self-referential lists are incompatible");
  }

  void see(DType t) {
    if (type_ != t) type_ = type_ ? promote_types(*type_, t) : t;
  }
  template <class Is>
  bool is_innermost(Is is, PyObject* o, int axis) const {
    return axis == shape_.ndim() - 1 && shape_[axis] > 0 && is_list_of(is, o, shape_[axis]);
  }

  void scan(PyObject* o, int axis) {
    if (is_innermost(is_float, o, axis)) {
      see(default_dtype());
    } else if (is_innermost(is_small_int, o, axis)) {
      see(DType::Int64);
    } else if (PyFloat_CheckExact(o)) {
      see_number(o, axis, default_dtype());
    } else if (PyBool_Check(o)) {
      see_number(o, axis, DType::Bool);
    } else if (PyLong_Check(o)) {
      // One that is too wide stays an integer here: whether it fits is seen when it is stored.
      const bool is_unsigned = !is_wide(o) && to_scalar(o).kind() == Scalar::Kind::UInt;
      see_number(o, axis, is_unsigned ? DType::UInt64 : DType::Int64);
    } else if (is_tensor(o) || is_ndarray(o)) {
      const Tensor t = is_tensor(o) ? values_of(o) : tensor_from_object(o);
      check_inner(o, t, axis);
      see(t.dtype());
    } else if (is_number(o)) {
      // A NumPy scalar keeps its width: its array knows it.
      DType t = to_scalar(o).dtype(default_dtype());
      if (!PyComplex_CheckExact(o) && !PyFloat_CheckExact(o) && !PyLong_CheckExact(o))
        t = tensor_from_object(Item(PyObject_CallFunction(hook("asarray"), "O", o)).o).dtype();
      see_number(o, axis, t);
    } else if (is_sequence(o)) {
      const Py_ssize_t n = PySequence_Size(o);
      if (n < 0) throw PythonError{};
      STRIDED_CHECK(axis < shape_.ndim(), ValueError, "expected a number at dim ", axis, ", got a sequence of length ",
                    n);
      STRIDED_CHECK(n == shape_[axis], ValueError, "expected sequence of length ", shape_[axis], " at dim ", axis,
                    " (got ", n, ")");
      for (Py_ssize_t i = 0; i < n; ++i) {
        Item e(PySequence_GetItem(o, i));
        check_holds_others(o, e.o);
        scan(e.o, axis + 1);
      }
    } else {
      const char* name = Py_TYPE(o)->tp_name;
      STRIDED_CHECK(PyUnicode_Check(o) || PyBytes_Check(o), RuntimeError, "Could not infer dtype of ", name);
      STRIDED_CHECK(axis == 0 || type_, ValueError, "too many dimensions '", name,
                    "'");  // as a sequence of its letters
      STRIDED_THROW(TypeError, "new(): invalid data type '", name, "'");
    }
  }
  void see_number(PyObject* o, int axis, DType t) {
    STRIDED_CHECK(axis == shape_.ndim(), TypeError, "not a sequence: expected ", shape_.ndim(),
                  " nested sequences, got ", Py_TYPE(o)->tp_name, " at dim ", axis);
    see(t);
  }
  // A tensor of one element is also a number, whatever its shape; an array is not.
  bool is_one_number(PyObject* o, const Tensor& t, int axis) const {
    return axis == shape_.ndim() && t.numel() == 1 && is_tensor(o);
  }
  void check_inner(PyObject* o, const Tensor& t, int axis) {
    if (is_one_number(o, t, axis)) return;
    bool fits = axis + t.ndim() == shape_.ndim();
    for (int i = 0; fits && i < t.ndim(); ++i) fits = t.size(i) == shape_[axis + i];
    STRIDED_CHECK(fits, ValueError, "expected elements of one shape: got a tensor of size ", t.shape(), " at dim ",
                  axis, " of a result of size ", shape_);
  }

  void fill(PyObject* o, int axis, const Tensor& out) {
    if (is_tensor(o) || is_ndarray(o)) {
      const Tensor t = is_tensor(o) ? values_of(o) : tensor_from_object(o);
      check_inner(o, t, axis);  // again: see below
      Dims inner(shape_.data() + axis, shape_.size() - axis);
      const int64_t offset = (at_ - out.data()) / out.itemsize();
      const Tensor place = make_view(out, Layout(inner, Layout::contiguous_strides(inner), offset));
      copy_into(place, is_one_number(o, t, axis) ? reshape(t, {}) : t);
      at_ += t.numel() * out.itemsize();
      return;
    }
    if (axis == shape_.ndim()) {
      store(number_of(o, out.dtype()), out.dtype());
      at_ += out.itemsize();
      return;
    }
    if ((out.dtype() == DType::Float32 || out.dtype() == DType::Float64) && is_innermost(is_float, o, axis)) {
      PyObject* const* items = PySequence_Fast_ITEMS(o);
      for (int64_t i = 0; i < shape_[axis]; ++i) {
        const double v = PyFloat_AS_DOUBLE(items[i]);
        const auto narrow = static_cast<float>(v);
        std::memcpy(at_, out.dtype() == DType::Float32 ? static_cast<const void*>(&narrow) : &v,
                    static_cast<size_t>(out.itemsize()));
        at_ += out.itemsize();
      }
      return;
    }
    if (is_innermost(is_small_int, o, axis)) {
      PyObject* const* items = PySequence_Fast_ITEMS(o);
      for (int64_t i = 0, v = 0; i < shape_[axis]; ++i) {
        read_small_int(items[i], &v);
        if (out.dtype() == DType::Int64) std::memcpy(at_, &v, sizeof v);
        else store(Scalar(v), out.dtype());
        at_ += out.itemsize();
      }
      return;
    }
    // The object was measured before; an object that changes while it is read must not lead outside the memory.
    const Py_ssize_t n = PySequence_Size(o);
    STRIDED_CHECK(n == shape_[axis], ValueError, "expected sequence of length ", shape_[axis], " at dim ", axis,
                  " (got ", n, ")");
    for (Py_ssize_t i = 0; i < n; ++i) {
      Item e(PySequence_GetItem(o, i));
      fill(e.o, axis + 1, out);
    }
  }

  // Negative numbers wrap around in unsigned dtypes, as in PyTorch and in fill_.
  template <class T>
  static constexpr int64_t least() {
    return std::is_signed_v<T> ? static_cast<int64_t>(std::numeric_limits<T>::min())
                               : -static_cast<int64_t>(std::numeric_limits<T>::max());
  }

  // The number itself must lie in the range, not only its integer part, as in PyTorch. False for NaN.
  template <class T>
  static bool holds(double v) {
    const auto greatest = std::numeric_limits<T>::max();
    // The greatest integer of 64 bits is rounded up to the power of two behind it; no double lies between the two.
    const double end = static_cast<double>(greatest);
    return v >= static_cast<double>(std::numeric_limits<T>::min()) && (sizeof(T) == 8 ? v < end : v <= end);
  }

  void store(const Scalar& s, DType dtype) {
    if (s.is_complex() && !is_complex(dtype) && !is_bool(dtype)) {
      if (is_floating(dtype)) STRIDED_THROW(TypeError, "must be real number, not complex");
      STRIDED_THROW(TypeError, "'complex' object cannot be interpreted as an integer");
    }
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T v;
      if constexpr (std::is_same_v<T, bool>) v = s.to_bool();
      else if constexpr (std::is_integral_v<T>) {
        if (s.is_integral()) {
          const bool fits =
              s.kind() == Scalar::Kind::UInt ? std::is_same_v<T, uint64_t>
              : std::is_same_v<T, uint64_t>
                  ? s.to_int() >= 0
                  : s.to_int() >= least<T>() && s.to_int() <= static_cast<int64_t>(std::numeric_limits<T>::max());
          STRIDED_CHECK(fits, RuntimeError, "value cannot be converted to type ", name_of(dtype),
                        " without overflow: ", s);
          v = s.to<T>();
        } else {
          STRIDED_CHECK(holds<T>(s.real()), RuntimeError, "value cannot be converted to type ", name_of(dtype),
                        " without overflow: ", s.real());
          v = strided::convert<T>(s.real());
        }
      } else {
        v = s.to<T>();
      }
      std::memcpy(at_, &v, sizeof(T));
    });
  }

  Dims shape_;
  std::optional<DType> type_;
  char* at_ = nullptr;
};

// A storage's elements have the dtype that the tensor shall have, as in PyTorch.
void check_storage(PyObject* o, DType wanted) {
  if (is_plain_list(o) || is_number(o) || !PyObject_HasAttrString(o, "pickle_storage_type")) return;
  const DType given = to_dtype(Item(PyObject_GetAttrString(o, "dtype")).o);
  STRIDED_CHECK(given == wanted, RuntimeError, "Expected a Storage of type ", cpp_name_of(wanted),
                " or an UntypedStorage, but got ", cpp_name_of(given));
}

// A tensor of one number, as nearly all are; undefined for what needs a closer look.
Tensor tensor_of_number(PyObject* o, std::optional<DType> dtype) {
  int64_t integer = 0;
  const bool is_float = PyFloat_CheckExact(o);
  if (!is_float && !read_small_int(o, &integer)) return {};
  const DType t = dtype ? *dtype : is_float ? default_dtype() : DType::Int64;
  const double value = is_float ? PyFloat_AS_DOUBLE(o) : static_cast<double>(integer);
  const auto made = [&](auto v) {
    const Tensor out = empty(Dims(), t);
    *out.data_as<decltype(v)>() = v;
    return out;
  };
  if (t == DType::Float32) return made(static_cast<float>(value));
  if (t == DType::Float64) return made(value);
  return t == DType::Int64 && !is_float ? made(integer) : Tensor();
}

}  // namespace

void warn_of_copy(PyObject* o, const std::string& function, int level) {
  if (!is_tensor(o)) return;
  const std::string text =
      "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
      "sourceTensor.detach().clone().requires_grad_(True), rather than " +
      function + "(sourceTensor).";
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), level) < 0) throw PythonError{};
}

Tensor tensor_from_object(PyObject* o, std::optional<DType> dtype) {
  if (Tensor made = tensor_of_number(o, dtype); made.defined()) return made;
  if (!is_plain_list(o) && (is_tensor(o) || is_ndarray(o))) {
    const Tensor t = is_tensor(o) ? values_of(o) : tensor_from_object(o);
    Tensor out = empty_strided(t.shape(), strides_like(t.layout()), dtype ? *dtype : t.dtype(), t.device());
    copy_into(out, t);
    return out;
  }
  const bool is_plain = is_plain_list(o) || is_number(o) || PyType_Check(o);
  if (!is_plain && PyObject_HasAttrString(o, "__dlpack__")) {
    const Item shared(PyObject_CallOneArg(hook("from_dlpack"), o));
    return tensor_from_object(shared.o, dtype);
  }
  if (is_plain_list(o) && PySequence_Fast_GET_SIZE(o) > 0 && is_ndarray(PySequence_Fast_GET_ITEM(o, 0)))
    warn_once(
        "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a single "
        "numpy.ndarray with numpy.array() before converting to a tensor.");
  check_storage(o, dtype.value_or(default_dtype()));
  return Reader(o).read(o, dtype);
}

}  // namespace strided::python
