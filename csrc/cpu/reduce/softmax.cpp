// Softmax and its logarithm of rows, and running logarithms of sums of exponentials (logcumsumexp): the largest element
// is subtracted first, so that no exponential overflows.
#include "backend/scan_steps.h"
#include "base/math.h"
#include "cpu/half_rows.inc"
#include "cpu/kernels.h"
#include "cpu/reduce/elements.inc"
#include "cpu/reduce/exponentials.inc"
#include "cpu/simd.inc"
#include "cpu/sort/sorted_rows.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

constexpr int64_t kSide = 64;  // partial sums of a contiguous row; rows side by side

// NaN stays. Two selects: see reduce::select in backend/reduce.h.
template <class A>
STRIDED_INLINE A larger(A a, A b) {
  const A x = a > b ? a : b;
  return a != a ? a : x;
}

constexpr int64_t kFewColumns = 8;     // fewer rows side by side are no vector
constexpr int64_t kShortLogSums = 16;  // running sums of shorter rows are taken side by side

// e / sum, for 1 <= sum. A product with 1 / sum and one step of correction round as the division does, which takes a
// vector of the processor eight times as long: P. Markstein, "Computation of elementary functions on the IBM RISC
// System/6000 processor" (1990).
template <class A>
STRIDED_INLINE A quotient(A e, A sum, [[maybe_unused]] A inverse) {
#if STRIDED_HAS_FMA
  const A q = e * inverse;
  return math::mul_add(math::mul_add(-q, sum, e), inverse, q);
#else
  return e / sum;
#endif
}

// Lanes From ... To - 1 are combined with those before them, half by half: vector code, and always the same order.
template <int64_t From, int64_t To, class A, class F>
STRIDED_INLINE void fold(A* lane, F f) {
  for (int64_t half = From / 2; half >= To; half /= 2)
#pragma GCC unroll 1
    for (int64_t k = 0; k < half; ++k) lane[k] = f(lane[k], lane[k + half]);
}
// The same within a vector register, to one value: v is combined with itself, moved by half the lanes that count.
template <int Half, class V, class F, int... I>
STRIDED_INLINE auto fold_vector(V v, F f, std::integer_sequence<int, I...> places) {
  if constexpr (Half == 0) return v[0];
  else return fold_vector<Half / 2>(f(v, shuffle<V, (I + Half) % int(sizeof...(I))...>(v, v)), f, places);
}

// f(lane, element i) for the elements of a row: whole pieces of kSide, then pieces of kFew lanes with conditions, which
// are masks. (Unrolled loops of kFew steps would not become vector code.) The results of all lanes are combined.
template <class A, class F, class C>
STRIDED_INLINE A over_row(A start, int64_t n, F f, C combine) {
  alignas(64) A lane[kSide];
  const int64_t whole = n - n % kSide;
  for (int64_t k = 0; k < kSide; ++k) lane[k] = start;
  for (int64_t i = 0; i < whole; i += kSide)
#pragma GCC ivdep
    for (int64_t k = 0; k < kSide; ++k) lane[k] = combine(lane[k], f(i + k));
  if (whole > 0) fold<kSide, kFew>(lane, combine);
  const int64_t pieces = n - n % kFew;
  for (int64_t i = whole; i < pieces; i += kFew)
#pragma GCC ivdep
#pragma GCC unroll 1
    for (int k = 0; k < kFew; ++k) lane[k] = combine(lane[k], f(i + k));
  const int m = static_cast<int>(n - pieces);
  if (m > 0)  // lanes are stored as whole vectors: what is stored by a mask cannot be read soon
#pragma GCC ivdep
#pragma GCC unroll 1
    for (int k = 0; k < kFew; ++k) {
      A some = lane[k];
      if (kPlaces[k] < m) some = combine(some, f(pieces + k));
      lane[k] = some;
    }
  constexpr int few = kLanes<A> < kFew ? kLanes<A> : kFew;
  fold<kFew, few>(lane, combine);
  return fold_vector<few / 2>(load<Vec<A, few>>(lane), combine, std::make_integer_sequence<int, few>{});
}

// Whether e^(x - max) is a normal number for all x from `min` on. Such exponentials take half the operations, and have
// the same bits.
template <class T>
STRIDED_INLINE bool are_usual(T min, T max) {
  return math::has_usual_exp(min - max);
}
// Functions of their own, which softmax and its logarithm share. The largest element of a row, and whether all of its
// exponentials are usual.
template <class T>
__attribute__((noinline)) bool bounds_of_row(const T* in, int64_t n, T* max) {
  const auto element = [=](int64_t i) { return in[i]; };
  *max = over_row(-math::infinity<T>(), n, element, [](auto a, auto b) { return larger(a, b); });
  const T min = over_row(math::infinity<T>(), n, element, [](auto a, auto b) { return b < a ? b : a; });
  return are_usual(min, *max);
}
// out[i] = e^(in[i] - max), and their sum.
template <class T>
__attribute__((noinline)) T sum_of_row(T* __restrict__ out, const T* __restrict__ in, int64_t n, T max, bool usual) {
  const auto sum = [](auto a, auto b) { return a + b; };
  if (usual) return over_row(T(0), n, [=](int64_t i) { return out[i] = math::exp_usual(in[i] - max); }, sum);
  return over_row(T(0), n, [=](int64_t i) { return out[i] = math::exp(in[i] - max); }, sum);
}

