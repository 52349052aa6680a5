#include "autograd/engine.h"

#include <algorithm>
#include <atomic>

#include "autograd/ready_queue.h"
#include "core/profile.h"
#include "ops/copy.h"
#include "ops/operators.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"
#include "tensor/foreign.h"

namespace strided {

void (*around_backward)(Device device, bool begins) = nullptr;

namespace {

// Formulas may give a gradient in another shape and dtype than its value has. This brings it to those of the value: it
// sums over axes that were broadcast, casts, takes the real part for a real value. A smaller gradient is expanded.
Tensor fit(Tensor grad, const Node::Output& want) {
  if (is_batch_of_gradients(grad)) {
    const bool fits = grad.shape() == want.shape && grad.dtype() == want.dtype;
    return fits ? grad : foreign_gradients.fit_batch(grad, want.shape, want.dtype);
  }
  if (is_foreign_gradient(grad, want.device)) {  // Note [Gradients whose values are elsewhere]
    STRIDED_CHECK(grad.shape() == want.shape && grad.dtype() == want.dtype, RuntimeError, "a sparse gradient of shape ",
                  grad.shape(), " and dtype torch.", name_of(grad.dtype()), " is not of the shape ", want.shape,
                  " and dtype torch.", name_of(want.dtype), " of its tensor");
    return grad;
  }
  if (grad.shape() != want.shape) {
    const int lead = grad.ndim() - want.shape.ndim();
    Dims axes;
    bool fits = lead >= 0;
    for (int i = 0; fits && i < grad.ndim(); ++i) {
      if (i < lead || (want.shape[i - lead] == 1 && grad.size(i) != 1)) axes.push_back(i);
      else fits = grad.size(i) == want.shape[i - lead];
    }
    if (!fits) {
      grad = expand(grad, want.shape);
    } else {
      if (!axes.empty()) grad = sum(grad, axes, true, {});
      if (lead > 0) grad = reshape(grad, want.shape);
    }
  }
  if (grad.dtype() != want.dtype && !want.any_dtype) {
    if (is_complex(grad.dtype()) && !is_complex(want.dtype)) grad = real(grad);
    grad = to_dtype(grad, want.dtype);
  }
  return grad;
}

// Raises where the gradient that a user's backward returned does not broadcast to the shape of its input, is on another
// device, or is complex for a real input.
void check_user_gradient(const Node& node, size_t i, const Tensor& grad, const Node::Output& want) {
  const int lead = grad.ndim() - want.shape.ndim();
  bool fits = lead >= 0;
  for (int k = std::max(lead, 0); fits && k < grad.ndim(); ++k)
    fits = want.shape[k - lead] == 1 || want.shape[k - lead] == grad.size(k);
  STRIDED_CHECK(fits, RuntimeError, "Function ", node.name(), " returned an invalid gradient at index ", i, " - got ",
                grad.shape(), " but expected shape compatible with ", want.shape);
  STRIDED_CHECK(fits_device(grad, want.device), RuntimeError, "Function ", node.name(),
                " returned an invalid gradient at index ", i, " - expected device ", want.device, " but got ",
                grad.device());
  STRIDED_CHECK(is_complex(want.dtype) || !is_complex(grad.dtype()), RuntimeError, "Function ", node.name(),
                " returned an invalid gradient at index ", i, " - expected a real gradient of a real input but got ",
                grad.dtype());
}

bool one_is_foreign(const Tensor& a, const Tensor& b, Device device) {
  return is_foreign_gradient(a, device) || is_foreign_gradient(b, device);
}
Tensor sum_of(const Tensor& a, const Tensor& b, Device device) {
  return one_is_foreign(a, b, device) ? foreign_gradients.add(a, b, false) : a + b;
}

void add_to(Tensor& slot, Tensor grad, Device device) {
  if (!slot.defined()) slot = std::move(grad);
  else if (one_is_foreign(slot, grad, device)) slot = foreign_gradients.add(slot, grad, false);
  else if (!grad_enabled() && is_uniquely_owned(slot)) elementwise_<Add>(slot, grad);
  else if (!grad_enabled() && is_uniquely_owned(grad)) slot = elementwise_<Add>(grad, slot);
  else slot = slot + grad;
}

// Calls around_backward before and after a pass.
class AroundBackwardGuard {
 public:
  explicit AroundBackwardGuard(Device device) : device_(device), wanted_(around_backward && !device.is_cpu()) {
    if (wanted_) around_backward(device_, true);
  }
  ~AroundBackwardGuard() {
    try {
      if (wanted_) around_backward(device_, false);
    } catch (const std::exception&) {  // the device has failed, which the next call of it says
    }
  }
  AroundBackwardGuard(const AroundBackwardGuard&) = delete;
  AroundBackwardGuard& operator=(const AroundBackwardGuard&) = delete;

