#include "python/py_node.h"

#include <algorithm>
#include <unordered_map>

#include "autograd/engine.h"
#include "ops/factory.h"
#include "python/kept_object.h"

namespace strided::python {
namespace {

PyTypeObject *node_type = nullptr, *function_node_type = nullptr, *handle_type = nullptr;

// An owned reference that may be dropped from any thread.
class Owned {
 public:
  explicit Owned(PyObject* o) : o_(Py_NewRef(o)) {}
  ~Owned() { clear(); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  PyObject* get() const { return o_; }
  void clear() {
    if (o_ == nullptr || !Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_CLEAR(o_);
    PyGILState_Release(state);
  }

 private:
  PyObject* o_;
};

// A reference for one scope.
struct Held {
  PyObject* o;
  explicit Held(PyObject* p) : o(checked(p)) {}
  ~Held() { Py_DECREF(o); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
};

PyObject* to_tuple(const TensorList& list) {
  PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); ++i) PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), wrap(list[i]));
  return tuple;
}

// ---------------------------------------------------------------- hooks

enum class HookKind { Tensor, Pre, Post, Accumulated };

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
  intptr_t id() const override { return reinterpret_cast<intptr_t>(link_.get()); }

  void call(TensorList& grads, const TensorList* others) override {
    if (!callable_.get()) return;
    const Held f(Py_NewRef(callable_.get()));  // it may remove itself
    switch (kind_) {
      case HookKind::Tensor: {
        const Held grad(wrap(grads[0]));
        const Held result(PyObject_CallOneArg(f.o, grad.o));
        if (result.o != Py_None) grads[0] = replacement(f.o, result.o, grads[0]);
        return;
      }
      case HookKind::Accumulated: {
        const Held leaf(wrap(grads[0]));
        const Held result(PyObject_CallOneArg(f.o, leaf.o));
        STRIDED_CHECK(result.o == Py_None || result.o == leaf.o, TypeError,
                      "Tensor post accumulate grad hooks should return None.");
        return;
      }
      case HookKind::Pre:
      case HookKind::Post: {
        const Held ours(to_tuple(grads));
        const Held theirs(others ? to_tuple(*others) : Py_NewRef(Py_None));
        const Held result(kind_ == HookKind::Pre ? PyObject_CallOneArg(f.o, ours.o)
                                                 : PyObject_CallFunctionObjArgs(f.o, ours.o, theirs.o, nullptr));
        if (result.o == Py_None) return;
        const Held one(is_tensor(result.o) ? PyTuple_Pack(1, result.o) : Py_NewRef(result.o));
        STRIDED_CHECK(PyTuple_Check(one.o), TypeError, "expected a tuple of gradients, but hook returned '",
                      Py_TYPE(result.o)->tp_name, "'");
        STRIDED_CHECK(PyTuple_GET_SIZE(one.o) == static_cast<Py_ssize_t>(grads.size()), RuntimeError, "hook '",
                      name_of_function(f.o), "' has returned an incorrect number of values (got ",
                      PyTuple_GET_SIZE(one.o), ", but expected ", grads.size(), ")");
        for (size_t i = 0; i < grads.size(); ++i) {
          PyObject* item = PyTuple_GET_ITEM(one.o, static_cast<Py_ssize_t>(i));
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
    const Held held(name);
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw PythonError{};
    return text;
  }
  static Tensor replacement(PyObject* f, PyObject* result, const Tensor& grad) {
    STRIDED_CHECK(is_tensor(result), TypeError, "expected Variable, but hook returned '", Py_TYPE(result)->tp_name,
                  "'");
    const Tensor& t = unwrap(result);
    if (!grad.defined()) return t;
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
  Owned callable_;
  Ref<HookLink> link_;
};

struct PyHandle {
  PyObject_HEAD Ref<HookLink> link;
};

PyObject* make_handle(const Ref<PyHook>& hook) {
  PyObject* o = checked(handle_type->tp_alloc(handle_type, 0));
  new (&reinterpret_cast<PyHandle*>(o)->link) Ref<HookLink>(hook->link());
  return o;
}
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

// Hooks that were removed leave a list when it would have to grow.
const Ref<Hook>& hook_of(const Ref<Hook>& hook) { return hook; }
const Ref<Hook>& hook_of(const NodeHooks::OfOutput& entry) { return entry.hook; }
template <class Entry>
void add_hook(std::vector<Entry>& list, Entry entry) {
  if (list.size() == list.capacity())
    list.erase(std::remove_if(list.begin(), list.end(),
                              [](const Entry& e) { return static_cast<const PyHook*>(hook_of(e).get())->removed(); }),
               list.end());
  list.push_back(std::move(entry));
}

// ---------------------------------------------------------------- nodes of user-defined functions

// autograd.Function in the graph. The object's `_backward` gets the gradients of the outputs and returns a tuple with
// one for each edge.
class FunctionNode : public Node {
 public:
  FunctionNode(PyObject* object, std::string name) : object_(object), name_(std::move(name)) {}
  ~FunctionNode() override { reinterpret_cast<PyNode*>(object_.get())->raw = nullptr; }
  const char* own_name() const override { return name_.c_str(); }
  bool is_user_defined() const override { return true; }
  bool takes_undefined() const override { return true; }
  PyObject* object() const { return object_.get(); }

  TensorList apply(TensorList& grads) override {
    const CurrentNodeGuard running(this);
    const Held given(to_tuple(grads));
    const Held method(PyObject_GetAttrString(object_.get(), "_backward"));
    const Held result(PyObject_CallOneArg(method.o, given.o));
    STRIDED_CHECK(PyTuple_Check(result.o) && PyTuple_GET_SIZE(result.o) == static_cast<Py_ssize_t>(next.size()),
                  RuntimeError, name_, ": the gradients of ", next.size(), " inputs are expected");
    TensorList out(next.size());
    for (size_t i = 0; i < next.size(); ++i) {
      PyObject* item = PyTuple_GET_ITEM(result.o, static_cast<Py_ssize_t>(i));
      if (item == Py_None) continue;
      STRIDED_CHECK(is_tensor(item), RuntimeError, "expected Variable or None (got ", Py_TYPE(item)->tp_name, ")");
      out[i] = unwrap(item);
    }
    return out;
  }
  void release_saved() override {
    if (auto* saved = reinterpret_cast<PyNode*>(object_.get())->saved)
      for (SavedTensor& t : *saved) t.release();
  }

 private:
  Owned object_;
  std::string name_;
};

// ---------------------------------------------------------------- the objects

PyNode* as_node(PyObject* o) { return reinterpret_cast<PyNode*>(o); }

PyObject* function_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) new (&as_node(o)->owned) Ref<Node>();
  return o;
}
void node_dealloc(PyObject* o) {
  PyNode* p = as_node(o);
  PyTypeObject* type = Py_TYPE(o);
  if (PyType_IS_GC(type)) PyObject_GC_UnTrack(o);
  if (p->owned && p->owned->py_object == o)
    p->owned->py_object = nullptr;  // before others run: a dying object is not given out
  if (p->weak) PyObject_ClearWeakRefs(o);
  delete std::exchange(p->saved, nullptr);
  Py_CLEAR(p->saved_objects);
  p->owned.~Ref<Node>();
  Py_CLEAR(p->dict);
  type->tp_free(o);
  Py_DECREF(type);
}

int visit_node(const Ref<Node>& node, visitproc visit, void* arg);
int node_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(as_node(o)->dict);
  return visit_node(as_node(o)->owned, visit, arg);
}
int node_clear(PyObject* o) {
  Py_CLEAR(as_node(o)->dict);
  if (as_node(o)->owned && as_node(o)->owned->use_count() == 1) {
    const Ref<Node> node = std::move(as_node(o)->owned);  // dies here
    as_node(o)->raw = nullptr;
    node->py_object = nullptr;
  }
  return 0;
}

// One class for each name, as type(y.grad_fn).__name__ shows.
PyTypeObject* class_named(const std::string& name) {
  static auto& classes = *new std::unordered_map<std::string, PyTypeObject*>;
  PyTypeObject*& type = classes[name];
  if (!type) {
    PyType_Slot slots[] = {{0, nullptr}};
    static auto& names = *new std::vector<std::unique_ptr<std::string>>;  // the type keeps the pointer
    names.emplace_back(new std::string("strided.autograd." + name));
    PyType_Spec spec = {names.back()->c_str(), sizeof(PyNode), 0, Py_TPFLAGS_DEFAULT, slots};
    const Held bases(PyTuple_Pack(1, node_type));
    type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpecWithBases(&spec, bases.o)));
  }
  return type;
}

