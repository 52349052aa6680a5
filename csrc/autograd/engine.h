// The backward pass: nodes run from the newest to the oldest; gradients that arrive at the same place are added.
#pragma once

#include <functional>

#include "ops/record.h"

namespace strided {

struct Backward {
  bool retain_graph = false;
  bool create_graph = false;  // the gradients can be differentiated again
  bool accumulate = false;    // with inputs: their .grad is added to as well
};

// Runs the graph of `outputs` with the gradients `grads` (undefined: ones, for a single element). With `inputs` empty
// the leaves' .grad is added to; else the gradients of `inputs` are returned (undefined: none flowed), and only nodes
// that lead to them run.
// A graph may be used by one pass at a time; passes over different graphs may run in different threads, also when they
// end at the same leaves.
std::vector<Tensor> run_backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grads,
                                 const std::vector<Tensor>& inputs, const Backward& how);

// What one node makes of the gradients of its outputs (undefined: none), outside of a pass: no hooks are called,
// nothing is freed, and the result is recorded where gradients are. A leaf's node adds to .grad, and gives nothing.
TensorList call_node(Node& node, TensorList grads);

// A backend may set it. Called before a pass begins and when it has ended, with the device of its first gradient unless
// that is the CPU.
extern void (*around_backward)(Device device, bool begins);

// For hooks on several tensors: the number of the pass that runs on this thread (0: none does), and how many of the
// hooks with these ids it will call.
int64_t pass_number();
int64_t count_hooks(const Dims& ids);
// The node that the pass on this thread has come to, from its first hook to its last; null outside of a pass.
Node* node_of_pass();
// Calls f when the pass that runs on this thread has ended: of passes within passes the innermost. RuntimeError where
// none runs.
void call_after_pass(std::function<void()> f);
// False within a pass, or a pass around it, that gives the gradients of some tensors only.
bool pass_fills_leaves();

// Anomaly mode (detect_anomaly): `failed` is called before an error leaves a node that has a trace; with check_nan a
// gradient that is NaN is such an error. null: off.
struct AnomalyMode {
  void (*failed)(const Node& node) = nullptr;
  bool check_nan = true;
};
AnomalyMode& anomaly_mode();

}  // namespace strided
