#include "cuda_emulation.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "cuda_emulation_fiber.h"
#include "cuda_emulation_tiles.h"
#include "cuda_emulation_warpgroup.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace cuda_emulation {
namespace {

std::string text(Site site) { return std::string(site.file) + ":" + std::to_string(site.line); }
std::string text(uint3 v) {
  return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
}
bool operator==(Site a, Site b) { return a.line == b.line && std::strcmp(a.file, b.file) == 0; }

uint64_t first_seed() {
  const char* seed = std::getenv("STRIDED_EMULATE_SEED");
  return seed ? std::strtoull(seed, nullptr, 10) : 1;
}

enum class State : uint8_t { Ready, AtBarrier, AtWarp, AtFlag, Ended };

struct Copy {
  char* to;
  const char* from;
  size_t bytes, valid;
};

struct Thread {
  Context context;
  uint3 index{};
  State state = State::Ready;
  bool started = false;
  Site site{};                   // where it waits
  std::function<bool()> passed;  // what it waits for at a flag
  bool may_give_up = false, gave_up = false;
  std::vector<std::vector<Copy>> copies;  // on their way, by group; the last group is open
};

// The lanes of one mask in one warp, on their way through warp operations.
struct Meeting {
  unsigned warp, mask, arrived = 0, parity = 0;
  Site site{};
  // Two sets of slots by turns: a lane may be one operation ahead of the others, and no more.
  alignas(16) char slots[2][32 * 16];
};

constexpr size_t kArena = 1024;  // where dynamic shared memory begins, and the most it is aligned to
struct Release {
  void operator()(char* memory) const { ::operator delete[](memory, std::align_val_t(kArena)); }
};
struct Array {
  const void* site;  // null: the dynamic one
  size_t bytes, offset;
  std::unique_ptr<char[], Release> memory;

  Array(const void* site_, size_t bytes_, size_t offset_ = 0)
      : site(site_),
        bytes(bytes_),
        offset(offset_),
        memory(static_cast<char*>(::operator new[](offset + bytes, std::align_val_t(kArena)))) {
    clear();
  }
  char* data() const { return memory.get() + offset; }
  void clear() { std::memset(data(), 0xff, bytes); }
};

class Machine {
 public:
  std::mutex mutex;
  void set_order(uint64_t seed) {
    shuffled_ = seed != 0;
    random_.seed(seed);
  }
  void run(dim3 grid, dim3 block, size_t dynamic_shared, bool asked, const std::function<void()>& kernel);
  int barrier(Barrier kind, int predicate, Site site);
  const char* exchange(unsigned mask, const void* value, size_t size, Site site);
  bool wait_until(std::function<bool()> passed, bool may_give_up, Site site);
  uint64_t random_number() { return shuffled_ ? random_() : 0; }
  unsigned lane() const { return current_ % 32; }
  Thread& current() { return threads_[current_]; }
  unsigned number() const { return current_; }
  void* shared_array(const void* site, size_t bytes);
  void* dynamic_shared(size_t alignment);
  Arena arena() const;
  [[noreturn]] void fail(const std::string& what, Site site);

 private:
  static void thread_main();
  void run_block();
  void resume(unsigned t);
  void wait(State state, Site site);
  void make_ready(unsigned t);
  void finish_meeting(Meeting& m);
  void finish_complete();
  void pass_flags();
  unsigned alive(unsigned warp) const;
  std::string waiting() const;

