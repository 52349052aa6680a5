// What the machine makes besides plain containers: tensors and their storages, sets, ordered dictionaries, and objects
// of the callables and classes that the caller lists.
#include <memory>
#include <unordered_map>

#include "ops/operators.h"
#include "python/files/unpickle.h"
#include "python/py_storage.h"

namespace strided::python {
namespace {

constexpr const char *kKnown = "strided.files.known", *kStorage = "strided.files.storage";

struct StorageValue {
  Ref<Storage> storage;
  DType dtype;
  bool untyped;
};

using Table = std::unordered_map<std::string, Known>;

Table make_table() {
  Table table;
  const auto add = [&](const char* name, Known::Kind kind) { table.emplace(name, Known{kind, name}); };
  add("torch._utils._rebuild_tensor", Known::Tensor);
  add("torch._utils._rebuild_tensor_v2", Known::Tensor);
  add("torch._utils._rebuild_tensor_v3", Known::TensorV3);
  add("torch._utils._rebuild_parameter", Known::Parameter);
  add("torch._utils._rebuild_parameter_with_state", Known::ParameterWithState);
  add("torch._tensor._rebuild_from_type_v2", Known::FromType);
  add("collections.OrderedDict", Known::OrderedDict);
  for (const char* module : {"builtins", "__builtin__"}) {
    const std::string m = module;
    table.emplace(m + ".set", Known{Known::Set, "set"});
    table.emplace(m + ".frozenset", Known{Known::FrozenSet, "frozenset"});
    table.emplace(m + ".complex", Known{Known::Complex, "complex"});
    table.emplace(m + ".bytes", Known{Known::Bytes, "bytes"});
    table.emplace(m + ".bytearray", Known{Known::ByteArray, "bytearray"});
  }
  add("_codecs.encode", Known::Encode);
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const char* module : {"torch.", "torch.cuda."})
      table.emplace(std::string(module) + cpp_name_of(dtype) + "Storage",
                    Known{Known::StorageType, "a storage", dtype});
  }
  for (const char* name : {"torch.storage.UntypedStorage", "torch.UntypedStorage"})
    table.emplace(name, Known{Known::StorageType, "a storage", DType::UInt8, true});
  return table;
}

const StorageValue* as_storage(PyObject* o) {
  if (!PyCapsule_IsValid(o, kStorage)) return nullptr;
  return static_cast<const StorageValue*>(PyCapsule_GetPointer(o, kStorage));
}

// The arguments that a function was given: their number, and each in turn.
PyObject* argument(PyObject* args, Py_ssize_t i) { return PyTuple_GET_ITEM(args, i); }
Py_ssize_t count(PyObject* args) { return PyTuple_GET_SIZE(args); }

int64_t to_count(PyObject* o, const char* what) {
  const long long n = PyLong_CheckExact(o) ? PyLong_AsLongLong(o) : -1;
  if (n < 0) PyErr_Clear();
  require(n >= 0, what, " is no number of elements");
  return n;
}
Dims to_counts(PyObject* o, const char* what) {
  require(PyTuple_Check(o) && PyTuple_GET_SIZE(o) <= kMaxDims, what, " is no tuple of up to ", kMaxDims, " numbers");
  Dims dims(static_cast<size_t>(PyTuple_GET_SIZE(o)));
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = to_count(PyTuple_GET_ITEM(o, static_cast<Py_ssize_t>(i)), what);
  return dims;
}

// Every element must be in the storage.
void check_extent(const Layout& layout, uint64_t nbytes, int64_t itemsize) {
  const auto elements = static_cast<__int128>(nbytes / static_cast<uint64_t>(itemsize));
  __int128 last = layout.offset;
  bool empty = false;
  for (int i = 0; i < layout.ndim(); ++i) {
    empty = empty || layout.shape[i] == 0;
    if (layout.shape[i] > 1) last += static_cast<__int128>(layout.shape[i] - 1) * layout.strides[i];
  }
  require(empty ? layout.offset <= elements : last < elements, "a tensor of shape ", layout.shape, ", strides ",
          layout.strides, " and offset ", layout.offset, " does not fit into its storage of ",
          static_cast<uint64_t>(elements), " elements");
}

bool is_empty_dict(PyObject* o) { return o == Py_None || (PyDict_Check(o) && PyDict_GET_SIZE(o) == 0); }

