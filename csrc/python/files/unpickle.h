// A machine for the opcodes of Python's pickles (PEP 307, PEP 3154) that makes data only: numbers, texts, containers,
// tensors, and what the caller lists. It imports nothing, and calls nothing else. What it does not know ends it with
// pickle.UnpicklingError.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "python/files/object.h"

namespace strided::python {

// What a pickle may make besides what the machine knows itself. All three are borrowed.
struct Constructors {
  PyObject* find;      // dict: 'module.name' -> what stands for it; a callable makes objects
  PyObject* build;     // dict: type -> function(object, state)
  PyObject* newable;   // set of classes whose __new__ may be called, and which take items
  PyObject* encoding;  // str: of the texts of Python 2; 'bytes' leaves them as they are
};

// Where the storages of tensors come from.
class Storages {
 public:
  virtual ~Storages() = default;
  // `view` is None, or (key, offset, elements) in the oldest files.
  virtual Ref<Storage> get(PyObject* key, PyObject* location, DType dtype, uint64_t nbytes, PyObject* view) = 0;
};

[[noreturn]] void refuse_pickle(const std::string& why);
template <class... Args>
void require(bool condition, const Args&... why) {
  if (__builtin_expect(!condition, 0)) refuse_pickle(concat(why...));
}

// What a name stands for that the machine knows itself.
struct Known {
  enum Kind {
    Tensor,
    TensorV3,
    Parameter,
    ParameterWithState,
    FromType,
    OrderedDict,
    Set,
    FrozenSet,
    Complex,
    Bytes,
    ByteArray,
    Encode,
    StorageType
  };
  Kind kind;
  const char* name;
  DType dtype = DType::UInt8;
  bool untyped = false;
};

class Unpickler {
 public:
  Unpickler(const uint8_t* data, size_t n, const Constructors& constructors, Storages* storages)
      : begin_(data), at_(data), end_(data + n), constructors_(constructors), storages_(storages) {}
  Object load();  // the object of one pickle, from where the last one ended
  size_t position() const { return static_cast<size_t>(at_ - begin_); }

 private:
  // unpickle.cpp
  bool step(uint8_t opcode);
  bool step_values(uint8_t opcode);
  bool step_containers(uint8_t opcode);
  const uint8_t* take(uint64_t n);
  uint64_t take_number(int bytes);
  std::string_view take_line();
  void push(Object o) { stack_.push_back(std::move(o)); }
  Object pop();
  std::vector<Object> pop_to_mark();
  PyObject* top() const;
  void put(uint64_t index);
  void get(uint64_t index);
  void push_tuple(std::vector<Object> items);
  Object text_of_python2(const uint8_t* data, size_t n) const;
  // What a name of a file stands for; null where it stands for nothing. The reference is borrowed.
  PyObject* allowed(const std::string& name) const;
  void find(const std::string& name);
  void add_items(PyObject* to, std::vector<Object> items);
  void set_items(PyObject* to, std::vector<Object> items);

  // rebuild.cpp
  void add_to_set(PyObject* to, std::vector<Object> items);
  Object published(Object o, int depth = 0);  // what may be seen outside of the machine
  void check_key(PyObject* key) const;
  void reduce();
  void new_object(bool keywords);
  void build();
  Object call(const Known& known, PyObject* args);
  Object call_listed(PyObject* function, PyObject* args);
  Object make_tensor(PyObject* args, bool v3);
  Object make_parameter(PyObject* args, bool state);
  Object make_from_type(PyObject* args);
  Object make_dict(PyObject* args);
  Object make_set(PyObject* args, bool frozen);
  void load_storage();

  const uint8_t *begin_, *at_, *end_;
  Constructors constructors_;
  Storages* storages_;
  std::vector<Object> stack_, memo_;
  std::vector<size_t> marks_;
  std::unordered_set<PyObject*> callable_;  // what the list gave out, and may be called
  std::unordered_set<PyObject*> raw_;       // tuples that hold something of the machine's own
};

// What the machine puts on its stack for names and storages that it knows.
Object known_object(const std::string& name);  // null: it does not know it
const Known* as_known(PyObject* o);
Object storage_object(const Ref<Storage>& storage, DType dtype, bool untyped);

// All names that a pickle would have looked up, in order, without running it.
std::vector<std::string> names_in_pickle(const uint8_t* data, size_t n);

}  // namespace strided::python
