// PyTorch's files: a zip archive of a pickle and the storages it refers to; and the one before PyTorch 1.6, in which
// pickles and storages follow each other.
#include "python/files/archive.h"

#include <algorithm>
#include <cstring>

#include "files/crc32.h"
#include "files/zip.h"
#include "python/files/device_fill.h"
#include "python/files/pickle.h"
#include "python/files/progress.h"
#include "python/files/unpickle.h"
#include "python/py_storage.h"

namespace strided::python {
namespace {

using files::ZipReader;

Constructors constructors_of(PyObject* tuple) {
  Constructors c{};
  if (!PyArg_ParseTuple(tuple, "O!O!OU", &PyDict_Type, &c.find, &PyDict_Type, &c.build, &c.newable, &c.encoding))
    throw PythonError{};
  return c;
}

constexpr const char* kByteOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "little" : "big";

std::string text_of(PyObject* o) {
  const char* text = PyUnicode_AsUTF8(o);
  if (text == nullptr) throw PythonError{};
  return text;
}

// The storage where the user wants it: `restore` is None, or function(storage, location).
Ref<Storage> restored(PyObject* restore, const Ref<Storage>& storage, PyObject* location) {
  if (restore == Py_None && PyUnicode_CompareWithASCIIString(location, "cpu") == 0) return storage;
  PyObject* function = restore == Py_None ? hook("restore_location") : restore;
  const Object from = Object::made(wrap_storage(storage));
  const Object to = Object::made(PyObject_CallFunctionObjArgs(function, from.get(), location, nullptr));
  STRIDED_CHECK(is_storage(to.get()), TypeError, "load: map_location must give a storage, got ",
                Py_TYPE(to.get())->tp_name);
  return unwrap_storage(to.get());
}

// The CUDA device that a storage goes to without being seen before: `straight` is None, or function(location), which
// gives a device or None.
std::optional<Device> straight_to(PyObject* straight, PyObject* location) {
  if (straight == Py_None) return std::nullopt;
  const Object device = Object::made(PyObject_CallOneArg(straight, location));
  if (device.get() == Py_None) return std::nullopt;
  return resolve_device(to_device(device.get()));
}

// Turns the bytes of each number around.
void swap_bytes(Storage& storage, DType dtype) {
  const auto size = static_cast<size_t>(size_of(real_of(dtype)));
  auto* p = static_cast<char*>(storage.data());
  for (size_t at = 0; at + size <= storage.nbytes(); at += size) std::reverse(p + at, p + at + size);
}

void check_length(const std::string& key, uint64_t has, uint64_t wanted) {
  require(has == wanted, "storage '", key, "' has ", has, " bytes in the file, the pickle asks for ", wanted);
}

// Reads a compressed entry. Its size was checked against the size of the archive.
Object inflated(const ZipReader& zip, const ZipReader::Entry& entry) {
  std::vector<uint8_t> packed(entry.packed);
  zip.source().read(zip.begin_of(entry), packed.data(), packed.size());
  const Object bytes = Object::made(
      PyBytes_FromStringAndSize(reinterpret_cast<const char*>(packed.data()), static_cast<Py_ssize_t>(packed.size())));
  const Object size = Object::made(PyLong_FromUnsignedLongLong(entry.size));
  Object content = Object::made(PyObject_CallFunctionObjArgs(hook("inflate"), bytes.get(), size.get(), nullptr));
  STRIDED_CHECK(
      PyBytes_CheckExact(content.get()) && static_cast<uint64_t>(PyBytes_GET_SIZE(content.get())) == entry.size,
      RuntimeError, "zip: a compressed entry does not have the size that the directory says");
  ZipReader::check_crc(entry, files::crc32(0, PyBytes_AS_STRING(content.get()), entry.size));
  return content;
}

std::vector<uint8_t> content_of(const ZipReader& zip, const ZipReader::Entry& entry) {
  zip.check_expansion();
  if (entry.method != ZipReader::kStored) {
    const Object bytes = inflated(zip, entry);
    const auto* p = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes.get()));
    return {p, p + PyBytes_GET_SIZE(bytes.get())};
  }
  std::vector<uint8_t> bytes(entry.size);
  zip.read(entry, bytes.data());
  return bytes;
}

