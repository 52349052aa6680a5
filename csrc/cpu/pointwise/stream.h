#pragma once

#include <cstdint>

namespace strided {

// The loop behind cpu/streaming.h: whole cache lines by streaming stores, to an address that is aligned to 64 bytes.
using StreamKernel = void (*)(char* to, const char* from, int64_t bytes);
StreamKernel& stream_kernel();

}  // namespace strided
