// PyMethodDef holds functions of every calling convention as one type.
#pragma once

#include <Python.h>

namespace strided::python {

template <class F>
PyCFunction as_c(F f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));  // (directly, compilers warn)
}

}  // namespace strided::python
