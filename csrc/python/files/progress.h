// How far the reading and writing of files is, for a function of the user's.
#pragma once

#include "python/files/object.h"

namespace strided::python {

// Sets function(bytes done, bytes in all) for files that this thread reads and writes from now on, None for none; gives
// back the one before.
PyObject* set_progress(PyObject* function);

// One file. While it lives, what moves counts towards `total`; the function is called now, about every hundredth part,
// and by finish() for the rest, or never if `total` is 0. A file inside another one counts towards that.
class Progress {
 public:
  explicit Progress(uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  void finish();

 private:
  bool outer_;
};

// The same for Python, where one file is several calls. False: it is inside another file, and must not be ended.
bool progress_begins(int64_t total);
void progress_moved(int64_t bytes);
void progress_ends(bool finished);

}  // namespace strided::python
