// Attention, some queries of a matrix at a time: their scores stay in the cache until the values are multiplied.
// Exponentials are multiplied as they are, and the sums divided by theirs (M. N. Rabe and C. Staats, "Self-attention
// does not need O(n^2) memory", 2021). Where operands are bfloat16, exponentials are rounded to it for the second
// product; scores and sums are float32.
#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/networks.h"
#include "cpu/workspace.h"

namespace strided {
namespace cpu {
namespace {

// Elements of scores at a time: half of a second-level cache of 512 KB.
constexpr int64_t kScores = 1 << 16;
// Queries at a time: panels of fewer rows are too few for what a product costs besides, more in a causal part compute
// keys that its first queries do not see.
constexpr int64_t kLeastRows = 72, kMostCausalRows = 72;
constexpr int64_t kWork = 1 << 18;  // multiplications that are worth another thread

int64_t offset_of(const AttentionPlan& plan, int operand, int64_t index) {
  int64_t offset = 0;
  for (int i = plan.batch_ndim; i-- > 0; index /= plan.batch_shape[i])
    offset += index % plan.batch_shape[i] * plan.batch_strides[operand][i];
  return offset;
}

// T: of the operands. S: of scores, and of the mask.
template <class T, class S = T>
struct Attention {
  static constexpr bool kNarrow = !std::is_same_v<T, S>;

  const AttentionPlan& plan;
  GemmKernel multiply = kNarrow ? kernel_table().widened_gemm[dtype_of<T> == DType::BFloat16].single
                                : kernel_table().gemm[index_of(dtype_of<T>)];
  ScoreKernels of_scores = kernel_table().scores[dtype_of<S> == DType::Float64];
  int64_t rows = 1, parts = 1;  // queries of a part, parts of a matrix

  template <class E = T>
  static Matrix from(const Matrix& m, int64_t offset) {
    return {static_cast<E*>(m.data) + offset, m.row_stride, m.col_stride};
  }
  // From row to row of keys by columns, and of scores: in whole pieces, and so that rows do not compete for the same
  // places of a cache.
  static int64_t step_for(int64_t columns) {
    constexpr int64_t kPiece = ScoreKernels::kPiece;
    return (columns + kPiece - 1) / kPiece * kPiece + (columns >= 512 ? kPiece : 0);
  }
  int64_t keys_step() const { return step_for(plan.keys); }
  Matrix transposed_keys(int64_t matrix, T* copy) const {
    const Matrix k = from(plan.k, offset_of(plan, 1, matrix));
    if (copy == nullptr) return {k.data, k.col_stride, k.row_stride};
    const T* const data = static_cast<const T*>(k.data);
    constexpr int64_t kBlock = 16;
    for (int64_t j = 0; j < plan.keys; j += kBlock)
      for (int64_t i = 0; i < plan.features; ++i)
        for (int64_t q = j; q < std::min(j + kBlock, plan.keys); ++q)
          copy[i * keys_step() + q] = data[q * k.row_stride + i * k.col_stride];
    return {copy, keys_step(), 1};
  }

  // Scratch memory of a part, in elements of scores: the scores, and where elements are narrower the weights and sums.
  int64_t scratch() const { return rows * keys_step() + (kNarrow ? rows * (keys_step() / 2 + plan.values) : 0); }

