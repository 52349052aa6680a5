// Automatic differentiation as Python calls it. Nodes and hooks are in py_node.cpp.
#include <unordered_set>

#include "autograd/engine.h"
#include "base/warning.h"
#include "ops/nodes.h"
#include "ops/record.h"
#include "ops/shape/view.h"
#include "ops/steady.h"
#include "python/bind/bind.h"
#include "python/owned.h"
#include "python/py_node.h"

namespace strided::python {
namespace {

using OptTensors = std::vector<std::optional<Tensor>>;

// Before gradients with a graph are put into leaves.
void warn_of_cycle(const std::vector<Tensor>& inputs, const Backward& how) {
  if (how.create_graph && (how.accumulate || inputs.empty()))
    warn_once(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
        "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
        "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
        "the cycle and avoid the leak.");
}

std::vector<Tensor> run(const std::vector<Tensor>& outputs, const OptTensors& grads, bool retain_graph,
                        bool create_graph, const std::vector<Tensor>& inputs, bool accumulate) {
  std::vector<Tensor> given;
  for (const auto& g : grads) given.push_back(g ? *g : Tensor());
  Backward how;
  how.retain_graph = retain_graph;
  how.create_graph = create_graph;
  how.accumulate = accumulate;
  warn_of_cycle(inputs, how);
  return run_backward(outputs, given, inputs, how);
}

// A tensor without values that stands at an edge of the graph, as an output or an input of a pass.
Tensor at_output(Node& node, int output) {
  const Node::Output& like = node.output(output);
  Layout layout(like.shape);
  for (int64_t& stride : layout.strides) stride = 0;
  const Tensor out = make_view(empty({1}, like.dtype, like.device), layout);
  AutogradMeta& meta = autograd_meta(out);
  meta.grad_fn = Ref<Node>(&node);
  meta.output = output;
  return out;
}
Tensor at_edge(PyObject* object, int64_t output) {
  Node& node = node_of(object);
  STRIDED_CHECK(output >= 0 && output < node.num_outputs(), RuntimeError, "GradientEdge: ", node.name(), " has ",
                node.num_outputs(), " outputs, got number ", output);
  return at_output(node, static_cast<int>(output));
}
PyObject* current_node() { return wrap(Ref<Node>(node_of_pass())); }
PyObject* gradient_node(const Tensor& x) { return wrap(gradient_edge(x).node); }

// A tensor or an edge of the graph, as backward() and grad() take them.
bool is_edge(PyObject* o) { return PyTuple_Check(o) && PyTuple_GET_SIZE(o) >= 2 && is_node(PyTuple_GET_ITEM(o, 0)); }
Tensor at_place(PyObject* o) {
  if (!is_edge(o)) {
    STRIDED_CHECK(is_tensor(o), RuntimeError, "all inputs have to be Tensors or GradientEdges, but got ",
                  short_type_name(o));
    return unwrap(o);
  }
  const int64_t output = PyLong_AsLongLong(PyTuple_GET_ITEM(o, 1));
  if (output == -1 && PyErr_Occurred()) throw PythonError{};
  return at_edge(PyTuple_GET_ITEM(o, 0), output);
}

void backward(const Tensor& self, const std::optional<Tensor>& gradient, std::optional<bool> retain_graph,
              bool create_graph, PyObject* inputs) {
  Backward how;
  how.retain_graph = retain_graph.value_or(create_graph);
  how.create_graph = create_graph;
  how.accumulate = true;
  std::vector<Tensor> places;
  if (inputs && inputs != Py_None) {
    if (is_tensor(inputs) || is_edge(inputs)) {
      places.push_back(at_place(inputs));
    } else {
      const Owned list(PySequence_List(inputs));
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.o); ++i) places.push_back(at_place(PyList_GET_ITEM(list.o, i)));
      STRIDED_CHECK(!places.empty(), RuntimeError, "`inputs` argument to `backward()` cannot be empty.");
    }
  }
  warn_of_cycle({}, how);
  run_backward({self}, {gradient.value_or(Tensor())}, places, how);
}

bool is_grad_on() { return grad_asked(); }
void set_grad(bool on) { set_grad_enabled(on); }
void set_modes(bool grad, bool inference) {
  set_inference_mode(inference);
  set_grad_enabled(grad);
}
bool is_inference(const Tensor& x) { return x.storage().of_inference(); }
int64_t count_writes(const Tensor& x) { return version_of(x); }

// A view of x with a node of its own that leads to no leaf but x's: the start of a forward-mode derivative.
Tensor dual(const Tensor& x) {
  const Tensor out = make_view(x, x.layout());
  const Ref<Node> node = make_node("MakeDualBackward0", x, [](const Tensor& g) { return g; });
  node->forward_only = node->forward_only || !node->next[0].node;
  set_history(out, node);
  return out;
}

void queue_callback(PyObject* callable) {
  STRIDED_CHECK(PyCallable_Check(callable), TypeError, "queue_callback: a callable is required, got ",
                Py_TYPE(callable)->tp_name);
  const auto held = std::make_shared<SharedOwned>(callable);
  call_after_pass([held] { const Owned result(PyObject_CallNoArgs(held->get())); });
}

Tensor place_of(const Tensor& x) {
  const Ref<Node> node = grad_fn(x);
  STRIDED_CHECK(node, RuntimeError, "a tensor without a node has no place in the graph");
  return at_output(*node, autograd_meta(x).output);
}

