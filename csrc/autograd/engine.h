// The backward pass: nodes run from the newest to the oldest, gradients that meet are added.
#pragma once

#include "ops/record.h"

namespace strided {

// Runs the graph of `outputs` with the gradients `grads` (undefined: ones, for a single element). With `inputs` empty the
// leaves' .grad is added to; else nothing is, and the gradients of `inputs` are returned (undefined: none flowed).
std::vector<Tensor> run_backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grads, bool retain_graph, bool create_graph,
                                 const std::vector<Tensor>& inputs);

}  // namespace strided
