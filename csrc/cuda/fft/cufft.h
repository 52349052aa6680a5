// The way to cuFFT (nvidia_library.h says how it is opened), and its plans.
#pragma once

#include "cuda/fft/cufft_functions.h"
#include "cuda/runtime/nvidia_library.h"

namespace strided {
namespace cuda {

[[noreturn]] void raise_fft_failure(const char* operation, const char* function, int status);

struct CuFft {
#define X(name, parameters) LibraryFunction<int parameters, raise_fft_failure> name{#name};
  STRIDED_CUFFT_FUNCTIONS(X)
#undef X
};

// Opened at the first call, in the name of an operation.
const CuFft& cufft(const char* operation);

// What a plan of cuFFT is made for: rows of n, at steps and distances in elements.
struct FftShape {
  int in_type, out_type, compute;  // of kDataTypes
  long long n, in_elements, out_elements, rows;
  long long in_step, in_distance, out_step, out_distance;
  bool operator==(const FftShape& other) const;
};

// Plans of cuFFT.
// To make one takes a millisecond or more and memory of the device, so they are kept: those of the last shapes, on the
// stream they were used on. One is lent for the time of a call, as its stream and its work are set before each; work is
// memory of our allocator. A graph goes on using the memory of a plan that it was captured with: such a plan is never
// destroyed.
class LentFftPlan {
 public:
  LentFftPlan(const CuFft& library, const char* operation, int device, const FftShape& shape);  // current stream
  ~LentFftPlan();
  LentFftPlan(const LentFftPlan&) = delete;
  LentFftPlan& operator=(const LentFftPlan&) = delete;
  int plan() const { return kept_.plan; }
  size_t work_bytes() const { return kept_.bytes; }

  struct Kept {
    int device;
    cudaStream_t stream;
    FftShape shape;
    int plan;
    size_t bytes;
    bool captured;
  };

 private:
  const CuFft& library_;
  Kept kept_;
};

}  // namespace cuda
}  // namespace strided
