#include "cuda/runtime/pinned.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/runtime/allocator.h"
#include "cuda/runtime/capture.h"

namespace strided {
namespace cuda {
namespace {

// Sizes are powers of two, so that batches of about one size share blocks.
constexpr size_t kSmallest = size_t{4} << 10;
size_t rounded(size_t bytes) {
  size_t size = kSmallest;
  while (size < bytes) size *= 2;
  return size;
}

class PinnedPool {
 public:
  void* allocate(size_t bytes) {
    check_not_forked();
    STRIDED_CHECK(bytes < size_t{1} << 47, OutOfMemoryError, "out of page-locked memory: tried to allocate ", bytes,
                  " bytes");
    const size_t size = rounded(bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    collect();
    if (const auto found = free_.find(size); found != free_.end()) {
      char* data = found->second;
      free_.erase(found);
      blocks_[data].free = false;
      return data;
    }
    const OnDevice guard(current_device());
    const OutsideCapture outside(current_device());
    void* data = nullptr;
    cudaError_t error = cudaHostAlloc(&data, size, cudaHostAllocPortable);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      give_back();
      error = cudaHostAlloc(&data, size, cudaHostAllocPortable);
    }
    if (error == cudaErrorMemoryAllocation) cudaGetLastError();
    STRIDED_CHECK(error != cudaErrorMemoryAllocation, OutOfMemoryError, "out of page-locked memory: tried to allocate ",
                  bytes, " bytes");
    check(error, "pin_memory");
    blocks_[static_cast<char*>(data)] = Block{size};
    return data;
  }

  void deallocate(void* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks_.find(static_cast<char*>(data));
    if (found == blocks_.end()) return;
    Block& block = found->second;
    if (block.used_on.empty()) return put_back(found->first, block);
    waiting_.push_back(found->first);
    if (!anyone_captures()) record_events(block);
  }

  void note_use(const void* data, int device, cudaStream_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto next = blocks_.upper_bound(static_cast<char*>(const_cast<void*>(data)));
    if (next == blocks_.begin()) return;
    auto& [begin, block] = *--next;
    if (static_cast<const char*>(data) >= begin + block.size) return;  // somebody else's
    const std::pair<int, cudaStream_t> use{device, stream};
    if (std::find(block.used_on.begin(), block.used_on.end(), use) == block.used_on.end()) block.used_on.push_back(use);
  }

  void release() {
    const std::lock_guard<std::mutex> lock(mutex_);
    collect();
    give_back();
  }

 private:
  struct Block {
    size_t size = 0;
    bool free = false;
    std::vector<std::pair<int, cudaStream_t>> used_on{};
    std::vector<cudaEvent_t> waits_for{};
  };

  void put_back(char* data, Block& block) {
    block.free = true;
    free_.emplace(block.size, data);
  }
  void record_events(Block& block) {
    for (const auto& [device, stream] : block.used_on) {
      const OnDevice guard(device);
      cudaEvent_t event;
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "free");
      check(cudaEventRecord(event, stream), "free");
      block.waits_for.push_back(event);
    }
    block.used_on.clear();
  }
  // Blocks whose copies are done are free.
  void collect() {
    if (anyone_captures()) return;  // a capture would have the events
    for (char* data : waiting_) record_events(blocks_[data]);
    for (size_t i = 0; i < waiting_.size();) {
      Block& block = blocks_[waiting_[i]];
      while (!block.waits_for.empty() && cudaEventQuery(block.waits_for.back()) != cudaErrorNotReady) {
        cudaEventDestroy(block.waits_for.back());
        block.waits_for.pop_back();
      }
      if (!block.waits_for.empty()) {
        cudaGetLastError();  // that one is not ready is no error
        ++i;
        continue;
      }
      put_back(waiting_[i], block);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  void give_back() {
    if (anyone_captures()) return;
    for (const auto& [size, data] : free_) {
      blocks_.erase(data);
      cudaFreeHost(data);
    }
    free_.clear();
  }

  std::mutex mutex_;
  std::map<char*, Block> blocks_;
  std::multimap<size_t, char*> free_;
  std::vector<char*> waiting_;
};

// Never destroyed: the driver may be gone before the last tensor.
PinnedPool& pinned_pool() {
  static auto* pool = new PinnedPool;
  return *pool;
}

}  // namespace

void* allocate_pinned(size_t bytes) { return pinned_pool().allocate(bytes); }
void deallocate_pinned(void* data) {
  try {
    pinned_pool().deallocate(data);
  } catch (const Error&) {
    // In a forked child, or at the end of the process: there is nothing left to free.
  }
}
void note_pinned_use(const void* data, int device, cudaStream_t stream) {
  pinned_pool().note_use(data, device, stream);
}
void release_pinned() { pinned_pool().release(); }

}  // namespace cuda
}  // namespace strided
