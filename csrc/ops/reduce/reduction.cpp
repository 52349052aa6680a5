// How a reduction is run: axes merged, work cut, chunks combined.
//
// Note [The reduction tree]
// The reduced axis is cut into chunks of a size that depends on shapes and strides only. Chunks are combined in the
// order of a binary counter: chunk results wait on a stack, and after chunk c as many pairs are combined as c + 1 has
// trailing zero bits. This is a fixed, nearly balanced binary tree, as in pairwise summation (N. J. Higham, "The
// accuracy of floating point summation", SIAM J. Sci. Comput. 14, 1993). Threads get whole groups of 2^q chunks, which
// are subtrees: the result does not depend on who computes them.
#include "ops/reduce/reduction.h"

#include <algorithm>
#include <memory>

#include "backend/kernels.h"
#include "base/parallel.h"

namespace strided {
namespace {

constexpr int64_t kKeepBlock = 1024;     // most outputs of one call of a kernel; bounds the memory for accumulators
constexpr int64_t kBlockItems = 65536;   // elements of one call across outputs
constexpr int64_t kThreadItems = 65536;  // elements that are worth another thread
constexpr int64_t kCastItems = 8192;     // elements of a buffer for another dtype
constexpr int64_t kManyOutputs = 16;     // with so many blocks of outputs, these are all the parallelism there is
constexpr int64_t kMaxTasks = 64;

struct Axis {
  int64_t size, stride, out_stride;
};

// Axes in the order given, neighbours merged where memory allows.
struct Axes {
  Axis axis[kMaxDims];
  int n = 0;
  void add(Axis a) {
    if (a.size == 1) return;
    if (n > 0) {
      Axis& last = axis[n - 1];
      if (last.stride == a.stride * a.size && last.out_stride == a.out_stride * a.size) {
        last = {last.size * a.size, a.stride, a.out_stride};
        return;
      }
    }
    axis[n++] = a;
  }
  // Takes one axis out; a single element when there is none.
  Axis take(int k, int64_t itemsize) {
    if (n == 0) return {1, itemsize, 1};
    const Axis a = axis[k];
    for (--n; k < n; ++k) axis[k] = axis[k + 1];
    return a;
  }
  int64_t numel() const {
    int64_t m = 1;
    for (int k = 0; k < n; ++k) m *= axis[k].size;
    return m;
  }
  // Offsets of position i in row-major order.
  void offsets(int64_t i, int64_t* in, int64_t* out) const {
    for (int k = n - 1; k >= 0; --k) {
      const int64_t at = i % axis[k].size;
      i /= axis[k].size;
      *in += at * axis[k].stride;
      *out += at * axis[k].out_stride;
    }
  }
};

struct Scratch {
  alignas(64) char stack[4096];
  std::unique_ptr<char[]> heap;
  char* get(int64_t bytes) {
    if (bytes <= static_cast<int64_t>(sizeof(stack))) return stack;
    heap.reset(new char[static_cast<size_t>(bytes)]);
    return heap.get();
  }
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }
int bit_length(int64_t v) {
  int n = 0;
  for (; v > 0; v >>= 1) ++n;
  return n;
}

class Plan {
 public:
  Plan(const ReduceKernel& kernel, const Tensor& x, uint64_t axes, Loop2d cast, int64_t itemsize, double param)
      : kernel_(kernel), data_(x.data()), cast_(cast), itemsize_(itemsize), param_(param) {
    const int64_t memory_item = x.itemsize();
    const int n = x.ndim();
    int64_t out_stride = 1;
    int reduced[kMaxDims], n_reduced = 0;
    Axis kept[kMaxDims];
    int n_kept = 0;
    for (int i = n - 1; i >= 0; --i) {
      if (axes >> i & 1) {
        reduced[n_reduced++] = i;
        total_ *= x.size(i);
      } else {
        kept[n_kept++] = {x.size(i), x.strides()[i] * memory_item, out_stride};
        out_stride *= x.size(i);
      }
    }
    outputs_ = out_stride;
    for (int i = n_kept - 1; i >= 0; --i) outer_.add(kept[i]);
    std::reverse(reduced, reduced + n_reduced);
    // One axis keeps its order, for positions; several may be walked in the order of memory.
    std::stable_sort(reduced, reduced + n_reduced,
                     [&](int a, int b) { return std::abs(x.strides()[a]) > std::abs(x.strides()[b]); });
    for (int i = 0; i < n_reduced; ++i) segments_.add({x.size(reduced[i]), x.strides()[reduced[i]] * memory_item, 0});
    choose(memory_item);
  }

  // second == null: one result
  void run(char* first, int64_t first_item, char* second, int64_t second_item) {
    if (outputs_ == 0) return;
    out_[0] = first, out_[1] = second;
    out_item_[0] = first_item, out_item_[1] = second_item;
    const int64_t acc = kernel_.acc_size;
    const int64_t outer = outer_.numel(), blocks = ceil_div(keep_.size, keep_block_);
    const int64_t outputs = outer * blocks;  // tasks by output
    const int64_t items = keep_block_ * std::max<int64_t>(red_.size, 1) * segments_.numel();
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
          kernel_.combine(mine + (top - 2) * part, mine + (top - 1) * part, b.n, &param_);
      }
      for (; top > 1; --top) kernel_.combine(mine + (top - 2) * part, mine + (top - 1) * part, b.n, &param_);
      finish(b, mine);
    }
  }

