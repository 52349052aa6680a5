// The operations of the CPU: one function for each slot of the seam (backend/backend.h), which says what each does.
#pragma once

#include "backend/backend.h"

namespace strided {
namespace cpu {

#define X(name, parameters) void name parameters;
STRIDED_KERNEL_SLOTS(X)
#undef X

}  // namespace cpu
}  // namespace strided
