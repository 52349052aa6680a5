// Calls with out= (Note [out= is a destination] in ops/out.h).
#pragma once

#include "python/function.h"

namespace strided::python {

// Calls an overload that serves out= after the call, and gives back the object in its last slot, which is not None.
PyObject* run_with_out(const Overload& o, PyObject** slots);

}  // namespace strided::python
