#include "cuda/runtime/allocator.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cuda/runtime/capture.h"

namespace strided {
namespace cuda {
namespace {

constexpr size_t kGranule = 512;            // every block is a multiple of it, and so aligned
constexpr size_t kSmall = size_t(1) << 20;  // up to here blocks come from small segments
constexpr size_t kSmallSegment = size_t(2) << 20;
constexpr size_t kMiddle = size_t(10) << 20;
constexpr size_t kLargeSegment = size_t(20) << 20;  // for blocks up to kMiddle; larger ones get a segment of their size

size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// Atomics on narrow types read and write the aligned word around an element (index_atomic.cu), the last one included.
// Blocks are multiples of kGranule, so that is always theirs.
[[maybe_unused]] size_t in_words(size_t bytes) { return round_up(bytes, 4); }

// A part of a segment, which is what the driver was asked for. The parts of a segment are linked in the order of
// addresses.
struct Block {
  char* data;
  size_t size;
  cudaStream_t stream;
  bool small;
  int64_t pool;
  bool used = false, captured = false;  // captured: who has it got it in a capture
  size_t asked = 0;
  Block *before = nullptr, *after = nullptr;
  std::vector<cudaStream_t> other_streams{};
  bool whole_segment() const { return !before && !after; }
};

struct BySize {
  using Key = std::tuple<int64_t, bool, cudaStream_t, size_t, const char*>;
  static Key key(const Block* b) { return {b->pool, b->small, b->stream, b->size, b->data}; }
  using is_transparent = void;
  bool operator()(const Block* a, const Block* b) const { return key(a) < key(b); }
  bool operator()(const Block* a, const Key& b) const { return key(a) < b; }  // (for lower_bound)
};

std::string in_units(size_t bytes) {
  char text[32];
  if (bytes >= size_t(1) << 30) std::snprintf(text, sizeof(text), "%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  else if (bytes >= size_t(1) << 20)
    std::snprintf(text, sizeof(text), "%.2f MiB", static_cast<double>(bytes) / (1 << 20));
  else std::snprintf(text, sizeof(text), "%.2f KiB", static_cast<double>(bytes) / (1 << 10));
  return text;
}

class Pool {
 public:
  explicit Pool(int device) : device_(device) {}

  void* allocate(size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const OnDevice guard(device_);
    STRIDED_CHECK(bytes < size_t(1) << 47, OutOfMemoryError, "CUDA out of memory. Tried to allocate ", in_units(bytes),
                  ".");
    const size_t size = round_up(std::max<size_t>(bytes, 1), kGranule);
    collect_events();
    const cudaStream_t stream = current_stream(device_);
    const int64_t pool = capture_pool(device_);
    Block* block = find(size, stream, pool);
    if (!block) block = new_segment(size, stream, pool, bytes);
    split(block, size);
    block->used = true;
    block->captured = capturing(device_);
    block->asked = bytes;
    stats_.allocated += block->size;
    stats_.max_allocated = std::max(stats_.max_allocated, stats_.allocated);
    by_address_[block->data] = block;
#if STRIDED_EMULATED
    ::cuda_emulation::set_usable(block->data, in_words(bytes), block->size, stream);
#endif
    return block->data;
  }

  void deallocate(void* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = by_address_.find(data);
    if (found == by_address_.end()) return;
    Block* block = found->second;
    by_address_.erase(found);
    stats_.allocated -= block->size;
    if (block->other_streams.empty()) return put_back(block);
    without_events_.push_back(block);
    const OnDevice guard(device_);
    record_events();
  }

  void record_stream(void* data, cudaStream_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = by_address_.find(data);
    if (found == by_address_.end()) return;  // borrowed memory
    Block* block = found->second;
    auto& streams = block->other_streams;
    if (stream != block->stream && std::find(streams.begin(), streams.end(), stream) == streams.end())
      streams.push_back(stream);
  }

  void empty_cache() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const OnDevice guard(device_);
    release_unused();
  }
  void add_pool(int64_t pool) {
    const std::lock_guard<std::mutex> lock(mutex_);
    pools_.insert(pool);
  }
  // What is free now becomes anybody's, the rest when it is freed.
  void give_up_pool(int64_t pool) {
    const std::lock_guard<std::mutex> lock(mutex_);
    pools_.erase(pool);
    std::vector<Block*> its;
    for (auto it = free_.begin(); it != free_.end();) {
      if ((*it)->pool == pool) {
        its.push_back(*it);
        it = free_.erase(it);
      } else {
        ++it;
      }
    }
    for (Block* block : its) block->pool = 0;
    free_.insert(its.begin(), its.end());
    for (const auto& [data, block] : by_address_)
      if (block->pool == pool) block->pool = 0;
    for (const Waiting& w : waiting_)
      if (w.block->pool == pool) w.block->pool = 0;
    for (Block* block : without_events_)
      if (block->pool == pool) block->pool = 0;
  }
  MemoryStats stats() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }
  void reset_peaks() {
    const std::lock_guard<std::mutex> lock(mutex_);
    stats_.max_allocated = stats_.allocated;
    stats_.max_reserved = stats_.reserved;
  }

