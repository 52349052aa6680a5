// Reading and writing files; python/strided/serialization.py and files/ are what users see of it.
#pragma once

#include <string>

#include "python/py_tensor.h"

namespace strided::python {

// `from` and `to`: a file descriptor, bytes (from), or an object with read() and seek(), or write().
// `constructors`: a tuple of the members of Constructors (unpickle.h). `restore`: None, or function(storage, location).
// `straight`: None, or function(location), which gives the CUDA device that the storage goes to in any case, or None.
void save_archive(PyObject* object, PyObject* to, PyObject* describe, int64_t protocol, const std::string& prefix,
                  bool checksums, bool byteorder);
void save_stream(PyObject* object, PyObject* to, PyObject* describe, int64_t protocol, PyObject* system);
PyObject* load_archive(PyObject* from, int64_t start, PyObject* constructors, PyObject* restore, PyObject* straight,
                       bool mapped, bool shared, const std::string& byteorder);
PyObject* load_stream(PyObject* from, PyObject* constructors, PyObject* restore);  // (object, where it ends)
PyObject* archive_entries(PyObject* from, int64_t start);
PyObject* pickled_names(PyObject* bytes);
int64_t checksum(PyObject* bytes, int64_t crc);

}  // namespace strided::python
