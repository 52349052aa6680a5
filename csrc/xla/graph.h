// Programs as they are recorded: nodes, each one operation of StableHLO, or an array that is on the device.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/dims.h"
#include "base/ref.h"
#include "core/dtype.h"
#include "xla/pjrt.h"

namespace strided::xla {

inline int64_t numel_of(const Dims& shape) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
}

struct Type {
  DType dtype;
  Dims shape;
};

// Note [Texts]
// Attributes and regions of operations. Each is kept once, as long as the process lives (as programs are), so that
// equal texts have one address and programs are compared by that. Under the lock of memory.cpp.
class Text {
 public:
  Text();
  Text(const std::string& text);
  Text(const char* text) : Text(std::string(text)) {}
  const std::string& str() const { return *text_; }

 private:
  const std::string* text_;
};

// What a text is written from: it is found again by these words, without writing it.
class Words {
 public:
  // `form` says what is written, by its address.
  explicit Words(const void* form) { put(static_cast<int64_t>(reinterpret_cast<intptr_t>(form))); }
  Words& put(int64_t word) {
    if (count_ < kMost) words_[count_] = word;
    ++count_;
    return *this;
  }
  Words& put(const Dims& values) {
    put(values.ndim());
    for (const int64_t value : values) put(value);
    return *this;
  }
  template <class Write>
  Text text(Write write) const {
    if (!fit()) return Text(write());
    const uint64_t at = hash();
    if (const Text* found = find(at)) return *found;
    return keep(at, Text(write()));
  }
  bool fit() const { return count_ <= kMost; }  // what does not is not found again
  uint64_t hash() const;
  std::vector<int64_t> list() const { return {words_, words_ + count_}; }
  bool operator==(const std::vector<int64_t>& words) const {
    return std::equal(words.begin(), words.end(), words_, words_ + count_);
  }

 private:
  static constexpr int kMost = 96;
  const Text* find(uint64_t hash) const;
  Text keep(uint64_t hash, const Text& text) const;

  int64_t words_[kMost];
  int count_ = 0;
};

struct Written;
class Node;
using Value = Ref<Node>;

// The operands of a node. Three or fewer, as nearly every operation has, are in the node and cost no allocation.
class Operands {
 public:
  Operands() = default;
  Operands(std::initializer_list<Value> in) { assign(in.begin(), in.size()); }
  Operands(std::vector<Value> in) {
    if (in.size() > kFew) {
      count_ = in.size();
      many_ = std::move(in);
    } else {
      assign(in.data(), in.size());
    }
  }
  template <class Get>
  Operands(size_t n, Get get) : count_(n) {
    if (n > kFew) many_.resize(n);
    for (size_t i = 0; i < n; ++i) begin()[i] = get(i);
  }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  Value* begin() { return count_ > kFew ? many_.data() : few_; }
  Value* end() { return begin() + count_; }
  const Value* begin() const { return count_ > kFew ? many_.data() : few_; }
  const Value* end() const { return begin() + count_; }
  const Value& operator[](size_t i) const { return begin()[i]; }

 private:
  static constexpr size_t kFew = 3;
  void assign(const Value* in, size_t n) {
    if (n > kFew) many_.assign(in, in + n);
    else std::copy(in, in + n, few_);
    count_ = n;
  }
  Value few_[kFew];
  std::vector<Value> many_;
  size_t count_ = 0;
};

// Note [Shards]
// A sharded array is one value with a buffer on each device of a mesh; its axes are those of the tensor that was
// sharded, as the axis of a flat storage could not be cut along them. A program that has such an argument or result is
// compiled for all devices of the mesh: XLA divides its operations (SPMD). All else in it is the same on each device,
// and read from the first. Devices of a mesh are xla:0, xla:1, ..., and xla:0 is the device of all its tensors.
// Each sharding is kept once, as long as the process lives.
struct Sharding {
  int devices;       // of the mesh
  std::string text;  // as XLA writes it: "{devices=[2,1]0,1}"
  Dims shape;
};
const Sharding* kept_sharding(int devices, const std::string& text, const Dims& shape);

