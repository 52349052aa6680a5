// The emulation itself: what it computes, and that it refuses what a GPU would punish.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "cuda/gemm/warpgroup.h"
#include "cuda/runtime/async_copy.h"
#include "cuda/runtime/portability.h"

namespace strided {
namespace cuda {
namespace {

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const cuda_emulation::Error& e) {
    return e.what();
  }
  return "";
}
#define EXPECT_REFUSED(part, ...) \
  EXPECT_NE(error_of([&] { __VA_ARGS__; }).find(part), std::string::npos) << error_of([&] { __VA_ARGS__; })

struct CudaEmulation : ::testing::TestWithParam<uint64_t> {
  void SetUp() override { cuda_emulation::set_order(GetParam()); }
  void TearDown() override { cuda_emulation::set_order(1); }
};
INSTANTIATE_TEST_SUITE_P(Orders, CudaEmulation, ::testing::Values(0, 1, 2, 3));

__global__ void number_threads(int* out) {
  const int t = static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
  const int b = static_cast<int>(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
  out[b * static_cast<int>(blockDim.x * blockDim.y * blockDim.z) + t] += b * 1000 + t;
}
TEST_P(CudaEmulation, EveryThreadRunsOnce) {
  std::vector<int> out(2 * 3 * 4 * 5 * 3 * 2);
  launch(number_threads, dim3(2, 3, 4), dim3(5, 3, 2), 0, nullptr, out.data());
  for (int i = 0; i < static_cast<int>(out.size()); ++i) EXPECT_EQ(out[i], i / 30 * 1000 + i % 30);
}

template <class T>
__global__ void block_sum(const T* in, T* out, int n) {
  STRIDED_SHARED(T, part, [256]);
  const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x * blockDim.x) + t;
  part[t] = i < n ? in[i] : T(0);
  __syncthreads();
  for (int step = static_cast<int>(blockDim.x) / 2; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
TEST_P(CudaEmulation, SharedMemoryAndBarriers) {
  for (int n : {1, 255, 256, 257, 1000}) {
    std::vector<double> in(n), out((n + 255) / 256);
    std::iota(in.begin(), in.end(), 1.0);
    launch(block_sum<double>, dim3((n + 255) / 256), dim3(256), 0, nullptr, in.data(), out.data(), n);
    EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0.0), n * (n + 1) / 2.0);
  }
}

// Reads its neighbour's number; without the barrier some order must show the poison.
__global__ void neighbour(float* out, bool wait) {
  STRIDED_SHARED(float, row, [64]);
  row[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (wait) __syncthreads();
  out[threadIdx.x] = row[(threadIdx.x + 1) % 64];
}
TEST(CudaEmulationRaces, AMissingBarrierShows) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    cuda_emulation::set_order(seed);
    for (bool wait : {true, false}) {
      std::vector<float> out(64);
      launch(neighbour, dim3(2), dim3(64), 0, nullptr, out.data(), wait);
      int poisoned = 0;
      for (float v : out) poisoned += std::isnan(v);
      EXPECT_EQ(poisoned > 0, !wait);
    }
  }
  cuda_emulation::set_order(1);
}

// The second round's writes need a barrier before them; only a warp that runs far ahead shows that it is missing.
__global__ void two_rounds(int* wrong, bool wait) {
  STRIDED_SHARED(int, of_warp, [4]);
  for (int round = 0; round < 2; ++round) {
    const int sum = __shfl_sync(kAllLanes, round, 0);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    for (int w = 0; w < 4; ++w)
      if (of_warp[w] != round) atomicAdd(wrong, 1);
    if (wait) __syncthreads();
  }
}
TEST(CudaEmulationRaces, AWarpAheadShows) {
  int found = 0;
  for (uint64_t seed = 1; seed < 20; ++seed) {
    cuda_emulation::set_order(seed);
    int wrong[2] = {0, 0};
    launch(two_rounds, dim3(4), dim3(128), 0, nullptr, wrong, true);
    launch(two_rounds, dim3(4), dim3(128), 0, nullptr, wrong + 1, false);
    EXPECT_EQ(wrong[0], 0);
    found += wrong[1] > 0;
  }
  EXPECT_GT(found, 10);
  cuda_emulation::set_order(1);
}

