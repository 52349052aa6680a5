#include "autograd/fused_gradient.h"

#include <algorithm>

#include "ops/call.h"
#include "ops/shape/view.h"

namespace strided {

// Note [Gradients of fused programs]
// The backward pass of a program runs its calls again, recorded, and then their formulas, call by call. What it did is
// logged the first time, and fused as well where nothing but logged calls made the gradients: the same calls, so the
// same bits. Formulas of elementwise calls and of `where` never look at values; programs that reduce are left alone.
struct FusedGradient {
  std::vector<char> wanted, given;              // of the inputs; of the outputs' gradients
  std::shared_ptr<const FusedProgram> program;  // of the inputs and the gradients that are given; null: there is none
  std::vector<int> from;  // of each input's gradient: an output, or ~k for operand k of the program, or kNone
  static constexpr int kNone = INT32_MAX;
};

namespace {

constexpr size_t kMostGradients = 8;

bool is_same_memory(const Tensor& a, const Tensor& b) {
  return a.data() == b.data() && a.dtype() == b.dtype() && a.shape() == b.shape() && a.strides() == b.strides();
}

// The program of what was logged while `found` were made of `operands`; null where other calls had a part in it.
void fuse_gradient(std::vector<LoggedCall>& calls, const std::vector<Tensor>& operands,
                   const std::vector<Tensor>& found, FusedGradient* gradient) {
  std::vector<Tensor> known = operands;
  // A formula may have another tensor of the same memory: nothing was written to, so it is the one that is known.
  const auto place_of = [&](const Tensor& t) {
    for (size_t i = 0; i < known.size(); ++i)
      if (known[i].impl() == t.impl() || is_same_memory(known[i], t)) return static_cast<int>(i);
    return -1;
  };
  std::vector<std::vector<int>> reads;
  for (LoggedCall& call : calls) {
    reads.emplace_back();
    for (LoggedCall::Value& v : call.in) {
      if (!v.is_tensor) continue;
      const int at = place_of(v.tensor);
      if (at < 0) return;
      v.tensor = known[at];
      reads.back().push_back(at);
    }
    known.push_back(call.out);
  }
  const size_t n = operands.size();
  std::vector<char> needed(known.size());
  std::vector<Tensor> outputs;
  std::vector<int> places;
  for (const Tensor& t : found) {
    int from = FusedGradient::kNone;
    if (t.defined()) {
      const int at = place_of(t);
      if (at < 0) return;
      needed[at] = 1;
      if (at < static_cast<int>(n)) {
        from = ~at;
      } else {
        from = static_cast<int>(std::find(places.begin(), places.end(), at) - places.begin());
        if (from == static_cast<int>(places.size())) {
          places.push_back(at);
          outputs.push_back(known[at]);
        }
      }
    }
    gradient->from.push_back(from);
  }
  std::vector<const LoggedCall*> kept;
  for (size_t i = calls.size(); i-- > 0;) {
    if (!needed[n + i]) continue;
    for (int at : reads[i]) needed[at] = 1;
    kept.push_back(&calls[i]);
  }
  std::reverse(kept.begin(), kept.end());
  if (outputs.empty()) return;
  auto program = std::make_shared<const FusedProgram>(kept, operands, outputs);
  if (program->is_fused()) gradient->program = std::move(program);
}

bool may_fuse_gradient(const FusedProgram& program, const std::vector<Tensor>& operands) {
  if (!program.is_fused() || call_log() || anomaly_mode().failed) return false;
  for (size_t i = 0; i < program.n_calls(); ++i)
    if (program.call(i).kind == LoggedCall::Kind::Reduction) return false;
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (operands[i].data() == operands[k].data()) return false;
  return true;
}

// The gradients of the outputs' `grads` for those inputs that are wanted; undefined for others.
// Call by call.
std::vector<Tensor> gradients_of_calls(const FusedProgram& program, const std::vector<Tensor>& inputs,
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

// The same, by a program of their own where there is one.
std::vector<Tensor> gradients(const FusedProgram& program, const std::vector<Tensor>& inputs,
                              const std::vector<char>& wanted, const std::vector<Tensor>& grads) {
  std::vector<Tensor> operands = inputs;
  std::vector<char> given;
  for (const Tensor& g : grads) {
    given.push_back(g.defined());
    if (g.defined()) operands.push_back(g);
  }
  if (grad_enabled() || !may_fuse_gradient(program, operands))
    return gradients_of_calls(program, inputs, wanted, grads);
  FusedProgram::Gradients& all = program.gradients();
  std::shared_ptr<const FusedGradient> gradient;
  bool full;
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    full = all.made.size() >= kMostGradients;
    for (const auto& made : all.made)
      if (made->wanted == wanted && made->given == given && (!made->program || made->program->fits(operands.data())))
        gradient = made;
  }
  if (gradient && gradient->program) {
    const std::vector<Tensor> outs = gradient->program->run(operands.data());
    std::vector<Tensor> result;
    for (int from : gradient->from)
      result.push_back(from == FusedGradient::kNone ? Tensor() : from < 0 ? operands[~from] : outs[from]);
    return result;
  }
  if (gradient || full) return gradients_of_calls(program, inputs, wanted, grads);
  CallLog log;
  std::vector<Tensor> found;
  {
    const CallLogGuard guard(&log);
    found = gradients_of_calls(program, inputs, wanted, grads);
  }
  auto made = std::make_shared<FusedGradient>();
  made->wanted = wanted;
  made->given = given;
  if (log.writes == 0) fuse_gradient(log.calls, operands, found, made.get());
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.made.push_back(std::move(made));
  return found;
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
                                   [program, wanted, saved = std::move(saved),
                                    counted = SavedTensor::Counted(true)](const std::vector<Tensor>& grads) {
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
