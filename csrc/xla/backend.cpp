#include "xla/backend.h"

#include "xla/memory.h"
#include "xla/plugin.h"
#include "xla/slots.h"

namespace strided {
namespace {

// One recorder at a time.
template <auto F, class Type = decltype(F)>
struct Slot;
template <auto F, class... A>
struct Slot<F, void (*)(A...)> {
  static void call(A... arguments) {
    const xla::Lock lock;
    F(arguments...);
  }
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
