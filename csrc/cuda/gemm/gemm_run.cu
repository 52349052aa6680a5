// Which kernel a matrix product takes (Note [Kernels of matrix products] in gemm.h).
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/dims.h"
#include "base/integer.h"
#include "cuda/gemm/gemm_tiny.h"
#include "cuda/runtime/capture.h"
#include "cuda/runtime/operations.h"
#include "cuda/runtime/runtime.h"

namespace strided {
namespace cuda {

#define STRIDED_UNITS(X) X(float) X(double) X(complex) X(integer) X(half) X(bfloat16)
#define STRIDED_DECLARE(unit) void fill_gemm_##unit(GemmTable& table);
STRIDED_UNITS(STRIDED_DECLARE)
#undef STRIDED_DECLARE

namespace {

const GemmTable& gemm_table() {
  static const GemmTable table = [] {
    GemmTable t;
#define STRIDED_FILL(unit) fill_gemm_##unit(t);
    STRIDED_UNITS(STRIDED_FILL)
#undef STRIDED_FILL
    return t;
  }();
  return table;
}
#undef STRIDED_UNITS

std::atomic<int> forced_tile{-1};
thread_local int tile_on_trial = -1;        // goes before it
constexpr uint64_t kPatience = 1000000000;  // nanoseconds, of a trial or where a test chose the tile

// The first rows of the table are for every device.
int tiles_for(const GemmEntry& entry, int device) {
  const int capability = 10 * device_info(device).major + device_info(device).minor;
  int n = 0;
  while (n < entry.tiles && (entry.tile[n].capability == 0 || entry.tile[n].capability == capability)) ++n;
  return n;
}

// The batch axes, outermost first: those that are walked as one become one, those of one matrix go.
struct Batch {
  int axes = 0;
  int64_t size[kMaxDims], stride[kMaxDims][3];
  explicit Batch(const GemmPlan& plan) {
    for (int i = 0; i < plan.batch_ndim; ++i) {
      if (plan.batch_shape[i] == 1) continue;
      bool one = axes > 0;
      for (int o = 0; o < 3; ++o) one = one && stride[axes - 1][o] == plan.batch_strides[o][i] * plan.batch_shape[i];
      if (one) size[axes - 1] *= plan.batch_shape[i];
      else size[axes++] = plan.batch_shape[i];
      for (int o = 0; o < 3; ++o) stride[axes - 1][o] = plan.batch_strides[o][i];
    }
  }
};

bool aligned(const void* data, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(bytes) == 0;
}

// Whether operand o of every product begins where runs of so many elements may be read: `across` is the stride from one
// run to what lies under it.
bool in_runs(const GemmArgs& args, int o, const char* data, int64_t along, int64_t across, int run, int64_t itemsize) {
  bool fits = along == 1 && across % run == 0 && aligned(data, run * itemsize);
  for (int d = 0; d < args.batch_axes; ++d) fits = fits && args.batch_stride[d][o] % run == 0;
  return fits;
}

// Note [Tiles on trial]
// A tile that no GPU has run yet (GemmTile::status) is taken on a device where it has shown the same bits as the
// first tile of the table: for factors that are small integers, of which every order of additions has the same sum,
// with either operand contiguous along either axis, at the edges of tiles and slabs. A tile that fails, or whose launch
// does, or whose slabs do not come within a second, is left alone from then on; products are right without it.
// tests/gpu runs all of them.
template <class T>
bool has_the_bits_of_the_first(const GemmTile& tile, int i, int device) {
  const int64_t m = tile.m + 16, n = tile.n + 24, k = tile.k + 40;  // chunks of 16 bytes stay whole
  std::vector<T> values(static_cast<size_t>((m + n) * k));
  for (size_t e = 0; e < values.size(); ++e) values[e] = T(static_cast<float>(static_cast<int>(e * e % 7) - 3));
  const size_t bytes = static_cast<size_t>(m * n) * sizeof(T);
  const Workspace factors(values.size() * sizeof(T), device), product(bytes, device);
  std::vector<char> found[2] = {std::vector<char>(bytes), std::vector<char>(bytes)};
  const cudaStream_t stream = current_stream(device);
  check(cudaMemcpyAsync(factors.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, stream),
        "matmul");
  const compute_t<T> one(1), zero(0);
  for (int layout = 0; layout < 4; ++layout) {
    GemmPlan plan;
    plan.name = "matmul";
    plan.device = device;
    plan.dtype = dtype_of<T>;
    plan.m = m, plan.n = n, plan.k = k;
    plan.a = layout & 1 ? Matrix{factors.data(), 1, m} : Matrix{factors.data(), k, 1};
    T* const b = factors.template as<T>() + m * k;
    plan.b = layout & 2 ? Matrix{b, 1, k} : Matrix{b, n, 1};
    plan.c = {product.data(), n, 1};
    plan.alpha = &one, plan.beta = &zero;
    for (const int by : {0, i}) {
      check(cudaMemsetAsync(product.data(), 0xff, bytes, stream), "matmul");  // a tile that writes nothing fails
      tile_on_trial = by;
      gemm(plan);
      check(cudaMemcpyAsync(found[by > 0].data(), product.data(), bytes, cudaMemcpyDeviceToHost, stream), "matmul");
      check(cudaStreamSynchronize(stream), "matmul");
    }
    if (found[0] != found[1]) return false;
  }
  return true;
}

bool passes_trial(const GemmTile& tile, int i, int device, DType dtype) {
  bool good = false;
  try {
    const OnDevice guard(device);
    if (dtype == dtype_of<Half>) good = has_the_bits_of_the_first<Half>(tile, i, device);
    else if (dtype == dtype_of<BFloat16>) good = has_the_bits_of_the_first<BFloat16>(tile, i, device);
  } catch (const Error&) {  // it could not be launched
  }
  tile_on_trial = -1;
  return good;
}

bool may_take(const GemmEntry& entry, int i, int device) {
  const GemmTile& tile = entry.tile[i];
  if (tile.status == TileStatus::Proven) return true;
  static const bool all = [] {
    const char* asked = std::getenv("STRIDED_CUDA_TRIALS");
    return asked && *asked == '1';
  }();
  if (tile.status == TileStatus::Unrun && !all) return false;
  static std::mutex mutex;
  static auto* trials = new std::map<std::pair<const GemmTile*, int>, bool>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = trials->find({&tile, device});
  if (known != trials->end()) return known->second;
  if (anyone_captures()) return false;  // a trial waits for the device: another time
  return (*trials)[{&tile, device}] = passes_trial(tile, i, device, static_cast<DType>(&entry - gemm_table().entry));
}

struct Launch {
  const char* name;
  int device;
  int64_t itemsize;
  const GemmEntry& entry;

