#include "python/py_hook.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ops/record.h"
#include "python/kept_object.h"
#include "python/owned.h"
#include "python/py_node.h"

namespace strided::python {
namespace {

PyTypeObject* handle_type = nullptr;

class PyHook;
// What a handle has of its hook. Not the hook itself: a handle is often kept beside what the function refers to, and
// the collector does not see into it.
struct HookLink : RefCounted {
  PyHook* hook;  // null when it is gone
};

class PyHook : public Hook {
 public:
  PyHook(HookKind kind, PyObject* callable) : kind_(kind), callable_(callable), link_(new HookLink) {
    link_->hook = this;
  }
  ~PyHook() override { link_->hook = nullptr; }
  void remove() { callable_.clear(); }
  bool removed() const { return callable_.get() == nullptr; }
  const Ref<HookLink>& link() const { return link_; }
  PyObject* callable() const { return callable_.get(); }
  Ref<Hook> as_it_is() const override {
    return removed() ? Ref<Hook>() : Ref<Hook>(new PyHook(kind_, callable_.get()));
  }
  intptr_t id() const override { return reinterpret_cast<intptr_t>(link_.get()); }

  void call(TensorList& grads, const TensorList* others) override {
    if (!callable_.get()) return;
    const Owned f(Py_NewRef(callable_.get()));  // it may remove itself
    switch (kind_) {
      case HookKind::Tensor: {
        const Owned grad(wrap(grads[0]));
        const Owned result(PyObject_CallOneArg(f.o, grad.o));
        if (result.o != Py_None) grads[0] = replacement(f.o, result.o, grads[0]);
        return;
      }
      case HookKind::Accumulated: {
        const Owned leaf(wrap(grads[0]));
        const Owned result(PyObject_CallOneArg(f.o, leaf.o));
        STRIDED_CHECK(result.o == Py_None || is_tensor(result.o), TypeError, "expected Variable, but hook returned '",
                      Py_TYPE(result.o)->tp_name, "'");
        STRIDED_CHECK(result.o == Py_None || result.o == leaf.o, RuntimeError,
                      "Tensor post accumulate grad hooks should return None.");
        return;
      }
      case HookKind::Pre:
      case HookKind::Post: {
        const Owned ours(tuple_of(grads));
        const Owned theirs(others ? tuple_of(*others) : Py_NewRef(Py_None));
        const Owned result(kind_ == HookKind::Pre ? PyObject_CallOneArg(f.o, ours.o)
                                                  : PyObject_CallFunctionObjArgs(f.o, ours.o, theirs.o, nullptr));
        if (result.o == Py_None) return;
        STRIDED_CHECK(PyTuple_Check(result.o), TypeError, "expected tuple, but hook returned '",
                      short_type_name(result.o), "'");
        STRIDED_CHECK(PyTuple_GET_SIZE(result.o) == static_cast<Py_ssize_t>(grads.size()), RuntimeError, "hook '",
                      name_of_function(f.o), "' has returned an incorrect number of values (got ",
                      PyTuple_GET_SIZE(result.o), ", but expected ", grads.size(), ")");
        for (size_t i = 0; i < grads.size(); ++i) {
          PyObject* item = PyTuple_GET_ITEM(result.o, static_cast<Py_ssize_t>(i));
          grads[i] = item == Py_None ? Tensor() : replacement(f.o, item, grads[i]);
        }
        return;
      }
    }
  }

