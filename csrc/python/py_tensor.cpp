// The Tensor type: a hand-written CPython type, so that operators, indexing and shape queries cost a few nanoseconds.
#include "python/py_tensor.h"

#include <algorithm>
#include <vector>

#include "core/profile.h"
#include "core/promotion.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/shape/view.h"
#include "python/function.h"
#include "python/kept_object.h"
#include "python/memory_format.h"
#include "python/overrides.h"
#include "python/py_node.h"
#include "python/py_tensor_record.h"
#include "python/subscript.h"

namespace strided::python {

PyTypeObject* tensor_type = nullptr;

PyObject* wrap_as(PyTypeObject* type, Tensor t) {
  // Not tp_alloc, which would have the garbage collector look at each (Note [Tensors and the garbage collector]).
  PyObject* o =
      type == tensor_type ? reinterpret_cast<PyObject*>(PyObject_GC_New(PyTensor, type)) : type->tp_alloc(type, 0);
  if (o == nullptr) throw PythonError{};
  auto* p = reinterpret_cast<PyTensor*>(o);
  if (t.defined()) t.impl()->py_object = o;
  new (&p->tensor) Tensor(std::move(t));
  p->dict = p->weak = nullptr;
  return o;
}

PyObject* wrap(const Tensor& t) {
  if (!t.defined()) Py_RETURN_NONE;
  if (t.impl()->py_object) return shown_object(t);
  return wrap_as(tensor_type, t);
}
PyObject* wrap(Tensor&& t) {
  if (!t.defined()) Py_RETURN_NONE;
  if (t.impl()->py_object) return shown_object(t);
  return wrap_as(tensor_type, std::move(t));
}

namespace {

template <class T>
PyObject* element_to_python(const char* p) {
  if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(*reinterpret_cast<const uint8_t*>(p) != 0);
  else {
    T v;  // a view in another dtype need not be aligned
    std::memcpy(&v, p, sizeof(T));
    if constexpr (is_complex_v<T>) return PyComplex_FromDoubles(static_cast<double>(v.re), static_cast<double>(v.im));
    else if constexpr (std::is_same_v<T, uint64_t>) return PyLong_FromUnsignedLongLong(v);
    else if constexpr (std::is_integral_v<T>) return PyLong_FromLongLong(v);
    else return PyFloat_FromDouble(static_cast<double>(static_cast<compute_t<T>>(v)));
  }
}

PyObject* nested_list(const Tensor& t, const char* data, int axis, PyObject* (*element)(const char*)) {
  if (axis == t.ndim()) return element(data);
  const int64_t n = t.size(axis), stride = t.strides()[axis] * t.itemsize();
  PyObject* list = PyList_New(n);
  if (!list) return nullptr;
  for (int64_t i = 0; i < n; ++i) {
    PyObject* o = nested_list(t, data + i * stride, axis + 1, element);
    if (!o) {
      Py_DECREF(list);
      return nullptr;
    }
    PyList_SET_ITEM(list, i, o);
  }
  return list;
}

}  // namespace

PyObject* to_list(const Tensor& t) {
  const Tensor host = to_device(t, Device{});
  return dispatch(t.dtype(), [&](auto tag) {
    return nested_list(host, host.data(), 0, element_to_python<typename decltype(tag)::type>);
  });
}

namespace {

const Tensor& self_of(PyObject* o) { return unwrap(o); }

// ---------------------------------------------------------------- calls that others take over

// What another type makes of a method of one object.
PyObject* handed_over(const char* name, PyObject* o, PyObject* argument = nullptr) {
  PyObject* args[] = {o, argument};
  return guarded<PyObject*>(nullptr, [&] { return hand_over_attribute(name, nullptr, args, argument ? 2 : 1); });
}

// TypeError says that the operand is not for us, as NotImplemented does.
template <class F>
PyObject* or_not_implemented(F f) {
  PyObject* result = guarded<PyObject*>(nullptr, f);
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}
PyObject* handed_over(const char* name, const char* reflected, PyObject* a, PyObject* b) {
  PyObject *straight[] = {a, b}, *swapped[] = {b, a};
  return or_not_implemented([&] {
    return is_tensor(a) ? hand_over_attribute(name, nullptr, straight, 2)
                        : hand_over_attribute(reflected, nullptr, swapped, 2);
  });
}

// ---------------------------------------------------------------- operators

// What may stand beside a tensor: a tensor, a number, an ndarray (which is viewed). False: not ours.
bool as_operand(PyObject* o, Tensor* hold, std::optional<Operand>* out) {
  if (is_tensor(o)) {
    out->emplace(unwrap(o));
  } else if (PyFloat_CheckExact(o) || PyLong_Check(o) || is_number(o)) {
    out->emplace(to_scalar(o));
  } else if (is_ndarray(o)) {
    *hold = tensor_from_object(o);
    out->emplace(*hold);
  } else {
    return false;
  }
  return true;
}

template <class Op>
const char* op_name() {
  return op_def(elementwise_id<Op>).info->name;
}

template <class Op>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    Tensor hold[2];
    std::optional<Operand> left, right;
    if (!as_operand(a, &hold[0], &left) || !as_operand(b, &hold[1], &right)) Py_RETURN_NOTIMPLEMENTED;
    const Operand in[] = {*left, *right};
    const ProfiledCall profiled(op_name<Op>);
    return wrap(call_elementwise(op_def(elementwise_id<Op>), in));
  });
}
template <class Op>
PyObject* binary_inplace(PyObject* a, PyObject* b) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    Tensor hold;
    std::optional<Operand> right;
    if (!as_operand(b, &hold, &right)) Py_RETURN_NOTIMPLEMENTED;
    const Operand in[] = {Operand(unwrap(a)), *right};
    const ProfiledCall profiled([] { return op_name<Op>() + std::string("_"); });
    call_elementwise_out(op_def(elementwise_id<Op>), in, nullptr, unwrap(a), true);
    return Py_NewRef(a);
  });
}
template <class Op>
PyObject* unary(PyObject* a) {
  return guarded<PyObject*>(nullptr, [&] {
    const Operand in[] = {Operand(unwrap(a))};
    if constexpr (std::is_same_v<Op, BitwiseNot>)
      STRIDED_CHECK(is_integral(unwrap(a).dtype()), TypeError,
                    "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    const ProfiledCall profiled(op_name<Op>);
    return wrap(call_elementwise(op_def(elementwise_id<Op>), in));
  });
}
PyObject* power(PyObject* a, PyObject* b, PyObject* mod) {
  if (mod != Py_None) {
    PyErr_SetString(PyExc_TypeError, "pow() with a modulus is not supported for tensors");
    return nullptr;
  }
  return taken(a, b) ? handed_over("__pow__", "__rpow__", a, b) : binary<Pow>(a, b);
}
PyObject* power_inplace(PyObject* a, PyObject* b, PyObject*) {
  return taken(a, b) ? handed_over("__ipow__", "__ipow__", a, b) : binary_inplace<Pow>(a, b);
}

PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject* args[2] = {a, b};
    PyObject* made[2] = {nullptr, nullptr};
    for (int i = 0; i < 2; ++i) {
      if (is_tensor(args[i])) continue;
      if (!is_ndarray(args[i])) Py_RETURN_NOTIMPLEMENTED;
      args[i] = made[i] = wrap(tensor_from_object(args[i]));
    }
    PyObject* result = call_function("matmul", args, 2);
    Py_XDECREF(made[0]);
    Py_XDECREF(made[1]);
    return result;
  });
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (taken(a, b)) {
    static constexpr const char* names[] = {"lt", "le", "eq", "ne", "gt", "ge"};  // in the order of Py_LT ... Py_GE
    return handed_over(names[op], names[op], a, b);
  }
  switch (op) {
    case Py_EQ: return binary<Eq>(a, b);
    case Py_NE: return binary<Ne>(a, b);
    case Py_LT: return binary<Lt>(a, b);
    case Py_LE: return binary<Le>(a, b);
    case Py_GT: return binary<Gt>(a, b);
    default: return binary<Ge>(a, b);
  }
}

