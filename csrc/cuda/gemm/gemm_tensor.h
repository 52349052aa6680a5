// Products of tiles on the tensor cores (Note [Fragments] in tensor_core.h).
//
// Slabs of 16-bit elements.
// A slab lies in shared memory as its operand lies in memory: [outer][k] where neighbours along k are neighbours (or
// nothing is), [k][outer] where neighbours along m or n are; ldmatrix reads fragments out of either. It is copied and
// read in chunks of 16 bytes, of which up to eight of a row are a line; where a row has more, the second lines of all
// rows come behind the first ones. So that the eight rows that ldmatrix reads at a time meet different banks, the
// chunks of a line change places by an exclusive or with the row's number.
#pragma once

#include "cuda/gemm/gemm_tile.h"
#include "cuda/gemm/tensor_core.h"

namespace strided {
namespace cuda {

template <class T, int kOuter_, int kDepth_, int kThreads, bool kAlongOuter_>
class TensorSlab {
 public:
  using Element = T;
  static constexpr int kOuter = kOuter_, kDepth = kDepth_, kElements = kOuter * kDepth;
  static constexpr bool kAlongOuter = kAlongOuter_;

 private:
  static constexpr int kChunk = 8, kRows = kAlongOuter ? kDepth : kOuter,
                       kChunks = (kAlongOuter ? kOuter : kDepth) / kChunk;
  static constexpr int kCount = kRows * kChunks / kThreads;  // chunks of one thread, which stand kRowStep rows apart
  static constexpr int kRowStep = kThreads / kChunks;
  static_assert(sizeof(T) == 2 && kRows * kChunks % kThreads == 0 && kThreads % kChunks == 0, "threads share evenly");
  static_assert(kRowStep % 8 == 0, "the chunks of a thread have changed places alike");

 public:
  static constexpr int kLine = kChunks < 8 ? kChunks : 8;

  // Where a chunk of a row is.
  __device__ static int place(int row, int chunk) {
    const int turn = row / (8 / kLine) & (kLine - 1);
    return ((chunk & -kLine) * kRows + row * kLine + ((chunk & (kLine - 1)) ^ turn)) * kChunk;
  }

  __device__ TensorSlab(const T* from, int64_t outer_stride, int64_t k_stride, OperandFlags flags, int outer,
                        int64_t depth)
      : row_stride_(kAlongOuter ? k_stride : outer_stride),
        stride_(kAlongOuter ? outer_stride : k_stride),
        next_(kDepth * k_stride),
        depth_(depth),
        outer_(outer),
        row_(static_cast<int>(threadIdx.x) / kChunks),
        first_(static_cast<int>(threadIdx.x) % kChunks * kChunk),
        place_(place(row_, first_ / kChunk)),
        whole_(flags.whole) {
    from_ = from + row_ * row_stride_ + first_ * stride_;
  }

  __device__ void begin(T* slab) {
    T* to = slab + place_;
    if (whole_ && outer_ >= kOuter && depth_ >= kDepth) {  // most slabs: nothing is compared
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        copy_async<16>(to + i * (kRowStep * kLine * kChunk), from_ + i * (kRowStep * row_stride_));
    } else {
#pragma unroll 1
      for (int i = 0; i < kCount; ++i) bring(to + i * (kRowStep * kLine * kChunk), i * kRowStep);
    }
    from_ += next_;
    depth_ -= kDepth;
  }
  __device__ void end(T*) const {}

 private:
  // The chunk `rows` further down, which may lie outside in part or altogether.
  __device__ void bring(T* to, int rows) const {
    const int64_t left = (kAlongOuter ? static_cast<int64_t>(outer_) : depth_) - first_;
    const bool row_inside = row_ + rows < (kAlongOuter ? depth_ : static_cast<int64_t>(outer_));
    const int run = !row_inside || left <= 0 ? 0 : left >= kChunk ? kChunk : static_cast<int>(left);
    const T* from = from_ + rows * row_stride_;
    if (whole_) return copy_async<16>(to, run ? from : from_, run * 2);
    struct alignas(16) Chunk {
      uint16_t bits[kChunk];
    } values;
#pragma unroll
    for (int e = 0; e < kChunk; ++e) values.bits[e] = e < run ? from[e * stride_].bits : uint16_t{0};
    *reinterpret_cast<Chunk*>(to) = values;
  }