  // Cuts k into about `parts` parts of a multiple of `unit` columns, launches for every product, and adds the parts up.
  template <class F>
  void in_parts(GemmArgs& args, int64_t parts, int64_t unit, F launch_products) const {
    args.part = std::max<int64_t>(ceil_div(ceil_div(args.k, std::max<int64_t>(parts, 1)), unit) * unit, unit);
    parts = std::max<int64_t>(ceil_div(args.k, args.part), 1);
    const int64_t sums = int64_t{args.m} * args.n * args.batch;
    const Workspace partial(parts > 1 ? static_cast<size_t>(parts * sums * entry.sum_size) : 0, device);
    args.partial = parts > 1 ? partial.data() : nullptr;
    constexpr uint32_t most = 65535;  // of gridDim.z
    for (args.first = 0; args.first < args.batch; args.first += most)
      launch_products(static_cast<unsigned>(parts), std::min(args.batch - args.first, most));
    check_launch(name);
    if (parts == 1) return;
    launch(entry.finish, dim3(static_cast<unsigned>(ceil_div(sums, kThreads))), dim3(kThreads), 0,
           current_stream(device), args, static_cast<uint32_t>(parts));
    check_launch(name);
  }

  void tiny(GemmArgs& args) const {
    const uint32_t m = static_cast<uint32_t>(args.m), n = static_cast<uint32_t>(args.n),
                   k = static_cast<uint32_t>(args.k);
    TinyArgs t;
    t.gemm = args;
    t.mk = Divisor(m * k);
    t.kn = Divisor(k * n);
    t.mn = Divisor(m * n);
    t.k = Divisor(k);
    t.n = Divisor(n);
    const uint32_t room = static_cast<uint32_t>(kTinyBytes / entry.sum_size) / std::max(m * k, k * n);
    t.products = std::max(std::min(room, kThreads * 2 / (m * n)), 1u);
    launch(entry.tiny, dim3((args.batch + t.products - 1) / t.products), dim3(kThreads), 0, current_stream(device), t);
    check_launch(name);
  }

