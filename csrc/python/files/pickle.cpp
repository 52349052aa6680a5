#include "python/files/pickle.h"

#include <cstring>

#include "ops/copy.h"
#include "python/files/opcodes.h"
#include "python/py_storage.h"
#include "python/size.h"
#include "tensor/graph.h"

namespace strided::python {
namespace {

// PyTorch has storage classes for the dtypes that a method converts to; the tensors of others are written with an
// untyped storage.
bool has_storage_class(DType t) { return *info_of(t).method; }

const char* rebuild_function(const Tensor& t) {
  if (t.device().is_meta()) return "torch._utils._rebuild_meta_tensor_no_storage";
  return has_storage_class(t.dtype()) ? "torch._utils._rebuild_tensor_v2" : "torch._utils._rebuild_tensor_v3";
}

// While it lives, the interpreter counts one level of recursion: RecursionError instead of an overflow of the stack.
class Level {
 public:
  Level() {
    if (Py_EnterRecursiveCall(" while an object is saved")) throw PythonError{};
  }
  ~Level() { Py_LeaveRecursiveCall(); }
};

bool has_negative_stride(const Tensor& t) {
  for (int64_t s : t.strides())
    if (s < 0) return true;
  return false;
}

}  // namespace

Pickler::Pickler(PyObject* describe, int protocol, bool legacy)
    : describe_(describe), protocol_(protocol), legacy_(legacy) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "strided.nn.parameter");
  if (module) parameter_type_ = Object::made(PyObject_GetAttrString(module, "Parameter"));
}

void Pickler::put_number(uint64_t n, int bytes) {
  char text[8];
  for (int i = 0; i < bytes; ++i) text[i] = static_cast<char>(n >> 8 * i);
  out_.append(text, static_cast<size_t>(bytes));
}
void Pickler::put_int(int64_t n) {
  if (n >= 0 && n < 256) {
    put(op::BinInt1);
    put_number(static_cast<uint64_t>(n), 1);
  } else if (n >= 0 && n < 65536) {
    put(op::BinInt2);
    put_number(static_cast<uint64_t>(n), 2);
  } else if (n >= INT32_MIN && n <= INT32_MAX) {
    put(op::BinInt);
    put_number(static_cast<uint64_t>(n), 4);
  } else {
    put(static_cast<char>(op::Long1));
    put(8);
    put_number(static_cast<uint64_t>(n), 8);
  }
}
void Pickler::put_text(std::string_view text) {
  STRIDED_CHECK(text.size() < UINT32_MAX, OverflowError, "save: a text of 4 GiB or more");
  put(op::BinUnicode);
  put_number(text.size(), 4);
  out_.append(text);
}
void Pickler::put_memo(uint32_t index) {
  put(index < 256 ? op::BinPut : op::LongBinPut);
  put_number(index, index < 256 ? 1 : 4);
}
void Pickler::get_memo(uint32_t index) {
  put(index < 256 ? op::BinGet : op::LongBinGet);
  put_number(index, index < 256 ? 1 : 4);
}
void Pickler::put_constant(std::string_view text) {
  if (const auto it = constants_.find(text); it != constants_.end()) return get_memo(it->second);
  constants_.emplace(text, used_);
  put_text(text);
  put_memo(used_++);
}
void Pickler::global(std::string_view name) {
  if (const auto it = globals_.find(name); it != globals_.end()) return get_memo(it->second);
  globals_.emplace(name, used_);
  const size_t dot = name.rfind('.');
  put(op::Global);
  out_.append(name.substr(0, dot)).append("\n").append(name.substr(dot + 1)).append("\n");
  put_memo(used_++);
}
void Pickler::put_counts(const Dims& values) {
  if (values.size() > 3) put(op::Mark);
  for (int64_t n : values) put_int(n);
  if (values.empty()) return put(op::EmptyTuple);
  put(static_cast<char>(values.size() > 3 ? static_cast<size_t>(op::Tuple) : op::Tuple1 + values.size() - 1));
}
void Pickler::empty_ordered_dict() {
  global("collections.OrderedDict");
  put(op::EmptyTuple);
  put(op::Reduce);
}
void Pickler::expect(Py_ssize_t objects) {
  // Of many small containers each would fill the table anew.
  if (static_cast<size_t>(objects) <= seen_.size()) return;
  seen_.reserve(seen_.size() + static_cast<size_t>(objects));
  out_.reserve(out_.size() + 32 * static_cast<size_t>(objects));
}
bool Pickler::get_if_seen(PyObject* o) {
  const auto it = seen_.find(o);
  if (it != seen_.end()) get_memo(it->second);
  return it != seen_.end();
}
void Pickler::remember(PyObject* o) {
  seen_.emplace(o, used_);
  put_memo(used_++);
}

