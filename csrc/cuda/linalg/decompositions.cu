// Decompositions by cuSOLVER (solver.h), as the slots of backend/backend.h have them.
//
// Decompositions on the device.
// Matrices of a batch go to cuSOLVER one after the other, with one handle and one workspace, all on the current stream;
// only for small matrices has it routines for whole batches, and those are used. Nothing here waits for the device, but
// cuSOLVER does: gesvd, gesvdj (not its batched form), syevd and geev are partly algorithms of the host, which look at
// what the device has found so far. Workspaces on the host are ordinary memory, copies of which are done when the call
// returns.
//
// Numbers that are not finite never reach its iterations, which then fail as a call, or go on: such a matrix becomes
// zero, and in the end its info says so, or its results are NaN, as on the CPU.
#include <algorithm>
#include <climits>
#include <memory>
#include <mutex>
#include <string_view>

#include "backend/elementwise.h"
#include "cuda/linalg/linalg.h"
#include "cuda/linalg/solver.h"
#include "cuda/runtime/capture.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

constexpr int64_t kSmallSvd = 32;         // rows and columns that cuSOLVER's batched Jacobi takes
constexpr int64_t kSmallHermitian = 512;  // rows of which its batched eigenvalues are asked, as the memory for it grows
constexpr int64_t kBatchElements = int64_t{1} << 30;  // of one such call
constexpr int32_t kNotFinite = -1;                    // info

template <class T>
constexpr int type_row() {
  return (is_complex_v<T> ? 2 : 0) + (sizeof(real_t<T>) == 8);
}
template <class T>
constexpr int type_number = kDataTypes[type_row<T>()];

// A capture has neither what waits for the device nor the memory that a handle makes for itself.
const DecompositionPlan& outside_capture(const DecompositionPlan& plan) {
  refuse_capture(plan.device, plan.name);
  return plan;
}

// What all calls of one operation have in common.
struct Call {
  const DecompositionPlan& plan;
  const OnDevice guard;
  const Solver& s;
  const SolverHandle handle;
  cudaStream_t stream;

  explicit Call(const DecompositionPlan& p)
      : plan(outside_capture(p)),
        guard(p.device),
        s(solver(p.name)),
        handle(s, p.name, p.device),
        stream(current_stream(p.device)) {}
  void* h() const { return handle.get(); }
  void* params() const { return handle.params(); }
  // Many of cuSOLVER's functions count in int.
  int small(int64_t n) const {
    STRIDED_CHECK(n <= INT_MAX, NotImplementedError, plan.name, ": matrices with ", n,
                  " rows or columns on device 'cuda'");
    return static_cast<int>(n);
  }
  template <class T>
  Workspace memory(int64_t elements) const {
    return Workspace(static_cast<size_t>(elements) * sizeof(T), plan.device);
  }
  // The workspace that a function of one type asks for: ask(&size).
  template <class T, class Ask>
  std::pair<int, Workspace> work(Ask ask) const {
    int size = 0;
    ask(&size);
    return std::pair<int, Workspace>(std::piecewise_construct, std::forward_as_tuple(size),
                                     std::forward_as_tuple(static_cast<size_t>(size) * sizeof(T), plan.device));
  }
};

// Workspaces on the device and on the host: ask(&bytes, &host_bytes).
struct Buffers {
  size_t bytes = 0, host_bytes = 0;
  std::unique_ptr<Workspace> device;
  std::unique_ptr<char[]> host;

  template <class Ask>
  Buffers(const Call& call, Ask ask) {
    ask(&bytes, &host_bytes);
    device = std::make_unique<Workspace>(bytes, call.plan.device);
    if (host_bytes) host.reset(new char[host_bytes]);
  }
  void* data() const { return device->data(); }
};

// ---- kernels
enum class Part : int8_t { Whole, Lower, Upper };

