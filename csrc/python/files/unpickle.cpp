#include "python/files/unpickle.h"

#include <cstring>

#include "python/files/opcodes.h"

namespace strided::python {
namespace {

constexpr uint64_t kMemoSlack = 4096;  // how far a memo index may be beyond those used; writers count up

Object new_ref(PyObject* o) { return Object::borrowed(o); }

Object big_integer(const uint8_t* data, size_t n) {
  if (n <= 8) {
    uint64_t bits = 0;
    for (size_t i = 0; i < n; ++i) bits |= static_cast<uint64_t>(data[i]) << 8 * i;
    if (n > 0 && n < 8 && data[n - 1] & 0x80) bits |= ~uint64_t(0) << 8 * n;
    return Object::made(PyLong_FromLongLong(static_cast<long long>(bits)));
  }
  const Object bytes =
      Object::made(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(data), static_cast<Py_ssize_t>(n)));
  const Object from = Object::made(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyLong_Type), "from_bytes"));
  const Object args = Object::made(Py_BuildValue("(Os)", bytes.get(), "little"));
  const Object keywords = Object::made(Py_BuildValue("{sO}", "signed", Py_True));
  return Object::made(PyObject_Call(from.get(), args.get(), keywords.get()));
}

Object integer_of(std::string text) {
  if (!text.empty() && text.back() == 'L') text.pop_back();
  char* end = nullptr;
  Object n(PyLong_FromString(text.c_str(), &end, 10));
  if (!n) PyErr_Clear();
  require(n && !text.empty(), "an integer is no number: '", text.substr(0, 40), "'");
  return n;
}

Object float_of(std::string_view line) {
  const std::string text(line);
  const double x = PyOS_string_to_double(text.c_str(), nullptr, nullptr);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    refuse_pickle(concat("a float is no number: '", text.substr(0, 40), "'"));
  }
  return Object::made(PyFloat_FromDouble(x));
}

Object unicode(const uint8_t* data, uint64_t n) {
  Object text(PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(data), static_cast<Py_ssize_t>(n), "surrogatepass"));
  if (!text) PyErr_Clear();
  require(static_cast<bool>(text), "a text is not UTF-8");
  return text;
}

Object bytes_of(const uint8_t* data, uint64_t n) {
  return Object::made(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(data), static_cast<Py_ssize_t>(n)));
}

}  // namespace

void refuse_pickle(const std::string& why) {
  // What is quoted from a file need not be UTF-8.
  const std::string text = "load: " + why;
  const Object message =
      Object::made(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  PyErr_SetObject(hook("UnpicklingError"), message.get());
  throw PythonError{};
}

const uint8_t* Unpickler::take(uint64_t n) {
  require(n <= static_cast<uint64_t>(end_ - at_), "the pickle ends too early");
  return std::exchange(at_, at_ + n);
}
uint64_t Unpickler::take_number(int bytes) {
  const uint8_t* p = take(static_cast<uint64_t>(bytes));
  uint64_t n = 0;
  for (int i = bytes - 1; i >= 0; --i) n = n << 8 | p[i];
  return n;
}
std::string_view Unpickler::take_line() {
  const auto* line = reinterpret_cast<const char*>(at_);
  const void* end = std::memchr(at_, '\n', static_cast<size_t>(end_ - at_));
  require(end != nullptr, "the pickle ends too early");
  at_ = static_cast<const uint8_t*>(end) + 1;
  return {line, static_cast<size_t>(static_cast<const char*>(end) - line)};
}

PyObject* Unpickler::top() const {
  require(stack_.size() > (marks_.empty() ? 0 : marks_.back()), "the pickle takes more than it has put on the stack");
  return stack_.back().get();
}
Object Unpickler::pop() {
  top();
  Object o = std::move(stack_.back());
  stack_.pop_back();
  return o;
}
std::vector<Object> Unpickler::pop_to_mark() {
  require(!marks_.empty(), "the pickle goes back to a mark that it has not set");
  const auto from = stack_.begin() + static_cast<ptrdiff_t>(marks_.back());
  marks_.pop_back();
  std::vector<Object> items(std::make_move_iterator(from), std::make_move_iterator(stack_.end()));
  stack_.erase(from, stack_.end());
  return items;
}

void Unpickler::put(uint64_t index) {
  Object o = new_ref(top());
  require(index < memo_.size() + kMemoSlack, "memo index ", index, " is far beyond the ", memo_.size(), " used so far");
  if (index >= memo_.size()) memo_.resize(index + 1);
  memo_[index] = std::move(o);
}
void Unpickler::get(uint64_t index) {
  require(index < memo_.size() && memo_[index], "memo index ", index, " was never set");
  push(new_ref(memo_[index].get()));
}

void Unpickler::push_tuple(std::vector<Object> items) {
  Object tuple = Object::made(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  bool raw = false;
  for (size_t i = 0; i < items.size(); ++i) {
    PyObject* o = items[i].release();
    raw = raw || PyCapsule_CheckExact(o) || (!raw_.empty() && PyTuple_CheckExact(o) && raw_.count(o));
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), o);
  }
  if (raw) raw_.insert(tuple.get());
  push(std::move(tuple));
}