 private:
  const Device device_;
  const bool wanted_;
};

struct UnusedGuard {
  const uint64_t before = unused_gradients;
  explicit UnusedGuard(uint64_t unused) { unused_gradients = unused; }
  ~UnusedGuard() { unused_gradients = before; }
};

// Whether a node only hands on undefined gradients. User functions run in any case: their backward may do other work.
bool gives_nothing(const Node& node, const TensorList& grads) {
  return !node.is_user_defined() &&
         std::none_of(grads.begin(), grads.end(), [](const Tensor& grad) { return grad.defined(); });
}

bool takes_samples(const Node& node, const TensorList& grads) {
  return !node.is_user_defined() && std::any_of(grads.begin(), grads.end(), is_batch_of_gradients);
}
TensorList apply_to_samples(Node& node, const TensorList& grads) {
  std::vector<TensorList> results;
  for (TensorList& sample : foreign_gradients.samples(grads)) {
    TensorList passed = node.apply(sample);
    for (size_t i = 0; i < passed.size() && i < node.next.size(); ++i) {
      const Edge& edge = node.next[i];
      if (edge.node && passed[i].defined()) passed[i] = fit(std::move(passed[i]), edge.node->output(edge.input));
    }
    results.push_back(std::move(passed));
  }
  return foreign_gradients.join(grads, results);
}

void fill_undefined(const Node& node, TensorList& grads) {
  if (node.takes_undefined() || gives_nothing(node, grads)) return;
  for (int i = 0; i < node.num_outputs(); ++i)
    if (!grads[i].defined()) grads[i] = zeros(node.output(i).shape, node.output(i).dtype, node.output(i).device);
}
TensorList gradients_of_inputs(Node& node, TensorList& grads) {
  if (gives_nothing(node, grads)) return TensorList(node.next.size());
  return takes_samples(node, grads) ? apply_to_samples(node, grads) : node.apply(grads);
}

struct Capture {
  Edge edge;
  int index;  // of the input
};

class BackwardPass {
 public:
  BackwardPass(const std::vector<Tensor>& inputs, const Backward& how)
      : fills_leaves(inputs.empty() && (!current || current->fills_leaves)),
        how_(how),
        inputs_(inputs),
        runs_(how.accumulate ? kLeads | kIsInput : kLeads),
        result_(inputs.size()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      STRIDED_CHECK(inputs[i].requires_grad(), RuntimeError, "One of the differentiated Tensors does not require grad");
      captures_.push_back({gradient_edge(inputs[i]), static_cast<int>(i)});
    }
  }

