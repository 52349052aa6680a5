// Whole numbers, and items that are moved without a look at them.
#pragma once

#include <cstdint>

#include "base/macros.h"

namespace strided {

// Sixteen bytes of any alignment.
struct Item16 {
  uint64_t a, b;
};

inline namespace STRIDED_ISA {

STRIDED_HD int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace STRIDED_ISA
}  // namespace strided