// The attributes of a tensor, which it had beside its values.
void update_attributes(PyObject* to, PyObject* state) {
  if (is_empty_dict(state)) return;
  require(PyDict_CheckExact(state), "the attributes of a ", Py_TYPE(to)->tp_name, " are no dictionary");
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(state, &at, &key, &value);)
    require(PyUnicode_CheckExact(key), "the name of an attribute is no text");
  if (!is_tensor(to)) {
    const Object own = Object::made(PyObject_GetAttrString(to, "__dict__"));
    checked(PyDict_Update(own.get(), state));
    return;
  }
  // Properties of the class are no attributes of the file's: setting one may do anything.
  for (Py_ssize_t at = 0; PyDict_Next(state, &at, &key, &value);) {
    require(!PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(to)), key), "an attribute hides one of the class");
    checked(PyObject_SetAttr(to, key, value));
  }
}

}  // namespace

Object known_object(const std::string& name) {
  static const Table table = make_table();
  const auto it = table.find(name);
  if (it == table.end()) return {};
  return Object::made(PyCapsule_New(const_cast<Known*>(&it->second), kKnown, nullptr));
}
const Known* as_known(PyObject* o) {
  if (!PyCapsule_IsValid(o, kKnown)) return nullptr;
  return static_cast<const Known*>(PyCapsule_GetPointer(o, kKnown));
}
Object storage_object(const Ref<Storage>& storage, DType dtype, bool untyped) {
  auto value = std::make_unique<StorageValue>(StorageValue{storage, dtype, untyped});
  Object o = Object::made(PyCapsule_New(value.get(), kStorage, [](PyObject* capsule) {
    delete static_cast<StorageValue*>(PyCapsule_GetPointer(capsule, kStorage));
  }));
  value.release();
  return o;
}

// Storages and names get the form that users know when they become part of a result; a tuple is made anew then.
Object Unpickler::published(Object o, int depth) {
  if (PyTuple_CheckExact(o.get()) && !raw_.empty() && raw_.count(o.get())) {
    require(depth < 100, "tuples around a storage are nested too deeply");
    Object tuple = Object::made(PyTuple_New(count(o.get())));
    for (Py_ssize_t i = 0; i < count(o.get()); ++i)
      PyTuple_SET_ITEM(tuple.get(), i, published(Object::borrowed(argument(o.get(), i)), depth + 1).release());
    return tuple;
  }
  if (!PyCapsule_CheckExact(o.get())) return o;
  if (const StorageValue* s = as_storage(o.get())) {
    Object untyped = Object::made(wrap_storage(s->storage));
    if (s->untyped) return untyped;
    const Object dtype = Object::made(wrap(s->dtype));
    return Object::made(PyObject_CallFunctionObjArgs(hook("typed_storage"), untyped.get(), dtype.get(), nullptr));
  }
  const Known* known = as_known(o.get());
  switch (known->kind) {
    case Known::OrderedDict: return Object::borrowed(reinterpret_cast<PyObject*>(&PyODict_Type));
    case Known::Set: return Object::borrowed(reinterpret_cast<PyObject*>(&PySet_Type));
    case Known::FrozenSet: return Object::borrowed(reinterpret_cast<PyObject*>(&PyFrozenSet_Type));
    case Known::Complex: return Object::borrowed(reinterpret_cast<PyObject*>(&PyComplex_Type));
    case Known::Bytes: return Object::borrowed(reinterpret_cast<PyObject*>(&PyBytes_Type));
    case Known::ByteArray: return Object::borrowed(reinterpret_cast<PyObject*>(&PyByteArray_Type));
    default: refuse_pickle(concat(known->name, " is used as a value"));
  }
}

// Hashing recurses into tuples, and takes time for each element that it finds, as often as it finds it. Equal hashes
// cost time too, and those of long integers can be chosen.
void Unpickler::check_key(PyObject* key) const {
  if (PyUnicode_CheckExact(key)) return;
  std::vector<std::pair<PyObject*, int>> todo{{key, 0}};
  for (size_t seen = 0; !todo.empty(); ++seen) {
    const auto [o, depth] = todo.back();
    todo.pop_back();
    require(seen < 10000 && depth < 100, "a key of a dictionary or set is nested too deeply");
    if (PyLong_CheckExact(o)) {
      int overflow = 0;
      PyLong_AsLongLongAndOverflow(o, &overflow);
      require(overflow == 0, "an integer of more than 64 bits is used as a key");
    }
    if (!PyTuple_Check(o)) continue;
    require(count(o) < 10000, "a key of a dictionary or set is too long");
    for (Py_ssize_t i = 0; i < count(o); ++i) todo.emplace_back(argument(o, i), depth + 1);
  }
}

