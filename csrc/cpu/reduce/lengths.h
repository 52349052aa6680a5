// Lengths that the schedule of reductions and their loops agree on.
#pragma once

#include <cstdint>

namespace strided {

constexpr int64_t kFewRows = 32;    // shorter reduced axes are taken across outputs
constexpr int64_t kShortRows = 64;  // shorter contiguous rows are packed, many at once

}  // namespace strided