class ArchiveStorages : public Storages {
 public:
  ArchiveStorages(const ZipReader& zip, std::string prefix, PyObject* restore, PyObject* straight,
                  const Ref<files::Mapping>& mapping, const std::string& byteorder)
      : zip_(zip), prefix_(std::move(prefix)), restore_(restore), straight_(straight), mapping_(mapping) {
    const ZipReader::Entry* order = zip_.find(prefix_ + "byteorder");
    std::string text = byteorder;
    if (order != nullptr && order->size <= 16) {
      const std::vector<uint8_t> bytes = content_of(zip_, *order);
      text.assign(bytes.begin(), bytes.end());
    }
    require(text == "little" || text == "big", "unknown byte order '", text, "'");
    swapped_ = text != kByteOrder;
  }

  Ref<Storage> get(PyObject* key, PyObject* location, DType dtype, uint64_t nbytes, PyObject*) override {
    const std::string name = text_of(key);
    if (const auto it = loaded_.find(name); it != loaded_.end()) {
      check_length(name, it->second.nbytes, nbytes);
      return it->second.storage;
    }
    const ZipReader::Entry* entry = zip_.find(prefix_ + "data/" + name);
    require(entry != nullptr, "the file has no storage '", name, "'");
    check_length(name, entry->size, nbytes);
    const bool as_is = entry->method == ZipReader::kStored && !swapped_;
    const std::optional<Device> device = as_is ? straight_to(straight_, location) : std::nullopt;
    Ref<Storage> storage = device ? read_to(*device, *entry) : restored(restore_, read(*entry, dtype), location);
    loaded_.emplace(name, Loaded{storage, nbytes});
    return storage;
  }

 private:
  struct Loaded {
    Ref<Storage> storage;
    uint64_t nbytes;
  };

  Ref<Storage> read(const ZipReader::Entry& entry, DType dtype) {
    if (mapping_ && entry.method == ZipReader::kStored && !swapped_) {
      const uint64_t begin = zip_.begin_of(entry);
      if (begin % 16 == 0) return storage_in(mapping_, begin, entry.size);
    }
    auto storage = make_ref<Storage>(static_cast<size_t>(entry.size), Device{});
    if (entry.method != ZipReader::kStored) {
      const std::vector<uint8_t> content = content_of(zip_, entry);
      std::copy(content.begin(), content.end(), static_cast<uint8_t*>(storage->data()));
    } else {
      zip_.read(entry, storage->data());
    }
    if (swapped_) swap_bytes(*storage, dtype);
    return storage;
  }

  Ref<Storage> read_to(Device device, const ZipReader::Entry& entry) {
    if (!fill_ || fill_->device() != device) fill_ = std::make_unique<DeviceFill>(device);
    const uint64_t begin = zip_.begin_of(entry);
    uint32_t crc = 0;
    Ref<Storage> storage = fill_->fill(
        entry.size, [&](uint64_t at, void* to, size_t n) { zip_.read_part(entry, begin, at, to, n, &crc); });
    ZipReader::check_crc(entry, crc);
    return storage;
  }

  const ZipReader& zip_;
  std::string prefix_;
  PyObject *restore_, *straight_;
  std::unique_ptr<DeviceFill> fill_;
  Ref<files::Mapping> mapping_;
  bool swapped_ = false;
  std::unordered_map<std::string, Loaded> loaded_;
};