// ---------------------------------------------------------------- numbers

int truth(PyObject* o) {
  if (taken(o)) {
    PyObject* result = handed_over("__bool__", o);
    const int yes = result ? PyObject_IsTrue(result) : -1;
    Py_XDECREF(result);
    return yes;
  }
  return guarded<int>(-1, [&] {
    const Tensor& t = self_of(o);
    STRIDED_CHECK(t.numel() != 0, RuntimeError, "Boolean value of Tensor with no values is ambiguous");
    STRIDED_CHECK(t.numel() == 1, RuntimeError, "Boolean value of Tensor with more than one value is ambiguous");
    return static_cast<int>(item(t).to_bool());
  });
}
// The number for float(x), int(x) and complex(x).
Scalar only_element(const Tensor& t) {
  STRIDED_CHECK(t.numel() == 1, ValueError, "only one element tensors can be converted to Python scalars");
  return item(t);
}
PyObject* to_python_float(PyObject* o) {
  if (taken(o)) return handed_over("__float__", o);
  return guarded<PyObject*>(nullptr, [&] {
    const Scalar s = only_element(self_of(o));
    STRIDED_CHECK(!s.is_complex() || s.imag() == 0, RuntimeError,
                  "value cannot be converted to type double without overflow");
    return PyFloat_FromDouble(s.real());
  });
}
PyObject* to_python_int(PyObject* o) {
  if (taken(o)) return handed_over("__int__", o);
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Scalar s = only_element(self_of(o));
    if (s.is_integral()) {
      PyObject* v = wrap(s);
      PyObject* i = PyNumber_Long(v);
      Py_DECREF(v);
      return i;
    }
    STRIDED_CHECK(!s.is_complex() || s.imag() == 0, RuntimeError,
                  "value cannot be converted to type int64_t without overflow");
    return PyLong_FromDouble(s.real());  // ValueError / OverflowError for nan and inf
  });
}
PyObject* to_python_index(PyObject* o) {
  if (taken(o)) return handed_over("__index__", o);
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor& t = self_of(o);
    STRIDED_CHECK(t.numel() == 1 && is_integral(t.dtype()), TypeError,
                  "only integer tensors of a single element can be converted to an index");
    return to_python_int(o);
  });
}
PyObject* method_item(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] { return wrap(item(self_of(o))); });
}
PyObject* method_tolist(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] { return to_list(self_of(o)); });
}
PyObject* method_complex(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] {
    const Scalar s = only_element(self_of(o));
    return PyComplex_FromDoubles(s.real(), s.imag());
  });
}