// Do the outputs depend on something that wants a gradient, other than through the inputs?
bool leads_elsewhere(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) {
  std::unordered_set<const Node*> seen;
  std::unordered_set<const TensorImpl*> leaves;
  for (const Tensor& x : inputs) {
    if (const Ref<Node>& node = grad_fn(x)) seen.insert(node.get());
    else leaves.insert(x.impl());
  }
  std::vector<const Node*> left;
  auto visit = [&](const Node* node) {
    if (node && seen.insert(node).second) left.push_back(node);
  };
  for (const Tensor& y : outputs) {
    if (!y.requires_grad()) continue;
    if (const Ref<Node>& node = grad_fn(y)) visit(node.get());
    else if (!leaves.count(y.impl())) return true;
  }
  while (!left.empty()) {
    const Node* node = left.back();
    left.pop_back();
    bool ends = true;
    for (const Edge& edge : node->next) {
      if (edge.node) ends = false;
      visit(edge.node.get());
    }
    if (ends && !(node->is_accumulator() && leaves.count(accumulated_leaf(*node).impl()))) return true;
  }
  return false;
}

bool has_record(const Tensor& x) { return x.requires_grad(); }
void before_write(const Tensor& x, const std::string& op) { check_inplace(op.c_str(), x); }
void count_change(const Tensor& x) { bump_version(x, "increment_version"); }
void set_memory(const Tensor& x, const Tensor& from) { give_memory(x, from, true); }
void count_dirty(const Tensor& x) { bump_version(x, "mark_dirty"); }

}  // namespace

void bind_autograd() {
  def<&run>(
      "_backward(Tensor[] outputs, Tensor?[] grads, bool retain_graph, bool create_graph, Tensor[] inputs, bool accumulate=False)",
      "Runs the graph; the gradients of the inputs.", kFunction);
  def<&backward>(
      "backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, bool create_graph=False, Any? inputs=None)",
      "Computes the gradient of this tensor with respect to the leaves it was computed from, and adds it to their .grad.\n\n"
      "gradient: the gradient of what follows with respect to this tensor, of its shape; may be left out for a single\n"
      "element. retain_graph: keep what the graph saved for another pass (default: create_graph). create_graph: the\n"
      "gradients can be differentiated again. inputs: the only tensors whose .grad is added to; places in the graph\n"
      "(autograd.graph.GradientEdge) stand for tensors.\n"
      "RuntimeError for a tensor of several elements without a gradient, for a gradient of another shape or device, and for a\n"
      "graph whose saved tensors were freed by an earlier pass or changed in place.\n\n"
      ">>> x = strided.tensor([1., 2.], requires_grad=True)\n>>> (x * x).sum().backward()\n>>> x.grad\ntensor([2., 4.])",
      kMethod);
  // The methods are with the Tensor type, which calls them without matching arguments.
  def<&detach>("detach(Tensor input)", "The same memory without the record for autograd.", kFunction);
  def<&detach_>("detach_(Tensor input)",
                "Forgets the operation that made the tensor, and returns the tensor; RuntimeError for a view.",
                kFunction);
  def<&is_grad_on>("is_grad_enabled()", "True if operations are recorded for autograd.", kFunction);
  def<&inference_mode>("is_inference_mode_enabled()", "True inside inference_mode.", kFunction);
  def<&set_modes>("_set_modes(bool grad, bool inference)",
                  "What is recorded, and whose tensors are made, on this thread.", kFunction);
  def<&is_inference>(
      "is_inference(Tensor input)",
      "True for a tensor of memory that was made in inference mode. It cannot be written to outside, and "
      "not be saved for a backward pass; ``clone()`` gives an ordinary one.");
  def<&count_writes>("_count_writes(Tensor input)", "_version, of inference tensors too.", kFunction);
  def<&set_grad>("_set_grad_enabled(bool mode)", "Switches recording on or off for this thread.", kFunction);
  def<&current_node>("_current_node() -> Any", "The node that the running backward pass has come to, or None.",
                     kFunction);
  def<&pass_number>("_pass_number()", "Which backward pass runs on this thread; 0: none.", kFunction);
  def<&pass_fills_leaves>("_pass_fills_leaves()",
                          "Whether the running pass is for the .grad of all leaves, not for chosen tensors.",
                          kFunction);
  def<&queue_callback>("_queue_callback(Any callable)", "Calls it when the running pass has ended.", kFunction);
  def<&count_hooks>("_count_hooks(int[] ids)", "How many of these hooks the running pass comes by.", kFunction);
  def<&at_edge>("_at_edge(Any node, int output_nr)", "A tensor that stands at an edge of the graph.", kFunction);
  def<&gradient_node>("_gradient_node(Tensor x) -> Any", "The node where the gradient of the tensor arrives.",
                      kFunction);
  def<&place_of>("_place_of(Tensor x)", "A tensor that stays at x's place in the graph when x is written to.",
                 kFunction);
  def<&leads_elsewhere>("_leads_elsewhere(Tensor[] outputs, Tensor[] inputs)",
                        "True if the outputs depend on a leaf other than through the inputs.", kFunction);
  def<&has_record>("_has_record(Tensor x)", "True if the tensor, or a dual tensor it was computed from, is in a graph.",
                   kFunction);
  def<&with_steady_gradient>("_with_steady_gradient(Tensor x)",
                             "x; a gradient that reaches it counts as a function of it, whose derivative is zero.",
                             kFunction);
  def<&before_write>("_before_write(Tensor x, str op)", "Raises where a write in place would.", kFunction);
  def<&count_change>("_bump_version(Tensor x)", "Counts a change of the tensor.", kFunction);
  def<&set_memory>("_set_memory(Tensor x, Tensor source)", "x becomes a view of the source's memory.", kFunction);
  def<&count_dirty>("_mark_dirty(Tensor x)", "Counts a change that the forward of a Function says it made.", kFunction);
  def<&dual>("_dual(Tensor x)", "A view of x with a node of its own.", kFunction);
}

}  // namespace strided::python
