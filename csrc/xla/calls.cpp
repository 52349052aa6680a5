#include "xla/calls.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

#include "backend/elementwise.h"
#include "xla/ops.h"

namespace strided::xla {

struct CallTemplate {
  struct Result {
    Written written;
    int block;  // -1: a check
    std::function<void(int64_t)> raise;
  };
  std::vector<std::unique_ptr<Result>> results;
  bool as_it_is = false;  // a lowering that has arguments of its own is not kept
};

namespace {

std::unordered_map<uint64_t, std::vector<std::pair<std::vector<int64_t>, CallTemplate*>>>& table() {
  static auto* kept = new std::unordered_map<uint64_t, std::vector<std::pair<std::vector<int64_t>, CallTemplate*>>>;
  return *kept;
}

int number_of_params(int op) {
  static const auto counts = [] {
    std::vector<int> counts(kNumElementwise);
    for_each(ElementwiseOps{}, [&](auto tag, int id) {
      const std::string text = decltype(tag)::type::info.params;
      if (text.empty()) return;
      counts[id] = 1 + static_cast<int>(std::count(text.begin(), text.end(), ','));
      if (text[0] == '*') --counts[id];
    });
    return counts;
  }();
  return counts[op];
}

bool is_empty(int ndim, const int64_t* shape) { return std::find(shape, shape + ndim, 0) != shape + ndim; }

}  // namespace

Call& Call::put(double number) {
  int64_t word;
  std::memcpy(&word, &number, sizeof(word));
  return put(word);
}
Call& Call::put(const char* text) {
  const size_t size = std::strlen(text);
  put(static_cast<int64_t>(size));
  for (size_t at = 0; at < size; at += sizeof(int64_t)) {
    int64_t word = 0;
    std::memcpy(&word, text + at, std::min(sizeof(word), size - at));
    put(word);
  }
  return *this;
}

Call& Call::memory(const void* data, DType dtype) {
  if (!data) return put(int64_t{-1});
  Block& block = block_of(data);
  int i = 0;
  while (i < n_blocks_ && block_[i].block != &block) ++i;
  if (i == kMost) {
    too_many_ = true;
    return *this;
  }
  put(static_cast<int64_t>(i)).put(dtype).put(static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) - block.base));
  if (i < n_blocks_) return *this;
  ++n_blocks_;
  if (!block.value) value_of(block, dtype);
  block_[i].block = &block;
  block_[i].value = block.value;
  put(static_cast<int64_t>(block.nbytes));
  if (!block.value) return put(int64_t{-1});
  const Dims& shape = block.value->shape;
  return put(block.value->dtype).put(static_cast<int64_t>(shape.ndim())).put(shape.data(), shape.ndim());
}

Call& Call::number(const void* bytes, DType dtype) {
  put(dtype);
  const int plain = plain_number(bytes, dtype);
  put(static_cast<int64_t>(plain));
  if (plain >= 0) return *this;
  if (n_numbers_ == kMost) {
    too_many_ = true;
    return *this;
  }
  number_[n_numbers_].bytes = bytes;
  number_[n_numbers_++].value = argument(bytes, dtype);
  return *this;
}

CallTemplate* Call::build(const std::function<void()>& lower) const {
  auto made = std::make_unique<CallTemplate>();
  Stage stage;
  std::vector<Value> before;
  for (int i = 0; i < n_blocks_; ++i) {
    const Block& block = *block_[i].block;
    const Value& value = block_[i].value;
    before.push_back(value ? parameter(i, value->dtype, value->shape) : Value());
    Block stand_in;
    stand_in.base = block.base;
    stand_in.nbytes = block.nbytes;
    stand_in.device = block.device;
    stand_in.value = before.back();
    stage.blocks.push_back(std::move(stand_in));
  }
  for (int i = 0; i < n_numbers_; ++i)
    stage.numbers.emplace_back(number_[i].bytes, parameter(kMost + i, number_[i].value->dtype, {}));
  {
    const Staged staged(&stage);
    lower();
  }
  auto add_result = [&](const Value& graph, int block, std::function<void(int64_t)> raise) {
    auto result = std::make_unique<CallTemplate::Result>();
    for (const Node* n : in_order({graph.get()})) {
      if (is_argument(*n)) made->as_it_is = true;
      if (n->kind == Node::Parameter) result->written.parameters.push_back(n->part);
    }
    result->written.value = graph;
    result->block = block;
    result->raise = std::move(raise);
    made->results.push_back(std::move(result));
  };
  for (int i = 0; i < n_blocks_; ++i)
    if (stage.blocks[i].value != before[i]) add_result(stage.blocks[i].value, i, {});
  for (Check& check : stage.checks) add_result(check.bad, -1, std::move(check.raise));
  return made.release();
}

