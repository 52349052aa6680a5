// Fills the CPU's kernel table with the loops of the instruction set this machine runs.
#include "cpu/fill.h"

#include "base/cpu_features.h"
#include "cpu/index.h"
#include "cpu/matrix.h"
#include "cpu/random.h"
#include "cpu/scan.h"
#include "cpu/sort.h"
#include "cpu/triangle.h"
#include "ops/kernels.h"

namespace strided {

// What each instruction set's translation units export (cpu/elementwise_*.cpp, copy.cpp, reduce.cpp).
#define STRIDED_DECLARE_ISA(isa)                          \
  namespace isa {                                         \
  void fill_elementwise_float(KernelTable& table);        \
  void fill_elementwise_double(KernelTable& table);       \
  void fill_elementwise_half(KernelTable& table);         \
  void fill_elementwise_complex(KernelTable& table);      \
  void fill_elementwise_signed(KernelTable& table);       \
  void fill_elementwise_unsigned(KernelTable& table);     \
  void fill_copy(KernelTable& table);                     \
  void fill_select(KernelTable& table);                   \
  void fill_reduce(KernelTable& table);                   \
  void fill_softmax(KernelTable& table);                  \
  void fill_ramp(KernelTable& table);                     \
  inline void fill(KernelTable& table) {                  \
    fill_elementwise_float(table);                        \
    fill_elementwise_double(table);                       \
    fill_elementwise_half(table);                         \
    fill_elementwise_complex(table);                      \
    fill_elementwise_signed(table);                       \
    fill_elementwise_unsigned(table);                     \
    fill_copy(table);                                     \
    fill_select(table);                                   \
    fill_reduce(table);                                   \
    fill_softmax(table);                                  \
    fill_ramp(table);                                     \
  }                                                       \
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
  MatrixKernels matrix{};
  switch (chosen_isa()) {
#ifdef STRIDED_HAVE_V4
    case Isa::V4: fill_matrix_kernels_v4(matrix); break;
#endif
#ifdef STRIDED_HAVE_V3
    case Isa::V3: fill_matrix_kernels_v3(matrix); break;
#endif
#ifdef STRIDED_HAVE_V2
    case Isa::V2: fill_matrix_kernels_v2(matrix); break;
#endif
    default: break;
  }
  for (int t = 0; t < kNumDTypes; ++t) {
    table.gemm[t] = matrix.gemm[t];
    table.batched_gemm[t] = matrix.batched_gemm[t];
    table.linalg[t] = matrix.linalg[t];
  }
  // Families whose loops gain nothing from wider vectors have one build.
  fill_index_kernels(table);
  fill_random_kernels(table);
  fill_scan_kernels(table);
  fill_sort_kernels(table);
  fill_triangle_kernels(table);
}

}  // namespace strided
