#include "core/allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <mutex>
#include <new>

#include "base/error.h"

namespace strided {
namespace {

// No cache under AddressSanitizer.
// A block that is only put back into a list stays valid memory for the sanitizer, and so does the slack of its size
// class. In that build every allocation is one of the system's, of exactly the size asked for, and every free gives it
// back, so that overruns and uses after free are seen. The statistics still count size classes; nothing is ever cached
// or hit.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCaching = false;
#else
constexpr bool kCaching = true;
#endif

// Size classes: four to each power of two, from 64 bytes on, so that at most a fifth of a block is unused.
constexpr int kClasses = 4 * 42;
constexpr size_t kHuge = size_t(2) << 20;
// From kAlignedAlike on all blocks begin at the same place of a page. A processor takes a load for one of bytes that
// are still to be stored where the two addresses agree in their last 12 bits, and lets it wait (A. Fog, "The
// microarchitecture of Intel, AMD and VIA CPUs", 4K aliasing). An operand that lies some tens of bytes below the result
// in a page costs a third of the speed of a copy in the L2 cache; elements of the same place do not wait.
constexpr size_t kPage = size_t(4) << 10, kAlignedAlike = 4 * kPage;
constexpr size_t kCounted = 16 * kHuge;  // from here on huge pages must be at hand

int class_of(size_t nbytes) {
  if (nbytes <= 64) return 0;
  const int log = 63 - __builtin_clzll(nbytes - 1);  // nbytes in (2^log, 2^(log + 1)]
  const size_t quarter = size_t(1) << (log - 2);
  return 4 * (log - 6) + static_cast<int>((nbytes - 1 - (size_t(1) << log)) / quarter) + 1;
}

size_t size_of_class(int c) {
  if (c == 0) return 64;
  const int log = (c - 1) / 4 + 6;
  return (size_t(1) << log) + static_cast<size_t>((c - 1) % 4 + 1) * (size_t(1) << (log - 2));
}

// What threads have counted for themselves (Local) is not in these.
std::atomic<int64_t> allocated{0}, peak{0}, cached{0}, allocations{0}, hits{0};
std::atomic<int64_t> limit{-1};

// What a container may use, if it has a limit (cgroup, version 2 or 1).
int64_t container_memory() {
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::FILE* file = std::fopen(path, "re");
    if (file == nullptr) continue;
    long long bytes = 0;
    const int read = std::fscanf(file, "%lld", &bytes);  // "max" is no number
    std::fclose(file);
    if (read == 1 && bytes > 0) return bytes;
  }
  return std::numeric_limits<int64_t>::max();
}

int64_t cache_limit() {
  int64_t n = limit.load(std::memory_order_relaxed);
  if (n < 0) {
    const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    n = std::min<int64_t>(std::min(memory, container_memory()) / 4, int64_t(8) << 30);
    limit.store(n);
  }
  return n;
}

// The link of a free block to the next one. It lies in the block, but behind a large one: pages that nobody has written
// to (those of zeros, above all) stay the system's, which takes longer to make one than a block is in use.
struct FreeBlock {
  FreeBlock* next;
};

size_t link_at(int c) { return size_of_class(c) >= kHuge ? size_of_class(c) : 0; }

// Each thread keeps a few small blocks of its own, without locks.
constexpr int kLocalClasses = 4 * 7 + 1;  // up to 8 KiB
constexpr int kLocalBlocks = 64;

struct Local {
  // One thread adds, others only read: no locked instruction.
  struct Counter {
    std::atomic<int64_t> value{0};
    void add(int64_t n) { value.store(get() + n, std::memory_order_relaxed); }
    int64_t get() const { return value.load(std::memory_order_relaxed); }
  };
  FreeBlock* head[kLocalClasses] = {};
  int count[kLocalClasses] = {};
  Counter kept;              // bytes of these blocks
  Counter uncounted;         // bytes taken from here less bytes put here, until they are added to `allocated`
  Counter hits;              // allocations served from here
  Local* next = nullptr;     // of another thread (Shared::locals)
  void move(int64_t bytes);  // out of here if positive, else into here
};
constexpr int64_t kMostUncounted = 2 << 10;

// Freed blocks of all threads, in lists that run through the blocks themselves: to free one needs no memory, since
// destructors do it, and do it just then when none is left.
struct Shared {
  std::mutex mutex;
  FreeBlock* free[kClasses] = {};
  Local* locals = nullptr;  // of the threads that run

