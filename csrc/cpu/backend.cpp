// Fills the CPU's kernel table with the loops of the instruction set this machine runs.
#include "cpu/backend.h"

#include "base/cpu_features.h"
#include "cpu/kernels.h"
#include "cpu/networks.h"
#include "cpu/operations.h"
#include "cpu/random/samplers.h"
#include "cpu/sort/bins.h"
#include "cpu/streaming.h"

namespace strided {

// What the translation units that are built for each instruction set export: void fill_<unit>(KernelTable&).
#define STRIDED_UNITS(X) \
  X(elementwise_float) \
  X(elementwise_double) \
  X(elementwise_half) \
  X(elementwise_complex) \
  X(elementwise_signed) \
  X(elementwise_unsigned) \
  X(copy) \
  X(where) \
  X(indexed_half) \
  X(chain) \
  X(reduce) \
  X(scan) \
  X(softmax) \
  X(row_norm) \
  X(sparse_product) \
  X(sampling) \
  X(points) \
  X(lstm) \
  X(pool) \
  X(row_gradients) \
  X(label_sums) \
  X(pair_loss) \
  X(random_loops) \
  X(range) \
  X(matrix) \
  X(sort_loops) \
  X(bins) \
  X(few_places) \
  X(fft_float) \
  X(fft_double) \
  X(small_decompositions)

#define STRIDED_DECLARE_UNIT(unit) void fill_##unit(KernelTable& table);
#define STRIDED_CALL_UNIT(unit) fill_##unit(table);
#define STRIDED_DECLARE_ISA(isa) \
  namespace isa { \
  STRIDED_UNITS(STRIDED_DECLARE_UNIT) \
  inline void fill(KernelTable& table) { STRIDED_UNITS(STRIDED_CALL_UNIT) } \
  }
#ifdef STRIDED_HAVE_V2
STRIDED_DECLARE_ISA(v2)
#endif
#ifdef STRIDED_HAVE_V3
STRIDED_DECLARE_ISA(v3)
#endif
#ifdef STRIDED_HAVE_V4
STRIDED_DECLARE_ISA(v4)
#endif
#ifdef STRIDED_HAVE_DOTS
namespace v4 {  // gemm/narrow_products.cpp
void fill_dot_products(KernelTable& table);
void fill_tile_products(KernelTable& table);
}  // namespace v4
#endif
#undef STRIDED_DECLARE_ISA
#undef STRIDED_CALL_UNIT
#undef STRIDED_DECLARE_UNIT
#undef STRIDED_UNITS

bool fill_kernels(Isa isa, KernelTable& table) {
  switch (isa) {
#ifdef STRIDED_HAVE_V4
    case Isa::V4: v4::fill(table); return true;
#endif
#ifdef STRIDED_HAVE_V3
    case Isa::V3: v3::fill(table); return true;
#endif
#ifdef STRIDED_HAVE_V2
    case Isa::V2: v2::fill(table); return true;
#endif
    default: return false;
  }
}

#if defined(STRIDED_HAVE_V3) && defined(STRIDED_HAVE_V4)
namespace {
// The lines of a cache come sooner where each is asked for twice. Measured on Zen 4, gigabytes a second of loops of 64
// and of 32 bytes: a += b of 8 MB 129 and 148, of 64 MB 51 and 62; within the second-level cache they are equal.
const KernelTable* loops_of_halves() {
  static KernelTable table;
  fill_kernels(Isa::V3, table);
  return &table;
}
}  // namespace
#endif

void register_cpu_backend() {
  KernelTable& table = kernel_table();
  STRIDED_CHECK(fill_kernels(chosen_isa(), table), RuntimeError,
                "strided was built for other instruction sets than this CPU has");
#if defined(STRIDED_HAVE_V3) && defined(STRIDED_HAVE_V4)
  if (chosen_isa() == Isa::V4 && moves_halves()) {
    table.far = loops_of_halves();
    table.stream = table.far->stream;
  }
#endif
  switch (chosen_products()) {
    case Products::Plain: break;
#ifdef STRIDED_HAVE_DOTS
    case Products::Dots: v4::fill_dot_products(table); break;
#endif
#ifdef STRIDED_HAVE_TILES
    case Products::Tiles: v4::fill_tile_products(table); break;
#endif
    default: STRIDED_THROW(RuntimeError, "strided was built without these products");
  }
  cpu::streamed_from();  // raises where the environment has no number for it

  Backend& cpu = backend_table(DeviceType::CPU);
#define X(name, parameters) cpu.name = cpu::name;
  STRIDED_KERNEL_SLOTS(X)
#undef X
  cpu.fused_pointwise = cpu::fused_pointwise;
  cpu.folded_gemm = cpu::folded_gemm;
  cpu.normalise_rows = cpu::normalise_rows;
  cpu.normalise_rows_gradient = cpu::normalise_rows_gradient;
  cpu.sparse_product = cpu::sparse_product;
  cpu.sampled_product = cpu::sampled_product;
  NetworkFunctions& networks = network_tables[static_cast<int>(DeviceType::CPU)];
#define X(name, Plan) networks.name = cpu::name;
  STRIDED_NETWORK_FUNCTIONS(X)
#undef X
  networks.wide_sums = true;
  networks.narrow_attention = chosen_products() == Products::Tiles;  // others are no faster in bfloat16
  networks.part = 1 << 17;
  Samplers& samplers = sampler_tables[static_cast<int>(DeviceType::CPU)];
  samplers.gamma = cpu::random_gamma;
  samplers.binomial = cpu::random_binomial;
  count_in_bins_on[static_cast<int>(DeviceType::CPU)] = cpu::count_in_bins;
  static ShortLoops loops;
  loops.elementwise = table.elementwise;
  loops.copy = table.copy;
  loops.where = table.index.where;
  cpu.short_loops = &loops;
}

}  // namespace strided
