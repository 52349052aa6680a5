#include "cuda/pointwise/copy.h"

#include "cuda/pointwise/pointwise_run.h"
#include "cuda/runtime/operations.h"
#include "cuda/runtime/runtime.h"

namespace strided {
namespace cuda {
namespace {

constexpr unsigned kTile = 32, kTileRows = 8;
constexpr uint32_t kMatrixBlocks = 1024;  // matrices under way at a time

// Transposing through shared memory.
// Rows of `from` are read whole and rows of `to` are written whole; in between the tile stands in shared memory, its
// rows one item longer so that a column of it lies in 32 different banks.
template <class T>
__global__ void __launch_bounds__(kTile* kTileRows) transpose_kernel(const STRIDED_GRID_CONSTANT TransposeArgs a) {
  STRIDED_SHARED(T, tile, [kTile][kTile + 1]);
  const uint32_t column0 = blockIdx.x % a.tiles * kTile, row0 = blockIdx.x / a.tiles * kTile;
  for (uint32_t matrix = blockIdx.y; matrix < a.batch; matrix += gridDim.y) {
    const char* from = a.from;
    char* to = a.to;
    uint32_t rest = matrix;
    for (int d = 0; d < a.batch_ndim; ++d) {
      const uint32_t outer = a.size[d].divide(rest), here = rest - outer * a.size[d].d;
      from += here * a.from_batch[d];
      to += here * a.to_batch[d];
      rest = outer;
    }
    if (matrix != blockIdx.y) __syncthreads();  // the tile of the last matrix has been read
    for (uint32_t r = threadIdx.y; r < kTile; r += kTileRows) {
      const uint32_t row = row0 + r, column = column0 + threadIdx.x;
      if (row < a.rows && column < a.columns)
        tile[r][threadIdx.x] = reinterpret_cast<const T*>(from + row * a.from_row)[column];
    }
    __syncthreads();
    for (uint32_t c = threadIdx.y; c < kTile; c += kTileRows) {
      const uint32_t column = column0 + c, row = row0 + threadIdx.x;
      if (row < a.rows && column < a.columns)
        reinterpret_cast<T*>(to + column * a.to_column)[row] = tile[threadIdx.x][c];
    }
  }
}

template <class T>
void fill_move(CopyTable& table) {
  table.move[item_row(sizeof(T))] = kernel_of<Move<T>>();
  table.transpose[item_row(sizeof(T))] = transpose_kernel<T>;
}

// One matrix, or many, transposed against each other.
bool copy_transposed(const LoopPlan& plan) {
  const LoopPlan::Operand &to = plan.operand[0], &from = plan.operand[1];
  if (plan.ndim < 2 || plan.ndim > kMaxAxes || plan.numel() >= kMaxItems) return false;
  const int64_t size = size_of(to.dtype);
  int t = -1, f = -1;  // the axes that are contiguous in `to` and in `from`
  for (int i = 0; i < plan.ndim; ++i) {
    if (to.strides[i] == size) t = i;
    if (from.strides[i] == size) f = i;
  }
  if (t < 0 || f < 0 || t == f || plan.shape[t] < 8 || plan.shape[f] < 8) return false;
  TransposeArgs a;
  a.rows = static_cast<uint32_t>(plan.shape[t]);
  a.columns = static_cast<uint32_t>(plan.shape[f]);
  a.from_row = from.strides[t];
  a.to_column = to.strides[f];
  a.from = from.data;
  a.to = to.data;
  a.batch = 1;
  for (int i = 0; i < plan.ndim; ++i) {
    if (i == t || i == f) continue;
    a.size[a.batch_ndim] = Divisor(static_cast<uint32_t>(plan.shape[i]));
    a.from_batch[a.batch_ndim] = from.strides[i];
    a.to_batch[a.batch_ndim++] = to.strides[i];
    a.batch *= static_cast<uint32_t>(plan.shape[i]);
  }
  a.tiles = (a.columns + kTile - 1) / kTile;
  const OnDevice guard(plan.device);
  const dim3 grid(a.tiles * ((a.rows + kTile - 1) / kTile), a.batch < kMatrixBlocks ? a.batch : kMatrixBlocks);
  launch(copy_table().transpose[item_row(size)], grid, dim3(kTile, kTileRows), 0, current_stream(plan.device), a);
  check_launch(plan.name);
  return true;
}

}  // namespace

void fill_copy_moves(CopyTable& table) {
  fill_move<uint8_t>(table);
  fill_move<uint16_t>(table);
  fill_move<uint32_t>(table);
  fill_move<uint64_t>(table);
  fill_move<Item16>(table);
}

const CopyTable& copy_table() {
  static const CopyTable table = [] {
    CopyTable t;
    fill_copy_moves(t);
    fill_copy_integers(t);
    fill_copy_floats(t);
    return t;
  }();
  return table;
}

void run_copy(const LoopPlan& plan) {
  LoopPlan::Operand to = plan.operand[0], from = plan.operand[1];
  const CopyTable& table = copy_table();
  char value[16];
  LoopPlan whole = without_ones(plan);
  if (from.immediate) {  // then only bytes are left to be written
    convert_value(to.dtype, value, from.dtype, from.data);
    from.data = value;
    from.dtype = to.dtype;
  }
  // Only bytes move, but bool: what is not 0 becomes 1.
  if (to.dtype == from.dtype && (to.dtype != DType::Bool || from.immediate)) {
    const PointwiseKernel& move = table.move[item_row(size_of(to.dtype))];
    to.dtype = from.dtype = move.operand[0];
    whole.operand[0] = to;
    whole.operand[1] = from;
    if (!from.immediate && copy_transposed(whole)) return;
    return run_pointwise(move, whole, nullptr);
  }
  if (run_vectors(table.convert[index_of(to.dtype)][index_of(from.dtype)], whole, nullptr)) return;
  run_pointwise(table.convert_any[index_of(to.dtype)], whole, nullptr);
}

void copy(const LoopPlan& plan) { run_copy(plan); }

void join(const JoinPlan& plan) {
  const int64_t size = size_of(plan.dtype);
  int64_t row_bytes = 0;
  for (int64_t k = 0; k < plan.n_parts; ++k) row_bytes += plan.parts[k].length * size;
  char* to = plan.out;
  for (int64_t k = 0; k < plan.n_parts; ++k) {
    const JoinPlan::Part& part = plan.parts[k];
    if (part.length == 0) continue;
    const int64_t shape[] = {part.length, plan.rows}, to_strides[] = {size, row_bytes},
                  from_strides[] = {size, part.length * size};
    LoopPlan copy;
    copy.name = plan.name;
    copy.device = plan.device;
    copy.ndim = 2;
    copy.shape = shape;
    copy.n_operands = 2;
    copy.operand[0] = {to, to_strides, plan.dtype, false};
    copy.operand[1] = {const_cast<char*>(part.data), from_strides, plan.dtype, false};
    run_copy(copy);
    to += part.length * size;
  }
}

}  // namespace cuda
}  // namespace strided
