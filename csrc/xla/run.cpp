// Programs as they are run: found again by what they are made of, compiled where they are new.
#include <unordered_map>

#include "base/parallel.h"
#include "xla/calls.h"
#include "xla/plugin.h"

namespace strided::xla {
namespace {

Counters counted;

// Note [Keys of programs]
// A program is found by bytes that say what its text says, which are written many times faster: for each node its
// operation and attributes (by the addresses of their texts), operands, dtype and shape. Whole keys are compared.
class Key {
 public:
  explicit Key(std::string* bytes) : bytes_(*bytes) { bytes_.clear(); }
  void put(int64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number)); }
  void put_address(const void* at) { put(static_cast<int64_t>(reinterpret_cast<intptr_t>(at))); }
  void put(DType dtype, const Dims& shape) {
    put(static_cast<int64_t>(index_of(dtype)) + (static_cast<int64_t>(shape.ndim()) << 8));
    bytes_.append(reinterpret_cast<const char*>(shape.data()), sizeof(int64_t) * shape.size());
  }
  void put_name(const Node& n) {
    const bool part = n.kind == Node::Part;
    put((static_cast<int64_t>(part ? n.in[0]->id : n.id) << 20) + (part ? 2 + n.part : is_argument(n)));
  }

 private:
  std::string& bytes_;
};

void put_node(Key* key, const Node& n) {
  if (is_argument(n)) {
    key->put(-1);
  } else {
    if (n.written) {
      key->put_address(n.written);
    } else {
      key->put_address(n.op);
      key->put_address(&n.text.str());
    }
    key->put(static_cast<int64_t>(n.in.size() + (n.results.size() << 32)));
    for (const Value& v : n.in) key->put_name(*v);
    for (const Type& t : n.results) key->put(t.dtype, t.shape);
  }
  key->put(n.dtype, n.shape);
  if (n.sharding) key->put_address(n.sharding);
}

// The devices of the mesh that a program runs on; 0 for a program of one device.
int mesh_of(const std::vector<Node*>& arguments, const std::vector<Node*>& outputs) {
  int devices = 0;
  for (const auto* list : {&arguments, &outputs}) {
    for (const Node* n : *list) {
      if (!n->sharding) continue;
      STRIDED_CHECK(!devices || devices == n->sharding->devices, RuntimeError, "XLA: a mesh of ", devices,
                    " devices and one of ", n->sharding->devices, " in one program");
      devices = n->sharding->devices;
    }
  }
  return devices;
}

// Note [Memory that is given]
// An array that nothing holds when the program has run gives its memory to a result of the same type. Who holds it is
// counted: each operation of the program holds its operands, results let go of theirs, and what is left over is a
// storage, or a value in the hands of a lowering; so is what such a value is made of.
void find_kept(const std::vector<Node*>& order, const std::vector<Node*>& outputs) {
  for (Node* n : order) {
    n->uses = 0;
    n->kept = false;
  }
  for (const Node* n : order)
    if (!is_argument(*n))
      for (const Value& v : n->in) ++v->uses;
  for (Node* n : outputs) n->uses = -1;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    Node* n = *at;
    if (n->uses < 0) continue;  // a result
    n->kept = n->kept || n->use_count() > n->uses;
    if (n->kept && !is_argument(*n))
      for (const Value& v : n->in) v->kept = true;
  }
}

// The nearest array that a result is made from, element by element as far as shapes tell, and that may be given.
Node* nearest_argument(const Node& output) {
  const auto numel = [](const Node& n) {
    int64_t count = 1;
    for (const int64_t size : n.shape) count *= size;
    return count;
  };
  const int64_t wanted = numel(output);
  std::vector<const Node*> level{&output};
  for (size_t at = 0; at < level.size() && level.size() < 32; ++at) {
    for (const Value& v : level[at]->in) {
      if (numel(*v) != wanted) continue;
      if (v->kind == Node::Array && !v->kept && v->dtype == output.dtype && v->shape == output.shape &&
          v->sharding == output.sharding)
        return v.get();
      if (!is_argument(*v)) level.push_back(v.get());
    }
  }
  return nullptr;
}

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