Py_ssize_t length(PyObject* o) {
  if (taken(o)) {
    PyObject* result = handed_over("__len__", o);
    const Py_ssize_t n = result ? PyNumber_AsSsize_t(result, PyExc_OverflowError) : -1;
    Py_XDECREF(result);
    return n;
  }
  return guarded<Py_ssize_t>(-1, [&] {
    const Tensor& t = self_of(o);
    STRIDED_CHECK(t.ndim() > 0, TypeError, "len() of a 0-d tensor");
    return static_cast<Py_ssize_t>(t.size(0));
  });
}

// Iteration asks for one row at a time: a list of all rows of a large tensor would be larger than the tensor.
PyObject* row(PyObject* o, Py_ssize_t i) {
  if (taken(o)) {
    PyObject* index = PyLong_FromSsize_t(i);
    PyObject* result = index ? handed_over("__getitem__", o, index) : nullptr;
    Py_XDECREF(index);
    return result;
  }
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor& t = self_of(o);
    if (t.ndim() == 0 || i < 0 || i >= t.size(0)) {
      PyErr_SetString(PyExc_IndexError, "index out of range");
      return nullptr;
    }
    return wrap(select(t, 0, i));
  });
}
PyObject* iterate(PyObject* o) {
  if (taken(o)) {
    PyObject* rows = handed_over("unbind", o);
    PyObject* iterator = rows ? PyObject_GetIter(rows) : nullptr;
    Py_XDECREF(rows);
    return iterator;
  }
  return guarded<PyObject*>(nullptr, [&] {
    STRIDED_CHECK(self_of(o).ndim() > 0, TypeError, "iteration over a 0-d tensor");
    return PySeqIter_New(o);
  });
}

// ---------------------------------------------------------------- shape and memory

PyObject* get_shape(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] { return wrap_size(self_of(o).shape()); });
}
PyObject* get_ndim(PyObject* o, void*) { return PyLong_FromLong(self_of(o).ndim()); }
PyObject* get_dtype(PyObject* o, void*) { return wrap(self_of(o).dtype()); }
PyObject* get_device(PyObject* o, void*) { return wrap(self_of(o).device()); }
PyObject* get_itemsize(PyObject* o, void*) { return PyLong_FromLongLong(self_of(o).itemsize()); }
PyObject* get_nbytes(PyObject* o, void*) { return PyLong_FromLongLong(self_of(o).itemsize() * self_of(o).numel()); }
PyObject* get_is_cpu(PyObject* o, void*) { return PyBool_FromLong(self_of(o).device().is_cpu()); }
PyObject* get_is_cuda(PyObject* o, void*) { return PyBool_FromLong(self_of(o).device().is_cuda()); }
PyObject* get_read_only(PyObject* o, void*) { return PyBool_FromLong(self_of(o).storage().read_only()); }
PyObject* get_version(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] {
    STRIDED_CHECK(!self_of(o).impl()->of_inference(), RuntimeError, "Inference tensors do not track version counter.");
    return PyLong_FromUnsignedLong(self_of(o).storage().version());
  });
}

