// How the CPU runs a fused program: threads get ranges of the iteration, a range is cut into blocks whose registers fit
// the cache, and over each block go, one after the other, chains of steps (Note [Chains] in cpu/pointwise/chain.h) and
// the loops of single operations.
#include <algorithm>
#include <memory>
#include <vector>

#include "backend/fused_plan.h"
#include "backend/reduce.h"
#include "base/integer.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/loop_run.h"
#include "cpu/operations.h"
#include "cpu/pointwise/fused_chain.h"

namespace strided {
namespace cpu {
namespace {

// What the steps of a block read and write fits an L1 cache of 32 KiB; a call of a loop costs as much as some hundred
// elements of it, so that smaller blocks than 1024 elements do not pay.
constexpr int64_t kBlockBytes = 28672, kLeastBlock = 1024, kMostBlock = 4096;
// Where everything is one chain, blocks only bound how often it is set up.
constexpr int64_t kChainBlock = 65536;
constexpr int64_t kChunk = kReduceChunk;
constexpr int kMost = FusedPlan::kMostMemory, kChunkMemory = kMost;

int64_t round_up(int64_t a) { return (a + 63) & ~int64_t(63); }

// Memory of a thread, which is kept for the next program.
char* scratch_of_thread(int64_t bytes) {
  thread_local std::unique_ptr<char[]> memory;
  thread_local int64_t size = 0;
  if (size < bytes + 64) {
    memory.reset(new char[static_cast<size_t>(bytes + 64)]);
    size = bytes + 64;
  }
  const auto at = reinterpret_cast<uintptr_t>(memory.get());
  return memory.get() + (-at & 63);
}

class FusedRun {
 public:
  explicit FusedRun(const FusedPlan& plan) : plan_(plan), chains_(plan), loops_(static_cast<size_t>(plan.n_steps)) {
    const KernelTable& table = kernel_table();
    for (int i = 0; i < plan.n_steps; ++i) {
      const FusedPlan::Step& step = plan.steps[i];
      n_operands_ += step.n_operands;
      const DType to = dtype(step.operand[0]);
      switch (step.kind) {
        case FusedPlan::Kind::Elementwise: loops_[i].loop = table.elementwise[step.op][index_of(step.compute)]; break;
        case FusedPlan::Kind::Convert:
          loops_[i].loop = table.copy[index_of(to)][index_of(dtype(step.operand[1]))];
          break;
        case FusedPlan::Kind::Where: loops_[i].loop = table.index.where[item_row(size_of(to))]; break;
        case FusedPlan::Kind::Reduce: {
          loops_[i].reduce = &table.reduce[step.op][index_of(step.compute)];
          most_accumulator_ = std::max(most_accumulator_, loops_[i].reduce->acc_size);
          break;
        }
      }
      STRIDED_CHECK(loops_[i].loop || (loops_[i].reduce && loops_[i].reduce->accumulate), NotImplementedError,
                    plan.name, ": a step has no loop for ", step.compute, " on device 'cpu'");
    }
    n0_ = plan.ndim > 0 ? plan.shape[0] : 1;
    n1_ = plan.ndim > 1 ? plan.shape[1] : 1;
    const int64_t fits = kBlockBytes / (plan.itemsize * (plan.n_registers + plan.n_memory));
    block_ = std::min(std::max(fits & ~int64_t(255), kLeastBlock), kMostBlock);
    const bool one_chain = chains_.is_all_of(plan);
    if (one_chain) block_ = kChainBlock;
    if (plan.reduces_rows) block_ = std::max(block_, n0_);
    rows_ = n0_ <= block_ ? std::max<int64_t>(block_ / std::max<int64_t>(n0_, 1), 1) : 1;
    register_bytes_ = one_chain ? 0 : round_up(block_ * plan.itemsize);
    row_bytes_ = round_up(rows_ * 16);
    accumulators_ = register_bytes_ * plan.n_registers + row_bytes_ * plan.n_row_registers;
    chunk_at_ = accumulators_ + (plan.reduces_rows ? round_up(rows_ * most_accumulator_) : 0);
    strips_at_ = chunk_at_ + round_up(plan.whole_out ? kChunk * size_of(plan.whole_dtype) : 0);
    const int n_strips = chains_.chains.empty() ? 0 : plan.n_registers + chains_.n_numbers;
    scratch_bytes_ = strips_at_ + n_strips * kernel_table().chain.strip;
  }

