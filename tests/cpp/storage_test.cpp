// Storage: owned, borrowed, resized, and on devices that are not there.
#include "core/storage.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/allocator.h"

namespace strided {
namespace {

TEST(Storage, OwnsAlignedMemory) {
  const int64_t before = cpu_memory_stats().allocated;
  {
    Ref<Storage> s = make_ref<Storage>(size_t(1000), Device{});
    EXPECT_EQ(s->nbytes(), 1000u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(s->data()) % kAlignment, 0u);
    EXPECT_FALSE(s->read_only());
    EXPECT_FALSE(s->borrowed());
    EXPECT_GE(cpu_memory_stats().allocated, before + 1000);
    Ref<Storage> other = s;
    EXPECT_EQ(s->use_count(), 2);
  }
  EXPECT_EQ(cpu_memory_stats().allocated, before);
}

TEST(Storage, EmptyHasNoMemory) {
  Storage s(0, Device{});
  EXPECT_EQ(s.data(), nullptr);
  EXPECT_EQ(s.nbytes(), 0u);
}

TEST(Storage, BorrowedMemoryIsGivenBackOnce) {
  int released = 0;
  double values[3] = {1, 2, 3};
  {
    Ref<Storage> s = make_ref<Storage>(
        static_cast<void*>(values), sizeof(values), Device{}, static_cast<void*>(&released),
        [](void* owner) { ++*static_cast<int*>(owner); }, true);
    EXPECT_EQ(s->data(), values);
    EXPECT_TRUE(s->borrowed());
    EXPECT_TRUE(s->read_only());
    EXPECT_THROW(s->resize(8), RuntimeError);
    Ref<Storage> other = s;
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Storage, ResizeKeepsTheCommonBytes) {
  Storage s(16, Device{});
  std::memcpy(s.data(), "0123456789abcdef", 16);
  s.resize(5000);
  EXPECT_EQ(s.nbytes(), 5000u);
  EXPECT_EQ(std::memcmp(s.data(), "0123456789abcdef", 16), 0);
  s.resize(4);
  EXPECT_EQ(std::memcmp(s.data(), "0123", 4), 0);
  s.resize(0);
  s.resize(8);
  EXPECT_NE(s.data(), nullptr);
}

TEST(Storage, FailedResizeLosesNothing) {
  Storage s(4, Device{});
  std::memcpy(s.data(), "0123", 4);
  EXPECT_THROW(s.resize(size_t(1) << 60), OutOfMemoryError);
  EXPECT_EQ(s.nbytes(), 4u);
  EXPECT_EQ(std::memcmp(s.data(), "0123", 4), 0);
}

TEST(Storage, CountsWrites) {
  Storage s(4, Device{});
  EXPECT_EQ(s.version(), 0u);
  EXPECT_EQ(s.last_writer(), nullptr);
  s.bump("add_");
  s.bump("mul_");
  EXPECT_EQ(s.version(), 2u);
  EXPECT_STREQ(s.last_writer(), "mul_");
}

TEST(Storage, DeviceWithoutBackendRaises) {
  EXPECT_THROW(Storage(4, Device{DeviceType::XLA, 0}), RuntimeError);
  EXPECT_THROW(device_memory(Device{DeviceType::XLA, 0}), RuntimeError);
}

TEST(Storage, RegisteredBackendServesItsDevice) {
  static int live = 0;
  register_device_memory(
      DeviceType::XLA,
      {[](size_t n, int index) -> void* {
         ++live;
         EXPECT_EQ(index, 2);
         return new char[n];
       },
       [](void* p, size_t, int) {
         --live;
         delete[] static_cast<char*>(p);
       },
       [] { return 2; }, [](int index) { STRIDED_CHECK(index == 2, RuntimeError, "no such device"); }});
  {
    Storage s(4, Device{DeviceType::XLA, 2}), current(4, Device{DeviceType::XLA, -1});
    EXPECT_EQ(live, 2);
    EXPECT_EQ(current.device().index, 2);
    EXPECT_THROW(Storage(4, Device{DeviceType::XLA, 1}), RuntimeError);
  }
  EXPECT_EQ(live, 0);
  register_device_memory(DeviceType::XLA, {});
}

}  // namespace
}  // namespace strided
