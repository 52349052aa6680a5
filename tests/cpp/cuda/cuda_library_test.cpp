// The shared library of the backend through its table of functions: with two emulated devices, (STRIDED_EMULATE_CUDA=0)
// where there is no library at all, and (STRIDED_TEST_LIBRARY_FOR_DEVICES) the one of nvcc or hipcc, most often without
// a device.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "backend/elementwise.h"
#include "backend/reduce.h"
#include "core/storage.h"
#include "cuda/runtime/library.h"

namespace strided {
namespace {

int devices() { return std::atoi(std::getenv("STRIDED_TEST_DEVICES")); }
#define NEEDS_DEVICES() \
  if (devices() == 0) GTEST_SKIP() << "no emulated devices in this run"

TEST(CudaLibrary, AbsentLibraryIsAClearError) {
  if (devices() > 0) GTEST_SKIP() << "there are devices in this run";
  EXPECT_FALSE(cuda_is_available());
  EXPECT_EQ(cuda_device_count(), 0);
  try {
    cuda_allocate(16, 0);
    FAIL() << "no error";
  } catch (const NoCudaLibraryError& e) {
    EXPECT_EQ(std::string(e.what()).find("Torch not compiled with CUDA enabled: this installation has no CUDA library"),
              0u)
        << e.what();
  }
}

TEST(CudaLibrary, TheOneForDevicesOpensWithoutADevice) {
  if (!std::getenv("STRIDED_TEST_LIBRARY_FOR_DEVICES")) GTEST_SKIP() << "none was built, or this run is about another";
  ASSERT_NO_THROW(cuda_api());
  if (cuda_device_count() > 0) GTEST_SKIP() << "there are devices here";
  EXPECT_EQ(cuda_why_none().find("no device was found ("), 0u) << cuda_why_none();  // then the driver's words
  try {
    resolve_device({DeviceType::CUDA, -1});
    FAIL() << "no error";
  } catch (const RuntimeError& e) {
    EXPECT_EQ(e.what(), "CUDA is not available: " + cuda_why_none() + ". Use device='cpu'.");
  }
}

// Memory of a device for a test.
struct Memory {
  void* data;
  int device;
  size_t bytes;
  Memory(size_t bytes_, int device_) : data(cuda_allocate(bytes_, device_)), device(device_), bytes(bytes_) {}
  ~Memory() { cuda_free(data, bytes, device); }
  char* at() const { return static_cast<char*>(data); }
};

const bool registered = (register_cuda_backend(), true);

// A contiguous plan of n float32.
struct Vectors {
  int64_t n, stride = 4;
  LoopPlan plan;
  Vectors(const char* name, int device, int64_t n_, std::initializer_list<const Memory*> operands) : n(n_) {
    plan.name = name;
    plan.device = device;
    plan.ndim = 1;
    plan.shape = &n;
    for (const Memory* m : operands) plan.operand[plan.n_operands++] = {m->at(), &stride, DType::Float32, false};
  }
};

TEST(CudaLibrary, DevicesAndVersion) {
  NEEDS_DEVICES();
  EXPECT_TRUE(cuda_is_available());
  EXPECT_EQ(cuda_device_count(), devices());
  CudaDeviceInfo info;
  check_cuda(cuda_api().device_info(1, &info));
  EXPECT_NE(std::string(info.name).find("Emulated"), std::string::npos);
  EXPECT_THROW(check_cuda(cuda_api().set_device(devices())), RuntimeError);
}

TEST(CudaLibrary, ComputesOnBothDevices) {
  NEEDS_DEVICES();
  const Backend& k = backend_table(DeviceType::CUDA);
  std::vector<float> host(1000), back(1000);
  std::iota(host.begin(), host.end(), 0.0f);
  for (int device = 0; device < devices(); ++device) {
    const Memory a(4000, device), sum(4000, device), total(4, device);
    k.transfer({{"copy_", 0}, a.data, device, host.data(), -1, 4000, false});
    Vectors v("add", device, 1000, {&sum, &a, &a});
    k.elementwise(v.plan, elementwise_id<Add>, DType::Float32, nullptr);
    k.transfer({{"copy_", 0}, back.data(), -1, sum.data, device, 4000, false});
    for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(back[i], 2 * host[i]);
    ReducePlan r;
    r.name = "sum";
    r.device = device;
    r.data = a.at();
    r.ndim = 1;
    r.shape = &v.n;
    r.strides = &v.stride;
    r.axes = 1;
    r.out[0] = total.at();
    k.reduce(r, reduction_id<Sum>, DType::Float32);
    k.transfer({{"copy_", 0}, back.data(), -1, total.data, device, 4, false});
    EXPECT_EQ(back[0], 499500.0f);
  }
}

// Through the table and with its errors; cuSOLVER's handles are of a device.
TEST(CudaLibrary, DecomposesOnBothDevices) {
  NEEDS_DEVICES();
  const Backend& k = backend_table(DeviceType::CUDA);
  const double host[] = {3, 0, 0, -4};
  for (int device = 0; device < devices(); ++device) {
    const Memory a(32, device), s(16, device), info(4, device);
    backend_table(DeviceType::CUDA).transfer({{"copy_", 0}, a.data, device, host, -1, 32, false});
    DecompositionPlan p;
    p.name = "svdvals";
    p.device = device;
    p.dtype = DType::Float64;
    p.m = p.n = 2;
    p.a = a.data;
    p.info = static_cast<int32_t*>(info.data);
    try {
      k.svd(p, s.data, nullptr, nullptr, false, nullptr);
    } catch (const RuntimeError& e) {
      const std::string what = e.what();
      if (what.find("CUSOLVER_STATUS_INTERNAL_ERROR") != std::string::npos) GTEST_SKIP() << "no LAPACK: " << what;
      FAIL() << what;
    }
    double back[2];
    backend_table(DeviceType::CUDA).transfer({{"copy_", 0}, back, -1, s.data, device, 16, false});
    EXPECT_NEAR(back[0], 4, 1e-14);
    EXPECT_NEAR(back[1], 3, 1e-14);
    p.dtype = DType::Int32;
    EXPECT_THROW(k.svd(p, s.data, nullptr, nullptr, false, nullptr), NotImplementedError);
  }
}

TEST(CudaLibrary, CopiesBetweenDevices) {
  NEEDS_DEVICES();
  std::vector<int> host(100), back(100);
  std::iota(host.begin(), host.end(), 5);
  const Memory a(400, 0), b(400, 1);
  const Backend& k = backend_table(DeviceType::CUDA);
  k.transfer({{"copy_", 0}, a.data, 0, host.data(), -1, 400, false});
  k.transfer({{"copy_", 0}, b.data, 1, a.data, 0, 400, false});
  k.transfer({{"copy_", 0}, back.data(), -1, b.data, 1, 400, false});
  EXPECT_EQ(back, host);
  EXPECT_THROW(k.transfer({{"copy_", 0}, back.data(), -1, host.data(), -1, 400, false}), RuntimeError);
}

TEST(CudaLibrary, ErrorsCrossTheBorder) {
  NEEDS_DEVICES();
  const Backend& k = backend_table(DeviceType::CUDA);
  try {
    cuda_allocate(size_t(1) << 50, 1);
    FAIL() << "no error";
  } catch (const OutOfMemoryError& e) {
    EXPECT_EQ(std::string(e.what()).find("CUDA out of memory. Tried to allocate"), 0u) << e.what();
  }
  const Memory from(40, 1), to(40, 1), index(16, 1);
  Vectors v("and", 1, 10, {&to, &from, &from});
  EXPECT_THROW(k.elementwise(v.plan, elementwise_id<BitwiseAnd>, DType::Float32, nullptr), NotImplementedError);
  // An index out of range: the next call that waits says so, and only that one.
  const int64_t bad[] = {3, 10};
  k.transfer({{"copy_", 0}, index.data, 1, bad, -1, 16, false});
  const int64_t shape = 2, dense = 4, indexed = 0, step = 8;
  IndexPlan p;
  p.name = "index";
  p.device = 1;
  p.ndim = 1;
  p.shape = &shape;
  p.dense = to.at();
  p.dense_strides = &dense;
  p.indexed = from.at();
  p.indexed_strides = &indexed;
  p.index[0] = {reinterpret_cast<const int64_t*>(index.data), &step, 10, 4, 0};
  k.gather(p);
  try {
    check_cuda(cuda_api().synchronize(1));
    FAIL() << "no error";
  } catch (const IndexError& e) {
    EXPECT_STREQ(e.what(), "index: index 10 at position 1 is out of bounds for dimension 0 with size 10 on 'cuda:1'");
  }
  check_cuda(cuda_api().synchronize(1));
  check_cuda(cuda_api().synchronize(0));
}

TEST(CudaLibrary, StreamsEventsStatistics) {
  NEEDS_DEVICES();
  const CudaApi& api = cuda_api();
  CudaStream stream = nullptr, current = nullptr;
  check_cuda(api.pool_stream(1, 0, &stream));
  check_cuda(api.set_current_stream(1, stream));
  check_cuda(api.current_stream(1, &current));
  EXPECT_EQ(current, stream);
  CudaEvent begin, end;
  check_cuda(api.make_event(1, true, &begin));
  check_cuda(api.make_event(1, true, &end));
  check_cuda(api.record_event(begin, 1, stream));
  const Memory m(1 << 20, 1);
  check_cuda(api.record_event(end, 1, stream));
  check_cuda(api.wait_event(end, 0, nullptr));
  check_cuda(api.synchronize_event(end, 1));
  bool done = false;
  check_cuda(api.event_done(end, &done));
  EXPECT_TRUE(done);
  check_cuda(api.stream_done(1, stream, &done));
  EXPECT_TRUE(done);
  double ms = -1;
  check_cuda(api.elapsed_milliseconds(begin, end, &ms));
  EXPECT_GE(ms, 0);
  check_cuda(api.destroy_event(begin));
  check_cuda(api.destroy_event(end));
  check_cuda(api.set_current_stream(1, nullptr));
  CudaMemoryStats stats;
  check_cuda(api.memory_stats(1, &stats));
  EXPECT_GE(stats.allocated, size_t(1) << 20);
  EXPECT_GE(stats.reserved, stats.allocated);
  size_t free = 0, total = 0;
  check_cuda(api.memory_info(1, &free, &total));
  EXPECT_LE(free, total);
}

TEST(CudaLibrary, SetElementsAndRandom) {
  NEEDS_DEVICES();
  const Backend& k = backend_table(DeviceType::CUDA);
  const char mask[] = {0, 1, 1, 0, 1};
  const Memory m(5, 0), positions(24, 0), numbers(40, 0);
  k.transfer({{"copy_", 0}, m.data, 0, mask, -1, 5, false});
  void* handle = nullptr;
  int64_t count = 0, at[3];
  k.nonzero_begin({"nonzero", 0}, m.at(), 5, &handle, &count);
  ASSERT_EQ(count, 3);
  k.nonzero_write({"nonzero", 0}, handle, positions.at(), nullptr, 0);
  k.nonzero_end({"nonzero", 0}, handle);
  k.transfer({{"copy_", 0}, at, -1, positions.data, 0, 24, false});
  EXPECT_TRUE(at[0] == 1 && at[1] == 2 && at[2] == 4);
  RandomSource source{nullptr, 1};
  RandomFill uniform{};
  uniform.kind = RandomFill::Uniform;
  k.random_fill({"rand", 0}, uniform, DType::Float32, numbers.data, 10, source);
  EXPECT_EQ(source.used, 3u);
  float f[10];
  k.transfer({{"copy_", 0}, f, -1, numbers.data, 0, 40, false});
  for (float x : f) EXPECT_TRUE(x >= 0 && x < 1);
}

}  // namespace
}  // namespace strided
