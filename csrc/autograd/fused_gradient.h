// Fused programs with gradients: one node for the whole program.
#pragma once

#include <memory>

#include "autograd/engine.h"
#include "ops/fuse/fused_program.h"

namespace strided {

// program.run, recorded where an input wants a gradient. The backward pass runs the calls again with their own
// formulas, so gradients of every order are those of the calls; Note [Gradients of fused programs] says how fast.
std::vector<Tensor> run_recorded(const std::shared_ptr<const FusedProgram>& program, const std::vector<Tensor>& inputs);

}  // namespace strided
