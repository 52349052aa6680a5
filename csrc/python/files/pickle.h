// Writes objects as a pickle of protocol 2 to 5 that PyTorch reads with weights_only=True, and collects the storages of
// its tensors.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "python/files/object.h"

namespace strided::python {

class Pickler {
 public:
  // `describe(object)` says how an object is made that this class does not know: (name, arguments, state), with None
  // for arguments it has none of; a name after 'new ' is a class whose __new__ takes the arguments; ('storage', untyped
  // storage, dtype) is a storage; None itself: it cannot be saved. `legacy`: as before PyTorch 1.6.
  Pickler(PyObject* describe, int protocol, bool legacy);
  // The pickle; PicklingError, which names the classes of everything that has no place in such a file.
  std::string dump(PyObject* o);

  struct Saved {
    Ref<Storage> storage;
    DType dtype;  // it was saved as
    bool untyped;
  };
  const std::vector<Saved>& storages() const { return storages_; }

 private:
  void save(PyObject* o);
  bool save_number(PyObject* o);
  bool save_text(PyObject* o);
  bool save_container(PyObject* o);
  void save_tuple(PyObject* o);
  void save_dict(PyObject* o);
  void save_items(PyObject* dict);
  void save_set(PyObject* o);
  void save_size(PyObject* o);
  void save_tensor(PyObject* o);
  void save_parameter(PyObject* o, PyObject* attributes);
  void save_values(const Tensor& t, bool requires_grad);
  void save_storage(const Ref<Storage>& storage, DType dtype, bool untyped);
  void save_described(PyObject* o);
  void save_content(PyObject* list, char opcode);

  void put(char opcode) { out_.push_back(opcode); }
  void put_number(uint64_t n, int bytes);
  void put_int(int64_t n);
  void put_text(std::string_view text);
  void put_constant(std::string_view text);  // a text that is written once
  void global(std::string_view name);        // 'module.name'
  void put_counts(const Dims& values);
  void empty_ordered_dict();
  void put_memo(uint32_t index);
  void get_memo(uint32_t index);
  void expect(Py_ssize_t objects);  // makes room in the tables at once
  bool get_if_seen(PyObject* o);
  void remember(PyObject* o);  // the object that was just written

  PyObject* describe_;
  Object parameter_type_;  // none before strided.nn is imported: no object has the type then
  int protocol_;
  bool legacy_;
  std::string out_;
  uint32_t used_ = 0;  // memo indices
  std::unordered_map<PyObject*, uint32_t> seen_;
  std::map<std::string, uint32_t, std::less<>> constants_, globals_;
  std::unordered_map<Storage*, size_t> keys_;
  std::vector<Saved> storages_;
  std::vector<Object> kept_;  // temporary objects whose addresses are in `seen_`
  std::set<std::string> refused_;
};

}  // namespace strided::python
