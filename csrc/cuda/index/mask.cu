// By mask: select, the set elements of a mask, their coordinates; and the division behind means by index.
#include "backend/op.h"
#include "cuda/pointwise/copy.h"
#include "cuda/pointwise/pointwise_run.h"
#include "cuda/runtime/block.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

// condition ? a : b, for items of a size.
template <class T>
struct Select {
  using Result = T;
  static constexpr int arity = 3;
  static constexpr bool vectors = true, casts = false;
  template <size_t K>
  using In = std::conditional_t<K == 0, bool, T>;
  static constexpr DType dtype(int k) { return k == 1 ? DType::Bool : Move<T>::dtype(0); }
  __device__ static T call(bool condition, T a, T b, const double*) { return condition ? a : b; }
};

template <class T>
struct DivideByCount {
  using Result = T;
  static constexpr int arity = 2;
  static constexpr bool vectors = true, casts = false;
  template <size_t K>
  using In = std::conditional_t<K == 0, T, int64_t>;
  static constexpr DType dtype(int k) { return k == 2 ? DType::Int64 : dtype_of<T>; }
  __device__ static T call(T v, int64_t count, const double*) {
    if (count <= 1 || std::is_same_v<T, bool>) return v;
    if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_signed_v<T>) {
        const int64_t q = static_cast<int64_t>(v) / count, r = static_cast<int64_t>(v) % count;
        return static_cast<T>(q - (r < 0));
      } else {
        return static_cast<T>(static_cast<uint64_t>(v) / static_cast<uint64_t>(count));
      }
    } else {
      using C = compute_t<T>;
      return T(static_cast<C>(v) / C(static_cast<real_t<C>>(count)));
    }
  }
};

struct SelectTable {
  PointwiseKernel select[5];
  PointwiseKernel divide[kNumDTypes];
};
const SelectTable& select_table() {
  static const SelectTable table = [] {
    SelectTable t;
    t.select[0] = kernel_of<Select<uint8_t>>();
    t.select[1] = kernel_of<Select<uint16_t>>();
    t.select[2] = kernel_of<Select<uint32_t>>();
    t.select[3] = kernel_of<Select<uint64_t>>();
    t.select[4] = kernel_of<Select<Item16>>();
    for_each(LoopDTypes{}, [&](auto tag, int) {
      using T = typename decltype(tag)::type;
      t.divide[index_of(dtype_of<T>)] = kernel_of<DivideByCount<T>>();
    });
    return t;
  }();
  return table;
}

// ---- set elements: tiles count theirs, a running sum says where each tile's end, tiles write them
constexpr int kMaskItems = 16;
constexpr int64_t kMaskTile = int64_t(kThreads) * kMaskItems;

// How many of a thread's neighbouring bytes are set, and which: bit j for byte j.
__device__ inline unsigned set_bits(const char* mask, int64_t n, int64_t first) {
  unsigned bits = 0;
  if (first + kMaskItems <= n && reinterpret_cast<uintptr_t>(mask) % kMaskItems == 0) {
    const Vec<uint8_t, kMaskItems> v = *reinterpret_cast<const Vec<uint8_t, kMaskItems>*>(mask + first);
    for (int j = 0; j < kMaskItems; ++j) bits |= static_cast<unsigned>(v.item[j] != 0) << j;
  } else {
    for (int j = 0; j < kMaskItems; ++j)
      if (first + j < n) bits |= static_cast<unsigned>(mask[first + j] != 0) << j;
  }
  return bits;
}

__global__ void __launch_bounds__(kThreads) count_set_kernel(const char* mask, int64_t n, int64_t* counts) {
  const int64_t first = blockIdx.x * kMaskTile + threadIdx.x * static_cast<int64_t>(kMaskItems);
  int total;
  sum_before<int>(__popc(set_bits(mask, n, first)), &total);
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

struct Position {
  using Item = int64_t;
  __device__ static int64_t item(const char*, int64_t i) { return i; }
};
template <class T>
struct ItemOf {
  using Item = T;
  __device__ static T item(const char* from, int64_t i) { return reinterpret_cast<const T*>(from)[i]; }
};
template <class What>
__global__ void __launch_bounds__(kThreads)
    write_set_kernel(const char* mask, int64_t n, const int64_t* ends, const char* from, char* to) {
  const int64_t first = blockIdx.x * kMaskTile + threadIdx.x * static_cast<int64_t>(kMaskItems);
  const unsigned bits = set_bits(mask, n, first);
  int total;
  const int before = sum_before<int>(__popc(bits), &total);
  int64_t at = ends[blockIdx.x] - total + before;
  for (int j = 0; j < kMaskItems; ++j)
    if (bits >> j & 1) reinterpret_cast<typename What::Item*>(to)[at++] = What::item(from, first + j);
}

__global__ void __launch_bounds__(kThreads)
    unravel_kernel(int64_t* to, const int64_t* position, int64_t n, int64_t inner, int64_t size) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const int64_t at = position[i], outer = at / inner - (at % inner < 0), r = outer % size;
  to[i] = r < 0 ? r + size : r;
}

unsigned blocks(int64_t n, int64_t per_block) { return static_cast<unsigned>((n + per_block - 1) / per_block); }

