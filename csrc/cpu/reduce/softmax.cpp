// Softmax and its logarithm of rows: the largest element is subtracted first, so that no exponential overflows.
#include "base/math.h"
#include "cpu/kernels.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

constexpr int64_t kLanes = 64;  // partial sums of a contiguous row; rows side by side

// NaN stays. Two selects: see reduce::select in backend/reduce.h.
template <class A>
STRIDED_INLINE A larger(A a, A b) {
  const A x = a > b ? a : b;
  return a != a ? a : x;
}

// One contiguous row.
template <class T, bool Log>
void softmax_row(T* out, const T* in, int64_t n) {
  using A = compute_t<T>;
  A lane[kLanes];
  const int64_t whole = n - n % kLanes;
  A max = -math::infinity<A>();
  for (int64_t k = 0; k < kLanes; ++k) lane[k] = max;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t k = 0; k < kLanes; ++k) lane[k] = larger(lane[k], static_cast<A>(in[i + k]));
  for (int64_t i = whole; i < n; ++i) lane[i - whole] = larger(lane[i - whole], static_cast<A>(in[i]));
  for (int64_t k = 0; k < kLanes; ++k) max = larger(max, lane[k]);

  for (int64_t k = 0; k < kLanes; ++k) lane[k] = 0;
  // The 16-bit floats cannot hold the exponentials until the sum is known: these are computed twice.
  constexpr bool keep = !Log && sizeof(T) >= 4;
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t m = n - i < kLanes ? n - i : kLanes;
#pragma GCC ivdep
    for (int64_t k = 0; k < m; ++k) {
      const A e = math::exp(static_cast<A>(in[i + k]) - max);
      lane[k] += e;
      if constexpr (keep) out[i + k] = e;
    }
  }
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t k = 0; k < half; ++k) lane[k] += lane[k + half];
  const A sum = lane[0];
  const A offset = Log ? math::log(sum) : 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (Log) out[i] = T(static_cast<A>(in[i]) - max - offset);
    else if constexpr (keep) out[i] = out[i] / sum;
    else out[i] = T(math::exp(static_cast<A>(in[i]) - max) / sum);
  }
}

// Rows side by side: element i of row r at i * stride + r.
template <class T, bool Log>
void softmax_columns(T* out, const T* in, int64_t n, int64_t stride, int64_t rows) {
  using A = compute_t<T>;
  A max[kLanes], sum[kLanes];
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

// A ScanKernel for rows that are contiguous or lie side by side, in and out alike.
template <class T, bool Log>
void softmax(char* const* out, const int64_t* out_stride, const int64_t*, const char* in, int64_t,
             int64_t in_row_stride, int64_t n, int64_t rows) {
  T* to = reinterpret_cast<T*>(out[0]);
  const T* from = reinterpret_cast<const T*>(in);
  const int64_t stride = out_stride[0] / static_cast<int64_t>(sizeof(T)),
                row_stride = in_row_stride / static_cast<int64_t>(sizeof(T));
  if (stride == 1) {
    for (int64_t r = 0; r < rows; ++r) softmax_row<T, Log>(to + r * row_stride, from + r * row_stride, n);
    return;
  }
  for (int64_t r = 0; r < rows; r += kLanes)
    softmax_columns<T, Log>(to + r, from + r, n, stride, rows - r < kLanes ? rows - r : kLanes);
}

template <class T>
void fill_for(KernelTable& table) {
  table.scan[static_cast<int>(ScanOp::Softmax)][index_of(dtype_of<T>)] = softmax<T, false>;
  table.scan[static_cast<int>(ScanOp::LogSoftmax)][index_of(dtype_of<T>)] = softmax<T, true>;
}

}  // namespace

void fill_softmax(KernelTable& table) {
  for_each(DTypesOf<kinds::Float>{}, [&](auto tag, int) { fill_for<typename decltype(tag)::type>(table); });
}

}  // namespace STRIDED_ISA
}  // namespace strided
