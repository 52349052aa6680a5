// Exceptions of the library, one class for each Python exception they become, and the one way to raise them:
//   STRIDED_CHECK(dim < 3, IndexError, "op: what is required, got ", dim);
#pragma once

#include <initializer_list>
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

// One part of a message: a value and the function that prints it. A place that raises holds pointers to its parts, not
// the code that prints them: there are a thousand such places.
class MessagePart {
 public:
  template <class T>
  MessagePart(const T& value) : value_(&value), print_(print_value<T>) {}
  template <size_t n>
  MessagePart(const char (&text)[n]) : value_(text), print_(print_text) {}
  void print(std::ostream& out) const { print_(out, value_); }

 private:
  template <class T>
  static void print_value(std::ostream& out, const void* value) {
    out << *static_cast<const T*>(value);
  }
  static void print_text(std::ostream& out, const void* text) { out << static_cast<const char*>(text); }

  const void* value_;
  void (*print_)(std::ostream&, const void*);
};
using MessageParts = std::initializer_list<MessagePart>;

__attribute__((noinline, cold)) inline std::string message_of(MessageParts parts) {
  std::ostringstream out;
  for (const MessagePart& part : parts) part.print(out);
  return out.str();
}
template <class... Args>
std::string concat(const Args&... args) {
  return message_of({MessagePart(args)...});
}
template <class Kind>
[[noreturn]] __attribute__((noinline, cold)) void raise_error(MessageParts parts) {
  throw Kind(message_of(parts));
}

}  // namespace strided

#define STRIDED_THROW(Kind, ...) ::strided::raise_error<::strided::Kind>({__VA_ARGS__})
#define STRIDED_CHECK(condition, Kind, ...) \
  do { \
    if (__builtin_expect(!(condition), 0)) STRIDED_THROW(Kind, __VA_ARGS__); \
  } while (0)
