#include "cpu/pointwise/fused_chain.h"

#include <algorithm>

namespace strided {
namespace cpu {
namespace {

using Place = FusedPlan::Place;
using Step = FusedPlan::Step;
using Value = FusedPlan::Value;

// Rows shorter than a strip are worth a chain only where they follow each other in memory, as one row.
bool is_long(const FusedPlan& plan, int64_t item) {
  return plan.ndim <= 1 || plan.shape[0] * item >= kernel_table().chain.strip;
}

bool fits(const FusedPlan& plan, const Value& v, bool result) {
  const int64_t item = size_of(v.dtype);
  switch (v.place) {
    case Place::Constant:
    case Place::Register:
    case Place::Chunk: return true;
    case Place::RowRegister: return !result && is_long(plan, item);
    case Place::Memory: {
      if (plan.ndim == 0) return true;
      const int64_t* strides = plan.memory[v.index].strides;
      if (strides[0] != item && (result || strides[0] != 0)) return false;
      return is_long(plan, item) || strides[1] == strides[0] * plan.shape[0];
    }
  }
  return false;
}

bool fits(const FusedPlan& plan, const Step& step) {
  if (step.kind != FusedPlan::Kind::Elementwise || step.rows) return false;
  const ChainKernels& kernels = kernel_table().chain;
  if (kernels.op_of[step.op] == ChainOp::None || !kernels.run[index_of(step.compute)]) return false;
  for (int k = 0; k < step.n_operands; ++k) {
    const Value& v = plan.values[step.operand[k]];
    if (v.dtype != step.compute || !fits(plan, v, k == 0)) return false;
  }
  return true;
}

class Writer {
 public:
  Writer(const FusedPlan& plan, const FusedChain& chain, FusedChains* to) : plan_(plan), chain_(chain), to_(to) {}

  void step(int i) {
    const Step& s = plan_.steps[i];
    const ChainOp op = kernel_table().chain.op_of[s.op];
    const int x = s.operand[1], y = s.operand[2];
    if (s.n_operands == 2) {
      if (x != held_) code(ChainOp::Load, x);
      code(op, -1);
    } else if (y == held_ && x != y) {
      code(exchanged(op), x);
    } else {
      if (x != held_) code(ChainOp::Load, x);
      if (x == y && op == ChainOp::Mul) code(ChainOp::Square, -1);
      else code(op, y);
    }
    held_ = s.operand[0];
    if (is_stored(i)) code(ChainOp::Store, held_);
  }

 private:
  // Whether the result of step i is needed where the accumulator no longer has it.
  bool is_stored(int i) const {
    const Value& v = plan_.values[held_];
    if (v.place != Place::Register || v.last > i + 1) return true;
    if (v.last <= i) return false;
    if (i + 1 == chain_.end) return true;
    const Step& next = plan_.steps[i + 1];
    return next.n_operands == 3 && next.operand[1] == next.operand[2] &&
           kernel_table().chain.op_of[next.op] != ChainOp::Mul;
  }

  void code(ChainOp op, int value) {
    FusedChain::Code c;
    c.op = op;
    c.value = value;
    if (value >= 0) {
      const Value& v = plan_.values[value];
      if (v.place == Place::Constant || v.place == Place::RowRegister ||
          (v.place == Place::Memory && plan_.ndim > 0 && plan_.memory[v.index].strides[0] == 0)) {
        c.at = FusedChain::At::Number;
        c.strip = to_->n_numbers++;
      } else if (v.place == Place::Register && v.made >= chain_.begin && v.last < chain_.end) {
        c.at = FusedChain::At::Strip;
        c.strip = v.index;
      }
    }
    to_->codes.push_back(c);
  }

  const FusedPlan& plan_;
  const FusedChain& chain_;
  FusedChains* to_;
  int held_ = -1;  // the value in the accumulator
};

}  // namespace

FusedChains::FusedChains(const FusedPlan& plan) {
  for (int i = 0; i < plan.n_steps;) {
    FusedChain chain;
    chain.begin = chain.end = i;
    chain.dtype = plan.steps[i].compute;
    while (chain.end < plan.n_steps && plan.steps[chain.end].compute == chain.dtype &&
           fits(plan, plan.steps[chain.end]))
      ++chain.end;
    i = std::max(chain.end, i + 1);
    if (chain.end - chain.begin < 2) continue;
    chain.first_code = static_cast<int>(codes.size());
    Writer writer(plan, chain, this);
    for (int k = chain.begin; k < chain.end; ++k) writer.step(k);
    chain.n_codes = static_cast<int>(codes.size()) - chain.first_code;
    chains.push_back(chain);
  }
}

}  // namespace cpu
}  // namespace strided
