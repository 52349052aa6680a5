// cuFFT for emulated devices: the functions of csrc/cuda/fft/cufft_functions.h, made of the CPU's transforms, on device
// memory that is opened while the stream is at it. It is stricter than the real one. A plan must have a stream and work
// of its own before each transform, and be of the current device; input, output and work must lie in that device's
// memory as a whole, where a complex number may lie; work has an odd size and is overwritten, and so is the input of a
// transform to real numbers. A plan must live as long as what was queued or captured with it. What is wrong is said on
// stderr, and given back as a status.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "backend/backend.h"
#include "cpu/backend.h"
#include "cuda/fft/cufft_functions.h"
#include "nvidia_emulated.h"

namespace {

using namespace strided;

enum Status { Success = 0, InvalidPlan = 1, InvalidValue = 4, InternalError = 5 };

struct Plan {
  int device;
  bool made = false, automatic = true, has_stream = false, has_work = false;
  void *stream = nullptr, *work = nullptr;
  size_t bytes = 0;
  DType in_type, out_type;
  long long n, in_step, in_distance, out_step, out_distance, rows;
};
struct Plans {
  std::mutex mutex;
  std::map<int, Plan> all;
  int next = 1;
};
Plans& plans() {
  static auto* p = new Plans;
  return *p;
}
Plan& find(int plan) {
  const std::lock_guard<std::mutex> lock(plans().mutex);
  const auto found = plans().all.find(plan);
  require(found != plans().all.end(), say("a plan", plan));
  return found->second;
}

DType type_of(int number) {
  constexpr DType types[] = {DType::Float32, DType::Float64, DType::Complex64, DType::Complex128};
  for (int i = 0; i < 4; ++i)
    if (cuda::kDataTypes[i] == number) return types[i];
  throw Wrong{say("a data type", number)};
}
bool is_complex_type(DType t) { return t == DType::Complex64 || t == DType::Complex128; }
bool is_wide(DType t) { return t == DType::Float64 || t == DType::Complex128; }

const Backend& cpu_backend() {
  static const bool registered = [] {
    register_cpu_backend();
    return true;
  }();
  static_cast<void>(registered);
  return backend_table(DeviceType::CPU);
}

#define RUN(...) return run(__func__, InvalidValue, InternalError, [&] { __VA_ARGS__ });

// What the stream does when its turn comes.
void compute(const Plan& p, int plan_number, char* in, char* out, int direction) {
  const bool from_real = !is_complex_type(p.in_type), to_real = !is_complex_type(p.out_type);
  const int64_t in_elements = to_real ? p.n / 2 + 1 : p.n;
  const int64_t in_size = size_of(p.in_type), out_size = size_of(p.out_type);
  const int64_t shape = p.rows, in_stride = p.in_distance * in_size, out_stride = p.out_distance * out_size;
  {
    const std::lock_guard<std::mutex> lock(plans().mutex);
    if (plans().all.count(plan_number) == 0) {
      std::fprintf(stderr, "emulated: cufftXtExec: its plan %d was destroyed before its turn came\n", plan_number);
      std::abort();
    }
  }
  std::memset(p.work, 0xff, p.bytes);
  FftPlan plan;
  plan.name = "emulated cuFFT";
  plan.kind = from_real ? FftPlan::RealToComplex : to_real ? FftPlan::ComplexToReal : FftPlan::Complex;
  plan.dtype = is_wide(p.in_type) ? DType::Float64 : DType::Float32;
  plan.inverse = to_real || (!from_real && direction == cuda::kInverse);
  plan.n = p.n;
  plan.in = in;
  plan.out = out;
  plan.in_stride = p.in_step * in_size;
  plan.out_stride = p.out_step * out_size;
  plan.ndim = 1;
  plan.shape = &shape;
  plan.in_strides = &in_stride;
  plan.out_strides = &out_stride;
  cpu_backend().fft(plan);
  for (int64_t row = 0; to_real && row < p.rows; ++row)
    for (int64_t i = 0; i < in_elements; ++i)
      std::memset(in + row * in_stride + i * p.in_step * in_size, 0xff, static_cast<size_t>(in_size));
}

void transform(const Plan& p, int number, char* in, char* out, int direction) {
  const bool from_real = !is_complex_type(p.in_type), to_real = !is_complex_type(p.out_type);
  require(from_real || to_real || direction == cuda::kForward || direction == cuda::kInverse,
          say("the direction", direction));
  const int64_t half = p.n / 2 + 1, in_elements = to_real ? half : p.n, out_elements = from_real ? half : p.n;
  const int64_t in_size = size_of(p.in_type), out_size = size_of(p.out_type);
  const int64_t complex = is_wide(p.in_type) ? 16 : 8;
  auto side = [&](const char* name, const char* data, int64_t elements, int64_t step, int64_t distance, int64_t size) {
    require(step > 0 && (distance > 0 || p.rows == 1), std::string(name) + " has a step or distance below 1");
    require(reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(complex) == 0,
            std::string(name) + " does not lie where a complex number may");
    require_memory(name, data, ((p.rows - 1) * distance + (elements - 1) * step + 1) * size, p.device);
  };
  side("the input", in, in_elements, p.in_step, p.in_distance, in_size);
  side("the output", out, out_elements, p.out_step, p.out_distance, out_size);
  require_memory("the work", p.work, static_cast<int64_t>(p.bytes), p.device);
  if (in == out)
    require(!from_real && !to_real && p.in_step == p.out_step && p.in_distance == p.out_distance,
            "a transform in place has another layout on its other side");
  const bool queued =
      devices->queue(static_cast<cudaStream_t>(p.stream), [=] { compute(p, number, in, out, direction); });
  require(queued, "the stream takes no work");
}

}  // namespace