  void put(int c, void* data) { free[c] = new (static_cast<char*>(data) + link_at(c)) FreeBlock{free[c]}; }
  void* take(int c) {  // null if there is none
    FreeBlock* const block = free[c];
    if (block == nullptr) return nullptr;
    free[c] = block->next;
    return reinterpret_cast<char*>(block) - link_at(c);
  }
};

Shared* new_shared();

Shared& shared() {
  static Shared* s = new_shared();  // never destroyed: tensors may die after static objects do
  return *s;
}

// Another thread may hold the lock when this one forks, and would never release it in the child: so fork() waits for
// it.
Shared* new_shared() {
  pthread_atfork([] { shared().mutex.lock(); }, [] { shared().mutex.unlock(); }, [] { shared().mutex.unlock(); });
  return new Shared;
}

// Made when the library is loaded. If another thread were making it while one forks, the child would wait for that
// thread for ever.
[[maybe_unused]] const Shared& made_at_load = shared();

// (Read for every block: see `grad_mode` in tensor/graph.h.)
__attribute__((tls_model("initial-exec"))) thread_local Local* local_blocks = nullptr;
thread_local bool thread_ended = false;

// Its destructor runs at the end of the thread and gives the blocks to the others.
struct LocalOwner {
  ~LocalOwner() {
    thread_ended = true;
    if (!local_blocks) return;
    Shared& s = shared();
    std::lock_guard<std::mutex> lock(s.mutex);
    for (int c = 0; c < kLocalClasses; ++c)
      while (FreeBlock* block = local_blocks->head[c]) {
        local_blocks->head[c] = block->next;
        s.put(c, block);
      }
    allocated.fetch_add(local_blocks->uncounted.get());
    cached.fetch_add(local_blocks->kept.get());
    allocations.fetch_add(local_blocks->hits.get());
    hits.fetch_add(local_blocks->hits.get());
    Local** at = &s.locals;
    while (*at != local_blocks) at = &(*at)->next;
    *at = local_blocks->next;
    delete local_blocks;
    local_blocks = nullptr;
  }
};

// Thread-local memory of a shared library is scarce, so this is on the heap.
Local* make_local() {
  if (thread_ended) return nullptr;
  static thread_local LocalOwner owner;
  static_cast<void>(owner);
  auto* made = new (std::nothrow) Local;
  if (!made) return nullptr;
  Shared& s = shared();
  std::lock_guard<std::mutex> lock(s.mutex);
  made->next = s.locals;
  s.locals = made;
  return local_blocks = made;
}
Local* local() { return local_blocks ? local_blocks : make_local(); }

// What other threads have not counted yet is left out: it is small.
void note_peak(int64_t now) {
  if (now > peak.load(std::memory_order_relaxed)) peak.store(now, std::memory_order_relaxed);
}

void Local::move(int64_t bytes) {
  kept.add(-bytes);
  uncounted.add(bytes);
  const int64_t n = uncounted.get();
  if (n < -kMostUncounted || n > kMostUncounted) {
    uncounted.add(-n);
    note_peak(allocated.fetch_add(n, std::memory_order_relaxed) + n);
  } else if (bytes > 0) {
    note_peak(allocated.load(std::memory_order_relaxed) + n);
  }
}

void count_allocation(int64_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const int64_t mine = local_blocks ? local_blocks->uncounted.get() : 0;
  note_peak(allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes + mine);
}

// How many huge pages the system has at hand: free blocks of their size and more (proc(5), "buddyinfo"), of all zones
// and nodes of memory.
int64_t free_huge_pages() {
  std::FILE* file = std::fopen("/proc/buddyinfo", "re");
  if (file == nullptr) return 0;  // not told: the time of a first write decides
  const int order = __builtin_ctzll(kHuge / static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  int64_t pages = 0;
  char line[1024];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    // "Node 0, zone   Normal", then how many blocks of one page, of two, of four, ...
    const char* at = std::strstr(line, "zone");
    if (at == nullptr) continue;
    for (at += 4; *at == ' ';) ++at;
    at += std::strcspn(at, " \n");
    char* end = nullptr;
    for (int k = 0;; ++k, at = end) {
      const long long blocks = std::strtoll(at, &end, 10);
      if (end == at) break;
      if (k >= order && k < order + 8) pages += blocks << (k - order);
    }
  }
  std::fclose(file);
  return pages;
}

double processor_seconds() {  // of this thread
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Whether huge pages are made quickly: the first write to four of them is timed. The time of the processor counts, in
// which the kernel moves pages; the clock would count other programs too.
bool are_huge_pages_made_quickly(char* data, size_t bytes) {
  constexpr size_t kProbes = 4;
  constexpr double kPatience = 1.5e-3;
  const size_t step = bytes / kProbes / kHuge * kHuge;
  for (size_t i = 0; i < kProbes; ++i) {
    const double start = processor_seconds();
    *static_cast<volatile char*>(data + i * step) = 0;
    if (processor_seconds() - start > kPatience) return false;
  }
  return true;
}

void* fresh_block(size_t bytes) {
  void* data = nullptr;
  const size_t alignment = bytes >= kHuge ? kHuge : bytes >= kAlignedAlike ? kPage : kAlignment;
  const size_t link = kCaching && bytes >= kHuge ? sizeof(FreeBlock) : 0;
  if (posix_memalign(&data, alignment, bytes + link) != 0) return nullptr;
  if (bytes >= kHuge) madvise(data, bytes, MADV_HUGEPAGE);
  // Where free memory is fragmented, Linux makes a huge page by moving other pages first: 5 ms instead of 0.1, seconds
  // for a GiB, which takes half a second with small pages. (With small pages a maximum of 40 MB takes 1.4 times as
  // long, for as long as the block lives.) A first write is slow too where a virtual machine takes the page from its
  // host, so free pages are counted first. They are few where files fill the memory, which is given back quickly.
  if (bytes >= kCounted && free_huge_pages() < static_cast<int64_t>(bytes / kHuge) &&
      !are_huge_pages_made_quickly(static_cast<char*>(data), bytes))
    madvise(data, bytes, MADV_NOHUGEPAGE);
  return data;
}

// Called before a large block is taken from the system. Gives large blocks back, the largest first, until what is kept
// and what is in use are together no more than the peak of what was in use, and this much. A program whose tensors grow
// would otherwise keep every size that it once had.
constexpr int64_t kKeptBeyondPeak = int64_t(256) << 20;
void give_back(int64_t wanted) {
  const int64_t used = allocated.load(std::memory_order_relaxed) + wanted;
  int64_t excess = used + cached.load(std::memory_order_relaxed) -
                   std::max(used, peak.load(std::memory_order_relaxed)) - kKeptBeyondPeak;
  if (excess <= 0) return;
  Shared& s = shared();
  std::lock_guard<std::mutex> lock(s.mutex);
  for (int c = kClasses - 1; c >= 0 && size_of_class(c) >= kHuge; --c)
    for (const auto bytes = static_cast<int64_t>(size_of_class(c)); excess > 0 && s.free[c]; excess -= bytes) {
      std::free(s.take(c));
      cached.fetch_sub(bytes, std::memory_order_relaxed);
    }
}

}  // namespace

void* cpu_allocate(size_t nbytes) {
  if (nbytes == 0) return nullptr;
  STRIDED_CHECK(nbytes < (size_t(1) << 47), OutOfMemoryError,
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", nbytes, " bytes.");
  const int c = class_of(nbytes);
  const size_t bytes = size_of_class(c);
  if (kCaching && c < kLocalClasses) {
    if (Local* l = local())
      if (FreeBlock* block = l->head[c]) {
        l->head[c] = block->next;
        --l->count[c];
        l->hits.add(1);
        l->move(static_cast<int64_t>(bytes));
        return block;
      }
  }
  if (kCaching) {
    Shared& s = shared();
    std::lock_guard<std::mutex> lock(s.mutex);
    if (void* data = s.take(c)) {
      cached.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
      hits.fetch_add(1, std::memory_order_relaxed);
      count_allocation(static_cast<int64_t>(bytes));
      return data;
    }
  }
  if (kCaching && bytes >= kHuge) give_back(static_cast<int64_t>(bytes));
  void* data = fresh_block(kCaching ? bytes : nbytes);
  if (data == nullptr && kCaching) {
    cpu_empty_cache();
    data = fresh_block(bytes);
  }
  STRIDED_CHECK(data != nullptr, OutOfMemoryError, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ",
                nbytes, " bytes.");
  count_allocation(static_cast<int64_t>(bytes));
  return data;
}

void cpu_free(void* data, size_t nbytes) {
  if (data == nullptr) return;
  const int c = class_of(nbytes);
  const int64_t bytes = static_cast<int64_t>(size_of_class(c));
  if (kCaching && c < kLocalClasses) {
    Local* l = local();
    if (l != nullptr && l->count[c] < kLocalBlocks) {
      auto* block = static_cast<FreeBlock*>(data);
      block->next = l->head[c];
      l->head[c] = block;
      ++l->count[c];
      l->move(-bytes);
      return;
    }
  }
  allocated.fetch_sub(bytes, std::memory_order_relaxed);
  if (!kCaching || cached.load(std::memory_order_relaxed) + bytes > cache_limit()) {
    std::free(data);
    return;
  }
  cached.fetch_add(bytes, std::memory_order_relaxed);
  Shared& s = shared();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.put(c, data);
}

// Without huge pages every 4 KiB cost a page fault later, more than writing zeros now.
#if defined(__linux__)
bool has_huge_pages() {
  static const bool found = [] {
    char text[64] = {};
    std::FILE* file = std::fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    if (file == nullptr) return false;
    const size_t n = std::fread(text, 1, sizeof text - 1, file);
    std::fclose(file);
    return n > 0 && std::strstr(text, "[never]") == nullptr;
  }();
  return found;
}

bool cpu_clear(void* data, size_t nbytes) {
  if (nbytes < 2 * kHuge || !has_huge_pages()) return false;
  const auto first = reinterpret_cast<uintptr_t>(data), last = first + nbytes;
  const uintptr_t begin = (first + kHuge - 1) / kHuge * kHuge, end = last / kHuge * kHuge;
  // Private anonymous memory, which is all that the allocator hands out, reads as zeros afterwards (madvise(2)).
  if (madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) != 0) return false;
  std::memset(data, 0, begin - first);
  std::memset(reinterpret_cast<void*>(end), 0, last - end);
  return true;
}
#else
bool cpu_clear(void*, size_t) { return false; }
#endif

MemoryStats cpu_memory_stats() {
  Shared& s = shared();
  std::lock_guard<std::mutex> lock(s.mutex);
  MemoryStats stats{allocated.load(), peak.load(), cached.load(), allocations.load(), hits.load()};
  for (const Local* l = s.locals; l; l = l->next) {
    stats.allocated += l->uncounted.get();
    stats.cached += l->kept.get();
    stats.allocations += l->hits.get();
    stats.cache_hits += l->hits.get();
  }
  return stats;
}

void cpu_reset_peak() { peak.store(cpu_memory_stats().allocated); }

void cpu_empty_cache() {
  Shared& s = shared();
  std::lock_guard<std::mutex> lock(s.mutex);
  for (int c = 0; c < kClasses; ++c)
    while (void* data = s.take(c)) {
      std::free(data);
      cached.fetch_sub(static_cast<int64_t>(size_of_class(c)), std::memory_order_relaxed);
    }
}

void cpu_set_cache_limit(int64_t nbytes) { limit.store(std::max<int64_t>(nbytes, 0)); }

}  // namespace strided
