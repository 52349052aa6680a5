// cuSOLVER for emulated devices: the functions of csrc/cuda/linalg/solver_functions.h, made of LAPACK, on device memory
// that is opened for the time of a call. It is stricter than the real one. Handles must be of the current device and of
// one thread at a time; matrices, workspaces and info must lie in that device's memory as a whole; work must have the
// size that was asked for, which is an odd one, and is overwritten. What is wrong is said on stderr, and given back as
// a status.
//
// With STRIDED_OLD_CUSOLVER it is one that has not yet the functions of STRIDED_CUSOLVER_NEW_FUNCTIONS.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <vector>

#include "backend/backend.h"
#include "base/complex.h"
#include "cuda/linalg/solver_functions.h"
#include "lapack/library.h"
#include "nvidia_emulated.h"

namespace {

using namespace strided;

enum Status { Success = 0, NotInitialized = 1, InvalidValue = 3, InternalError = 7 };

struct Handle {
  int device;
  void* stream = nullptr;
  bool has_stream = false;
  std::atomic<bool> busy{false};
};
struct Params {};
struct Jacobi {
  int sweeps = 0;
};
// Objects that were made, to know them again.
struct Objects {
  std::mutex mutex;
  std::set<const void*> all;
};
Objects& objects() {
  static auto* o = new Objects;
  return *o;
}
template <class T>
int make(void** to, T* object) {
  const std::lock_guard<std::mutex> lock(objects().mutex);
  objects().all.insert(*to = object);
  return Success;
}
bool exists(const void* object) {
  const std::lock_guard<std::mutex> lock(objects().mutex);
  return objects().all.count(object) != 0;
}

// LAPACK, through the CPU's decompositions.
const Backend& lapack() {
  static const bool registered = [] {
    register_lapack([] {
      const char* named = std::getenv("STRIDED_TEST_LAPACK");  // by the set-up of the Python tests
      return std::string(named && *named ? named : STRIDED_TEST_LAPACK);
    });
    return true;
  }();
  static_cast<void>(registered);
  return backend_table(DeviceType::CPU);
}

// One call: what all of them check.
class Call {
 public:
  Call(void* handle, DType dtype) : dtype(dtype), handle_(static_cast<Handle*>(handle)) {
    require(devices, "there are no emulated devices");
    require(exists(handle), "this is no handle");
    require(handle_->has_stream, "the handle was given no stream");
    require(handle_->device == devices->current(), "the handle is of another device than the current one");
    require(!handle_->busy.exchange(true), "the handle is used by two threads at a time");
    last_stream = handle_->stream;
    devices->enter();
  }
  ~Call() {
    devices->leave();
    handle_->busy = false;
  }
  Call(const Call&) = delete;

  const DType dtype;
  int64_t size() const { return size_of(dtype); }
  DType real() const {
    return dtype == DType::Complex64 ? DType::Float32 : dtype == DType::Complex128 ? DType::Float64 : dtype;
  }

  void memory(const char* name, const void* data, int64_t bytes) const {
    require_memory(name, data, bytes, handle_->device);
  }
  void matrix(const char* name, const void* data, int64_t rows, int64_t columns, int64_t ld) const {
    require(rows >= 0 && columns >= 0, std::string(name) + " has a negative size");
    require(ld >= std::max<int64_t>(rows, 1),
            std::string(name) + " has " + std::to_string(rows) + " rows, but " + say("ld", ld));
    memory(name, data, columns == 0 ? 0 : ((columns - 1) * ld + rows) * size());
  }
  // Work is overwritten: nothing else may lie there.
  void work(void* data, int64_t bytes, int64_t asked) const {
    require(bytes >= asked, "the work has " + std::to_string(bytes) + " bytes, not the " + std::to_string(asked) +
                                " that were asked for");
    memory("work", data, bytes);
    std::memset(data, 0xff, static_cast<size_t>(bytes));
  }
  static void host_work(void* data, size_t bytes, size_t asked) {
    require(bytes >= asked && data, "the work on the host is too small");
    std::memset(data, 0xff, bytes);
  }
  int* info(int* data, int64_t n = 1) const {
    memory("info", data, n * 4);
    return data;
  }

