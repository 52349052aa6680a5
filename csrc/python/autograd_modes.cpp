#include "python/autograd_modes.h"

#include "autograd/engine.h"
#include "ops/saved_tensor.h"
#include "python/owned.h"

namespace strided::python {
namespace {

// ---------------------------------------------------------------- saved_tensors_hooks

class PyPacked : public Packed {
 public:
  PyPacked(PyObject* unpack, PyObject* packed) : unpack_(unpack), packed_(packed) {}
  Tensor unpack() override {
    const Owned result(PyObject_CallOneArg(unpack_.get(), packed_.get()));
    STRIDED_CHECK(is_tensor(result.o), TypeError,
                  "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
                  Py_TYPE(result.o)->tp_name);
    return unwrap(result.o);
  }

 private:
  SharedOwned unpack_, packed_;
};
class PySavedTensorHooks : public SavedTensorHooks {
 public:
  PySavedTensorHooks(PyObject* pack, PyObject* unpack) : pack_(pack), unpack_(unpack) {}
  Ref<Packed> pack(const Tensor& t) override {
    // What the user does in there is not recorded, and does not pack in turn. It may ask for the mode and set it again,
    // so it is the user's own mode that is off.
    struct Off {
      Ref<SavedTensorHooks> hooks = saved_tensor_hooks();
      bool grad = grad_asked();
      Off() {
        set_saved_tensor_hooks({});
        set_grad_enabled(false);
      }
      ~Off() {
        set_saved_tensor_hooks(hooks);
        set_grad_enabled(grad);
      }
    } off;
    const Owned tensor(wrap(t));
    const uint32_t version = t.storage().version();
    const Owned packed(PyObject_CallOneArg(pack_.get(), tensor.o));
    STRIDED_CHECK(t.storage().version() == version, RuntimeError,
                  "A saved tensor pack hook is modifying its input in place. It may not write to the tensor that it is "
                  "given: others compute with it.");
    return Ref<Packed>(new PyPacked(unpack_.get(), packed.o));
  }
  PyObject* pair() const { return Py_BuildValue("(OO)", pack_.get(), unpack_.get()); }

 private:
  SharedOwned pack_, unpack_;
};
// (pack, unpack) or None -> the pair in force until now, or None.
PyObject* set_saving(PyObject*, PyObject* hooks) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const auto* before = static_cast<const PySavedTensorHooks*>(saved_tensor_hooks().get());
    PyObject* result = before ? checked(before->pair()) : Py_NewRef(Py_None);
    if (hooks == Py_None) set_saved_tensor_hooks({});
    else
      set_saved_tensor_hooks(
          Ref<SavedTensorHooks>(new PySavedTensorHooks(PyTuple_GetItem(hooks, 0), PyTuple_GetItem(hooks, 1))));
    return result;
  });
}

// ---------------------------------------------------------------- anomaly mode

Ref<RefCounted> trace_of_call() {
  PyObject* text = PyObject_CallNoArgs(hook("anomaly_trace"));
  if (!text) throw PythonError{};
  const Owned held(text);
  return Ref<RefCounted>(new RefOwned(text));
}
void report_failure(const Node& node) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);  // of a Python exception on its way through
  const NodeHooks* hooks = node.hooks_or_null();
  PyObject* text = hooks && hooks->trace ? static_cast<const RefOwned*>(hooks->trace.get())->object.get() : Py_None;
  PyObject* name = PyUnicode_FromString(node.name());
  PyObject* done = name ? PyObject_CallFunctionObjArgs(hook("anomaly_report"), name, text, nullptr) : nullptr;
  Py_XDECREF(name);
  Py_XDECREF(done);
  if (!done) PyErr_Clear();
  if (type) PyErr_Restore(type, value, trace);
}
PyObject* set_anomaly(PyObject*, PyObject* args) {
  int on, check_nan;
  if (!PyArg_ParseTuple(args, "pp", &on, &check_nan)) return nullptr;
  make_trace = on ? trace_of_call : nullptr;
  anomaly_mode() = {on ? report_failure : nullptr, check_nan != 0};
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"set_saved_tensors_hooks", set_saving, METH_O, nullptr},
                           {"set_anomaly_mode", set_anomaly, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_autograd_modes(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace strided::python
