// Softmax and its logarithm of rows, and running logarithms of sums of exponentials (logcumsumexp): the largest element
// is subtracted first, so that no exponential overflows.
#include "backend/scan_steps.h"
#include "base/math.h"
#include "cpu/kernels.h"
#include "cpu/reduce/exponentials.inc"
#include "cpu/simd.inc"

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

constexpr int64_t kFew = 16;  // what is left of a row is taken in pieces of so many elements, the last one in part

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
    for (int k = 0; k < static_cast<int>(kFew); ++k) lane[k] = combine(lane[k], f(i + k));
  const int m = static_cast<int>(n - pieces);
  if (m > 0)
#pragma GCC ivdep
#pragma GCC unroll 1
    for (int k = 0; k < static_cast<int>(kFew); ++k)
      if (k < m) lane[k] = combine(lane[k], f(pieces + k));
  constexpr int few = kLanes<A> < kFew ? kLanes<A> : kFew;
  fold<kFew, few>(lane, combine);
  return fold_vector<few / 2>(load<Vec<A, few>>(lane), combine, std::make_integer_sequence<int, few>{});
}

// One contiguous row.
template <class T, bool Log>
void softmax_row(T* __restrict__ out, const T* __restrict__ in, int64_t n) {
  using A = compute_t<T>;
  const A max = over_row(
      -math::infinity<A>(), n, [=](int64_t i) { return static_cast<A>(in[i]); },
      [](auto a, auto b) { return larger(a, b); });
  // The 16-bit floats cannot hold the exponentials until the sum is known: these are computed twice.
  constexpr bool keep = !Log && sizeof(T) >= 4;
  const A sum = over_row(
      A(0), n,
      [=](int64_t i) {
        const A e = math::exp(static_cast<A>(in[i]) - max);
        if constexpr (keep) out[i] = e;
        return e;
      },
      [](auto a, auto b) { return a + b; });
  const A inverse = 1 / sum, offset = Log ? math::log(sum) : 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (Log) out[i] = T(static_cast<A>(in[i]) - max - offset);
    else if constexpr (keep) out[i] = quotient(out[i], sum, inverse);
    else out[i] = T(quotient(math::exp(static_cast<A>(in[i]) - max), sum, inverse));
  }
}

// Rows side by side: element i of row r at i * stride + r.
template <class T, bool Log>
void softmax_columns(T* out, const T* in, int64_t n, int64_t stride, int64_t rows) {
  using A = compute_t<T>;
  A max[kSide], sum[kSide];
  for (int64_t r = 0; r < rows; ++r) {
    max[r] = -math::infinity<A>();
    sum[r] = 0;
  }
  for (int64_t i = 0; i < n; ++i)
#pragma GCC ivdep
    for (int64_t r = 0; r < rows; ++r) max[r] = larger(max[r], static_cast<A>(in[i * stride + r]));
  for (int64_t i = 0; i < n; ++i)
#pragma GCC ivdep
    for (int64_t r = 0; r < rows; ++r) {
      const A e = math::exp(static_cast<A>(in[i * stride + r]) - max[r]);
      sum[r] += e;
      if constexpr (!Log && sizeof(T) >= 4) out[i * stride + r] = e;
    }
  if constexpr (Log)
    for (int64_t r = 0; r < rows; ++r) sum[r] = math::log(sum[r]);
  for (int64_t i = 0; i < n; ++i)
#pragma GCC ivdep
    for (int64_t r = 0; r < rows; ++r) {
      T& y = out[i * stride + r];
      if constexpr (Log) y = T(static_cast<A>(in[i * stride + r]) - max[r] - sum[r]);
      else if constexpr (sizeof(T) >= 4) y = y / sum[r];
      else y = T(math::exp(static_cast<A>(in[i * stride + r]) - max[r]) / sum[r]);
    }
}

// Rows that are shorter than this are softmax_short_rows', so many at a time that they stay in the nearest cache.
constexpr int64_t kShortRow = 129, kShortRows = 64 * kSide;
STRIDED_INLINE int64_t rows_at_once(int64_t n) { return n <= 64 ? kSide : n <= 128 ? kSide / 2 : kSide / 4; }