template <class F>
PyObject* view_property(PyObject* o, F f) {
  return guarded<PyObject*>(nullptr, [&] { return wrap(f(self_of(o))); });
}
PyObject* get_T(PyObject* o, void*) {
  return view_property(o, [](const Tensor& t) { return numpy_T(t); });
}
PyObject* get_mT(PyObject* o, void*) {
  return view_property(o, [](const Tensor& t) { return mT(t); });
}
PyObject* get_H(PyObject* o, void*) {
  return view_property(o, [](const Tensor& t) { return matrix_H(t); });
}
PyObject* get_mH(PyObject* o, void*) {
  return view_property(o, [](const Tensor& t) { return mH(t); });
}
PyObject* get_real(PyObject* o, void*) {
  return view_property(o, [](const Tensor& t) { return real(t); });
}
PyObject* get_imag(PyObject* o, void*) {
  return view_property(o, [](const Tensor& t) { return imag(t); });
}
// z.real = t and z.imag = t write to the view, as copy_ does.
int write_part(const char* name, Tensor (*part)(const Tensor&), PyObject* o, PyObject* value) {
  return guarded<int>(-1, [&] {
    STRIDED_CHECK(value != nullptr, RuntimeError, "cannot delete attribute '", name, "' of a tensor");
    Tensor hold;
    std::optional<Operand> source;
    STRIDED_CHECK(as_operand(value, &hold, &source), TypeError, "attribute '", name,
                  "' of a tensor must be set to a tensor or a number, not ", Py_TYPE(value)->tp_name);
    const Tensor target = part(self_of(o));
    copy_(target, source->tensor ? *source->tensor : scalar_tensor(source->scalar, target.dtype(), target.device()));
    return 0;
  });
}
int set_real(PyObject* o, PyObject* value, void*) { return write_part("real", &real, o, value); }
int set_imag(PyObject* o, PyObject* value, void*) { return write_part("imag", &imag, o, value); }

PyObject* method_size(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor& t = self_of(o);
    const Py_ssize_t n_kw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    STRIDED_CHECK(n + n_kw <= 1, TypeError, "size() takes at most 1 argument, got ", n + n_kw);
    if (n + n_kw == 0 || args[0] == Py_None) return wrap_size(t.shape());
    STRIDED_CHECK(is_integer_like(args[0]), TypeError, "size(): argument 'dim' must be int");
    STRIDED_CHECK(t.ndim() > 0, IndexError, "Dimension specified as ", to_int(args[0]),
                  " but tensor has no dimensions");
    return PyLong_FromLongLong(t.size(wrap_axis("size", to_int(args[0]), t.ndim())));
  });
}
PyObject* method_stride(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor& t = self_of(o);
    const Py_ssize_t n_kw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    STRIDED_CHECK(n + n_kw <= 1, TypeError, "stride() takes at most 1 argument, got ", n + n_kw);
    if (n + n_kw == 0 || args[0] == Py_None) return wrap_tuple(t.strides());
    STRIDED_CHECK(is_integer_like(args[0]), TypeError, "stride(): argument 'dim' must be int");
    STRIDED_CHECK(t.ndim() > 0, IndexError, "Dimension specified as ", to_int(args[0]),
                  " but tensor has no dimensions");
    return PyLong_FromLongLong(t.strides()[wrap_axis("stride", to_int(args[0]), t.ndim())]);
  });
}
PyObject* method_dim(PyObject* o, PyObject*) { return PyLong_FromLong(self_of(o).ndim()); }
PyObject* method_numel(PyObject* o, PyObject*) { return PyLong_FromLongLong(self_of(o).numel()); }
PyObject* method_storage_offset(PyObject* o, PyObject*) { return PyLong_FromLongLong(self_of(o).offset()); }
PyObject* method_data_ptr(PyObject* o, PyObject*) {
  const Tensor& t = self_of(o);
  return PyLong_FromVoidPtr(t.storage().data() && t.numel() ? t.data() : nullptr);
}
PyObject* method_element_size(PyObject* o, PyObject*) { return get_itemsize(o, nullptr); }
PyObject* method_is_contiguous(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  const Py_ssize_t n_all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  if (n_all == 0) return PyBool_FromLong(self_of(o).is_contiguous());
  return guarded<PyObject*>(nullptr, [&] {
    STRIDED_CHECK(
        n_all == 1 && (n == 1 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "memory_format") == 0),
        TypeError, "is_contiguous() takes one argument, memory_format");
    return PyBool_FromLong(is_contiguous_in(memory_format(args[0], MemoryFormat::Contiguous), self_of(o)));
  });
}

// ---------------------------------------------------------------- buffer protocol

struct Exported {
  Tensor tensor;
  Py_ssize_t numbers[2 * kMaxDims];
};

