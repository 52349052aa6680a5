// Where the bytes of a storage live. A Device is a value; naming one does not need the hardware.
#pragma once

#include <string>

#include "base/error.h"

namespace strided {

// Tensors on Meta have shapes, dtypes and strides, and no data.
enum class DeviceType : uint8_t { CPU, CUDA, XLA, Meta };
constexpr int kNumDeviceTypes = 4;

struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = -1;  // -1: the current one

  bool is_cpu() const { return type == DeviceType::CPU; }
  bool is_cuda() const { return type == DeviceType::CUDA; }
  bool is_meta() const { return type == DeviceType::Meta; }
  friend bool operator==(Device a, Device b) { return a.type == b.type && a.index == b.index; }
  friend bool operator!=(Device a, Device b) { return !(a == b); }
};

const char* name_of(DeviceType type);          // "cpu"
std::string to_string(Device device);          // "cuda:1"
Device parse_device(const std::string& text);  // RuntimeError with PyTorch's words when it is none
std::ostream& operator<<(std::ostream& out, Device device);

// Where this thread's factories make tensors that they are given no device for: null where nobody has said, which means
// the CPU. What was entered last and not left counts; before that, what was set.
const Device* default_device();
inline Device device_in_effect() {
  const Device* chosen = default_device();
  return chosen ? *chosen : Device{};
}
void set_default_device(const Device* device);
void enter_device(Device device);
void leave_device();

}  // namespace strided
