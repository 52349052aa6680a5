// Sorting, selecting, searching.
#pragma once

namespace strided {

struct KernelTable;
void fill_sort_kernels(KernelTable& table);

}  // namespace strided
