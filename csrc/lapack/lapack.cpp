// Decompositions by LAPACK (E. Anderson et al., "LAPACK Users' Guide", 3rd ed., SIAM 1999). Each function gives every
// matrix of a batch to one routine; the arguments are those of the routine's manual page.
#include <sys/mman.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "backend/backend.h"
#include "base/parallel.h"
#include "lapack/library.h"

namespace strided {
namespace {

template <class T>
struct RealOf {
  using type = T;
  static constexpr char letter = sizeof(T) == 4 ? 's' : 'd';
};
template <class R>
struct RealOf<Complex<R>> {
  using type = R;
  static constexpr char letter = sizeof(R) == 4 ? 'c' : 'z';
};
template <class T>
using real_t = typename RealOf<T>::type;
template <class T>
constexpr bool is_real = std::is_same_v<T, real_t<T>>;

// A routine of Fortran: scalars go by reference, and behind all arguments the length of each string.
class Routine {
 public:
  explicit Routine(const std::string& name) : f_(lapack_routine(name.c_str())) {}
  template <class... A>
  void operator()(const A&... args) const {
    invoke(std::make_index_sequence<(size_t{0} + ... + size_t{std::is_same_v<A, char>})>(), args...);
  }

 private:
  template <class X>
  static auto reference(const X& x) {
    if constexpr (std::is_pointer_v<X>) return x;
    else return &x;
  }
  template <size_t... I, class... A>
  void invoke(std::index_sequence<I...>, const A&... args) const {
    using F = void (*)(decltype(reference(args))..., decltype(I)...);
    reinterpret_cast<F>(f_)(reference(args)..., (static_cast<void>(I), size_t{1})...);
  }
  void* f_;
};
template <class T>
Routine routine(const char* name) {
  return Routine(RealOf<T>::letter + std::string(name));
}
// The routines for complex matrices have names of their own: orgqr and ungqr, sytrf and hetrf.
template <class T>
Routine routine(const char* real_name, const char* complex_name) {
  return routine<T>(is_real<T> ? real_name : complex_name);
}

template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t n) : data_(new (std::nothrow) Bytes[static_cast<size_t>(std::max<int64_t>(n, 1))]) {
    STRIDED_CHECK(data_, OutOfMemoryError, "out of memory: ", n * static_cast<int64_t>(sizeof(T)),
                  " bytes for the work of LAPACK");
  }
  operator T*() const { return reinterpret_cast<T*>(data_.get()); }
  T& operator[](int i) const { return static_cast<T*>(*this)[i]; }

 private:
  struct alignas(T) Bytes {
    char bytes[sizeof(T)];
  };
  std::unique_ptr<Bytes[]> data_;
};

double real_part(float x) { return x; }
double real_part(double x) { return x; }
template <class R>
double real_part(Complex<R> x) {
  return x.re;
}
int small(const char* name, double n) {
  STRIDED_CHECK(n >= 0 && n <= INT_MAX, RuntimeError, name,
                ": matrices of this size need more than the 32-bit integers of LAPACK");
  return static_cast<int>(n);
}
// A workspace of the size that the routine asks for: query(work, -1) writes that into its first element. float cannot
// hold every size, so one unit in the last place more.
template <class T, class F>
int size_of_work(const char* name, F query) {
  T asked[1] = {};
  query(asked, -1);
  const double size = real_part(asked[0]);
  return std::max(small(name, size * (1 + (sizeof(real_t<T>) == 4 ? 1.2e-7 : 0))), 1);
}

struct Sizes {
  int m, n, ld;
  explicit Sizes(const DecompositionPlan& plan)
      : m(small(plan.name, static_cast<double>(plan.m))),
        n(small(plan.name, static_cast<double>(plan.n))),
        ld(std::max(m, 1)) {}
  int least() const { return std::min(m, n); }
  int64_t area() const { return int64_t{m} * n; }
};