void Unpickler::add_to_set(PyObject* to, std::vector<Object> items) {
  for (Object& item : items) {
    const Object element = published(std::move(item));
    check_key(element.get());
    if (PySet_Add(to, element.get()) == 0) continue;
    require(!PyErr_ExceptionMatches(PyExc_TypeError), "a ", Py_TYPE(element.get())->tp_name, " is no element of a set");
    throw PythonError{};
  }
}

void Unpickler::reduce() {
  const Object args = pop(), function = pop();
  require(PyTuple_CheckExact(args.get()), "the arguments of a function are no tuple");
  if (const Known* known = as_known(function.get())) return push(call(*known, args.get()));
  require(callable_.count(function.get()) != 0, "a ", Py_TYPE(function.get())->tp_name, " is called");
  push(call_listed(function.get(), args.get()));
}

Object Unpickler::call_listed(PyObject* function, PyObject* args) {
  const Object shown = published(Object::borrowed(args));
  Object made(PyObject_CallObject(function, shown.get()));
  if (made || !PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) {
    if (!made) throw PythonError{};
    return made;
  }
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  const Object t(type), v(value), tb(trace);
  const Object text(value ? PyObject_Str(value) : nullptr);
  const char* why = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  const std::string reason = why ? why : "no reason given";
  PyErr_Clear();
  refuse_pickle(concat("an object could not be made: ", reason));
}

void Unpickler::new_object(bool keywords) {
  if (keywords) {
    const Object names = pop();
    require(PyDict_CheckExact(names.get()) && PyDict_GET_SIZE(names.get()) == 0, "an object is made with keywords");
  }
  const Object args = pop(), type = pop();
  require(PyTuple_CheckExact(args.get()), "the arguments of a class are no tuple");
  if (const Known* known = as_known(type.get())) return push(call(*known, args.get()));
  require(PyType_Check(type.get()) && PySet_Contains(constructors_.newable, type.get()) == 1,
          "an object of a class is made that was not allowed");
  const Object make = Object::made(PyObject_GetAttrString(type.get(), "__new__"));
  const Object head = Object::made(PyTuple_Pack(1, type.get()));
  const Object all = Object::made(PySequence_Concat(head.get(), args.get()));
  push(call_listed(make.get(), all.get()));
}

void Unpickler::build() {
  const Object state = published(pop());
  PyObject* to = top();
  if (PyODict_CheckExact(to) || Py_TYPE(to) == tensor_type) return update_attributes(to, state.get());
  PyObject* build = PyDict_GetItem(constructors_.build, reinterpret_cast<PyObject*>(Py_TYPE(to)));
  require(build != nullptr, "a ", Py_TYPE(to)->tp_name, " is given a state");
  const Object args = Object::made(PyTuple_Pack(2, to, state.get()));
  call_listed(build, args.get());
}

Object Unpickler::call(const Known& known, PyObject* args) {
  const Py_ssize_t n = count(args);
  switch (known.kind) {
    case Known::Tensor: return make_tensor(args, false);
    case Known::TensorV3: return make_tensor(args, true);
    case Known::Parameter: return make_parameter(args, false);
    case Known::ParameterWithState: return make_parameter(args, true);
    case Known::FromType: return make_from_type(args);
    case Known::OrderedDict: return make_dict(args);
    case Known::Set: return make_set(args, false);
    case Known::FrozenSet: return make_set(args, true);
    case Known::Complex: {
      require(n == 2 && PyFloat_CheckExact(argument(args, 0)) && PyFloat_CheckExact(argument(args, 1)),
              "a complex number is not made of two floats");
      return Object::made(
          PyComplex_FromDoubles(PyFloat_AS_DOUBLE(argument(args, 0)), PyFloat_AS_DOUBLE(argument(args, 1))));
    }
    case Known::Encode: {
      require((n == 1 || n == 2) && PyUnicode_CheckExact(argument(args, 0)), "bytes are not made of a text");
      if (n == 2) {
        const char* encoding = PyUnicode_CheckExact(argument(args, 1)) ? PyUnicode_AsUTF8(argument(args, 1)) : "";
        const std::string name = encoding ? encoding : "";
        if (!encoding) PyErr_Clear();
        require(name == "latin1" || name == "latin-1", "bytes are encoded as '", name, "', not latin1");
      }
      Object bytes(PyUnicode_AsLatin1String(argument(args, 0)));
      if (!bytes) PyErr_Clear();
      require(static_cast<bool>(bytes), "bytes are made of a text that is not latin1");
      return bytes;
    }
    case Known::Bytes:
    case Known::ByteArray: {
      require(n == 0 || (n == 1 && PyBytes_CheckExact(argument(args, 0))), known.name, " are not made of bytes");
      if (known.kind == Known::Bytes)
        return n ? Object::borrowed(argument(args, 0)) : Object::made(PyBytes_FromStringAndSize(nullptr, 0));
      return Object::made(n ? PyByteArray_FromObject(argument(args, 0)) : PyByteArray_FromStringAndSize(nullptr, 0));
    }
    case Known::StorageType: break;
  }
  refuse_pickle(concat(known.name, " is called"));
}

