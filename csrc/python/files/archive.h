// Reading and writing files; python/strided/serialization.py and files/ are what users see of it.
#pragma once

#include <string>
#include <vector>

#include "python/py_tensor.h"

namespace strided::python {

// `from` and `to`: a file descriptor, bytes (from), or an object with read() and seek(), or write().
// `constructors`: a tuple of the members of Constructors (unpickle.h). `restore`: None, or function(storage, location).
void save_archive(PyObject* object, PyObject* to, PyObject* describe, int64_t protocol, const std::string& prefix,
                  bool checksums, bool byteorder);
void save_stream(PyObject* object, PyObject* to, PyObject* describe, int64_t protocol, PyObject* system);
PyObject* load_archive(PyObject* from, int64_t start, PyObject* constructors, PyObject* restore, bool mapped,
                       bool shared, const std::string& byteorder);
PyObject* load_stream(PyObject* from, PyObject* constructors, PyObject* restore);  // (object, where it ends)
PyObject* archive_entries(PyObject* from, int64_t start);
PyObject* pickled_names(PyObject* bytes);
int64_t checksum(PyObject* bytes, int64_t crc);
Tensor read_piece(int64_t fd, int64_t begin, int64_t count, DType dtype);
Tensor map_file(int64_t fd, bool shared);
Tensor piece_of(const Tensor& whole, int64_t begin, const Dims& shape, DType dtype);
void write_tensors(PyObject* to, PyObject* head, const std::vector<Tensor>& tensors);

}  // namespace strided::python
