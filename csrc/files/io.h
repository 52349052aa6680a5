// Where bytes come from and go to: a file descriptor, memory, a mapping. Objects of Python are in csrc/python/files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/ref.h"

namespace strided::files {

// A call of the operating system failed; `code` is its errno.
struct IoError : Error {
  IoError(const std::string& what, int number) : Error(what), code(number) {}
  int code;
};

// Is told of the bytes that the sources and sinks of a thread moved, in pieces of 8 MiB at most, by the thread itself.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void moved(uint64_t bytes) = 0;
};
Watcher*& watcher();  // of this thread; null where nobody looks

// Bytes that can be read in any order.
class Source {
 public:
  virtual ~Source() = default;
  uint64_t size() const { return size_; }
  // Copies [at, at + n). RuntimeError when the source has fewer bytes.
  void read(uint64_t at, void* to, size_t n);
  // The bytes themselves, where they are in memory that outlives the source's user; else null.
  virtual const uint8_t* data() const { return nullptr; }

 protected:
  virtual void do_read(uint64_t at, void* to, size_t n) = 0;
  uint64_t size_ = 0;
};

class MemorySource : public Source {
 public:
  MemorySource(const void* data, size_t n) : data_(static_cast<const uint8_t*>(data)) { size_ = n; }
  const uint8_t* data() const override { return data_; }

 protected:
  void do_read(uint64_t at, void* to, size_t n) override;

 private:
  const uint8_t* data_;
};

// The file from `start` on. The descriptor stays the caller's. Short pieces come from a window that is read at once.
class FileSource : public Source {
 public:
  FileSource(int fd, uint64_t start);

 protected:
  void do_read(uint64_t at, void* to, size_t n) override;

 private:
  void read_directly(uint64_t at, uint8_t* to, size_t n);
  int fd_;
  uint64_t start_, window_start_ = 0;
  std::vector<uint8_t> window_;
};

// A file mapped into memory. Private: what is written to it stays in this process. It is unmapped with the last
// reference.
class Mapping : public RefCounted {
 public:
  Mapping(int fd, bool shared);
  ~Mapping() override;
  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

// Where bytes are appended.
class Sink {
 public:
  virtual ~Sink() = default;
  void write(const void* data, size_t n);
  void flush();
  uint64_t written() const { return written_; }

 protected:
  virtual void do_write(const uint8_t* data, size_t n) = 0;

 private:
  std::vector<uint8_t> buffer_;
  uint64_t written_ = 0;
};

class FileSink : public Sink {
 public:
  explicit FileSink(int fd) : fd_(fd) {}

 protected:
  void do_write(const uint8_t* data, size_t n) override;

 private:
  int fd_;
};

}  // namespace strided::files