Object Unpickler::text_of_python2(const uint8_t* data, size_t n) const {
  const char* encoding = PyUnicode_AsUTF8(constructors_.encoding);
  if (encoding == nullptr) throw PythonError{};
  if (std::strcmp(encoding, "bytes") == 0) return bytes_of(data, n);
  Object text(PyUnicode_Decode(reinterpret_cast<const char*>(data), static_cast<Py_ssize_t>(n), encoding, "strict"));
  if (!text) PyErr_Clear();
  require(static_cast<bool>(text), "a text of Python 2 is not ", encoding, "; give another `encoding`");
  return text;
}

PyObject* Unpickler::allowed(const std::string& name) const {
  Object key(PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), nullptr));
  if (!key) PyErr_Clear();  // no text, so it names nothing
  return key ? PyDict_GetItem(constructors_.find, key.get()) : nullptr;
}

void Unpickler::find(const std::string& name) {
  if (Object known = known_object(name)) return push(std::move(known));
  PyObject* found = allowed(name);
  if (found == nullptr) {
    std::string all;
    for (const std::string& n : names_in_pickle(begin_, static_cast<size_t>(end_ - begin_)))
      if (!known_object(n) && !allowed(n) && all.find(n) == std::string::npos) all += (all.empty() ? "" : ", ") + n;
    if (all.empty()) all = name;
    refuse_pickle(concat("Unsupported global: ", all.size() > 2000 ? all.substr(0, 2000) + " ..." : all,
                         ". Only tensors, numbers, texts and containers are read, and no code is ever run. A class "
                         "of yours can be allowed: serialization.add_safe_globals([TheClass])"));
  }
  // One item in a tuple is a value that the file may hold, but not call.
  if (PyTuple_Check(found)) return push(new_ref(PyTuple_GET_ITEM(found, 0)));
  callable_.insert(found);
  push(new_ref(found));
}

void Unpickler::add_items(PyObject* to, std::vector<Object> items) {
  if (PyList_CheckExact(to)) {
    for (Object& item : items) checked(PyList_Append(to, published(std::move(item)).get()));
    return;
  }
  require(PySet_Contains(constructors_.newable, reinterpret_cast<PyObject*>(Py_TYPE(to))) == 1, "items are added to a ",
          Py_TYPE(to)->tp_name, ", which is no list");
  for (Object& item : items) Object(checked(PyObject_CallMethod(to, "append", "O", published(std::move(item)).get())));
}

void Unpickler::set_items(PyObject* to, std::vector<Object> items) {
  require(items.size() % 2 == 0, "a dictionary gets a key without a value");
  const bool plain = PyDict_CheckExact(to);
  require(plain || PyODict_CheckExact(to) ||
              PySet_Contains(constructors_.newable, reinterpret_cast<PyObject*>(Py_TYPE(to))) == 1,
          "items are set in a ", Py_TYPE(to)->tp_name, ", which is no dictionary");
  for (size_t i = 0; i < items.size(); i += 2) {
    const Object key = published(std::move(items[i])), value = published(std::move(items[i + 1]));
    check_key(key.get());
    const int status =
        plain ? PyDict_SetItem(to, key.get(), value.get()) : PyObject_SetItem(to, key.get(), value.get());
    if (status == 0) continue;
    require(!PyErr_ExceptionMatches(PyExc_TypeError), "a ", Py_TYPE(key.get())->tp_name, " is no key of a dictionary");
    throw PythonError{};
  }
}

