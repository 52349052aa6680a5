// Fills the CPU's kernel table with the loops of the instruction set this machine runs.
#include "cpu/backend.h"

#include "backend/kernels.h"
#include "base/cpu_features.h"
#include "cpu/operations.h"
#include "cpu/reduce/scan.h"

namespace strided {

// What the translation units that are built for each instruction set export: void fill_<unit>(KernelTable&).
#define STRIDED_UNITS(X) \
  X(elementwise_float) \
  X(elementwise_double) \
  X(elementwise_half) \
  X(elementwise_complex) \
  X(elementwise_signed) X(elementwise_unsigned) X(copy) X(where) X(reduce) X(softmax) X(range) X(matrix)

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
#undef STRIDED_DECLARE_ISA
#undef STRIDED_CALL_UNIT
#undef STRIDED_DECLARE_UNIT
#undef STRIDED_UNITS

void register_cpu_backend() {
  KernelTable& table = kernel_table(DeviceType::CPU);
  switch (chosen_isa()) {
#ifdef STRIDED_HAVE_V4
    case Isa::V4: v4::fill(table); break;
#endif
#ifdef STRIDED_HAVE_V3
    case Isa::V3: v3::fill(table); break;
#endif
#ifdef STRIDED_HAVE_V2
    case Isa::V2: v2::fill(table); break;
#endif
    default: STRIDED_THROW(RuntimeError, "strided was built for other instruction sets than this CPU has");
  }
  // Families whose loops gain nothing from wider vectors have one build.
  fill_scan_kernels(table);

  // The slots whose drivers are here; the others are still run by operations themselves.
  Backend& cpu = backend_table(DeviceType::CPU);
  cpu.reduce = cpu::reduce;
  cpu.scan = cpu::scan;
  cpu.gemm = cpu::gemm;
  cpu.lu_factor = cpu::lu_factor;
  cpu.lu_solve = cpu::lu_solve;
  cpu.cholesky = cpu::cholesky;
  cpu.solve_triangular = cpu::solve_triangular;
  cpu.exchange_rows = cpu::exchange_rows;
  cpu.permutation_sign = cpu::permutation_sign;
  cpu.check_info = cpu::check_info;
  cpu.divide_by_counts = cpu::divide_by_counts;
  cpu.gather = cpu::gather;
  cpu.scatter = cpu::scatter;
  cpu.scatter_reduce = cpu::scatter_reduce;
  cpu.nonzero_begin = cpu::nonzero_begin;
  cpu.nonzero_write = cpu::nonzero_write;
  cpu.nonzero_end = cpu::nonzero_end;
  cpu.unravel = cpu::unravel;
  cpu.sort = cpu::sort;
  cpu.order_statistic = cpu::order_statistic;
  cpu.unique_rows = cpu::unique_rows;
  cpu.unique_values = cpu::unique_values;
  cpu.search = cpu::search;
  cpu.elementwise = cpu::elementwise;
  cpu.copy = cpu::copy;
  cpu.where = cpu::where;
  cpu.clear_triangle = cpu::clear_triangle;
  cpu.range = cpu::range;
  cpu.join = cpu::join;
  cpu.random_fill = cpu::random_fill;
  cpu.random_bernoulli = cpu::random_bernoulli;
  cpu.random_poisson = cpu::random_poisson;
  cpu.random_permutation = cpu::random_permutation;
  cpu.random_choice = cpu::random_choice;
  cpu.transfer = cpu::transfer;
  static ShortLoops loops;
  loops.elementwise = table.elementwise;
  loops.copy = table.copy;
  loops.where = table.index.where;
  cpu.short_loops = &loops;
}

}  // namespace strided