  // Queries begin ... end - 1 of one matrix.
  void part(int64_t matrix, int64_t begin, int64_t end, const Matrix& keys, S* scores) const {
    const int64_t n = plan.causal ? std::min(end, plan.keys) : plan.keys, m = end - begin, step = step_for(n);
    const int64_t pieces = (n + ScoreKernels::kPiece - 1) / ScoreKernels::kPiece * ScoreKernels::kPiece;
    const Matrix q = from(plan.q, offset_of(plan, 0, matrix) + begin * plan.q.row_stride);
    T* const out = static_cast<T*>(plan.out) + (matrix * plan.queries + begin) * plan.values;
    S* const sums = kNarrow ? scores + rows * keys_step() : reinterpret_cast<S*>(out);
    T* const weights = reinterpret_cast<T*>(kNarrow ? sums + rows * plan.values : scores);
    const S scale = static_cast<S>(plan.scale), one = 1, zero = 0;
    multiply(m, n, plan.features, q, keys, {scores, step, 1}, &scale, &zero);
    S factor[kMostRows];  // of the values' sums
    for (int64_t i = 0; i < m; ++i) {
      S* const row = scores + i * step;
      const int64_t seen = plan.causal ? std::min(begin + i + 1, n) : n;
      bool sees = true;
      if (plan.mask.data != nullptr) {
        const Matrix mask = from<S>(plan.mask, offset_of(plan, 3, matrix) + (begin + i) * plan.mask.row_stride);
        sees = of_scores.add_mask(row, mask.data, mask.col_stride, seen);
      }
      std::fill(row + (sees ? seen : 0), row + pieces, sees ? -std::numeric_limits<S>::infinity() : zero);
      factor[i] = sees ? static_cast<S>(1 / of_scores.exponentials(row, pieces)) : zero;
      if constexpr (kNarrow) of_scores.narrow(weights + i * step, row, n);
    }
    multiply(m, plan.values, n, {weights, step, 1}, from(plan.v, offset_of(plan, 2, matrix)), {sums, plan.values, 1},
             &one, &zero);
    for (int64_t i = 0; i < m; ++i) {
      S* const row = sums + i * plan.values;
      for (int64_t j = 0; j < plan.values; ++j) row[j] *= factor[i];
      if constexpr (kNarrow) of_scores.narrow(out + i * plan.values, row, plan.values);
    }
  }

  void run() {
    int64_t matrices = 1;
    for (int i = 0; i < plan.batch_ndim; ++i) matrices *= plan.batch_shape[i];
    if (plan.keys == 0) {
      std::fill_n(static_cast<T*>(plan.out), matrices * plan.queries * plan.values, T(0));
      return;
    }
    // Products of bfloat16 pack all keys for each part: they take more queries at a time.
    constexpr int64_t kLeast = kNarrow ? 256 : kLeastRows;
    rows = std::max(kLeast, kScores / plan.keys);
    rows = std::min({rows, plan.causal ? (kNarrow ? kLeast : kMostCausalRows) : kMostRows, plan.queries});
    parts = (plan.queries + rows - 1) / rows;
    const int64_t work = rows * plan.keys * std::max<int64_t>(plan.features + plan.values, 1);
    const int64_t copied = parts > 1 && !kNarrow ? plan.features * keys_step() : 0;
    const GilRelease unlocked(matrices * parts * work > kWork);
    parallel_for(0, matrices * parts, std::max<int64_t>(1, kWork / work), [&](int64_t begin, int64_t end) {
      S* const copy =
          static_cast<S*>(workspace(WorkspaceSlot::Solve, (copied + scratch()) * static_cast<int64_t>(sizeof(S))));
      Matrix keys{};
      for (int64_t t = begin; t < end; ++t) {
        const int64_t matrix = t / parts, first = t % parts * rows;
        if (t == begin || first == 0) keys = transposed_keys(matrix, copied > 0 ? reinterpret_cast<T*>(copy) : nullptr);
        part(matrix, first, std::min(first + rows, plan.queries), keys, copy + copied);
      }
    });
  }
  static constexpr int64_t kMostRows = 512;
};

}  // namespace

void attention(const AttentionPlan& plan) {
  if (plan.queries == 0 || plan.values == 0) return;
  switch (plan.dtype) {
    case DType::Float64: return Attention<double>{plan}.run();
    case DType::BFloat16: return Attention<BFloat16, float>{plan}.run();
    default: Attention<float>{plan}.run();
  }
}

}  // namespace cpu
}  // namespace strided