__global__ void dynamic_reverse(int* data, int n) {
  STRIDED_DYNAMIC_SHARED(int, copy);
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) copy[i] = data[i];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) data[i] = copy[n - 1 - i];
}
TEST_P(CudaEmulation, DynamicSharedMemory) {
  std::vector<int> data(100), want(100);
  std::iota(data.begin(), data.end(), 0);
  std::iota(want.rbegin(), want.rend(), 0);
  launch(dynamic_reverse, dim3(1), dim3(32), 100 * sizeof(int), nullptr, data.data(), 100);
  EXPECT_EQ(data, want);
}

__global__ void votes(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  const int count = __syncthreads_count(t % 3 == 0), some = __syncthreads_or(t == 70),
            every = __syncthreads_and(t < 96);
  const int none = __syncthreads_or(t > 200), not_all = __syncthreads_and(t != 5);
  if (t == 0) {
    const int v[] = {count, some, every, none, not_all};
    for (int i = 0; i < 5; ++i) out[i] = v[i];
  }
}
// The arrays of a kernel count when it is asked to have more than 48 KiB: that of dynamic memory alone is below it.
__global__ void both_kinds(int* data, int n) {
  STRIDED_SHARED(int, own, [512]);
  STRIDED_DYNAMIC_SHARED(int, dynamic);
  own[threadIdx.x] = dynamic[n - 1 - static_cast<int>(threadIdx.x)] = static_cast<int>(threadIdx.x);
  __syncthreads();
  data[threadIdx.x] = own[threadIdx.x] + dynamic[n - 1 - static_cast<int>(threadIdx.x)];
}

TEST_P(CudaEmulation, BothKindsOfSharedMemory) {
  for (const size_t bytes : {size_t{39} << 10, size_t{47} << 10, size_t{48} << 10, size_t{225} << 10}) {
    std::vector<int> data(32);
    launch(both_kinds, dim3(1), dim3(32), bytes, nullptr, data.data(), static_cast<int>(bytes / sizeof(int)));
    for (int i = 0; i < 32; ++i) EXPECT_EQ(data[static_cast<size_t>(i)], 2 * i);
  }
  const auto not_asked = [] {
    cuda_emulation::run(dim3(1), dim3(32), size_t{47} << 10, false, [] { both_kinds(nullptr, 12000); });
  };
  EXPECT_THROW(not_asked(), cuda_emulation::Error);
  EXPECT_THROW(launch(both_kinds, dim3(1), dim3(32), size_t{227} << 10, nullptr, nullptr, 100), cuda_emulation::Error);
}

TEST_P(CudaEmulation, BarriersThatVote) {
  int out[5] = {};
  launch(votes, dim3(1), dim3(96), 0, nullptr, out);
  EXPECT_EQ(out[0], 32);
  EXPECT_TRUE(out[1] && out[2] && !out[3] && !out[4]);
}

__global__ void warp_operations(double* sums, unsigned* words) {
  const unsigned t = threadIdx.x, lane = lane_of_thread();
  double s = t;
  for (unsigned step = 16; step > 0; step /= 2) s += __shfl_down_sync(kAllLanes, s, step);
  const unsigned up = __shfl_up_sync(kAllLanes, t, 3), other = __shfl_xor_sync(kAllLanes, t, 5);
  const unsigned from = __shfl_sync(kAllLanes, t, 7), within = __shfl_sync(kAllLanes, t, 1, 8);
  const unsigned ballot = __ballot_sync(kAllLanes, lane % 5 == 0);
  const bool any = __any_sync(kAllLanes, lane == 31), all = __all_sync(kAllLanes, lane < 31);
  if (lane == 0) sums[t / 32] = s;
  const unsigned row[] = {up, other, from, within, ballot, unsigned{any} + 2u * unsigned{all}};
  for (int i = 0; i < 6; ++i) words[6 * t + i] = row[i];
}
TEST_P(CudaEmulation, WarpOperations) {
  std::vector<double> sums(2);
  std::vector<unsigned> words(64 * 6);
  launch(warp_operations, dim3(1), dim3(64), 0, nullptr, sums.data(), words.data());
  EXPECT_EQ(sums, (std::vector<double>{496, 496 + 32 * 32}));
  for (unsigned t = 0; t < 64; ++t) {
    const unsigned lane = t % 32, warp = t - lane;
    const unsigned want[] = {lane < 3 ? t : t - 3, warp + (lane ^ 5), warp + 7, (t & ~7u) + 1, 0x42108421u, 1};
    for (int i = 0; i < 6; ++i) EXPECT_EQ(words[6 * t + i], want[i]) << t << ' ' << i;
  }
}