  // A matrix of device memory as the seam has it: without gaps between columns.
  std::vector<char> packed(const void* data, int64_t rows, int64_t columns, int64_t ld) const {
    std::vector<char> out(static_cast<size_t>(rows * columns * size()) + 1);
    for (int64_t j = 0; j < columns; ++j)
      std::memcpy(out.data() + j * rows * size(), static_cast<const char*>(data) + j * ld * size(),
                  static_cast<size_t>(rows * size()));
    return out;
  }
  void unpack(void* to, const std::vector<char>& from, int64_t rows, int64_t columns, int64_t ld) const {
    for (int64_t j = 0; j < columns; ++j)
      std::memcpy(static_cast<char*>(to) + j * ld * size(), from.data() + j * rows * size(),
                  static_cast<size_t>(rows * size()));
  }
  DecompositionPlan plan(std::vector<char>& a, int64_t m, int64_t n, int* info = nullptr) const {
    DecompositionPlan p;
    p.name = "emulated cuSOLVER";
    p.dtype = dtype;
    p.m = m;
    p.n = n;
    p.a = a.data();
    p.info = info;
    return p;
  }
  // (rows x columns) becomes its adjoint.
  std::vector<char> adjoint(const std::vector<char>& a, int64_t rows, int64_t columns) const {
    std::vector<char> out(a.size());
    auto turn = [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          T x = reinterpret_cast<const T*>(a.data())[j * rows + i];
          if constexpr (is_complex_v<T>) x = conj(x);
          reinterpret_cast<T*>(out.data())[i * columns + j] = x;
        }
    };
    if (dtype == DType::Float32) turn(float());
    else if (dtype == DType::Float64) turn(double());
    else if (dtype == DType::Complex64) turn(Complex<float>());
    else turn(Complex<double>());
    return out;
  }
  // The singular values of one matrix to s, vectors as U and V^H.
  struct Svd {
    std::vector<char> u, vh;
  };
  Svd svd(const void* a, int64_t m, int64_t n, int64_t lda, void* s, bool vectors, bool full, int* info) const {
    const int64_t k = std::min(m, n);
    std::vector<char> copy = packed(a, m, n, lda);
    Svd out;
    if (vectors) {
      out.u.resize(static_cast<size_t>(m * (full ? m : k) * size()));
      out.vh.resize(static_cast<size_t>((full ? n : k) * n * size()));
    }
    lapack().svd(plan(copy, m, n, info), s, vectors ? out.u.data() : nullptr, vectors ? out.vh.data() : nullptr, full,
                 nullptr);
    return out;
  }

 private:
  Handle* handle_;
};

#define RUN(...) return run(__func__, InvalidValue, InternalError, [&] { __VA_ARGS__ });

DType type_of(int number) {
  constexpr DType types[] = {DType::Float32, DType::Float64, DType::Complex64, DType::Complex128};
  for (int i = 0; i < 4; ++i)
    if (cuda::kDataTypes[i] == number) return types[i];
  throw Wrong{say("a data type", number)};
}
DType type_of(char letter) {
  return letter == 'S'   ? DType::Float32
         : letter == 'D' ? DType::Float64
         : letter == 'C' ? DType::Complex64
                         : DType::Complex128;
}
// Sizes that nobody would guess.
size_t bytes_for(int64_t m, int64_t n) { return static_cast<size_t>(1001 + 3 * m + 5 * n); }
size_t host_bytes_for(int64_t n) { return static_cast<size_t>(17 + n % 7); }
int size_for(int64_t m, int64_t n) { return static_cast<int>(13 + m + 3 * n); }