void Call::record(const std::function<void()>& lower) {
  if (too_many_ || !words_.fit()) return lower();
  auto& same_hash = table()[words_.hash()];
  CallTemplate* call = nullptr;
  for (const auto& [words, made] : same_hash)
    if (words_ == words) call = made;
  if (!call) {
    call = build(lower);
    same_hash.emplace_back(words_.list(), call);
  }
  if (call->as_it_is) return lower();
  auto given = [&](int parameter) -> const Value& {
    return parameter < kMost ? block_[parameter].value : number_[parameter - kMost].value;
  };
  for (const auto& result : call->results) {
    const Written& written = result->written;
    Value value;
    if (written.value->kind == Node::Parameter) {
      value = given(written.value->part);
    } else {
      value = make_ref<Node>();
      value->op = "";
      value->dtype = written.value->dtype;
      value->shape = written.value->shape;
      value->written = &written;
      value->in = Operands(written.parameters.size(), [&](size_t i) { return given(written.parameters[i]); });
    }
    if (result->block < 0) {
      raise_later(device_, value, result->raise);
      continue;
    }
    set_value(*block_[result->block].block, std::move(value));
  }
}

namespace {

bool describe_operands(Call& call, const LoopPlan& plan) {
  if (is_empty(plan.ndim, plan.shape)) return false;
  call.put(static_cast<int64_t>(plan.ndim)).put(plan.shape, plan.ndim).put(static_cast<int64_t>(plan.n_operands));
  for (int k = 0; k < plan.n_operands; ++k) {
    const LoopPlan::Operand& operand = plan.operand[k];
    call.put(static_cast<int64_t>(operand.immediate));
    if (operand.immediate) call.number(operand.data, operand.dtype);
    else call.memory(operand.data, operand.dtype).put(operand.strides, plan.ndim);
  }
  return true;
}

}  // namespace

bool describe(Call& call, const LoopPlan& plan) { return describe_operands(call, plan); }
bool describe(Call& call, const LoopPlan& plan, int op, DType compute, const double* params) {
  call.put(static_cast<int64_t>(op)).put(compute);
  if (params)
    for (int i = 0; i < number_of_params(op); ++i) call.put(params[i]);
  return describe_operands(call, plan);
}
bool describe(Call& call, const LoopPlan& plan, int64_t diagonal, bool keep_below) {
  call.put(diagonal).put(static_cast<int64_t>(keep_below));
  return describe_operands(call, plan);
}

bool describe(Call& call, const ReducePlan& plan, int op, DType compute) {
  if (is_empty(plan.ndim, plan.shape)) return false;
  call.put(static_cast<int64_t>(op)).put(compute).put(plan.param).put(static_cast<int64_t>(plan.axes));
  call.put(static_cast<int64_t>(plan.ndim)).put(plan.shape, plan.ndim).put(plan.strides, plan.ndim);
  call.memory(plan.data, plan.dtype);
  // The dtype of results is that of the reduction; a storage that nobody wrote has none.
  call.memory(plan.out[0], DType::UInt8).memory(plan.out[1], DType::UInt8);
  return true;
}

bool describe(Call& call, const ScanPlan& plan, ScanOp op) {
  if (plan.outer * plan.n * plan.inner == 0) return false;
  call.put(static_cast<int64_t>(op)).put(plan.outer).put(plan.n).put(plan.inner);
  call.memory(plan.in, plan.dtype).memory(plan.out, plan.dtype).memory(plan.index, DType::Int64);
  return true;
}