// LAPACK's routines for singular values and eigenvalues may not end, or write to the terminal, where there is NaN or
// inf.
template <class R>
bool finite(const R* x, int64_t n) {
  bool all = true;
  for (int64_t i = 0; i < n; ++i) all &= std::isfinite(x[i]);
  return all;
}
template <class R>
bool finite(const Complex<R>* x, int64_t n) {
  return finite(reinterpret_cast<const R*>(x), 2 * n);
}
constexpr int kNotFinite = -1;  // info

// make() gives the work of one thread, a function of the number of a matrix.
template <class F>
void for_each_matrix(const DecompositionPlan& plan, F make) {
  const int64_t work = plan.m * plan.n * std::min(plan.m, plan.n) * 10;
  const GilRelease unlocked(plan.batch * work > 500000);
  parallel_for(0, plan.batch, std::max<int64_t>(100000 / std::max<int64_t>(work, 1), 1),
               [&](int64_t begin, int64_t end) {
                 const auto one = make();
                 for (int64_t i = begin; i < end; ++i) one(i);
               });
}

template <class T>
void qr(const DecompositionPlan& plan, T* tau) {
  const Sizes s(plan);
  const Routine geqrf = routine<T>("geqrf");
  T* a = static_cast<T*>(plan.a);
  int info = 0;
  const int size =
      size_of_work<T>(plan.name, [&](T* work, int query) { geqrf(s.m, s.n, a, s.ld, tau, work, query, &info); });
  for_each_matrix(plan, [&] {
    return [&, work = Buffer<T>(size)](int64_t i) {
      int info;
      geqrf(s.m, s.n, a + i * s.area(), s.ld, tau + i * s.least(), static_cast<T*>(work), size, &info);
    };
  });
}

template <class T>
void form_q(const DecompositionPlan& plan, int64_t reflectors, const T* tau) {
  const Sizes s(plan);
  const int k = small(plan.name, static_cast<double>(reflectors));
  const Routine orgqr = routine<T>("orgqr", "ungqr");
  T* a = static_cast<T*>(plan.a);
  int info = 0;
  const int size =
      size_of_work<T>(plan.name, [&](T* work, int query) { orgqr(s.m, s.n, k, a, s.ld, tau, work, query, &info); });
  for_each_matrix(plan, [&] {
    return [&, work = Buffer<T>(size)](int64_t i) {
      int info;
      orgqr(s.m, s.n, k, a + i * s.area(), s.ld, tau + i * k, static_cast<T*>(work), size, &info);
    };
  });
}

template <class T>
void apply_q(const DecompositionPlan& plan, int64_t columns, const T* reflectors, const T* tau, bool left,
             bool adjoint) {
  const Sizes s(plan);
  const int k = small(plan.name, static_cast<double>(columns)), rows = left ? s.m : s.n, ld = std::max(rows, 1);
  const char side = left ? 'L' : 'R', which = !adjoint ? 'N' : is_real<T> ? 'T' : 'C';
  const Routine ormqr = routine<T>("ormqr", "unmqr");
  T* c = static_cast<T*>(plan.a);
  int info = 0;
  const int size = size_of_work<T>(plan.name, [&](T* work, int query) {
    ormqr(side, which, s.m, s.n, k, reflectors, ld, tau, c, s.ld, work, query, &info);
  });
  for_each_matrix(plan, [&] {
    return [&, work = Buffer<T>(size)](int64_t i) {
      int info;
      ormqr(side, which, s.m, s.n, k, reflectors + i * int64_t{rows} * k, ld, tau + i * k, c + i * s.area(), s.ld,
            static_cast<T*>(work), size, &info);
    };
  });
}

