// Streams: what may be late, and graphs, whose work is captured.
#include "cuda_test_util.h"

#include "cuda/runtime/graph.h"
#include "cuda/runtime/pinned.h"
#include "cuda/runtime/recorded.h"
#include "cuda/runtime/transfer.h"

namespace strided {
namespace cuda {
namespace {

__global__ void add_kernel(float* x, float value, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += value;
}
__global__ void copy_kernel(float* to, const float* from, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) to[i] = from[i];
}
constexpr int kN = 300;
void add(const Workspace& x, float value) {
  launch(add_kernel, dim3(2), dim3(256), 0, current_stream(0), x.as<float>(), value, kN);
  check_launch("add");
}
std::vector<float> read(const Workspace& x) {
  std::vector<float> values(kN);
  to_host(values.data(), x.data(), kN * sizeof(float));
  return values;
}
void fill(const Workspace& x, float value) {
  const std::vector<float> values(kN, value);
  to_device(x.data(), values.data(), kN * sizeof(float));
}
const std::vector<float> kOnes(kN, 1.0f);

struct OnStream {
  cudaStream_t before = current_stream(0);
  explicit OnStream(cudaStream_t stream) { set_current_stream(0, stream); }
  ~OnStream() { set_current_stream(0, before); }
};

#if STRIDED_EMULATED
struct CudaLate : ::testing::Test {
  void SetUp() override { cuda_emulation::set_late(true); }
  void TearDown() override { cuda_emulation::set_late(false); }
};

TEST_F(CudaLate, NothingIsDoneBeforeSomebodyWaits) {
  const Workspace x(kN * sizeof(float), 0);
  fill(x, 0);
  add(x, 1);
  std::vector<float> values(kN, -1.0f);
  check(cudaMemcpyAsync(values.data(), x.data(), kN * sizeof(float), cudaMemcpyDeviceToHost, nullptr), "test");
  EXPECT_EQ(values[0], -1);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
  check(cudaStreamSynchronize(nullptr), "test");
  EXPECT_EQ(values, kOnes);
}

TEST_F(CudaLate, StreamsAreOrderedByEventsAlone) {
  const Workspace x(kN * sizeof(float), 0), y(kN * sizeof(float), 0);
  const cudaStream_t a = pool_stream(0, 0), b = pool_stream(0, 0);
  for (const bool waits : {false, true}) {
    fill(x, 0);
    {
      const OnStream on(a);
      add(x, 1);
    }
    cudaEvent_t event;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "test");
    check(cudaEventRecord(event, a), "test");
    EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
    cudaGetLastError();
    fill(x, 0);  // (the query did the addition)
    {
      const OnStream on(a);
      add(x, 1);
    }
    check(cudaEventRecord(event, a), "test");
    const OnStream on(b);
    if (waits) check(cudaStreamWaitEvent(b, event, 0), "test");
    launch(copy_kernel, dim3(2), dim3(256), 0, b, y.as<float>(), x.as<const float>(), kN);
    EXPECT_EQ(read(y) == kOnes, waits);
    check(cudaEventSynchronize(event), "test");
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
    cudaEventDestroy(event);
  }
}

TEST_F(CudaLate, OrdinaryMemoryIsReadAtOnceAndPageLockedMemoryLater) {
  const Workspace x(kN * sizeof(float), 0);
  std::vector<float> ordinary(kN, 1.0f);
  check(cudaMemcpyAsync(x.data(), ordinary.data(), kN * sizeof(float), cudaMemcpyHostToDevice, nullptr), "test");
  ordinary.assign(kN, 2.0f);
  EXPECT_EQ(read(x), kOnes);
  float* locked = static_cast<float*>(allocate_pinned(kN * sizeof(float)));
  std::fill_n(locked, kN, 2.0f);
  transfer({{"copy_", 0}, x.data(), 0, locked, -1, kN * sizeof(float), true});
  std::fill_n(locked, kN, 1.0f);
  EXPECT_EQ(read(x), kOnes);
  std::fill_n(locked, kN, 2.0f);
  transfer({{"copy_", 0}, x.data(), 0, locked, -1, kN * sizeof(float), false});  // waits
  std::fill_n(locked, kN, 1.0f);
  EXPECT_EQ(read(x)[0], 2);
  deallocate_pinned(locked);
}

TEST_F(CudaLate, FreedMemoryIsUsedUntilTheStreamHasComeSoFar) {
  const Workspace out(kN * sizeof(float), 0);
  for (int round = 0; round < 3; ++round) {
    {
      const Workspace temporary(kN * sizeof(float), 0);
      fill(temporary, static_cast<float>(round));
      add(temporary, 1);
      launch(copy_kernel, dim3(2), dim3(256), 0, current_stream(0), out.as<float>(), temporary.as<const float>(), kN);
    }
    const Workspace next(kN * sizeof(float), 0);  // the same memory
    add(next, 5);
    EXPECT_EQ(read(out), std::vector<float>(kN, static_cast<float>(round + 1)));
  }
}

TEST_F(CudaLate, ABackwardPassIsBehindTheStreamsThatRecorded) {
  const Workspace x(kN * sizeof(float), 0), y(kN * sizeof(float), 0);
  const cudaStream_t side = pool_stream(0, 0);
  for (const bool joins : {false, true}) {
    fill(x, 0);
    {
      const OnStream on(side);
      add(x, 1);
    }
    if (joins) {
      know_stream(0, side);
      note_recorded(0, side);
      join_recorded(0, true);
    }
    launch(copy_kernel, dim3(2), dim3(256), 0, nullptr, y.as<float>(), x.as<const float>(), kN);
    if (joins) join_recorded(0, false);
    {
      const OnStream on(side);
      fill(x, 7);  // waits for the side stream, and so for the pass
    }
    EXPECT_EQ(read(y) == kOnes, joins);
  }
}
#endif

TEST(CudaGraph, DoesItsWorkAgain) {
  const cudaStream_t stream = pool_stream(0, 0);
  const Workspace x(kN * sizeof(float), 0);
  fill(x, 0);
  const int64_t pool = new_pool();
  Graph* graph = nullptr;
  {
    const OnStream on(stream);
    begin_capture(0, 0, pool, 1, 0);
    EXPECT_TRUE(capturing(0));
    EXPECT_TRUE(anyone_captures());
    add(x, 1);
    const Workspace temporary(kN * sizeof(float), 0);
    launch(copy_kernel, dim3(2), dim3(256), 0, stream, temporary.as<float>(), x.as<const float>(), kN);
    launch(copy_kernel, dim3(2), dim3(256), 0, stream, x.as<float>(), temporary.as<const float>(), kN);
    graph = end_capture(0);
  }
  EXPECT_FALSE(capturing(0));
  EXPECT_FALSE(anyone_captures());
  EXPECT_EQ(read(x), std::vector<float>(kN, 0.0f));
  for (int i = 1; i < 4; ++i) {
    launch_graph(*graph, 1, 0);
    EXPECT_EQ(read(x), std::vector<float>(kN, static_cast<float>(i)));
  }
  free_graph(graph);
  give_up_pool(pool);
}

TEST(CudaGraph, MemoryStaysInItsPool) {
  const cudaStream_t stream = pool_stream(0, 0);
  const OnStream on(stream);
  const int64_t pool = new_pool();
  begin_capture(0, 0, pool, 1, 0);
  void* a = allocate(5000, 0);
  deallocate(a, 0);
  EXPECT_EQ(allocate(5000, 0), a);  // within the capture: at once
  deallocate(a, 0);
  Graph* const graph = end_capture(0);
  void* b = allocate(5000, 0);
  EXPECT_NE(b, a);
  begin_capture(0, 0, pool, 1, 0);
  EXPECT_EQ(allocate(5000, 0), a);  // another capture of the pool
  deallocate(a, 0);
  Graph* const second = end_capture(0);
  free_graph(graph);
  free_graph(second);
  give_up_pool(pool);
  deallocate(b, 0);
  const size_t reserved = memory_stats(0).reserved;
  empty_cache();
  EXPECT_LT(memory_stats(0).reserved, reserved);
}

TEST(CudaGraph, RefusesWhatCannotBeCaptured) {
  const cudaStream_t stream = pool_stream(0, 0);
  EXPECT_THROW(begin_capture(0, 0, 0, 1, 0), RuntimeError);  // the default stream
  EXPECT_THROW(end_capture(0), RuntimeError);
  const OnStream on(stream);
  const int64_t pool = new_pool();
  begin_capture(0, 0, pool, 1, 0);
  EXPECT_THROW(begin_capture(0, 0, pool, 1, 0), RuntimeError);
  EXPECT_THROW(synchronize_stream(0, stream), RuntimeError);
  EXPECT_THROW(end_capture(0), RuntimeError);
  EXPECT_FALSE(anyone_captures());
  EXPECT_NO_THROW(synchronize_stream(0, stream));
  // What the driver itself refuses.
  begin_capture(0, 0, pool, 1, 0);
  EXPECT_NE(cudaStreamSynchronize(stream), cudaSuccess);
  cudaGetLastError();
  EXPECT_THROW(end_capture(0), RuntimeError);
  begin_capture(0, 0, pool, 1, 0);
  void* direct = nullptr;
  EXPECT_NE(cudaMalloc(&direct, 100), cudaSuccess);
  cudaGetLastError();
  EXPECT_THROW(end_capture(0), RuntimeError);
  begin_capture(0, 0, pool, 1, 0);
  {
    const OutsideCapture outside(0);
    EXPECT_EQ(cudaMalloc(&direct, 100), cudaSuccess);
  }
  free_graph(end_capture(0));
  check(cudaFree(direct), "test");
  give_up_pool(pool);
}

}  // namespace
}  // namespace cuda
}  // namespace strided
