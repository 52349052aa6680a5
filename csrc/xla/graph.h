// Programs as they are recorded: nodes, each one operation of StableHLO, or an array that is on the device.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/dims.h"
#include "base/ref.h"
#include "core/dtype.h"
#include "xla/pjrt.h"

namespace strided::xla {

struct Type {
  DType dtype;
  Dims shape;
};

class Node;
using Value = Ref<Node>;

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

  Kind kind = Operation;
  DType dtype = DType::Float32;
  int part = 0;         // of Part and Parameter
  int level = 0;        // of an operation with regions that hold operations: one more than the greatest in them
  const char* op = "";  // "stablehlo.add"
  std::string text;     // attributes and regions, as they stand between operands and types
  Dims shape;
  std::vector<Value> in;
  std::vector<Type> results;  // of an operation that has several
  std::vector<char> bytes;    // of a Number, and of an Array that was not copied yet
  pjrt::Buffer* buffer = nullptr;
  int constant = kUnknown;  // see constant_of

  // While a program is written.
  uint64_t seen = 0;
  int id = 0;
  int uses = 0;       // by operations of the program
  bool kept = false;  // by something else, or for such a one

  static constexpr int kUnknown = -1;
};

// Another node. `text` stands after the operands: "{dimensions = array<i64: 0>}".
Value add(const char* op, std::initializer_list<Value> in, DType dtype, const Dims& shape, std::string text = "");
Value add(const char* op, std::vector<Value> in, DType dtype, const Dims& shape, std::string text = "");
// One with several results, which part() tells apart.
Value add(const char* op, std::vector<Value> in, std::vector<Type> results, std::string text);
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
// The program that computes `outputs`. Arguments, and apart from them operations, have their number in the order as
// `id`. given[i]: the output that takes the memory of argument i, -1 for none.
std::string write_program(const std::vector<Node*>& order, const std::vector<Node*>& outputs,
                          const std::vector<int>& given);

// A region that computes `outputs` from its parameters; *level becomes that of its operations, if it is more.
std::string write_region(const std::vector<Value>& parameters, const std::vector<Value>& outputs, int* level);

struct Counters {
  int64_t compiled = 0, executed = 0, cached = 0;
};
Counters counters();
// Starts what computes `outputs`, which get their arrays: Note [Keys of programs], Note [Memory that is given].
void run(const std::vector<Node*>& outputs, int device);
void ensure_array(Node* node, int device);  // copies `bytes` of an Array to the device

}  // namespace strided::xla