// found[q] = 1, and the matrix becomes zero, where the part of matrix q that counts has a number that is not finite;
// else 0. A block has a matrix, stored by columns.
template <class T>
__global__ void __launch_bounds__(kThreads)
    screen_kernel(T* a, int64_t rows, int64_t columns, Part part, int32_t* found) {
  T* matrix = a + int64_t{blockIdx.x} * rows * columns;
  const int64_t n = rows * columns;
  bool bad = false;
  for (int64_t at = threadIdx.x; at < n; at += kThreads) {
    const int64_t j = at / rows, i = at - j * rows;
    if ((part == Part::Lower && i < j) || (part == Part::Upper && i > j)) continue;
    const T x = matrix[at];
    // x - x is NaN for what is not finite.
    if constexpr (is_complex_v<T>) bad = bad || !(x.re - x.re == 0) || !(x.im - x.im == 0);
    else bad = bad || !(x - x == 0);
  }
  bad = __syncthreads_or(bad) != 0;
  if (threadIdx.x == 0) found[blockIdx.x] = bad;
  if (!bad) return;
  for (int64_t at = threadIdx.x; at < n; at += kThreads) matrix[at] = T(0);
}
__global__ void __launch_bounds__(kThreads) mark_kernel(const int32_t* found, int64_t batch, int32_t* info) {
  const int64_t q = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (q < batch && found[q]) info[q] = kNotFinite;
}
template <class T>
__global__ void __launch_bounds__(kThreads) spoil_kernel(const int32_t* found, int64_t items, int64_t each, T* x) {
  const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i < items && found[i / each]) x[i] = T(static_cast<real_t<T>>(NAN));
}

// A real matrix has eigenvalues in conjugate pairs, the one with the positive imaginary part first, and of their
// eigenvectors geev gives the real and the imaginary part.
template <class R>
__global__ void __launch_bounds__(kThreads)
    pairs_kernel(const R* parts, const Complex<R>* w, int64_t n, int64_t items, Complex<R>* v) {
  const int64_t at = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (at >= items) return;
  const int64_t column = at / n;  // of all matrices
  const R turn = w[column].im;
  if (turn > 0) v[at] = Complex<R>(parts[at], parts[at + n]);
  else if (turn < 0) v[at] = Complex<R>(parts[at - n], -parts[at]);
  else v[at] = Complex<R>(parts[at], R(0));
}

__global__ void __launch_bounds__(kThreads) narrow_kernel(const int64_t* from, int64_t n, int32_t* to) {
  const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i < n) to[i] = static_cast<int32_t>(from[i]);
}

dim3 blocks(const char* name, int64_t items, int64_t each) {
  const int64_t n = (items + each - 1) / each;
  STRIDED_CHECK(n < kMaxItems, NotImplementedError, name, ": so many matrices at a time on device 'cuda'");
  return dim3(static_cast<unsigned>(n));
}

// Keeps what is not finite from cuSOLVER, and remembers where it was.
template <class T>
class Screen {
 public:
  Screen(const Call& call, Part part) : call_(call), found_(call.memory<int32_t>(call.plan.batch)) {
    const DecompositionPlan& p = call.plan;
    launch(screen_kernel<T>, blocks(p.name, p.batch, 1), dim3(kThreads), 0, call.stream, static_cast<T*>(p.a), p.m, p.n,
           part, found_.as<int32_t>());
    check_launch(p.name);
  }
  void mark_info() const {
    const DecompositionPlan& p = call_.plan;
    launch(mark_kernel, blocks(p.name, p.batch, kThreads), dim3(kThreads), 0, call_.stream, found_.as<int32_t>(),
           p.batch, p.info);
    check_launch(p.name);
  }
  // Of `each` numbers for each matrix.
  template <class X>
  void spoil(X* x, int64_t each) const {
    const DecompositionPlan& p = call_.plan;
    launch(spoil_kernel<X>, blocks(p.name, p.batch * each, kThreads), dim3(kThreads), 0, call_.stream,
           found_.as<int32_t>(), p.batch * each, each, x);
    check_launch(p.name);
  }