// Contiguous rows, so many that they stay in the nearest cache: a row's largest element, its sum and what follows from
// it wait for each other, and meanwhile those of the other rows are computed.
template <class T, bool Log>
void softmax_some_rows(T* __restrict__ out, const T* __restrict__ in, int64_t n, int64_t row_stride, int64_t rows) {
  constexpr int64_t kSome = 16, kBytes = 8192;
  const int64_t fit = kBytes / (n * static_cast<int64_t>(sizeof(T))), most = fit < 1 ? 1 : fit < kSome ? fit : kSome;
  T max[kSome], sum[kSome], offset[kSome];
  bool usual[kSome];
  for (T& s : sum) s = 1;
  for (int64_t r = 0; r < rows; r += most, in += most * row_stride, out += most * row_stride) {
    const int64_t m = rows - r < most ? rows - r : most;
    for (int64_t k = 0; k < m; ++k) usual[k] = bounds_of_row(in + k * row_stride, n, &max[k]);
    for (int64_t k = 0; k < m; ++k) sum[k] = sum_of_row(out + k * row_stride, in + k * row_stride, n, max[k], usual[k]);
#pragma GCC ivdep
    for (int64_t k = 0; k < kSome; ++k) offset[k] = Log ? math::log(sum[k]) : 1 / sum[k];
    for (int64_t k = 0; k < m; ++k) {
      const T* const x = in + k * row_stride;
      T* const y = out + k * row_stride;
      const T shift = max[k], total = sum[k], rest = offset[k];
      for_elements(n, [=](int64_t i) { y[i] = Log ? x[i] - shift - rest : quotient(y[i], total, rest); });
    }
  }
}
// Rows side by side: element i of row r at i * stride + r.
template <class T, bool Log>
void softmax_columns(T* out, const T* in, int64_t n, int64_t stride, int64_t rows) {
  T max[kSide], min[kSide], sum[kSide];
  for (int64_t r = 0; r < rows; ++r) {
    max[r] = -math::infinity<T>();
    min[r] = math::infinity<T>();
    sum[r] = 0;
  }
  for (int64_t i = 0; i < n; ++i)
#pragma GCC ivdep
    for (int64_t r = 0; r < rows; ++r) {
      const T x = in[i * stride + r];
      max[r] = larger(max[r], x);
      min[r] = x < min[r] ? x : min[r];
    }
  bool usual = true;
  for (int64_t r = 0; r < rows; ++r) usual &= are_usual(min[r], max[r]);
  const auto add = [&](auto exp) {
    for (int64_t i = 0; i < n; ++i)
#pragma GCC ivdep
      for (int64_t r = 0; r < rows; ++r) {
        const T e = exp(in[i * stride + r] - max[r]);
        sum[r] += e;
        if constexpr (!Log) out[i * stride + r] = e;
      }
  };
  if (usual) add([](T x) { return math::exp_usual(x); });
  else add([](T x) { return math::exp(x); });
  if constexpr (Log)
    for (int64_t r = 0; r < rows; ++r) sum[r] = math::log(sum[r]);
  for (int64_t i = 0; i < n; ++i)
#pragma GCC ivdep
    for (int64_t r = 0; r < rows; ++r) {
      T& y = out[i * stride + r];
      y = Log ? in[i * stride + r] - max[r] - sum[r] : y / sum[r];
    }
}

// Rows that are shorter than this are softmax_short_rows', so many at a time that they stay in the nearest cache.
constexpr int64_t kShortRow = 128, kShortRows = 64 * kSide;
STRIDED_INLINE int64_t rows_at_once(int64_t n) { return n <= 64 ? kSide : n <= 128 ? kSide / 2 : kSide / 4; }

// One short row, with the same bits as among others: a sum of one after the other.
template <class T, bool Log>
void softmax_short_row(T* __restrict__ out, const T* __restrict__ in, int64_t n) {
  alignas(64) T e[kShortRow];
  const T max =
      over_row(-math::infinity<T>(), n, [=](int64_t i) { return in[i]; }, [](auto a, auto b) { return larger(a, b); });
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) e[i] = math::exp(in[i] - max);
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += e[i];
  const T offset = Log ? math::log(sum) : 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = Log ? in[i] - max - offset : e[i] / sum;
}