  void start(const Tensor& out, int i, Tensor grad) {
    STRIDED_CHECK(out.requires_grad(), RuntimeError, "element ", i,
                  " of tensors does not require grad and does not have a grad_fn");
    if (!grad.defined()) {
      STRIDED_CHECK(out.numel() == 1, RuntimeError, "grad can be implicitly created only for scalar outputs");
      STRIDED_CHECK(!is_complex(out.dtype()), RuntimeError,
                    "grad can be implicitly created only for real scalar outputs but got torch.", name_of(out.dtype()));
      grad = ones(out.shape(), out.dtype(), out.device());
    } else {
      STRIDED_CHECK(grad.shape() == out.shape(), RuntimeError, "Mismatch in shape: grad_output[", i,
                    "] has a shape of torch.Size(", grad.shape(), ") and output[", i, "] has a shape of torch.Size(",
                    out.shape(), ").");
      STRIDED_CHECK(fits_device(grad, out.device()), RuntimeError, "backward: the gradient is on ", grad.device(),
                    ", the output on ", out.device());
      STRIDED_CHECK(is_complex(grad.dtype()) == is_complex(out.dtype()), RuntimeError,
                    "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                    "dtype: grad_output[",
                    i, "] has a dtype of torch.", name_of(grad.dtype()), " and output[", i, "] has a dtype of torch.",
                    name_of(out.dtype()), ".");
    }
    roots_.push_back({gradient_edge(out), std::move(grad)});
  }

  std::vector<Tensor> run() {
    struct Current {
      BackwardPass* before;
      ~Current() { current = before; }
    } restore{current};
    current = this;
    const AroundBackwardGuard around(roots_.empty() ? Device{} : roots_[0].second.device());
    if (!captures_.empty()) find_needed();
    for (auto& [edge, grad] : roots_)
      if (is_needed(edge.node.get())) deliver(edge, std::move(grad));
    Ref<Node> node;
    TensorList grads;
    while (frontier_.pop(&node, &grads)) {
      now = node.get();
      step(*node, grads);
    }
    now = nullptr;
    for (size_t i = 0; i < after_.size(); ++i) {  // one may ask for another
      const auto f = std::move(after_[i]);
      f();
    }
    return std::move(result_);
  }

  void call_after(std::function<void()> f) { after_.push_back(std::move(f)); }

  // Counts the tensor hooks with these ids that this pass will call. An output of a node is known by its address.
  int64_t count_hooks(const Dims& ids) {
    PointerMap seen;
    std::vector<Node*> stack;
    const auto visit = [&](const Edge& edge) {
      if (!edge.node || !is_needed(edge.node.get())) return;
      seen.set(&edge.node->output(edge.input), 1);
      if (seen.set(edge.node.get(), 1)) stack.push_back(edge.node.get());
    };
    int64_t count = 0;
    const auto has_id = [&](const Ref<Hook>& hook) {
      return std::find(ids.begin(), ids.end(), hook->id()) != ids.end();
    };
    std::vector<Node*> hooked;
    for (const auto& root : roots_) visit(root.first);
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      for (const Edge& edge : node->next) visit(edge);
      if (node->is_accumulator()) {
        if (const auto& meta = accumulated_leaf(*node).impl()->autograd)
          count += std::count_if(meta->hooks.begin(), meta->hooks.end(), has_id);
      } else if (node->hooks_or_null()) {
        hooked.push_back(node);
      }
    }
    for (Node* node : hooked)
      for (const auto& [output, list] : node->hooks().tensor)
        if (seen.find(&node->output(output))) count += std::count_if(list.begin(), list.end(), has_id);
    return count;
  }
  static thread_local BackwardPass* current;
  const bool fills_leaves;  // neither this pass nor one around it returns the gradients of chosen tensors
  const int64_t number = ++last_number;
  Node* now = nullptr;  // whose hooks and formula run

 private:
  // Marks the nodes that lead to an input, which only a node newer than the oldest input can. Depth first: each node is
  // on the stack once before its children and once after them.
  void find_needed() {
    uint64_t oldest = UINT64_MAX;
    for (const Capture& c : captures_) {
      oldest = std::min(oldest, c.edge.node->sequence);
      mark(c.edge.node.get(), kIsInput);
    }
    std::vector<std::pair<Node*, bool>> stack;
    for (const auto& root : roots_) stack.push_back({root.first.node.get(), false});
    while (!stack.empty()) {
      auto [node, up] = stack.back();
      stack.pop_back();
      if (up) {
        bool leads = false;
        for (const Edge& edge : node->next)
          leads = leads || (edge.node && marks_.find(edge.node.get()) & (kIsInput | kLeads));
        if (leads) mark(node, kLeads);
        continue;
      }
      if (node->sequence < oldest || marks_.find(node) & kSeen) continue;
      mark(node, kSeen);
      stack.push_back({node, true});
      for (const Edge& edge : node->next)
        if (edge.node) stack.push_back({edge.node.get(), false});
    }
  }
  enum Mark { kSeen = 1, kIsInput = 2, kLeads = 4 };
  void mark(const Node* node, Mark m) { marks_.set(node, marks_.find(node) | m); }
  bool is_needed(Node* node) { return captures_.empty() || marks_.find(node) & (kIsInput | kLeads); }
  uint64_t unused_of(const Node& node) {
    uint64_t unused = 0;
    if (!captures_.empty())
      for (size_t i = 0; i < node.next.size() && i < 64; ++i)
        if (!node.next[i].node || !is_needed(node.next[i].node.get())) unused |= uint64_t(1) << i;
    return unused;
  }

  void deliver(const Edge& edge, Tensor grad) {
    const Node::Output& want = edge.node->output(edge.input);
    grad = fit(std::move(grad), want);
    if (!edge.node->is_accumulator() && !edge.node->is_user_defined() && is_foreign_gradient(grad, want.device) &&
        !is_batch_of_gradients(grad)) {
      STRIDED_CHECK(!foreign_gradients.dispatches(grad), NotImplementedError, "backward: ", edge.node->name(),
                    " is of plain tensors; its gradient here is an object of a class with a __torch_dispatch__");
      grad = foreign_gradients.add(zeros(want.shape, want.dtype, want.device), grad, true);
    }
    add_to(frontier_.slot(edge.node, edge.input), std::move(grad), want.device);
  }

