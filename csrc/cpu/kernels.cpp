#include "cpu/kernels.h"

namespace strided {

KernelTable& kernel_table() {
  static KernelTable table;
  return table;
}

}  // namespace strided
