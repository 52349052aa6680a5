// The properties and methods of the Tensor type that do not come from the table of functions: about shape, memory, and
// what autograd keeps.
#include <cstring>
#include <vector>

#include "base/warning.h"
#include "ops/operators.h"
#include "ops/shape/view.h"
#include "python/function.h"
#include "python/memory_format.h"
#include "python/method_def.h"
#include "python/overrides.h"
#include "python/py_node.h"
#include "python/py_tensor_detail.h"
#include "python/py_tensor_record.h"
#include "python/tensor_subclass.h"

namespace strided::python {
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

// ---------------------------------------------------------------- elements

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
// A class that keeps its values in another layout has a property of its own.
PyObject* get_layout(PyObject*, void*) {
  return guarded<PyObject*>(nullptr, [] {
    static PyObject* const strided = hook("strided");
    return Py_NewRef(strided);
  });
}
PyObject* get_read_only(PyObject* o, void*) { return PyBool_FromLong(self_of(o).storage().read_only()); }
PyObject* get_cdata(PyObject* o, void*) { return PyLong_FromVoidPtr(self_of(o).impl()); }
PyObject* get_version(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] {
    STRIDED_CHECK(!self_of(o).impl()->of_inference(), RuntimeError, "Inference tensors do not track version counter.");
    return PyLong_FromUnsignedLong(version_of(self_of(o)));
  });
}

template <class F>
PyObject* view_property(PyObject* o, F f) {
  return guarded<PyObject*>(nullptr, [&] { return wrap(f(self_of(o))); });
}
PyObject* get_T(PyObject* o, void*) {
  return view_property(o, [](const Tensor& t) {
    if (t.ndim() == 0)
      warn_once("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.");
    else if (t.ndim() != 2)
      warn_once(
          "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw "
          "an error in a future release. Consider `x.mT` to transpose batches of matrices or "
          "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.");
    return numpy_T(t);
  });
}
PyObject* get_mT(PyObject* o, void*) {
  return view_property(o, [](const Tensor& t) {
    if (t.ndim() == 0)
      warn_once("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.");
    return mT(t);
  });
}
PyObject* get_H(PyObject* o, void*) {
  return view_property(o, [](const Tensor& t) {
    if (t.ndim() == 0) warn_once("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().");
    return matrix_H(t);
  });
}
PyObject* get_mH(PyObject* o, void*) {
  return view_property(o, [](const Tensor& t) {
    if (t.ndim() == 0) warn_once("Tensor.mH is deprecated on 0-D tensors. Consider using x.conj().");
    return mH(t);
  });
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

// ---------------------------------------------------------------- the tables

__attribute__((noinline)) PyObject* property_elsewhere(PyObject* o, void* name) {
  return guarded<PyObject*>(nullptr,
                            [&] { return hand_over_attribute(static_cast<const char*>(name), "__get__", &o, 1); });
}
template <PyObject* (*F)(PyObject*, void*), Audience audience = Audience::Everybody>
PyObject* get_property(PyObject* o, void* name) {
  return taken(o, audience) ? property_elsewhere(o, name) : F(o, nullptr);
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
}  // namespace

PyGetSetDef tensor_getset[] = {
    ASK(shape, get_shape, "Sizes along each dimension, as torch.Size."),
    ASK(ndim, get_ndim, "Number of dimensions."),
    ASK(dtype, get_dtype, "Type of the elements."),
    GET(device, get_device, "Where the memory is."),
    ASK(itemsize, get_itemsize, "Bytes of one element."),
    ASK(nbytes, get_nbytes, "Bytes of all elements."),
    GET(is_cpu, get_is_cpu, "True on the CPU."),
    GET(is_cuda, get_is_cuda, "True on a CUDA device."),
    ASK(is_read_only, get_read_only, "True when the memory must not be written (a read-only array was wrapped)."),
    ASK(_cdata, get_cdata, "A number that no other living tensor has."),
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
    ASK_SET(grad_dtype, get_grad_dtype, set_grad_dtype,
            "Of a leaf: the dtype that its gradient is brought to, its own if nothing else was set; None: any dtype."),
    GET_SET(data, get_data, set_data, "The same memory without the record for autograd."),
    ASK(grad_fn, get_grad_fn, "The step of the graph that made the tensor, or None."),
    ASK(output_nr, get_output_nr, "Which output of grad_fn the tensor is."),
    ASK(retains_grad, get_retains_grad, "True when the gradient of this result of an operation is kept."),
    ASK_SET(_backward_hooks, get_hooks, set_hooks,
            "The functions of register_hook, by the numbers of their handles; or None."),
    ASK(_post_accumulate_grad_hooks, get_post_accumulate_hooks, "Those of register_post_accumulate_grad_hook."),
    ASK(_base, get_base, "The tensor this is a view of, or None."),
    {"layout", get_layout, nullptr, "Always strided.", nullptr},
    {"__dict__", get_dict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
#undef GET
#undef ASK
#undef ASK_SET
#undef GET_SET

namespace {

PyObject* method_elsewhere(const char* name, PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  std::vector<PyObject*> all{o};
  all.insert(all.end(), args, args + n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
  return guarded<PyObject*>(
      nullptr, [&] { return hand_over_attribute(name, nullptr, all.data(), 1 + static_cast<size_t>(n), kwnames); });
}

}  // namespace

#define METHOD(name, f, flags, doc) \
  {#name, [](PyObject* o, PyObject* arg) { return taken(o) ? handed_over(#name, o, arg) : f(o, arg); }, flags, doc}
#define METHOD_KEYWORDS(name, f, doc) \
  {#name, as_c(+[](PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) { \
     return taken(o) ? method_elsewhere(#name, o, args, n, kwnames) : f(o, args, n, kwnames); \
   }), \
   METH_FASTCALL | METH_KEYWORDS, doc}
PyMethodDef tensor_methods[] = {
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

}  // namespace strided::python