 private:
  const Call& call_;
  const Workspace found_;
};

// A batch of matrices in memory, or their adjoints.
template <class T>
View<T> by_columns(T* data, int64_t rows, int64_t step) {
  return {data, 1, rows, step};
}
template <class T>
void copy_matrices(const Call& call, int64_t rows, int64_t columns, const View<T>& to, const View<T>& from,
                   bool conjugate) {
  constexpr int64_t size = sizeof(T);
  const int64_t shape[] = {rows, columns, call.plan.batch};
  const int64_t strides[2][3] = {{to.row * size, to.column * size, to.step * size},
                                 {from.row * size, from.column * size, from.step * size}};
  LoopPlan p;
  p.name = call.plan.name;
  p.device = call.plan.device;
  p.ndim = 3;
  p.shape = shape;
  for (const View<T>* v : {&to, &from})
    p.operand[p.n_operands] = {reinterpret_cast<char*>(v->data), strides[p.n_operands], dtype_of<T>, false},
    ++p.n_operands;
  if (conjugate && is_complex_v<T>) elementwise(p, elementwise_id<ConjPhysical>, dtype_of<T>, nullptr);
  else copy(p);
}

// ---- QR
template <class T>
void qr(const Call& call, T* tau) {
  const DecompositionPlan& p = call.plan;
  const Solver& s = call.s;
  constexpr int type = type_number<T>;
  T* a = static_cast<T*>(p.a);
  const Buffers work(call, [&](size_t* bytes, size_t* host) {
    s.cusolverDnXgeqrf_bufferSize(p.name, call.h(), call.params(), p.m, p.n, type, a, p.m, type, tau, type, bytes,
                                  host);
  });
  const Workspace info = call.memory<int>(1);
  for (int64_t i = 0; i < p.batch; ++i)
    s.cusolverDnXgeqrf(p.name, call.h(), call.params(), p.m, p.n, type, a + i * p.m * p.n, p.m, type,
                       tau + i * std::min(p.m, p.n), type, work.data(), work.bytes, work.host.get(), work.host_bytes,
                       info.as<int>());
}

template <class T>
void form_q(const Call& call, int64_t reflectors, const T* tau) {
  const DecompositionPlan& p = call.plan;
  constexpr int row = type_row<T>();
  const int m = call.small(p.m), n = call.small(p.n), k = call.small(reflectors);
  T* a = static_cast<T*>(p.a);
  const auto work =
      call.work<T>([&](int* size) { call.s.orgqr_bufferSize[row](p.name, call.h(), m, n, k, a, m, tau, size); });
  const Workspace info = call.memory<int>(1);
  for (int64_t i = 0; i < p.batch; ++i)
    call.s.orgqr[row](p.name, call.h(), m, n, k, a + i * p.m * p.n, m, tau + i * k, work.second.data(), work.first,
                      info.as<int>());
}

template <class T>
void apply_q(const Call& call, int64_t columns, const T* reflectors, const T* tau, bool left, bool adjoint) {
  const DecompositionPlan& p = call.plan;
  constexpr int row = type_row<T>();
  const int m = call.small(p.m), n = call.small(p.n), k = call.small(columns), rows = left ? m : n;
  const int side = left ? kLeft : kRight, which = !adjoint ? kAsItIs : is_complex_v<T> ? kAdjoint : kTransposed;
  T* c = static_cast<T*>(p.a);
  const auto work = call.work<T>([&](int* size) {
    call.s.ormqr_bufferSize[row](p.name, call.h(), side, which, m, n, k, reflectors, rows, tau, c, m, size);
  });
  const Workspace info = call.memory<int>(1);
  for (int64_t i = 0; i < p.batch; ++i)
    call.s.ormqr[row](p.name, call.h(), side, which, m, n, k, reflectors + i * int64_t{rows} * k, rows, tau + i * k,
                      c + i * p.m * p.n, m, work.second.data(), work.first, info.as<int>());
}

