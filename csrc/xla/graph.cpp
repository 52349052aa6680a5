#include "xla/graph.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "xla/plugin.h"

namespace strided::xla {

namespace {

// Memory of nodes that were freed, by any thread.
struct FreeNodes {
  static constexpr size_t kMost = 4096;
  std::mutex mutex;
  std::vector<void*> list;
};
FreeNodes& free_nodes() {
  static auto* nodes = new FreeNodes;  // tensors may be freed last
  return *nodes;
}

}  // namespace

void* Node::operator new(size_t size) {
  FreeNodes& nodes = free_nodes();
  {
    const std::lock_guard<std::mutex> lock(nodes.mutex);
    if (!nodes.list.empty()) {
      void* memory = nodes.list.back();
      nodes.list.pop_back();
      return memory;
    }
  }
  return ::operator new(size);
}
void Node::operator delete(void* memory) {
  FreeNodes& nodes = free_nodes();
  {
    const std::lock_guard<std::mutex> lock(nodes.mutex);
    if (nodes.list.size() < FreeNodes::kMost) {
      nodes.list.push_back(memory);
      return;
    }
  }
  ::operator delete(memory);
}

// A chain of a million operations is freed by a loop, not by as many nested calls.
Node::~Node() {
  if (buffer) destroy(buffer);
  for (pjrt::Buffer* other : others) destroy(other);
  if (in.empty()) return;
  static thread_local std::vector<Value>* waiting = nullptr;
  if (waiting) {
    for (Value& v : in) waiting->push_back(std::move(v));
    return;
  }
  bool last_of_any = false;
  for (const Value& v : in) last_of_any = last_of_any || v->use_count() == 1;
  if (!last_of_any) return;
  std::vector<Value> list;
  for (Value& v : in) list.push_back(std::move(v));
  waiting = &list;
  while (!list.empty()) {
    const Value last = std::move(list.back());
    list.pop_back();
  }
  waiting = nullptr;
}

Value add(const char* op, Operands in, DType dtype, const Dims& shape, Text text) {
  Value node = make_ref<Node>();
  node->op = op;
  node->text = text;
  node->in = std::move(in);
  node->dtype = dtype;
  node->shape = shape;
  return node;
}
Value add(const char* op, std::vector<Value> in, std::vector<Type> results, Text text) {
  Value node = add(op, std::move(in), results[0].dtype, results[0].shape, text);
  node->results = std::move(results);
  return node;
}
Value part(const Value& of, int i) {
  Value node = add("", {of}, of->results[i].dtype, of->results[i].shape);
  node->kind = Node::Part;
  node->part = i;
  return node;
}

Value parameter(int i, DType dtype, const Dims& shape) {
  Value node = add("", {}, dtype, shape);
  node->kind = Node::Parameter;
  node->part = i;
  return node;
}

Value array(std::vector<char> bytes, DType dtype, const Dims& shape) {
  Value node = add("", {}, dtype, shape);
  node->kind = Node::Array;
  node->bytes = std::move(bytes);
  return node;
}

std::string list(const Dims& values) {
  std::string text = "array<i64";
  for (int i = 0; i < values.ndim(); ++i) {
    text += i ? ", " : ": ";
    text += std::to_string(values[i]);
  }
  return text + ">";
}

std::string type_text(DType dtype, const Dims& shape) {
  std::string text = "tensor<";
  for (const int64_t n : shape) {
    text += std::to_string(n);
    text += 'x';
  }
  return text + element_type(dtype) + ">";
}

bool is_argument(const Node& n) { return n.kind == Node::Number || n.kind == Node::Array || n.buffer; }

// Without recursion.
std::vector<Node*> in_order(const std::vector<Node*>& outputs) {
  static uint64_t walks = 0;
  const uint64_t walk = ++walks;
  std::vector<Node*> order;
  std::vector<std::pair<Node*, size_t>> path;
  for (Node* output : outputs) {
    if (output->seen == walk) continue;
    output->seen = walk;
    path.emplace_back(output, 0);
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (is_argument(*node) || next == node->in.size()) {
        order.push_back(node);
        path.pop_back();
        continue;
      }
      Node* operand = node->in[next++].get();
      if (operand->seen == walk) continue;
      operand->seen = walk;
      path.emplace_back(operand, 0);
    }
  }
  return order;
}