  bool shuffled_ = true;
  bool hasty_ = false;  // in this block: a warp whose lanes have met runs on at once, far ahead of the others
  std::mt19937_64 random_{first_seed()};
  Stacks stacks_;
  Context host_;
  const std::function<void()>* kernel_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<unsigned> ready_;
  std::vector<Meeting> meetings_;
  std::vector<Array> arrays_;
  size_t dynamic_bytes_ = 0, shared_limit_ = 0, shared_bytes_ = 0;
  unsigned current_ = 0, at_barrier_ = 0, ended_ = 0;
  Site barrier_site_{};
  int count_ = 0, count_result_ = 0;
  std::string error_;
};

Machine& machine() {
  static Machine m;
  return m;
}

void Machine::thread_main() {
  Machine& m = machine();
  Context::entered(m.host_);
  try {
    (*m.kernel_)();
    end_thread();
  } catch (const Error& error) {
    m.error_ = error.what();
  }
  Thread& me = m.threads_[m.current_];
  me.state = State::Ended;
  me.context.switch_to(m.host_, true);
}

void Machine::resume(unsigned t) {
  Thread& thread = threads_[t];
  current_ = t;
  threadIdx = thread.index;
  if (!thread.started) {
    // A stack is taken now and given back at the end: a kernel without barriers needs one stack for all its threads.
    thread.started = true;
    thread.context.prepare(stacks_.take(), thread_main);
  }
  host_.switch_to(thread.context);
  if (thread.state == State::Ended) stacks_.give(thread.context.stack());
}

void Machine::wait(State state, Site site) {
  Thread& me = threads_[current_];
  me.state = state;
  me.site = site;
  me.context.switch_to(host_);
}

void Machine::make_ready(unsigned t) {
  threads_[t].state = State::Ready;
  ready_.push_back(t);
  if (shuffled_ && !hasty_) std::swap(ready_.back(), ready_[random_() % ready_.size()]);
}

void Machine::fail(const std::string& what, Site site) {
  throw Error(what + ", at " + text(site) + ", thread " + text(threadIdx) + " of block " + text(blockIdx));
}

int Machine::barrier(Barrier kind, int predicate, Site site) {
  if (at_barrier_ == 0) {
    barrier_site_ = site;
    count_ = 0;
  } else if (!(barrier_site_ == site)) {
    fail("__syncthreads: other threads of the block wait at " + text(barrier_site_), site);
  }
  ++at_barrier_;
  count_ += predicate != 0;
  const int n = static_cast<int>(threads_.size());
  wait(State::AtBarrier, site);
  return kind == Barrier::Count ? count_result_ : kind == Barrier::And ? count_result_ == n : count_result_ != 0;
}

unsigned Machine::alive(unsigned warp) const {
  unsigned mask = 0;
  for (unsigned i = 0; i < 32 && 32 * warp + i < threads_.size(); ++i)
    if (threads_[32 * warp + i].state != State::Ended) mask |= 1u << i;
  return mask;
}

void Machine::finish_meeting(Meeting& m) {
  m.parity ^= 1;
  const unsigned arrived = m.arrived;
  m.arrived = 0;
  for (unsigned i = 0; i < 32; ++i)
    if (arrived >> i & 1) make_ready(32 * m.warp + i);
}

void Machine::finish_complete() {
  for (Meeting& m : meetings_)
    if (m.arrived && m.arrived == (m.mask & alive(m.warp))) finish_meeting(m);
}

bool Machine::wait_until(std::function<bool()> passed, bool may_give_up, Site site) {
  Thread& me = threads_[current_];
  me.passed = std::move(passed);
  me.may_give_up = may_give_up;
  me.gave_up = false;
  wait(State::AtFlag, site);
  return !me.gave_up;
}

// Threads whose flags let them pass; where there are none, a copy on its way comes, and so on.
void Machine::pass_flags() {
  do {
    for (unsigned t = 0; t < threads_.size(); ++t)
      if (threads_[t].state == State::AtFlag && threads_[t].passed()) make_ready(t);
  } while (ready_.empty() && bring_a_tile(random_number()));
  if (!ready_.empty()) return;
  for (unsigned t = 0; t < threads_.size(); ++t)
    if (threads_[t].state == State::AtFlag && threads_[t].may_give_up) {
      threads_[t].gave_up = true;
      make_ready(t);
    }
}

const char* Machine::exchange(unsigned mask, const void* value, size_t size, Site site) {
  const unsigned warp = current_ / 32, me = lane();
  if (!(mask >> me & 1)) fail("a warp operation whose mask leaves out the lane itself", site);
  size_t k = 0;
  while (k < meetings_.size() && !(meetings_[k].warp == warp && meetings_[k].mask == mask)) ++k;
  if (k == meetings_.size()) {
    for (const Meeting& m : meetings_)
      if (m.warp == warp && (m.mask & mask) && m.arrived)
        fail("a warp operation while lanes of its mask wait for other ones at " + text(m.site), site);
    meetings_.emplace_back();
    meetings_[k].warp = warp;
    meetings_[k].mask = mask;
  }
  {
    Meeting& m = meetings_[k];
    if (m.arrived == 0) {
      m.site = site;
      std::memset(m.slots[m.parity], 0xff, sizeof(m.slots[0]));
    } else if (!(m.site == site)) {
      fail("a warp operation; other lanes of the warp wait at " + text(m.site), site);
    }
    m.arrived |= 1u << me;
    if (size) std::memcpy(m.slots[m.parity] + 16 * me, value, size);
  }
  const unsigned parity = meetings_[k].parity;
  wait(State::AtWarp, site);
  return meetings_[k].slots[parity];  // (other lanes may have added to the list meanwhile)
}

void* Machine::shared_array(const void* site, size_t bytes) {
  for (Array& a : arrays_)
    if (a.site == site) return a.data();
  shared_bytes_ += bytes;
  if (shared_bytes_ > shared_limit_)
    throw Error("a launch with " + std::to_string(dynamic_bytes_) + " bytes of dynamic shared memory and " +
                std::to_string(shared_bytes_ - dynamic_bytes_) + " of the kernel's own, of " +
                std::to_string(shared_limit_) + " that it may have");
  arrays_.emplace_back(site, bytes);
  return arrays_.back().data();
}

void* Machine::dynamic_shared(size_t alignment) {
  for (Array& a : arrays_)
    if (!a.site) return a.data();
  arrays_.emplace_back(nullptr, dynamic_bytes_, alignment % kArena);
  return arrays_.back().data();
}

Arena Machine::arena() const {
  for (const Array& a : arrays_)
    if (!a.site) {
      const uint32_t begin = static_cast<uint32_t>(kArena + a.offset);
      return {a.memory.get() - kArena, begin, begin + static_cast<uint32_t>(a.bytes)};
    }
  return {nullptr, 0, 0};
}

std::string Machine::waiting() const {
  unsigned n[5] = {};
  Site site{};
  for (const Thread& t : threads_) {
    ++n[static_cast<int>(t.state)];
    if (t.state != State::Ready && t.state != State::Ended) site = t.site;
  }
  return "block " + text(blockIdx) + " is stuck: of " + std::to_string(threads_.size()) + " threads " +
         std::to_string(n[1]) + " wait at a barrier, " + std::to_string(n[2]) + " at a warp operation, " +
         std::to_string(n[3]) + " at a flag (one of them at " + text(site) + "), " + std::to_string(n[4]) +
         " have ended";
}

void Machine::run_block() {
  for (unsigned t = 0; t < threads_.size(); ++t) {
    Thread& thread = threads_[t];
    thread.index = {t % blockDim.x, t / blockDim.x % blockDim.y, t / (blockDim.x * blockDim.y)};
    thread.started = false;
    thread.state = State::Ready;
    thread.copies.clear();
  }
  ready_.resize(threads_.size());
  for (unsigned t = 0; t < threads_.size(); ++t) ready_[t] = static_cast<unsigned>(threads_.size()) - 1 - t;
  if (shuffled_) std::shuffle(ready_.begin(), ready_.end(), random_);
  hasty_ = shuffled_ && random_() % 2;
  meetings_.clear();
  for (Array& a : arrays_) a.clear();
  begin_block(static_cast<unsigned>(threads_.size()));
  forget_tiles();
  at_barrier_ = ended_ = 0;
  for (;;) {
    while (!ready_.empty()) {
      const unsigned t = ready_.back();
      ready_.pop_back();
      resume(t);
      if (!error_.empty()) return;
      ended_ += threads_[t].state == State::Ended;
      if (hasty_ && threads_[t].state == State::AtWarp) finish_complete();
    }
    if (ended_ == threads_.size()) {
      error_ = end_block();
      return;
    }
    if (at_barrier_ == threads_.size()) {
      at_barrier_ = 0;
      count_result_ = count_;
      for (unsigned t = static_cast<unsigned>(threads_.size()); t-- > 0;) make_ready(t);
      continue;
    }
    // Nobody can run: warps whose lanes are all there go on. (A lane that has ended is not waited for.)
    finish_complete();
    if (ready_.empty()) pass_flags();
    if (ready_.empty()) {
      error_ = waiting();
      return;
    }
  }
}

void Machine::run(dim3 grid, dim3 block, size_t dynamic_shared, bool asked, const std::function<void()>& kernel) {
  const uint64_t n = uint64_t{block.x} * block.y * block.z;
  if (n == 0 || n > 1024 || grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > 65535 || grid.z > 65535 ||
      dynamic_shared > static_cast<size_t>(asked ? 227 : 48) << 10)
    throw Error("a launch of grid " + text(uint3{grid.x, grid.y, grid.z}) + ", block " +
                text(uint3{block.x, block.y, block.z}) + " and " + std::to_string(dynamic_shared) +
                " bytes of shared memory is not valid");
  kernel_ = &kernel;
  gridDim = grid;
  blockDim = block;
  threads_.resize(n);
  arrays_.clear();
  dynamic_bytes_ = shared_bytes_ = dynamic_shared;
  shared_limit_ = (asked ? 227 : 48) << 10;
  error_.clear();
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  // A random block first, then on from there: blocks must not depend on their order either.
  const uint64_t first = shuffled_ ? random_() % blocks : 0;
  for (uint64_t i = 0; i < blocks && error_.empty(); ++i) {
    const uint64_t b = (first + i) % blocks;
    blockIdx = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                static_cast<unsigned>(b / (uint64_t{grid.x} * grid.y))};
    run_block();
  }
  if (error_.empty()) return;
  for (Thread& t : threads_)  // left where they wait
    if (t.started && t.context.stack() && t.state != State::Ended) stacks_.give(t.context.stack());
  throw Error(error_);
}

}  // namespace

