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

constexpr int64_t long_row_words(int64_t n) { return 5 * ((n < kMostInBucket ? n : kMostInBucket) + kSortSlack); }

}  // namespace strided
