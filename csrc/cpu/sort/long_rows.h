// Sorting of a long row with its positions, in pieces that stay in the nearest caches.
//
// Note [Long rows]
// The sorted order of a sample, or a histogram of it (AVX2), is cut into up to kMostBuckets parts. One pass over the
// row finds the part that each element belongs to, and counts; a second one moves the words of each part to one place.
// They keep their order there, so the sort is stable. A part is then sorted in words of 32 bits: leading bits of the
// keys, counted from the least one of the part, and the place within the part (W. D. Frazer, A. C. McKellar,
// "Samplesort: a sampling approach to minimal storage tree sorting", JACM 17, 1970). Passes over pieces of the row, and
// parts, are shared by threads.
#pragma once

#include "cpu/kernels.h"

namespace strided {

constexpr int kMostLevels = 8;  // of the search for the part, at most: each is a permutation of a vector
constexpr int64_t kMostBuckets = 1 << kMostLevels;
constexpr int64_t kInBucket = 2048;               // words of a part, if there are not too many parts
constexpr int64_t kMostInBucket = 8 * kInBucket;  // words that are sorted without being distributed again

constexpr int64_t kCutBytes = (1 << 14) + 64;  // of what says which part an element belongs to

// The number of parts is a power of two.
constexpr int bucket_levels(int64_t n) {
  int levels = 0;
  while (levels < kMostLevels && n >> levels > kInBucket) ++levels;
  return levels;
}

// Words are those of SortKernels without a base: one array for keys of up to 32 bits, two for longer ones.
struct LongRowKernels {
  // Cuts of a sample, for 1 << levels parts; to: kCutBytes.
  void (*choose)(int64_t* to, const char* in, int64_t n, const SortCoding& coding, int levels) = nullptr;
  // The part of each element, and how many belong to each part.
  void (*count)(uint8_t* bucket, int64_t* counts, const char* in, int64_t n, const SortCoding& coding,
                const int64_t* cuts, int levels) = nullptr;
  // Moves each element's word to the next place of its part. The first element's position is `first`.
  void (*distribute)(int64_t* words, int64_t* positions, int64_t* place, const uint8_t* bucket, const char* in,
                     int64_t first, int64_t n, const SortCoding& coding) = nullptr;
  // Values and positions (either may be null) in sorted order of n words whose positions ascend. `in`: the row. What
  // is at `words`, `positions` and `other` (as much, for n > kMostInBucket) is lost. scratch: long_row_words(n).
  void (*sort)(char* values, int64_t* to, int64_t* words, int64_t* positions, int64_t n, const char* in,
               const SortCoding& coding, int64_t* other, int64_t* scratch) = nullptr;
};
// For items of 1 (none), 2, 4 and 8 bytes, of the instruction set that was chosen.
extern LongRowKernels long_row_kernels[4];

constexpr int64_t long_row_words(int64_t n) { return 5 * ((n < kMostInBucket ? n : kMostInBucket) + kSortSlack); }

}  // namespace strided
