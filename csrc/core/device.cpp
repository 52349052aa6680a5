#include "core/device.h"

namespace strided {
namespace {
constexpr const char* kNames[kNumDeviceTypes] = {"cpu", "cuda", "xla"};
}

const char* name_of(DeviceType type) { return kNames[static_cast<int>(type)]; }

std::string to_string(Device device) {
  std::string text = name_of(device.type);
  if (device.index >= 0) text += ":" + std::to_string(device.index);
  return text;
}

Device parse_device(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  for (int i = 0; i < kNumDeviceTypes; ++i) {
    if (name != kNames[i]) continue;
    Device device{static_cast<DeviceType>(i), -1};
    if (colon == std::string::npos) return device;
    const std::string digits = text.substr(colon + 1);
    const bool number = !digits.empty() && digits.size() <= 3 &&
                        digits.find_first_not_of("0123456789") == std::string::npos &&
                        (digits.size() == 1 || digits[0] != '0');
    STRIDED_CHECK(number && std::stoi(digits) < 128, RuntimeError, "Invalid device string: '", text, "'");
    device.index = static_cast<int8_t>(std::stoi(digits));
    return device;
  }
  STRIDED_THROW(RuntimeError, "Expected one of cpu, cuda, xla device type at start of device string: ", name);
}

std::ostream& operator<<(std::ostream& out, Device device) { return out << to_string(device); }

}  // namespace strided
