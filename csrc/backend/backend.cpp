#include "backend/backend.h"

#include <type_traits>

#include "backend/bins.h"
#include "backend/network_plans.h"
#include "backend/samplers.h"

namespace strided {

NetworkFunctions network_tables[kNumDeviceTypes];
Samplers sampler_tables[kNumDeviceTypes];
void (*count_in_bins_on[kNumDeviceTypes])(const BinsPlan& plan);
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

// Device meta: the work on tensors without data is none. Slots that say how large a result is cannot say it.
template <const char* slot, class F>
struct Meta;
template <const char* slot, class First, class... Rest>
struct Meta<slot, void (*)(const First&, Rest...)> {
  static void call(const First&, Rest...) {}
  static void refuse(const First& on, Rest...) {
    STRIDED_THROW(NotImplementedError, on.name,
                  " on device 'meta': what the result is made of depends on data, and there is none");
  }
};

constexpr Backend meta_backend() {
  Backend meta = {
#define X(name, parameters) Meta<k_##name, decltype(Backend::name)>::call,
      STRIDED_BACKEND_SLOTS(X)
#undef X
  };
  meta.nonzero_begin = Meta<k_nonzero_begin, decltype(Backend::nonzero_begin)>::refuse;
  meta.unique_rows = Meta<k_unique_rows, decltype(Backend::unique_rows)>::refuse;
  meta.unique_values = Meta<k_unique_values, decltype(Backend::unique_values)>::refuse;
  meta.least_squares = Meta<k_least_squares, decltype(Backend::least_squares)>::refuse;
  return meta;
}

template <DeviceType type>
constexpr Backend initial_backend() {
  if constexpr (type == DeviceType::Meta) return meta_backend();
  else if constexpr (type < DeviceType::Meta) return empty_backend<type>();
  else return {};  // nothing makes tensors there
}

}  // namespace

#define X(name, text) initial_backend<DeviceType::name>(),
Backend backend_tables[kNumDeviceTypes] = {STRIDED_DEVICE_TYPES(X)};
#undef X

}  // namespace strided