// At most rows_at_once contiguous rows: they are laid side by side, in whole vectors, and brought back.
template <class T, void (*Columns)(T*, const T*, int64_t, int64_t, int64_t)>
void short_rows_as_columns(T* out, const T* in, int64_t n, int64_t rows) {
  alignas(64) T block[kShortRows];
  constexpr int64_t step = kLanes<T>;
  const int64_t width = (rows + step - 1) / step * step;
  transpose_copy(rows, n, in, n, block, width);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t r = rows; r < width; ++r) block[i * width + r] = T(0);
  Columns(block, block, n, width, width);
  transpose_copy(n, rows, block, width, out, n);
}
template <class T, bool Log>
void softmax_short_rows(T* out, const T* in, int64_t n, int64_t rows) {
  if (rows >= 4 || n == 1) return short_rows_as_columns<T, softmax_columns<T, Log>>(out, in, n, rows);
  for (int64_t r = 0; r < rows; ++r) softmax_short_row<T, Log>(out + r * n, in + r * n, n);
}

// How far apart the numbers of a block may be. float is summed in double, where 600 keeps exponentials from underflow.
// The others are summed in their own precision: 16 keeps the error of highest + log(sum) at a few ulp of the numbers.
template <class T>
constexpr int kSpan = std::is_same_v<T, float> ? 600 : 16;

// One contiguous row. A step (scan::LogSum) takes an exponential and a logarithm, and waits for the one before. So
// blocks of kSide elements are taken at once, relative to their highest: of exponentials, running sum and logarithms
// only the sum is a chain.
template <class T>
void log_sums_row(T* out, const T* in, int64_t n) {
  using A = typename scan::Wider<T>::type;
  constexpr A infinity = math::infinity<A>();
  A run = -infinity;
  for (int64_t begin = 0; begin < n; begin += kSide, in += kSide, out += kSide) {
    const int64_t m = n - begin < kSide ? n - begin : kSide;
    alignas(64) A x[kSide], highest[kSide], lowest[kSide];
    for (int64_t k = 0; k < m; ++k) x[k] = static_cast<A>(in[k]);
    for (int64_t k = m; k < kSide; ++k) x[k] = -infinity;
#pragma GCC ivdep
    for (int64_t k = 0; k < kSide; ++k) {
      highest[k] = x[k] > run ? x[k] : run;
      lowest[k] = x[k] > -infinity ? x[k] : infinity;
    }
    fold<kSide, 1>(highest, [](A a, A b) { return a > b ? a : b; });
    fold<kSide, 1>(lowest, [](A a, A b) { return a < b ? a : b; });
    const A high = highest[0], low = run > -infinity && run < lowest[0] ? run : lowest[0];
    if (!(high - low >= 0 && high - low < kSpan<T>)) {  // also where a number is inf, all are -inf, or run is NaN
      for (int64_t k = 0; k < m; ++k) out[k] = static_cast<T>(run = scan::LogSum::step(run, x[k]));
      continue;
    }
#pragma GCC ivdep
    for (int64_t k = 0; k < kSide; ++k) x[k] = math::exp(x[k] - high);
    A sum = math::exp(run - high);
    for (int64_t k = 0; k < kSide; ++k) x[k] = sum += x[k];
#pragma GCC ivdep
    for (int64_t k = 0; k < kSide; ++k) x[k] = high + math::log(x[k]);
    for (int64_t k = 0; k < m; ++k) out[k] = static_cast<T>(x[k]);
    run = x[m - 1];
  }
}

template <class T>
void log_sums_some_rows(T* out, const T* in, int64_t n, int64_t row_stride, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) log_sums_row(out + r * row_stride, in + r * row_stride, n);
}

// Rows side by side, at most kSide.
template <class T>
void log_sums_columns(T* out, const T* in, int64_t n, int64_t stride, int64_t rows) {
  using A = typename scan::Wider<T>::type;
  A run[kSide];
  for (int64_t r = 0; r < rows; ++r) run[r] = scan::LogSum::start<A>();
  for (int64_t i = 0; i < n; ++i)
#pragma GCC ivdep
    for (int64_t r = 0; r < rows; ++r) {
      run[r] = scan::LogSum::step(run[r], static_cast<A>(in[i * stride + r]));
      out[i * stride + r] = static_cast<T>(run[r]);
    }
}

// Few rows side by side, one after the other.
template <class T, void (*Rows)(T*, const T*, int64_t, int64_t, int64_t)>
void few_columns(T* out, const T* in, int64_t n, int64_t stride, int64_t rows) {
  const cpu::Words<T> memory(2 * n);
  T *const x = memory.data, *const y = x + n;
  for (int64_t r = 0; r < rows; ++r) {
    transpose_copy(n, 1, in + r, stride, x, n);
    Rows(y, x, n, n, 1);
    transpose_copy(1, n, y, n, out + r, stride);
  }
}

