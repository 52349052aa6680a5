// Why no device can be used.
#pragma once

namespace strided {
namespace cuda {

// As the driver says it; empty where there are devices.
const char* device_problem();

}  // namespace cuda
}  // namespace strided