  void vector(GemmArgs& args) const {
    const int processors = device_info(device).multiprocessors;
    const int64_t enough = int64_t{8} * processors;  // blocks that keep the memory busy
    const bool along_k = std::abs(args.a_column) <= std::abs(args.a_row) || args.m == 1;
    const int run = along_k ? entry.run_along_k : entry.run_along_m;
    args.vector_a = along_k ? in_runs(args, 0, args.a, args.a_column, args.m == 1 ? 0 : args.a_row, run, itemsize)
                            : in_runs(args, 0, args.a, args.a_row, args.a_column, run, itemsize);
    const bool few = along_k && int64_t{args.m} * args.batch < enough && args.k > 4096;
    const int64_t lanes = few ? kThreads : kWarp, rows = along_k ? kThreads / lanes : int64_t{kWarp} * run;
    const int64_t blocks = ceil_div(args.m, rows), all = blocks * args.batch;
    const int64_t least = along_k ? lanes * run * 4 : 64;  // columns that are worth a block
    const int64_t parts = all >= enough ? 1 : std::min(ceil_div(enough, all), ceil_div(args.k, least));
    const dim3 block =
        along_k ? dim3(static_cast<unsigned>(lanes), static_cast<unsigned>(rows)) : dim3(kWarp, kThreads / kWarp);
    in_parts(args, parts, least, [&](unsigned n_parts, unsigned products) {
      launch(along_k ? entry.along_k : entry.along_m, dim3(static_cast<unsigned>(blocks), n_parts, products), block, 0,
             current_stream(device), args);
    });
  }

  // Note [Which tile]
  // The time of a product is estimated in multiplications of one multiprocessor: rounds of blocks times what a block
  // has to do, over the tile's speed; a product in parts also has its sums to write and read, and one launch more.
  // bench/gpu.py --tiles measures every shape with every tile, which is where the speeds are to be had from.
  struct Choice {
    int64_t parts;
    double time;
  };
  Choice estimate(const GemmArgs& args, const GemmTile& t) const {
    constexpr int64_t least = 256;    // columns of a part
    constexpr double begin = 64;      // a block's start and end, in columns
    constexpr double finish = 640e3;  // the launch of the last kernel
    constexpr double byte = 6.4;      // to write and read, of all multiprocessors together
    const int64_t processors = device_info(device).multiprocessors;
    const int64_t tiles = ceil_div(args.m, t.m) * ceil_div(args.n, t.n) * args.batch;
    auto time = [&](int64_t parts) {
      const double rounds = static_cast<double>(ceil_div(tiles * parts, processors));
      const double columns = static_cast<double>(ceil_div(ceil_div(args.k, parts), t.k) * t.k);
      const double sums =
          static_cast<double>(args.m) * args.n * args.batch * static_cast<double>(parts * entry.sum_size);
      return rounds * (columns + begin) * t.m * t.n / t.speed +
             (parts > 1 ? finish + byte * sums / static_cast<double>(processors) : 0);
    };
    Choice best{1, time(1)};
    for (int64_t parts = 2; parts * least <= args.k && tiles * parts <= 2 * processors * t.resident; ++parts)
      if (const double other = time(parts); other < best.time) best = {parts, other};
    return best;
  }

  // The map of an operand whose axis `outer` is that of m or n, and `along` it or k.
  bool map_operand(TileMap& map, bool (&moves)[3], const GemmArgs& args, int o, const GemmTile& tile) const {
    TileMapPlan plan;
    plan.data = o ? args.b : args.a;
    const int64_t outer = o ? args.n : args.m, across_k = o ? args.b_row : args.a_column;
    const int64_t across = o ? args.b_column : args.a_row;
    const bool along_outer = across == 1;
    plan.rank = args.batch_axes ? kTileAxes : 2;
    plan.size[0] = static_cast<uint64_t>(along_outer ? outer : args.k);
    plan.size[1] = static_cast<uint64_t>(along_outer ? args.k : outer);
    plan.box[0] = 64;
    plan.box[1] = static_cast<uint32_t>(along_outer ? 64 : o ? tile.n : tile.m);
    int64_t strides[kTileAxes - 1] = {along_outer ? across_k : across};
    for (int d = 0; d < args.batch_axes; ++d) {
      strides[d + 1] = args.batch_stride[d][o];
      moves[d] = strides[d + 1] != 0;
      plan.size[d + 2] = moves[d] ? args.batch_size[d].d : 1;
    }
    for (int d = 0; d + 1 < plan.rank; ++d) {
      if (plan.size[d + 1] == 1) continue;
      constexpr int64_t most = int64_t{1} << 40;
      if (strides[d] <= 0 || strides[d] * itemsize % 16 || strides[d] * itemsize >= most) return false;
      plan.stride[d] = static_cast<uint64_t>(strides[d] * itemsize);
    }
    return make_tile_map(map, plan);
  }
  // Whether both operands have maps for the tile.
  bool map_operands(RingArgs& ring, const GemmArgs& args, const GemmTile& tile) const {
    const bool whole = args.a_row == 1 || args.a_column == 1, whole_b = args.b_row == 1 || args.b_column == 1;
    constexpr int64_t most = int64_t{1} << 31;  // of a coordinate
    if (!whole || !whole_b || args.batch_axes > 3 || args.k == 0 || args.k >= most || !aligned(args.a, 16) ||
        !aligned(args.b, 16))
      return false;
    return map_operand(ring.a, ring.moves_a, args, 0, tile) && map_operand(ring.b, ring.moves_b, args, 1, tile);
  }
  void launch_ring(const GemmTile& tile, RingArgs& ring, GemmArgs& args, int64_t parts) const {
    const auto kernel = tile.ring[args.a_row == 1][args.b_column == 1];
    in_parts(args, parts, tile.k, [&](unsigned n_parts, unsigned products) {
      ring.gemm = args;
      ring.parts = n_parts;
      ring.products = products;
      ring.patience = tile_on_trial >= 0 || forced_tile.load(std::memory_order_relaxed) >= 0 ? kPatience : 0;
      const int64_t blocks = int64_t{args.tiles_m} * args.tiles_n * n_parts * products;
      const int64_t places = int64_t{device_info(device).multiprocessors} * tile.resident;
      launch(kernel, dim3(static_cast<unsigned>(std::min(blocks, places))), dim3(static_cast<unsigned>(tile.threads)),
             static_cast<size_t>(tile.shared_bytes), current_stream(device), ring);
    });
  }

