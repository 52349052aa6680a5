// The CPU's entry in the tables of backends.
#pragma once

#include "base/cpu_features.h"

namespace strided {

struct KernelTable;

void register_cpu_backend();  // once, before the first operation
// Puts the loops of an instruction set into the table; false where they were not built.
bool fill_kernels(Isa isa, KernelTable& table);
// Puts the kernels for small matrices before the decompositions that the table has by then.
void register_small_decompositions();

}  // namespace strided
