// Rows in sorted order, as words: keys with their positions (Note [Keys] in backend/sort_keys.h).
#pragma once

#include <optional>

#include "core/allocator.h"
#include "cpu/kernels.h"

namespace strided {
namespace cpu {

// Room for n words: on the stack for short rows, else from the library's allocator, which keeps large blocks (the page
// faults of fresh memory would cost as much as a pass over it). Inlined always: code of one instruction set must not
// become the function of this name that all call.
template <class E>
class Words {
 public:
  __attribute__((always_inline)) explicit Words(int64_t n)
      : bytes_(n > kStack ? static_cast<size_t>(n) * sizeof(E) : 0),
        data(bytes_ ? static_cast<E*>(cpu_allocate(bytes_)) : stack_) {}
  __attribute__((always_inline)) ~Words() {
    if (bytes_) cpu_free(data, bytes_);
  }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

 private:
  static constexpr int64_t kStack = 512;
  E stack_[kStack];
  size_t bytes_;

 public:
  E* const data;
};

// A stable order is unique, so the result does not depend on the number of threads. One row is sorted by several.
class SortedRows {
 public:
  SortedRows(DType dtype, const char* in, int64_t n, int64_t rows, bool descending);

  // Of the i-th word: what is equal for equal elements, in the order of the sort; the position of its element.
  uint64_t key(int64_t i) const {
    return index_ ? static_cast<uint64_t>(words_[i]) : static_cast<uint64_t>(words_[i]) >> 32;
  }
  int64_t position(int64_t i) const { return index_ ? index_[i] : words_[i] & 0xffffffff; }
  // The first n of each row, all of them if there are several. Either result may be null.
  void write(char* values, int64_t* index, int64_t n) const;

 private:
  struct Span {  // words [begin, end)
    int64_t begin, end;
  };
  void sort_parts(int64_t parts);
  void merge(const Span& a, const Span& b, int64_t to, int64_t begin, int64_t end);

  const char* const in_;
  const int64_t n_, rows_;
  const int size_;  // row of the tables of SortKernels
  SortCoding coding_;
  std::optional<Words<int64_t>> memory_;  // words, positions if they stand apart, and as much again
  int64_t *words_ = nullptr, *index_ = nullptr, *other_ = nullptr, *other_index_ = nullptr;
};

SortCoding coding_of(DType dtype, bool descending);
int kernel_row(DType dtype);  // of the tables for items of 1, 2, 4 and 8 bytes

// Rows that the kernels of cpu/sort/short_rows.h take; what they give back.
int64_t sort_short_rows(DType dtype, char* values, int64_t* index, const char* in, int64_t n, int64_t rows,
                        bool descending, char* scratch, int64_t* again);

// One row, by several threads. False where its kernels (cpu/sort/long_rows.h) do not serve.
bool sort_long_row(DType dtype, char* values, int64_t* index, const char* in, int64_t n, bool descending);

}  // namespace cpu
}  // namespace strided