  void run() const {
    const int64_t n = plan_.numel();
    if (plan_.whole_out) return run_whole(n);
    if (n == 0) return;
    const int64_t unit = plan_.reduces_rows ? n0_ : 1;
    // Several steps are worth a second thread sooner.
    const int64_t grain = std::max<int64_t>(kLoopGrain / std::min(plan_.n_steps, 4) / unit, 1);
    const int64_t units = n / unit;
    if (units <= grain) {
      const GilRelease unlocked(n * plan_.n_steps > 65536);
      return run_range(0, n);
    }
    parallel_for(0, units, grain, [&](int64_t begin, int64_t end) { run_range(begin * unit, end * unit); });
  }

 private:
  struct Loop {
    Loop2d loop = nullptr;
    const ReduceKernel* reduce = nullptr;
  };
  // Where an operand of a step is while a thread runs blocks: `memory` of the block plus nothing, or always at `data`.
  struct Operand {
    int memory;  // -1: at `data`
    char* data;
    int64_t stride0, stride1;  // stride1 of a register depends on the block
    int64_t register_item;     // 0: no register
  };
  struct Block {
    int64_t n0, n1;        // elements of a row, rows
    char* memory[kMost];   // of the first element
    int64_t chunk_offset;  // elements from the beginning of the chunk
  };

  DType dtype(int value) const { return plan_.values[value].dtype; }

  Operand operand_of(int value, char* scratch) const {
    const FusedPlan::Value& v = plan_.values[value];
    const int64_t item = size_of(v.dtype);
    switch (v.place) {
      case FusedPlan::Place::Memory: {
        const int64_t* strides = plan_.memory[v.index].strides;
        return {v.index, nullptr, plan_.ndim > 0 ? strides[0] : item, plan_.ndim > 1 ? strides[1] : 0, 0};
      }
      case FusedPlan::Place::Constant: return {-1, const_cast<char*>(plan_.constants[v.index]), 0, 0, 0};
      case FusedPlan::Place::Register: return {-1, scratch + v.index * register_bytes_, item, 0, item};
      case FusedPlan::Place::RowRegister:
        return {-1, scratch + register_bytes_ * plan_.n_registers + v.index * row_bytes_, 0, item, 0};
      case FusedPlan::Place::Chunk: return {kChunkMemory, scratch + chunk_at_, item, 0, 0};
    }
    __builtin_unreachable();
  }

  static char* place_of(const Operand& o, const Block& block) {
    if (o.memory < 0) return o.data;
    return o.memory == kChunkMemory ? o.data + block.chunk_offset * o.stride0 : block.memory[o.memory];
  }

  // Runs the blocks of one thread.
  class Thread {
   public:
    explicit Thread(const FusedRun& run) : run_(run), scratch_(scratch_of_thread(run.scratch_bytes_)) {
      Operand* to = run.n_operands_ <= kUsual ? usual_ : (many_.reset(new Operand[run.n_operands_]), many_.get());
      operands_ = to;
      for (int i = 0; i < run.plan_.n_steps; ++i)
        for (int k = 0; k < run.plan_.steps[i].n_operands; ++k)
          *to++ = run.operand_of(run.plan_.steps[i].operand[k], scratch_);
    }
    char* scratch() const { return scratch_; }

