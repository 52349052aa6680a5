// The CPU's functions of networks (backend/network_plans.h).
#pragma once

#include "backend/network_plans.h"

namespace strided {
namespace cpu {

#define X(name, Plan) void name(const Plan& plan);
STRIDED_NETWORK_FUNCTIONS(X)
#undef X

}  // namespace cpu
}  // namespace strided
