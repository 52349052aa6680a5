// Selection from rows by keys (Note [Keys] in backend/sort_keys.h), for each instruction set.
#pragma once

#include "cpu/kernels.h"

namespace strided {

// For items of 1, 2, 4 and 8 bytes. Keys are as SortCoding has them, without its base.
struct SelectKernels {
  // The key of the k-th element (from 0) in the order of the sort. scratch: select_words(n).
  uint64_t (*kth_key[4])(const char* in, int64_t n, int64_t k, const SortCoding& coding, int64_t* scratch) = {};
  // The first place of a key, n where it is not; how often it is there.
  int64_t (*find_key[4])(const char* in, int64_t n, const SortCoding& coding, uint64_t key) = {};
  int64_t (*count_key[4])(const char* in, int64_t n, const SortCoding& coding, uint64_t key) = {};
  // The places of keys below a limit, in ascending order, and their number. places: n.
  int64_t (*places_below[4])(const char* in, int64_t n, const SortCoding& coding, uint64_t limit,
                             uint32_t* places) = {};
  // The values of the different keys in ascending order, and their number; of a key that stands for several values any
  // one. scratch: select_words(n).
  int64_t (*distinct_keys[4])(char* values, const char* in, int64_t n, const SortCoding& coding, int64_t* scratch) = {};
};
extern SelectKernels select_kernels;
constexpr int64_t select_words(int64_t n) { return 2 * (n + 2 * kSortSlack); }

}  // namespace strided