// Values and texts; false: the opcode is no such.
bool Unpickler::step_values(uint8_t opcode) {
  switch (opcode) {
    case op::None: push(new_ref(Py_None)); return true;
    case op::NewTrue: push(new_ref(Py_True)); return true;
    case op::NewFalse: push(new_ref(Py_False)); return true;
    case op::Int: {
      const std::string text(take_line());
      push(text == "01" ? new_ref(Py_True) : text == "00" ? new_ref(Py_False) : integer_of(text));
      return true;
    }
    case op::Long: push(integer_of(std::string(take_line()))); return true;
    case op::BinInt: {
      const auto n = static_cast<int32_t>(take_number(4));
      push(Object::made(PyLong_FromLong(n)));
      return true;
    }
    case op::BinInt1: push(Object::made(PyLong_FromLong(static_cast<long>(take_number(1))))); return true;
    case op::BinInt2: push(Object::made(PyLong_FromLong(static_cast<long>(take_number(2))))); return true;
    case op::Long1:
    case op::Long4: {
      const uint64_t n = take_number(opcode == op::Long1 ? 1 : 4);
      push(big_integer(take(n), n));
      return true;
    }
    case op::Float: push(float_of(take_line())); return true;
    case op::BinFloat: {
      uint64_t bits = 0;
      const uint8_t* p = take(8);
      for (int i = 0; i < 8; ++i) bits = bits << 8 | p[i];
      double x;
      std::memcpy(&x, &bits, 8);
      push(Object::made(PyFloat_FromDouble(x)));
      return true;
    }
    case op::String: {
      const std::string_view line = take_line();
      require(line.size() >= 2 && line.front() == line.back() && (line[0] == '\'' || line[0] == '"'),
              "a text of Python 2 is not quoted");
      const Object raw(
          PyBytes_DecodeEscape(line.data() + 1, static_cast<Py_ssize_t>(line.size() - 2), nullptr, 0, nullptr));
      if (!raw) PyErr_Clear();
      require(static_cast<bool>(raw), "a text of Python 2 has a wrong escape");
      push(text_of_python2(reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(raw.get())),
                           static_cast<size_t>(PyBytes_GET_SIZE(raw.get()))));
      return true;
    }
    case op::BinString:
    case op::ShortBinString: {
      const uint64_t n = take_number(opcode == op::BinString ? 4 : 1);
      push(text_of_python2(take(n), n));
      return true;
    }
    case op::Unicode: {
      const std::string_view line = take_line();
      Object text(PyUnicode_DecodeRawUnicodeEscape(line.data(), static_cast<Py_ssize_t>(line.size()), "strict"));
      if (!text) PyErr_Clear();
      require(static_cast<bool>(text), "a text has a wrong escape");
      push(std::move(text));
      return true;
    }
    case op::ShortBinUnicode:
    case op::BinUnicode:
    case op::BinUnicode8: {
      const uint64_t n = take_number(opcode == op::ShortBinUnicode ? 1 : opcode == op::BinUnicode ? 4 : 8);
      push(unicode(take(n), n));
      return true;
    }
    case op::ShortBinBytes:
    case op::BinBytes:
    case op::BinBytes8: {
      const uint64_t n = take_number(opcode == op::ShortBinBytes ? 1 : opcode == op::BinBytes ? 4 : 8);
      push(bytes_of(take(n), n));
      return true;
    }
    case op::ByteArray8: {
      const uint64_t n = take_number(8);
      push(Object::made(
          PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(take(n)), static_cast<Py_ssize_t>(n))));
      return true;
    }
    default: return false;
  }
}