// The folder that everything is in, 'archive/': the one of the pickle.
std::string prefix_of(const ZipReader& zip) {
  constexpr std::string_view pickle = "/data.pkl";
  for (const ZipReader::Entry& e : zip.entries()) {
    if (e.name.size() <= pickle.size()) continue;
    const size_t at = e.name.size() - pickle.size();
    if (e.name.compare(at, pickle.size(), pickle) != 0 || e.name.find('/') != at) continue;
    const std::string prefix = e.name.substr(0, at + 1);
    STRIDED_CHECK(!zip.find(prefix + "constants.pkl"), RuntimeError,
                  "load: this is a TorchScript archive, which holds code: it is not read");
    return prefix;
  }
  STRIDED_THROW(RuntimeError, "load: the zip archive has no data.pkl: it is no file of PyTorch's");
}

// The bytes of a storage in host memory.
struct HostBytes {
  explicit HostBytes(const Ref<Storage>& storage) : held(storage) {
    if (storage->device().is_cpu()) return;
    held = make_ref<Storage>(storage->nbytes(), Device{});
    device_memory(storage->device())
        .copy(held->data(), Device{}, storage->data(), storage->device(), storage->nbytes(), false);
  }
  Ref<Storage> held;
};

// ---------------------------------------------------------------- before PyTorch 1.6

class StreamStorages : public Storages {
 public:
  StreamStorages(const HeldBuffer& bytes, PyObject* restore) : bytes_(bytes), left_(bytes.size()), restore_(restore) {}

  Ref<Storage> get(PyObject* key, PyObject* location, DType dtype, uint64_t nbytes, PyObject* view) override {
    const std::string name = text_of(key);
    const auto it = loaded_.find(name);
    if (it != loaded_.end()) check_length(name, it->second.nbytes, nbytes);
    Ref<Storage> root = it != loaded_.end() ? it->second.storage : add(name, location, dtype, nbytes);
    return view == Py_None ? root : view_of(root, view, dtype);
  }

  // The contents follow the pickles: the keys say in which order.
  size_t fill(PyObject* keys, size_t at) {
    require(PyList_CheckExact(keys), "the keys of the storages are no list");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys); ++i) {
      const Object key = as_word(PyList_GET_ITEM(keys, i));
      require(PyUnicode_CheckExact(key.get()), "the key of a storage is no text");
      const auto it = loaded_.find(text_of(key.get()));
      require(it != loaded_.end() && !it->second.filled, "the file has a storage that no tensor has");
      Loaded& one = it->second;
      require(bytes_.size() - at >= 8, "the file ends before its storages do");
      int64_t elements;
      std::memcpy(&elements, bytes_.data() + at, 8);
      at += 8;
      require(
          elements >= 0 && static_cast<uint64_t>(elements) == one.nbytes / static_cast<uint64_t>(size_of(one.dtype)),
          "a storage has ", elements, " elements in the file, the pickle asks for ",
          one.nbytes / static_cast<uint64_t>(size_of(one.dtype)));
      require(bytes_.size() - at >= one.nbytes, "the file ends before its storages do");
      require(one.storage->nbytes() >= one.nbytes, "map_location gave a storage that is too short");
      if (one.nbytes > 0)
        device_memory(one.storage->device())
            .copy(one.storage->data(), one.storage->device(), bytes_.data() + at, Device{}, one.nbytes, false);
      at += one.nbytes;
      one.filled = true;
    }
    for (const auto& [name, one] : loaded_) require(one.filled, "the file has no storage '", name, "'");
    return at;
  }

 private:
  struct Loaded {
    Ref<Storage> storage;
    uint64_t nbytes;
    DType dtype;
    bool filled = false;
  };

  Ref<Storage> add(const std::string& name, PyObject* location, DType dtype, uint64_t nbytes) {
    require(nbytes <= left_, "storage '", name, "' of ", nbytes, " bytes is larger than the file");
    left_ -= nbytes;
    Ref<Storage> storage = restored(restore_, make_ref<Storage>(static_cast<size_t>(nbytes), Device{}), location);
    loaded_.emplace(name, Loaded{storage, nbytes, dtype});
    return storage;
  }

  // (key, offset, elements): a part of a storage that counts as one.
  static Ref<Storage> view_of(const Ref<Storage>& root, PyObject* view, DType dtype) {
    long long offset = -1, elements = -1;
    PyObject* key = nullptr;
    const bool parsed = PyTuple_CheckExact(view) && PyArg_ParseTuple(view, "OLL", &key, &offset, &elements);
    if (!parsed) PyErr_Clear();
    const int64_t size = size_of(dtype), all = static_cast<int64_t>(root->nbytes()) / size;
    require(parsed && offset >= 0 && elements >= 0 && offset <= all && elements <= all - offset,
            "a part of a storage lies outside of it");
    auto release = [](void* owner) { delete static_cast<Ref<Storage>*>(owner); };
    return make_ref<Storage>(static_cast<char*>(root->data()) + offset * size, static_cast<size_t>(elements * size),
                             root->device(), new Ref<Storage>(root), release, root->read_only());
  }

  const HeldBuffer& bytes_;
  uint64_t left_;
  PyObject* restore_;
  std::unordered_map<std::string, Loaded> loaded_;
};

