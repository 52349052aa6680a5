// Exceptions of the library, one class for each Python exception they become, and the one way to raise them:
//   STRIDED_CHECK(dim < 3, IndexError, "op: what is required, got ", dim);
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace strided {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
#define STRIDED_DEFINE_ERROR(Name) \
  struct Name : Error { \
    using Error::Error; \
  };
STRIDED_DEFINE_ERROR(RuntimeError)
STRIDED_DEFINE_ERROR(IndexError)
STRIDED_DEFINE_ERROR(ValueError)
STRIDED_DEFINE_ERROR(TypeError)
STRIDED_DEFINE_ERROR(NotImplementedError)
STRIDED_DEFINE_ERROR(OutOfMemoryError)
STRIDED_DEFINE_ERROR(LinAlgError)
STRIDED_DEFINE_ERROR(BufferError)
STRIDED_DEFINE_ERROR(OverflowError)
#undef STRIDED_DEFINE_ERROR

template <class... Args>
std::string concat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

}  // namespace strided

#define STRIDED_THROW(Kind, ...) throw ::strided::Kind(::strided::concat(__VA_ARGS__))
#define STRIDED_CHECK(condition, Kind, ...) \
  do { \
    if (__builtin_expect(!(condition), 0)) STRIDED_THROW(Kind, __VA_ARGS__); \
  } while (0)
