// What each elementwise op is in StableHLO.
#pragma once

#include "core/dtype.h"
#include "xla/graph.h"

namespace strided::xla {

// Op number `op` of ElementwiseOps on operands of the compute dtype; null where there is no lowering.
Value lower_elementwise(int op, DType compute, std::vector<Value> in, const double* params);

}  // namespace strided::xla