void check_types(const Call& call, int params_type, int compute, const void* params) {
  require(exists(params), "these are no params");
  require(type_of(params_type) == call.dtype && type_of(compute) == call.dtype, "the data types do not go together");
}
void check_job(int job) { require(job == cuda::kNoVectors || job == cuda::kVectors, say("job", job)); }

}  // namespace

EXPORT int cusolverGetProperty(int property, int* value) {
  const char* version = std::getenv("STRIDED_EMULATE_CUSOLVER");  // major version
  *value = property == cuda::kMajorVersion ? version ? std::atoi(version) : 12 : 0;
  return Success;
}
EXPORT int cusolverDnCreate(void** handle) {
  if (!devices) return NotInitialized;
  return make(handle, new Handle{devices->current()});
}
EXPORT int cusolverDnCreateParams(void** params) { return make(params, new Params); }
EXPORT int cusolverDnCreateGesvdjInfo(void** jacobi) { return make(jacobi, new Jacobi); }
EXPORT int cusolverDnXgesvdjSetMaxSweeps(void* jacobi, int sweeps) {
  RUN(require(exists(jacobi) && sweeps > 0, say("sweeps", sweeps)); static_cast<Jacobi*>(jacobi)->sweeps = sweeps;)
}
EXPORT int cusolverDnSetStream(void* handle, void* stream) {
  RUN(require(exists(handle), "this is no handle"); auto* h = static_cast<Handle*>(handle);
      require(devices->of_stream(static_cast<cudaStream_t>(stream)) == h->device,
              "the stream is not one of the handle's device");
      h->stream = stream; h->has_stream = true;)
}

// ---- for matrices of any type
EXPORT int cusolverDnXgeqrf_bufferSize(void*, void*, int64_t m, int64_t n, int, const void*, int64_t, int, const void*,
                                       int, size_t* bytes, size_t* host_bytes) {
  *bytes = bytes_for(m, n);
  *host_bytes = host_bytes_for(n);
  return Success;
}
EXPORT int cusolverDnXgeqrf(void* handle, void* params, int64_t m, int64_t n, int type_a, void* a, int64_t lda,
                            int type_tau, void* tau, int compute, void* work, size_t bytes, void* host_work,
                            size_t host_bytes, int* info) {
  RUN(const Call call(handle, type_of(type_a)); check_types(call, type_tau, compute, params);
      call.matrix("a", a, m, n, lda); call.memory("tau", tau, std::min(m, n) * call.size());
      call.work(work, static_cast<int64_t>(bytes), static_cast<int64_t>(bytes_for(m, n)));
      call.host_work(host_work, host_bytes, host_bytes_for(n)); std::vector<char> copy = call.packed(a, m, n, lda);
      lapack().qr(call.plan(copy, m, n), tau); call.unpack(a, copy, m, n, lda); *call.info(info) = 0;)
}

EXPORT int cusolverDnXgesvd_bufferSize(void*, void*, signed char, signed char, int64_t m, int64_t n, int, const void*,
                                       int64_t, int, const void*, int, const void*, int64_t, int, const void*, int64_t,
                                       int, size_t* bytes, size_t* host_bytes) {
  *bytes = bytes_for(m, n);
  *host_bytes = host_bytes_for(n);
  return m < n ? InvalidValue : Success;
}
EXPORT int cusolverDnXgesvd(void* handle, void* params, signed char job_u, signed char job_vt, int64_t m, int64_t n,
                            int type_a, void* a, int64_t lda, int type_s, void* s, int type_u, void* u, int64_t ldu,
                            int type_vt, void* vt, int64_t ldvt, int compute, void* work, size_t bytes, void* host_work,
                            size_t host_bytes, int* info) {
  RUN(const Call call(handle, type_of(type_a)); check_types(call, type_u, compute, params);
      require(type_of(type_vt) == call.dtype && type_of(type_s) == call.real(), "the data types do not go together");
      require(m >= n, "gesvd takes no matrix that is wider than high");
      require(job_u == job_vt && (job_u == 'N' || job_u == 'S' || job_u == 'A'), say("job", job_u));
      const bool vectors = job_u != 'N', full = job_u == 'A'; call.matrix("a", a, m, n, lda);
      call.memory("s", s, n * size_of(call.real())); if (vectors) call.matrix("u", u, m, full ? m : n, ldu);
      if (vectors) call.matrix("vt", vt, n, n, ldvt);
      call.work(work, static_cast<int64_t>(bytes), static_cast<int64_t>(bytes_for(m, n)));
      call.host_work(host_work, host_bytes, host_bytes_for(n));
      const Call::Svd found = call.svd(a, m, n, lda, s, vectors, full, call.info(info));
      std::memset(a, 0xff, static_cast<size_t>(((n - 1) * lda + m) * call.size()));
      if (vectors) call.unpack(u, found.u, m, full ? m : n, ldu); if (vectors) call.unpack(vt, found.vh, n, n, ldvt);)
}

