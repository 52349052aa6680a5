// The plugin that compiles and runs programs: opened by its path when a device is first asked for, never before.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "xla/pjrt.h"

namespace strided::xla {

// Who finds the plugin when STRIDED_PJRT_PLUGIN names none: a path, or an empty string. It must not raise.
void set_plugin_finder(std::string (*find)());

constexpr int kMostDevices = 128;  // what a plugin has beyond is not used

// RuntimeError, which says what to install, where there is no plugin; ever after too.
int device_count();
std::string platform_name();
std::string device_kind(int device);
int device_count_or_zero();   // 0 where there is no plugin; never raises
std::string why_no_plugin();  // in one sentence; empty where there is one

// For one device, any of them, or for the first `mesh` devices together. RuntimeError with the compiler's words.
pjrt::Executable* compile(const std::string& program, int mesh = 0);
// One contiguous array.
pjrt::Buffer* upload(const void* data, DType dtype, const int64_t* shape, int ndim, int device);
// Arguments and results of each device; `device` is not read where there are several.
using BufferLists = std::vector<std::vector<pjrt::Buffer*>>;
void execute(pjrt::Executable* program, const BufferLists& arguments, BufferLists* results, int device);
// `size` bytes from `offset` of an array of `total` bytes with one axis; waits.
void download(pjrt::Buffer* buffer, void* to, size_t offset, size_t size, size_t total);
void wait_for(pjrt::Buffer* buffer);  // for the program that makes it
pjrt::Buffer* copy_to_device(pjrt::Buffer* buffer, int device);
void destroy(pjrt::Buffer* buffer);

// What StableHLO calls a dtype: "f32".
const char* element_type(DType dtype);

}  // namespace strided::xla