// The operand in another dtype, in memory of its own; axes in the order of the plan.
void cast_operand(LoopPlan& plan, int k, DType dtype, Workspace& memory, int64_t* strides) {
  int64_t step = size_of(dtype);
  for (int i = 0; i < plan.ndim; ++i) {
    strides[i] = step;
    step *= plan.shape[i];
  }
  LoopPlan cast = plan;
  cast.n_operands = 2;
  cast.operand[1] = plan.operand[k];
  cast.operand[0] = plan.operand[k] = {memory.data(), strides, dtype, false};
  run_copy(cast);
}

}  // namespace

void where(const LoopPlan& given) {
  LoopPlan plan = given;
  const DType dtype = plan.operand[0].dtype;
  const int64_t bytes = plan.numel() * size_of(dtype);
  const PointwiseKernel& kernel = select_table().select[item_row(size_of(dtype))];
  alignas(16) char value[2][16];
  int64_t strides[2][64];
  const bool needs[2] = {!plan.operand[2].immediate && plan.operand[2].dtype != dtype,
                         !plan.operand[3].immediate && plan.operand[3].dtype != dtype};
  Workspace memory[2] = {{needs[0] ? static_cast<size_t>(bytes) : 0, plan.device},
                         {needs[1] ? static_cast<size_t>(bytes) : 0, plan.device}};
  for (int k = 0; k < 2; ++k) {
    LoopPlan::Operand& op = plan.operand[2 + k];
    if (op.immediate) {
      convert_value(dtype, value[k], op.dtype, op.data);
      op.data = value[k];
    } else if (needs[k] && bytes > 0) {
      cast_operand(plan, 2 + k, dtype, memory[k], strides[k]);
    }
    op.dtype = kernel.operand[0];
  }
  plan.operand[0].dtype = kernel.operand[0];
  run_pointwise(kernel, plan, nullptr);
}

void divide_by_counts(const LoopPlan& given) {
  LoopPlan plan = given;
  plan.n_operands = 3;
  plan.operand[2] = given.operand[1];
  plan.operand[1] = given.operand[0];
  run_pointwise(select_table().divide[index_of(plan.operand[0].dtype)], plan, nullptr);
}

NonzeroElements::NonzeroElements(const OpContext& on, const char* mask, int64_t n)
    : on_(on),
      mask_(mask),
      n_(n),
      count_(0),
      ends_(static_cast<size_t>((n + kMaskTile - 1) / kMaskTile) * sizeof(int64_t), on.device) {
  if (n == 0) return;
  const OnDevice guard(on.device);
  const cudaStream_t stream = current_stream(on.device);
  const int64_t tiles = (n + kMaskTile - 1) / kMaskTile;
  launch(count_set_kernel, dim3(blocks(n, kMaskTile)), dim3(kThreads), 0, stream, mask, n, ends_.as<int64_t>());
  check_launch(on.name);
  scan({on.name, on.device, DType::Int64, 1, tiles, 1, ends_.data(), ends_.data(), nullptr}, ScanOp::Sum);
  check(cudaMemcpyAsync(&count_, ends_.as<int64_t>() + tiles - 1, sizeof(int64_t), cudaMemcpyDeviceToHost, stream),
        on.name);
  synchronize_stream(on.device, stream);
}

void NonzeroElements::positions(int64_t* to) const {
  if (count_ == 0) return;
  const OnDevice guard(on_.device);
  launch(write_set_kernel<Position>, dim3(blocks(n_, kMaskTile)), dim3(kThreads), 0, current_stream(on_.device), mask_,
         n_, ends_.as<const int64_t>(), nullptr, reinterpret_cast<char*>(to));
  check_launch(on_.name);
}

void NonzeroElements::compress(char* to, const char* from, int64_t itemsize) const {
  if (count_ == 0) return;
  constexpr void (*kernels[5])(const char*, int64_t, const int64_t*, const char*, char*) = {
      write_set_kernel<ItemOf<uint8_t>>, write_set_kernel<ItemOf<uint16_t>>, write_set_kernel<ItemOf<uint32_t>>,
      write_set_kernel<ItemOf<uint64_t>>, write_set_kernel<ItemOf<Item16>>};
  const OnDevice guard(on_.device);
  launch(kernels[item_row(itemsize)], dim3(blocks(n_, kMaskTile)), dim3(kThreads), 0, current_stream(on_.device), mask_,
         n_, ends_.as<const int64_t>(), from, to);
  check_launch(on_.name);
}

void nonzero_begin(const OpContext& on, const char* mask, int64_t n, void** handle, int64_t* count) {
  auto* set = new NonzeroElements(on, mask, n);
  *handle = set;
  *count = set->count();
}
void nonzero_write(const OpContext&, void* handle, char* to, const char* from, int64_t itemsize) {
  const auto* set = static_cast<const NonzeroElements*>(handle);
  if (from) set->compress(to, from, itemsize);
  else set->positions(reinterpret_cast<int64_t*>(to));
}
void nonzero_end(const OpContext&, void* handle) { delete static_cast<NonzeroElements*>(handle); }

void unravel(const OpContext& on, int64_t* to, const int64_t* position, int64_t n, int64_t inner, int64_t size) {
  if (n == 0) return;
  const OnDevice guard(on.device);
  launch(unravel_kernel, dim3(blocks(n, kThreads)), dim3(kThreads), 0, current_stream(on.device), to, position, n,
         inner, size);
  check_launch(on.name);
}

}  // namespace cuda
}  // namespace strided