Object Unpickler::make_set(PyObject* args, bool frozen) {
  require(count(args) <= 1 && (count(args) == 0 || PyList_CheckExact(argument(args, 0))),
          "a set is not made of a list");
  Object set = Object::made(PySet_New(nullptr));
  if (count(args) == 1) {
    std::vector<Object> items;
    PyObject* list = argument(args, 0);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) items.push_back(Object::borrowed(PyList_GET_ITEM(list, i)));
    add_to_set(set.get(), std::move(items));
  }
  return frozen ? Object::made(PyFrozenSet_New(set.get())) : std::move(set);
}

// OrderedDict(), or of pairs, as Python 2 wrote it.
Object Unpickler::make_dict(PyObject* args) {
  require(count(args) <= 1 && (count(args) == 0 || PyList_CheckExact(argument(args, 0))),
          "an ordered dictionary is not made of a list");
  Object dict = Object::made(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyODict_Type)));
  if (count(args) == 0) return dict;
  std::vector<Object> items;
  PyObject* list = argument(args, 0);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* pair = PyList_GET_ITEM(list, i);
    const bool two = (PyList_CheckExact(pair) && PyList_GET_SIZE(pair) == 2) ||
                     (PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2);
    require(two, "an item of an ordered dictionary is no pair");
    for (Py_ssize_t k = 0; k < 2; ++k)
      items.push_back(Object::borrowed(PyList_CheckExact(pair) ? PyList_GET_ITEM(pair, k) : PyTuple_GET_ITEM(pair, k)));
  }
  set_items(dict.get(), std::move(items));
  return dict;
}

// (storage, offset, size, stride[, requires_grad, hooks[, dtype (v3)][, metadata]])
Object Unpickler::make_tensor(PyObject* args, bool v3) {
  const Py_ssize_t n = count(args);
  require(n >= (v3 ? 7 : 4), "a tensor is made of ", n, " arguments");
  const StorageValue* from = as_storage(argument(args, 0));
  require(from != nullptr, "a tensor is not made of a storage");
  DType dtype = from->dtype;
  if (v3) {
    require(is_dtype(argument(args, 6)) && !PyType_Check(argument(args, 6)), "the dtype of a tensor is no dtype");
    dtype = to_dtype(argument(args, 6));
  }
  Layout layout(to_counts(argument(args, 2), "the shape of a tensor"),
                to_counts(argument(args, 3), "the strides of a tensor"),
                to_count(argument(args, 1), "the offset of a tensor"));
  require(layout.shape.size() == layout.strides.size(), "a tensor has ", layout.shape.size(), " sizes and ",
          layout.strides.size(), " strides");
  checked_numel("load", layout.shape);
  check_extent(layout, from->storage->nbytes(), size_of(dtype));
  Tensor t(make_ref<TensorImpl>(from->storage, std::move(layout), dtype));
  if (n > (v3 ? 7 : 6)) {
    PyObject* bits = argument(args, v3 ? 7 : 6);
    require(is_empty_dict(bits) || PyDict_CheckExact(bits), "the metadata of a tensor is no dictionary");
    const auto has = [&](const char* name) { return bits != Py_None && PyDict_GetItemString(bits, name) == Py_True; };
    // strided has no lazy bits: the values are made.
    if (has("conj") && is_complex(dtype)) t = elementwise<ConjPhysical>(t);
    if (has("neg")) t = elementwise<Neg>(t);
  }
  Object made = Object::made(wrap(t));
  if (n < 6) return made;
  require(is_empty_dict(argument(args, 5)), "a tensor has hooks, which are code");
  if (argument(args, 4) == Py_True) checked(PyObject_SetAttrString(made.get(), "requires_grad", Py_True));
  return made;
}

