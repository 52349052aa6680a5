// Which steps of a fused program are chains, and their codes (Note [Chains] in cpu/pointwise/chain.h).
#pragma once

#include "backend/fused_plan.h"
#include "base/small_vector.h"
#include "cpu/pointwise/chain.h"

namespace strided {
namespace cpu {

struct FusedChain {
  // Where the operand of a code is.
  enum class At : uint8_t {
    Block,   // the value's memory or register
    Strip,   // the strip of the value's register: nothing outside the chain reads it
    Number,  // strip `strip`, which is filled with the value, one for each row or one for all
  };
  struct Code {
    ChainOp op = ChainOp::None;
    At at = At::Block;
    int value = -1;  // -1: no operand
    int strip = 0;
  };

  int begin = 0, end = 0;  // steps
  DType dtype = DType::Float32;
  int first_code = 0, n_codes = 0;
};

// The chains of a program in order, and all their codes. Numbers have strips 0 ... n_numbers - 1.
struct FusedChains {
  SmallVector<FusedChain, 4> chains;
  SmallVector<FusedChain::Code, 32> codes;
  int n_numbers = 0;

  explicit FusedChains(const FusedPlan& plan);
  // Whether nothing but one chain is there: no register holds a block.
  bool is_all_of(const FusedPlan& plan) const {
    return chains.size() == 1 && chains[0].begin == 0 && chains[0].end == plan.n_steps;
  }
};

}  // namespace cpu
}  // namespace strided