EXPORT int cufftGetProperty(int property, int* value) {
  const char* version = std::getenv("STRIDED_EMULATE_CUFFT");  // major version
  *value = property == cuda::kMajorVersion ? version ? std::atoi(version) : 12 : 0;
  return Success;
}
EXPORT int cufftCreate(int* plan) {
  RUN(require(devices, "there are no emulated devices"); const std::lock_guard<std::mutex> lock(plans().mutex);
      plans().all[*plan = plans().next++].device = devices->current();)
}
EXPORT int cufftDestroy(int plan) {
  RUN(require(find(plan).device == devices->current(), "the plan is of another device than the current one");
      require(!devices->refused(), "a capture waits for nothing"); devices->enter(); devices->leave();  // it waits
      const std::lock_guard<std::mutex> lock(plans().mutex); plans().all.erase(plan);)
}
EXPORT int cufftSetStream(int plan, void* stream) {
  RUN(Plan& p = find(plan); require(devices->of_stream(static_cast<cudaStream_t>(stream)) == p.device,
                                    "the stream is not one of the plan's device");
      p.stream = stream; p.has_stream = true;)
}
EXPORT int cufftSetAutoAllocation(int plan, int automatic) {
  RUN(require(!find(plan).made, "the plan is made"); find(plan).automatic = automatic != 0;)
}
EXPORT int cufftSetWorkArea(int plan, void* work) {
  RUN(Plan& p = find(plan); require(p.made && !p.automatic, "the plan has work of its own"); p.work = work;
      p.has_work = true;)
}
EXPORT int cufftXtMakePlanMany(int plan, int rank, long long* n, long long* in_shape, long long in_step,
                               long long in_distance, int in_type, long long* out_shape, long long out_step,
                               long long out_distance, int out_type, long long batch, size_t* bytes, int compute) {
  RUN(Plan& p = find(plan); require(!devices->refused(), "a capture has no memory for a plan");
      require(!p.made && rank == 1 && *n > 0 && batch > 0, "no such plan");
      require(in_shape && out_shape, "without shapes, steps are not looked at"); p.in_type = type_of(in_type);
      p.out_type = type_of(out_type); const DType computed = type_of(compute); require(
          is_complex_type(computed) && is_wide(computed) == is_wide(p.in_type) &&
              is_wide(computed) == is_wide(p.out_type) && (is_complex_type(p.in_type) || is_complex_type(p.out_type)),
          "the data types do not go together");
      p.n = *n; p.in_step = in_step; p.in_distance = in_distance; p.out_step = out_step; p.out_distance = out_distance;
      p.rows = batch; p.made = true; *bytes = p.bytes = static_cast<size_t>(8 * *n * batch + 3);)
}
EXPORT int cufftXtExec(int plan, void* in, void* out, int direction) {
  RUN(Plan& p = find(plan); require(p.made, "the plan is not made");
      require(p.device == devices->current(), "the plan is of another device than the current one");
      require(p.has_stream && p.has_work, "the plan has no stream or no work"); last_stream = p.stream;
      p.has_stream = p.has_work = false;
      transform(p, plan, static_cast<char*>(in), static_cast<char*>(out), direction);)
}

// All of them, with the parameters that the library calls them with.
#define X(name, parameters) static_assert(std::is_same_v<decltype(name), int parameters>);
STRIDED_CUFFT_FUNCTIONS(X)
#undef X
