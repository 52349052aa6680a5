#include "core/device.h"

#include <optional>
#include <vector>

namespace strided {
namespace {
struct Defaults {
  std::optional<Device> set;
  std::vector<Device> entered;
};
Defaults& defaults() {
  static thread_local Defaults here;
  return here;
}

#define X(name, text) text,
constexpr const char* kNames[kNumDeviceTypes] = {STRIDED_DEVICE_TYPES(X)};
#undef X
}  // namespace

const char* name_of(DeviceType type) { return kNames[static_cast<int>(type)]; }

std::string to_string(Device device) {
  std::string text = name_of(device.type);
  if (device.index >= 0) text += ":" + std::to_string(device.index);
  return text;
}

Device parse_device(const std::string& text) {
  STRIDED_CHECK(!text.empty(), RuntimeError, "Device string must not be empty");
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const bool is_name =
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string::npos;
  STRIDED_CHECK(is_name && !name.empty(), RuntimeError, "Invalid device string: '", text, "'");
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
  std::string all;
  for (const char* known : kNames) all += (all.empty() ? "" : ", ") + std::string(known);
  STRIDED_THROW(RuntimeError, "Expected one of ", all, " device type at start of device string: ", name);
}

std::ostream& operator<<(std::ostream& out, Device device) { return out << to_string(device); }

const Device* default_device() {
  const Defaults& here = defaults();
  if (!here.entered.empty()) return &here.entered.back();
  return here.set ? &*here.set : nullptr;
}
void set_default_device(const Device* device) {
  defaults().set = device ? std::optional<Device>(*device) : std::nullopt;
}
void enter_device(Device device) { defaults().entered.push_back(device); }
void leave_device() {
  STRIDED_CHECK(!defaults().entered.empty(), RuntimeError, "a device was left that was not entered");
  defaults().entered.pop_back();
}

}  // namespace strided