 private:
  struct Block {  // outputs [first, first + n) of one outer position
    int64_t n, in, out;
  };

  // Which axes the kernel's two loops take, and how long they are. See fold_block in cpu/reduce/reduce.inc for what is
  // fast.
  void choose(int64_t memory_item) {
    // Reduced: the axis that is innermost in memory, unless it is short and another is not.
    int r = segments_.n - 1;
    if (r > 0 && segments_.axis[r].size < 64)
      for (int k = 0; k < segments_.n; ++k)
        if (segments_.axis[k].size > segments_.axis[r].size) r = k;
    red_ = segments_.take(r, memory_item);
    // Kept: a contiguous axis, unless there is little work along it; else the longest.
    int k = -1;
    for (int i = 0; i < outer_.n; ++i)
      if (outer_.axis[i].stride == memory_item &&
          (outer_.axis[i].size >= 16 || outer_.axis[i].size * red_.size >= 1024))
        k = i;
    if (k < 0) {
      k = 0;
      for (int i = 1; i < outer_.n; ++i)
        if (outer_.axis[i].size >= outer_.axis[k].size) k = i;
    }
    keep_ = outer_.take(k, memory_item);

    across_ =
        keep_.size > 1 && keep_.stride == memory_item && (keep_.size >= 16 || red_.stride == keep_.size * memory_item);
    const int64_t limit = cast_ ? kCastItems : kBlockItems;
    if (across_) {
      keep_block_ = std::min(keep_.size, cast_ ? kKeepBlock / 4 : kKeepBlock);
      chunk_ = std::min(kReduceChunk, std::max<int64_t>(limit / keep_block_, 32));
    } else {
      chunk_ = std::min(std::max<int64_t>(red_.size, 1), cast_ ? kCastItems : kReduceChunk);
      keep_block_ = std::min(keep_.size, std::min(kKeepBlock, std::max<int64_t>(limit / 2 / chunk_, 1)));
    }
    parts_ = std::max<int64_t>(ceil_div(red_.size, chunk_), 1);
    chunks_ = std::max<int64_t>(parts_ * segments_.numel(), 1);
    if (total_ == 0) parts_ = chunks_ = 1, red_.size = segments_.n = 0;
  }

  Block block(int64_t task, int64_t blocks) const {
    const int64_t first = task % blocks * keep_block_;
    Block b{std::min(keep_block_, keep_.size - first), first * keep_.stride, first * keep_.out_stride};
    outer_.offsets(task / blocks, &b.in, &b.out);
    return b;
  }

  int64_t level_bytes() const { return round_up(keep_block_ * kernel_.acc_size, 64); }
  int64_t scratch_bytes(int64_t chunks) const {
    return level_bytes() * (bit_length(chunks) + 1) +
           (cast_ ? keep_block_ * std::min(chunk_, std::max<int64_t>(red_.size, 1)) * itemsize_ : 0);
  }

  // memory: the stack of results, then the buffer for casts. The result is left in the first slot.
  void tree(const Block& b, int64_t begin, int64_t end, char* memory) const {
    const int64_t level = level_bytes();
    char* buffer = memory + level * (bit_length(end - begin) + 1);
    int64_t top = 0;
    for (int64_t c = begin; c < end; ++c) {
      chunk(b, c, memory + top * level, buffer);
      ++top;
      for (int64_t m = c - begin; m & 1; m >>= 1, --top)
        kernel_.combine(memory + (top - 2) * level, memory + (top - 1) * level, b.n, &param_);
    }
    for (; top > 1; --top) kernel_.combine(memory + (top - 2) * level, memory + (top - 1) * level, b.n, &param_);
  }

  void chunk(const Block& b, int64_t c, char* acc, char* buffer) const {
    int64_t in = b.in, unused = 0;
    if (segments_.n > 0) segments_.offsets(c / parts_, &in, &unused);
    const int64_t first = c % parts_ * chunk_, n = std::min(chunk_, red_.size - first);
    const char* from = data_ + in + first * red_.stride;
    if (cast_ == nullptr || n == 0)
      return kernel_.accumulate(acc, from, b.n, keep_.stride, n, red_.stride, first, &param_);
    const int64_t keep_step = across_ ? itemsize_ : n * itemsize_, red_step = across_ ? b.n * itemsize_ : itemsize_;
    char* data[] = {buffer, const_cast<char*>(from)};
    if (across_) {
      const int64_t strides[] = {keep_step, keep_.stride, red_step, red_.stride};
      cast_(data, strides, b.n, n, nullptr);
    } else {
      const int64_t strides[] = {red_step, red_.stride, keep_step, keep_.stride};
      cast_(data, strides, n, b.n, nullptr);
    }
    kernel_.accumulate(acc, buffer, b.n, keep_step, n, red_step, first, &param_);
  }