  const T* from_;  // the thread's first chunk
  int64_t row_stride_, stride_, next_, depth_;
  int outer_, row_, first_, place_;
  bool whole_;  // chunks may be copied 16 bytes at a time
};

// A warp's sums, kRows x kColumns fragments of 16 x 8.
template <int kM, int kN, int kWarpM, int kWarpN>
struct Fragments {
  static constexpr int kThreads = kM * kN / (kWarpM * kWarpN) * static_cast<int>(kWarp);
  static constexpr int kRows = kWarpM / 16, kColumns = kWarpN / 8, kWarpsM = kM / kWarpM;
  static constexpr int kEach = 2, kPadding = 2, kBehind = 0, kCapability = 0;
  static constexpr bool kHere = true;
  __device__ static void arrived() {}
  __device__ static void finish() {}

  float sum[kRows][kColumns][4];
  int lane, row, column;  // the warp's place in the tile

  __device__ Fragments() {
    lane = static_cast<int>(threadIdx.x % kWarp);
    const int warp = static_cast<int>(threadIdx.x / kWarp);
    row = warp % kWarpsM * kWarpM;
    column = warp / kWarpsM * kWarpN;
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) sum[i][j][e] = 0;
  }

  // float32 factors rounded to tf32, from slabs [k][outer] (gemm_tile.h).
  template <class SlabA, class SlabB>
  __device__ void multiply(const float* a, const float* b) {
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int k = 0; k < SlabA::kDepth; k += 8) {
      uint32_t x[kRows][4], y[kColumns][2];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          x[i][e] = to_tf32(a[(k + t + e / 2 * 4) * SlabA::kPitch + row + 16 * i + g + e % 2 * 8]);
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) y[j][e] = to_tf32(b[(k + t + e * 4) * SlabB::kPitch + column + 8 * j + g]);
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int j = 0; j < kColumns; ++j) multiply_fragments_tf32(sum[i][j], x[i], y[j]);
    }
  }

  // 16-bit factors from slabs as above.
  template <class SlabA, class SlabB, class T>
  __device__ void multiply(const T* a, const T* b) {
#pragma unroll
    for (int k = 0; k < SlabA::kDepth; k += 16) {
      uint32_t x[kRows][4], y[kColumns][2];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const int m = row + 16 * i;
        const int at = SlabA::kAlongOuter ? SlabA::place(k + lane % 8 + lane / 16 * 8, m / 8 + lane / 8 % 2)
                                          : SlabA::place(m + lane % 16, k / 8 + lane / 16);
        load_fragments<SlabA::kAlongOuter>(x[i], a + at);
      }
#pragma unroll
      for (int j = 0; j < kColumns; j += 2) {
        const int n = column + 8 * j;
        const int at = SlabB::kAlongOuter ? SlabB::place(k + lane % 16, n / 8 + lane / 16)
                                          : SlabB::place(n + lane % 8 + lane / 16 * 8, k / 8 + lane / 8 % 2);
        uint32_t two[4];
        load_fragments<SlabB::kAlongOuter>(two, b + at);
        y[j][0] = two[0];
        y[j][1] = two[1];
        y[j + 1][0] = two[2];
        y[j + 1][1] = two[3];
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int j = 0; j < kColumns; ++j) multiply_fragments<T>(sum[i][j], x[i], y[j]);
    }
  }

  template <class F>
  __device__ void each(F f) const {
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
#pragma unroll
        for (int e = 0; e < 4; e += 2) f(row + 16 * i + g + e * 4, column + 8 * j + 2 * t, &sum[i][j][e]);
  }
};

template <class T, class Sums, int kM, int kN, int kDepth>
struct TensorSlabs {
  static constexpr int kVector = 8;
  template <bool along_m>
  using A = TensorSlab<T, kM, kDepth, Sums::kThreads, along_m>;
  template <bool along_n>
  using B = TensorSlab<T, kN, kDepth, Sums::kThreads, along_n>;
};
template <class T, class Sums, int kM, int kN, int kDepth, int kStages, int kBlocks>
GemmTile tensor_tile_of(double speed) {
  return tile_of_slabs<T, float, Sums, TensorSlabs<T, Sums, kM, kN, kDepth>, kStages, kBlocks>(speed);
}

}  // namespace cuda
}  // namespace strided
