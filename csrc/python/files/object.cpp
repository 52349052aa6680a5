#include "python/files/object.h"

#include <algorithm>
#include <cstring>

namespace strided::python {
namespace {

// An object with seek() and read(), from where it stands to its end.
class ObjectSource : public files::Source {
 public:
  explicit ObjectSource(PyObject* file, int64_t start) : file_(Object::borrowed(file)), start_(start) {
    const Object end = Object::made(PyObject_CallMethod(file, "seek", "ii", 0, 2));
    const int64_t whole = to_int(end.get());
    size_ = static_cast<uint64_t>(std::max<int64_t>(whole - start, 0));
  }

 protected:
  void do_read(uint64_t at, void* to, size_t n) override {
    Object(checked(PyObject_CallMethod(file_.get(), "seek", "L", static_cast<long long>(start_ + at))));
    auto* p = static_cast<char*>(to);
    while (n > 0) {
      const Object piece = Object::made(PyObject_CallMethod(file_.get(), "read", "n", static_cast<Py_ssize_t>(n)));
      const HeldBuffer bytes(piece.get());
      STRIDED_CHECK(bytes.size() > 0 && bytes.size() <= n, RuntimeError, "the file object gave ", bytes.size(),
                    " bytes where ", n, " were asked for");
      std::memcpy(p, bytes.data(), bytes.size());
      p += bytes.size();
      n -= bytes.size();
    }
  }

 private:
  Object file_;
  uint64_t start_;
};

class BufferSource : public files::MemorySource {
 public:
  explicit BufferSource(std::unique_ptr<HeldBuffer> buffer, size_t start)
      : MemorySource(buffer->data() + start, buffer->size() - start), buffer_(std::move(buffer)) {}

 private:
  std::unique_ptr<HeldBuffer> buffer_;
};

// An object with write(). It gets bytes of its own, because it may keep them.
class ObjectSink : public files::Sink {
 public:
  explicit ObjectSink(PyObject* file) : write_(Object::made(PyObject_GetAttrString(file, "write"))) {}

 protected:
  void do_write(const uint8_t* data, size_t n) override {
    constexpr size_t kPiece = size_t(1) << 24;
    for (size_t at = 0; at < n;) {
      const auto size = static_cast<Py_ssize_t>(std::min(n - at, kPiece));
      const Object piece = Object::made(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(data + at), size));
      const Object done = Object::made(PyObject_CallOneArg(write_.get(), piece.get()));
      // An unbuffered file says how much it took; others may say nothing.
      const int64_t taken = PyLong_Check(done.get()) ? to_int(done.get()) : size;
      STRIDED_CHECK(taken > 0 && taken <= size, RuntimeError, "save: write() of the file object took ", taken,
                    " bytes of ", size);
      at += static_cast<size_t>(taken);
      checked(PyErr_CheckSignals());
    }
  }

 private:
  Object write_;
};

}  // namespace

std::unique_ptr<files::Source> source_of(PyObject* from, int64_t start) {
  STRIDED_CHECK(start >= 0, ValueError, "the position in a file must not be negative, got ", start);
  if (PyLong_Check(from))
    return std::make_unique<files::FileSource>(static_cast<int>(to_int(from)), static_cast<uint64_t>(start));
  if (!PyObject_CheckBuffer(from)) return std::make_unique<ObjectSource>(from, start);
  auto buffer = std::make_unique<HeldBuffer>(from);
  const size_t skipped = std::min(buffer->size(), static_cast<size_t>(start));
  return std::make_unique<BufferSource>(std::move(buffer), skipped);
}

std::unique_ptr<files::Sink> sink_of(PyObject* to) {
  if (PyLong_Check(to)) return std::make_unique<files::FileSink>(static_cast<int>(to_int(to)));
  return std::make_unique<ObjectSink>(to);
}

Ref<Storage> storage_in(const Ref<files::Mapping>& mapping, uint64_t begin, uint64_t nbytes) {
  STRIDED_CHECK(begin <= mapping->size() && nbytes <= mapping->size() - begin, RuntimeError,
                "the file ends too early: bytes ", begin, " to ", begin + nbytes, " are needed, it has ",
                mapping->size());
  auto release = [](void* owner) { delete static_cast<Ref<files::Mapping>*>(owner); };
  return make_ref<Storage>(mapping->data() + begin, nbytes, Device{}, new Ref<files::Mapping>(mapping), release, false);
}

Object as_word(PyObject* o) {
  if (!PyBytes_CheckExact(o)) return Object::borrowed(o);
  Object text(PyUnicode_DecodeASCII(PyBytes_AS_STRING(o), PyBytes_GET_SIZE(o), "strict"));
  if (text) return text;
  PyErr_Clear();
  return Object::borrowed(o);
}

}  // namespace strided::python
