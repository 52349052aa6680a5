#include "files/io.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/parallel.h"

namespace strided::files {
namespace {

constexpr size_t kWindow = size_t(1) << 18;  // of short reads and of buffered writes
constexpr size_t kPiece = size_t(1) << 23;   // signals are handled between pieces of a long transfer

// Calls move(p, n) for pieces, and tells the watcher of each.
template <class P, class Move>
void in_pieces(P* p, size_t n, const Move& move) {
  Watcher* const looks = watcher();
  if (looks == nullptr) return move(p, n);
  while (n > 0) {
    const size_t piece = std::min(n, kPiece);
    move(p, piece);
    looks->moved(piece);
    p += piece;
    n -= piece;
  }
}

uint64_t size_of_file(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) throw IoError("fstat", errno);
  return static_cast<uint64_t>(std::max<off_t>(status.st_size, 0));
}

}  // namespace

Watcher*& watcher() {
  thread_local Watcher* looks = nullptr;
  return looks;
}

void Source::read(uint64_t at, void* to, size_t n) {
  STRIDED_CHECK(at <= size_ && n <= size_ - at, RuntimeError, "the file ends too early: bytes ", at, " to ", at + n,
                " are needed, it has ", size_);
  if (n == 0) return;
  in_pieces(static_cast<uint8_t*>(to), n, [&](uint8_t* piece, size_t size) {
    do_read(at, piece, size);
    at += size;
  });
}

void MemorySource::do_read(uint64_t at, void* to, size_t n) { std::memcpy(to, data_ + at, n); }

FileSource::FileSource(int fd, uint64_t start) : fd_(fd), start_(start) {
  const uint64_t whole = size_of_file(fd);
  size_ = whole - std::min(whole, start);
}

void FileSource::do_read(uint64_t at, void* to, size_t n) {
  if (n >= kWindow / 4) return read_directly(at, static_cast<uint8_t*>(to), n);
  if (at < window_start_ || at + n > window_start_ + window_.size()) {
    window_.resize(static_cast<size_t>(std::min<uint64_t>(kWindow, size_ - at)));
    window_start_ = at;
    read_directly(at, window_.data(), window_.size());
  }
  std::memcpy(to, window_.data() + (at - window_start_), n);
}

void FileSource::read_directly(uint64_t at, uint8_t* to, size_t n) {
  const GilRelease unlocked(n >= kPiece / 8);
  while (n > 0) {
    const ssize_t got = pread(fd_, to, std::min(n, kPiece), static_cast<off_t>(start_ + at));
    if (got < 0 && errno != EINTR) throw IoError("read", errno);
    STRIDED_CHECK(got != 0, RuntimeError, "the file ends too early: it became shorter while it was read");
    if (got > 0) {
      at += static_cast<uint64_t>(got);
      to += got;
      n -= static_cast<size_t>(got);
    }
    if (n > 0) check_interrupt();
  }
}

Mapping::Mapping(int fd, bool shared) : size_(size_of_file(fd)) {
  if (size_ == 0) return;
  // Pages that are written become copies; without NORESERVE a file larger than memory could not be mapped at all.
  void* at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE, fd, 0);
  if (at == MAP_FAILED) throw IoError("mmap", errno);
  data_ = static_cast<uint8_t*>(at);
}

Mapping::~Mapping() {
  if (data_) munmap(data_, size_);
}

void Sink::write(const void* data, size_t n) {
  written_ += n;
  auto* p = static_cast<const uint8_t*>(data);
  if (buffer_.size() + n < kWindow) {
    buffer_.insert(buffer_.end(), p, p + n);
    return;
  }
  flush();
  if (n < kWindow / 4) buffer_.assign(p, p + n);
  else in_pieces(p, n, [this](const uint8_t* piece, size_t size) { do_write(piece, size); });
}

void Sink::flush() {
  if (!buffer_.empty())
    in_pieces(buffer_.data(), buffer_.size(), [this](uint8_t* piece, size_t size) { do_write(piece, size); });
  buffer_.clear();
}

void FileSink::do_write(const uint8_t* data, size_t n) {
  const GilRelease unlocked(n >= kWindow);
  while (n > 0) {
    const ssize_t done = ::write(fd_, data, std::min(n, kPiece));
    if (done < 0 && errno != EINTR) throw IoError("write", errno);
    if (done > 0) {
      data += done;
      n -= static_cast<size_t>(done);
    }
    if (n > 0) check_interrupt();
  }
}

}  // namespace strided::files
