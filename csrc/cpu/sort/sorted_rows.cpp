#include "cpu/sort/sorted_rows.h"

#include <algorithm>
#include <vector>

#include "backend/sort_keys.h"
#include "base/parallel.h"
#include "cpu/sort/select.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kThreadItems = 32768;  // elements that are worth another thread
constexpr int64_t kLongPart = 1 << 24;   // elements that are sorted without a look at signals
constexpr int64_t kScanned = 2048;       // so many elements are worth a look at what keys there are

int bit_length(uint64_t x) {
  int n = 0;
  for (; x > 0; x >>= 1) ++n;
  return n;
}

}  // namespace

SortCoding coding_of(DType dtype, bool descending) {
  const KeyCode<uint64_t> code = key_code<uint64_t>(dtype);
  SortCoding c;
  c.kind = static_cast<uint8_t>(code.kind);
  c.infinity = code.infinity;
  c.flip = descending ? ~uint64_t(0) >> (64 - 8 * size_of(dtype)) : 0;
  return c;
}

int kernel_row(DType dtype) { return bit_length(static_cast<uint64_t>(size_of(dtype))) - 1; }

int64_t sort_short_rows(DType dtype, char* values, int64_t* index, const char* in, int64_t n, int64_t rows,
                        bool descending, char* scratch, int64_t* again) {
  return kernel_table().sort.short_rows[kernel_row(dtype)](values, index, in, n, rows, coding_of(dtype, descending),
                                                           scratch, again);
}

SortedRows::SortedRows(DType dtype, const char* in, int64_t n, int64_t rows, bool descending)
    : in_(in), n_(n), rows_(rows), size_(kernel_row(dtype)), coding_(coding_of(dtype, descending)) {
  const SortKernels& kernels = kernel_table().sort;
  int bits = 8 << size_;
  // Elements often use a small part of the keys there are: then those of 64 bits fit words.
  if (size_ == 3 || (rows == 1 && n >= kScanned)) {
    uint64_t low = 0, high = 0;
    kernels.key_range[size_](in, n * rows, coding_, &low, &high);
    coding_.base = low;
    bits = bit_length(high - low);
  }
  const bool narrow = bits <= 32 && n < 0xffffffff,
             few_bits = rows == 1 && narrow && bits <= 2 * kSortDigit && n >= kScanned;
  int64_t parts = 1;
  if (rows == 1 && !few_bits && !in_parallel_region())
    while ((2 * parts <= num_threads() && n / (2 * parts) >= kThreadItems) || n / parts > kLongPart) parts *= 2;
  const int64_t capacity = n * rows + parts * (kSortSlack + 1), planes = narrow ? 1 : 2;
  memory_.emplace(2 * planes * capacity);
  words_ = memory_->data;
  other_ = words_ + planes * capacity;
  if (!narrow) index_ = words_ + capacity, other_index_ = other_ + capacity;
  if (parts > 1) {
    sort_parts(parts);
  } else {
    kernels.encode[size_](words_, index_, in, 0, n, rows, coding_);
    kernels.words(words_, index_, n, rows, other_);
  }
}

// Each thread sorts a part; then pairs of parts are merged. Parts stand apart, since a sort touches what is behind.
void SortedRows::sort_parts(int64_t parts) {
  const SortKernels& kernels = kernel_table().sort;
  const int64_t step = (n_ + parts - 1) / parts, place = step + kSortSlack;
  std::vector<Span> runs(static_cast<size_t>(parts));
  parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      const int64_t from = std::min(n_, p * step), n = std::min(n_, from + step) - from, at = p * place;
      int64_t* const index = index_ ? index_ + at : nullptr;
      kernels.encode[size_](words_ + at, index, in_ + (from << size_), from, n, 1, coding_);
      kernels.words(words_ + at, index, n, 1, other_ + (index ? 2 : 1) * at);
      runs[static_cast<size_t>(p)] = {at, at + n};
      check_interrupt();
    }
  });
  for (size_t count = runs.size(); count > 1; count /= 2) {
    const int64_t pieces = num_threads(), piece = (n_ + pieces - 1) / pieces;
    parallel_for(0, pieces, 1, [&](int64_t first, int64_t last) {
      const int64_t begin = first * piece, end = std::min(n_, last * piece);
      for (size_t k = 0, to = 0; k < count; k += 2) {
        const Span &a = runs[k], &b = runs[k + 1];
        const int64_t at = static_cast<int64_t>(to), m = a.end - a.begin + b.end - b.begin;
        merge(a, b, at, std::clamp<int64_t>(begin - at, 0, m), std::clamp<int64_t>(end - at, 0, m));
        to += static_cast<size_t>(m);
      }
    });
    int64_t to = 0;
    for (size_t k = 0; k < count; k += 2) {
      const int64_t m = runs[k].end - runs[k].begin + runs[k + 1].end - runs[k + 1].begin;
      runs[k / 2] = {to, to + m};
      to += m;
    }
    std::swap(words_, other_);
    std::swap(index_, other_index_);
  }
}

// Words [begin, end) of two merged runs, to other_ + to + begin. Where a piece begins is searched for (O. Green,
// S. Odeh, Y. Birk, "Merge path: a visually intuitive approach to parallel merging", 2014).
void SortedRows::merge(const Span& a, const Span& b, int64_t to, int64_t begin, int64_t end) {
  const int64_t *const words = words_, *const index = index_;
  auto less = [=](int64_t i, int64_t j) {
    return words[i] < words[j] || (index && words[i] == words[j] && index[i] < index[j]);
  };
  const int64_t na = a.end - a.begin, nb = b.end - b.begin;
  int64_t low = std::max<int64_t>(0, begin - nb), high = std::min(na, begin);  // how many of the first `begin` are of a
  while (low < high) {
    const int64_t i = (low + high) / 2;
    if (less(b.begin + begin - i - 1, a.begin + i)) high = i;
    else low = i + 1;
  }
  int64_t i = a.begin + low, j = b.begin + begin - low, k = to + begin;
  const int64_t stop = to + end;
  for (; k < stop && i < a.end && j < b.end; ++k) {
    const bool second = less(j, i);
    const int64_t from = second ? j : i;
    other_[k] = words[from];
    if (index) other_index_[k] = index[from];
    j += second;
    i += !second;
  }
  for (int64_t& from = i < a.end ? i : j; k < stop; ++k, ++from) {
    other_[k] = words[from];
    if (index) other_index_[k] = index[from];
  }
}

void SortedRows::write(char* values, int64_t* index, int64_t n) const {
  const auto decode = kernel_table().sort.decode[size_];
  if (rows_ > 1) return decode(values, index, words_, index_, in_, n_, rows_, coding_);
  parallel_for(0, n, kThreadItems, [&](int64_t begin, int64_t end) {
    decode(values ? values + (begin << size_) : nullptr, index ? index + begin : nullptr, words_ + begin,
           index_ ? index_ + begin : nullptr, in_, end - begin, 1, coding_);
  });
}

}  // namespace cpu
}  // namespace strided