namespace {
void hermitian(const Call& call, int job, int triangle, int64_t n, void* a, int64_t lda, void* w, int* info) {
  std::vector<char> copy = call.packed(a, n, n, lda);
  for (int64_t j = 0; j < n; ++j)  // the other triangle is not read
    for (int64_t i = 0; i < n; ++i)
      if (triangle == cuda::kUpper ? i > j : i < j)
        std::memset(copy.data() + (j * n + i) * call.size(), 0, static_cast<size_t>(call.size()));
  lapack().eigh(call.plan(copy, n, n, info), w, triangle == cuda::kUpper, job == cuda::kVectors);
  call.unpack(a, copy, n, n, lda);
}
}  // namespace
EXPORT int cusolverDnXsyevd_bufferSize(void*, void*, int, int, int64_t n, int, const void*, int64_t, int, const void*,
                                       int, size_t* bytes, size_t* host_bytes) {
  *bytes = bytes_for(n, n);
  *host_bytes = host_bytes_for(n);
  return Success;
}
EXPORT int cusolverDnXsyevd(void* handle, void* params, int job, int triangle, int64_t n, int type_a, void* a,
                            int64_t lda, int type_w, void* w, int compute, void* work, size_t bytes, void* host_work,
                            size_t host_bytes, int* info) {
  RUN(const Call call(handle, type_of(type_a)); check_types(call, type_a, compute, params); check_job(job);
      require(type_of(type_w) == call.real(), "the data types do not go together");
      require(triangle == cuda::kLower || triangle == cuda::kUpper, say("the triangle", triangle));
      call.matrix("a", a, n, n, lda); call.memory("w", w, n * size_of(call.real()));
      call.work(work, static_cast<int64_t>(bytes), static_cast<int64_t>(bytes_for(n, n)));
      call.host_work(host_work, host_bytes, host_bytes_for(n));
      hermitian(call, job, triangle, n, a, lda, w, call.info(info));)
}

#ifndef STRIDED_OLD_CUSOLVER
EXPORT int cusolverDnXsyevBatched_bufferSize(void*, void*, int, int, int64_t n, int, const void*, int64_t, int,
                                             const void*, int, size_t* bytes, size_t* host_bytes, int64_t batch) {
  *bytes = bytes_for(n, n) * static_cast<size_t>(batch);
  *host_bytes = host_bytes_for(n);
  return Success;
}
EXPORT int cusolverDnXsyevBatched(void* handle, void* params, int job, int triangle, int64_t n, int type_a, void* a,
                                  int64_t lda, int type_w, void* w, int compute, void* work, size_t bytes,
                                  void* host_work, size_t host_bytes, int* info, int64_t batch) {
  RUN(const Call call(handle, type_of(type_a)); check_types(call, type_a, compute, params); check_job(job);
      require(type_of(type_w) == call.real(), "the data types do not go together");
      require(triangle == cuda::kLower || triangle == cuda::kUpper, say("the triangle", triangle));
      call.matrix("a", a, n, n * batch, lda); const int64_t real = size_of(call.real());
      call.memory("w", w, n * batch * real);
      call.work(work, static_cast<int64_t>(bytes), static_cast<int64_t>(bytes_for(n, n)) * batch);
      call.host_work(host_work, host_bytes, host_bytes_for(n)); call.info(info, batch);
      for (int64_t i = 0; i < batch; ++i)
          hermitian(call, job, triangle, n, static_cast<char*>(a) + i * lda * n * call.size(), lda,
                    static_cast<char*>(w) + i * n * real, info + i);)
}

