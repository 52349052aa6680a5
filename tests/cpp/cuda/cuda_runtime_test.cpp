// Devices, streams, the allocator.
#include "cuda_test_util.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "cuda/runtime/operations.h"
#include "cuda/runtime/pinned.h"

namespace strided {
namespace cuda {
namespace {

TEST(CudaRuntime, Devices) {
  ASSERT_GE(device_count(), 1);
  EXPECT_NO_THROW(set_device(0));
  EXPECT_EQ(current_device(), 0);
  EXPECT_GT(std::strlen(device_info(0).name), 0u);
  EXPECT_GT(device_info(0).total_memory, 0u);
  EXPECT_THROW(set_device(device_count()), RuntimeError);
  EXPECT_THROW(require_device(-1), RuntimeError);
}

TEST(CudaRuntime, StreamsBelongToThreads) {
  const cudaStream_t a = pool_stream(0, 0), b = pool_stream(0, -1);
  EXPECT_NE(a, b);
  EXPECT_NE(a, nullptr);
  set_current_stream(0, a);
  EXPECT_EQ(current_stream(0), a);
  std::thread([&] { EXPECT_EQ(current_stream(0), nullptr); }).join();
  set_current_stream(0, nullptr);
}

TEST(CudaAllocator, ReusesAndCounts) {
  empty_cache();
  const MemoryStats before = memory_stats(0);
  void* a = allocate(1000, 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 512, 0u);
  EXPECT_EQ(memory_stats(0).allocated, before.allocated + 1024);
  EXPECT_GE(memory_stats(0).reserved, memory_stats(0).allocated);
  void* b = allocate(1, 0);
  EXPECT_NE(a, b);
  deallocate(a, 0);
  EXPECT_EQ(allocate(900, 0), a);  // the same stream: at once
  deallocate(a, 0);
  deallocate(b, 0);
  EXPECT_EQ(memory_stats(0).allocated, before.allocated);
  EXPECT_GE(memory_stats(0).max_allocated, before.allocated + 1536);
  reset_peak_stats(0);
  EXPECT_EQ(memory_stats(0).max_allocated, before.allocated);
  empty_cache();
  EXPECT_LE(memory_stats(0).reserved, before.reserved);
}

TEST(CudaAllocator, FreedNeighboursBecomeOne) {
  empty_cache();
  std::vector<void*> small;
  for (int i = 0; i < 8; ++i) small.push_back(allocate(100 << 10, 0));
  const size_t reserved = memory_stats(0).reserved;
  for (int i : {1, 0, 2, 5, 3, 4, 7, 6}) deallocate(small[static_cast<size_t>(i)], 0);
  void* whole = allocate(800 << 10, 0);
  EXPECT_EQ(memory_stats(0).reserved, reserved);
  deallocate(whole, 0);
}

TEST(CudaAllocator, AnotherStreamGetsOtherMemory) {
  void* a = allocate(4096, 0);
  deallocate(a, 0);
  set_current_stream(0, pool_stream(0, 0));
  void* b = allocate(4096, 0);
  EXPECT_NE(a, b);
  record_stream(b, 0, nullptr);
#if STRIDED_EMULATED
  // Free again only when the default stream has come so far.
  cuda_emulation::hold_events(true);
  deallocate(b, 0);
  void* other = allocate(4096, 0);
  EXPECT_NE(other, b);
  cuda_emulation::hold_events(false);
  void* c = allocate(4096, 0);
  EXPECT_EQ(b, c);
  deallocate(other, 0);
#else
  deallocate(b, 0);
  void* c = allocate(4096, 0);
#endif
  deallocate(c, 0);
  set_current_stream(0, nullptr);
}

#if STRIDED_EMULATED
TEST(CudaAllocator, OutOfMemory) {
  empty_cache();
  setenv("STRIDED_EMULATE_CUDA_MEMORY", "67108864", 1);
  void* a = allocate(40 << 20, 0);
  try {
    allocate(40 << 20, 0);
    ADD_FAILURE() << "no error";
  } catch (const OutOfMemoryError& e) {
    EXPECT_NE(std::string(e.what()).find(
                  "CUDA out of memory. Tried to allocate 40.00 MiB. GPU 0 has a total capacity of 64.00 MiB"),
              std::string::npos)
        << e.what();
  }
  deallocate(a, 0);
  // The cache stands in the way, and is given back.
  const size_t retries = memory_stats(0).retries;
  void* b = allocate(50 << 20, 0);
  EXPECT_EQ(memory_stats(0).retries, retries + 1);
  deallocate(b, 0);
  empty_cache();
  EXPECT_THROW(allocate(size_t(1) << 60, 0), OutOfMemoryError);
  unsetenv("STRIDED_EMULATE_CUDA_MEMORY");
}
#endif

TEST(CudaAllocator, PinnedMemory) {
  void* p = allocate_pinned(100);
  int local = 0;
  EXPECT_TRUE(is_pinned(p));
  EXPECT_FALSE(is_pinned(&local));
  deallocate_pinned(p);
}

TEST(CudaAllocator, PinnedMemoryIsKeptUntilItsCopiesAreDone) {
  const Workspace there(5000, 0);
  void* a = allocate_pinned(5000);
  deallocate_pinned(a);
  EXPECT_EQ(allocate_pinned(8192), a);  // no copy used it: at once
  int number = 0;
  auto copy_inside = [&](bool to_host) {  // of a part
    char* host = static_cast<char*>(a) + 100;
    TransferPlan plan{{"copy_", 0}, there.data(), 0, host, -1, 4000, true};
    if (to_host) plan = {{"copy_", 0}, host, -1, there.data(), 0, 4000, true};
    transfer(plan);
  };
  for (const bool to_host : {false, true}) {
    copy_inside(to_host);
#if STRIDED_EMULATED
    cuda_emulation::hold_events(true);
    deallocate_pinned(a);
    void* other = allocate_pinned(8192);
    EXPECT_NE(other, a);
    void* smaller = allocate_pinned(1);
    EXPECT_NE(smaller, a);
    cuda_emulation::hold_events(false);
    EXPECT_EQ(allocate_pinned(8192), a);
    deallocate_pinned(other);
    deallocate_pinned(smaller);
#endif
  }
  EXPECT_TRUE(is_pinned(a));
  deallocate_pinned(a);
  deallocate_pinned(&number);  // somebody else's
  release_pinned();
  EXPECT_FALSE(is_pinned(a));
  EXPECT_THROW(allocate_pinned(size_t{1} << 60), OutOfMemoryError);
}

TEST(CudaRuntime, AForkedChildGetsAnError) {
  const Workspace used(16, 0);
  const pid_t child = fork();
  if (child == 0) {
    int code = 1;
    try {
      allocate(16, 0);
    } catch (const RuntimeError& e) {
      code = std::string(e.what()).find("Cannot re-initialize CUDA in forked subprocess") == 0 ? 0 : 2;
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(CudaRuntime, ALaunchThatFailsNamesTheOperation) {
  Array out(DType::Float32, {4}), in(DType::Float32, {4});
  Plan plan("neg", {&out, &in});
  try {
    elementwise(plan.plan, 0, DType::Bool, nullptr);  // no such kernel: abs of bool
    ADD_FAILURE() << "no error";
  } catch (const NotImplementedError& e) {
    EXPECT_STREQ(e.what(), "neg: not implemented on device 'cuda'");
  }
}

}  // namespace
}  // namespace cuda
}  // namespace strided
