#include "lapack/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

#include "base/error.h"

namespace strided {
namespace {

std::string (*find_library)() = nullptr;

// A variable of the environment for the time that the library is read in, unless the user has set it.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name), set_(!std::getenv(name)) {
    if (set_) setenv(name, value, 1);
  }
  ~Setting() {
    if (set_) unsetenv(name_);
  }
  Setting(const Setting&) = delete;

 private:
  const char* name_;
  bool set_;
};

struct Library {
  void* handle = nullptr;
  std::string path;
};

// The library is opened by its path, never imported as a package: that would put its symbols before those of the copies
// that NumPy and SciPy have. OpenBLAS reads its number of threads from the environment while it is opened: one, because
// the matrices of a batch are shared among the threads of this library. Which kernels suit the CPU it finds out itself.
Library open_library() {
  static std::mutex mutex;
  static Library library;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (library.handle) return library;
  }
  // May need the interpreter, so nothing is held here.
  const char* named = std::getenv("STRIDED_LAPACK_LIBRARY");
  const std::string path = named && *named ? named : find_library ? find_library() : "";
  STRIDED_CHECK(!path.empty(), RuntimeError,
                "this operation needs LAPACK, which is not installed: pip install scipy-openblas32 (or name a library "
                "in STRIDED_LAPACK_LIBRARY)");
  const std::lock_guard<std::mutex> lock(mutex);
  if (library.handle) return library;
  const Setting threads("OPENBLAS_NUM_THREADS", "1");
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  STRIDED_CHECK(handle, RuntimeError, "LAPACK could not be opened: ", dlerror());
  library = {handle, path};
  return library;
}

}  // namespace

void set_lapack_finder(std::string (*find)()) { find_library = find; }

void* lapack_routine(const char* name) {
  const Library library = open_library();
  // OpenBLAS as packed for SciPy has a prefix before every name; other libraries have Fortran's plain names.
  for (const char* prefix : {"scipy_", ""})
    if (void* f = dlsym(library.handle, (std::string(prefix) + name + "_").c_str())) return f;
  STRIDED_THROW(RuntimeError, library.path, " has no routine ", name, ": it is no LAPACK");
}

}  // namespace strided