bool describe(Call& call, const IndexPlan& plan) {
  if (is_empty(plan.ndim, plan.shape)) return false;
  call.put(plan.error_prefix).put(static_cast<int64_t>(plan.wrap));
  call.put(static_cast<int64_t>(plan.ndim)).put(plan.shape, plan.ndim);
  call.put(plan.dense_strides, plan.ndim).put(plan.indexed_strides, plan.ndim);
  call.put(static_cast<int64_t>(plan.n_indices));
  for (int k = 0; k < plan.n_indices; ++k) {
    const IndexPlan::Index& index = plan.index[k];
    if (index.size == 0) return false;
    call.put(index.strides, plan.ndim).put(index.size).put(index.stride).put(static_cast<int64_t>(index.axis));
    call.memory(index.data, DType::Int64);
  }
  call.memory(plan.dense, plan.dtype).memory(plan.indexed, plan.dtype);
  return true;
}
bool describe(Call& call, const IndexPlan& plan, ScatterOp op) {
  call.put(static_cast<int64_t>(op));
  return describe(call, plan);
}

bool describe(Call& call, const GemmPlan& plan) {
  if (plan.m * plan.n * plan.k == 0 || is_empty(plan.batch_ndim, plan.batch_shape)) return false;
  call.put(plan.dtype).put(plan.m).put(plan.n).put(plan.k).put(static_cast<int64_t>(plan.tf32));
  call.put(static_cast<int64_t>(plan.batch_ndim)).put(plan.batch_shape, plan.batch_ndim);
  const Matrix* matrices[] = {&plan.a, &plan.b, &plan.c};
  for (int i = 0; i < 3; ++i) {
    call.memory(matrices[i]->data, plan.dtype).put(matrices[i]->row_stride).put(matrices[i]->col_stride);
    call.put(plan.batch_strides[i], plan.batch_ndim);
  }
  const DType compute = size_of(plan.dtype) == 2 && !is_integral(plan.dtype) ? DType::Float32 : plan.dtype;
  call.number(plan.alpha, compute).number(plan.beta, compute);
  return true;
}

bool describe(Call& call, const JoinPlan& plan) {
  call.put(plan.dtype).put(plan.rows).put(plan.n_parts).memory(plan.out, plan.dtype);
  for (int64_t k = 0; k < plan.n_parts; ++k) {
    call.put(plan.parts[k].length);
    if (plan.parts[k].length > 0) call.memory(plan.parts[k].data, plan.dtype);
  }
  return plan.rows > 0 && plan.out;
}

namespace {

// The same operation with other operands.
Value with_operands(const Node& n, Operands in) {
  if (std::strcmp(n.op, "stablehlo.reshape") == 0) return reshape(in[0], n.shape);
  Value node = add(n.op, std::move(in), n.dtype, n.shape, n.text);
  node->kind = n.kind;
  node->part = n.part;
  node->level = n.level;
  node->results = n.results;
  return node;
}

// What `written` makes from these operands.
Value filled_in(const Written& written, const Operands& operands) {
  const std::vector<Node*> order = in_order({written.value.get()});
  for (Node* n : order) {
    if (n->kind == Node::Parameter) {
      const auto at = std::find(written.parameters.begin(), written.parameters.end(), n->part);
      n->expanded = operands[static_cast<size_t>(at - written.parameters.begin())]->expanded;
    } else {
      n->expanded = with_operands(*n, Operands(n->in.size(), [&](size_t i) { return n->in[i]->expanded; }));
    }
  }
  const Value made = written.value->expanded;
  for (Node* n : order) n->expanded = {};
  return made;
}

}  // namespace

std::vector<Value> without_calls(const std::vector<Node*>& order, const std::vector<Node*>& outputs) {
  for (Node* n : order) {
    bool same = true;
    if (!is_argument(*n))
      for (const Value& v : n->in) same = same && v->expanded == v;
    if (is_argument(*n)) n->expanded = Value(n);
    else if (n->written) n->expanded = filled_in(*n->written, n->in);
    else if (same) n->expanded = Value(n);
    else n->expanded = with_operands(*n, Operands(n->in.size(), [&](size_t i) { return n->in[i]->expanded; }));
  }
  std::vector<Value> made;
  for (const Node* n : outputs) made.push_back(n->expanded);
  for (Node* n : order) n->expanded = {};
  return made;
}

}  // namespace strided::xla