PyObject* node_name(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] { return PyUnicode_FromString(node_of(o).name()); });
}
PyObject* node_repr(PyObject* o) { return PyUnicode_FromFormat("<%s object at %p>", short_type_name(o), o); }
PyObject* node_next(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&] {
    const Node& node = node_of(o);
    PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(node.next.size())));
    for (size_t i = 0; i < node.next.size(); ++i) {
      PyObject* pair = Py_BuildValue("(Ni)", wrap(node.next[i].node), node.next[i].input);
      if (!pair) {
        Py_DECREF(tuple);
        throw PythonError{};
      }
      PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), pair);
    }
    return tuple;
  });
}
PyObject* node_metadata(PyObject* o, void*) {
  PyNode* p = as_node(o);
  if (!p->dict) p->dict = PyDict_New();
  if (!p->dict) return nullptr;
  const char* key = "_metadata";
  if (PyObject* found = PyDict_GetItemString(p->dict, key)) return Py_NewRef(found);
  PyObject* fresh = PyDict_New();
  if (fresh && PyDict_SetItemString(p->dict, key, fresh) < 0) Py_CLEAR(fresh);
  return fresh;
}
PyObject* node_variable(PyObject* o, void*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Node& node = node_of(o);
    if (!node.is_accumulator()) {
      PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", node.name());
      return nullptr;
    }
    return wrap(accumulated_leaf(node));
  });
}
PyObject* node_requires_grad(PyObject*, void*) { Py_RETURN_TRUE; }
PyObject* node_sequence(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] { return PyLong_FromUnsignedLongLong(node_of(o).sequence); });
}
// _saved_self, _saved_result, ...: what the backward formula will read.
PyObject* node_getattr(PyObject* o, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(o, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  const char* text = PyUnicode_AsUTF8(name);
  if (!text || std::strncmp(text, "_saved_", 7) != 0) return nullptr;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* result = guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    Tensor saved;
    Node& node = node_of(o);
    const CurrentNodeGuard running(&node);
    if (!node.find_saved(text + 7, &saved)) return nullptr;
    return wrap(saved);
  });
  if (result || PyErr_Occurred()) {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return result;
  }
  PyErr_Restore(type, value, trace);
  return nullptr;
}

