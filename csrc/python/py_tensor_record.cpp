#include "python/py_tensor_record.h"

#include "ops/record.h"
#include "ops/shape/view.h"
#include "python/py_hook.h"
#include "python/py_node.h"
#include "tensor/foreign.h"

namespace strided::python {
namespace {

// What forward-mode differentiation alone records (autograd/forward_ad.py) does not show.
bool shows_record(const Tensor& t) {
  if (t.impl()->record_is_old() && !(t.impl()->autograd && t.impl()->autograd->requires_grad))
    return shows_record(Tensor(t.impl()->base));
  if (!t.requires_grad()) return false;
  const Ref<Node>& node = grad_fn(t);
  return !node || !node->forward_only;
}

}  // namespace

PyObject* get_requires_grad(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] { return PyBool_FromLong(shows_record(unwrap(o))); });
}
int set_requires_grad(PyObject* o, PyObject* value, void*) {
  return guarded<int>(-1, [&] {
    STRIDED_CHECK(value && (PyBool_Check(value)), RuntimeError, "requires_grad must be a bool");
    const Tensor& t = unwrap(o);
    const bool on = value == Py_True;
    if (!on && !t.requires_grad()) return 0;
    const bool leaf = !grad_fn(t);
    STRIDED_CHECK(
        leaf, RuntimeError, "you can only change requires_grad flags of leaf variables.",
        on ? ""
           : " If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().");
    STRIDED_CHECK(!on || is_floating(t.dtype()) || is_complex(t.dtype()), RuntimeError,
                  "only Tensors of floating point and complex dtype can require gradients");
    STRIDED_CHECK(!on || !t.storage().of_inference() || inference_mode(), RuntimeError,
                  "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    if (leaf) autograd_meta(t).requires_grad = on;
    return 0;
  });
}
PyObject* get_is_leaf(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] { return PyBool_FromLong(!shows_record(unwrap(o)) || !grad_fn(unwrap(o))); });
}
PyObject* get_grad(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor& t = unwrap(o);
    const AutogradMeta* meta = t.impl()->autograd.get();
    if (!meta) Py_RETURN_NONE;
    const Tensor& grad = meta->retained ? meta->retained->grad : meta->grad;
    if (grad.defined()) {
      track(o);  // its attributes may lead back here
      return wrap(grad);
    }
    if (!meta->retained && shows_record(t) && grad_fn(t) &&
        PyErr_WarnEx(
            PyExc_UserWarning,
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated during "
            "autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf "
            "Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead.",
            1) < 0)
      return nullptr;
    Py_RETURN_NONE;
  });
}
int set_grad(PyObject* o, PyObject* value, void*) {
  return guarded<int>(-1, [&] {
    const Tensor& t = unwrap(o);
    if (value == nullptr || value == Py_None) {
      if (AutogradMeta* meta = t.impl()->autograd.get())
        (meta->retained ? meta->retained->grad : meta->grad) = Tensor();
      return 0;
    }
    STRIDED_CHECK(is_tensor(value), TypeError, "assigned grad expected to be a Tensor or None but got grad of type ",
                  Py_TYPE(value)->tp_name);
    const Tensor& g = unwrap(value);
    STRIDED_CHECK(g.impl() != t.impl(), RuntimeError, "can't assign Variable as its own grad");
    const std::optional<DType> dtype = gradient_dtype(t);
    STRIDED_CHECK(!dtype || g.dtype() == *dtype, RuntimeError, "attempting to assign a gradient with dtype '",
                  info_of(g.dtype()).written, "' to a tensor with grad_dtype '", cpp_name_of(dtype.value_or(t.dtype())),
                  "'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype).");
    STRIDED_CHECK(fits_device(g, t.device()), RuntimeError, "assigned grad has data located on a different device");
    STRIDED_CHECK(g.shape() == t.shape(), RuntimeError, "attempting to assign a gradient of size '", g.shape(),
                  "' to a tensor of size '", t.shape(),
                  "'. Please ensure that the gradient and the tensor are the same size");
    AutogradMeta& meta = autograd_meta(t);
    (meta.retained ? meta.retained->grad : meta.grad) = g;
    return 0;
  });
}
PyObject* get_grad_dtype(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor& t = unwrap(o);
    STRIDED_CHECK(!shows_record(t) || !grad_fn(t), RuntimeError, "grad_dtype can only be accessed on leaf tensors.");
    const std::optional<DType> dtype = gradient_dtype(t);
    if (!dtype) Py_RETURN_NONE;
    return wrap(*dtype);
  });
}
int set_grad_dtype(PyObject* o, PyObject* value, void*) {
  return guarded<int>(-1, [&] {
    const Tensor& t = unwrap(o);
    STRIDED_CHECK(!shows_record(t) || !grad_fn(t), RuntimeError, "grad_dtype can only be set on leaf tensors.");
    STRIDED_CHECK(value && (value == Py_None || is_dtype(value)), RuntimeError,
                  "grad_dtype must be a torch.dtype or None, but got ", value ? Py_TYPE(value)->tp_name : "nothing");
    const std::optional<DType> dtype = value == Py_None ? std::nullopt : std::optional<DType>(to_dtype(value));
    AutogradMeta& meta = autograd_meta(t);
    STRIDED_CHECK(
        !dtype || !meta.grad.defined() || meta.grad.dtype() == *dtype, RuntimeError, "Cannot set grad_dtype to '",
        cpp_name_of(*dtype), "' because there is already a gradient with dtype '", info_of(meta.grad.dtype()).written,
        "'. Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the new grad_dtype "
        "matches the existing gradient's dtype.");
    meta.grad_dtype = dtype;
    meta.any_grad_dtype = !dtype;
    return 0;
  });
}
PyObject* method_detach(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] { return wrap(detach(unwrap(o))); });
}
// x.data: as detach(), but writes to it are not counted as changes of x, as in PyTorch. What a graph saved of x
// is then changed behind its back: that is what callers of .data ask for.
PyObject* get_data(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] {
    const Tensor out = make_view(unwrap(o), unwrap(o).layout());
    out.impl()->uncounted = true;
    return wrap(out);
  });
}
int set_data(PyObject* o, PyObject* value, void*) {
  return guarded<int>(-1, [&] {
    STRIDED_CHECK(value, RuntimeError, "Deleting tensor data is not allowed. Delete tensor instead!");
    STRIDED_CHECK(is_tensor(value), TypeError, "Variable data has to be a tensor, but got ", short_type_name(value));
    const Tensor &t = unwrap(o), &v = unwrap(value);
    STRIDED_CHECK(!t.requires_grad() || is_floating(v.dtype()) || is_complex(v.dtype()), RuntimeError,
                  "data set to a tensor that requires gradients must be floating point or complex dtype");
    give_memory(t, v, false);
    return 0;
  });
}
PyObject* method_detach_in_place(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] {
    detach_(unwrap(o));
    return Py_NewRef(o);
  });
}
PyObject* get_grad_fn(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    if (!shows_record(unwrap(o))) Py_RETURN_NONE;
    track(o);  // the node may get hooks
    return wrap(grad_fn(unwrap(o)));
  });
}
PyObject* get_output_nr(PyObject* o, void*) {
  return guarded<PyObject*>(
      nullptr, [&] { return PyLong_FromLong(grad_fn(unwrap(o)) ? unwrap(o).impl()->autograd->output : 0); });
}
PyObject* get_base(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] { return wrap(Tensor(unwrap(o).impl()->base)); });
}
PyObject* get_hooks(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] { return tensor_hooks(unwrap(o)); });
}
int set_hooks(PyObject* o, PyObject* value, void*) {
  return guarded<int>(-1, [&] {
    STRIDED_CHECK(value, RuntimeError, "Deletion of _backwards_hooks not allowed!");
    set_tensor_hooks(unwrap(o), value);
    return 0;
  });
}
PyObject* get_post_accumulate_hooks(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] { return post_accumulate_hooks(unwrap(o)); });
}
PyObject* method_is_view(PyObject* o, PyObject*) { return PyBool_FromLong(static_cast<bool>(unwrap(o).impl()->base)); }
PyObject* method_retain_grad(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor& t = unwrap(o);
    STRIDED_CHECK(t.requires_grad(), RuntimeError, "can't retain_grad on Tensor that has requires_grad=False");
    const Ref<Node>& node = grad_fn(t);
    AutogradMeta& meta = *t.impl()->autograd;
    if (node && !meta.retained) {
      meta.retained = make_ref<GradBox>();
      node->hooks().retained.push_back({meta.output, meta.retained});
    }
    Py_RETURN_NONE;
  });
}
PyObject* get_retains_grad(PyObject* o, void*) {
  const auto& meta = unwrap(o).impl()->autograd;
  return PyBool_FromLong(meta && meta->retained);
}
PyObject* method_register_hook(PyObject* o, PyObject* callable) {
  return guarded<PyObject*>(nullptr, [&] {
    PyObject* handle = add_tensor_hook(unwrap(o), callable);
    track(o);
    return handle;
  });
}
PyObject* method_register_post_accumulate(PyObject* o, PyObject* callable) {
  return guarded<PyObject*>(nullptr, [&] {
    PyObject* handle = add_post_accumulate_hook(unwrap(o), callable);
    track(o);
    return handle;
  });
}

// Gradients that lead back to their leaf.
// backward(create_graph=True) leaves a gradient in leaf.grad whose graph leads to the leaf: a cycle of C++ objects,
// which no collector sees. Nobody asks for .grad when the Python object is gone, so the cycle is opened there.
void drop_graph_of_gradient(const Tensor& leaf) {
  AutogradMeta* meta = leaf.impl()->autograd.get();
  if (meta && meta->grad.defined() && leaf.impl()->use_count() > 1 && meta->grad.requires_grad())
    const Tensor grad = std::move(meta->grad);
}

Tensor detach(const Tensor& t) { return make_view(t, t.layout()); }
Tensor detach_(const Tensor& t) {
  STRIDED_CHECK(!t.impl()->base, RuntimeError, "Can't detach views in-place. Use detach() instead.");
  if (AutogradMeta* meta = t.impl()->autograd.get()) {
    meta->grad_fn = nullptr;
    meta->requires_grad = false;
    meta->output = 0;
  }
  return t;
}

}  // namespace strided::python
