// How the CPU runs a reduction: the work is cut into chunks, chunks are combined.
//
// Note [The reduction tree]
// The reduced axis is cut into chunks of a size that depends on shapes and strides only. Chunks are combined in the
// order of a binary counter: chunk results wait on a stack, and after chunk c as many pairs are combined as c + 1 has
// trailing zero bits. This is a fixed, nearly balanced binary tree, as in pairwise summation (N. J. Higham, "The
// accuracy of floating point summation", SIAM J. Sci. Comput. 14, 1993). Threads get whole groups of 2^q chunks, which
// are subtrees: the result does not depend on who computes them.
#include <algorithm>
#include <limits>
#include <memory>

#include "backend/reduce.h"
#include "backend/reduce_schedule.h"
#include "base/integer.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/operations.h"
#include "cpu/reduce/lengths.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kKeepBlock = 1024;     // most outputs of one call of a kernel; bounds the memory for accumulators
constexpr int64_t kBlockItems = 65536;   // elements of one call across outputs
constexpr int64_t kThreadItems = 65536;  // elements that are worth another thread
constexpr int64_t kCastItems = 8192;     // elements of a buffer for another dtype
constexpr int64_t kJoinedRow = 1024;     // elements of the longest row that is copied to others
constexpr int64_t kLongIndex = 4 * kReduceChunk;  // elements of a row among which a position is looked for once
constexpr int64_t kManyOutputs = 16;  // with so many blocks of outputs, these are all the parallelism there is
constexpr int64_t kMaxTasks = 64;
constexpr int64_t kTogether = 4;  // chunks of a long row

struct Scratch {
  alignas(64) char stack[4096];
  std::unique_ptr<char[]> heap;
  char* get(int64_t bytes) {
    if (bytes <= static_cast<int64_t>(sizeof(stack))) return stack;
    heap.reset(new char[static_cast<size_t>(bytes)]);
    return heap.get();
  }
};

int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }
int bit_length(int64_t v) {
  int n = 0;
  for (; v > 0; v >>= 1) ++n;
  return n;
}

class ReduceSchedule {
 public:
  ReduceSchedule(const ReducePlan& plan, const ReduceKernel& kernel, int64_t longest, Loop2d copy, bool cast,
                 int64_t itemsize)
      : kernel_(kernel),
        plan_(plan),
        longest_(longest),
        copy_(copy),
        cast_(cast ? copy : nullptr),
        itemsize_(itemsize),
        layout_(plan) {
    if (layout_.outputs > 0) choose();
  }

  int64_t outputs() const { return layout_.outputs; }

  void run() const {
    const int64_t acc = kernel_.acc_size;
    const int64_t outer = layout_.kept.numel(), blocks = ceil_div(keep_.size, keep_block_);
    const int64_t outputs = outer * blocks;  // tasks by output
    const int64_t items = keep_block_ * std::max<int64_t>(red_.size, 1) * layout_.reduced.numel();
    int64_t group = chunks_;
    if (outputs < kManyOutputs && chunks_ > 1)
      for (group = 1; outputs * ceil_div(chunks_, group) > kMaxTasks || group * (items / chunks_) < kThreadItems / 4;) {
        if (group >= chunks_) break;
        group *= 2;
      }
    const int64_t groups = ceil_div(chunks_, group);
    if (groups == 1) {
      parallel_for(0, outputs, std::max<int64_t>(1, kThreadItems / std::max<int64_t>(items, 1)),
                   [&](int64_t begin, int64_t end) {
                     Scratch scratch;
                     char* memory = scratch.get(scratch_bytes(chunks_));
                     for (int64_t t = begin; t < end; ++t) {
                       const Block b = block(t, blocks);
                       tree(b, 0, chunks_, memory);
                       finish(b, memory);
                     }
                   });
      return;
    }
    Scratch shared;
    const int64_t part = round_up(keep_block_ * acc, 64);
    char* parts = shared.get(part * outputs * groups);
    parallel_for(0, outputs * groups, std::max<int64_t>(1, kThreadItems / std::max<int64_t>(items / groups, 1)),
                 [&](int64_t begin, int64_t end) {
                   Scratch scratch;
                   char* memory = scratch.get(scratch_bytes(group));
                   for (int64_t t = begin; t < end; ++t) {
                     const Block b = block(t / groups, blocks);
                     const int64_t g = t % groups;
                     tree(b, g * group, std::min(chunks_, (g + 1) * group), memory);
                     std::copy(memory, memory + b.n * acc, parts + t * part);
                   }
                 });
    for (int64_t o = 0; o < outputs; ++o) {
      const Block b = block(o, blocks);
      char* mine = parts + o * groups * part;
      // The binary counter again, in place: slots [0, top) are the stack.
      int64_t top = 0;
      for (int64_t g = 0; g < groups; ++g) {
        if (top != g) std::copy(mine + g * part, mine + g * part + b.n * acc, mine + top * part);
        ++top;
        for (int64_t m = g; m & 1; m >>= 1, --top)
          kernel_.combine(mine + (top - 2) * part, mine + (top - 1) * part, b.n, &plan_.param);
      }
      for (; top > 1; --top) kernel_.combine(mine + (top - 2) * part, mine + (top - 1) * part, b.n, &plan_.param);
      finish(b, mine);
    }
  }