    void run_block(const Block& block) const {
      const Operand* operands = operands_;
      const FusedChain* chain = run_.chains_.chains.begin();
      const FusedChain* const no_chain = run_.chains_.chains.end();
      for (int i = 0; i < run_.plan_.n_steps; operands += run_.plan_.steps[i++].n_operands) {
        if (chain != no_chain && i >= chain->begin) {
          if (i == chain->begin) run_.run_chain(*chain, block, scratch_);
          if (i + 1 == chain->end) ++chain;
          continue;
        }
        const FusedPlan::Step& step = run_.plan_.steps[i];
        const int n = step.n_operands;
        char* data[FusedPlan::kMostOperands];
        int64_t strides[2 * FusedPlan::kMostOperands];
        const bool several = block.n1 > 1;
        bool flat = several;
        for (int k = 0; k < n; ++k) {
          const Operand& o = operands[k];
          data[k] = place_of(o, block);
          strides[k] = o.stride0;
          strides[n + k] = o.register_item ? o.register_item * block.n0 : o.stride1;
          if (several) flat = flat && strides[n + k] == o.stride0 * block.n0;
        }
        if (step.kind == FusedPlan::Kind::Reduce) {
          run_.reduce_rows(step, *run_.loops_[i].reduce, data, strides, block, scratch_);
        } else if (step.rows) {
          for (int k = 0; k < n; ++k) strides[k] = strides[n + k];
          run_.loops_[i].loop(data, strides, block.n1, 1, step.params);
        } else if (flat) {
          run_.loops_[i].loop(data, strides, block.n0 * block.n1, 1, step.params);
        } else {
          run_.loops_[i].loop(data, strides, block.n0, block.n1, step.params);
        }
      }
    }

   private:
    static constexpr int kUsual = 64;
    const FusedRun& run_;
    char* scratch_;
    Operand usual_[kUsual];
    std::unique_ptr<Operand[]> many_;
    const Operand* operands_;
  };

  // All rows at once where every operand has them one after the other.
  void run_chain(const FusedChain& chain, const Block& block, char* scratch) const {
    const ChainKernels& kernels = kernel_table().chain;
    char* const strips = scratch + strips_at_;
    SmallVector<ChainCode, 32> codes(static_cast<size_t>(chain.n_codes));
    SmallVector<int64_t, 32> row_strides(static_cast<size_t>(chain.n_codes));
    bool flat = true;
    const auto n = static_cast<size_t>(chain.n_codes);
    for (size_t i = 0; i < n; ++i) {
      const FusedChain::Code& from = chains_.codes[static_cast<size_t>(chain.first_code) + i];
      ChainCode& code = codes[i];
      code.op = from.op;
      if (from.value < 0) continue;
      if (from.at == FusedChain::At::Strip) {
        code.at = strips + from.strip * kernels.strip;
        continue;
      }
      const Operand o = operand_of(from.value, scratch);
      row_strides[i] = o.register_item ? o.register_item * block.n0 : o.stride1;
      flat = flat && row_strides[i] == o.stride0 * block.n0;
      if (from.at == FusedChain::At::Number) {
        code.at = strips + (plan_.n_registers + from.strip) * kernels.strip;
        code.number = place_of(o, block);
      } else {
        code.at = place_of(o, block);
        code.mask = -1;
      }
    }
    const auto run = kernels.run[index_of(chain.dtype)];
    if (flat || block.n1 == 1) return run(codes.data(), chain.n_codes, block.n0 * block.n1);
    for (int64_t row = 0; row < block.n1; ++row) {
      run(codes.data(), chain.n_codes, block.n0);
      for (size_t i = 0; i < n; ++i) {
        if (codes[i].number) codes[i].number += row_strides[i];
        else if (codes[i].mask != 0) codes[i].at += row_strides[i];
      }
    }
  }

  void reduce_rows(const FusedPlan::Step& step, const ReduceKernel& kernel, char** data, const int64_t* strides,
                   const Block& block, char* scratch) const {
    char* acc = scratch + accumulators_;
    kernel.accumulate(acc, data[1], block.n1, strides[3], block.n0, strides[1], 0, step.params);
    char* const out[] = {data[0], nullptr};
    const int64_t out_strides[] = {strides[2], 0};
    kernel.finish(out, out_strides, acc, block.n1, block.n0, step.params);
  }

