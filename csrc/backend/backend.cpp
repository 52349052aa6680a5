#include "backend/backend.h"

#include <type_traits>

namespace strided {
namespace {

template <DeviceType type, const char* slot, class F>
struct Empty;
template <DeviceType type, const char* slot, class First, class... Rest>
struct Empty<type, slot, void (*)(const First&, Rest...)> {
  static_assert(std::is_base_of_v<OpContext, First>, "the first parameter of a slot says which function asks");
  static void call(const First& on, Rest...) {
    STRIDED_THROW(NotImplementedError, on.name, " on device '", name_of(type), "': its backend has no ", slot);
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