int get_buffer(PyObject* o, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded<int>(-1, [&] {
    const Tensor& t = self_of(o);
    STRIDED_CHECK(t.device().is_cpu(), BufferError, "memoryview: the tensor is on device '", t.device(),
                  "', not on the CPU");
    STRIDED_CHECK(!t.requires_grad(), BufferError, "memoryview: the tensor requires grad; use tensor.detach()");
    STRIDED_CHECK(info_of(t.dtype()).buffer_format, BufferError, "memoryview: the buffer protocol has no format for ",
                  name_of(t.dtype()));
    STRIDED_CHECK(!((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && t.storage().read_only()), BufferError,
                  "memoryview: the tensor is read-only");
    const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    STRIDED_CHECK(wants_strides || t.is_contiguous(), BufferError, "memoryview: the tensor is not contiguous");
    STRIDED_CHECK((flags & PyBUF_C_CONTIGUOUS) != PyBUF_C_CONTIGUOUS || t.is_contiguous(), BufferError,
                  "memoryview: the tensor is not C-contiguous");
    STRIDED_CHECK((flags & PyBUF_F_CONTIGUOUS) != PyBUF_F_CONTIGUOUS || numpy_T(t).is_contiguous(), BufferError,
                  "memoryview: the tensor is not Fortran-contiguous");
    t.storage().set_exported();
    auto* held = new Exported{t, {}};
    for (int i = 0; i < t.ndim(); ++i) {
      held->numbers[i] = t.size(i);
      held->numbers[kMaxDims + i] = t.strides()[i] * t.itemsize();
    }
    static char nothing[16];
    view->buf = t.numel() ? t.data() : nothing;
    view->obj = Py_NewRef(o);
    view->len = t.numel() * t.itemsize();
    view->itemsize = t.itemsize();
    view->readonly = t.storage().read_only();
    view->ndim = t.ndim();
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(info_of(t.dtype()).buffer_format) : nullptr;
    view->shape = (flags & PyBUF_ND) ? held->numbers : nullptr;
    view->strides = wants_strides ? held->numbers + kMaxDims : nullptr;
    view->suboffsets = nullptr;
    view->internal = held;
    return 0;
  });
}
void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Exported*>(view->internal); }

// ---------------------------------------------------------------- life

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  // The legacy constructor torch.Tensor(...): sizes, a list, another tensor.
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject* made = checked(PyObject_Call(hook("legacy_constructor"), args, kwargs));
    if (!is_tensor(made) || type == Py_TYPE(made)) return made;
    const Tensor t = unwrap(made);
    PyObject* o = wrap_as(type, t);  // takes the place of `made`, which nobody else has
    Py_DECREF(made);
    return o;
  });
}
int tensor_init(PyObject*, PyObject*, PyObject*) { return 0; }

// Note [Tensors and the garbage collector]
// Looking after every tensor would make each allocation dearer, and few can be part of a cycle: only one with
// attributes, with hooks, or made by an autograd.Function. The collector is told of these when they become so (track).
// The attributes of an object that comes back (Note [Objects that come back]) are not the object's alone: the collector
// must not empty them.
bool comes_back(const PyTensor* p) { return p->dict && p->tensor.defined() && p->tensor.impl()->use_count() > 1; }
int tensor_traverse(PyObject* o, visitproc visit, void* arg) {
  auto* p = reinterpret_cast<PyTensor*>(o);
  Py_VISIT(Py_TYPE(o));
  if (!comes_back(p)) Py_VISIT(p->dict);
  return p->tensor.defined() ? visit_record(p->tensor, visit, arg) : 0;
}
int tensor_clear(PyObject* o) {
  auto* p = reinterpret_cast<PyTensor*>(o);
  if (!comes_back(p)) Py_CLEAR(p->dict);
  if (p->tensor.defined()) clear_record(p->tensor);
  return 0;
}
int tensor_setattr(PyObject* o, PyObject* name, PyObject* value) {
  const int result = PyObject_GenericSetAttr(o, name, value);
  if (result == 0 && reinterpret_cast<PyTensor*>(o)->dict) track(o);
  return result;
}

void tensor_dealloc(PyObject* o) {
  auto* p = reinterpret_cast<PyTensor*>(o);
  PyTypeObject* type = Py_TYPE(o);
  if (PyType_IS_GC(type)) PyObject_GC_UnTrack(o);
  if (p->tensor.defined() && p->tensor.impl()->py_object == o) {
    keep_object(o);  // before others run: a dying object is not given out
    drop_graph_of_gradient(p->tensor);
  }
  if (p->weak) PyObject_ClearWeakRefs(o);
  p->tensor.~Tensor();
  Py_CLEAR(p->dict);
  type->tp_free(o);
  Py_DECREF(type);
}
Py_hash_t tensor_hash(PyObject* o) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(o) >> 4); }

// ---------------------------------------------------------------- the type

