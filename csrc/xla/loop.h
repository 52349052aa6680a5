// Loops of a program, recorded once.
#pragma once

#include <functional>

#include "xla/ops.h"

namespace strided::xla {

// Note [Loops]
// `condition` and `body` are called once, with values that stand for those of a step, and what they make is written as
// regions of a stablehlo.while. They see the rest of the program only through these values: what else they use must be
// made of constants, and is computed again inside.
using Values = std::vector<Value>;
Values loop(const Values& start, const std::function<Value(const Values&)>& condition,
            const std::function<Values(const Values&)>& body);
// body(i, values) for i = 0 ... steps - 1, an int64 without axes.
Values repeat(int64_t steps, const Values& start, const std::function<Values(const Value& i, const Values&)>& body);

// The part of `sizes` that begins at `start`, int64 numbers; it is moved inside where it would stand out.
Value slice_at(const Value& x, const Values& start, const Dims& sizes);
Value update_at(const Value& x, const Value& part, const Values& start);

}  // namespace strided::xla
