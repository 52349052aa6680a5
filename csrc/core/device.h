// Where the bytes of a storage live. A Device is a value; naming one does not need the hardware.
#pragma once

#include <string>

#include "base/error.h"

namespace strided {

enum class DeviceType : uint8_t { CPU, CUDA, XLA };
constexpr int kNumDeviceTypes = 3;

struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = -1;  // -1: the current one

  bool is_cpu() const { return type == DeviceType::CPU; }
  bool is_cuda() const { return type == DeviceType::CUDA; }
  friend bool operator==(Device a, Device b) { return a.type == b.type && a.index == b.index; }
  friend bool operator!=(Device a, Device b) { return !(a == b); }
};

const char* name_of(DeviceType type);          // "cpu"
std::string to_string(Device device);          // "cuda:1"
Device parse_device(const std::string& text);  // RuntimeError with PyTorch's words when it is none
std::ostream& operator<<(std::ostream& out, Device device);

}  // namespace strided