// Note [Nodes]
// Written by add() once, then constant, until the program has run: a node whose storage lives gets the array, and
// forgets what it was made from.
class Node : public RefCounted {
 public:
  enum Kind : uint8_t {
    Operation,
    Part,       // one of several results of an operation
    Number,     // one value in host memory, an argument of the program: no new program for another number
    Array,      // on the device, or (with `bytes`) still in host memory
    Parameter,  // what a region of a loop is given
  };
  ~Node() override;
  // A step frees as many nodes as the next one makes, so their memory is kept.
  static void* operator new(size_t size);
  static void operator delete(void* memory);

  Kind kind = Operation;
  DType dtype = DType::Float32;
  int part = 0;         // of Part and Parameter
  int level = 0;        // of an operation with regions that hold operations: one more than the greatest in them
  const char* op = "";  // "stablehlo.add"
  const Written* written = nullptr;  // of an operation that is part of a call: Note [Calls] in calls.h
  Text text;                         // attributes and regions, as they stand between operands and types
  Dims shape;
  Operands in;
  std::vector<Type> results;  // of an operation that has several
  std::vector<char> bytes;    // of a Number, and of an Array that was not copied yet
  pjrt::Buffer* buffer = nullptr;
  std::vector<pjrt::Buffer*> others;   // the shards, or copies, of devices 1, 2, ...
  const Sharding* sharding = nullptr;  // which an operation's result is to have; null: none

  // While a program is written.
  uint64_t seen = 0;
  int id = 0;
  int uses = 0;       // by operations of the program
  bool kept = false;  // by something else, or for such a one
  Value expanded;     // in whose place it stands
};

// What a call writes to one storage, made from parameters; their numbers in order of the operands.
struct Written {
  Value value;
  std::vector<int> parameters;
};

// Another node. `text` stands after the operands: "{dimensions = array<i64: 0>}".
Value add(const char* op, Operands in, DType dtype, const Dims& shape, Text text = {});
// One with several results, which part() tells apart.
Value add(const char* op, std::vector<Value> in, std::vector<Type> results, Text text);
Value part(const Value& of, int i);
// One element in host memory, which becomes an argument of the program, or a constant of it if it is 0 or 1.
Value number(const void* bytes, DType dtype);
Value argument(const void* bytes, DType dtype);  // always an argument
// Elements in host memory.
Value array(std::vector<char> bytes, DType dtype, const Dims& shape);

Value parameter(int i, DType dtype, const Dims& shape);  // Note [Loops] in loop.h

// "[1, 2]" with `open` and `close` around: array<i64: 1, 2>
std::string list(const Dims& values);
std::string type_text(DType dtype, const Dims& shape);

bool is_argument(const Node& n);  // of a program: a number, or an array
// What `outputs` (nodes that have no array yet) are made of, operands before what is made of them.
std::vector<Node*> in_order(const std::vector<Node*>& outputs);
// The program that computes `outputs`, which has no calls; arguments have their number in `arguments` as `id`.
// given[i]: the output that takes the memory of argument i, -1 for none.
std::string write_program(const std::vector<Node*>& arguments, const std::vector<Value>& outputs,
                          const std::vector<int>& given, const std::vector<const Sharding*>& shardings);

// A region that computes `outputs` from its parameters; *level becomes that of its operations, if it is more.
std::string write_region(const std::vector<Value>& parameters, const std::vector<Value>& outputs, int* level);

struct Counters {
  int64_t compiled = 0, executed = 0, cached = 0;
};
Counters counters();
// Starts what computes `outputs`, which get their arrays: Note [Keys of programs], Note [Memory that is given].
void run(const std::vector<Node*>& outputs, int device);
// The same in two parts. A program's arguments may be others of the same types when it is started; `giving` names the
// argument that gives output number i its memory.
struct Program {
  pjrt::Executable* code = nullptr;
  int mesh = 0;  // devices of it; 0: a program of one device
  std::vector<Node*> arguments;
};
using Giving = std::function<Node*(size_t)>;
Program program_of(const std::vector<Node*>& outputs, const Giving& giving);
void start(const Program& program, const std::vector<Node*>& outputs, int device);
void ensure_array(Node* node, int device);  // copies `bytes` of an Array to the device

}  // namespace strided::xla