std::string Pickler::dump(PyObject* o) {
  out_.clear();
  put(static_cast<char>(op::Proto));
  put(static_cast<char>(protocol_));
  save(o);
  put(op::Stop);
  if (refused_.empty()) return std::move(out_);
  std::string names;
  for (const std::string& name : refused_) names += (names.empty() ? "" : ", ") + name;
  PyErr_SetString(hook("PicklingError"),
                  concat("save: objects of these classes are no data that can be loaded without running code: ", names,
                         ". Save what they hold (a module's state_dict()), or allow a class of yours: "
                         "serialization.add_safe_globals([TheClass])")
                      .c_str());
  throw PythonError{};
}

void Pickler::save(PyObject* o) {
  if (o == Py_None) return put(op::None);
  if (save_number(o) || get_if_seen(o)) return;
  if (save_text(o)) return;
  const Level level;
  if (save_container(o)) return;
  if (is_tensor(o)) return save_tensor(o);
  save_described(o);
}

bool Pickler::save_number(PyObject* o) {
  if (PyBool_Check(o)) {
    put(static_cast<char>(o == Py_True ? op::NewTrue : op::NewFalse));
    return true;
  }
  if (PyFloat_CheckExact(o)) {
    uint64_t bits;
    const double x = PyFloat_AS_DOUBLE(o);
    std::memcpy(&bits, &x, 8);
    put(op::BinFloat);
    for (int i = 7; i >= 0; --i) put(static_cast<char>(bits >> 8 * i));
    return true;
  }
  if (PyComplex_CheckExact(o)) {
    global("__builtin__.complex");
    save(Object::made(PyFloat_FromDouble(PyComplex_RealAsDouble(o))).get());
    save(Object::made(PyFloat_FromDouble(PyComplex_ImagAsDouble(o))).get());
    put(static_cast<char>(op::Tuple2));
    put(op::Reduce);
    return true;
  }
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  const long long n = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow == 0) {
    put_int(n);
    return true;
  }
  const Object bits = Object::made(PyObject_CallMethod(o, "bit_length", nullptr));
  const int64_t size = to_int(bits.get()) / 8 + 1;
  const Object method = Object::made(PyObject_GetAttrString(o, "to_bytes"));
  const Object args = Object::made(Py_BuildValue("(Ls)", static_cast<long long>(size), "little"));
  const Object keywords = Object::made(Py_BuildValue("{sO}", "signed", Py_True));
  const Object bytes = Object::made(PyObject_Call(method.get(), args.get(), keywords.get()));
  put(static_cast<char>(size < 256 ? op::Long1 : op::Long4));
  put_number(static_cast<uint64_t>(size), size < 256 ? 1 : 4);
  out_.append(PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(size));
  return true;
}

bool Pickler::save_text(PyObject* o) {
  if (PyUnicode_CheckExact(o)) {
    Py_ssize_t n = 0;
    if (const char* text = PyUnicode_AsUTF8AndSize(o, &n)) {
      put_text({text, static_cast<size_t>(n)});
    } else {  // half of a surrogate pair
      PyErr_Clear();
      const Object bytes = Object::made(PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass"));
      put_text({PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.get()))});
    }
  } else if (PyBytes_CheckExact(o) || PyByteArray_CheckExact(o)) {
    const bool array = PyByteArray_CheckExact(o);
    const char* data = array ? PyByteArray_AS_STRING(o) : PyBytes_AS_STRING(o);
    const Py_ssize_t n = array ? PyByteArray_GET_SIZE(o) : PyBytes_GET_SIZE(o);
    if (array) global("__builtin__.bytearray");
    // Protocol 2 has no bytes: they travel as a text of the same characters.
    const Object text = Object::made(PyUnicode_DecodeLatin1(data, n, nullptr));
    Py_ssize_t length = 0;
    const char* utf8 = PyUnicode_AsUTF8AndSize(text.get(), &length);
    if (!utf8) throw PythonError{};
    global("_codecs.encode");
    put_text({utf8, static_cast<size_t>(length)});
    put_constant("latin1");
    put(static_cast<char>(op::Tuple2));
    put(op::Reduce);
    if (array) {
      put(static_cast<char>(op::Tuple1));
      put(op::Reduce);
    }
  } else {
    return false;
  }
  remember(o);
  return true;
}

bool Pickler::save_container(PyObject* o) {
  if (PyTuple_CheckExact(o)) {
    save_tuple(o);
  } else if (PyDict_CheckExact(o) || PyODict_CheckExact(o)) {
    save_dict(o);
  } else if (PyList_CheckExact(o)) {
    put(op::EmptyList);
    remember(o);
    if (PyList_GET_SIZE(o) == 0) return true;
    put(op::Mark);
    expect(PyList_GET_SIZE(o));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) save(Object::borrowed(PyList_GET_ITEM(o, i)).get());
    put(op::Appends);
  } else if (PyAnySet_CheckExact(o)) {
    save_set(o);
  } else if (Py_TYPE(o) == size_type) {
    save_size(o);
  } else if (is_storage(o)) {
    save_storage(unwrap_storage(o), DType::UInt8, true);
  } else {
    return false;
  }
  return true;
}

