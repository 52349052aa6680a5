// Libraries of NVIDIA's that are opened when they are needed: cuSOLVER and cuFFT.
//
// Opening them.
// One is opened by the first operation that needs it, from its file: each is 180 to 300 MB, most programs need none of
// them, and the CUDA library is built where there is no copy, nor a header (what is used of it is declared in plain
// types, which a test compares with NVIDIA's header where there is one).
//
// Looked for are: the file that a variable of the environment names; what the finder finds, which knows where pip
// installs it; the library of this CUDA on the loader's own path. Copies for another CUDA are refused.
#pragma once

#include <mutex>
#include <string>

#include "cuda/runtime/runtime.h"

namespace strided {
namespace cuda {

struct NvidiaLibrary {
  const char* name;      // as people say it: cuSOLVER
  const char* file;      // as files and packages say it: cusolver
  const char* variable;  // of the environment: STRIDED_CUSOLVER_LIBRARY
  const char* used_for;  // what ROCm cannot do
};
struct OpenLibrary {
  const NvidiaLibrary& library;
  const char* operation;  // in whose name errors are
  std::string path;
  void* handle = nullptr;
};

// RuntimeError in the name of an operation when there is none that fits this CUDA; NotImplementedError where ROCm is
// the CUDA.
OpenLibrary open_library(const NvidiaLibrary& library, const char* operation);
// The address of a function; where there is none, RuntimeError if it is needed, else null.
void* find_function(const OpenLibrary& opened, const char* name, bool needed);
// RuntimeError for a version that is not of this CUDA.
void check_version(const OpenLibrary& opened, int major, int minor);

// RuntimeError (OutOfMemoryError) for a function that did not return 0; `status` is its name or number.
[[noreturn]] void raise_status(const NvidiaLibrary& library, const char* operation, const char* function,
                               const std::string& status, bool out_of_memory);

// A function of such a library, which gives back a status.
template <class F, void (*raise)(const char* operation, const char* function, int status)>
struct LibraryFunction;
template <class... A, void (*raise)(const char* operation, const char* function, int status)>
struct LibraryFunction<int(A...), raise> {
  const char* name = "";
  int (*f)(A...) = nullptr;

  void operator()(const char* operation, A... arguments) const {
    if (const int status = f(arguments...)) raise(operation, name, status);
  }
  explicit operator bool() const { return f; }
  void load(const OpenLibrary& opened, bool needed = true) {
    f = reinterpret_cast<decltype(f)>(find_function(opened, name, needed));
  }
};

// What `open` gave at the first call; kept, as the library is. The finder may wait for the interpreter, whose holder
// may wait here: opening twice is better than waiting for ever.
template <class T>
const T& opened_once(const char* operation, const T* (*open)(const char* operation)) {
  static std::mutex mutex;
  static const T* opened = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (opened) return *opened;
  }
  const T* made = open(operation);
  const std::lock_guard<std::mutex> lock(mutex);
  if (!opened) opened = made;
  return *opened;
}

// find(name, cuda, path, size) writes the path of "cusolver" or "cufft" for that major version of CUDA, or an empty
// string.
void set_library_finder(void (*find)(const char* name, int cuda, char* path, size_t size));

}  // namespace cuda
}  // namespace strided