  void tiles(GemmArgs& args) const {
    const GemmTile* tile = &entry.tile[0];
    Choice best = estimate(args, *tile);
    const int forced = tile_on_trial >= 0 ? tile_on_trial : forced_tile.load(std::memory_order_relaxed);
    const int choices = tiles_for(entry, device);
    STRIDED_CHECK(forced < choices, ValueError, name, ": tile ", forced, " was asked for, there are ", choices);
    RingArgs ring;
    for (int i = 1; i < choices; ++i) {
      const Choice other = estimate(args, entry.tile[i]);
      if (forced >= 0 ? i != forced : other.time >= best.time) continue;
      if (forced < 0 && !may_take(entry, i, device)) continue;
      if (entry.tile[i].ring[0][0] && !map_operands(ring, args, entry.tile[i])) continue;
      tile = &entry.tile[i];
      best = other;
    }
    args.tiles_m = static_cast<uint32_t>(ceil_div(args.m, tile->m));
    args.tiles_n = static_cast<uint32_t>(ceil_div(args.n, tile->n));
    const bool along_m = in_runs(args, 0, args.a, args.a_row, args.a_column, tile->vector, itemsize);
    const bool along_n = in_runs(args, 1, args.b, args.b_column, args.b_row, tile->vector, itemsize);
    args.flags_a.whole = along_m || in_runs(args, 0, args.a, args.a_column, args.a_row, tile->vector, itemsize);
    args.flags_b.whole = along_n || in_runs(args, 1, args.b, args.b_row, args.b_column, tile->vector, itemsize);
    args.flags_a.along_k = std::abs(args.a_column) < std::abs(args.a_row);
    args.flags_b.along_k = std::abs(args.b_row) < std::abs(args.b_column);
    args.vector_c = in_runs(args, 2, args.c, args.c_column, args.c_row, tile->run_c, itemsize);
    if (tile->ring[0][0]) return launch_ring(*tile, ring, args, best.parts);
    const bool vectors = tile->vector > 1;
    const auto kernel = tile->kernel[vectors && along_m][vectors && along_n];
    in_parts(args, best.parts, tile->k, [&](unsigned parts, unsigned products) {
      launch(kernel, dim3(args.tiles_m * args.tiles_n, parts, products), dim3(static_cast<unsigned>(tile->threads)),
             static_cast<size_t>(tile->shared_bytes), current_stream(device), args);
    });
  }
};

}  // namespace

void force_gemm_tile(int index) { forced_tile = index; }
bool may_take_tile(DType dtype, int i, int device) {
  const GemmEntry& entry = gemm_table().entry[index_of(dtype)];
  return i < tiles_for(entry, device) && may_take(entry, i, device);
}
int gemm_tiles(DType dtype) { return tiles_for(gemm_table().entry[index_of(dtype)], current_device()); }

void gemm(const GemmPlan& plan) {
  for (int i = 0; i < plan.batch_ndim; ++i)
    if (plan.batch_shape[i] == 0) return;
  if (plan.m == 0 || plan.n == 0) return;
  constexpr int64_t most = int64_t{1} << 31;
  Batch batch(plan);
  if (batch.axes > kMaxBatchAxes) {  // the outermost one by one
    GemmPlan inner = plan;
    int64_t rest[kMaxDims], strides[3][kMaxDims];
    inner.batch_ndim = batch.axes - 1;
    inner.batch_shape = rest;
    for (int i = 1; i < batch.axes; ++i) rest[i - 1] = batch.size[i];
    for (int o = 0; o < 3; ++o) {
      inner.batch_strides[o] = strides[o];
      for (int i = 1; i < batch.axes; ++i) strides[o][i - 1] = batch.stride[i][o];
    }
    for (int64_t i = 0; i < batch.size[0]; ++i) {
      Matrix* matrix[] = {&inner.a, &inner.b, &inner.c};
      const Matrix* given[] = {&plan.a, &plan.b, &plan.c};
      for (int o = 0; o < 3; ++o)
        matrix[o]->data = static_cast<char*>(given[o]->data) + i * batch.stride[0][o] * size_of(plan.dtype);
      gemm(inner);
    }
    return;
  }
  GemmArgs args;
  int64_t count = 1;
  args.batch_axes = batch.axes;
  for (int i = 0; i < batch.axes; ++i) {
    const int from = batch.axes - 1 - i;
    count *= batch.size[from];
    STRIDED_CHECK(count < most, NotImplementedError, plan.name, ": more than 2^31 - 1 products on device 'cuda'");
    args.batch_size[i] = Divisor(static_cast<uint32_t>(batch.size[from]));
    for (int o = 0; o < 3; ++o) args.batch_stride[i][o] = batch.stride[from][o];
  }
  args.batch = static_cast<uint32_t>(count);
  STRIDED_CHECK(plan.m < most && plan.n < most, NotImplementedError, plan.name, ": a product of ", plan.m, " x ",
                plan.n, " elements on device 'cuda'");
  Matrix a = plan.a, b = plan.b, c = plan.c;
  int64_t m = plan.m, n = plan.n;
  // The transposed product: for a row vector, and for a C whose rows are not contiguous but whose columns are.
  if (n > 1 && (m == 1 || std::abs(c.row_stride) < std::abs(c.col_stride))) {
    std::swap(a, b);
    std::swap(m, n);
    for (Matrix* x : {&a, &b, &c}) std::swap(x->row_stride, x->col_stride);
    for (int i = 0; i < args.batch_axes; ++i) std::swap(args.batch_stride[i][0], args.batch_stride[i][1]);
  }
  args.a = static_cast<const char*>(a.data);
  args.b = static_cast<const char*>(b.data);
  args.c = static_cast<char*>(c.data);
  args.m = static_cast<int32_t>(m);
  args.n = static_cast<int32_t>(n);
  args.k = plan.k;
  args.a_row = a.row_stride;
  args.a_column = a.col_stride;
  args.b_row = b.row_stride;
  args.b_column = b.col_stride;
  args.c_row = c.row_stride;
  args.c_column = c.col_stride;

  const GemmTable& table = gemm_table();
  const GemmEntry& entry =
      plan.tf32 && plan.dtype == DType::Float32 && table.tf32.tiles ? table.tf32 : table.entry[index_of(plan.dtype)];
  STRIDED_CHECK(entry.tiles, NotImplementedError, plan.name, ": not implemented for ", plan.dtype, " on device 'cuda'");
  dispatch_loops(plan.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Given = compute_t<T>;
    Given scales[2];
    std::memcpy(&scales[0], plan.alpha, sizeof(Given));
    std::memcpy(&scales[1], plan.beta, sizeof(Given));
    const sum_t<T> sums[] = {static_cast<sum_t<T>>(scales[0]), static_cast<sum_t<T>>(scales[1])};
    std::memcpy(args.alpha, &sums[0], sizeof(sum_t<T>));
    std::memcpy(args.beta, &sums[1], sizeof(sum_t<T>));
    args.add = scales[1] != Given(0);
  });

  const OnDevice guard(plan.device);
  const Launch launch{plan.name, plan.device, size_of(plan.dtype), entry};
  const bool fits = std::max(m, n) * args.k * entry.sum_size <= kTinyBytes;  // one product
  if (args.k > 0 && args.k <= kTinyDepth && m * n <= kTinyResults && fits) return launch.tiny(args);
  if (args.n == 1 && args.k > 0) return launch.vector(args);
  launch.tiles(args);
}

}  // namespace cuda
}  // namespace strided