template <HookKind Kind>
PyObject* node_hook(PyObject* o, PyObject* callable) {
  return guarded<PyObject*>(nullptr, [&] {
    Node& node = node_of(o);
    Ref<PyHook> hook = make_hook(Kind, callable);
    add_hook<Ref<Hook>>(Kind == HookKind::Pre ? node.hooks().pre : node.hooks().post, hook);
    return make_handle(hook);
  });
}

PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "The operation's name, as 'MulBackward0'."},
    {"_sequence_nr", node_sequence, METH_NOARGS, "Grows with the time the node was made."},
    {"register_hook", node_hook<HookKind::Post>, METH_O,
     "register_hook(f) -> handle: f(grad_inputs, grad_outputs) is called with two tuples after the node has run; it may return\n"
     "other grad_inputs."},
    {"register_prehook", node_hook<HookKind::Pre>, METH_O,
     "register_prehook(f) -> handle: f(grad_outputs) is called with a tuple before the node runs; it may return others."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef node_getset[] = {{"next_functions", node_next, nullptr,
                              "For each input: (the node that made it or None, which of its outputs).", nullptr},
                             {"metadata", node_metadata, nullptr, "A dict for the user.", nullptr},
                             {"variable", node_variable, nullptr, "Of an AccumulateGrad node: the leaf.", nullptr},
                             {"requires_grad", node_requires_grad, nullptr, nullptr, nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef node_members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyNode, dict), READONLY, nullptr},
                              {"__weaklistoffset__", T_PYSSIZET, offsetof(PyNode, weak), READONLY, nullptr},
                              {nullptr, 0, 0, 0, nullptr}};