constexpr const char kMagic[] = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";  // 0x1950a86a20f9469cfc6c
constexpr int kStreamProtocol = 1001;

void put_pickled_header(std::string& out, int protocol) {
  const auto begin = [&] { out.append("\x80").push_back(static_cast<char>(protocol)); };
  begin();
  out.append("\x8a\x0a").append(kMagic, 10).append(".");
  begin();
  out.append("M").append("\xe9\x03.");
}

}  // namespace

void save_archive(PyObject* object, PyObject* to, PyObject* describe, int64_t protocol, const std::string& prefix,
                  bool checksums, bool byteorder) {
  Pickler pickler(describe, static_cast<int>(protocol), false);
  const std::string pickle = pickler.dump(object);
  with_os_errors([&] {
    const std::unique_ptr<files::Sink> sink = sink_of(to);
    files::ZipWriter zip(*sink, checksums);
    const auto add = [&](const char* name, std::string_view text) { zip.add(prefix + name, text.data(), text.size()); };
    add("/data.pkl", pickle);
    add("/.format_version", "1");
    add("/.storage_alignment", "64");
    if (byteorder) add("/byteorder", kByteOrder);
    size_t key = 0;
    uint64_t total = 0;
    for (const Pickler::Saved& saved : pickler.storages()) total += saved.storage->nbytes();
    Progress progress(total);
    for (const Pickler::Saved& saved : pickler.storages()) {
      const HostBytes bytes(saved.storage);
      zip.add(prefix + "/data/" + std::to_string(key++), bytes.held->data(), bytes.held->nbytes());
    }
    add("/version", "3\n");
    zip.finish();
    progress.finish();
  });
}

void save_stream(PyObject* object, PyObject* to, PyObject* describe, int64_t protocol, PyObject* system) {
  Pickler pickler(describe, static_cast<int>(protocol), true);
  std::string head;
  put_pickled_header(head, static_cast<int>(protocol));
  head += Pickler(describe, static_cast<int>(protocol), true).dump(system);
  head += pickler.dump(object);
  const Object keys = Object::made(PyList_New(0));
  for (size_t i = 0; i < pickler.storages().size(); ++i)
    checked(PyList_Append(keys.get(), Object::made(PyUnicode_FromFormat("%zu", i)).get()));
  head += Pickler(describe, static_cast<int>(protocol), true).dump(keys.get());
  with_os_errors([&] {
    const std::unique_ptr<files::Sink> sink = sink_of(to);
    sink->write(head.data(), head.size());
    for (const Pickler::Saved& saved : pickler.storages()) {
      const HostBytes bytes(saved.storage);
      const auto elements = static_cast<int64_t>(bytes.held->nbytes()) / (saved.untyped ? 1 : size_of(saved.dtype));
      sink->write(&elements, 8);
      sink->write(bytes.held->data(), bytes.held->nbytes());
    }
    sink->flush();
  });
}