struct Wide {
  double a;
  int b;
  char c;
};
__global__ void shuffle_structs(Wide* out) {
  const Wide mine{threadIdx.x * 0.5, static_cast<int>(threadIdx.x), static_cast<char>(threadIdx.x)};
  out[threadIdx.x] = shuffle_down(mine, 2);
}
TEST_P(CudaEmulation, ShufflesOfStructs) {
  Wide out[32];
  launch(shuffle_structs, dim3(1), dim3(32), 0, nullptr, out);
  for (int t = 0; t < 30; ++t) EXPECT_TRUE(out[t].a == (t + 2) * 0.5 && out[t].b == t + 2 && out[t].c == t + 2);
}

// Half the lanes of each warp by themselves, the others meanwhile with a mask of their own.
__global__ void partial_masks(unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  if (lane < 8) out[threadIdx.x] = __ballot_sync(0xffu, lane & 1);
  else out[threadIdx.x] = __ballot_sync(0xffffff00u, lane & 1);
}
__global__ void lanes_end(unsigned* out) {
  if (threadIdx.x >= 20) return;
  out[threadIdx.x] = __ballot_sync(kAllLanes, 1);
}
TEST_P(CudaEmulation, MasksAndLanesThatEnd) {
  unsigned out[64];
  launch(partial_masks, dim3(1), dim3(64), 0, nullptr, out);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(out[t], t % 32 < 8 ? 0xaau : 0xaaaaaa00u);
  launch(lanes_end, dim3(1), dim3(24), 0, nullptr, out);
  for (int t = 0; t < 20; ++t) EXPECT_EQ(out[t], 0xfffffu);
}

__global__ void atomics(int* i, unsigned long long* w, float* f, double* d) {
  const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(i, t);
  atomicMax(i + 1, t);
  atomicMin(i + 2, -t);
  atomicOr(i + 3, 1 << (t % 31));
  atomicAnd(i + 4, ~(1 << (t % 31)));
  if (atomicExch(i + 5, 1) == 0) atomicAdd(i + 6, 1);
  atomicAdd(w, 1ull << 33);
  atomicAdd(f, 0.5f);
  for (double seen = *d;;) {  // a product, by compare and swap
    unsigned long long old, fresh;
    const double product = seen * 1.5;
    std::memcpy(&old, &seen, 8);
    std::memcpy(&fresh, &product, 8);
    const unsigned long long now = atomicCAS(reinterpret_cast<unsigned long long*>(d), old, fresh);
    if (now == old) break;
    std::memcpy(&seen, &now, 8);
  }
}
TEST_P(CudaEmulation, Atomics) {
  int i[7] = {0, 0, 0, 0, -1, 0, 0};
  unsigned long long w = 0;
  float f = 0;
  double d = 1;
  launch(atomics, dim3(3), dim3(32), 0, nullptr, i, &w, &f, &d);
  EXPECT_EQ(i[0], 95 * 96 / 2);
  EXPECT_EQ(i[1], 95);
  EXPECT_EQ(i[2], -95);
  EXPECT_EQ(i[3], 0x7fffffff);
  EXPECT_EQ(i[4], static_cast<int>(0x80000000u));
  EXPECT_EQ(i[6], 1);
  EXPECT_EQ(w, 96ull << 33);
  EXPECT_EQ(f, 48.0f);
  EXPECT_NEAR(d, std::pow(1.5, 96), 1e-10 * d);
}