EXPORT int cusolverDnXgeev_bufferSize(void*, void*, int, int, int64_t n, int, const void*, int64_t, int, const void*,
                                      int, const void*, int64_t, int, const void*, int64_t, int, size_t* bytes,
                                      size_t* host_bytes) {
  *bytes = bytes_for(n, n);
  *host_bytes = host_bytes_for(n);
  return Success;
}
EXPORT int cusolverDnXgeev(void* handle, void* params, int job_vl, int job_vr, int64_t n, int type_a, void* a,
                           int64_t lda, int type_w, void* w, int type_vl, void*, int64_t ldvl, int type_vr, void* vr,
                           int64_t ldvr, int compute, void* work, size_t bytes, void* host_work, size_t host_bytes,
                           int* info) {
  RUN(const Call call(handle, type_of(type_a)); check_types(call, type_vl, compute, params); check_job(job_vr);
      require(job_vl == cuda::kNoVectors && ldvl >= 1, "no left vectors");
      const bool is_real = call.dtype == call.real();
      const DType complex = size_of(call.real()) == 4 ? DType::Complex64 : DType::Complex128;
      require(type_of(type_vr) == call.dtype && type_of(type_w) == complex, "the data types do not go together");
      call.matrix("a", a, n, n, lda); call.memory("w", w, n * size_of(complex));
      if (job_vr == cuda::kVectors) call.matrix("vr", vr, n, n, ldvr);
      call.work(work, static_cast<int64_t>(bytes), static_cast<int64_t>(bytes_for(n, n)));
      call.host_work(host_work, host_bytes, host_bytes_for(n)); std::vector<char> copy = call.packed(a, n, n, lda);
      std::vector<char> v(static_cast<size_t>(n * n * size_of(complex)));
      lapack().eig(call.plan(copy, n, n, call.info(info)), w, job_vr == cuda::kVectors ? v.data() : nullptr);
      std::memset(a, 0xff, static_cast<size_t>(((n - 1) * lda + n) * call.size()));
      if (job_vr == cuda::kNoVectors) return; if (!is_real) return call.unpack(vr, v, n, n, ldvr);
      // Real and imaginary parts of a pair, in its two columns.
      auto parts =
          [&](auto zero) {
            using R = decltype(zero);
            for (int64_t j = 0; j < n; ++j)
              for (int64_t i = 0; i < n; ++i) {
                const auto& x = reinterpret_cast<const Complex<R>*>(v.data())[j * n + i];
                const R turn = static_cast<const Complex<R>*>(w)[j].im;
                static_cast<R*>(vr)[j * ldvr + i] = turn < 0 ? -x.im : x.re;
              }
          };
      if (call.dtype == DType::Float32) parts(float()); else parts(double());)
}