 private:
  bool across() const { return case_ == ReduceCase::Columns; }
  struct Block {  // outputs [first, first + n) of one outer position
    int64_t n, in, out;
  };

  // Which axes the kernel's two loops take, and how long they are. fold_block in cpu/reduce/reduce.inc tells what is
  // fast.
  void choose() {
    const int64_t item = size_of(plan_.dtype);
    ReduceAxes &outer = layout_.kept, &segments = layout_.reduced;
    // Reduced: the axis that is innermost in memory, unless it is short and another is not. One that repeats its
    // elements is not in memory.
    int r = segments.n - 1;
    while (r > 0 && segments.axis[r].stride == 0) --r;
    // Rows with gaps between them, if all of the elements are reduced, are taken together: short ones are copied.
    if (const int row = segments.n > 1 && segments.axis[r].stride == item ? r : segments.n - 1;
        outer.n == 0 && segments.n > 1 && segments.axis[row].size <= kJoinedRow) {
      inner_ = segments.at(row, item);
      segments.remove(row);
      if (inner_.size < kShortRows || inner_.stride != item) cast_ = copy_;
      r = segments.n - 1;
    }
    if (segments.n > 1 && segments.axis[r].size < 64)
      for (int k = 0; k < segments.n; ++k)
        if (segments.axis[k].size > segments.axis[r].size) r = k;
    red_ = segments.at(r, item);
    // Kept: a contiguous axis, unless there is little work along it; else one of rows that follow each other, or the
    // longest.
    int k = -1;
    for (int i = 0; i < outer.n; ++i)
      if (outer.axis[i].stride == item && (outer.axis[i].size >= 16 || outer.axis[i].size * red_.size >= 256)) k = i;
    if (k < 0) {
      k = 0;
      for (int i = 1; i < outer.n; ++i)
        if (outer.axis[i].size >= outer.axis[k].size) k = i;
      for (int i = 0; i < outer.n; ++i)
        if (outer.axis[i].stride == red_.size * red_.stride && outer.axis[i].size >= 16) k = i;
    }
    keep_ = outer.at(k, item);
    // Fewer than 16 outputs are worth a loop across them where their rows follow each other; backwards they never are.
    constexpr int64_t never = std::numeric_limits<int64_t>::max();
    const bool dense = red_.stride == keep_.size * item;
    const int64_t fewest = keep_.stride < 0 ? never : dense ? 2 : 16;
    case_ = reduce_case(layout_, keep_, red_, item, fewest);
    // Other layouts are copied to one of those, chunk by chunk, in the order of memory.
    if (inner_.size > 1) {
      case_ = ReduceCase::Rows;
    } else if (case_ != ReduceCase::Columns && keep_.size > 1 && 0 <= keep_.stride &&
               keep_.stride < std::abs(red_.stride)) {
      case_ = ReduceCase::Columns;
      cast_ = copy_;
    } else if ((case_ == ReduceCase::General && red_.size >= kFewRows) ||
               (case_ == ReduceCase::Rows && red_.size < kShortRows && keep_.stride != red_.size * item)) {
      cast_ = copy_;
    }
    segments.remove(r);
    outer.remove(k);

    const int64_t limit = cast_ ? kCastItems : kBlockItems;
    switch (case_) {
      case ReduceCase::Columns:
        keep_block_ = std::min(keep_.size, cast_ ? kKeepBlock / 4 : kKeepBlock);
        chunk_ = std::min(kReduceChunk, std::max<int64_t>(limit / keep_block_, 32));
        break;
      case ReduceCase::AllContiguous:
      case ReduceCase::Rows:
      case ReduceCase::General:  // the kernel packs the elements of a chunk
        chunk_ = std::min(std::max<int64_t>(red_.size, 1),
                          cast_ || inner_.size > 1 ? std::max<int64_t>(kCastItems / inner_.size, 1) : longest_);
        keep_block_ = std::min(keep_.size, std::min(kKeepBlock, std::max<int64_t>(limit / 2 / chunk_, 1)));
        break;
    }
    parts_ = std::max<int64_t>(ceil_div(red_.size, chunk_), 1);
    chunks_ = std::max<int64_t>(parts_ * segments.numel(), 1);
    if (layout_.total == 0) parts_ = chunks_ = 1, red_.size = segments.n = 0;
  }