  // Calls f for the hooks that the list has now. A hook may add and remove others: added ones are called from the next
  // pass on, removed ones are called in this pass still.
  template <class F>
  static void for_each_hook(const std::vector<Ref<Hook>>& list, F f) {
    if (list.empty()) return;
    std::vector<Ref<Hook>> now;
    for (const Ref<Hook>& hook : list)
      if (Ref<Hook> kept = list.size() > 1 ? hook->as_it_is() : hook) now.push_back(std::move(kept));
    for (const Ref<Hook>& hook : now) f(*hook);
  }

  static void call_tensor_hooks(const std::vector<Ref<Hook>>& list, Tensor& grad) {
    for_each_hook(list, [&](Hook& hook) {
      TensorList one;
      one.push_back(std::move(grad));
      hook.call(one, nullptr);
      grad = std::move(one[0]);
    });
  }

  void step(Node& node, TensorList& grads) {
    const bool at_leaf = node.is_accumulator();
    if (at_leaf) {
      const auto& meta = accumulated_leaf(node).impl()->autograd;
      if (meta) call_tensor_hooks(meta->hooks, grads[0]);
    }
    if (NodeHooks* hooks = node.hooks_or_null()) {
      for (size_t i = 0, n = hooks->tensor.size(); i < n; ++i)
        call_tensor_hooks(hooks->tensor[i].list, grads[hooks->tensor[i].output]);
      for (size_t i = 0; i < hooks->retained.size(); ++i)
        if (const Ref<GradBox> box = hooks->retained[i].box; box->wanted)
          if (const Tensor& g = grads[hooks->retained[i].output]; g.defined())
            keep(box->grad, g, node.output(hooks->retained[i].output).device);
    }
    for (const Capture& c : captures_)
      if (c.edge.node.get() == &node && grads[c.edge.input].defined()) {
        result_[c.index] = grads[c.edge.input];
        if (how_.accumulate && !at_leaf) {
          const Tensor& t = inputs_[c.index];  // backward(inputs=[not a leaf])
          AutogradMeta& meta = autograd_meta(t);
          keep(meta.retained ? meta.retained->grad : meta.grad, grads[c.edge.input], t.device());
        }
      }
    if (at_leaf ? !(captures_.empty() || how_.accumulate) : !captures_.empty() && !(marks_.find(&node) & runs_)) return;
    if (NodeHooks* hooks = node.hooks_or_null())
      for_each_hook(hooks->pre, [&](Hook& hook) { hook.call(grads, nullptr); });
    if (at_leaf) accumulate(node, grads);
    else apply(node, grads);
  }

  void accumulate(Node& node, TensorList& grads) {
    const Tensor leaf = accumulated_leaf(node);
    NodeHooks* hooks = node.hooks_or_null();
    TensorList kept;
    if (hooks && !hooks->post.empty()) kept = grads;
    if (grads[0].defined() && leaf.requires_grad()) node.apply(grads);  // hooks may have taken either away
    if (const auto& meta = leaf.impl()->autograd)
      for_each_hook(meta->post_accumulate, [&](Hook& hook) {
        TensorList one;
        one.push_back(leaf);
        hook.call(one, nullptr);
      });
    TensorList none;
    if (hooks) for_each_hook(hooks->post, [&](Hook& hook) { hook.call(none, &kept); });
  }
  // The .grad of a tensor that is no leaf: memory of its own, as a leaf's.
  static void keep(Tensor& to, const Tensor& grad, Device device) {
    if (to.defined()) to = sum_of(to, grad, device);
    else to = is_foreign_gradient(grad, device) ? grad : clone(grad);
  }