EXPORT int cusolverDnXhetrf_bufferSize(void*, void*, int, int64_t n, int, const void*, int64_t, const int64_t*, int,
                                       size_t* bytes, size_t* host_bytes) {
  *bytes = bytes_for(n, n);
  *host_bytes = host_bytes_for(n);
  return Success;
}
EXPORT int cusolverDnXhetrf(void* handle, void* params, int triangle, int64_t n, int type_a, void* a, int64_t lda,
                            int64_t* pivots, int compute, void* work, size_t bytes, void* host_work, size_t host_bytes,
                            int* info) {
  RUN(const Call call(handle, type_of(type_a)); check_types(call, type_a, compute, params);
      require(triangle == cuda::kLower, say("the triangle", triangle)); call.matrix("a", a, n, n, lda);
      call.memory("pivots", pivots, n * 8);
      call.work(work, static_cast<int64_t>(bytes), static_cast<int64_t>(bytes_for(n, n)));
      call.host_work(host_work, host_bytes, host_bytes_for(n)); std::vector<char> copy = call.packed(a, n, n, lda);
      std::vector<int32_t> narrow(static_cast<size_t>(n));
      lapack().ldl_factor(call.plan(copy, n, n, call.info(info)), narrow.data(), true); call.unpack(a, copy, n, n, lda);
      std::copy(narrow.begin(), narrow.end(), pivots);)
}
#endif