template <PyObject* (*F)(PyObject*, void*), Audience audience = Audience::Everybody>
PyObject* get_property(PyObject* o, void* name) {
  if (!taken(o, audience)) return F(o, nullptr);
  return guarded<PyObject*>(nullptr,
                            [&] { return hand_over_attribute(static_cast<const char*>(name), "__get__", &o, 1); });
}
template <int (*F)(PyObject*, PyObject*, void*), Audience audience = Audience::Everybody>
int set_property(PyObject* o, PyObject* value, void* name) {
  PyObject* args[] = {o, value ? value : Py_None};
  if (!taken(args, 2, audience)) return F(o, value, nullptr);
  return guarded<int>(-1, [&] {
    Py_DECREF(
        hand_over_attribute(static_cast<const char*>(name), value ? "__set__" : "__delete__", args, value ? 2 : 1));
    return 0;
  });
}
PyObject* subscript(PyObject* o, PyObject* key) {
  return taken(o, key) ? handed_over("__getitem__", o, key) : subscript_get(o, key);
}
int set_subscript(PyObject* o, PyObject* key, PyObject* value) {
  PyObject* args[] = {o, key, value};
  if (!value || !taken(args, 3)) return subscript_set(o, key, value);
  return guarded<int>(-1, [&] {
    Py_DECREF(hand_over_attribute("__setitem__", nullptr, args, 3));
    return 0;
  });
}

// Attributes may make a cycle (Note [Tensors and the garbage collector]).
PyObject* get_dict(PyObject* o, void*) {
  PyObject* dict = PyObject_GenericGetDict(o, nullptr);
  if (dict) track(o);
  return dict;
}