  Block block(int64_t task, int64_t blocks) const {
    const int64_t first = task % blocks * keep_block_;
    Block b{std::min(keep_block_, keep_.size - first), first * keep_.stride, first * keep_.out_stride};
    layout_.kept.offsets(task / blocks, &b.in, &b.out);
    return b;
  }

  int64_t level_bytes() const { return round_up(keep_block_ * kernel_.acc_size, 64); }
  int64_t scratch_bytes(int64_t chunks) const {
    return level_bytes() * (bit_length(chunks) + 1) +
           (cast_ || inner_.size > 1
                ? keep_block_ * std::min(chunk_, std::max<int64_t>(red_.size, 1)) * inner_.size * itemsize_
                : 0);
  }

  // memory: the stack of results, then the buffer for casts. The result is left in the first slot.
  void tree(const Block& b, int64_t begin, int64_t end, char* memory) const {
    const int64_t level = level_bytes();
    char* buffer = memory + level * (bit_length(end - begin) + 1);
    int64_t top = 0, ready = begin;  // chunks whose results are there
    alignas(64) char results[kTogether * 64];
    for (int64_t c = begin; c < end; ++c) {
      if ((c & 63) == 63) check_interrupt();
      if (c == ready && in_turns(b, c, end)) {
        several_chunks(b, c, results);
        ready = c + kTogether;
      }
      if (c < ready) {
        const char* const result = results + (c + kTogether - ready) * kernel_.acc_size;
        std::copy(result, result + kernel_.acc_size, memory + top * level);
      } else {
        chunk(b, c, memory + top * level, buffer);
        ready = c + 1;
      }
      ++top;
      for (int64_t m = c - begin; m & 1; m >>= 1, --top)
        kernel_.combine(memory + (top - 2) * level, memory + (top - 1) * level, b.n, &plan_.param);
    }
    for (; top > 1; --top) kernel_.combine(memory + (top - 2) * level, memory + (top - 1) * level, b.n, &plan_.param);
  }

  // Whole chunks of one long row are as good as rows, which the kernel reads in turns.
  bool in_turns(const Block& b, int64_t c, int64_t end) const {
    return b.n == 1 && cast_ == nullptr && inner_.size == 1 && longest_ == kReduceChunk && chunk_ == kReduceChunk &&
           red_.stride == itemsize_ && kernel_.acc_size <= 64 && c + kTogether <= end &&
           (c % parts_ + kTogether) * chunk_ <= red_.size;
  }
  void several_chunks(const Block& b, int64_t c, char* acc) const {
    int64_t in = b.in, unused = 0;
    if (layout_.reduced.n > 0) layout_.reduced.offsets(c / parts_, &in, &unused);
    const int64_t first = c % parts_ * chunk_;
    kernel_.accumulate(acc, plan_.data + in + first * itemsize_, kTogether, chunk_ * itemsize_, chunk_, itemsize_,
                       first, &plan_.param);
  }

  void chunk(const Block& b, int64_t c, char* acc, char* buffer) const {
    int64_t in = b.in, unused = 0;
    if (layout_.reduced.n > 0) layout_.reduced.offsets(c / parts_, &in, &unused);
    const int64_t first = c % parts_ * chunk_, n = std::min(chunk_, red_.size - first);
    const char* from = plan_.data + in + first * red_.stride;
    if (cast_ == nullptr && inner_.size > 1) {  // a result for each row, of at most as many bytes as the row
      kernel_.accumulate(buffer, from, n, red_.stride, inner_.size, inner_.stride, 0, &plan_.param);
      int64_t m = n;
      for (; m > 1; m -= m / 2) kernel_.combine(buffer, buffer + (m - m / 2) * kernel_.acc_size, m / 2, &plan_.param);
      return void(std::copy(buffer, buffer + kernel_.acc_size, acc));
    }
    if (cast_ == nullptr || n == 0)
      return kernel_.accumulate(acc, from, b.n, keep_.stride, n, red_.stride, first, &plan_.param);
    const int64_t keep_step = across() ? itemsize_ : n * itemsize_, red_step = across() ? b.n * itemsize_ : itemsize_;
    char* data[] = {buffer, const_cast<char*>(from)};
    if (inner_.size > 1) {
      const int64_t strides[] = {itemsize_, inner_.stride, inner_.size * itemsize_, red_.stride};
      cast_(data, strides, inner_.size, n, nullptr);
      return kernel_.accumulate(acc, buffer, 1, itemsize_, n * inner_.size, itemsize_, 0, &plan_.param);
    }
    if (across()) {
      const int64_t strides[] = {keep_step, keep_.stride, red_step, red_.stride};
      cast_(data, strides, b.n, n, nullptr);
    } else {
      const int64_t strides[] = {red_step, red_.stride, keep_step, keep_.stride};
      cast_(data, strides, n, b.n, nullptr);
    }
    kernel_.accumulate(acc, buffer, b.n, keep_step, n, red_step, first, &plan_.param);
  }