__global__ void some_reach_it(int limit) {
  if (static_cast<int>(threadIdx.x) < limit) __syncthreads();
}
__global__ void two_places() {
  if (threadIdx.x % 2) __syncthreads();
  else __syncthreads();
}
__global__ void not_in_mask() { __ballot_sync(0xf0u, 1); }
__global__ void warp_half_waits() {
  if (threadIdx.x % 2) __syncwarp();
  else __syncthreads();
}
__global__ void crossing() {
  if (threadIdx.x < 16) __ballot_sync(0x00ffffu, 1);
  else __ballot_sync(0xffff8000u, 1);
}
TEST_P(CudaEmulation, WhatAGpuWouldPunishIsAnError) {
  EXPECT_REFUSED("of 64 threads 40 wait at a barrier", launch(some_reach_it, dim3(1), dim3(64), 0, nullptr, 40));
  EXPECT_REFUSED("other threads of the block wait at", launch(two_places, dim3(1), dim3(64), 0, nullptr));
  EXPECT_REFUSED("leaves out the lane itself", launch(not_in_mask, dim3(1), dim3(32), 0, nullptr));
  EXPECT_REFUSED("is stuck", launch(warp_half_waits, dim3(1), dim3(32), 0, nullptr));
  EXPECT_REFUSED("block (0, 0, 0)", launch(crossing, dim3(1), dim3(32), 0, nullptr));
  EXPECT_REFUSED("is not valid", launch(two_places, dim3(1), dim3(2048), 0, nullptr));
  EXPECT_REFUSED("is not valid", launch(two_places, dim3(0), dim3(32), 0, nullptr));
  launch(some_reach_it, dim3(3), dim3(64), 0, nullptr, 64);  // and goes on working
}

// C(64x128) += A(64x16) B(16x128), twice, with at most one rule broken; a and b have the lines of Note [Matrices for
// warpgroup products], 64 of them or, where m (n) is contiguous, 16 for each 64 of m (n).
enum class Rule {
  None,
  ProxyFence,
  RegisterFence,
  ReadEarly,
  Alignment,
  Inside,
  Swizzle,
  Agreement,
  CopyIntoRead,
  WriteIntoRead,
  Wait,
  Whole
};
template <bool along_m, bool along_n>
__global__ void one_product(const Half* a, const Half* b, float* c, Rule broken) {
  STRIDED_DYNAMIC_SHARED_AT(Half, shared, 1024);
  const int t = static_cast<int>(threadIdx.x);
  Half *to_a = shared, *to_b = shared + 64 * 64;
  const auto bring = [&](Half* to, const Half* from, int lines) {
    for (int i = t; i < lines * 8; i += 128) copy_async<16>(to + i / 8 * 64 + (i % 8 ^ i / 8 % 8) * 8, from + i * 8);
  };
  bring(to_a, a, along_m ? 16 : 64);
  bring(to_b, b, along_n ? 32 : 128);
  close_copies();
  wait_copies<0>();
  if (broken != Rule::ProxyFence) fence_async_proxy();
  __syncthreads();
  float sum[64];
  for (float& s : sum) s = 0;
  uint64_t of_a = matrix_descriptor(to_a, along_m ? 2048 : 16, 1024),
           of_b = matrix_descriptor(to_b, along_n ? 2048 : 16, 1024);
  if (broken == Rule::Alignment) of_b += 8;
  if (broken == Rule::Inside) of_b += uint64_t{1} << 42;
  if (broken == Rule::Swizzle) of_a += uint64_t{1} << 62;
  if (broken == Rule::Agreement && t == 77) of_b = of_a;
  if (broken == Rule::Whole && t >= 96) return;
  if (broken != Rule::RegisterFence) open_products(sum);
  multiply_warpgroup<Half, along_m, along_n>(sum, of_a, of_b);
  close_products();
  multiply_warpgroup<Half, along_m, along_n>(sum, of_a, of_b);
  close_products();
  if (broken == Rule::CopyIntoRead && t == 3) copy_async<16>(to_b, b);
  if (broken == Rule::WriteIntoRead && t == 3) to_b[0] = Half(100.0f);
  float early = sum[0];
  if (broken != Rule::Wait) wait_products<0>(sum);
  const int row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
  for (int i = 0; i < 64; ++i) c[(row + i % 4 / 2 * 8) * 128 + i / 4 * 8 + column + i % 2] = sum[i];
  if (broken == Rule::ReadEarly) c[row * 128 + column] = early;
}
template <bool along_m, bool along_n>
int wrong_elements(Rule broken) {
  std::vector<Half> a(64 * 64), b(128 * 64);
  const auto at_a = [](int i, int k) { return along_m ? k * 64 + i : i * 64 + k; };
  const auto at_b = [](int k, int j) { return along_n ? (j / 64 * 16 + k) * 64 + j % 64 : j * 64 + k; };
  for (int k = 0; k < 16; ++k) {
    for (int i = 0; i < 64; ++i) a[at_a(i, k)] = Half(static_cast<float>((i * 7 + k * 3) % 11));
    for (int j = 0; j < 128; ++j) b[at_b(k, j)] = Half(static_cast<float>((j * 5 + k * 2) % 13));
  }
  std::vector<float> c(64 * 128);
  launch(one_product<along_m, along_n>, dim3(1), dim3(128), (64 + 128) * 128, nullptr, a.data(), b.data(), c.data(),
         broken);
  int wrong = 0;
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 128; ++j) {
      float want = 0;
      for (int k = 0; k < 16; ++k) want += 2 * static_cast<float>(a[at_a(i, k)]) * static_cast<float>(b[at_b(k, j)]);
      wrong += !(c[i * 128 + j] == want);
    }
  return wrong;
}
TEST_P(CudaEmulation, ProductsOfWarpgroups) {
  EXPECT_EQ((wrong_elements<false, false>(Rule::None)), 0);
  EXPECT_EQ((wrong_elements<false, true>(Rule::None)), 0);
  EXPECT_EQ((wrong_elements<true, false>(Rule::None)), 0);
  EXPECT_EQ((wrong_elements<true, true>(Rule::None)), 0);
}
TEST_P(CudaEmulation, BrokenRulesOfWarpgroups) {
  const auto broken = [](Rule rule) { return wrong_elements<false, true>(rule); };
  EXPECT_GT(broken(Rule::ReadEarly), 0);
  EXPECT_GT(broken(Rule::WriteIntoRead), 0);
  EXPECT_REFUSED("without a fence.proxy.async since", broken(Rule::ProxyFence));
  EXPECT_REFUSED("not handed over by a wgmma.fence", broken(Rule::RegisterFence));
  EXPECT_REFUSED("descriptor of B begins where no atom", broken(Rule::Alignment));
  EXPECT_REFUSED("B lies outside dynamic shared memory", broken(Rule::Inside));
  EXPECT_REFUSED("does not say 128-byte swizzle", broken(Rule::Swizzle));
  EXPECT_REFUSED("asked for another product", broken(Rule::Agreement));
  EXPECT_REFUSED("to where a wgmma that is under way reads", broken(Rule::CopyIntoRead));
  EXPECT_REFUSED("without waiting for the product", broken(Rule::Wait));
  EXPECT_REFUSED("only 96 threads of a warpgroup asked for", broken(Rule::Whole));
  EXPECT_EQ(broken(Rule::None), 0);
}