Counters counters() { return counted; }

void ensure_array(Node* node, int device) {
  if (node->buffer) return;
  node->buffer = upload(node->bytes.data(), node->dtype, node->shape.data(), node->shape.ndim(), device);
  node->bytes = {};
}

// An array that is not sharded is the same on each device of a mesh.
void ensure_copies(Node* n, int devices) {
  if (n->others.size() + 1 == static_cast<size_t>(devices)) return;
  for (pjrt::Buffer* other : n->others) destroy(other);
  n->others.clear();
  for (int d = 1; d < devices; ++d) n->others.push_back(copy_to_device(n->buffer, d));
}

Program program_of(const std::vector<Node*>& outputs, const Giving& giving) {
  static std::string bytes;  // under the lock of memory.cpp
  const std::vector<Node*> order = in_order(outputs);
  Program made;
  Key key(&bytes);
  int ids = 0;
  for (Node* n : order) {
    if (is_argument(*n)) {
      n->id = static_cast<int>(made.arguments.size());
      made.arguments.push_back(n);
    } else if (n->kind == Node::Part) {
      continue;
    } else {
      n->id = ids++;
    }
    put_node(&key, *n);
  }
  find_kept(order, outputs);
  std::vector<int> given(made.arguments.size(), -1);
  for (size_t i = 0; i < outputs.size(); ++i) {
    key.put_name(*outputs[i]);
    if (Node* from = giving(i); from && given[from->id] < 0) {
      given[from->id] = static_cast<int>(i);
      key.put(-1 - from->id);
    }
  }
  made.mesh = mesh_of(made.arguments, outputs);
  const GilRelease unlocked;
  static auto* programs = new std::unordered_map<std::string, pjrt::Executable*>;
  pjrt::Executable*& code = (*programs)[bytes];
  if (code) {
    ++counted.cached;
  } else {
    std::vector<const Sharding*> shardings;
    for (const Node* n : outputs) shardings.push_back(n->sharding);
    code = compile(write_program(made.arguments, without_calls(order, outputs), given, shardings), made.mesh);
    ++counted.compiled;
  }
  made.code = code;
  return made;
}

void start(const Program& program, const std::vector<Node*>& outputs, int device) {
  const GilRelease unlocked;
  const auto devices = static_cast<size_t>(std::max(program.mesh, 1));
  std::vector<std::vector<pjrt::Buffer*>> in(devices), out(devices);
  for (auto& list : out) list.resize(outputs.size(), nullptr);
  drop_numbers_if_many();
  for (Node* n : program.arguments) {
    if (n->kind == Node::Number) {
      for (size_t d = 0; d < devices; ++d) in[d].push_back(number_on(*n, device + static_cast<int>(d)));
      continue;
    }
    ensure_array(n, device);
    if (program.mesh) ensure_copies(n, program.mesh);
    for (size_t d = 0; d < devices; ++d) in[d].push_back(d ? n->others[d - 1] : n->buffer);
  }
  execute(program.code, in, &out, device);
  ++counted.executed;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Node* n = outputs[i];
    n->kind = Node::Array;
    n->buffer = out[0][i];
    for (size_t d = 1; d < devices; ++d) n->others.push_back(out[d][i]);
  }
}

// What becomes of nodes: Note [Nodes].
void run(const std::vector<Node*>& outputs, int device) {
  start(program_of(outputs, [&](size_t i) { return nearest_argument(*outputs[i]); }), outputs, device);
  const GilRelease unlocked;
  for (Node* n : outputs) {
    n->text = {};
    n->written = nullptr;
    n->results = {};
    const Operands operands = std::move(n->in);
    n->in = {};
  }
}

}  // namespace strided::xla