// ---- least squares
// For matrices of full rank, as LAPACK's gels does it (cuSOLVER has no other): A = Q R gives R X = Q^H B; of a wide A,
// A^H = Q R gives X = Q R^-H B.
template <class T>
void least_squares(const Call& call, int64_t k, T* b) {
  const DecompositionPlan& p = call.plan;
  const int64_t m = p.m, n = p.n, rows = std::max(m, n), least = std::min(m, n);
  const bool wide = m < n;
  DecompositionPlan factored = p, right = p;
  const Workspace adjoint = call.memory<T>(wide ? p.batch * m * n : 0), scales = call.memory<T>(p.batch * least),
                  rows_of_x = call.memory<T>(p.batch * least * k);
  if (wide) {
    factored.a = adjoint.data();
    std::swap(factored.m, factored.n);
    copy_matrices(call, n, m, by_columns(adjoint.as<T>(), n, m * n),
                  by_columns(static_cast<T*>(p.a), m, m * n).transposed(), true);
  }
  right.m = rows;
  right.n = k;
  right.a = b;
  // The first `least` rows of b are solved in a copy by rows; R^H x = b is R^T conj(x) = conj(b).
  const View<T> top = by_columns(b, rows, rows * k), x{rows_of_x.as<T>(), k, 1, least * k};
  auto solve = [&](bool by_adjoint) {
    const Matrix r = by_adjoint ? Matrix{factored.a, rows, 1} : Matrix{factored.a, 1, rows};
    copy_matrices(call, least, k, x, top, by_adjoint);
    solve_triangular(p, p.dtype, p.batch, least, k, r, rows * least, x.data, !by_adjoint, false);
    copy_matrices(call, least, k, top, x, by_adjoint);
  };
  cuda::qr(factored, scales.data());
  if (wide) solve(true);
  cuda::apply_q(right, least, factored.a, scales.data(), true, !wide);
  if (!wide) solve(false);
}

// ---- singular values
// What cuSOLVER is given: matrices of m rows and n columns. gesvdj and gesvda give V, gesvd V^H.
template <class T>
struct Singular {
  const Call& call;
  int64_t m, n;
  T* a;
  real_t<T>* s;
  T *u, *v;  // m x u_columns; n x v_columns, or gesvd's V^H with v_columns rows
  int64_t u_columns, v_columns;
  bool vectors, full;

  int64_t k() const { return std::min(m, n); }

