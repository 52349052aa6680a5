// The backend `xla`: operations are recorded as StableHLO, and run by a PJRT plugin (docs/xla.md).
#pragma once

#include <string>

namespace strided {

// Fills the table of device type XLA. find_plugin() gives the path of a plugin, or an empty string; it is asked when a
// device is first wanted, and must not raise.
void register_xla_backend(std::string (*find_plugin)());
void clear_xla_backend();  // for tests: the slots are empty again

}  // namespace strided
