#include "cuda/index/index.h"

namespace strided {
namespace cuda {
namespace {

// One element of a place becomes merge(old, value), whatever other threads do to it. Types narrower than a word are
// changed within the aligned word that holds them.
template <ScatterOp Op, class T>
__device__ inline void merge_atomically(char* at, T value) {
  using Word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
  const uintptr_t address = reinterpret_cast<uintptr_t>(at);
  Word* word = reinterpret_cast<Word*>(address & ~uintptr_t(sizeof(Word) - 1));
  const unsigned shift = static_cast<unsigned>(address & (sizeof(Word) - 1)) * 8;
  constexpr Word mask =
      sizeof(T) >= sizeof(Word) ? ~Word(0) : static_cast<Word>((Word(1) << (8 * sizeof(T) % (8 * sizeof(Word)))) - 1);
  Word seen = *word;
  for (;;) {
    const Word bits = static_cast<Word>(seen >> shift) & mask;
    memory_t<T> old;
    memcpy(&old, &bits, sizeof(T));
    const T merged = Merge<Op, T>::merge(value_of<T>(old), value);
    Word fresh = 0;
    memcpy(&fresh, &merged, sizeof(T));
    fresh = (seen & ~static_cast<Word>(mask << shift)) | static_cast<Word>(fresh << shift);
    if (fresh == seen) return;
    const Word now = atomicCAS(word, seen, fresh);
    if (now == seen) return;
    seen = now;
  }
}

template <ScatterOp Op, class T>
__global__ void __launch_bounds__(kThreads) reduce_atomic_kernel(const STRIDED_GRID_CONSTANT IndexArgs a) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  int64_t from, to;
  if (i >= a.n || !a.find(i, &from, &to)) return;
  merge_atomically<Op, T>(a.indexed + to, load<T>(a.dense + from));
}

template <ScatterOp Op, class T>
void fill_one(IndexTable& table) {
  table.reduce_atomic[static_cast<int>(Op)][index_of(dtype_of<T>)] = reduce_atomic_kernel<Op, T>;
}

}  // namespace

void fill_index_atomic(IndexTable& table) {
  for_each(DTypesOf<kinds::Bool | kinds::Int>{}, [&](auto tag, int) {
    using T = typename decltype(tag)::type;
    fill_one<ScatterOp::Add, T>(table);
    fill_one<ScatterOp::Mul, T>(table);
    fill_one<ScatterOp::Max, T>(table);
    fill_one<ScatterOp::Min, T>(table);
  });
  for_each(DTypesOf<kinds::Float>{}, [&](auto tag, int) {
    using T = typename decltype(tag)::type;
    fill_one<ScatterOp::Max, T>(table);
    fill_one<ScatterOp::Min, T>(table);
  });
}

}  // namespace cuda
}  // namespace strided
