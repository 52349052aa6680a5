#include "backend/backend.h"

#include <type_traits>

namespace strided {
namespace {

// The function that asks, as the parameters of a slot tell it: plans have a name, other slots get one.
template <class First, class... Rest>
const char* asking(const char* slot, const First& first, const Rest&... rest) {
  if constexpr (std::is_base_of_v<OpContext, First>) return first.name;
  else if constexpr (std::is_convertible_v<First, const char*>) return first;
  else if constexpr (sizeof...(Rest) > 0) return asking(slot, rest...);
  else return slot;
}

template <DeviceType type, const char* slot, class F>
struct Empty;
template <DeviceType type, const char* slot, class... A>
struct Empty<type, slot, void (*)(A...)> {
  static void call(A... arguments) {
    const char* function = asking(slot, arguments...);
    STRIDED_THROW(NotImplementedError, function, " on device '", name_of(type), "': its backend has no ", slot);
  }
};

#define X(name, parameters) constexpr char k_##name[] = #name;
STRIDED_BACKEND_SLOTS(X)
#undef X

template <DeviceType type>
constexpr Backend empty_backend() {
  return {
#define X(name, parameters) Empty<type, k_##name, decltype(Backend::name)>::call,
      STRIDED_BACKEND_SLOTS(X)
#undef X
  };
}

}  // namespace

Backend backend_tables[kNumDeviceTypes] = {empty_backend<DeviceType::CPU>(), empty_backend<DeviceType::CUDA>(),
                                           empty_backend<DeviceType::XLA>()};

}  // namespace strided