void set_order(uint64_t seed) {
  const std::lock_guard<std::mutex> lock(machine().mutex);
  machine().set_order(seed);
}
void run(dim3 grid, dim3 block, size_t dynamic_shared, bool asked, const std::function<void()>& thread) {
  const DeviceAccess access;
  const std::lock_guard<std::mutex> lock(machine().mutex);
  machine().run(grid, block, dynamic_shared, asked, thread);
}
void run(dim3 grid, dim3 block, size_t dynamic_shared, const std::function<void()>& thread) {
  run(grid, block, dynamic_shared, true, thread);
}
int barrier(Barrier kind, int predicate, Site site) { return machine().barrier(kind, predicate, site); }
const char* exchange(unsigned mask, const void* value, size_t size, Site site) {
  return machine().exchange(mask, value, size, site);
}
unsigned lane() { return machine().lane(); }
bool wait_until(std::function<bool()> passed, bool may_give_up, Site site) {
  return machine().wait_until(std::move(passed), may_give_up, site);
}
uint64_t random_number() { return machine().random_number(); }
void async_copy(void* to, const void* from, size_t bytes, int valid, const char* file, int line) {
  const Site site{file, line};
  if (reinterpret_cast<uintptr_t>(to) % bytes || (valid && reinterpret_cast<uintptr_t>(from) % bytes))
    fail("cp.async: an address that is not aligned to " + std::to_string(bytes) + " bytes", site);
  if (valid < 0 || static_cast<size_t>(valid) > bytes)
    fail("cp.async: " + std::to_string(valid) + " valid bytes", site);
  auto& groups = machine().current().copies;
  begin_copy(to, bytes, site);
  if (groups.empty()) groups.emplace_back();
  groups.back().push_back({static_cast<char*>(to), static_cast<const char*>(from), bytes, static_cast<size_t>(valid)});
}
void async_commit() {
  auto& groups = machine().current().copies;
  groups.resize(std::max<size_t>(groups.size(), 1) + 1);
}
void async_wait(unsigned open) {
  auto& groups = machine().current().copies;
  const size_t closed = groups.empty() ? 0 : groups.size() - 1;
  for (size_t i = 0; i + open < closed; ++i) {
    for (const Copy& c : groups[i]) {
      std::memset(c.to, 0, c.bytes);
      if (c.valid) std::memcpy(c.to, c.from, c.valid);
      end_copy(c.to, c.bytes);
    }
  }
  if (closed > open) groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(closed - open));
}
void fail(const std::string& what, Site site) { machine().fail(what, site); }
void* shared_array(const void* site, size_t bytes) { return machine().shared_array(site, bytes); }
void* dynamic_shared(size_t alignment) { return machine().dynamic_shared(alignment); }
uint32_t shared_address(const void* data, const char* file, int line) {
  const Arena a = arena();
  const uintptr_t from = reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(a.memory);
  if (from < a.begin || from >= a.end) fail("an address outside dynamic shared memory", Site{file, line});
  return static_cast<uint32_t>(from);
}
Arena arena() { return machine().arena(); }
unsigned thread_number() { return machine().number(); }

}  // namespace cuda_emulation
