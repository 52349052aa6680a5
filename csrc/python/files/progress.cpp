#include "python/files/progress.h"

#include <algorithm>

namespace strided::python {
namespace {

struct Watched : files::Watcher {
  Object function;
  bool active = false, telling = false;
  uint64_t total = 0, done = 0, told = 0;

  void begin(uint64_t bytes) {
    total = bytes;
    done = told = 0;
    if (total > 0) tell();
  }
  void moved(uint64_t bytes) override {
    if (!active || telling) return;        // the function may read and write files of its own
    done = std::min(done + bytes, total);  // headers and names are no part of the total
    if (done - told >= std::max<uint64_t>(total / 100, uint64_t(1) << 20) && done < total) tell();
  }
  void finish() {
    done = total;
    if (total > 0) tell();
  }
  void tell() {
    told = done;
    telling = true;
    PyObject* const result = PyObject_CallFunction(function.get(), "KK", static_cast<unsigned long long>(done),
                                                   static_cast<unsigned long long>(total));
    telling = false;
    Object(checked(result));
  }
};

Watched* watched() { return static_cast<Watched*>(files::watcher()); }

// Whether this is the outermost file, which counts from now on.
bool begins(uint64_t total) {
  Watched* const w = watched();
  if (!w || w->active) return false;
  w->active = true;
  try {
    w->begin(total);
  } catch (...) {
    w->active = false;
    throw;
  }
  return true;
}

}  // namespace

PyObject* set_progress(PyObject* function) {
  Watched* const old = watched();
  STRIDED_CHECK(function == Py_None || PyCallable_Check(function), TypeError,
                "progress: a function of two numbers is required, got ", Py_TYPE(function)->tp_name);
  STRIDED_CHECK(!old || !old->active, RuntimeError, "progress: it cannot be changed while a file is read or written");
  Object before = Object::borrowed(old ? old->function.get() : Py_None);
  if (function == Py_None) {
    files::watcher() = nullptr;
    delete old;
    return before.release();
  }
  if (!old) files::watcher() = new Watched;
  watched()->function = Object::borrowed(function);
  return before.release();
}

Progress::Progress(uint64_t total) : outer_(begins(total)) {}
Progress::~Progress() {
  if (outer_) watched()->active = false;
}
void Progress::finish() {
  if (outer_) watched()->finish();
}

bool progress_begins(int64_t total) { return begins(static_cast<uint64_t>(std::max<int64_t>(total, 0))); }
void progress_moved(int64_t bytes) {
  if (watched()) watched()->moved(static_cast<uint64_t>(std::max<int64_t>(bytes, 0)));
}
void progress_ends(bool finished) {
  Watched* const w = watched();
  if (!w) return;
  w->active = false;
  if (finished) w->finish();
}

}  // namespace strided::python
