// Zeroing on one side of a diagonal.
#pragma once

namespace strided {

struct KernelTable;
void fill_triangle_kernels(KernelTable& table);

}  // namespace strided
