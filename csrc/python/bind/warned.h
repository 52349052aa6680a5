// Functions that give a warning when they are called.
#pragma once

#include <utility>

#include "base/warning.h"

namespace strided::python {

// F, with the warning Text before its first call.
template <auto F, const char* Text>
struct Warned;

template <class R, class... A, R (*F)(A...), const char* Text>
struct Warned<F, Text> {
  static R call(A... arguments) {
    warn_once(Text);
    return F(std::forward<A>(arguments)...);
  }
};

}  // namespace strided::python