template <class T>
void svd(const DecompositionPlan& plan, real_t<T>* s, T* u, T* vh, bool full) {
  using R = real_t<T>;
  const Sizes z(plan);
  const int least = z.least(), rows = full ? z.n : least, ld = std::max(u ? rows : 1, 1);
  const int64_t u_size = int64_t{z.m} * (full ? z.m : least), vh_size = int64_t{rows} * z.n;
  const char job = !u ? 'N' : full ? 'A' : 'S';
  const int64_t l = least, most = std::max(z.m, z.n),
                real_size = u ? std::max(5 * l * l + 5 * l, 2 * most * l + 2 * l * l + l) : 7 * l;
  const Routine gesdd = routine<T>("gesdd");
  T* a = static_cast<T*>(plan.a);
  auto call = [&](int64_t i, T* work, int size, R* real_work, int* int_work, int* info) {
    T* to_u = u ? u + i * u_size : nullptr;
    T* to_vh = u ? vh + i * vh_size : nullptr;
    if constexpr (is_real<T>)
      gesdd(job, z.m, z.n, a + i * z.area(), z.ld, s + i * least, to_u, z.ld, to_vh, ld, work, size, int_work, info);
    else
      gesdd(job, z.m, z.n, a + i * z.area(), z.ld, s + i * least, to_u, z.ld, to_vh, ld, work, size, real_work,
            int_work, info);
  };
  int info = 0, int_asked = 0;
  R real_asked[1] = {};
  const int size =
      size_of_work<T>(plan.name, [&](T* work, int query) { call(0, work, query, real_asked, &int_asked, &info); });
  for_each_matrix(plan, [&] {
    return [&, work = Buffer<T>(size), real_work = Buffer<R>(is_real<T> ? 0 : real_size),
            int_work = Buffer<int>(8 * l)](int64_t i) {
      if (!finite(a + i * z.area(), z.area())) plan.info[i] = kNotFinite;
      else call(i, work, size, real_work, int_work, plan.info + i);
    };
  });
}

template <class T>
void eigh(const DecompositionPlan& plan, real_t<T>* w, bool upper, bool vectors) {
  using R = real_t<T>;
  const Sizes s(plan);
  const char job = vectors ? 'V' : 'N', triangle = upper ? 'U' : 'L';
  const Routine evd = routine<T>("syevd", "heevd");
  T* a = static_cast<T*>(plan.a);
  R real_asked[1] = {};
  int int_asked = 0, info = 0;
  auto call = [&](int64_t i, T* work, int size, R* real_work, int real_size, int* int_work, int int_size, int* info) {
    if constexpr (is_real<T>)
      evd(job, triangle, s.n, a + i * s.area(), s.ld, w + i * s.n, work, size, int_work, int_size, info);
    else
      evd(job, triangle, s.n, a + i * s.area(), s.ld, w + i * s.n, work, size, real_work, real_size, int_work, int_size,
          info);
  };
  const int size = size_of_work<T>(
      plan.name, [&](T* work, int query) { call(0, work, query, real_asked, query, &int_asked, query, &info); });
  const int real_size = is_real<T> ? 0 : size_of_work<R>(plan.name, [&](R* work, int) { work[0] = real_asked[0]; });
  for_each_matrix(plan, [&] {
    return [&, work = Buffer<T>(size), real_work = Buffer<R>(real_size), int_work = Buffer<int>(int_asked)](int64_t i) {
      bool all = true;  // of the triangle that is read
      for (int64_t c = 0; c < s.n; ++c)
        all &= finite(a + i * s.area() + c * s.n + (upper ? 0 : c), upper ? c + 1 : s.n - c);
      if (all) return call(i, work, size, real_work, real_size, int_work, int_asked, plan.info + i);
      std::fill_n(a + i * s.area(), s.area(), T(std::numeric_limits<R>::quiet_NaN()));
      std::fill_n(w + i * s.n, s.n, std::numeric_limits<R>::quiet_NaN());
      plan.info[i] = 0;
    };
  });
}