// ---------------------------------------------------------------- what autograd/function.py is made of

PyNode* context_of(PyObject* o) {
  STRIDED_CHECK(PyObject_TypeCheck(o, function_node_type), TypeError,
                "expected the context of an autograd.Function, got ", Py_TYPE(o)->tp_name);
  return as_node(o);
}

// (context, name, tensors): the context becomes a node with an edge for each tensor.
PyObject* function_start(PyObject*, PyObject* args) {
  PyObject *o, *tensors;
  const char* name;
  if (!PyArg_ParseTuple(args, "OsO!", &o, &name, &PyTuple_Type, &tensors)) return nullptr;
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyNode* context = context_of(o);
    STRIDED_CHECK(context->raw == nullptr, RuntimeError, name, ": this context is part of a graph already");
    const Ref<Node> node(new FunctionNode(o, name));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
      PyObject* t = PyTuple_GET_ITEM(tensors, i);
      STRIDED_CHECK(is_tensor(t), TypeError, name, ": tensors are expected");
      node->add_edge(gradient_edge(unwrap(t)));
    }
    context->raw = node.get();
    node->py_object = o;
    // Until an output holds the node, a capsule does.
    return checked(PyCapsule_New(new Ref<Node>(node), nullptr, [](PyObject* c) {
      delete static_cast<Ref<Node>*>(PyCapsule_GetPointer(c, nullptr));
    }));
  });
}
// (context, tensor, i, how): the tensor becomes output i. how: 0; 1: an argument that was changed in place; a view of
// an argument, 2: the only result, 3: one of several.
PyObject* function_output(PyObject*, PyObject* args) {
  PyObject *o, *t;
  int i, how;
  if (!PyArg_ParseTuple(args, "OOii", &o, &t, &i, &how)) return nullptr;
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    STRIDED_CHECK(is_tensor(t), TypeError, "a tensor is expected");
    const Ref<Node> node(&node_of(o));
    const Tensor& out = unwrap(t);
    if (how == 1) {
      check_inplace(node->name(), out, true);
      rebase_history(out, node, i);
    } else {
      set_history(out, node, i, how > 1);
      if (how > 1) out.impl()->view_kind = how == 2 ? ViewKind::Function : ViewKind::Multi;
      out.impl()->seen_version = out.storage().version();
    }
    track(t);
    Py_RETURN_NONE;
  });
}
// A result of an unrecorded forward that is a view of what forward made: to the caller it is no view.
PyObject* function_result(PyObject*, PyObject* t) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    STRIDED_CHECK(is_tensor(t), TypeError, "a tensor is expected");
    TensorImpl& impl = *unwrap(t).impl();
    impl.base = nullptr;
    impl.view_kind = ViewKind::Plain;
    Py_RETURN_NONE;
  });
}
// Is what a graph gives back still what the object holds?  It has another record when it was written to, or detached.
bool is_same(const Tensor& object, const Tensor& kept) {
  const Layout &a = object.layout(), &b = kept.layout();
  if (a.shape != b.shape || a.strides != b.strides || a.offset != b.offset || &object.storage() != &kept.storage() ||
      object.requires_grad() != kept.requires_grad())
    return false;
  if (!object.requires_grad()) return true;
  const Ref<Node>& made = grad_fn(object);
  return made.get() == grad_fn(kept).get() &&
         (!made || object.impl()->autograd->output == kept.impl()->autograd->output);
}
// (context, tensors, positions): keeps them for the backward pass; a position >= 0 says that a tensor is that output.
PyObject* function_save(PyObject*, PyObject* args) {
  PyObject *o, *tensors, *positions;
  if (!PyArg_ParseTuple(args, "OO!O!", &o, &PyTuple_Type, &tensors, &PyTuple_Type, &positions)) return nullptr;
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyNode* context = context_of(o);
    std::vector<SavedTensor> saved;
    const Held objects(PyTuple_New(PyTuple_GET_SIZE(tensors)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
      PyObject* t = PyTuple_GET_ITEM(tensors, i);
      if (t == Py_None) {
        saved.emplace_back();
        continue;
      }
      STRIDED_CHECK(is_tensor(t), TypeError, "save_for_backward can only save variables, but argument ", i,
                    " is of type ", Py_TYPE(t)->tp_name);
      const long position = PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
      saved.push_back(position >= 0 ? SavedTensor::output(unwrap(t), static_cast<int>(position))
                                    : SavedTensor(unwrap(t)));
      // What a hook unpacks is another tensor, and so is an output.
      if (position < 0 && !saved_tensor_hooks()) PyTuple_SET_ITEM(objects.o, i, checked(PyWeakref_NewRef(t, nullptr)));
    }
    delete std::exchange(context->saved, new std::vector<SavedTensor>(std::move(saved)));
    Py_XSETREF(context->saved_objects, Py_NewRef(objects.o));
    Py_RETURN_NONE;
  });
}
PyObject* function_saved(PyObject*, PyObject* o) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyNode* context = context_of(o);
    if (!context->saved) return PyTuple_New(0);
    std::optional<CurrentNodeGuard> running;
    if (context->raw) running.emplace(context->raw);
    TensorList list;
    for (const SavedTensor& t : *context->saved) list.push_back(t.get());
    PyObject* tuple = to_tuple(list);
    if (PyObject* objects = context->saved_objects) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(objects); ++i) {
        PyObject* link = PyTuple_GET_ITEM(objects, i);
        PyObject* object = link ? PyObject_CallNoArgs(link) : nullptr;
        if (!object) continue;
        if (is_tensor(object) && is_same(unwrap(object), list[static_cast<size_t>(i)])) {
          Py_DECREF(PyTuple_GET_ITEM(tuple, i));
          PyTuple_SET_ITEM(tuple, i, object);
        } else {
          Py_DECREF(object);
        }
      }
    }
    return tuple;
  });
}

