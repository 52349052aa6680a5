// Loops that move elements by index and by mask.
#pragma once

namespace strided {

struct KernelTable;
void fill_index_kernels(KernelTable& table);

}  // namespace strided