// A real matrix has eigenvalues in conjugate pairs, and of their eigenvectors geev gives the real and the imaginary
// part.
template <class R>
void pairs_to_complex(int n, const R* real, const R* imag, const R* parts, Complex<R>* w, Complex<R>* v) {
  for (int j = 0; j < n; ++j) w[j] = {real[j], imag[j]};
  if (!v) return;
  for (int j = 0; j < n; ++j) {
    const R* x = parts + int64_t{j} * n;
    Complex<R>* to = v + int64_t{j} * n;
    const bool pair = imag[j] != 0 && j + 1 < n;
    for (int i = 0; i < n; ++i) {
      to[i] = {x[i], pair ? x[n + i] : R(0)};
      if (pair) to[n + i] = {x[i], -x[n + i]};
    }
    if (pair) ++j;
  }
}

template <class T>
void eig(const DecompositionPlan& plan, Complex<real_t<T>>* w, Complex<real_t<T>>* v) {
  using R = real_t<T>;
  const Sizes s(plan);
  const int n = s.n, one = 1;
  const int64_t area = s.area();
  const char none = 'N', right = v ? 'V' : 'N';
  const Routine geev = routine<T>("geev");
  T* a = static_cast<T*>(plan.a);
  T* const no = nullptr;
  // reals: real and imaginary parts of the eigenvalues, or the work of the complex routine.
  auto call = [&](T* matrix, T* values, T* vectors, R* reals, T* work, int size, int* info) {
    if constexpr (is_real<T>)
      geev(none, right, n, matrix, s.ld, reals, reals + n, no, one, vectors, s.ld, work, size, info);
    else geev(none, right, n, matrix, s.ld, values, no, one, vectors, s.ld, work, size, reals, info);
  };
  int info = 0;
  R real_asked[2] = {};  // the complex routine writes there, asked for nothing but sizes
  const int size =
      size_of_work<T>(plan.name, [&](T* work, int query) { call(a, no, no, real_asked, work, query, &info); });
  for_each_matrix(plan, [&] {
    return [&, work = Buffer<T>(size), reals = Buffer<R>(2 * int64_t{n}),
            parts = Buffer<T>(is_real<T> && v ? area : 0)](int64_t i) {
      Complex<R>* to_v = v ? v + i * area : nullptr;
      if constexpr (is_real<T>) {
        call(a + i * area, no, parts, reals, work, size, plan.info + i);
        pairs_to_complex<R>(n, reals, static_cast<R*>(reals) + n, parts, w + i * n, to_v);
      } else {
        call(a + i * area, w + i * n, to_v, reals, work, size, plan.info + i);
      }
    };
  });
}