  void gesvd() const {
    const DecompositionPlan& p = call.plan;
    const signed char job = !vectors ? 'N' : full ? 'A' : 'S';
    constexpr int type = type_number<T>, real = type_number<real_t<T>>;
    const Buffers work(call, [&](size_t* bytes, size_t* host) {
      call.s.cusolverDnXgesvd_bufferSize(p.name, call.h(), call.params(), job, job, m, n, type, a, m, real, s, type, u,
                                         m, type, v, v_columns, type, bytes, host);
    });
    for (int64_t i = 0; i < p.batch; ++i)
      call.s.cusolverDnXgesvd(p.name, call.h(), call.params(), job, job, m, n, type, a + i * m * n, m, real,
                              s + i * k(), type, u ? u + i * m * u_columns : nullptr, m, type,
                              v ? v + i * v_columns * n : nullptr, v_columns, type, work.data(), work.bytes,
                              work.host.get(), work.host_bytes, p.info + i);
  }
  void gesvdj() const {
    const DecompositionPlan& p = call.plan;
    constexpr int row = type_row<T>();
    const int rows = call.small(m), columns = call.small(n), job = vectors ? kVectors : kNoVectors, econ = !full;
    const auto work = call.work<T>([&](int* size) {
      call.s.gesvdj_bufferSize[row](p.name, call.h(), job, econ, rows, columns, a, rows, s, u, rows, v, columns, size,
                                    call.handle.jacobi());
    });
    for (int64_t i = 0; i < p.batch; ++i)
      call.s.gesvdj[row](p.name, call.h(), job, econ, rows, columns, a + i * m * n, rows, s + i * k(),
                         u + i * m * u_columns, rows, v + i * n * v_columns, columns, work.second.data(), work.first,
                         p.info + i, call.handle.jacobi());
  }
  void gesvdj_batched() const {
    const DecompositionPlan& p = call.plan;
    constexpr int row = type_row<T>();
    const int rows = static_cast<int>(m), columns = static_cast<int>(n), job = vectors ? kVectors : kNoVectors;
    const int64_t most = kBatchElements / (kSmallSvd * kSmallSvd);
    for (int64_t i = 0; i < p.batch; i += most) {
      const int batch = static_cast<int>(std::min(most, p.batch - i));
      const auto work = call.work<T>([&](int* size) {
        call.s.gesvdjBatched_bufferSize[row](p.name, call.h(), job, rows, columns, a, rows, s, u, rows, v, columns,
                                             size, call.handle.jacobi(), batch);
      });
      call.s.gesvdjBatched[row](p.name, call.h(), job, rows, columns, a + i * m * n, rows, s + i * k(), u + i * m * m,
                                rows, v + i * n * n, columns, work.second.data(), work.first, p.info + i,
                                call.handle.jacobi(), batch);
    }
  }
  void gesvda() const {
    const DecompositionPlan& p = call.plan;
    constexpr int row = type_row<T>();
    const int rows = call.small(m), columns = call.small(n), batch = call.small(p.batch);
    const int job = vectors ? kVectors : kNoVectors, rank = columns;
    const auto work = call.work<T>([&](int* size) {
      call.s.gesvdaStridedBatched_bufferSize[row](p.name, call.h(), job, rank, rows, columns, a, rows, m * n, s, n, u,
                                                  rows, m * n, v, columns, n * n, size, batch);
    });
    call.s.gesvdaStridedBatched[row](p.name, call.h(), job, rank, rows, columns, a, rows, m * n, s, n, u, rows, m * n,
                                     v, columns, n * n, work.second.data(), work.first, p.info, nullptr, batch);
  }
};

enum class SvdDriver : int8_t { Qr, Jacobi, Approximate };  // gesvd, gesvdj and gesvda of cuSOLVER

// The default is gesvdj, as in PyTorch: the fastest for matrices that are not large, and the only one with a routine
// for batches of small ones. It iterates, and where it does not converge info says so; PyTorch then takes gesvd after
// it has waited for the device, here the caller may ask for that by its name.
SvdDriver svd_driver(const char* function, const char* name) {
  const std::string_view driver = name ? name : "gesvdj";
  if (driver == "gesvdj") return SvdDriver::Jacobi;
  if (driver == "gesvd") return SvdDriver::Qr;
  STRIDED_CHECK(driver == "gesvda", RuntimeError, function, ": unknown svd driver ", name,
                " in svd_cusolver computation. Allowed drivers are gesvd, gesvdj and gesvda.");
  return SvdDriver::Approximate;
}