  // Positions [begin, end) in the order of the plan; whole rows where rows are reduced.
  void run_range(int64_t begin, int64_t end) const {
    const Thread thread(*this);
    int64_t index[kMaxDims + 2] = {};
    int64_t rest = begin;
    for (int i = 0; i < plan_.ndim; ++i) {
      index[i] = rest % plan_.shape[i];
      rest /= plan_.shape[i];
    }
    Block block{};
    while (begin < end) {
      block.n0 = std::min({n0_ - index[0], end - begin, block_});
      block.n1 = 1;
      if (index[0] == 0 && block.n0 == n0_) block.n1 = std::min({n1_ - index[1], (end - begin) / n0_, rows_});
      for (int k = 0; k < plan_.n_memory; ++k) {
        block.memory[k] = plan_.memory[k].data;
        for (int i = 0; i < plan_.ndim; ++i) block.memory[k] += index[i] * plan_.memory[k].strides[i];
      }
      thread.run_block(block);
      begin += block.n0 * block.n1;
      index[0] += block.n0;
      if (index[0] < n0_) continue;
      index[0] = 0;
      index[1] += block.n1;
      for (int i = 1; i < plan_.ndim - 1 && index[i] == plan_.shape[i]; ++i) {
        index[i] = 0;
        ++index[i + 1];
      }
    }
  }

  // Everything is reduced to one value, by the tree of Note [The reduction tree] in cpu/reduce/reduce_run.cpp: the same
  // chunks, combined in the same order.
  void run_whole(int64_t n) const {
    const ReduceKernel& kernel = kernel_table().reduce[plan_.whole_op][index_of(plan_.whole_dtype)];
    STRIDED_CHECK(kernel.accumulate, NotImplementedError, plan_.name, ": no reduction of ", plan_.whole_dtype);
    const int64_t chunks = std::max<int64_t>(ceil_div(n, kChunk), 1), acc = round_up(kernel.acc_size);
    const std::unique_ptr<char[]> memory(new char[static_cast<size_t>(chunks * acc + 64)]);
    char* parts = memory.get() + (-reinterpret_cast<uintptr_t>(memory.get()) & 63);
    const int64_t item = size_of(plan_.whole_dtype);
    const GilRelease unlocked(n * plan_.n_steps > 65536);
    parallel_for(0, chunks, 2, [&](int64_t begin, int64_t end) {
      const Thread thread(*this);
      Block block{};
      block.n1 = 1;
      for (int64_t c = begin; c < end; ++c) {
        const int64_t first = c * kChunk, count = std::min(kChunk, n - first);
        for (int64_t i = 0; i < count; i += block_) {
          block.n0 = std::min(block_, count - i);
          block.chunk_offset = i;
          for (int k = 0; k < plan_.n_memory; ++k)
            block.memory[k] = plan_.memory[k].data + (plan_.ndim > 0 ? (first + i) * plan_.memory[k].strides[0] : 0);
          thread.run_block(block);
        }
        kernel.accumulate(parts + c * acc, thread.scratch() + chunk_at_, 1, item, count, item, first,
                          &plan_.whole_param);
      }
    });
    int64_t top = 0;
    for (int64_t c = 0; c < chunks; ++c) {
      if (top != c) std::copy(parts + c * acc, parts + c * acc + kernel.acc_size, parts + top * acc);
      ++top;
      for (int64_t m = c; m & 1; m >>= 1, --top)
        kernel.combine(parts + (top - 2) * acc, parts + (top - 1) * acc, 1, &plan_.whole_param);
    }
    for (; top > 1; --top) kernel.combine(parts + (top - 2) * acc, parts + (top - 1) * acc, 1, &plan_.whole_param);
    char* const out[] = {plan_.whole_out, nullptr};
    const int64_t strides[] = {0, 0};
    kernel.finish(out, strides, parts, 1, n, &plan_.whole_param);
  }

  const FusedPlan& plan_;
  const FusedChains chains_;
  std::vector<Loop> loops_;
  int n_operands_ = 0;  // of all steps
  int64_t n0_, n1_;
  int64_t block_, rows_;  // elements of a row in one block, rows
  int64_t register_bytes_, row_bytes_, accumulators_, chunk_at_, strips_at_, scratch_bytes_;
  int64_t most_accumulator_ = 16;
};

}  // namespace

void fused_pointwise(const FusedPlan& plan) { FusedRun(plan).run(); }

}  // namespace cpu
}  // namespace strided
