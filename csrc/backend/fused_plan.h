// A chain of elementwise operations as one plan: a small program that a backend runs block by block, so that what lies
// between the operands and the results never leaves the cache.
#pragma once

#include "backend/loop_plan.h"
#include "base/dims.h"

namespace strided {

// Note [Fused programs]
// A program goes over one iteration space, axes innermost first. Its values are elements of that space, or, where rows
// along axis 0 are reduced, one element for each row. A value lies in the memory of a tensor, is a constant, or stands
// in a register: a buffer for the elements of one block (one for each row of a block). A step reads values and writes
// one, with the same loop that runs the operation alone, so the results are the same bits.
struct FusedPlan : OpContext {
  static constexpr int kMostOperands = 5;  // of a step
  static constexpr int kMostMemory = 32;
  static constexpr int64_t kMostRow = 16384;  // elements of a row that is reduced: a chunk of the reduction tree

  enum class Place : uint8_t { Memory, Constant, Register, RowRegister, Chunk };
  struct Value {
    Place place = Place::Register;
    int index = 0;  // of the memory, the constant, the register
    DType dtype = DType::Float32;
    int made = -1, last = -1;  // the step that writes it, and the last one that reads or writes it
  };
  enum class Kind : uint8_t { Elementwise, Convert, Where, Reduce };
  struct Step {
    Kind kind = Kind::Elementwise;
    bool rows = false;  // all operands have one element for each row
    int op = 0;         // of Elementwise and Reduce
    DType compute = DType::Float32;
    int n_operands = 0;  // the result first
    int operand[kMostOperands] = {};
    double params[4] = {};
  };
  struct Memory {
    char* data = nullptr;
    const int64_t* strides = nullptr;  // bytes, one for each axis
  };

  int ndim = 0;
  const int64_t* shape = nullptr;
  bool reduces_rows = false;  // blocks are whole rows
  int n_steps = 0;
  const Step* steps = nullptr;
  const Value* values = nullptr;
  const Memory* memory = nullptr;
  int n_memory = 0;
  const char* const* constants = nullptr;
  int n_registers = 0, n_row_registers = 0;
  int itemsize = 4;  // the largest of a register

  // The last reduction, over everything (ndim <= 1): of the value that is in place Chunk, to `whole_out`. Null: none.
  char* whole_out = nullptr;
  int whole_op = 0;
  DType whole_dtype = DType::Float32;
  double whole_param = 0;

  int64_t numel() const {
    int64_t n = 1;
    for (int i = 0; i < ndim; ++i) n *= shape[i];
    return n;
  }
};

}  // namespace strided