  void finish(const Block& b, const char* acc) const {
    char* const out[] = {plan_.out[0] ? plan_.out[0] + b.out * kernel_.out_size[0] : nullptr,
                         plan_.out[1] ? plan_.out[1] + b.out * kernel_.out_size[1] : nullptr};
    const int64_t strides[] = {keep_.out_stride * kernel_.out_size[0], keep_.out_stride * kernel_.out_size[1]};
    kernel_.finish(out, strides, acc, b.n, layout_.total, &plan_.param);
  }

  const ReduceKernel& kernel_;
  const ReducePlan& plan_;
  int64_t longest_;      // elements of one row in one call of the kernel
  Loop2d copy_;          // to the dtype that is reduced
  Loop2d cast_;          // the same, if elements pass through a buffer; else null
  int64_t itemsize_;     // of the dtype that is reduced
  ReduceLayout layout_;  // its axes without the two of the inner loops
  ReduceAxis keep_, red_;
  ReduceAxis inner_{1, 0, 0};  // of rows that are copied together
  ReduceCase case_ = ReduceCase::General;
  int64_t keep_block_ = 1, chunk_ = 1, parts_ = 1, chunks_ = 1;
};

// Few rows that follow each other in memory, all of their elements reduced: the schedule would make them one block of
// one chunk each. 0: it is no such plan.
struct FewRows {
  int64_t rows = 0, n = 0;
};
FewRows few_rows(const ReducePlan& plan, const ReduceKernel& kernel, int64_t longest) {
  int64_t rows = 1, n = 1, item = size_of(plan.dtype);
  bool kept = false;
  for (int i = plan.ndim - 1; i >= 0; --i) {
    if (plan.shape[i] == 1) continue;
    const bool is_reduced = plan.axes >> i & 1;
    if (plan.strides[i] != rows * n * item || (is_reduced && kept)) return {};
    (is_reduced ? n : rows) *= plan.shape[i];
    kept = kept || !is_reduced;
  }
  const bool few = rows > 1 && n > 1 && n <= longest &&
                   rows <= std::min(kKeepBlock, std::max<int64_t>(kBlockItems / 2 / n, 1)) &&
                   rows * n <= kThreadItems && rows * kernel.acc_size <= 4096;
  return few ? FewRows{rows, n} : FewRows{};
}

// The number of elements if all of them are reduced and they follow each other in memory, else -1.
int64_t contiguous_whole(const ReducePlan& plan) {
  int64_t n = 1, item = size_of(plan.dtype);
  for (int i = plan.ndim - 1; i >= 0; --i) {
    if (plan.shape[i] == 1) continue;
    if (!(plan.axes >> i & 1) || plan.strides[i] != n * item) return -1;
    n *= plan.shape[i];
  }
  return n;
}

}  // namespace

void reduce(const ReducePlan& plan, int op, DType compute) {
  const KernelTable& table = kernel_table();
  const ReduceKernel& kernel = table.reduce[op][index_of(compute)];
  STRIDED_CHECK(kernel.accumulate, NotImplementedError, "\"", plan.name, "\" not implemented for '",
                cpp_name_of(compute), "'");
  const bool cast = compute != plan.dtype;
  const bool position = op == reduction_id<MaxIndex> || op == reduction_id<MinIndex>;
  const int64_t longest = position ? kLongIndex : kReduceChunk;
  if (!cast) {
    const int64_t n = contiguous_whole(plan);
    if (n > 0 && n <= longest) {  // one chunk, with no schedule to be made
      alignas(16) char acc[64];
      const int64_t item = size_of(compute), strides[] = {0, 0};
      kernel.accumulate(acc, plan.data, 1, item, n, item, 0, &plan.param);
      return kernel.finish(plan.out, strides, acc, 1, n, &plan.param);
    }
    if (const FewRows few = few_rows(plan, kernel, longest); few.rows > 0) {
      alignas(64) char acc[4096];
      const int64_t item = size_of(compute), strides[] = {kernel.out_size[0], kernel.out_size[1]};
      kernel.accumulate(acc, plan.data, few.rows, few.n * item, few.n, item, 0, &plan.param);
      return kernel.finish(plan.out, strides, acc, few.rows, few.n, &plan.param);
    }
  }
  const ReduceSchedule schedule(plan, kernel, longest, table.copy[index_of(compute)][index_of(plan.dtype)], cast,
                                size_of(compute));
  if (schedule.outputs() > 0) schedule.run();
}

}  // namespace cpu
}  // namespace strided
