#include "autograd/fused_gradient.h"

#include "ops/shape/view.h"

namespace strided {
namespace {

// The gradients of the outputs' `grads` for those inputs that are wanted; undefined for others.
std::vector<Tensor> gradients(const FusedProgram& program, const std::vector<Tensor>& inputs,
                              const std::vector<char>& wanted, const std::vector<Tensor>& grads) {
  const bool create_graph = grad_enabled();
  const EnableGradGuard recording;
  // The derivative is taken by these alone: an input may depend on another one outside the program.
  std::vector<Tensor> x, of;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor t = inputs[i];
    if (wanted[i]) {
      if (create_graph) {
        t = view_as(t, t);
      } else {
        t = make_view(t, t.layout());
        autograd_meta(t).requires_grad = true;
      }
      of.push_back(t);
    }
    x.push_back(std::move(t));
  }
  const std::vector<Tensor> outs = program.run_calls(x.data());
  std::vector<Tensor> from, with;
  for (size_t i = 0; i < outs.size(); ++i) {
    if (!grads[i].defined() || !outs[i].requires_grad()) continue;
    from.push_back(outs[i]);
    with.push_back(grads[i]);
  }
  std::vector<Tensor> result(inputs.size());
  if (from.empty()) return result;
  Backward how;
  how.create_graph = create_graph;
  how.retain_graph = create_graph;
  const std::vector<Tensor> found = run_backward(from, with, of, how);
  for (size_t i = 0, k = 0; i < inputs.size(); ++i)
    if (wanted[i]) result[i] = found[k++];
  return result;
}

}  // namespace

std::vector<Tensor> run_recorded(const std::shared_ptr<const FusedProgram>& program,
                                 const std::vector<Tensor>& inputs) {
  if (!needs_grad(inputs)) return program->run(inputs.data());
  if (!program->is_fused()) return program->run_calls(inputs.data());
  std::vector<Tensor> outs = program->run(inputs.data());
  std::vector<char> wanted;
  for (const Tensor& t : inputs) wanted.push_back(t.requires_grad());
  std::vector<int> outputs;
  for (size_t i = 0; i < outs.size(); ++i)
    if (program->is_differentiable(static_cast<int>(i), wanted)) outputs.push_back(static_cast<int>(i));
  if (outputs.empty()) return outs;
  std::vector<SavedTensor> saved(inputs.begin(), inputs.end());
  const Ref<Node> node = make_node("CompiledBackward0", inputs,
                                   [program, wanted, saved = std::move(saved)](const std::vector<Tensor>& grads) {
                                     std::vector<Tensor> x;
                                     for (const SavedTensor& s : saved) x.push_back(s.get());
                                     std::vector<Tensor> all = grads;
                                     all.resize(static_cast<size_t>(program->n_outputs()));
                                     return gradients(*program, x, wanted, all);
                                   });
  for (int i : outputs) set_history(outs[i], node, i);
  return outs;
}

}  // namespace strided
