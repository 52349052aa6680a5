// The CPU's entry in the tables of backends.
#pragma once

namespace strided {

void register_cpu_backend();  // once, before the first operation
// Puts the kernels for small matrices before the decompositions that the table has by then.
void register_small_decompositions();

}  // namespace strided
