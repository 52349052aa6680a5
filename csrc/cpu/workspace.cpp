#include "cpu/workspace.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstdlib>

#include "base/error.h"

namespace strided {
namespace {

constexpr int kSlots = static_cast<int>(WorkspaceSlot::Count);

struct Slots {
  void* data[kSlots] = {};
  int64_t size[kSlots] = {};
  ~Slots() {
    for (void* p : data) std::free(p);
  }
};
thread_local Slots slots;

}  // namespace

void* workspace(WorkspaceSlot slot, int64_t bytes) {
  const int s = static_cast<int>(slot);
  if (slots.size[s] >= bytes) return slots.data[s];
  std::free(slots.data[s]);
  slots.data[s] = nullptr;
  slots.size[s] = 0;
  // Whole pages, huge ones if the buffer is large, and a quarter more than asked, so that slowly growing problems do
  // not reallocate each time.
  const int64_t page = bytes >= (1 << 20) ? 1 << 21 : 1 << 12;
  const int64_t size = (bytes + bytes / 4 + page - 1) / page * page;
  if (posix_memalign(&slots.data[s], static_cast<size_t>(page), static_cast<size_t>(size)) != 0) {
    slots.data[s] = nullptr;
    STRIDED_THROW(OutOfMemoryError, "matrix kernels: ", size, " bytes of scratch memory are needed and not available");
  }
#if defined(__linux__)
  if (page > (1 << 12)) madvise(slots.data[s], static_cast<size_t>(size), MADV_HUGEPAGE);  // only a wish: may fail
#endif
  slots.size[s] = size;
  return slots.data[s];
}

}  // namespace strided