  void apply(Node& node, TensorList& grads) {
    fill_undefined(node, grads);
    NodeHooks* hooks = node.hooks_or_null();
    TensorList kept;
    if (hooks && !hooks->post.empty()) kept = grads;
    TensorList passed;
    const uint64_t unused = unused_of(node);
    try {
      const UnusedGuard guard(unused);
      const ProfiledCall profiled([&] { return node.name(); });
      passed = gradients_of_inputs(node, grads);
      if (anomaly_mode().failed && anomaly_mode().check_nan) check_nan(node, passed);
    } catch (...) {
      if (anomaly_mode().failed) anomaly_mode().failed(node);
      throw;
    }
    grads.clear();
    for (size_t i = 0; i < passed.size() && i < 64; ++i)
      if (unused >> i & 1) passed[i] = Tensor();
    if (hooks) for_each_hook(hooks->post, [&](Hook& hook) { hook.call(passed, &kept); });
    for (size_t i = 0; i < passed.size() && i < node.next.size(); ++i) {
      const Edge& edge = node.next[i];
      if (!edge.node || !is_needed(edge.node.get())) continue;
      if (!passed[i].defined()) {
        frontier_.slot(edge.node, edge.input);
        continue;
      }
      if (node.is_user_defined()) check_user_gradient(node, i, passed[i], edge.node->output(edge.input));
      deliver(edge, std::move(passed[i]));
    }
    if (!how_.retain_graph) node.release_saved();
  }

  static void check_nan(const Node& node, const TensorList& passed) {
    NoGradGuard guard;
    for (size_t i = 0; i < passed.size(); ++i) {
      if (!passed[i].defined() || i >= node.next.size() || !node.next[i].node) continue;
      if (is_foreign_gradient(passed[i], node.next[i].node->output(node.next[i].input).device)) continue;
      STRIDED_CHECK(!truth(any(elementwise<Ne>(passed[i], passed[i])), false), RuntimeError, "Function '", node.name(),
                    "' returned nan values in its ", i, "th output.");
    }
  }

  const Backward& how_;
  const std::vector<Tensor>& inputs_;
  const int runs_;  // marks of the nodes that run; with accumulate the inputs run too, for their .grad and their hooks
  std::vector<Tensor> result_;
  SmallVector<Capture, 2> captures_;
  SmallVector<std::pair<Edge, Tensor>, 1> roots_;
  PointerMap marks_;  // of nodes, when there are inputs
  ReadyQueue frontier_;
  std::vector<std::function<void()>> after_;
  inline static std::atomic<int64_t> last_number{0};
};
thread_local BackwardPass* BackwardPass::current = nullptr;

}  // namespace

Node* node_of_pass() { return BackwardPass::current ? BackwardPass::current->now : nullptr; }
int64_t pass_number() { return BackwardPass::current ? BackwardPass::current->number : 0; }
bool pass_fills_leaves() { return !BackwardPass::current || BackwardPass::current->fills_leaves; }
void call_after_pass(std::function<void()> f) {
  STRIDED_CHECK(BackwardPass::current, RuntimeError, "Final callbacks can only be installed during backward pass.");
  BackwardPass::current->call_after(std::move(f));
}
int64_t count_hooks(const Dims& ids) { return BackwardPass::current ? BackwardPass::current->count_hooks(ids) : 0; }

TensorList call_node(Node& node, TensorList grads) {
  for (int i = 0; i < node.num_outputs(); ++i) {  // formulas trust what they get, as passes deliver it
    if (!grads[i].defined()) continue;
    const Node::Output& want = node.output(i);
    STRIDED_CHECK(fits_device(grads[i], want.device), RuntimeError, node.name(), ": the gradient of output ", i,
                  " is on ", grads[i].device(), ", but the output is on ", want.device);
    grads[i] = fit(std::move(grads[i]), want);
  }
  if (node.is_accumulator()) {
    if (grads[0].defined()) node.apply(grads);
    return {};
  }
  fill_undefined(node, grads);
  TensorList passed = gradients_of_inputs(node, grads);
  for (size_t i = 0; i < passed.size() && i < node.next.size(); ++i) {
    const Edge& edge = node.next[i];
    if (!edge.node) passed[i] = Tensor();
    if (!passed[i].defined()) continue;
    const Node::Output& want = edge.node->output(edge.input);
    if (node.is_user_defined()) check_user_gradient(node, i, passed[i], want);
    passed[i] = fit(std::move(passed[i]), want);
  }
  return passed;
}

AnomalyMode& anomaly_mode() {
  static AnomalyMode mode;
  return mode;
}

std::vector<Tensor> run_backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grads,
                                 const std::vector<Tensor>& inputs, const Backward& how) {
  struct Restore {
    bool on = grad_enabled();
    ~Restore() { set_grad_enabled(on); }
  } restore;
  BackwardPass pass(inputs, how);
  for (size_t i = 0; i < outputs.size(); ++i)
    pass.start(outputs[i], static_cast<int>(i), i < grads.size() ? grads[i] : Tensor());
  set_grad_enabled(how.create_graph);
  return pass.run();
}

}  // namespace strided
