#include "xla/graph.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/parallel.h"
#include "xla/plugin.h"

namespace strided::xla {

// A chain of a million operations is freed by a loop, not by as many nested calls.
Node::~Node() {
  if (buffer) destroy(buffer);
  if (in.empty()) return;
  static thread_local std::vector<Value>* waiting = nullptr;
  if (waiting) {
    for (Value& v : in) waiting->push_back(std::move(v));
    return;
  }
  std::vector<Value> list = std::move(in);
  waiting = &list;
  while (!list.empty()) {
    const Value last = std::move(list.back());
    list.pop_back();
  }
  waiting = nullptr;
}

Value add(const char* op, std::vector<Value> in, DType dtype, const Dims& shape, std::string text) {
  Value node = make_ref<Node>();
  node->op = op;
  node->text = std::move(text);
  node->in = std::move(in);
  node->dtype = dtype;
  node->shape = shape;
  return node;
}
Value add(const char* op, std::initializer_list<Value> in, DType dtype, const Dims& shape, std::string text) {
  return add(op, std::vector<Value>(in), dtype, shape, std::move(text));
}
Value add(const char* op, std::vector<Value> in, std::vector<Type> results, std::string text) {
  Value node = add(op, std::move(in), results[0].dtype, results[0].shape, std::move(text));
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

namespace {

bool is_argument(const Node& n) { return n.kind == Node::Number || n.kind == Node::Array || n.buffer; }

// Operands before what is made of them, without recursion.
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
  *body += n.text;
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
    if (n->kind == Node::Part || n->kind == Node::Parameter) continue;
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

std::string write_program(const std::vector<Node*>& outputs, std::vector<Node*>* arguments) {
  const std::vector<Node*> order = in_order(outputs);
  int ids = 0;
  std::string body, head = "func.func @main(";
  for (Node* n : order) {
    if (is_argument(*n)) {
      n->id = static_cast<int>(arguments->size());
      if (n->id) head += ", ";
      put_name(&head, *n, "");
      head += ": " + type_text(n->dtype, n->shape);
      arguments->push_back(n);
      continue;
    }
    if (n->kind == Node::Part) continue;
    n->id = ids++;
    put_operation(&body, *n, "");
  }
  std::string names, types;
  for (const Node* n : outputs) {
    if (!names.empty()) names += ", ", types += ", ";
    put_name(&names, *n, "");
    types += type_text(n->dtype, n->shape);
  }
  return head + ") -> (" + types + ") {\n" + body + "  return " + names + " : " + types + "\n}\n";
}

namespace {
Counters counted;
}
Counters counters() { return counted; }

void ensure_array(Node* node, int device) {
  if (node->buffer) return;
  node->buffer = upload(node->bytes.data(), node->dtype, node->shape.data(), node->shape.ndim(), device);
  node->bytes = {};
}

namespace {

// Numbers that are on a device already: a learning rate is the same in each step.
std::unordered_map<std::string, pjrt::Buffer*>& kept_numbers() {
  static auto* kept = new std::unordered_map<std::string, pjrt::Buffer*>;
  return *kept;
}
void drop_numbers_if_many() {
  if (kept_numbers().size() < 4096) return;
  for (const auto& [key, buffer] : kept_numbers()) destroy(buffer);
  kept_numbers().clear();
}
pjrt::Buffer* number_on(const Node& n, int device) {
  std::string key(n.bytes.begin(), n.bytes.end());
  key += static_cast<char>(index_of(n.dtype));
  key += static_cast<char>(device);
  pjrt::Buffer*& buffer = kept_numbers()[key];
  if (!buffer) buffer = upload(n.bytes.data(), n.dtype, nullptr, 0, device);
  return buffer;
}

}  // namespace

// What becomes of nodes: Note [Nodes].
void run(const std::vector<Node*>& outputs, int device) {
  std::vector<Node*> arguments;
  const std::string text = write_program(outputs, &arguments);
  const GilRelease unlocked;
  static auto* programs = new std::unordered_map<std::string, pjrt::Executable*>;
  pjrt::Executable*& program = (*programs)[text];
  if (program) {
    ++counted.cached;
  } else {
    program = compile(text);
    ++counted.compiled;
  }
  std::vector<pjrt::Buffer*> in, out(outputs.size(), nullptr);
  drop_numbers_if_many();
  for (Node* n : arguments) {
    if (n->kind == Node::Number) {
      in.push_back(number_on(*n, device));
    } else {
      ensure_array(n, device);
      in.push_back(n->buffer);
    }
  }
  execute(program, in, &out, device);
  ++counted.executed;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Node* n = outputs[i];
    n->kind = Node::Array;
    n->buffer = out[i];
    n->text = {};
    n->results = {};
    const std::vector<Value> operands = std::move(n->in);
    n->in.clear();
  }
}

}  // namespace strided::xla