enum class LstsqDriver : int8_t { Full, PivotedQr, Svd, DivideAndConquer };  // gels, gelsy, gelss and gelsd
LstsqDriver lstsq_driver(const char* function, const char* name) {
  const std::string_view driver = name ? name : "gelsy";
  if (driver == "gelsy") return LstsqDriver::PivotedQr;
  if (driver == "gels") return LstsqDriver::Full;
  if (driver == "gelss") return LstsqDriver::Svd;
  STRIDED_CHECK(driver == "gelsd", RuntimeError, function,
                ": parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  return LstsqDriver::DivideAndConquer;
}

// Systems with an upper triangle, which are what is left of tall ones (`reduced` in ops/linalg/lstsq.cpp).
template <class T>
class Triangles {
 public:
  Triangles(int n, bool asks_rank) : n_(n), inverse_(asks_rank ? int64_t{n} * n : 0) {}

  static bool is_one(int n, const T* a) {
    for (int j = 0; j < n; ++j)
      if (std::any_of(a + int64_t{j} * n + j + 1, a + int64_t{j + 1} * n, [](T x) { return x != T(0); })) return false;
    return true;
  }
  // Whether gelsy would find full rank, so that pivots change nothing. The least singular value divided by the largest
  // is at least 1 / (|A| |A^-1|) in Frobenius norms; this bound is asked to be twice `rcond`, for rounding.
  bool has_rank(const T* a, double rcond) const {
    std::copy(a, a + int64_t{n_} * n_, static_cast<T*>(inverse_));
    int info = 0;
    trtri_(kUpper, kAny, n_, static_cast<T*>(inverse_), n_, &info);
    return info == 0 && 2 * rcond * frobenius_norm(a) * frobenius_norm(inverse_) < 1;
  }
  void solve(const T* a, int columns, T* b, int* info) const {
    trtrs_(kUpper, kAsItIs, kAny, n_, columns, a, n_, b, n_, info);
  }

 private:
  static constexpr char kUpper = 'U', kAsItIs = 'N', kAny = 'N';
  double frobenius_norm(const T* a) const {
    const auto* const x = reinterpret_cast<const real_t<T>*>(a);
    const int64_t n = int64_t{n_} * n_ * (is_real<T> ? 1 : 2);
    double part[8] = {}, sum = 0;  // several, which do not wait for each other
    for (int64_t i = 0; i < n; ++i) part[i % 8] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    for (const double p : part) sum += p;
    return std::sqrt(sum);
  }
  const int n_;
  const Routine trtri_ = routine<T>("trtri"), trtrs_ = routine<T>("trtrs");
  const Buffer<T> inverse_;
};

template <class T>
void least_squares(const DecompositionPlan& plan, int64_t columns, T* b, LstsqDriver driver, double rcond,
                   int32_t* rank, real_t<T>* s) {
  using R = real_t<T>;
  const Sizes z(plan);
  const int k = small(plan.name, static_cast<double>(columns)), rows = std::max(z.m, z.n), ldb = std::max(rows, 1),
            least = z.least();
  constexpr const char* names[] = {"gels", "gelsy", "gelss", "gelsd"};
  const Routine gels = routine<T>(names[static_cast<int>(driver)]);
  const R limit = static_cast<R>(rcond);
  const char as_it_is = 'N';
  T* a = static_cast<T*>(plan.a);
  auto call = [&](int64_t i, T* work, int size, R* reals, int* ints, int* info) {
    T* matrix = a + i * z.area();
    T* rhs = b + i * int64_t{rows} * k;
    int32_t* r = rank ? rank + i : nullptr;
    R* values = s ? s + i * least : nullptr;
    switch (driver) {
      case LstsqDriver::Full: return gels(as_it_is, z.m, z.n, k, matrix, z.ld, rhs, ldb, work, size, info);
      case LstsqDriver::PivotedQr:
        if (size >= 0) std::fill_n(ints, z.n, 0);  // every column may move
        if constexpr (is_real<T>) return gels(z.m, z.n, k, matrix, z.ld, rhs, ldb, ints, limit, r, work, size, info);
        else return gels(z.m, z.n, k, matrix, z.ld, rhs, ldb, ints, limit, r, work, size, reals, info);
      case LstsqDriver::Svd:
        if constexpr (is_real<T>) return gels(z.m, z.n, k, matrix, z.ld, rhs, ldb, values, limit, r, work, size, info);
        else return gels(z.m, z.n, k, matrix, z.ld, rhs, ldb, values, limit, r, work, size, reals, info);
      case LstsqDriver::DivideAndConquer:
        if constexpr (is_real<T>)
          return gels(z.m, z.n, k, matrix, z.ld, rhs, ldb, values, limit, r, work, size, ints, info);
        else return gels(z.m, z.n, k, matrix, z.ld, rhs, ldb, values, limit, r, work, size, reals, ints, info);
    }
  };
  int info = 0, int_asked = 0;
  R real_asked[1] = {};
  const int size =
      size_of_work<T>(plan.name, [&](T* work, int query) { call(0, work, query, real_asked, &int_asked, &info); });
  const bool asked = driver == LstsqDriver::DivideAndConquer;
  const int64_t real_size = asked ? size_of_work<R>(plan.name, [&](R* work, int) { work[0] = real_asked[0]; })
                                  : std::max(int64_t{2} * z.n, int64_t{5} * least);
  const int int_size = asked ? int_asked : z.n;
  const bool by_svd = driver == LstsqDriver::Svd || driver == LstsqDriver::DivideAndConquer, square = z.m == z.n;
  // gels gives 0 for a matrix of zeros, and refuses others without full rank.
  const auto is_solved = [&](const Triangles<T>& triangles, const T* matrix) {
    if (!square || by_svd || !Triangles<T>::is_one(z.n, matrix)) return false;
    if (driver == LstsqDriver::PivotedQr) return triangles.has_rank(matrix, rcond);
    return std::any_of(matrix, matrix + z.area(), [](T x) { return x != T(0); });
  };
  for_each_matrix(plan, [&] {
    return [&, work = Buffer<T>(size), reals = Buffer<R>(is_real<T> ? 0 : real_size), ints = Buffer<int>(int_size),
            triangles = Triangles<T>(z.n, square && driver == LstsqDriver::PivotedQr)](int64_t i) {
      const T* const matrix = a + i * z.area();
      T* const rhs = b + i * int64_t{rows} * k;
      if (!finite(matrix, z.area()) || !finite(rhs, int64_t{rows} * k)) {
        plan.info[i] = kNotFinite;
      } else if (is_solved(triangles, matrix)) {
        triangles.solve(matrix, k, rhs, plan.info + i);
        if (rank) rank[i] = z.n;
      } else {
        call(i, work, size, reals, ints, plan.info + i);
      }
    };
  });
}

template <class T>
void ldl_factor(const DecompositionPlan& plan, int32_t* pivots, bool hermitian) {
  const Sizes s(plan);
  const Routine trf = routine<T>("sytrf", hermitian ? "hetrf" : "sytrf");
  const char lower = 'L';
  T* a = static_cast<T*>(plan.a);
  int info = 0;
  const int size =
      size_of_work<T>(plan.name, [&](T* work, int query) { trf(lower, s.n, a, s.ld, pivots, work, query, &info); });
  for_each_matrix(plan, [&] {
    return [&, work = Buffer<T>(size)](int64_t i) {
      trf(lower, s.n, a + i * s.area(), s.ld, pivots + i * s.n, static_cast<T*>(work), size, plan.info + i);
    };
  });
}

// A pivot names a row, or the negatives of two equal ones the partner of a block of two rows: LAPACK trusts them.
void check_ldl_pivots(const DecompositionPlan& plan, const int32_t* pivots) {
  const int64_t n = plan.n, count = plan.batch * n;
  for (int64_t at = 0; at < count; ++at) {
    const int64_t pivot = pivots[at], row = pivot < 0 ? -pivot : pivot;
    const bool paired = pivot > 0 || ((at + 1) % n != 0 && pivots[at + 1] == pivot);
    if (row < 1 || row > n || !paired)
      raise_linalg_failure(LinalgFailure::PivotOfLdl, plan.name, plan.batch > 1, at / n, pivot);
    if (pivot < 0) ++at;
  }
}

template <class T>
void ldl_solve(const DecompositionPlan& plan, int64_t columns, const int32_t* pivots, T* b, bool hermitian) {
  const Sizes s(plan);
  const int k = small(plan.name, static_cast<double>(columns));
  const Routine trs = routine<T>("sytrs", hermitian ? "hetrs" : "sytrs");
  const char lower = 'L';
  const T* a = static_cast<const T*>(plan.a);
  for_each_matrix(plan, [&] {
    return [&](int64_t i) {
      int info;
      trs(lower, s.n, k, a + i * s.area(), s.ld, pivots + i * s.n, b + i * int64_t{s.n} * k, s.ld, &info);
    };
  });
}

// OpenBLAS ends the process when it cannot have a buffer, 32 MiB for each thread that calls it. So the memory is asked
// for first, and given back: nothing of it is touched.
void require_memory(const char* name) {
  const size_t bytes = static_cast<size_t>(num_threads()) << 25;
  void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  STRIDED_CHECK(room != MAP_FAILED, OutOfMemoryError, name, ": LAPACK needs ", bytes,
                " bytes of memory for its buffers, which are not available");
  munmap(room, bytes);
}

// f(T()) for the type T of the plan's dtype.
template <class F>
void with_type(const DecompositionPlan& plan, F f) {
  require_memory(plan.name);
  switch (plan.dtype) {
    case DType::Float32: return f(float());
    case DType::Float64: return f(double());
    case DType::Complex64: return f(Complex<float>());
    case DType::Complex128: return f(Complex<double>());
    default: STRIDED_THROW(RuntimeError, plan.name, ": no decompositions of ", plan.dtype);
  }
}

// LAPACK in the CPU's slots.
void fill(Backend& k) {
  using Plan = const DecompositionPlan&;
  k.qr = [](Plan plan, void* tau) { with_type(plan, [&](auto t) { qr(plan, static_cast<decltype(t)*>(tau)); }); };
  k.form_q = [](Plan plan, int64_t reflectors, const void* tau) {
    with_type(plan, [&](auto t) { form_q(plan, reflectors, static_cast<const decltype(t)*>(tau)); });
  };
  k.apply_q = [](Plan plan, int64_t columns, const void* reflectors, const void* tau, bool left, bool adjoint) {
    with_type(plan, [&](auto t) {
      using T = decltype(t);
      apply_q(plan, columns, static_cast<const T*>(reflectors), static_cast<const T*>(tau), left, adjoint);
    });
  };
  k.svd = [](Plan plan, void* s, void* u, void* vh, bool full, const char* driver) {
    STRIDED_CHECK(!driver, RuntimeError, plan.name,
                  ": keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
    with_type(plan, [&](auto t) {
      using T = decltype(t);
      svd<T>(plan, static_cast<real_t<T>*>(s), static_cast<T*>(u), static_cast<T*>(vh), full);
    });
  };
  k.eigh = [](Plan plan, void* w, bool upper, bool vectors) {
    with_type(plan, [&](auto t) { eigh<decltype(t)>(plan, static_cast<real_t<decltype(t)>*>(w), upper, vectors); });
  };
  k.eig = [](Plan plan, void* w, void* v) {
    with_type(plan, [&](auto t) {
      using C = Complex<real_t<decltype(t)>>;
      eig<decltype(t)>(plan, static_cast<C*>(w), static_cast<C*>(v));
    });
  };
  k.least_squares = [](Plan plan, int64_t columns, void* b, const char* name, double rcond, int32_t* rank, void* s,
                       LeastSquaresParts* gives) {
    const LstsqDriver driver = lstsq_driver(plan.name, name);
    const bool by_svd = driver == LstsqDriver::Svd || driver == LstsqDriver::DivideAndConquer;
    gives->rank = driver != LstsqDriver::Full;
    gives->singular_values = by_svd;
    gives->residuals = driver != LstsqDriver::PivotedQr;
    if (plan.batch * plan.m * plan.n * columns == 0) return;
    with_type(plan, [&](auto t) {
      using T = decltype(t);
      least_squares(plan, columns, static_cast<T*>(b), driver, rcond, gives->rank ? rank : nullptr,
                    by_svd ? static_cast<real_t<T>*>(s) : nullptr);
    });
  };
  k.ldl_factor = [](Plan plan, int32_t* pivots, bool hermitian) {
    with_type(plan, [&](auto t) { ldl_factor<decltype(t)>(plan, pivots, hermitian); });
  };
  k.ldl_solve = [](Plan plan, int64_t columns, const int32_t* pivots, void* b, bool hermitian) {
    check_ldl_pivots(plan, pivots);
    with_type(plan, [&](auto t) { ldl_solve(plan, columns, pivots, static_cast<decltype(t)*>(b), hermitian); });
  };
}

}  // namespace

void register_lapack(std::string (*find)()) {
  set_lapack_finder(find);
  fill(backend_table(DeviceType::CPU));
}

}  // namespace strided