// A ScanKernel for rows that are contiguous or lie side by side, in and out alike. ShortRows: contiguous ones of fewer
// than kMostShort elements.
template <class T, void (*Rows)(T*, const T*, int64_t, int64_t, int64_t),
          void (*Columns)(T*, const T*, int64_t, int64_t, int64_t), void (*ShortRows)(T*, const T*, int64_t, int64_t),
          int64_t kMostShort>
void scan_rows(char* const* out, const int64_t* out_stride, const int64_t*, const char* in, int64_t,
               int64_t in_row_stride, int64_t n, int64_t rows) {
  T* to = reinterpret_cast<T*>(out[0]);
  const T* from = reinterpret_cast<const T*>(in);
  const int64_t stride = out_stride[0] / static_cast<int64_t>(sizeof(T)),
                row_stride = in_row_stride / static_cast<int64_t>(sizeof(T));
  if (stride == 1) {
    if (n < kMostShort) {
      const int64_t most = rows_at_once(n);
      for (int64_t r = 0; r < rows; r += most)
        ShortRows(to + r * n, from + r * n, n, rows - r < most ? rows - r : most);
      return;
    }
    return Rows(to, from, n, row_stride, rows);
  }
  if (rows < kFewColumns && n >= kSide) return few_columns<T, Rows>(to, from, n, stride, rows);
  for (int64_t r = 0; r < rows; r += kSide) Columns(to + r, from + r, n, stride, rows - r < kSide ? rows - r : kSide);
}

template <class T, bool Log>
constexpr ScanKernel softmax_rows =
    scan_rows<T, softmax_some_rows<T, Log>, softmax_columns<T, Log>, softmax_short_rows<T, Log>, kShortRow>;

// Rows of 16-bit floats pass through rows of float, some at a time.
template <class T, bool Log>
void softmax_half_rows(char* const* out, const int64_t* out_stride, const int64_t*, const char* in, int64_t,
                       int64_t in_row_stride, int64_t n, int64_t rows) {
  constexpr int64_t item = sizeof(T), wide = sizeof(float), kItems = 1 << 14;
  constexpr int64_t kColumns = 16;           // of each, whole vectors
  const bool along = out_stride[0] == item;  // else side by side
  const int64_t fit = n > 0 ? kItems / n : rows;
  const int64_t least = along ? 1 : kColumns, greatest = along ? rows : kSide;
  const int64_t most = min_of(max_of(along ? fit : fit - fit % kColumns, least), greatest);
  const int64_t stride = out_stride[0] / item, row_stride = in_row_stride / item;
  const cpu::Words<float> memory(2 * n * most);
  float *const x = memory.data, *const y = x + n * most;
  for (int64_t r = 0; r < rows; r += most) {
    const int64_t m = min_of(most, rows - r);
    const int64_t lines = along ? m : n, length = along ? n : m, line_stride = along ? row_stride : stride;
    const T* const from = reinterpret_cast<const T*>(in) + r * row_stride;
    T* const to = reinterpret_cast<T*>(out[0]) + r * row_stride;
    for (int64_t l = 0; l < lines; ++l) widen_row(x + l * length, from + l * line_stride, length);
    char* const result[] = {reinterpret_cast<char*>(y)};
    const int64_t step[] = {along ? wide : m * wide}, row_step[] = {along ? n * wide : wide};
    softmax_rows<float, Log>(result, step, row_step, reinterpret_cast<const char*>(x), step[0], row_step[0], n, m);
    for (int64_t l = 0; l < lines; ++l) narrow_row(to + l * line_stride, y + l * length, length);
  }
}

template <class T>
void fill_for(KernelTable& table) {
  const auto kernel = [&](ScanOp op) -> ScanKernel& { return table.scan[static_cast<int>(op)][index_of(dtype_of<T>)]; };
  if constexpr (is_reduced<T>) {
    kernel(ScanOp::Softmax) = softmax_half_rows<T, false>;
    kernel(ScanOp::LogSoftmax) = softmax_half_rows<T, true>;
  } else {
    kernel(ScanOp::Softmax) = softmax_rows<T, false>;
    kernel(ScanOp::LogSoftmax) = softmax_rows<T, true>;
  }
  kernel(ScanOp::LogSumExp) = scan_rows<T, log_sums_some_rows<T>, log_sums_columns<T>,
                                        short_rows_as_columns<T, log_sums_columns<T>>, kShortLogSums>;
}

}  // namespace

void fill_softmax(KernelTable& table) {
  fill_scores(table);
  for_each(DTypesOf<kinds::Float>{}, [&](auto tag, int) { fill_for<typename decltype(tag)::type>(table); });
}

}  // namespace STRIDED_ISA
}  // namespace strided