void Pickler::save_tuple(PyObject* o) {
  const Py_ssize_t n = PyTuple_GET_SIZE(o);
  if (n == 0) return put(op::EmptyTuple);
  put(op::Mark);
  for (Py_ssize_t i = 0; i < n; ++i) save(PyTuple_GET_ITEM(o, i));
  // A tuple that contains itself, through a list, has been written meanwhile.
  if (seen_.count(o)) {
    put(op::PopMark);
    get_if_seen(o);
    return;
  }
  put(op::Tuple);
  remember(o);
}

void Pickler::save_size(PyObject* o) {
  global("torch.Size");
  put(op::Mark);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) save(PyTuple_GET_ITEM(o, i));
  put(op::Tuple);
  put(static_cast<char>(op::Tuple1));
  put(op::Reduce);
  remember(o);
}

void Pickler::save_dict(PyObject* o) {
  const bool ordered = PyODict_CheckExact(o);
  if (ordered) empty_ordered_dict();
  else put(op::EmptyDict);
  remember(o);
  if (PyDict_GET_SIZE(o) > 0) {
    put(op::Mark);
    expect(2 * PyDict_GET_SIZE(o));  // keys and values
    save_items(o);
    put(op::SetItems);
  }
  if (!ordered) return;
  // The state dict of a module carries versions as an attribute.
  const Object attributes = Object::made(PyObject_GetAttrString(o, "__dict__"));
  if (PyDict_GET_SIZE(attributes.get()) == 0) return;
  save_dict(attributes.get());
  put(op::Build);
  kept_.push_back(Object::borrowed(attributes.get()));
}

void Pickler::save_items(PyObject* dict) {
  if (PyODict_CheckExact(dict)) {  // whose order the dictionary underneath does not know
    const Object items = Object::made(PyObject_CallMethod(dict, "items", nullptr));
    const Object iterator = Object::made(PyObject_GetIter(items.get()));
    while (const Object pair = Object(PyIter_Next(iterator.get()))) {
      save(PyTuple_GET_ITEM(pair.get(), 0));
      save(PyTuple_GET_ITEM(pair.get(), 1));
    }
    if (PyErr_Occurred()) throw PythonError{};
    return;
  }
  const Py_ssize_t size = PyDict_GET_SIZE(dict);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    const Object k = Object::borrowed(key), v = Object::borrowed(value);
    save(key);
    save(value);
    STRIDED_CHECK(PyDict_GET_SIZE(dict) == size, RuntimeError, "save: a dictionary changed its size meanwhile");
  }
}

void Pickler::save_set(PyObject* o) {
  global(PyFrozenSet_CheckExact(o) ? "__builtin__.frozenset" : "__builtin__.set");
  put(op::EmptyList);
  const Object items = Object::made(PySequence_List(o));
  put(op::Mark);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) save(PyList_GET_ITEM(items.get(), i));
  put(op::Appends);
  put(static_cast<char>(op::Tuple1));
  put(op::Reduce);
  remember(o);
}

void Pickler::save_tensor(PyObject* o) {
  const bool is_parameter = reinterpret_cast<PyObject*>(Py_TYPE(o)) == parameter_type_.get();
  if (Py_TYPE(o) != tensor_type && !is_parameter) return save_described(o);
  PyObject* attributes = reinterpret_cast<PyTensor*>(o)->dict;
  if (attributes && PyDict_GET_SIZE(attributes) == 0) attributes = nullptr;
  if (is_parameter) {
    save_parameter(o, attributes);
  } else if (attributes) {
    global("torch._tensor._rebuild_from_type_v2");
    put(op::Mark);
    const Tensor& t = unwrap(o);
    global(rebuild_function(t));
    global("torch.Tensor");
    save_values(t, t.requires_grad());
    save(attributes);
    put(op::Tuple);
    put(op::Reduce);
  } else {
    const Tensor& t = unwrap(o);
    global(rebuild_function(t));
    save_values(t, t.requires_grad());
    put(op::Reduce);
  }
  remember(o);
}

void Pickler::save_parameter(PyObject* o, PyObject* attributes) {
  const Tensor& t = unwrap(o);
  global(attributes ? "torch._utils._rebuild_parameter_with_state" : "torch._utils._rebuild_parameter");
  put(op::Mark);
  global(rebuild_function(t));
  save_values(t, false);
  put(op::Reduce);
  put(static_cast<char>(t.requires_grad() ? op::NewTrue : op::NewFalse));
  empty_ordered_dict();
  if (attributes) save(attributes);
  put(op::Tuple);
  put(op::Reduce);
}

