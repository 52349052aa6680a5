#include "xla/backend.h"

#include "xla/calls.h"
#include "xla/memory.h"
#include "xla/plugin.h"
#include "xla/slots.h"

namespace strided {
namespace {

template <class Void, class... A>
struct Described : std::false_type {};
template <class... A>
struct Described<std::void_t<decltype(describe(std::declval<xla::Call&>(), std::declval<A>()...))>, A...>
    : std::true_type {};
template <class Plan, class... A>
int device_of(const Plan& plan, const A&...) {
  return plan.device;
}

// One recorder at a time.
template <auto F, class Type = decltype(F)>
struct Slot;
template <auto F, class... A>
struct Slot<F, void (*)(A...)> {
  static void call(A... arguments) {
    const xla::Lock lock;
    if constexpr (Described<void, A...>::value) {
      xla::Call call(&form, device_of(arguments...));
      if (describe(call, arguments...)) {
        const auto lower = [&] { F(arguments...); };
        return call.record(std::cref(lower));
      }
    }
    F(arguments...);
  }
  static constexpr char form = 0;
};

Backend empty;

}  // namespace

void clear_xla_backend() { backend_table(DeviceType::XLA) = empty; }

void register_xla_backend(std::string (*find_plugin)()) {
  xla::set_plugin_finder(find_plugin);
  Backend& table = backend_table(DeviceType::XLA);
  empty = table;
#define X(name) table.name = Slot<&xla::name>::call;
  STRIDED_XLA_SLOTS(X)
#undef X
  xla::register_memory();
}

}  // namespace strided
