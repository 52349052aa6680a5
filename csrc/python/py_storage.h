// Storages as Python sees them.
#pragma once

#include "core/storage.h"
#include "python/py_tensor.h"

namespace strided::python {

// Note [One object for a storage]
// Whoever asks for a storage gets the same object, as long as the storage lives: programs keep storages in weak sets
// and compare them by `is`. The object owns its storage while somebody in Python holds it. When nobody does any more
// but tensors are left, it stays, with its attributes and the weak references to it, and belongs to the storage.

PyObject* wrap_storage(const Ref<Storage>& storage);  // new reference
bool is_storage(PyObject* o);
const Ref<Storage>& unwrap_storage(PyObject* o);
void init_storage(PyObject* module);

}  // namespace strided::python