 private:
  static std::string name_of_function(PyObject* f) {
    PyObject* name = PyObject_GetAttrString(f, "__name__");
    if (!name) {
      PyErr_Clear();
      return Py_TYPE(f)->tp_name;
    }
    const Owned held(name);
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw PythonError{};
    return text;
  }
  static Tensor replacement(PyObject* f, PyObject* result, const Tensor& grad) {
    STRIDED_CHECK(is_tensor(result), TypeError, "expected Variable, but hook returned '", Py_TYPE(result)->tp_name,
                  "'");
    const Tensor t = unwrap_gradient(result);
    STRIDED_CHECK(grad.defined(), RuntimeError, "can't replace a None gradient with a non-None value");
    STRIDED_CHECK(t.dtype() == grad.dtype(), RuntimeError, "hook '", name_of_function(f),
                  "' has changed the type of value (was torch.", cpp_name_of(grad.dtype()), "Tensor got torch.",
                  cpp_name_of(t.dtype()), "Tensor)");
    STRIDED_CHECK(t.device() == grad.device(), RuntimeError, "hook '", name_of_function(f),
                  "' has changed the device of value");
    STRIDED_CHECK(t.shape() == grad.shape(), RuntimeError, "hook '", name_of_function(f),
                  "' has changed the size of value");
    return t;
  }