template <class T>
void svd(const Call& call, real_t<T>* s, T* u, T* vh, bool full_wanted, const char* driver_name) {
  const DecompositionPlan& p = call.plan;
  const int64_t m = p.m, n = p.n, k = std::min(m, n);
  const bool vectors = u != nullptr, full = full_wanted && vectors;
  const SvdDriver driver = svd_driver(p.name, driver_name);
  const bool jacobi = driver == SvdDriver::Jacobi;
  STRIDED_CHECK(driver != SvdDriver::Approximate || !full || m == n, NotImplementedError, p.name,
                ": cuSOLVER's gesvda makes no full matrices, with driver='gesvda' full_matrices must be False");
  const Screen<T> screen(call, Part::Whole);
  const bool batched = jacobi && m <= kSmallSvd && n <= kSmallSvd;
  // gesvd and gesvda take no matrix that is wider than high: of A^H = U' S V'^H they give U = V' and V = U'.
  const bool turned = !jacobi && m < n;
  const bool gives_adjoint = driver == SvdDriver::Qr;
  Singular<T> x{call, turned ? n : m, turned ? m : n, static_cast<T*>(p.a), s, nullptr, nullptr, 0, 0, vectors, full};
  const bool whole = full || batched;  // the batched routine makes square matrices
  x.u_columns = whole ? x.m : k;
  x.v_columns = whole ? x.n : k;
  const Workspace adjoint = call.memory<T>(turned ? p.batch * m * n : 0);
  if (turned) {
    x.a = adjoint.as<T>();
    copy_matrices(call, n, m, by_columns(x.a, n, m * n), by_columns(static_cast<T*>(p.a), m, m * n).transposed(), true);
  }
  // Where they go: into place if they are the right ones of the right size.
  T *left = turned ? nullptr : u, *right = gives_adjoint == turned ? nullptr : turned ? u : vh;
  if (!vectors || x.u_columns != (full ? x.m : k)) left = nullptr;
  if (!vectors || x.v_columns != (full ? x.n : k)) right = nullptr;
  const bool unused = !vectors && gives_adjoint;  // gesvd alone needs no memory for vectors that nobody wants
  const Workspace left_memory = call.memory<T>(left || unused ? 0 : p.batch * x.m * x.u_columns);
  const Workspace right_memory = call.memory<T>(right || unused ? 0 : p.batch * x.n * x.v_columns);
  x.u = left ? left : left_memory.as<T>();
  x.v = right ? right : right_memory.as<T>();
  if (driver == SvdDriver::Qr) x.gesvd();
  else if (driver == SvdDriver::Approximate) x.gesvda();
  else if (batched) x.gesvdj_batched();
  else x.gesvdj();
  screen.mark_info();
  if (!vectors) return;
  const int64_t u_columns = full ? m : k, vh_rows = full ? n : k;
  const View<T> to_u = by_columns(u, m, m * u_columns), to_vh = by_columns(vh, vh_rows, vh_rows * n);
  const View<T> from_left = by_columns(x.u, x.m, x.m * x.u_columns);
  const View<T> from_right =
      gives_adjoint ? by_columns(x.v, x.v_columns, x.v_columns * x.n) : by_columns(x.v, x.n, x.n * x.v_columns);
  if (!left) {
    if (turned) copy_matrices(call, vh_rows, n, to_vh, from_left.transposed(), true);
    else copy_matrices(call, m, u_columns, to_u, from_left, false);
  }
  if (!right) {
    const View<T>& to = turned ? to_u : to_vh;
    const bool as_it_is = turned ? !gives_adjoint : gives_adjoint;
    copy_matrices(call, turned ? m : vh_rows, turned ? u_columns : n, to,
                  as_it_is ? from_right : from_right.transposed(), !as_it_is);
  }
}

// ---- eigenvalues
template <class T>
void eigh(const Call& call, real_t<T>* w, bool upper, bool vectors) {
  const DecompositionPlan& p = call.plan;
  const Solver& s = call.s;
  constexpr int type = type_number<T>, real = type_number<real_t<T>>;
  const int job = vectors ? kVectors : kNoVectors, triangle = upper ? kUpper : kLower;
  const int64_t n = p.n;
  T* a = static_cast<T*>(p.a);
  const Screen<T> screen(call, upper ? Part::Upper : Part::Lower);
  if (p.batch > 1 && n <= kSmallHermitian && s.cusolverDnXsyevBatched) {
    const int64_t most = std::max<int64_t>(kBatchElements / (n * n), 1);
    for (int64_t i = 0; i < p.batch; i += most) {
      const int64_t batch = std::min(most, p.batch - i);
      const Buffers work(call, [&](size_t* bytes, size_t* host) {
        s.cusolverDnXsyevBatched_bufferSize(p.name, call.h(), call.params(), job, triangle, n, type, a, n, real, w,
                                            type, bytes, host, batch);
      });
      s.cusolverDnXsyevBatched(p.name, call.h(), call.params(), job, triangle, n, type, a + i * n * n, n, real,
                               w + i * n, type, work.data(), work.bytes, work.host.get(), work.host_bytes, p.info + i,
                               batch);
    }
  } else {
    const Buffers work(call, [&](size_t* bytes, size_t* host) {
      s.cusolverDnXsyevd_bufferSize(p.name, call.h(), call.params(), job, triangle, n, type, a, n, real, w, type, bytes,
                                    host);
    });
    for (int64_t i = 0; i < p.batch; ++i)
      s.cusolverDnXsyevd(p.name, call.h(), call.params(), job, triangle, n, type, a + i * n * n, n, real, w + i * n,
                         type, work.data(), work.bytes, work.host.get(), work.host_bytes, p.info + i);
  }
  screen.spoil(w, n);
  if (vectors) screen.spoil(a, n * n);
}