#define GET(name, get, doc) {#name, get_property<get>, nullptr, doc, const_cast<char*>(#name)}
#define ASK(name, get, doc) {#name, get_property<get, Audience::Questions>, nullptr, doc, const_cast<char*>(#name)}
#define ASK_SET(name, get, set, doc) \
  {#name, get_property<get, Audience::Questions>, set_property<set, Audience::Questions>, doc, const_cast<char*>(#name)}
#define GET_SET(name, get, set, doc) {#name, get_property<get>, set_property<set>, doc, const_cast<char*>(#name)}
PyGetSetDef getset[] = {
    ASK(shape, get_shape, "Sizes along each dimension, as torch.Size."),
    ASK(ndim, get_ndim, "Number of dimensions."),
    ASK(dtype, get_dtype, "Type of the elements."),
    GET(device, get_device, "Where the memory is."),
    ASK(itemsize, get_itemsize, "Bytes of one element."),
    ASK(nbytes, get_nbytes, "Bytes of all elements."),
    GET(is_cpu, get_is_cpu, "True on the CPU."),
    GET(is_cuda, get_is_cuda, "True on a CUDA device."),
    ASK(is_read_only, get_read_only, "True when the memory must not be written (a read-only array was wrapped)."),
    ASK(_version, get_version, "Counts in-place writes to the storage."),
    GET(T, get_T, "View with the dimensions in reverse order."),
    GET(mT, get_mT, "View with the last two dimensions swapped."),
    GET(H, get_H, "Conjugate transpose of a matrix."),
    GET(mH, get_mH, "Conjugate transpose of the last two dimensions."),
    GET_SET(real, get_real, set_real, "Real parts, as a view; may be assigned to."),
    GET_SET(imag, get_imag, set_imag, "Imaginary parts of a complex tensor, as a view; may be assigned to."),
    ASK_SET(requires_grad, get_requires_grad, set_requires_grad, "True when gradients flow to or through this tensor."),
    ASK(is_leaf, get_is_leaf, "True when no recorded operation made this tensor."),
    ASK_SET(grad, get_grad, set_grad, "The gradient collected by backward(), or None."),
    GET_SET(data, get_data, set_data, "The same memory without the record for autograd."),
    ASK(grad_fn, get_grad_fn, "The step of the graph that made the tensor, or None."),
    ASK(output_nr, get_output_nr, "Which output of grad_fn the tensor is."),
    ASK(retains_grad, get_retains_grad, "True when the gradient of this result of an operation is kept."),
    ASK(_base, get_base, "The tensor this is a view of, or None."),
    {"__dict__", get_dict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
#undef GET
#undef ASK
#undef ASK_SET
#undef GET_SET

template <class F>
PyCFunction as_c(F f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}
PyObject* method_elsewhere(const char* name, PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  std::vector<PyObject*> all{o};
  all.insert(all.end(), args, args + n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
  return guarded<PyObject*>(
      nullptr, [&] { return hand_over_attribute(name, nullptr, all.data(), 1 + static_cast<size_t>(n), kwnames); });
}

#define METHOD(name, f, flags, doc) \
  {#name, [](PyObject* o, PyObject* arg) { return taken(o) ? handed_over(#name, o, arg) : f(o, arg); }, flags, doc}
#define METHOD_KEYWORDS(name, f, doc) \
  {#name, as_c(+[](PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) { \
     return taken(o) ? method_elsewhere(#name, o, args, n, kwnames) : f(o, args, n, kwnames); \
   }), \
   METH_FASTCALL | METH_KEYWORDS, doc}
PyMethodDef methods[] = {
    METHOD(item, method_item, METH_NOARGS,
           "item($self)\n--\n\nThe one element as a Python number; RuntimeError for any other number of elements."),
    METHOD(tolist, method_tolist, METH_NOARGS,
           "tolist($self)\n--\n\nThe elements as nested lists of Python numbers; of a 0-d tensor, the number."),
    METHOD(__complex__, method_complex, METH_NOARGS, nullptr),
    METHOD_KEYWORDS(size, method_size, "size($self, dim=None)\n--\n\nAll sizes, or the size of one dimension."),
    METHOD_KEYWORDS(stride, method_stride,
                    "stride($self, dim=None)\n--\n\nSteps in elements along each dimension, or along one."),
    METHOD(dim, method_dim, METH_NOARGS, "dim($self)\n--\n\nNumber of dimensions."),
    METHOD(ndimension, method_dim, METH_NOARGS, "ndimension($self)\n--\n\nNumber of dimensions."),
    METHOD(numel, method_numel, METH_NOARGS, "numel($self)\n--\n\nNumber of elements."),
    METHOD(nelement, method_numel, METH_NOARGS, "nelement($self)\n--\n\nNumber of elements."),
    METHOD(storage_offset, method_storage_offset, METH_NOARGS,
           "storage_offset($self)\n--\n\nPosition of the first element in the storage, in elements."),
    METHOD(data_ptr, method_data_ptr, METH_NOARGS,
           "data_ptr($self)\n--\n\nAddress of the first element; 0 if there is none."),
    METHOD(element_size, method_element_size, METH_NOARGS, "element_size($self)\n--\n\nBytes of one element."),
    METHOD_KEYWORDS(is_contiguous, method_is_contiguous,
                    "is_contiguous($self, memory_format=None)\n--\n\n"
                    "True when the elements stand without gaps in row-major order, or in that of memory_format."),
    METHOD(detach_, method_detach_in_place, METH_NOARGS,
           "detach_($self)\n--\n\n"
           "Forgets the operation that made the tensor, and returns the tensor; RuntimeError for a view."),
    METHOD(retain_grad, method_retain_grad, METH_NOARGS,
           "retain_grad($self)\n--\n\nKeeps the gradient of a tensor that is no leaf in .grad during backward()."),
    METHOD(
        register_hook, method_register_hook, METH_O,
        "register_hook($self, hook, /)\n--\n\n"
        "hook(grad) is called with the gradient of this tensor during backward(); what it returns, if not\n"
        "None, takes its place. Returns a handle, whose remove() takes the hook away.\n\n"
        ">>> x = strided.ones(2, requires_grad=True)\n>>> h = x.register_hook(lambda g: 10 * g)\n>>> x.sum().backward()\n>>> x.grad\n"
        "tensor([10., 10.])"),
    METHOD(register_post_accumulate_grad_hook, method_register_post_accumulate, METH_O,
           "register_post_accumulate_grad_hook($self, hook, /)\n--\n\n"
           "hook(leaf) is called after backward() has added to leaf.grad. Returns a handle, as register_hook."),
    METHOD(_is_view, method_is_view, METH_NOARGS,
           "_is_view($self)\n--\n\nTrue for a view that gradients pass through."),
    METHOD(detach, method_detach, METH_NOARGS, "detach($self)\n--\n\nThe same memory without the record for autograd."),
    {"as_subclass", method_as_subclass, METH_O,
     "as_subclass($self, cls, /)\n--\n\n"
     "The same memory as an object of cls, a subclass of Tensor; gradients pass through. TypeError for other classes.\n\n"
     ">>> class Mine(strided.Tensor): pass\n>>> strided.ones(2).as_subclass(Mine) + 1\nMine([2., 2.])"},
    {"_make_subclass", as_c(method_make_subclass), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "_make_subclass(cls, data, require_grad=False)\n--\n\n"
     "The memory of data as an object of cls that no operation has made, and that wants a gradient if asked."},
    {"__torch_function__", as_c(method_torch_function), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "__torch_function__($cls, func, types, args=(), kwargs=None, /)\n--\n\n"
     "Called for every function of an object of a subclass: calls it, and makes its results objects of the subclass."},
    {nullptr, nullptr, 0, nullptr}};
#undef METHOD
#undef METHOD_KEYWORDS

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weak), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

#define SLOT(name, f) {Py_##name, reinterpret_cast<void*>(f)}
#define OPERATOR(slot, f, name, reflected) \
  SLOT(slot, +[](PyObject* a, PyObject* b) { return taken(a, b) ? handed_over(#name, #reflected, a, b) : f(a, b); })
#define UNARY(slot, Op, name) SLOT(slot, +[](PyObject* a) { return taken(a) ? handed_over(#name, a) : unary<Op>(a); })
PyType_Slot slots[] = {
    SLOT(tp_new, tensor_new),
    SLOT(tp_init, tensor_init),
    SLOT(tp_dealloc, tensor_dealloc),
    SLOT(tp_hash, tensor_hash),
    SLOT(tp_richcompare, compare),
    SLOT(tp_iter, iterate),
    SLOT(tp_getset, getset),
    SLOT(tp_methods, methods),
    SLOT(tp_traverse, tensor_traverse),
    SLOT(tp_clear, tensor_clear),
    SLOT(tp_setattro, tensor_setattr),
    SLOT(tp_members, members),
    SLOT(mp_length, length),
    SLOT(sq_item, row),
    SLOT(mp_subscript, subscript),
    SLOT(mp_ass_subscript, set_subscript),
    OPERATOR(nb_add, binary<Add>, add, add),
    OPERATOR(nb_subtract, binary<Sub>, sub, __rsub__),
    OPERATOR(nb_multiply, binary<Mul>, mul, mul),
    OPERATOR(nb_true_divide, binary<Div>, div, __rtruediv__),
    OPERATOR(nb_floor_divide, binary<FloorDivide>, __floordiv__, __rfloordiv__),
    OPERATOR(nb_remainder, binary<Remainder>, remainder, __rmod__),
    SLOT(nb_power, power),
    OPERATOR(nb_and, binary<BitwiseAnd>, __and__, bitwise_and),
    OPERATOR(nb_or, binary<BitwiseOr>, __or__, bitwise_or),
    OPERATOR(nb_xor, binary<BitwiseXor>, __xor__, bitwise_xor),
    OPERATOR(nb_lshift, binary<BitwiseLeftShift>, __lshift__, __rlshift__),
    OPERATOR(nb_rshift, binary<BitwiseRightShift>, __rshift__, __rrshift__),
    OPERATOR(nb_inplace_add, binary_inplace<Add>, add_, add_),
    OPERATOR(nb_inplace_subtract, binary_inplace<Sub>, sub_, sub_),
    OPERATOR(nb_inplace_multiply, binary_inplace<Mul>, mul_, mul_),
    OPERATOR(nb_inplace_true_divide, binary_inplace<Div>, div_, div_),
    OPERATOR(nb_inplace_floor_divide, binary_inplace<FloorDivide>, floor_divide_, floor_divide_),
    OPERATOR(nb_inplace_remainder, binary_inplace<Remainder>, remainder_, remainder_),
    SLOT(nb_inplace_power, power_inplace),
    OPERATOR(nb_inplace_and, binary_inplace<BitwiseAnd>, __iand__, __iand__),
    OPERATOR(nb_inplace_or, binary_inplace<BitwiseOr>, __ior__, __ior__),
    OPERATOR(nb_inplace_xor, binary_inplace<BitwiseXor>, __ixor__, __ixor__),
    OPERATOR(nb_inplace_lshift, binary_inplace<BitwiseLeftShift>, __ilshift__, __ilshift__),
    OPERATOR(nb_inplace_rshift, binary_inplace<BitwiseRightShift>, __irshift__, __irshift__),
    OPERATOR(nb_matrix_multiply, matrix_multiply, matmul, __rmatmul__),
    UNARY(nb_negative, Neg, neg),
    UNARY(nb_positive, Positive, positive),
    UNARY(nb_absolute, Abs, abs),
    UNARY(nb_invert, BitwiseNot, __invert__),
    SLOT(nb_bool, truth),
    SLOT(nb_int, to_python_int),
    SLOT(nb_float, to_python_float),
    SLOT(nb_index, to_python_index),
    SLOT(bf_getbuffer, get_buffer),
    SLOT(bf_releasebuffer, release_buffer),
    {Py_tp_doc,
     const_cast<char*>("A strided view of a storage: an n-dimensional array of one dtype.\n\n"
                       "Made by strided.tensor and the other factories; Tensor(2, 3) makes an uninitialised\n"
                       "one of that size, Tensor([1, 2]) one with these values, in the default dtype.")},
    {0, nullptr}};
#undef SLOT
#undef OPERATOR
#undef UNARY
PyType_Spec spec = {"strided.Tensor", sizeof(PyTensor), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

void init_tensor(PyObject* module) {
  tensor_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type));
}

}  // namespace strided::python