  HookKind kind_;
  SharedOwned callable_;
  Ref<HookLink> link_;
};

struct PyHandle {
  PyObject_HEAD Ref<HookLink> link;
};

void handle_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  reinterpret_cast<PyHandle*>(o)->link.~Ref<HookLink>();
  type->tp_free(o);
  Py_DECREF(type);
}
PyObject* handle_remove(PyObject* o, PyObject*) {
  if (PyHook* hook = reinterpret_cast<PyHandle*>(o)->link->hook) hook->remove();
  Py_RETURN_NONE;
}
PyObject* handle_enter(PyObject* o, PyObject*) { return Py_NewRef(o); }
PyObject* handle_exit(PyObject* o, PyObject*) { return handle_remove(o, nullptr); }
PyObject* handle_id(PyObject* o, void*) { return PyLong_FromVoidPtr(reinterpret_cast<PyHandle*>(o)->link.get()); }

PyMethodDef handle_methods[] = {{"remove", handle_remove, METH_NOARGS, "The function is not called any more."},
                                {"__enter__", handle_enter, METH_NOARGS, nullptr},
                                {"__exit__", handle_exit, METH_VARARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};
PyGetSetDef handle_getset[] = {{"id", handle_id, nullptr, "A number that tells the hook from others.", nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};

Ref<PyHook> make_hook(HookKind kind, PyObject* callable) {
  STRIDED_CHECK(PyCallable_Check(callable), TypeError, "a hook must be callable, got ", Py_TYPE(callable)->tp_name);
  return Ref<PyHook>(new PyHook(kind, callable));
}
PyObject* make_handle(const Ref<PyHook>& hook) {
  PyObject* o = checked(handle_type->tp_alloc(handle_type, 0));
  new (&reinterpret_cast<PyHandle*>(o)->link) Ref<HookLink>(hook->link());
  return o;
}

// Hooks that were removed leave a list when it would have to grow.
void add_hook(std::vector<Ref<Hook>>& list, Ref<Hook> hook) {
  if (list.size() == list.capacity())
    list.erase(std::remove_if(list.begin(), list.end(),
                              [](const Ref<Hook>& h) { return static_cast<const PyHook*>(h.get())->removed(); }),
               list.end());
  list.push_back(std::move(hook));
}
PyObject* functions_of(const std::vector<Ref<Hook>>& list) {
  if (list.empty()) Py_RETURN_NONE;
  const Owned collections(PyImport_ImportModule("collections"));
  Owned functions(PyObject_CallMethod(collections.o, "OrderedDict", nullptr));
  for (const Ref<Hook>& hook : list) {
    const auto* f = static_cast<const PyHook*>(hook.get());
    if (f->removed()) continue;
    const Owned id(PyLong_FromVoidPtr(f->link().get()));
    if (PyObject_SetItem(functions.o, id.o, f->callable()) < 0) throw PythonError{};
  }
  return functions.release();
}
std::vector<Ref<Hook>>& hooks_of_output(NodeHooks& hooks, int output) {
  for (NodeHooks::OfOutput& entry : hooks.tensor)
    if (entry.output == output) return entry.list;
  hooks.tensor.push_back({output, {}});
  return hooks.tensor.back().list;
}

}  // namespace

PyObject* add_tensor_hook(const Tensor& t, PyObject* callable) {
  STRIDED_CHECK(t.requires_grad(), RuntimeError, "cannot register a hook on a tensor that doesn't require gradient");
  Ref<PyHook> hook = make_hook(HookKind::Tensor, callable);
  if (const Ref<Node>& node = grad_fn(t)) add_hook(hooks_of_output(node->hooks(), t.impl()->autograd->output), hook);
  else add_hook(autograd_meta(t).hooks, hook);
  return make_handle(hook);
}
PyObject* add_post_accumulate_hook(const Tensor& t, PyObject* callable) {
  STRIDED_CHECK(t.requires_grad(), RuntimeError, "cannot register a hook on a tensor that doesn't require gradient");
  STRIDED_CHECK(!grad_fn(t), RuntimeError, "post accumulate grad hooks cannot be registered on non-leaf tensors");
  Ref<PyHook> hook = make_hook(HookKind::Accumulated, callable);
  add_hook(autograd_meta(t).post_accumulate, hook);
  return make_handle(hook);
}
PyObject* add_node_hook(Node& node, HookKind kind, PyObject* callable) {
  Ref<PyHook> hook = make_hook(kind, callable);
  add_hook(kind == HookKind::Pre ? node.hooks().pre : node.hooks().post, hook);
  return make_handle(hook);
}

PyObject* tensor_hooks(const Tensor& t) {
  if (const Ref<Node>& node = grad_fn(t)) {
    if (const NodeHooks* hooks = node->hooks_or_null())
      for (const NodeHooks::OfOutput& entry : hooks->tensor)
        if (entry.output == t.impl()->autograd->output) return functions_of(entry.list);
    Py_RETURN_NONE;
  }
  return functions_of(t.impl()->autograd ? t.impl()->autograd->hooks : std::vector<Ref<Hook>>());
}
void set_tensor_hooks(const Tensor& t, PyObject* functions) {
  STRIDED_CHECK(functions == Py_None || PyDict_Check(functions), TypeError,
                "_backward_hooks must be a dict of functions or None, got ", Py_TYPE(functions)->tp_name);
  const Owned values(functions == Py_None ? PyList_New(0) : PyDict_Values(functions));
  std::vector<Ref<Hook>> made;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values.o); ++i)
    made.push_back(make_hook(HookKind::Tensor, PyList_GET_ITEM(values.o, i)));
  const Ref<Node>& node = grad_fn(t);
  auto& list = node ? hooks_of_output(node->hooks(), t.impl()->autograd->output) : autograd_meta(t).hooks;
  list.swap(made);  // what was there dies here
}
PyObject* post_accumulate_hooks(const Tensor& t) {
  return functions_of(t.impl()->autograd ? t.impl()->autograd->post_accumulate : std::vector<Ref<Hook>>());
}

int visit_hook(const Ref<Hook>& hook, visitproc visit, void* arg) {
  if (hook->use_count() == 1) Py_VISIT(static_cast<const PyHook*>(hook.get())->callable());
  return 0;
}

void init_hooks(PyObject* module) {
#define SLOT(name, f) {Py_##name, reinterpret_cast<void*>(f)}
  PyType_Slot handle_slots[] = {SLOT(tp_dealloc, handle_dealloc),
                                SLOT(tp_methods, handle_methods),
                                SLOT(tp_getset, handle_getset),
                                {Py_tp_doc, const_cast<char*>("Removes a hook; as a context, at its end.")},
                                {0, nullptr}};
  PyType_Spec handle_spec = {"strided._C.RemovableHandle", sizeof(PyHandle), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, handle_slots};
  handle_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&handle_spec)));
#undef SLOT
  if (PyModule_AddObjectRef(module, "RemovableHandle", reinterpret_cast<PyObject*>(handle_type)) < 0)
    throw PythonError{};
}

}  // namespace strided::python