// ---------------------------------------------------------------- saved_tensors_hooks

class PyPacked : public Packed {
 public:
  PyPacked(PyObject* unpack, PyObject* packed) : unpack_(unpack), packed_(packed) {}
  Tensor unpack() override {
    const Held result(PyObject_CallOneArg(unpack_.get(), packed_.get()));
    STRIDED_CHECK(is_tensor(result.o), TypeError,
                  "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
                  Py_TYPE(result.o)->tp_name);
    return unwrap(result.o);
  }

 private:
  Owned unpack_, packed_;
};
class PySavedTensorHooks : public SavedTensorHooks {
 public:
  PySavedTensorHooks(PyObject* pack, PyObject* unpack) : pack_(pack), unpack_(unpack) {}
  Ref<Packed> pack(const Tensor& t) override {
    // What the user does in there is not recorded, and does not pack in turn.
    const Ref<SavedTensorHooks> ourselves = saved_tensor_hooks();
    struct Off {
      Ref<SavedTensorHooks> hooks;
      NoGradGuard no_grad;
      ~Off() { set_saved_tensor_hooks(hooks); }
    } off{ourselves, {}};
    set_saved_tensor_hooks({});
    const Held tensor(wrap(t));
    const Held packed(PyObject_CallOneArg(pack_.get(), tensor.o));
    return Ref<Packed>(new PyPacked(unpack_.get(), packed.o));
  }
  PyObject* pair() const { return Py_BuildValue("(OO)", pack_.get(), unpack_.get()); }