// (data, requires_grad, hooks[, state])
Object Unpickler::make_parameter(PyObject* args, bool state) {
  require(count(args) == (state ? 4 : 3) && is_tensor(argument(args, 0)) && PyBool_Check(argument(args, 1)) &&
              is_empty_dict(argument(args, 2)),
          "a parameter is not made of a tensor and a flag");
  PyObject* type = PyDict_GetItemString(constructors_.find, "torch.nn.parameter.Parameter");
  require(type != nullptr, "parameters cannot be made");
  const Object plain = Object::made(PyTuple_GetSlice(args, 0, 2));
  Object made = call_listed(type, plain.get());
  if (state) update_attributes(made.get(), published(Object::borrowed(argument(args, 3))).get());
  return made;
}

// (function, class, arguments, attributes): a tensor with attributes.
Object Unpickler::make_from_type(PyObject* args) {
  PyObject* listed = nullptr;  // in Python: what makes tensors without values of their own
  for (const char* name : {"torch._utils._rebuild_meta_tensor_no_storage", "torch._utils._rebuild_wrapper_subclass"}) {
    PyObject* maker = PyDict_GetItemString(constructors_.find, name);
    if (count(args) == 4 && maker && argument(args, 0) == maker) listed = maker;
  }
  const Known* function = count(args) == 4 && !listed ? as_known(argument(args, 0)) : nullptr;
  require(
      (listed || (function && function->kind <= Known::ParameterWithState)) && PyTuple_CheckExact(argument(args, 2)),
      "a tensor with attributes is not made of a tensor");
  PyObject* type = argument(args, 1);
  require(callable_.count(type) != 0, "a tensor of an unknown class");
  Object made = listed ? call_listed(listed, argument(args, 2)) : call(*function, argument(args, 2));
  if (reinterpret_cast<PyObject*>(Py_TYPE(made.get())) != type) {
    const bool of_user = PyType_Check(type) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_type);
    PyObject* second = is_tensor(made.get()) && unwrap(made.get()).requires_grad() ? Py_True : Py_False;
    const Object args_of_class = Object::made(PyTuple_Pack(2, made.get(), of_user ? type : second));
    made = call_listed(of_user ? hook("as_class") : type, args_of_class.get());
  }
  require(is_tensor(made.get()), "a tensor of a class that is none");
  const Object state = published(Object::borrowed(argument(args, 3)));
  // A class of the user's own may have slots, what reads a state, and attributes that hide methods.
  if (PyObject* build = PyDict_GetItem(constructors_.build, type)) {
    const Object both = Object::made(PyTuple_Pack(2, made.get(), state.get()));
    call_listed(build, both.get());
  } else {
    update_attributes(made.get(), state.get());
  }
  return made;
}

// ('storage', class, key, location, elements[, view]) becomes the storage.
void Unpickler::load_storage() {
  const Object id = pop();
  require(storages_ != nullptr && PyTuple_CheckExact(id.get()) && (count(id.get()) == 5 || count(id.get()) == 6),
          "a storage is not described by five or six items");
  const Object word = as_word(argument(id.get(), 0));
  require(PyUnicode_CheckExact(word.get()) && PyUnicode_CompareWithASCIIString(word.get(), "storage") == 0,
          "something is referred to that is no storage");
  const Known* type = as_known(argument(id.get(), 1));
  require(type && type->kind == Known::StorageType, "a storage has an unknown class");
  const Object key = as_word(argument(id.get(), 2)), place = as_word(argument(id.get(), 3));
  for (const Object* o : {&key, &place})
    require(PyUnicode_CheckExact(o->get()), "the key and the place of a storage are no texts");
  const int64_t elements = to_count(argument(id.get(), 4), "the length of a storage");
  require(elements <= INT64_MAX / size_of(type->dtype), "a storage of ", elements, " elements does not fit memory");
  PyObject* view = count(id.get()) == 6 ? argument(id.get(), 5) : Py_None;
  push(storage_object(
      storages_->get(key.get(), place.get(), type->dtype, static_cast<uint64_t>(elements * size_of(type->dtype)), view),
      type->dtype, type->untyped));
}

}  // namespace strided::python
