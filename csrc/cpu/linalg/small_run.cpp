// QR decompositions of real matrices by the kernels of qr.cpp, decompositions of small matrices by those of
// small_decompositions.cpp, the others by the library that had the slots before.
#include <algorithm>

#include "cpu/backend.h"
#include "cpu/kernels.h"

namespace strided {
namespace cpu {
namespace {

bool is_real(const DecompositionPlan& plan) { return plan.dtype == DType::Float32 || plan.dtype == DType::Float64; }

// Which decompositions are computed in lanes.
// All whose longest side fits the arrays on the stack (kMaxLanesSize), in batches that fill half of the lanes. With
// AVX-512 one of a batch in float32 takes, for 8 x 8 and 32 x 32, in us (LAPACK by PyTorch in brackets): QR 0.16 (1.2)
// and 4 (15), eigh 0.38 (3.6) and 10 (51), SVD 0.7 (9) and 28 (104). A smaller batch leaves most lanes idle, and is
// ahead up to a size still: one QR of 16 x 16 in float64 takes 5 us in lanes and 7 by LAPACK, of 32 x 32 39 and 24; one
// eigh of 16 x 16 19 and 21; one SVD of 16 x 16 80 and 38, of 8 x 8 11.
constexpr int64_t kFewQr = 16, kFewEigen = 16, kFewSingular = 8;
const SmallDecompositionKernels* kernels_for(const DecompositionPlan& plan, int64_t most_of_few) {
  if (!is_real(plan)) return nullptr;
  const SmallDecompositionKernels& kernels = kernel_table().small_decompositions[plan.dtype == DType::Float64];
  const int64_t longest = std::max(plan.m, plan.n);
  const bool fits = longest <= kernels.most && plan.batch > 0 && std::min(plan.m, plan.n) > 0;
  return fits && (longest <= most_of_few || plan.batch >= kernels.lanes / 2) ? &kernels : nullptr;
}

bool small_qr(const DecompositionPlan& plan, bool by_columns, bool complete, void* q, void* r) {
  const SmallDecompositionKernels* kernels = kernels_for(plan, kFewQr);
  if (kernels && r) kernels->qr(plan.batch, plan.m, plan.n, plan.a, by_columns, complete, q, r);
  return kernels != nullptr;
}

Backend library;  // the slots before

void qr(const DecompositionPlan& plan, void* tau) {
  if (!is_real(plan)) return library.qr(plan, tau);
  kernel_table().qr[plan.dtype == DType::Float64].qr(plan.batch, plan.m, plan.n, plan.a, tau);
}

void form_q(const DecompositionPlan& plan, int64_t k, const void* tau) {
  if (!is_real(plan)) return library.form_q(plan, k, tau);
  kernel_table().qr[plan.dtype == DType::Float64].form_q(plan.batch, plan.m, plan.n, k, plan.a, tau);
}

void small_eigh(const DecompositionPlan& plan, void* w, bool upper, bool vectors) {
  const SmallDecompositionKernels* kernels = kernels_for(plan, kFewEigen);
  if (kernels == nullptr) return library.eigh(plan, w, upper, vectors);
  kernels->eigh(plan.batch, plan.n, plan.a, w, upper, vectors, plan.info);
}

void small_svd(const DecompositionPlan& plan, void* s, void* u, void* vh, bool full, const char* driver) {
  const SmallDecompositionKernels* kernels = driver ? nullptr : kernels_for(plan, kFewSingular);
  if (kernels == nullptr) return library.svd(plan, s, u, vh, full, driver);
  kernels->svd(plan.batch, plan.m, plan.n, plan.a, s, u, vh, full, plan.info);
}

}  // namespace
}  // namespace cpu

void register_small_decompositions() {
  Backend& k = backend_table(DeviceType::CPU);
  cpu::library = k;
  k.qr = &cpu::qr;
  k.form_q = &cpu::form_q;
  k.small_qr = &cpu::small_qr;
  k.eigh = &cpu::small_eigh;
  k.svd = &cpu::small_svd;
}

}  // namespace strided