PyObject* load_archive(PyObject* from, int64_t start, PyObject* constructors, PyObject* restore, PyObject* straight,
                       bool mapped, bool shared, const std::string& byteorder) {
  return with_os_errors([&] {
    Ref<files::Mapping> mapping;
    std::unique_ptr<files::Source> source;
    if (mapped) {
      mapping = make_ref<files::Mapping>(static_cast<int>(to_int(from)), shared);
      source = std::make_unique<files::MemorySource>(mapping->data(), mapping->size());
    } else {
      source = source_of(from, start);
    }
    const ZipReader zip(*source);
    const std::string prefix = prefix_of(zip);
    const std::vector<uint8_t> pickle = content_of(zip, *zip.find(prefix + "data.pkl"));
    ArchiveStorages storages(zip, prefix, restore, straight, mapping, byteorder);
    Progress progress(mapped ? 0 : source->size());
    Object made = Unpickler(pickle.data(), pickle.size(), constructors_of(constructors), &storages).load();
    progress.finish();
    return made.release();
  });
}

// An item of a dict by a word, which may be bytes (as_word); null if there is none.
static PyObject* item_of(PyObject* dict, const char* word) {
  if (PyObject* found = PyDict_GetItemString(dict, word)) return found;
  return PyDict_GetItem(dict, Object::made(PyBytes_FromString(word)).get());
}

PyObject* load_stream(PyObject* from, PyObject* constructors, PyObject* restore) {
  const HeldBuffer bytes(from);
  StreamStorages storages(bytes, restore);
  Unpickler machine(bytes.data(), bytes.size(), constructors_of(constructors), &storages);
  {
    const Object magic = machine.load();
    const Object expected = Object::made(PyLong_FromString("1950a86a20f9469cfc6c", nullptr, 16));
    require(PyObject_RichCompareBool(magic.get(), expected.get(), Py_EQ) == 1, "Invalid magic number; corrupt file?");
    const Object protocol = machine.load();
    require(PyLong_Check(protocol.get()) && PyLong_AsLong(protocol.get()) == kStreamProtocol,
            "the version of the file is unknown");
    PyErr_Clear();
    const Object system = machine.load();
    PyObject* little = PyDict_CheckExact(system.get()) ? item_of(system.get(), "little_endian") : nullptr;
    require(little != nullptr && (little == Py_True) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__),
            "the file has another byte order than this machine");
  }
  const Object object = machine.load();
  const Object keys = machine.load();
  const size_t end = storages.fill(keys.get(), machine.position());
  return Py_BuildValue("(On)", object.get(), static_cast<Py_ssize_t>(end));
}

PyObject* archive_entries(PyObject* from, int64_t start) {
  return with_os_errors([&] {
    const std::unique_ptr<files::Source> source = source_of(from, start);
    const ZipReader zip(*source);
    zip.check_expansion();
    Object list = Object::made(PyList_New(0));
    for (const ZipReader::Entry& e : zip.entries()) {
      const Object name =
          Object::made(PyUnicode_DecodeUTF8(e.name.data(), static_cast<Py_ssize_t>(e.name.size()), "replace"));
      const Object row = Object::made(Py_BuildValue(
          "(OKKKHI)", name.get(), static_cast<unsigned long long>(zip.begin_of(e)),
          static_cast<unsigned long long>(e.packed), static_cast<unsigned long long>(e.size), e.method, e.crc));
      checked(PyList_Append(list.get(), row.get()));
    }
    return list.release();
  });
}

PyObject* pickled_names(PyObject* bytes) {
  const HeldBuffer held(bytes);
  Object list = Object::made(PyList_New(0));
  for (const std::string& name : names_in_pickle(held.data(), held.size())) {
    if (known_object(name)) continue;
    const Object text =
        Object::made(PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "replace"));
    checked(PyList_Append(list.get(), text.get()));
  }
  return list.release();
}

int64_t checksum(PyObject* bytes, int64_t crc) {
  const HeldBuffer held(bytes);
  return files::crc32(static_cast<uint32_t>(crc), held.data(), held.size());
}

}  // namespace strided::python
