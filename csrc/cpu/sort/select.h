// Selection from rows by keys (Note [Keys] in backend/sort_keys.h): SelectKernels (cpu/kernels.h).
#pragma once

#include "cpu/kernels.h"

namespace strided {

constexpr int64_t select_words(int64_t n) { return 2 * (n + 2 * kSortSlack); }

}  // namespace strided
