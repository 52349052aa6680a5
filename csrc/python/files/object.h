// An owned reference to a Python object, and Python file objects as sources and sinks.
#pragma once

#include <memory>
#include <utility>

#include "files/io.h"
#include "python/py_tensor.h"

namespace strided::python {

class Object {
 public:
  Object() = default;
  explicit Object(PyObject* owned) : p_(owned) {}
  static Object borrowed(PyObject* p) { return Object(Py_XNewRef(p)); }
  static Object made(PyObject* p) { return Object(checked(p)); }  // a new reference, or an exception is set
  Object(Object&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  Object& operator=(Object&& other) noexcept {
    PyObject* old = std::exchange(p_, std::exchange(other.p_, nullptr));
    Py_XDECREF(old);
    return *this;
  }
  ~Object() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

// A word of the file as a text: with encoding="bytes", those that Python 2 wrote are bytes. Any other object: itself.
Object as_word(PyObject* o);

inline void checked(int status) {
  if (status < 0) throw PythonError{};
}

// The bytes of an object with the buffer protocol, held as long as this lives.
class HeldBuffer {
 public:
  explicit HeldBuffer(PyObject* o) { checked(PyObject_GetBuffer(o, &view_, PyBUF_SIMPLE)); }
  ~HeldBuffer() { PyBuffer_Release(&view_); }
  HeldBuffer(const HeldBuffer&) = delete;
  const uint8_t* data() const { return static_cast<const uint8_t*>(view_.buf); }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_;
};

// What Python hands over to be read or written: the number of a file descriptor, bytes, or an object with methods.
std::unique_ptr<files::Source> source_of(PyObject* from, int64_t start);
std::unique_ptr<files::Sink> sink_of(PyObject* to);

// Runs f; an error of the operating system becomes an OSError.
template <class F>
auto with_os_errors(F&& f) {
  try {
    return f();
  } catch (const files::IoError& e) {
    errno = e.code;
    PyErr_SetFromErrno(PyExc_OSError);
    throw PythonError{};
  }
}

Ref<Storage> storage_in(const Ref<files::Mapping>& mapping, uint64_t begin, uint64_t nbytes);

}  // namespace strided::python
