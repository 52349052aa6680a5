// What a logged call says about its operation, and the call again.
#pragma once

#include "ops/call_log.h"

namespace strided {

const char* name_of(const LoggedCall& call);
// Of a reduction: the result for a row depends on that row alone, not on how many rows are reduced at once, so that
// blocks of rows give the bits that the operation gives. Sums of 16-bit floats and complex numbers do not say so.
bool reduces_by_row(const LoggedCall& call);
// On other operands: one tensor for each tensor of `in`, in order. Recorded for autograd.
Tensor call_again(const LoggedCall& call, const Tensor* tensors);

}  // namespace strided