// One short row, with the same bits as among others: a sum of one after the other.
template <class T, bool Log>
void softmax_short_row(T* __restrict__ out, const T* __restrict__ in, int64_t n) {
  using A = compute_t<T>;
  alignas(64) A e[kShortRow];
  const A max = over_row(
      -math::infinity<A>(), n, [=](int64_t i) { return static_cast<A>(in[i]); },
      [](auto a, auto b) { return larger(a, b); });
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) e[i] = math::exp(static_cast<A>(in[i]) - max);
  A sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += e[i];
  const A offset = Log ? math::log(sum) : 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = Log ? T(static_cast<A>(in[i]) - max - offset) : T(e[i] / sum);
}

// At most rows_at_once contiguous rows: they are laid side by side, in whole vectors, and brought back.
template <class T, bool Log>
void softmax_short_rows(T* out, const T* in, int64_t n, int64_t rows) {
  if (rows < 4 && n > 1) {
    for (int64_t r = 0; r < rows; ++r) softmax_short_row<T, Log>(out + r * n, in + r * n, n);
    return;
  }
  alignas(64) T block[kShortRows];
  constexpr int64_t step = kLanes<compute_t<T>>;
  const int64_t width = (rows + step - 1) / step * step;
  transpose_copy(rows, n, in, n, block, width);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t r = rows; r < width; ++r) block[i * width + r] = T(0);
  softmax_columns<T, Log>(block, block, n, width, width);
  transpose_copy(n, rows, block, width, out, n);
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

// A ScanKernel for rows that are contiguous or lie side by side, in and out alike.
template <class T, void (*Row)(T*, const T*, int64_t), void (*Columns)(T*, const T*, int64_t, int64_t, int64_t),
          void (*ShortRows)(T*, const T*, int64_t, int64_t) = nullptr>
void scan_rows(char* const* out, const int64_t* out_stride, const int64_t*, const char* in, int64_t,
               int64_t in_row_stride, int64_t n, int64_t rows) {
  T* to = reinterpret_cast<T*>(out[0]);
  const T* from = reinterpret_cast<const T*>(in);
  const int64_t stride = out_stride[0] / static_cast<int64_t>(sizeof(T)),
                row_stride = in_row_stride / static_cast<int64_t>(sizeof(T));
  if (stride == 1) {
    if constexpr (ShortRows != nullptr)
      if (n < kShortRow) {
        const int64_t most = rows_at_once(n);
        for (int64_t r = 0; r < rows; r += most)
          ShortRows(to + r * n, from + r * n, n, rows - r < most ? rows - r : most);
        return;
      }
    for (int64_t r = 0; r < rows; ++r) Row(to + r * row_stride, from + r * row_stride, n);
    return;
  }
  for (int64_t r = 0; r < rows; r += kSide) Columns(to + r, from + r, n, stride, rows - r < kSide ? rows - r : kSide);
}

template <class T>
void fill_for(KernelTable& table) {
  const auto kernel = [&](ScanOp op) -> ScanKernel& { return table.scan[static_cast<int>(op)][index_of(dtype_of<T>)]; };
  kernel(ScanOp::Softmax) =
      scan_rows<T, softmax_row<T, false>, softmax_columns<T, false>, softmax_short_rows<T, false>>;
  kernel(ScanOp::LogSoftmax) =
      scan_rows<T, softmax_row<T, true>, softmax_columns<T, true>, softmax_short_rows<T, true>>;
  kernel(ScanOp::LogSumExp) = scan_rows<T, log_sums_row<T>, log_sums_columns<T>>;
}

}  // namespace

void fill_softmax(KernelTable& table) {
  fill_scores(table);
  for_each(DTypesOf<kinds::Float>{}, [&](auto tag, int) { fill_for<typename decltype(tag)::type>(table); });
}

}  // namespace STRIDED_ISA
}  // namespace strided
