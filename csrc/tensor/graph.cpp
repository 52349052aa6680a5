#include "tensor/graph.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <string>

#include "tensor/foreign.h"
#include "tensor/graph_age.h"

namespace strided {
namespace {

std::atomic<uint64_t> next_sequence{1};
thread_local bool asked = true;  // grad_mode, but for inference mode, which records nothing whatever was asked for

// Long chains are released in a loop.
// Freeing the last node of a chain of a million frees the next one, and so on: done by plain recursion this overflows
// the stack. A node that dies inside another node's destructor only hands over its edges. Where there is no memory for
// the list, the edges stay and go with the node, by recursion.
thread_local std::vector<Edge>* dying = nullptr;

// Puts the edges on the list, if it can grow.
template <class Edges>
void hand_over(Edges& edges, std::vector<Edge>& list) noexcept {
  const size_t wanted = list.size() + edges.size();
  try {
    if (wanted > list.capacity()) list.reserve(std::max(wanted, 2 * list.capacity()));
  } catch (const std::bad_alloc&) {
    return;
  }
  for (Edge& edge : edges) list.push_back(std::move(edge));
  edges.clear();
}

}  // namespace

__thread bool grad_mode = true, grad_quiet = false;
__thread uint64_t unused_gradients = 0;
Ref<RefCounted> (*make_trace)() = nullptr;

void (*drop_kept_object)(void* py_object) = nullptr;
ForeignGradients foreign_gradients{};
void (*carry_object)(const Tensor&, const Tensor&) = nullptr;

TensorImpl::~TensorImpl() {
  if (py_object) drop_kept_object(py_object);
}

void FreeAutogradMeta::operator()(AutogradMeta* meta) const { delete meta; }

AutogradMeta::~AutogradMeta() {
  if (!retained) return;
  retained->wanted = false;
  retained->grad = Tensor();
}

uint64_t next_node_number() { return next_sequence.load(std::memory_order_relaxed); }

Node::Node() : Node(next_sequence.fetch_add(1, std::memory_order_relaxed)) {}
Node::Node(uint64_t sequence) : sequence(sequence) {
  if (make_trace) hooks().trace = make_trace();
}

Node::~Node() {
  if (dying != nullptr) {
    hand_over(next, *dying);
    return;
  }
  // Nodes that others hold as well need no list. Several edges may lead to one node: y * y.
  bool last = false;
  for (const Edge& edge : next)
    last = last || (edge.node && static_cast<size_t>(edge.node->use_count()) <= next.size());
  if (!last) return;
  std::vector<Edge> list;
  hand_over(next, list);
  dying = &list;
  while (!list.empty()) {
    Edge edge = std::move(list.back());
    list.pop_back();
  }
  dying = nullptr;
}

NodeHooks& Node::hooks() {
  if (!hooks_) hooks_.reset(new NodeHooks);
  return *hooks_;
}

void Node::add_edge(Edge edge) {
  if (edge.node) {
    forward_only = edge.node->forward_only && (forward_only || !leads_);
    // Taking the edge may have made the node it leads to, which must not be the newer one.
    if (edge.node->sequence > sequence) sequence = next_sequence.fetch_add(1, std::memory_order_relaxed);
  }
  leads_ = leads_ || edge.node;
  next.push_back(std::move(edge));
}

void Node::set_output(int i, const Tensor& t) {
  if (i > static_cast<int>(rest_.size())) rest_.resize(i);
  Output& out = i == 0 ? first_ : rest_[i - 1];
  out.shape = t.shape();
  out.dtype = t.dtype();
  out.device = t.device();
}

void Node::set_gradient_dtype(std::optional<DType> dtype) {
  first_.any_dtype = !dtype;
  if (dtype) first_.dtype = *dtype;
}

std::optional<DType> gradient_dtype(const Tensor& leaf) {
  const AutogradMeta* meta = leaf.impl()->autograd.get();
  if (meta && meta->any_grad_dtype) return std::nullopt;
  return meta && meta->grad_dtype ? *meta->grad_dtype : leaf.dtype();
}

bool Tensor::finds_grad() const {
  const AutogradMeta* meta = impl_->autograd.get();
  if (meta != nullptr && meta->requires_grad) return true;
  if (impl_->record_is_old()) {
    const bool wanted = Tensor(impl_->base).requires_grad();
    // Here, not only when the record is made anew: an operation asks this before it writes anything.
    if (wanted && grad_enabled() && is_frozen(*impl_))
      frozen_view(*impl_, "its base or another view of its base has been");
    return wanted;
  }
  return meta != nullptr && meta->grad_fn;
}

bool is_frozen(const TensorImpl& view) {
  return view.view_kind == ViewKind::Multi || view.view_kind == ViewKind::Function;
}
[[noreturn]] void frozen_view(const TensorImpl& view, const char* what) {
  const AutogradMeta* meta = view.autograd.get();
  std::string maker = meta && meta->grad_fn ? meta->grad_fn->name() : "a function";
  maker.resize(std::min(maker.size(), maker.rfind("Backward")));
  STRIDED_THROW(
      RuntimeError, "Output ", meta ? meta->output : 0, " of ", maker, " is a view and ", what, " modified inplace. ",
      view.view_kind == ViewKind::Multi
          ? "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be modified "
            "inplace. You should replace the inplace operation by an out-of-place one."
          : "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle "
            "view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. This behavior "
            "is forbidden. You can fix this by cloning the output of the custom Function.");
}

AutogradMeta& autograd_meta(const Tensor& t) {
  auto& meta = t.impl()->autograd;
  if (!meta) meta.reset(new AutogradMeta);
  return *meta;
}

void give_memory(const Tensor& t, const Tensor& from, bool counts) {
  const uint32_t version = version_of(t) + counts;
  TensorImpl& impl = *t.impl();
  impl.base = nullptr;
  impl.view_kind = ViewKind::Plain;
  change_storage(impl.storage, from.impl()->storage);
  impl.layout = from.layout();
  impl.numel = from.numel();
  impl.dtype = from.dtype();
  if (impl.autograd) impl.autograd->version_shift = version - impl.storage->version();
}

bool grad_asked() { return asked && !grad_quiet; }
void set_grad_enabled(bool on) {
  asked = on;
  grad_mode = on && !inference_mode();
}
NoGradGuard::NoGradGuard() : before_(grad_quiet) { grad_quiet = true; }
NoGradGuard::~NoGradGuard() { grad_quiet = before_; }
EnableGradGuard::EnableGradGuard() : mode_(grad_mode), quiet_(grad_quiet) {
  grad_mode = true;
  grad_quiet = false;
}
EnableGradGuard::~EnableGradGuard() {
  grad_mode = mode_;
  grad_quiet = quiet_;
}

void join_base(TensorImpl& view, const Tensor& x, ViewKind kind) {
  const TensorImpl& from = *x.impl();
  view.base = from.base ? from.base : x.ref();
  view.seen_version = view.storage->version();
  view.uncounted = from.uncounted;
  view.view_kind = from.view_kind != ViewKind::Plain ? from.view_kind
                   : grad_mode                       ? kind
                   : inference_mode()                ? ViewKind::Inference
                                                     : ViewKind::NoGradGuard;
}

}  // namespace strided
