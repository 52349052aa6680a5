#include "cuda/fft/cufft.h"

#include <algorithm>
#include <list>
#include <mutex>

#include "cuda/runtime/allocator.h"
#include "cuda/runtime/capture.h"

namespace strided {
namespace cuda {
namespace {

constexpr NvidiaLibrary kLibrary{"cuFFT", "cufft", "STRIDED_CUFFT_LIBRARY", "Fourier transforms"};
constexpr size_t kMostPlans = 256;  // kept while no call uses them, beside those of graphs

const CuFft* open(const char* operation) {
  const OpenLibrary opened = open_library(kLibrary, operation);
  auto* f = new CuFft;
#define X(name, parameters) f->name.load(opened);
  STRIDED_CUFFT_FUNCTIONS(X)
#undef X
  int major = 0, minor = 0;
  f->cufftGetProperty(operation, kMajorVersion, &major);
  f->cufftGetProperty(operation, kMinorVersion, &minor);
  check_version(opened, major, minor);
  return f;
}

// The one used last comes first. Never destroyed: at the end of the process the driver may be gone before it.
struct Plans {
  std::mutex mutex;
  std::list<LentFftPlan::Kept> free;
};
Plans& plans() {
  static auto* p = new Plans;
  return *p;
}

// 0, or what the function returned that failed.
int try_to_make(const CuFft& f, const FftShape& s, LentFftPlan::Kept& kept, const char** failed) {
  long long n = s.n, in_elements = s.in_elements, out_elements = s.out_elements;
  int status = f.cufftCreate.f(&kept.plan);
  *failed = f.cufftCreate.name;
  if (status) return status;
  status = f.cufftSetAutoAllocation.f(kept.plan, 0);
  *failed = f.cufftSetAutoAllocation.name;
  if (status == 0) {
    status = f.cufftXtMakePlanMany.f(kept.plan, 1, &n, &in_elements, s.in_step, s.in_distance, s.in_type, &out_elements,
                                     s.out_step, s.out_distance, s.out_type, s.rows, &kept.bytes, s.compute);
    *failed = f.cufftXtMakePlanMany.name;
  }
  if (status) static_cast<void>(f.cufftDestroy.f(kept.plan));
  return status;
}

}  // namespace

const CuFft& cufft(const char* operation) { return opened_once(operation, open); }

void raise_fft_failure(const char* operation, const char* function, int status) {
  constexpr const char* names[] = {"SUCCESS",        "INVALID_PLAN", "ALLOC_FAILED", "INVALID_TYPE", "INVALID_VALUE",
                                   "INTERNAL_ERROR", "EXEC_FAILED",  "SETUP_FAILED", "INVALID_SIZE", "UNALIGNED_DATA"};
  const bool known = status > 0 && status < static_cast<int>(sizeof(names) / sizeof(names[0]));
  raise_status(kLibrary, operation, function, known ? concat("CUFFT_", names[status]) : std::to_string(status),
               status == kFftAllocFailed);
}

bool FftShape::operator==(const FftShape& o) const {
  return in_type == o.in_type && out_type == o.out_type && compute == o.compute && n == o.n &&
         in_elements == o.in_elements && out_elements == o.out_elements && rows == o.rows && in_step == o.in_step &&
         in_distance == o.in_distance && out_step == o.out_step && out_distance == o.out_distance;
}

LentFftPlan::LentFftPlan(const CuFft& library, const char* operation, int device, const FftShape& shape)
    : library_(library), kept_{device, current_stream(device), shape, 0, 0, false} {
  {
    const std::lock_guard<std::mutex> lock(plans().mutex);
    for (auto p = plans().free.begin(); p != plans().free.end(); ++p) {
      if (p->device != kept_.device || p->stream != kept_.stream || !(p->shape == shape)) continue;
      kept_ = *p;
      plans().free.erase(p);
      return;
    }
  }
  const char* failed = "";
  int status = try_to_make(library, shape, kept_, &failed);
  if (status != 0) {  // it wants memory of the driver, which our allocator may have
    empty_cache();
    status = try_to_make(library, shape, kept_, &failed);
  }
  if (status != 0) raise_fft_failure(operation, failed, status);
}
LentFftPlan::~LentFftPlan() {
  kept_.captured = kept_.captured || capturing(kept_.device);
  const std::lock_guard<std::mutex> lock(plans().mutex);
  auto& free = plans().free;
  free.push_front(kept_);
  const auto is_captured = [](const Kept& kept) { return kept.captured; };
  const auto others = free.size() - static_cast<size_t>(std::count_if(free.begin(), free.end(), is_captured));
  if (others <= kMostPlans) return;
  const auto oldest = std::find_if_not(free.rbegin(), free.rend(), is_captured);
  try {
    const OnDevice guard(oldest->device);
    static_cast<void>(library_.cufftDestroy.f(oldest->plan));
  } catch (const Error&) {
    // The device no longer answers: there is nothing left to free.
  }
  free.erase(std::prev(oldest.base()));
}

}  // namespace cuda
}  // namespace strided
