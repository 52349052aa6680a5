// Page-locked memory of the host, which copies without a detour and in the background (allocate_pinned and
// deallocate_pinned of allocator.h).
//
// Memory that copies still use.
// To lock pages takes as long as to copy them, and to unlock them waits for all work of the device, so freed blocks are
// kept and handed out again. A copy that did not wait may still read or write one: it is noted with its stream, and a
// freed block waits until the streams that used it have come as far as they were at the free.
#pragma once

#include "cuda/runtime/portability.h"

namespace strided {
namespace cuda {

// A copy on the stream uses the page-locked memory around the address, and nobody waited for it.
void note_pinned_use(const void* data, int device, cudaStream_t stream);
void release_pinned();  // gives blocks that nobody uses back to the driver

}  // namespace cuda
}  // namespace strided
