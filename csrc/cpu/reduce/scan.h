// Running sums, products and extremes.
#pragma once

namespace strided {

struct KernelTable;
void fill_scan_kernels(KernelTable& table);

}  // namespace strided