 private:
  Owned pack_, unpack_;
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

struct Trace : RefCounted {
  explicit Trace(PyObject* o) : text(o) {}
  Owned text;
};
Ref<RefCounted> trace_of_call() {
  PyObject* text = PyObject_CallNoArgs(hook("anomaly_trace"));
  if (!text) throw PythonError{};
  const Held held(text);
  return Ref<RefCounted>(new Trace(text));
}
void report_failure(const Node& node) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);  // of a Python exception on its way through
  const NodeHooks* hooks = node.hooks_or_null();
  PyObject* text = hooks && hooks->trace ? static_cast<const Trace*>(hooks->trace.get())->text.get() : Py_None;
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

PyMethodDef functions[] = {{"function_start", function_start, METH_VARARGS, nullptr},
                           {"function_output", function_output, METH_VARARGS, nullptr},
                           {"function_result", function_result, METH_O, nullptr},
                           {"function_save", function_save, METH_VARARGS, nullptr},
                           {"function_saved", function_saved, METH_O, nullptr},
                           {"set_saved_tensors_hooks", set_saving, METH_O, nullptr},
                           {"set_anomaly_mode", set_anomaly, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

int visit_hook(const Ref<Hook>& hook, visitproc visit, void* arg) {
  if (hook->use_count() == 1) Py_VISIT(static_cast<const PyHook*>(hook.get())->callable());
  return 0;
}
// The Python objects that a node leads to, if `node` is its only owner.
int visit_node(const Ref<Node>& node, visitproc visit, void* arg) {
  if (!node || node->use_count() != 1) return 0;
  if (const NodeHooks* hooks = node->hooks_or_null()) {
    for (const auto& entry : hooks->tensor)
      if (const int stop = visit_hook(entry.hook, visit, arg)) return stop;
    for (const auto* list : {&hooks->pre, &hooks->post})
      for (const auto& hook : *list)
        if (const int stop = visit_hook(hook, visit, arg)) return stop;
  }
  if (node->is_user_defined()) Py_VISIT(static_cast<const FunctionNode*>(node.get())->object());
  return 0;
}

}  // namespace

PyObject* wrap(const Ref<Node>& node) {
  if (!node) Py_RETURN_NONE;
  if (node->py_object) return Py_NewRef(static_cast<PyObject*>(node->py_object));
  PyTypeObject* type = class_named(node->name());
  PyObject* o = checked(type->tp_alloc(type, 0));
  new (&as_node(o)->owned) Ref<Node>(node);
  as_node(o)->raw = node.get();
  node->py_object = o;
  return o;
}
bool is_node(PyObject* o) { return PyObject_TypeCheck(o, node_type); }
Node& node_of(PyObject* o) {
  STRIDED_CHECK(is_node(o), TypeError, "expected a node of the graph, got ", Py_TYPE(o)->tp_name);
  STRIDED_CHECK(
      as_node(o)->raw, RuntimeError,
      "Attribute of a Function's context is invalid outside of the graph: its result needed no gradient, or is gone");
  return *as_node(o)->raw;
}

PyObject* add_tensor_hook(const Tensor& t, PyObject* callable) {
  STRIDED_CHECK(t.requires_grad(), RuntimeError, "cannot register a hook on a tensor that doesn't require gradient");
  Ref<PyHook> hook = make_hook(HookKind::Tensor, callable);
  if (const Ref<Node>& node = grad_fn(t)) add_hook(node->hooks().tensor, {t.impl()->autograd->output, hook});
  else add_hook<Ref<Hook>>(autograd_meta(t).hooks, hook);
  return make_handle(hook);
}
PyObject* add_post_accumulate_hook(const Tensor& t, PyObject* callable) {
  STRIDED_CHECK(t.requires_grad(), RuntimeError, "cannot register a hook on a tensor that doesn't require gradient");
  STRIDED_CHECK(!grad_fn(t), RuntimeError, "post accumulate grad hooks cannot be registered on non-leaf tensors");
  Ref<PyHook> hook = make_hook(HookKind::Accumulated, callable);
  add_hook<Ref<Hook>>(autograd_meta(t).post_accumulate, hook);
  return make_handle(hook);
}

// A node that this tensor alone holds: its hooks and, of an autograd.Function, the context.
int visit_record(const Tensor& t, visitproc visit, void* arg) {
  const TensorImpl& impl = *t.impl();
  if (impl.use_count() != 1 || !impl.autograd) return 0;
  for (const auto* list : {&impl.autograd->hooks, &impl.autograd->post_accumulate})
    for (const auto& hook : *list)
      if (const int stop = visit_hook(hook, visit, arg)) return stop;
  const Tensor& grad = impl.autograd->grad;
  if (grad.defined() && grad.impl()->use_count() == 1) Py_VISIT(kept_attributes(grad));
  return visit_node(impl.autograd->grad_fn, visit, arg);
}
void clear_record(const Tensor& t) {
  AutogradMeta* meta = t.impl()->autograd.get();
  if (!meta || t.impl()->use_count() != 1) return;
  std::vector<Ref<Hook>> hooks = std::move(meta->hooks), more = std::move(meta->post_accumulate);
  if (meta->grad_fn && meta->grad_fn->use_count() == 1) {
    const Ref<Node> node = std::move(meta->grad_fn);  // dies here
  }
}
void track(PyObject* tensor) {
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
}

void init_nodes(PyObject* module) {
#define SLOT(name, f) {Py_##name, reinterpret_cast<void*>(f)}
  PyType_Slot node_slots[] = {SLOT(tp_dealloc, node_dealloc),
                              SLOT(tp_repr, node_repr),
                              SLOT(tp_methods, node_methods),
                              SLOT(tp_getset, node_getset),
                              SLOT(tp_members, node_members),
                              SLOT(tp_getattro, node_getattr),
                              SLOT(tp_traverse, node_traverse),
                              SLOT(tp_clear, node_clear),
                              {Py_tp_doc, const_cast<char*>("A step of the graph: tensor.grad_fn.")},
                              {0, nullptr}};
  PyType_Spec node_spec = {
      "strided.autograd.graph.Node", sizeof(PyNode), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};
  node_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&node_spec)));

  PyType_Slot function_slots[] = {SLOT(tp_new, function_new),
                                  SLOT(tp_traverse, node_traverse),
                                  SLOT(tp_clear, node_clear),
                                  {Py_tp_doc, const_cast<char*>("The context of an autograd.Function.")},
                                  {0, nullptr}};
  PyType_Spec function_spec = {"strided._C.FunctionNode", sizeof(PyNode), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, function_slots};
  const Held bases(PyTuple_Pack(1, node_type));
  function_node_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpecWithBases(&function_spec, bases.o)));

  PyType_Slot handle_slots[] = {SLOT(tp_dealloc, handle_dealloc),
                                SLOT(tp_methods, handle_methods),
                                SLOT(tp_getset, handle_getset),
                                {Py_tp_doc, const_cast<char*>("Removes a hook; as a context, at its end.")},
                                {0, nullptr}};
  PyType_Spec handle_spec = {"strided._C.RemovableHandle", sizeof(PyHandle), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, handle_slots};
  handle_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&handle_spec)));
#undef SLOT
  PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(node_type));
  PyModule_AddObjectRef(module, "FunctionNode", reinterpret_cast<PyObject*>(function_node_type));
  PyModule_AddObjectRef(module, "RemovableHandle", reinterpret_cast<PyObject*>(handle_type));
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace strided::python