// The arguments that a tensor is made of, as a tuple.
void Pickler::save_values(const Tensor& original, bool requires_grad) {
  Tensor t = original;
  // PyTorch has no negative strides, and a borrowed piece of memory may hold a part of an element at its end.
  if (has_negative_stride(t) || t.storage().nbytes() % static_cast<size_t>(t.itemsize()) != 0) {
    const NoGradGuard guard;
    t = clone(t);
  }
  put(op::Mark);
  if (t.device().is_meta()) {  // no data
    global(std::string("torch.") + name_of(t.dtype()));
    put_counts(t.shape());
    put_counts(t.strides());
    put(static_cast<char>(requires_grad ? op::NewTrue : op::NewFalse));
    put(op::Tuple);
    return;
  }
  save_storage(t.impl()->storage, t.dtype(), !has_storage_class(t.dtype()));
  put_int(t.offset());
  put_counts(t.shape());
  put_counts(t.strides());
  put(static_cast<char>(requires_grad ? op::NewTrue : op::NewFalse));
  empty_ordered_dict();
  if (!has_storage_class(t.dtype())) global(std::string("torch.") + name_of(t.dtype()));
  put(op::Tuple);
}

void Pickler::save_storage(const Ref<Storage>& storage, DType dtype, bool untyped) {
  const auto [it, fresh] = keys_.emplace(storage.get(), storages_.size());
  if (fresh) storages_.push_back({storage, untyped ? DType::UInt8 : dtype, untyped});
  const Saved& saved = storages_[it->second];
  STRIDED_CHECK(saved.untyped || untyped || saved.dtype == dtype || storage->nbytes() == 0, RuntimeError,
                "Cannot save multiple tensors or storages that view the same data as different types: ",
                cpp_name_of(saved.dtype), " and ", cpp_name_of(dtype));
  put(op::Mark);
  put_constant("storage");
  // Before PyTorch 1.6 there were no untyped storages: bytes stand for them.
  if (untyped) global(legacy_ ? "torch.ByteStorage" : "torch.storage.UntypedStorage");
  else global(std::string("torch.") + cpp_name_of(dtype) + "Storage");
  put_text(std::to_string(it->second));
  put_constant(storage->device().is_cpu() ? "cpu" : concat(storage->device()));
  put_int(static_cast<int64_t>(storage->nbytes()) / (untyped ? 1 : size_of(dtype)));
  if (legacy_) put(op::None);
  put(op::Tuple);
  put(op::BinPersId);
}

void Pickler::save_described(PyObject* o) {
  const Object made = Object::made(PyObject_CallOneArg(describe_, o));
  if (made.get() == Py_None) {
    const Object name = Object::made(PyObject_CallFunctionObjArgs(hook("class_name"), o, nullptr));
    refused_.insert(PyUnicode_AsUTF8(name.get()));
    return put(op::None);
  }
  const char* name = nullptr;
  PyObject *args = nullptr, *state = nullptr, *items = Py_None, *pairs = Py_None;
  if (!PyArg_ParseTuple(made.get(), "sOO|OO", &name, &args, &state, &items, &pairs)) throw PythonError{};
  if (is_storage(args)) {
    save_storage(unwrap_storage(args), to_dtype(state), false);
    return;
  }
  if (is_tensor(args)) {  // of the class that `name` stands for, with the attributes `state`
    const Tensor& t = unwrap(args);
    global("torch._tensor._rebuild_from_type_v2");
    put(op::Mark);
    global(rebuild_function(t));
    global(name);
    save_values(t, t.requires_grad());
    save(state);
    put(op::Tuple);
    put(op::Reduce);
    remember(o);
    kept_.push_back(Object::borrowed(made.get()));
    return;
  }
  const bool is_class = std::strncmp(name, "new ", 4) == 0;
  global(is_class ? name + 4 : name);
  if (args == Py_None) return;
  save(args);
  put(static_cast<char>(is_class ? op::NewObj : op::Reduce));
  remember(o);
  save_content(items, op::Appends);
  save_content(pairs, op::SetItems);
  if (state != Py_None) {
    save(state);
    put(op::Build);
  }
  kept_.push_back(Object::borrowed(made.get()));
}

// What an object gets after it was made, by one opcode; None or an empty list: nothing.
void Pickler::save_content(PyObject* list, char opcode) {
  if (list == Py_None || PyList_GET_SIZE(list) == 0) return;
  put(op::Mark);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) save(PyList_GET_ITEM(list, i));
  put(opcode);
}

}  // namespace strided::python