// ---- of each type its own
namespace {

int form_q(char letter, void* handle, int m, int n, int k, void* a, int lda, const void* tau, void* work, int size,
           int* info) {
  RUN(const Call call(handle, type_of(letter)); require(m >= n && n >= k && k >= 0, "orgqr needs m >= n >= k");
      call.matrix("a", a, m, n, lda); call.memory("tau", tau, k * call.size());
      call.work(work, size * call.size(), size_for(m, n) * call.size());
      std::vector<char> copy = call.packed(a, m, n, lda); lapack().form_q(call.plan(copy, m, n), k, tau);
      call.unpack(a, copy, m, n, lda); *call.info(info) = 0;)
}
int apply_q(char letter, void* handle, int side, int which, int m, int n, int k, const void* a, int lda,
            const void* tau, void* c, int ldc, void* work, int size, int* info) {
  RUN(const Call call(handle, type_of(letter)); const bool is_real = call.dtype == call.real();
      require(side == cuda::kLeft || side == cuda::kRight, say("the side", side));
      require(which == cuda::kAsItIs || which == (is_real ? cuda::kTransposed : cuda::kAdjoint),
              say("the operation", which));
      const int rows = side == cuda::kLeft ? m : n; require(k <= rows, "there are more reflectors than rows");
      call.matrix("a", a, rows, k, lda); call.matrix("c", c, m, n, ldc); call.memory("tau", tau, k * call.size());
      call.work(work, size * call.size(), size_for(m, n) * call.size());
      const std::vector<char> reflectors = call.packed(a, rows, k, lda);
      std::vector<char> copy = call.packed(c, m, n, ldc);
      lapack().apply_q(call.plan(copy, m, n), k, reflectors.data(), tau, side == cuda::kLeft, which != cuda::kAsItIs);
      call.unpack(c, copy, m, n, ldc); *call.info(info) = 0;)
}
int ldl_factor(char letter, void* handle, int triangle, int n, void* a, int lda, int* pivots, void* work, int size,
               int* info) {
  RUN(const Call call(handle, type_of(letter)); require(triangle == cuda::kLower, say("the triangle", triangle));
      call.matrix("a", a, n, n, lda); call.memory("pivots", pivots, int64_t{n} * 4);
      call.work(work, size * call.size(), size_for(n, n) * call.size());
      std::vector<char> copy = call.packed(a, n, n, lda);
      lapack().ldl_factor(call.plan(copy, n, n, call.info(info)), pivots, false); call.unpack(a, copy, n, n, lda);)
}
// One matrix, with V in place of V^H, and work checked.
void jacobi_svd(const Call& call, int job, bool full, int64_t m, int64_t n, void* a, int64_t lda, void* s, void* u,
                int64_t ldu, void* v, int64_t ldv, int* info) {
  const int64_t k = std::min(m, n), u_columns = full ? m : k, v_columns = full ? n : k;
  check_job(job);
  call.matrix("a", a, m, n, lda);
  call.memory("s", s, k * size_of(call.real()));
  call.matrix("u", u, m, u_columns, ldu);  // even without vectors
  call.matrix("v", v, n, v_columns, ldv);
  const bool vectors = job == cuda::kVectors;
  const Call::Svd found = call.svd(a, m, n, lda, s, vectors, full, call.info(info));
  if (!vectors) return;
  call.unpack(u, found.u, m, u_columns, ldu);
  call.unpack(v, call.adjoint(found.vh, v_columns, n), n, v_columns, ldv);
}
int jacobi(char letter, void* handle, int job, int econ, int m, int n, void* a, int lda, void* s, void* u, int ldu,
           void* v, int ldv, void* work, int size, int* info, void* params) {
  RUN(const Call call(handle, type_of(letter)); require(exists(params), "these are no params");
      call.work(work, size * call.size(), size_for(m, n) * call.size());
      jacobi_svd(call, job, !econ, m, n, a, lda, s, u, ldu, v, ldv, info);
      std::memset(a, 0xff, static_cast<size_t>(((n - 1) * int64_t{lda} + m) * call.size()));)
}
int jacobi_batched(char letter, void* handle, int job, int m, int n, void* a, int lda, void* s, void* u, int ldu,
                   void* v, int ldv, void* work, int size, int* info, void* params, int batch) {
  RUN(const Call call(handle, type_of(letter)); require(exists(params), "these are no params");
      require(m <= 32 && n <= 32, "matrices of a batch have at most 32 rows and columns");
      call.work(work, size * call.size(), size_for(m, n) * batch * call.size());
      auto at = [&](void* data, int64_t step) { return static_cast<char*>(data) + step * call.size(); };
      for (int64_t i = 0; i < batch; ++i) jacobi_svd(call, job, true, m, n, at(a, i * lda * n), lda,
                                                     static_cast<char*>(s) + i * std::min(m, n) * size_of(call.real()),
                                                     at(u, i * ldu * m), ldu, at(v, i * ldv * n), ldv, info + i);
      std::memset(a, 0xff, static_cast<size_t>(int64_t{lda} * n * batch * call.size()));)
}
int approximate(char letter, void* handle, int job, int rank, int m, int n, const void* a, int lda, int64_t step_a,
                void* s, int64_t step_s, void* u, int ldu, int64_t step_u, void* v, int ldv, int64_t step_v, void* work,
                int size, int* info, double*, int batch) {
  RUN(const Call call(handle, type_of(letter));
      require(m >= n && rank == n, "gesvda takes no matrix that is wider than high");
      call.work(work, size * call.size(), size_for(m, n) * batch * call.size());
      auto at = [&](const void* data,
                    int64_t step) { return const_cast<char*>(static_cast<const char*>(data)) + step * call.size(); };
      for (int64_t i = 0; i < batch; ++i) jacobi_svd(call, job, false, m, n, at(a, i * step_a), lda,
                                                     static_cast<char*>(s) + i * step_s * size_of(call.real()),
                                                     at(u, i * step_u), ldu, at(v, i * step_v), ldv, info + i);)
}

}  // namespace

