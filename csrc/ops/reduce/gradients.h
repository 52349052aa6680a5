// The words in which a reduction's struct writes its gradient (backend/reduce.h). All recorded.
#pragma once

#include "ops/operators.h"
#include "ops/reduce/reduction.h"

namespace strided {

using SavedReduction = ReduceSaved<Tensor>;

// Something in the shape of the result, in the shape of what was reduced.
Tensor expanded(const Tensor& g, const SavedReduction& s);
// x, with 0 where `at` is NaN
Tensor zero_at_nan(const Tensor& x, const Tensor& at);
// exp(x - out): the derivatives of log(sum(exp(x)))
Tensor weights_of_exp(const SavedReduction& s);
// Of a product: g times the product of the other elements.
Tensor product_gradient(const Tensor& g, const SavedReduction& s);
// Of an extreme: g in even parts to all elements equal to it.
Tensor shared_among_ties(const Tensor& g, const SavedReduction& s);

}  // namespace strided