namespace {

// `scope` tells apart the names of regions, one in the other.
void put_name(std::string* text, const Node& n, const std::string& scope) {
  *text += '%';
  *text += scope;
  if (n.kind == Node::Part) {
    *text += std::to_string(n.in[0]->id);
    *text += '#';
    *text += std::to_string(n.part);
    return;
  }
  if (n.kind == Node::Parameter) *text += 'p';
  else if (is_argument(n)) *text += 'a';
  *text += std::to_string(n.kind == Node::Parameter ? n.part : n.id);
}

void put_operation(std::string* body, const Node& n, const std::string& scope) {
  *body += "  %" + scope + std::to_string(n.id);
  if (!n.results.empty()) *body += ":" + std::to_string(n.results.size());
  *body += " = \"";
  *body += n.op;
  *body += "\"(";
  for (size_t i = 0; i < n.in.size(); ++i) {
    if (i) *body += ", ";
    put_name(body, *n.in[i], scope);
  }
  *body += ") ";
  *body += n.text.str();
  *body += " : (";
  for (size_t i = 0; i < n.in.size(); ++i) {
    if (i) *body += ", ";
    *body += type_text(n.in[i]->dtype, n.in[i]->shape);
  }
  *body += ") -> ";
  if (n.results.empty()) {
    *body += type_text(n.dtype, n.shape);
  } else {
    *body += "(";
    for (size_t i = 0; i < n.results.size(); ++i) {
      if (i) *body += ", ";
      *body += type_text(n.results[i].dtype, n.results[i].shape);
    }
    *body += ")";
  }
  *body += "\n";
}

}  // namespace

std::string write_region(const std::vector<Value>& parameters, const std::vector<Value>& outputs, int* level) {
  std::vector<Node*> roots;
  for (const Value& v : outputs) roots.push_back(v.get());
  const std::vector<Node*> order = in_order(roots);
  int deepest = 0, ids = 0;
  for (const Node* n : order) deepest = std::max(deepest, n->level);
  *level = std::max(*level, deepest);
  const std::string scope = "w" + std::to_string(deepest) + "_";
  std::string text = "{\n    ^bb0(";
  for (const Value& v : parameters) {
    if (v != parameters[0]) text += ", ";
    put_name(&text, *v, scope);
    text += ": " + type_text(v->dtype, v->shape);
  }
  text += "):\n";
  for (Node* n : order) {
    if (n->kind == Node::Part) continue;
    if (n->kind == Node::Parameter) {
      const bool own = std::any_of(parameters.begin(), parameters.end(), [n](const Value& v) { return v.get() == n; });
      STRIDED_CHECK(own, RuntimeError, "XLA: a loop reads a value that it was not given");
      continue;
    }
    STRIDED_CHECK(!is_argument(*n), RuntimeError, "XLA: a loop reads an array that it was not given");
    n->id = ids++;
    put_operation(&text, *n, scope);
  }
  std::string names, types;
  for (const Node* n : roots) {
    if (!names.empty()) names += ", ", types += ", ";
    put_name(&names, *n, scope);
    types += type_text(n->dtype, n->shape);
  }
  return text + "  \"stablehlo.return\"(" + names + ") : (" + types + ") -> ()\n  }";
}

const Sharding* kept_sharding(int devices, const std::string& text, const Dims& shape) {
  static auto* kept = new std::unordered_map<std::string, Sharding>;
  std::string key = std::to_string(devices) + text;
  for (const int64_t n : shape) key += ' ' + std::to_string(n);
  return &kept->try_emplace(key, Sharding{devices, text, shape}).first->second;
}

std::string write_program(const std::vector<Node*>& arguments, const std::vector<Value>& outputs,
                          const std::vector<int>& given, const std::vector<const Sharding*>& shardings) {
  std::string body, head = "func.func @main(";
  int devices = 0;
  for (const Node* n : arguments)
    if (n->sharding) devices = n->sharding->devices;
  for (const Sharding* s : shardings)
    if (s) devices = s->devices;
  auto sharded = [](const Sharding* s) {
    return "mhlo.sharding = \"" + (s ? s->text : std::string("{replicated}")) + "\"";
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Node& n = *arguments[i];
    if (i) head += ", ";
    put_name(&head, n, "");
    head += ": " + type_text(n.dtype, n.shape);
    std::string with = devices ? sharded(n.sharding) : "";
    if (given[i] >= 0) with += (devices ? ", " : "") + ("tf.aliasing_output = " + std::to_string(given[i]) + " : i32");
    if (!with.empty()) head += " {" + with + "}";
  }
  std::vector<Node*> roots;
  for (const Value& v : outputs) roots.push_back(v.get());
  int ids = 0;
  for (Node* n : in_order(roots)) {
    if (is_argument(*n) || n->kind == Node::Part) continue;
    n->id = ids++;
    put_operation(&body, *n, "");
  }
  std::string names, types, results;
  for (size_t i = 0; i < roots.size(); ++i) {
    if (i) names += ", ", types += ", ", results += ", ";
    put_name(&names, *roots[i], "");
    types += type_text(roots[i]->dtype, roots[i]->shape);
    results += type_text(roots[i]->dtype, roots[i]->shape);
    if (devices) results += " {" + sharded(shardings[i]) + "}";
  }
  const std::string function =
      head + ") -> (" + results + ") {\n" + body + "  return " + names + " : " + types + "\n}\n";
  if (!devices) return function;
  return "module attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = " + std::to_string(devices) +
         " : i32} {\n" + function + "}\n";
}

}  // namespace strided::xla
