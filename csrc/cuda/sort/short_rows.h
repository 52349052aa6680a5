// Rows short enough to be sorted in shared memory.
#pragma once

#include <algorithm>

#include "base/integer.h"
#include "cuda/runtime/runtime.h"
#include "cuda/sort/sort_rows.h"

namespace strided {
namespace cuda {

template <class K>
struct SortArgs {
  const K* in;  // [row][n]
  int64_t n, keep;
  K* values;
  int64_t* index;
  const int64_t* position;
  KeyCode<K> code;
  K flip;

  explicit SortArgs(const RowSort& plan)
      : in(reinterpret_cast<const K*>(plan.in)),
        n(plan.n),
        keep(plan.keep),
        values(reinterpret_cast<K*>(plan.values)),
        index(plan.index),
        position(plan.position),
        code(key_code<K>(plan.dtype)),
        flip(plan.descending ? static_cast<K>(~K(0)) : K(0)) {}
  __device__ K key_at(int64_t i) const { return static_cast<K>(code.encode(in[i]) ^ flip); }
  // Item number `place` of a sorted row: its key, and where in the row it was.
  __device__ void write(int64_t row, int64_t place, K key, int64_t from) const {
    if (place >= keep) return;
    const int64_t to = row * keep + place, at = row * n + from;
    const K k = static_cast<K>(key ^ flip);
    if (values) values[to] = code.stands_for_several(k) ? in[at] : code.decode(k);
    if (index) index[to] = position ? position[at] : from;
  }
};

// Sorting short rows.
// Rows are filled up to a power of two and sorted in shared memory by K. E. Batcher's network ("Sorting networks and
// their applications", AFIPS 1968), as many as fit at the same time. Keys are compared together with positions, which
// makes the order unique, hence stable. A warp works on 64 neighbouring items until the network connects items that
// are further apart; only then do the others matter.
template <class K>
struct Pairs {  // key and position in one word
  using Word = std::conditional_t<sizeof(K) <= 2, uint32_t, uint64_t>;
  static constexpr int half = 4 * sizeof(Word);
  static constexpr int places = 1;
  Word* word;
  __device__ Pairs(Word* w, uint16_t*) : word(w) {}
  __device__ void set(int i, K key, unsigned from) const { word[i] = static_cast<Word>(key) << half | from; }
  __device__ void fill(int i) const { word[i] = ~Word(0); }
  __device__ K key(int i) const { return static_cast<K>(word[i] >> half); }
  __device__ int from(int i) const { return static_cast<int>(word[i] & 0xffff); }
  __device__ void order(int i, int j, bool up) const {
    const Word a = word[i], b = word[j];
    if ((a > b) == up) {
      word[i] = b;
      word[j] = a;
    }
  }
};
template <>
struct Pairs<uint64_t> {
  using Word = uint64_t;
  static constexpr int places = static_cast<int>(kShortRow);
  Word* word;
  uint16_t* place;
  __device__ Pairs(Word* w, uint16_t* p) : word(w), place(p) {}
  __device__ void set(int i, uint64_t key, unsigned from) const {
    word[i] = key;
    place[i] = static_cast<uint16_t>(from);
  }
  __device__ void fill(int i) const { set(i, ~uint64_t(0), 0xffff); }
  __device__ uint64_t key(int i) const { return word[i]; }
  __device__ int from(int i) const { return place[i]; }
  __device__ void order(int i, int j, bool up) const {
    const Word a = word[i], b = word[j];
    const uint16_t p = place[i], q = place[j];
    if ((a > b || (a == b && p > q)) == up) {
      word[i] = b;
      word[j] = a;
      place[i] = q;
      place[j] = p;
    }
  }
};

// Which rows a block has.
struct ShortRows {
  int64_t rows;
  int32_t of_block = 1, length = 1;  // length: of a row that was filled up

  ShortRows(const char* name, int64_t n, int64_t rows_) : rows(rows_) {
    constexpr int64_t kEnoughBlocks = 512;  // to fill a large device
    while (length < n) length *= 2;
    of_block = static_cast<int32_t>(std::min(kShortRow / length, ceil_div(rows, kEnoughBlocks)));
    STRIDED_CHECK(ceil_div(rows, of_block) < kMaxItems, NotImplementedError, name, ": ", rows,
                  " rows on device 'cuda'");
  }
  dim3 grid() const { return dim3(static_cast<unsigned>(ceil_div(rows, of_block))); }
  __device__ int64_t first() const { return static_cast<int64_t>(blockIdx.x) * of_block; }
};

// Brings the rows of a block to shared memory and sorts them there; how many there are.
template <class K>
__device__ inline int sort_in_block(const Pairs<K>& pairs, const SortArgs<K>& a, const ShortRows& rows) {
  const int64_t first = rows.first(), more = rows.rows - first;
  const int here = more < rows.of_block ? static_cast<int>(more) : rows.of_block, n = static_cast<int>(a.n);
  const int length = rows.length, items = here * length, me = static_cast<int>(threadIdx.x);
  for (int i = me; i < items; i += kThreads) {
    const int row = i / length, from = i & (length - 1);
    if (from < n) pairs.set(i, a.key_at((first + row) * n + from), static_cast<unsigned>(from));
    else pairs.fill(i);
  }
  bool far = true;  // did the last step reach beyond the 64 items of a warp?
#pragma unroll 1
  for (int size = 2; size <= length; size *= 2) {
#pragma unroll 1
    for (int apart = size / 2; apart > 0; apart /= 2) {
      if (far || apart > 32) __syncthreads();
      else __syncwarp();
      far = apart > 32;
      for (int p = me; p < items / 2; p += kThreads) {
        const int i = 2 * p - (p & (apart - 1));
        pairs.order(i, i + apart, (i & (length - 1) & size) == 0);
      }
    }
  }
  __syncthreads();
  return here;
}

}  // namespace cuda
}  // namespace strided