#define FOR_TYPE(L, orgqr, ormqr) \
  EXPORT int cusolverDn##L##orgqr##_bufferSize(void*, int m, int n, int, const void*, int, const void*, int* size) { \
    *size = size_for(m, n); \
    return Success; \
  } \
  EXPORT int cusolverDn##L##orgqr(void* handle, int m, int n, int k, void* a, int lda, const void* tau, void* work, \
                                  int size, int* info) { \
    return form_q(*#L, handle, m, n, k, a, lda, tau, work, size, info); \
  } \
  EXPORT int cusolverDn##L##ormqr##_bufferSize(void*, int, int, int m, int n, int, const void*, int, const void*, \
                                               const void*, int, int* size) { \
    *size = size_for(m, n); \
    return Success; \
  } \
  EXPORT int cusolverDn##L##ormqr(void* handle, int side, int which, int m, int n, int k, const void* a, int lda, \
                                  const void* tau, void* c, int ldc, void* work, int size, int* info) { \
    return apply_q(*#L, handle, side, which, m, n, k, a, lda, tau, c, ldc, work, size, info); \
  } \
  EXPORT int cusolverDn##L##sytrf_bufferSize(void*, int n, void*, int, int* size) { \
    *size = size_for(n, n); \
    return Success; \
  } \
  EXPORT int cusolverDn##L##sytrf(void* handle, int triangle, int n, void* a, int lda, int* pivots, void* work, \
                                  int size, int* info) { \
    return ldl_factor(*#L, handle, triangle, n, a, lda, pivots, work, size, info); \
  } \
  EXPORT int cusolverDn##L##gesvdj_bufferSize(void*, int, int, int m, int n, const void*, int, const void*, \
                                              const void*, int, const void*, int, int* size, void*) { \
    *size = size_for(m, n); \
    return Success; \
  } \
  EXPORT int cusolverDn##L##gesvdj(void* handle, int job, int econ, int m, int n, void* a, int lda, void* s, void* u, \
                                   int ldu, void* v, int ldv, void* work, int size, int* info, void* params) { \
    return jacobi(*#L, handle, job, econ, m, n, a, lda, s, u, ldu, v, ldv, work, size, info, params); \
  } \
  EXPORT int cusolverDn##L##gesvdjBatched_bufferSize(void*, int, int m, int n, const void*, int, const void*, \
                                                     const void*, int, const void*, int, int* size, void*, \
                                                     int batch) { \
    *size = size_for(m, n) * batch; \
    return Success; \
  } \
  EXPORT int cusolverDn##L##gesvdjBatched(void* handle, int job, int m, int n, void* a, int lda, void* s, void* u, \
                                          int ldu, void* v, int ldv, void* work, int size, int* info, void* params, \
                                          int batch) { \
    return jacobi_batched(*#L, handle, job, m, n, a, lda, s, u, ldu, v, ldv, work, size, info, params, batch); \
  } \
  EXPORT int cusolverDn##L##gesvdaStridedBatched_bufferSize( \
      void*, int, int, int m, int n, const void*, int, long long, const void*, long long, const void*, int, long long, \
      const void*, int, long long, int* size, int batch) { \
    *size = size_for(m, n) * batch; \
    return Success; \
  } \
  EXPORT int cusolverDn##L##gesvdaStridedBatched(void* handle, int job, int rank, int m, int n, const void* a, \
                                                 int lda, long long step_a, void* s, long long step_s, void* u, \
                                                 int ldu, long long step_u, void* v, int ldv, long long step_v, \
                                                 void* work, int size, int* info, double* residuals, int batch) { \
    return approximate(*#L, handle, job, rank, m, n, a, lda, step_a, s, step_s, u, ldu, step_u, v, ldv, step_v, work, \
                       size, info, residuals, batch); \
  }
FOR_TYPE(S, orgqr, ormqr)
FOR_TYPE(D, orgqr, ormqr)
FOR_TYPE(C, ungqr, unmqr)
FOR_TYPE(Z, ungqr, unmqr)

// All of them, with the parameters that the library calls them with.
#define X(name, parameters) static_assert(std::is_same_v<decltype(name), int parameters>);
STRIDED_CUSOLVER_FUNCTIONS(X)
#ifndef STRIDED_OLD_CUSOLVER
STRIDED_CUSOLVER_NEW_FUNCTIONS(X)
#endif
#undef X
#define X(name, complex_name, parameters) \
  static_assert(std::is_same_v<decltype(cusolverDnS##name), int parameters>); \
  static_assert(std::is_same_v<decltype(cusolverDnZ##complex_name), int parameters>);
STRIDED_CUSOLVER_TYPED_FUNCTIONS(X)
#undef X
