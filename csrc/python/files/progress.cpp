#include "python/files/progress.h"

#include <algorithm>

namespace strided::python {
namespace {

struct Watched : files::Watcher {
  Object function;
  bool active = false;
  uint64_t total = 0, done = 0, told = 0;

  void begin(uint64_t bytes) {
    active = true;
    total = bytes;
    done = told = 0;
    tell();
  }
  void moved(uint64_t bytes) override {
    if (!active) return;
    done = std::min(done + bytes, total);  // headers and names are no part of the total
    if (done - told >= std::max<uint64_t>(total / 100, uint64_t(1) << 20) && done < total) tell();
  }
  void finish() {
    done = total;
    if (total > 0) tell();
  }
  void tell() {
    told = done;
    const Object call = Object::borrowed(function.get());  // it may set another
    Object(checked(PyObject_CallFunction(call.get(), "KK", static_cast<unsigned long long>(done),
                                         static_cast<unsigned long long>(total))));
  }
};

Watched* watched() { return static_cast<Watched*>(files::watcher()); }

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

Progress::Progress(uint64_t total) : outer_(watched() && !watched()->active) {
  if (!outer_) return;
  try {
    watched()->begin(total);
  } catch (...) {
    watched()->active = false;
    throw;
  }
}
Progress::~Progress() {
  if (outer_) watched()->active = false;
}
void Progress::finish() {
  if (outer_) watched()->finish();
}

void progress_begins(int64_t total) {
  if (watched()) watched()->begin(static_cast<uint64_t>(std::max<int64_t>(total, 0)));
}
void progress_moved(int64_t bytes) {
  if (watched()) watched()->moved(static_cast<uint64_t>(std::max<int64_t>(bytes, 0)));
}
void progress_ends(bool finished) {
  if (!watched()) return;
  if (finished) watched()->finish();
  watched()->active = false;
}

}  // namespace strided::python