 private:
  struct Waiting {
    Block* block;
    cudaEvent_t event;
  };

  Block* find(size_t size, cudaStream_t stream, int64_t pool) {
    const bool small = size <= kSmall;
    const auto best = free_.lower_bound(BySize::Key(pool, small, stream, size, nullptr));
    if (best == free_.end() || (*best)->pool != pool || (*best)->small != small || (*best)->stream != stream)
      return nullptr;
    // A large block is not broken up for a much smaller one: it will be wanted whole.
    if (!small && size < kMiddle && (*best)->size > 10 * kLargeSegment) return nullptr;
    Block* block = *best;
    free_.erase(best);
    return block;
  }

  Block* new_segment(size_t size, cudaStream_t stream, int64_t pool, size_t asked) {
    const OutsideCapture outside(device_);
    const size_t bytes = size <= kSmall    ? kSmallSegment
                         : size <= kMiddle ? kLargeSegment
                                           : round_up(size, kSmallSegment);
    void* data = nullptr;
    cudaError_t error = cudaMalloc(&data, bytes);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      ++stats_.retries;
      release_unused();
      error = cudaMalloc(&data, bytes);
    }
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      size_t free = 0, total = 0;
      cudaMemGetInfo(&free, &total);
      STRIDED_THROW(OutOfMemoryError, "CUDA out of memory. Tried to allocate ", in_units(asked), ". GPU ", device_,
                    " has a total capacity of ", in_units(total), " of which ", in_units(free),
                    " is free. Tensors hold ", in_units(stats_.allocated), ", and ",
                    in_units(stats_.reserved - stats_.allocated), " are reserved but unused.");
    }
    check(error, "allocate");
    stats_.reserved += bytes;
    stats_.max_reserved = std::max(stats_.max_reserved, stats_.reserved);
    return new Block{static_cast<char*>(data), bytes, stream, size <= kSmall, pool};
  }

  // Cuts what is not needed off the end.
  void split(Block* block, size_t size) {
    const size_t rest = block->size - size;
    if (rest < (block->small ? kGranule : kSmall + 1)) return;
    Block* tail = new Block{block->data + size, rest, block->stream, block->small, block->pool};
    tail->before = block;
    tail->after = block->after;
    if (tail->after) tail->after->before = tail;
    block->after = tail;
    block->size = size;
    free_.insert(tail);
  }

  void put_back(Block* block) {
#if STRIDED_EMULATED
    if (!block->captured || capturing(device_))  // (a capture that was not replayed has prepared nothing)
      ::cuda_emulation::check_unused(block->data, in_words(block->asked), block->size, block->stream);
    ::cuda_emulation::set_usable(block->data, 0, block->size, block->stream);
#endif
    block->used = false;
    block->other_streams.clear();
    for (Block* neighbour : {block->before, block->after}) {
      if (!neighbour || neighbour->used) continue;
      free_.erase(neighbour);
      Block *first = neighbour == block->before ? neighbour : block,
            *second = neighbour == block->before ? block : neighbour;
      first->size += second->size;
      first->after = second->after;
      if (first->after) first->after->before = first;
      first->used = false;
      delete second;
      block = first;
    }
    free_.insert(block);
  }