TEST(CudaEmulationRuntime, MemoryStreamsEvents) {
  void *a = nullptr, *b = nullptr;
  ASSERT_EQ(cudaMalloc(&a, 64), cudaSuccess);
  ASSERT_EQ(cudaHostAlloc(&b, 64, cudaHostAllocPortable), cudaSuccess);
  EXPECT_TRUE(std::isnan(*static_cast<float*>(a)));
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, static_cast<char*>(a) + 63);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  cudaPointerGetAttributes(&attributes, &attributes);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaMemcpyAsync(a, b, 64, cudaMemcpyHostToDevice, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(a, b, 65, cudaMemcpyHostToDevice, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(b, &attributes, 4, cudaMemcpyDeviceToHost, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  size_t free = 0, total = 0, less = 0;
  cudaMemGetInfo(&free, &total);
  void* c = nullptr;
  EXPECT_EQ(cudaMalloc(&c, total), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&c, 1000), cudaSuccess);
  cudaMemGetInfo(&less, &total);
  EXPECT_EQ(less, free - 1000);
  EXPECT_EQ(cudaFree(b), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(c), cudaSuccess);
  EXPECT_EQ(cudaFree(a), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(b), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
  cudaEvent_t first, second;
  cudaEventCreateWithFlags(&first, 0);
  cudaEventCreateWithFlags(&second, 0);
  cudaEventRecord(first, nullptr);
  cudaEventRecord(second, nullptr);
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, first, second), cudaSuccess);
  EXPECT_GE(ms, 0);
  cudaEventDestroy(first);
  cudaEventDestroy(second);
  cudaGetLastError();
}

}  // namespace
}  // namespace cuda
}  // namespace strided
