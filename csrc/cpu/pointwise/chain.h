// Chains: several steps of a fused program that are walked for a strip of elements at a time, in registers.
#pragma once

#include "cpu/kernels.h"

namespace strided {

// Note [Chains]
// A loop for each operation stores every intermediate and loads it again, and while it computes, nothing comes
// from memory. A chain goes over the elements once. A strip is as long as the vector registers hold; for each
// strip the codes of the chain are walked one by one. There is one accumulator: a code takes it and one operand,
// or loads or stores it. What a code reads lies in the memory of a tensor or of a block, or in a strip of its own:
// a value of the chain that is read later, or one number for all elements. Each code rounds as its operation alone
// does. A NaN made of two different NaNs has the sign and payload of one of them, as the compiler chooses for each
// loop.
enum class ChainOp : uint8_t {
  None,
  Load,
  Store,
  Add,
  Mul,
  Sub,
  SubFrom,  // operand - accumulator; so are all that follow their operation
  Div,
  DivInto,
  Maximum,
  MaximumOf,
  Minimum,
  MinimumOf,
  Neg,
  Abs,
  Square,
  Relu,
  Reciprocal,
  Sqrt,
};
// The code of an operation whose second operand is the accumulator.
constexpr ChainOp exchanged(ChainOp op) {
  return op >= ChainOp::Sub && op <= ChainOp::Minimum ? static_cast<ChainOp>(static_cast<int>(op) + 1) : op;
}
constexpr bool reads_operand(ChainOp op) { return op < ChainOp::Neg; }

struct ChainCode {
  ChainOp op = ChainOp::None;
  char* at = nullptr;            // of the operand's first element
  int64_t mask = 0;              // -1: the operand advances with the elements; 0: one strip serves all
  const char* number = nullptr;  // not null: the strip is filled with this element first
};

}  // namespace strided
