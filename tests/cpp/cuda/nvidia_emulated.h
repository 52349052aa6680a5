// What the libraries of emulated devices have in common, cusolver_emulated.cpp and cufft_emulated.cpp: each of them is
// one unit, which includes this.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include "cuda_emulation.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

const cuda_emulation::Devices* devices = nullptr;
thread_local void* last_stream = nullptr;  // of this thread's last call

struct Wrong {
  std::string what;
};
void require(bool good, const std::string& what) {
  if (!good) throw Wrong{what};
}
std::string say(const char* name, int64_t value) { return std::string(name) + " is " + std::to_string(value); }

void require_memory(const char* name, const void* data, int64_t bytes, int device) {
  require(bytes == 0 || (data && devices->has(data, static_cast<size_t>(bytes), device)),
          std::string(name) + " is not in the memory of the device");
}

// A function's status: what it throws is said.
template <class F>
int run(const char* name, int invalid_value, int internal_error, F f) {
  try {
    f();
    return 0;
  } catch (const Wrong& wrong) {
    std::fprintf(stderr, "emulated: %s: %s\n", name, wrong.what.c_str());
    return invalid_value;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "emulated: %s: %s\n", name, e.what());
    return internal_error;
  }
}

}  // namespace

EXPORT void use_emulated_devices(const cuda_emulation::Devices* d) { devices = d; }

EXPORT void* emulated_last_stream() { return last_stream; }