// Of a real matrix geev gives the eigenvalues as complex numbers, but the vectors' parts as LAPACK does.
template <class T>
void eig(const Call& call, Complex<real_t<T>>* w, Complex<real_t<T>>* v) {
  using C = Complex<real_t<T>>;
  const DecompositionPlan& p = call.plan;
  const Solver& s = call.s;
  STRIDED_CHECK(s.cusolverDnXgeev, NotImplementedError, p.name, " on device 'cuda': cuSOLVER ", s.major, ".", s.minor,
                " has no eigenvalues of general matrices, the one of CUDA 12.6 Update 2 and later ones do");
  constexpr int type = type_number<T>, complex = type_number<C>;
  const int64_t n = p.n, area = n * n;
  const int job = v ? kVectors : kNoVectors;
  const Workspace parts = call.memory<T>(v && !is_complex_v<T> ? p.batch * area : 0);
  T *a = static_cast<T*>(p.a), *right = is_complex_v<T> ? reinterpret_cast<T*>(v) : parts.as<T>();
  const Buffers work(call, [&](size_t* bytes, size_t* host) {
    s.cusolverDnXgeev_bufferSize(p.name, call.h(), call.params(), kNoVectors, job, n, type, a, n, complex, w, type,
                                 nullptr, n, type, right, n, type, bytes, host);
  });
  {
    static std::mutex alone;  // before CUDA 13.0 Update 1 two threads in geev disturb each other
    const std::lock_guard<std::mutex> lock(alone);
    for (int64_t i = 0; i < p.batch; ++i)
      s.cusolverDnXgeev(p.name, call.h(), call.params(), kNoVectors, job, n, type, a + i * area, n, complex, w + i * n,
                        type, nullptr, n, type, v ? right + i * area : nullptr, n, type, work.data(), work.bytes,
                        work.host.get(), work.host_bytes, p.info + i);
  }
  if constexpr (!is_complex_v<T>)
    if (v) {
      launch(pairs_kernel<T>, blocks(p.name, p.batch * area, kThreads), dim3(kThreads), 0, call.stream, parts.as<T>(),
             w, n, p.batch * area, v);
      check_launch(p.name);
    }
}