bool Unpickler::step_containers(uint8_t opcode) {
  switch (opcode) {
    case op::EmptyList: push(Object::made(PyList_New(0))); return true;
    case op::EmptyTuple: push_tuple({}); return true;
    case op::EmptyDict: push(Object::made(PyDict_New())); return true;
    case op::EmptySet: push(Object::made(PySet_New(nullptr))); return true;
    case op::Tuple: push_tuple(pop_to_mark()); return true;
    case op::Tuple1:
    case op::Tuple2:
    case op::Tuple3: {
      std::vector<Object> items(opcode - op::Tuple1 + 1);
      for (size_t i = items.size(); i-- > 0;) items[i] = pop();
      push_tuple(std::move(items));
      return true;
    }
    case op::List: {
      std::vector<Object> items = pop_to_mark();
      push(Object::made(PyList_New(0)));
      add_items(top(), std::move(items));
      return true;
    }
    case op::Dict: {
      std::vector<Object> items = pop_to_mark();
      push(Object::made(PyDict_New()));
      set_items(top(), std::move(items));
      return true;
    }
    case op::Append:
    case op::Appends: {
      std::vector<Object> items;
      if (opcode == op::Append) items.push_back(pop());
      else items = pop_to_mark();
      add_items(top(), std::move(items));
      return true;
    }
    case op::SetItem: {
      std::vector<Object> items(2);
      items[1] = pop();
      items[0] = pop();
      set_items(top(), std::move(items));
      return true;
    }
    case op::SetItems: {
      std::vector<Object> items = pop_to_mark();
      set_items(top(), std::move(items));
      return true;
    }
    case op::AddItems: {
      std::vector<Object> items = pop_to_mark();
      require(PySet_CheckExact(top()), "items are added to a ", Py_TYPE(top())->tp_name, ", which is no set");
      add_to_set(top(), std::move(items));
      return true;
    }
    case op::FrozenSet: {
      std::vector<Object> items = pop_to_mark();
      const Object set = Object::made(PySet_New(nullptr));
      add_to_set(set.get(), std::move(items));
      push(Object::made(PyFrozenSet_New(set.get())));
      return true;
    }
    default: return false;
  }
}

// One opcode; false at the end of the pickle.
bool Unpickler::step(uint8_t opcode) {
  if (step_values(opcode) || step_containers(opcode)) return true;
  switch (opcode) {
    case op::Stop: return false;
    case op::Proto: {
      const uint64_t protocol = take_number(1);
      require(protocol <= 5, "pickle protocol ", protocol, " is unknown");
      return true;
    }
    case op::Frame: take_number(8); return true;
    case op::Mark: marks_.push_back(stack_.size()); return true;
    case op::Pop:
      if (!marks_.empty() && marks_.back() == stack_.size()) marks_.pop_back();
      else pop();
      return true;
    case op::PopMark: pop_to_mark(); return true;
    case op::Dup: push(new_ref(top())); return true;
    case op::Put:
    case op::Get: {
      const Object index = integer_of(std::string(take_line()));
      const long long i = PyLong_AsLongLong(index.get());
      if (PyErr_Occurred()) PyErr_Clear();
      require(i >= 0, "a memo index is no index");
      opcode == op::Put ? put(static_cast<uint64_t>(i)) : get(static_cast<uint64_t>(i));
      return true;
    }
    case op::BinPut: put(take_number(1)); return true;
    case op::LongBinPut: put(take_number(4)); return true;
    case op::Memoize: put(memo_.size()); return true;
    case op::BinGet: get(take_number(1)); return true;
    case op::LongBinGet: get(take_number(4)); return true;
    case op::Global: {
      const std::string module(take_line());
      find(module + "." + std::string(take_line()));
      return true;
    }
    case op::StackGlobal: {
      const Object name = pop(), module = pop();
      require(PyUnicode_CheckExact(name.get()) && PyUnicode_CheckExact(module.get()), "a global has no name");
      const Object joined = Object::made(PyUnicode_FromFormat("%U.%U", module.get(), name.get()));
      const char* text = PyUnicode_AsUTF8(joined.get());
      if (text == nullptr) PyErr_Clear();
      require(text != nullptr, "a global has a name that is no text");
      find(text);
      return true;
    }
    case op::Reduce: reduce(); return true;
    case op::NewObj: new_object(false); return true;
    case op::NewObjEx: new_object(true); return true;
    case op::Build: build(); return true;
    case op::BinPersId: load_storage(); return true;
    default: break;
  }
  refuse_pickle(concat("opcode ", static_cast<int>(opcode), " at byte ", position() - 1,
                       " is unknown, or would need code to be run"));
}

Object Unpickler::load() {
  stack_.clear();
  memo_.clear();
  marks_.clear();
  raw_.clear();
  for (unsigned steps = 1; step(*take(1)); ++steps)
    if (steps % 65536 == 0) checked(PyErr_CheckSignals());
  require(marks_.empty() && stack_.size() == 1, "the pickle leaves ", stack_.size(), " objects instead of one");
  return published(pop());
}

}  // namespace strided::python
