#include "backend/kernels.h"

namespace strided {

KernelTable& kernel_table(DeviceType type) {
  static KernelTable* const tables = [] {
    static KernelTable list[kNumDeviceTypes];
    for (DeviceType accelerator : {DeviceType::CUDA, DeviceType::XLA})
      list[static_cast<int>(accelerator)].device = &backend_table(accelerator);
    return list;
  }();
  return tables[static_cast<int>(type)];
}

const KernelTable& kernels(Device device) { return kernel_table(device.type); }

}  // namespace strided