// ---- L D L^T
template <class T>
void ldl_factor(const Call& call, int32_t* pivots, bool hermitian) {
  const DecompositionPlan& p = call.plan;
  const Solver& s = call.s;
  constexpr int row = type_row<T>(), type = type_number<T>;
  T* a = static_cast<T*>(p.a);
  const int64_t n = p.n;
  if (!hermitian || !is_complex_v<T>) {
    const int size = call.small(n);
    const auto work =
        call.work<T>([&](int* asked) { s.sytrf_bufferSize[row](p.name, call.h(), size, a, size, asked); });
    for (int64_t i = 0; i < p.batch; ++i)
      s.sytrf[row](p.name, call.h(), kLower, size, a + i * n * n, size, pivots + i * n, work.second.data(), work.first,
                   p.info + i);
    return;
  }
  STRIDED_CHECK(s.cusolverDnXhetrf, NotImplementedError, p.name, " on device 'cuda': cuSOLVER ", s.major, ".", s.minor,
                " does not factor complex matrices with hermitian=True (12.4 does)");
  const Workspace wide = call.memory<int64_t>(p.batch * n);
  const Buffers work(call, [&](size_t* bytes, size_t* host) {
    s.cusolverDnXhetrf_bufferSize(p.name, call.h(), call.params(), kLower, n, type, a, n, wide.as<int64_t>(), type,
                                  bytes, host);
  });
  for (int64_t i = 0; i < p.batch; ++i)
    s.cusolverDnXhetrf(p.name, call.h(), call.params(), kLower, n, type, a + i * n * n, n, wide.as<int64_t>() + i * n,
                       type, work.data(), work.bytes, work.host.get(), work.host_bytes, p.info + i);
  launch(narrow_kernel, blocks(p.name, p.batch * n, kThreads), dim3(kThreads), 0, call.stream, wide.as<int64_t>(),
         p.batch * n, pivots);
  check_launch(p.name);
}

bool is_empty(const DecompositionPlan& p) { return p.batch == 0 || p.m == 0 || p.n == 0; }

}  // namespace

void qr(const DecompositionPlan& plan, void* tau) {
  if (is_empty(plan)) return;
  with_type(plan.dtype, [&](auto t) { qr(Call(plan), static_cast<decltype(t)*>(tau)); });
}
void form_q(const DecompositionPlan& plan, int64_t k, const void* tau) {
  if (is_empty(plan)) return;
  with_type(plan.dtype, [&](auto t) { form_q(Call(plan), k, static_cast<const decltype(t)*>(tau)); });
}
void apply_q(const DecompositionPlan& plan, int64_t k, const void* reflectors, const void* tau, bool left,
             bool adjoint) {
  if (is_empty(plan) || k == 0) return;
  with_type(plan.dtype, [&](auto t) {
    using T = decltype(t);
    apply_q(Call(plan), k, static_cast<const T*>(reflectors), static_cast<const T*>(tau), left, adjoint);
  });
}
void svd(const DecompositionPlan& plan, void* s, void* u, void* vh, bool full, const char* driver) {
  if (is_empty(plan)) return;
  with_type(plan.dtype, [&](auto t) {
    using T = decltype(t);
    svd<T>(Call(plan), static_cast<real_t<T>*>(s), static_cast<T*>(u), static_cast<T*>(vh), full, driver);
  });
}
void eigh(const DecompositionPlan& plan, void* w, bool upper, bool vectors) {
  if (is_empty(plan)) return;
  with_type(plan.dtype, [&](auto t) {
    using T = decltype(t);
    eigh<T>(Call(plan), static_cast<real_t<T>*>(w), upper, vectors);
  });
}
void eig(const DecompositionPlan& plan, void* w, void* v) {
  if (is_empty(plan)) return;
  with_type(plan.dtype, [&](auto t) {
    using T = decltype(t);
    using C = Complex<real_t<T>>;
    eig<T>(Call(plan), static_cast<C*>(w), static_cast<C*>(v));
  });
}
void ldl_factor(const DecompositionPlan& plan, int32_t* pivots, bool hermitian) {
  if (is_empty(plan)) return;
  with_type(plan.dtype, [&](auto t) { ldl_factor<decltype(t)>(Call(plan), pivots, hermitian); });
}

void least_squares(const DecompositionPlan& plan, int64_t k, void* b, const char* driver, double, int32_t*, void*,
                   LeastSquaresParts* gives) {
  STRIDED_CHECK(!driver || std::string_view(driver) == "gels", RuntimeError, plan.name,
                ": parameter `driver` should be set to 'gels'");
  *gives = {};
  gives->residuals = true;
  if (is_empty(plan) || k == 0) return;
  with_type(plan.dtype, [&](auto t) { least_squares(Call(plan), k, static_cast<decltype(t)*>(b)); });
}

}  // namespace cuda
}  // namespace strided
