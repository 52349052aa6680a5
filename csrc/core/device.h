// Where the bytes of a storage live. A Device is a value; naming one does not need the hardware.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace strided {

// The types of devices and their names. Tensors on Meta have shapes, dtypes and strides, and no data. The types after
// it are PyTorch's, for programs that ask whether a device is one of them: no backend makes tensors there.
#define STRIDED_DEVICE_TYPES(X) \
  X(CPU, "cpu") \
  X(CUDA, "cuda") \
  X(XLA, "xla") \
  X(Meta, "meta") \
  X(IPU, "ipu") \
  X(XPU, "xpu") \
  X(MKLDNN, "mkldnn") \
  X(OpenGL, "opengl") \
  X(OpenCL, "opencl") \
  X(IDEEP, "ideep") \
  X(HIP, "hip") \
  X(VE, "ve") \
  X(FPGA, "fpga") \
  X(MAIA, "maia") \
  X(Lazy, "lazy") \
  X(Vulkan, "vulkan") \
  X(MPS, "mps") \
  X(HPU, "hpu") \
  X(MTIA, "mtia") \
  X(PrivateUse, "privateuseone")

#define X(name, text) name,
enum class DeviceType : uint8_t { STRIDED_DEVICE_TYPES(X) };
#undef X
#define X(name, text) +1
constexpr int kNumDeviceTypes = STRIDED_DEVICE_TYPES(X);
#undef X

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

// The device of tensors that this thread's factories make without a device= of their own: that of the innermost
// `with torch.device(...)`, else the one that was set; null, which means the CPU, where there is neither.
const Device* default_device();
inline Device device_in_effect() {
  const Device* chosen = default_device();
  return chosen ? *chosen : Device{};
}
void set_default_device(const Device* device);
void enter_device(Device device);
void leave_device();

}  // namespace strided
