// Memory of the CPU: a caching allocator. Freed blocks are kept by size class and handed out again, because the page
// faults of fresh memory cost more than most operations do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strided {

struct MemoryStats {
  int64_t allocated = 0;       // bytes in live blocks
  int64_t peak_allocated = 0;  // to within 2 KiB for each other thread
  int64_t cached = 0;          // bytes in freed blocks that are kept
  int64_t allocations = 0;     // calls
  int64_t cache_hits = 0;      // of these, served from the cache
};

constexpr size_t kAlignment = 64;

// A block of at least `nbytes`, aligned to 64 bytes; throws OutOfMemoryError. nbytes == 0 gives a null pointer.
void* cpu_allocate(size_t nbytes);
void cpu_free(void* data, size_t nbytes);
// Zeroes a large block that was just allocated by giving its pages back: the system hands out zeroed ones where it is
// touched again. False where that does not pay (small blocks, no huge pages): nothing was done.
bool cpu_clear(void* data, size_t nbytes);
MemoryStats cpu_memory_stats();
void cpu_reset_peak();
void cpu_empty_cache();
// Most bytes that may stay cached (default: a quarter of the machine's memory, or of the container's limit, at most
// 8 GiB). Large blocks are given back before, where they and what is in use would be more than the peak and 256 MiB.
void cpu_set_cache_limit(int64_t nbytes);

}  // namespace strided
