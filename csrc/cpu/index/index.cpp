// Drivers and loops of copies by index: gather, scatter and their like, and the positions of elements.

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <type_traits>

#include "base/dims.h"
#include "base/integer.h"
#include "base/parallel.h"
#include "core/allocator.h"
#include "cpu/index/indexed.inc"
#include "cpu/kernels.h"
#include "cpu/loop_run.h"
#include "cpu/operations.h"
#include "cpu/streaming.h"

namespace strided {
namespace cpu {
namespace {

// A row of kChunk bytes or more; its last chunk may write some bytes for a second time.
template <int64_t kChunk>
void move_chunks(char* to, const char* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes - kChunk; i += kChunk) std::memcpy(to + i, from + i, kChunk);
  std::memcpy(to + bytes - kChunk, from + bytes - kChunk, kChunk);
}

// One row of elements, or single ones, on their way. The order of arguments is to, from.
template <class T>
struct Move {
  using Item = T;
  static constexpr bool kMoves = true;
  static void one(char* to, const char* from) { store(to, load<T>(from)); }
  // Rows of so many contiguous bytes (0: others), which are met by each(row); false where row() serves as well.
  template <class Each>
  static bool rows(const Each& each, int64_t bytes, bool streamed, bool* good) {
    if (streamed && bytes >= kLeastStreamed) {
      *good = each([=](char* to, const char* from) { stream(to, from, bytes); });
      end_stream();
    } else if (bytes >= 16 && bytes < 64) {  // a call of memcpy takes longer than the bytes of a short row
      *good = each([=](char* to, const char* from) { move_chunks<16>(to, from, bytes); });
    } else if (bytes >= 64 && bytes <= 128) {
      *good = each([=](char* to, const char* from) { move_chunks<64>(to, from, bytes); });
    } else {
      return false;
    }
    return true;
  }
  static void row(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
    if (to_stride == sizeof(T) && from_stride == sizeof(T)) {
      std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
    } else if (from_stride == 0) {
      const T v = load<T>(from);
      for (int64_t i = 0; i < n; ++i) store(to + i * to_stride, v);
    } else {
      for (int64_t i = 0; i < n; ++i) store(to + i * to_stride, load<T>(from + i * from_stride));
    }
  }
};

// Operands to (int64), index: to = index * stride, or (add) to += index * stride.
template <bool add>
void resolve(char** data, const int64_t* s, int64_t n0, int64_t n1, const void* params) {
  const IndexParams& p = *static_cast<const IndexParams*>(params);
  int64_t at[kBatch];
  for (int64_t j = 0; j < n1; ++j) {
    for (int64_t i0 = 0; i0 < n0; i0 += kBatch) {
      const int64_t m = std::min(kBatch, n0 - i0);
      if (!places(at, data[1] + j * s[3] + i0 * s[1], s[1], m, 0, p)) return;
      char* const to = data[0] + j * s[2] + i0 * s[0];
      for (int64_t i = 0; i < m; ++i) store(to + i * s[0], (add ? load<int64_t>(to + i * s[0]) : 0) + at[i]);
    }
  }
}

// Negative where v is none of -below ... size - 1: no comparison, so that every instruction set has it for vectors.
STRIDED_INLINE int64_t within(int64_t v, int64_t below, int64_t size) {
  // size - 1 - v may wrap around, where v + below is negative.
  return static_cast<int64_t>((static_cast<uint64_t>(v) + static_cast<uint64_t>(below)) |
                              (static_cast<uint64_t>(size - 1) - static_cast<uint64_t>(v)));
}

int64_t places_below_zero(const IndexParams& p) { return p.check == IndexParams::Wrapping ? p.size : 0; }

// Operand index: tells whether one is out of range.
void check_range(char** data, const int64_t* s, int64_t n0, int64_t n1, const void* params) {
  const IndexParams& p = *static_cast<const IndexParams*>(params);
  const int64_t size = p.size, below = places_below_zero(p);
  auto any_bad = [&](const char* row, int64_t step) {
    int64_t bad = 0;
#pragma GCC unroll 4
    for (int64_t i = 0; i < n0; ++i) bad |= within(load<int64_t>(row + i * step), below, size);
    return bad < 0;
  };
  for (int64_t j = 0; j < n1; ++j) {
    const char* const row = data[0] + j * s[1];
    if (!(s[0] == 8 ? any_bad(row, 8) : any_bad(row, s[0]))) continue;
    __atomic_store_n(p.bad, 1, __ATOMIC_RELAXED);
    return;
  }
}

template <class T>
void divide(char** data, const int64_t* s, int64_t n0, int64_t n1, const void*) {
  for (int64_t j = 0; j < n1; ++j)
    for (int64_t i = 0; i < n0; ++i) {
      char* const to = data[0] + i * s[0] + j * s[2];
      const int64_t count = load<int64_t>(data[1] + i * s[1] + j * s[3]);
      if (count <= 1) continue;
      const T v = load<T>(to);
      if constexpr (std::is_same_v<T, bool>) {
        continue;
      } else if constexpr (std::is_integral_v<T>) {
        if constexpr (std::is_signed_v<T>) {
          const int64_t q = static_cast<int64_t>(v) / count, r = static_cast<int64_t>(v) % count;
          store(to, static_cast<T>(q - (r < 0)));
        } else {
          store(to, static_cast<T>(static_cast<uint64_t>(v) / static_cast<uint64_t>(count)));
        }
      } else {
        using C = compute_t<T>;
        store(to, T(static_cast<C>(v) / C(static_cast<real_t<C>>(count))));
      }
    }
}

struct Loops {
  Loop2d gather[5], scatter[5];       // for items of 1, 2, 4, 8 and 16 bytes
  Loop2d reduce[4][kNumDTypes] = {};  // by ScatterOp; in ascending order
};

const Loops& loops() {
  static const Loops table = [] {
    Loops t;
    auto fill = [&](auto item) {
      using T = decltype(item);
      t.gather[item_row(sizeof(T))] = move_indexed<Move<T>, false>;
      t.scatter[item_row(sizeof(T))] = move_indexed<Move<T>, true>;
    };
    fill(uint8_t{});
    fill(uint16_t{});
    fill(uint32_t{});
    fill(uint64_t{});
    fill(Item16{});
    std::memcpy(t.reduce, kernel_table().index.scatter_reduce, sizeof(t.reduce));  // of the 16-bit floats
    for_each(LoopDTypes{}, [&](auto tag, int) {
      using T = typename decltype(tag)::type;
      if constexpr (!is_reduced<T>) fill_merges<T>(t.reduce);
    });
    return t;
  }();
  return table;
}

// ---------------------------------------------------------------- drivers

struct Strided {
  char* data;
  const int64_t* strides;  // bytes, outermost axis first
  DType dtype;
};

// Runs a loop over operands of a shape (outermost axis first), the first of which is written.
void run(const OpContext& on, int ndim, const int64_t* shape, std::initializer_list<Strided> operands, Loop2d loop,
         const void* params, int64_t grain) {
  if (const int64_t n = ndim == 0 ? 1 : shape[0]; ndim <= 1 && n <= kLoopGrain) {  // nothing to plan
    char* data[4];
    int64_t strides[2 * 4] = {};
    int k = 0;
    for (const Strided& x : operands) {
      data[k] = x.data;
      strides[k++] = ndim == 0 ? size_of(x.dtype) : x.strides[0];
    }
    return loop(data, strides, n, 1, params);
  }
  LoopPlan plan;
  static_cast<OpContext&>(plan) = on;
  const int64_t* given[LoopPlan::kMaxOperands] = {};
  for (const Strided& x : operands) given[plan.n_operands++] = x.strides;
  int64_t merged[kMaxDims];
  int axes[kMaxDims];
  plan.ndim = merge_axes(ndim, shape, plan.n_operands, given, merged, axes);
  plan.shape = merged;
  int64_t strides[4][kMaxDims];
  int k = 0;
  for (const Strided& x : operands) {
    for (int i = 0; i < plan.ndim; ++i) strides[k][i] = x.strides[axes[i]];
    plan.operand[k] = {x.data, strides[k], x.dtype};
    ++k;
  }
  run_loop(plan, loop, params, 1, nullptr, grain);
}

int64_t numel(const IndexPlan& plan) {
  int64_t n = 1;
  for (int i = 0; i < plan.ndim; ++i) n *= plan.shape[i];
  return n;
}

IndexParams::Check check_of(const IndexPlan& plan) {
  return plan.wrap ? IndexParams::Wrapping : IndexParams::NonNegative;
}
IndexParams params_of(const IndexPlan& plan, int k, int* bad) {
  return {plan.index[k].size, plan.index[k].stride, check_of(plan), bad};
}

char* data_of(const IndexPlan::Index& index) { return reinterpret_cast<char*>(const_cast<int64_t*>(index.data)); }

// The shape over which an index tensor has its elements: 1 along the axes where it does not move.
Dims index_shape(const IndexPlan& plan, const IndexPlan::Index& index) {
  Dims shape(plan.shape, static_cast<size_t>(plan.ndim));
  for (int i = 0; i < plan.ndim; ++i)
    if (index.strides[i] == 0) shape[i] = 1;
  return shape;
}

// IndexError for the first index, in row-major order, that is out of range.
[[noreturn]] void raise_bad_index(const IndexPlan& plan, int k) {
  const IndexPlan::Index& index = plan.index[k];
  const IndexParams params = params_of(plan, k, nullptr);
  const Dims shape = index_shape(plan, index);
  Dims at(shape.size());
  const char* here = data_of(index);
  for (;;) {
    const int64_t v = load<int64_t>(here);
    if (within(v, places_below_zero(params), params.size) < 0) {
      STRIDED_CHECK(index.axis >= 0, IndexError, "out of range: tried to access index ", v, " on a tensor of ",
                    index.size, " elements.");
      STRIDED_CHECK(index.size > 0, IndexError, plan.error_prefix, "index is out of bounds for dimension with size 0");
      STRIDED_THROW(IndexError, plan.error_prefix, "index ", v, " is out of bounds for dimension ", index.axis,
                    " with size ", index.size);
    }
    int i = plan.ndim - 1;
    for (; i >= 0; --i) {
      here += index.strides[i];
      if (++at[i] < shape[i]) break;
      here -= at[i] * index.strides[i];
      at[i] = 0;
    }
    if (i < 0) break;
  }
  STRIDED_THROW(IndexError, plan.error_prefix, "an index was out of bounds, and another thread has changed it since");
}

void check_indices(const IndexPlan& plan) {
  // No index is looked at when the indices together name no place.
  for (int i = 0; i < plan.ndim; ++i)
    for (int k = 0; k < plan.n_indices; ++k)
      if (plan.shape[i] == 0 && plan.index[k].strides[i] != 0) return;
  for (int k = 0; k < plan.n_indices; ++k) {
    const IndexPlan::Index& index = plan.index[k];
    int bad = 0;
    const IndexParams params = params_of(plan, k, &bad);
    run(plan, plan.ndim, index_shape(plan, index).data(), {{data_of(index), index.strides, DType::Int64}}, check_range,
        &params, kLoopGrain);
    if (bad) raise_bad_index(plan, k);
  }
}

// Memory that is given back at the end of the scope.
class Buffer {
 public:
  explicit Buffer(int64_t bytes) : bytes_(static_cast<size_t>(bytes)), data_(cpu_allocate(bytes_)) {}
  ~Buffer() { cpu_free(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  char* data() const { return static_cast<char*>(data_); }

 private:
  const size_t bytes_;
  void* const data_;
};

// Strides of a contiguous tensor of a shape, in bytes; 0 along axes of size 1. *bytes: its size.
Dims packed_strides(const Dims& shape, int64_t itemsize, int64_t* bytes) {
  Dims strides(shape.size());
  *bytes = itemsize;
  for (int i = shape.ndim() - 1; i >= 0; --i) {
    strides[i] = shape[i] == 1 ? 0 : *bytes;
    *bytes *= shape[i];
  }
  return strides;
}

// The index of a plan, or the byte offsets to which its several indices lead together. Those are checked.
class SingleIndex {
 public:
  explicit SingleIndex(const IndexPlan& given) : index(given.index[0]), check(check_of(given)) {
    if (given.n_indices == 1) return;
    Dims shape(given.shape, static_cast<size_t>(given.ndim));
    for (int i = 0; i < given.ndim; ++i) {
      bool moves = false;
      for (int k = 0; k < given.n_indices; ++k) moves = moves || given.index[k].strides[i] != 0;
      if (!moves) shape[i] = 1;
    }
    int64_t bytes;
    strides_ = packed_strides(shape, 8, &bytes);
    offsets_ = std::make_unique<Buffer>(bytes);
    for (int k = 0; k < given.n_indices; ++k) {
      const IndexPlan::Index& index = given.index[k];
      int bad = 0;
      const IndexParams params = params_of(given, k, &bad);
      run(given, given.ndim, shape.data(),
          {{offsets_->data(), strides_.data(), DType::Int64}, {data_of(index), index.strides, DType::Int64}},
          k == 0 ? resolve<false> : resolve<true>, &params, kLoopGrain);
      if (bad) raise_bad_index(given, k);
    }
    index = {reinterpret_cast<const int64_t*>(offsets_->data()), strides_.data(), 0, 1, 0};
    check = IndexParams::Trusted;
  }
  IndexParams params(int* bad) const { return {index.size, index.stride, check, bad, false}; }
  Strided operand() const { return {data_of(index), index.strides, DType::Int64}; }

  IndexPlan::Index index;
  IndexParams::Check check;

 private:
  Dims strides_;
  std::unique_ptr<Buffer> offsets_;
};

// Elements that are worth a thread. A write to a place takes ten times as long as an addition.
constexpr int64_t kWritesGrain = kLoopGrain / 8;

// Writes to the places of the indexed operand. All indices are checked before.
void write(const IndexPlan& plan, Loop2d loop) {
  const int64_t n = numel(plan);
  if (plan.n_indices == 1 || n == 0) check_indices(plan);
  if (n == 0) return;
  const SingleIndex index(plan);
  int bad = 0;
  const IndexParams params = index.params(&bad);
  Strided indexed{plan.indexed, plan.indexed_strides, plan.dtype}, dense{plan.dense, plan.dense_strides, plan.dtype};
  // The last one wins: the loop may take axes in any order that suits memory. Where two axes lead to no other place (a
  // matrix of indices, say), it takes them in row-major order if the values are.
  int shared = 0;
  bool one_value = true, packed = true;
  int64_t step = size_of(plan.dtype);
  for (int i = plan.ndim - 1; i >= 0; --i) {
    if (plan.shape[i] == 1) continue;
    shared += plan.indexed_strides[i] == 0;
    one_value = one_value && plan.dense_strides[i] == 0;
    packed = packed && plan.dense_strides[i] == step;
    step *= plan.shape[i];
  }
  std::unique_ptr<Buffer> copy;
  Dims copy_strides;
  if (shared > 1 && !one_value && !packed) {
    int64_t bytes;
    const Dims shape(plan.shape, static_cast<size_t>(plan.ndim));
    copy_strides = packed_strides(shape, size_of(plan.dtype), &bytes);
    copy = std::make_unique<Buffer>(bytes);
    const int d = index_of(plan.dtype);
    const Strided packed_dense{copy->data(), copy_strides.data(), plan.dtype};
    run(plan, plan.ndim, plan.shape, {packed_dense, dense}, kernel_table().copy[d][d], nullptr, kLoopGrain);
    dense = packed_dense;
  }
  // Writing with threads: two indices may name one place, and the later one wins (or their sum has an order). So
  // threads share out the longest axis along which places are always different; each keeps the order of the index.
  int axis = -1;
  for (int i = 0; i < plan.ndim; ++i)
    if (plan.indexed_strides[i] != 0 && (axis < 0 || plan.shape[i] > plan.shape[axis])) axis = i;
  if (axis < 0 || n < 2 * kWritesGrain)
    return run(plan, plan.ndim, plan.shape, {indexed, dense, index.operand()}, loop, &params, kSequential);
  const int64_t size = plan.shape[axis];
  parallel_for(0, size, std::max<int64_t>(1, kWritesGrain * size / n), [&](int64_t begin, int64_t end) {
    Dims shape(plan.shape, static_cast<size_t>(plan.ndim));
    shape[axis] = end - begin;
    auto from_begin = [&](Strided x) {
      x.data += begin * x.strides[axis];
      return x;
    };
    run(plan, plan.ndim, shape.data(), {from_begin(indexed), from_begin(dense), from_begin(index.operand())}, loop,
        &params, kSequential);
  });
}

}  // namespace

void gather(const IndexPlan& plan) {
  if (numel(plan) == 0) return check_indices(plan);  // no element is read, yet the indices must be good
  const SingleIndex index(plan);
  int bad = 0;
  IndexParams params = index.params(&bad);
  params.streamed = is_streamed(numel(plan) * size_of(plan.dtype));
  const Strided indexed{plan.indexed, plan.indexed_strides, plan.dtype},
      dense{plan.dense, plan.dense_strides, plan.dtype};
  run(plan, plan.ndim, plan.shape, {dense, indexed, index.operand()}, loops().gather[item_row(size_of(plan.dtype))],
      &params, kLoopGrain);
  if (bad) raise_bad_index(plan, 0);
}

void scatter(const IndexPlan& plan) { write(plan, loops().scatter[item_row(size_of(plan.dtype))]); }

void scatter_reduce(const IndexPlan& plan, ScatterOp op) {
  const Loop2d loop = loops().reduce[static_cast<int>(op)][index_of(plan.dtype)];
  STRIDED_CHECK(loop, NotImplementedError, plan.name, ": this reduction is not implemented for '", plan.dtype, "'");
  write(plan, loop);
}

void divide_by_counts(const LoopPlan& plan) {
  dispatch_loops(plan.operand[0].dtype,
                 [&](auto tag) { run_loop(plan, divide<typename decltype(tag)::type>, nullptr, 1); });
}

}  // namespace cpu
}  // namespace strided