  // Of blocks that wait for other streams. While somebody captures there must be none, or they would be part of it.
  void record_events() {
    if (anyone_captures()) return;
    while (!without_events_.empty()) {
      Block* block = without_events_.back();
      for (cudaStream_t stream : block->other_streams) {
        Waiting w{block, nullptr};
        check(cudaEventCreateWithFlags(&w.event, cudaEventDisableTiming), "free");
        check(cudaEventRecord(w.event, stream), "free");
        waiting_.push_back(w);
      }
      without_events_.pop_back();
    }
  }
  void collect_events() {
    if (anyone_captures()) return;
    record_events();
    for (size_t i = 0; i < waiting_.size();) {
      if (cudaEventQuery(waiting_[i].event) == cudaErrorNotReady) {
        cudaGetLastError();
        ++i;
        continue;
      }
      finish_waiting(i);
    }
  }
  void finish_waiting(size_t i) {
    const Waiting w = waiting_[i];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    cudaEventDestroy(w.event);
    for (const Waiting& other : waiting_)
      if (other.block == w.block) return;
    put_back(w.block);
  }

  void release_unused() {
    if (anyone_captures()) return;  // cudaFree waits for the device
    record_events();
    while (!waiting_.empty()) {
      cudaEventSynchronize(waiting_[0].event);
      finish_waiting(0);
    }
    for (auto it = free_.begin(); it != free_.end();) {
      Block* block = *it;
      if (!block->whole_segment() || (block->pool && pools_.count(block->pool))) {
        ++it;
        continue;
      }
      it = free_.erase(it);
      cudaFree(block->data);  // waits for the device
      stats_.reserved -= block->size;
      delete block;
    }
  }

  const int device_;
  std::mutex mutex_;
  std::set<Block*, BySize> free_;
  std::unordered_map<void*, Block*> by_address_;
  std::vector<Waiting> waiting_;
  std::vector<Block*> without_events_;  // that wait for other streams too
  std::set<int64_t> pools_;
  MemoryStats stats_{};
};

Pool& pool(int device) {
  // Never destroyed: the driver may be gone before the last tensor.
  static std::vector<Pool*>& pools = *[] {
    auto* all = new std::vector<Pool*>;
    for (int i = 0; i < device_count(); ++i) all->push_back(new Pool(i));
    return all;
  }();
  return *pools[static_cast<size_t>(device)];
}

}  // namespace

void* allocate(size_t bytes, int device) {
  require_device(device);
  return pool(device).allocate(bytes);
}
void deallocate(void* data, int device) {
  try {
    pool(device).deallocate(data);
  } catch (const Error&) {
    // In a forked child, or at the end of the process: there is nothing left to free.
  }
}
void record_stream(void* data, int device, cudaStream_t stream) {
  require_device(device);
  pool(device).record_stream(data, stream);
}
int64_t new_pool() {
  static std::atomic<int64_t> last{0};
  const int64_t pool = ++last;
  for (int i = 0; i < device_count(); ++i) cuda::pool(i).add_pool(pool);
  return pool;
}
void give_up_pool(int64_t pool) {
  for (int i = 0; i < device_count(); ++i) cuda::pool(i).give_up_pool(pool);
}
void empty_cache() {
  for (int i = 0; i < device_count(); ++i) pool(i).empty_cache();
}
MemoryStats memory_stats(int device) {
  require_device(device);
  return pool(device).stats();
}
void reset_peak_stats(int device) {
  require_device(device);
  pool(device).reset_peaks();
}
void memory_info(int device, size_t* free, size_t* total) {
  require_device(device);
  const OnDevice guard(device);
  check(cudaMemGetInfo(free, total), "mem_get_info");
}

int device_of_pointer(const void* data) {
  cudaPointerAttributes attributes;
  const bool known = cudaPointerGetAttributes(&attributes, data) == cudaSuccess;
  if (!known) cudaGetLastError();
  STRIDED_CHECK(known && attributes.type == cudaMemoryTypeDevice, ValueError,
                "this is no memory of a CUDA device: ", data);
  return attributes.device;
}

bool is_pinned(const void* data) {
  if (device_count() == 0) return false;
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

}  // namespace cuda
}  // namespace strided