  void finish(const Block& b, const char* acc) const {
    char* const out[] = {out_[0] ? out_[0] + b.out * out_item_[0] : nullptr,
                         out_[1] ? out_[1] + b.out * out_item_[1] : nullptr};
    const int64_t strides[] = {keep_.out_stride * out_item_[0], keep_.out_stride * out_item_[1]};
    kernel_.finish(out, strides, acc, b.n, total_, &param_);
  }

  const ReduceKernel& kernel_;
  const char* data_;
  Loop2d cast_;
  int64_t itemsize_;  // of the dtype reduced
  double param_;
  Axes outer_, segments_;  // kept and reduced axes but for the two inner ones
  Axis keep_, red_;
  bool across_;  // the loop across outputs is the inner one
  int64_t total_ = 1, outputs_ = 1, keep_block_, chunk_, parts_, chunks_;
  char* out_[2];
  int64_t out_item_[2];
};

template <class Op, class T>
void describe(ReductionDef& def, Tag<T>) {
  const int i = index_of(dtype_of<T>);
  def.supported[i] = reduction_supports<Op, T>;
  if constexpr (reduction_supports<Op, T>) {
    using S = typename Op::template State<T>;
    def.out_dtype[0][i] = dtype_of<decltype(Op::template finish<T>(S(), 0, 0.0))>;
    if constexpr (Op::info.outputs == 2) def.out_dtype[1][i] = dtype_of<decltype(Op::template second<T>(S()))>;
  }
}

struct Table {
  ReductionDef row[kNumReductions] = {};
  Table() {
    for_each(ReductionOps{}, [&](auto tag, int id) {
      using Op = typename decltype(tag)::type;
      ReductionDef& def = row[id];
      def.info = &Op::info;
      def.id = id;
#define X(E, T, name, cname) describe<Op>(def, Tag<T>{});
      STRIDED_DTYPES(X)
#undef X
    });
  }
};

}  // namespace

const ReductionDef& reduction_def(int reduction_id) {
  static const Table table;
  return table.row[reduction_id];
}

uint64_t axis_mask(const char* op, const Dims& dims, int ndim) {
  const uint64_t every = ndim >= 64 ? ~uint64_t(0) : (uint64_t(1) << ndim) - 1;
  if (dims.empty()) return every;
  uint64_t bits = 0;
  for (int64_t d : dims) {
    const uint64_t bit = uint64_t(1) << wrap_axis(op, d, ndim);
    STRIDED_CHECK(!(bits & bit), RuntimeError, "dim ", d < 0 ? d + std::max(ndim, 1) : d,
                  " appears multiple times in the list of dims");
    bits |= bit;
  }
  return bits & every;  // the axis of a 0-d tensor is none
}

Tensor call_reduction(const ReductionDef& def, const Tensor& x, uint64_t axes, bool keepdim, DType compute,
                      double param, Tensor* second, bool first) {
  const int i = index_of(compute);
  const KernelTable& table = kernels(x.device());
  const ReduceKernel& kernel = table.reduce[def.id][i];
  STRIDED_CHECK(def.supported[i], NotImplementedError, "\"", def.info->name, "\" not implemented for '",
                cpp_name_of(compute), "'");
  STRIDED_CHECK(kernel.accumulate || (table.device && table.device->reduce), NotImplementedError, def.info->name,
                " on device '", x.device(), "'");

  Dims shape;
  for (int k = 0; k < x.ndim(); ++k) {
    if (!(axes >> k & 1)) shape.push_back(x.size(k));
    else if (keepdim) shape.push_back(1);
  }
  Tensor out = first ? empty(shape, def.out_dtype[0][i], x.device()) : Tensor();
  if (second) *second = empty(shape, def.out_dtype[1][i], x.device());
  char* data[] = {first ? out.data() : nullptr, second ? second->data() : nullptr};
  if (table.device) {
    ReducePlan plan{def.info->name,   x.device().index, x.data(), x.dtype(),          x.ndim(),
                    x.shape().data(), nullptr,          axes,     {data[0], data[1]}, param};
    Dims strides = x.strides();
    for (int64_t& s : strides) s *= x.itemsize();
    plan.strides = strides.data();
    if ((first ? out : *second).numel() > 0) table.device->reduce(def.id, compute, plan);
    return out;
  }
  if (x.numel() > 0 && x.numel() <= kReduceChunk && compute == x.dtype() && (first ? out : *second).numel() == 1 &&
      x.is_contiguous()) {
    alignas(16) char acc[64];
    const int64_t item = x.itemsize(), n = x.numel(), strides[] = {0, 0};
    kernel.accumulate(acc, x.data(), 1, item, n, item, 0, &param);
    kernel.finish(data, strides, acc, 1, n, &param);
    return out;
  }
  const Loop2d cast = compute == x.dtype() ? nullptr : table.copy[i][index_of(x.dtype())];
  Plan plan(kernel, x, axes, cast, size_of(compute), param);
  plan.run(data[0], first ? out.itemsize() : 0, data[1], second ? second->itemsize() : 0);
  return out;
}

}  // namespace strided
