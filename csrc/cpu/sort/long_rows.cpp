#include "cpu/sort/long_rows.h"

#include <algorithm>
#include <vector>

#include "backend/sort_keys.h"
#include "base/parallel.h"
#include "cpu/sort/sorted_rows.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kThreadItems = 32768;  // elements that are worth another thread
constexpr int64_t kAhead = 8;            // positions of a key are written in order, which processors do not see
constexpr int64_t kLong = 8192;          // elements that are worth cuts
constexpr int64_t kCounted = 2048;       // elements of whose keys the range is worth a look

int64_t parts_of(int64_t n) {
  return in_parallel_region() ? 1 : std::clamp<int64_t>(n / kThreadItems, 1, num_threads());
}

// Places of the first element of each part (row) in each bucket (column), from the numbers of elements. Sets where each
// bucket begins, and the end of the last one.
void place_parts(std::vector<int64_t>& counts, int64_t parts, int64_t buckets, std::vector<int64_t>& begins) {
  begins.resize(static_cast<size_t>(buckets) + 1);
  int64_t at = 0;
  for (int64_t b = 0; b < buckets; ++b) {
    begins[static_cast<size_t>(b)] = at;
    for (int64_t p = 0; p < parts; ++p) {
      int64_t& count = counts[static_cast<size_t>(p * buckets + b)];
      const int64_t m = count;
      count = at;
      at += m;
    }
  }
  begins.back() = at;
}

// Counts of one key that follow each other would wait for each other.
constexpr int kApart = 4;
template <class K, class Digit>
void count_digits(int64_t* counts, int64_t keys, const K* in, int64_t begin, int64_t end, Digit digit_of) {
  uint32_t count[kApart][1 << kSortDigit];  // a row of 2^32 elements is not sorted so
  for (auto& row : count) std::fill(row, row + keys, 0u);
  int64_t i = begin;
  for (; i + kApart <= end; i += kApart)
    for (int64_t k = 0; k < kApart; ++k) ++count[k][digit_of(in[i + k])];
  for (; i < end; ++i) ++count[0][digit_of(in[i])];
  for (int64_t k = 0; k < keys; ++k) counts[k] = int64_t{count[0][k]} + count[1][k] + count[2][k] + count[3][k];
}
template <class K, class Digit>
void place_digits(int64_t* index, int64_t* place, const K* in, int64_t begin, int64_t end, Digit digit_of) {
  for (int64_t i = begin; i < end; ++i) {
    int64_t& at = place[digit_of(in[i])];
    __builtin_prefetch(index + at + kAhead, 1);
    index[at++] = i;
  }
}

// Elements of few different keys, none of them a float's: each key's positions are counted, and written where they
// belong. digit_of: a key from the least one on.
template <class K, class Digit>
void sort_digits(K* values, int64_t* index, const K* in, int64_t n, int64_t keys, Digit digit_of,
                 const std::vector<K>& value_of) {
  const int64_t parts = parts_of(n), step = (n + parts - 1) / parts;
  std::vector<int64_t> counts(static_cast<size_t>(parts * keys)), begins;
  const auto for_parts = [&](auto&& f) {
    parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) f(counts.data() + p * keys, p * step, std::min(n, (p + 1) * step));
    });
  };
  for_parts([&](int64_t* count, int64_t begin, int64_t end) { count_digits(count, keys, in, begin, end, digit_of); });
  place_parts(counts, parts, keys, begins);
  if (index)
    for_parts(
        [&](int64_t* place, int64_t begin, int64_t end) { place_digits(index, place, in, begin, end, digit_of); });
  if (values)
    for (size_t k = 0; k < value_of.size(); ++k) std::fill(values + begins[k], values + begins[k + 1], value_of[k]);
}

template <class K>
void sort_few_keys(K* values, int64_t* index, const K* in, int64_t n, const SortCoding& c, K low, int64_t keys) {
  const KeyCode<K> code{static_cast<KeyKind>(c.kind), 0};
  const K flip = static_cast<K>(c.flip);
  std::vector<K> value_of(static_cast<size_t>(keys));
  for (size_t k = 0; k < value_of.size(); ++k)
    value_of[k] = code.decode(static_cast<K>(static_cast<K>(low + static_cast<K>(k)) ^ flip));
  if (code.kind == KeyKind::Bool) {
    const auto digit_of = [=](K x) { return static_cast<K>(static_cast<K>(static_cast<K>(x != 0) ^ flip) - low); };
    return sort_digits(values, index, in, n, keys, digit_of, value_of);
  }
  const K turned = static_cast<K>(code.encode(0) ^ flip);  // integers are encoded by turning bits
  const auto digit_of = [=](K x) { return static_cast<K>(static_cast<K>(x ^ turned) - low); };
  sort_digits(values, index, in, n, keys, digit_of, value_of);
}

// False where there are many.
bool sort_few_keys(DType dtype, char* values, int64_t* index, const char* in, int64_t n, const SortCoding& c) {
  if (is_floating(dtype) || n < kCounted || n > 0xffffffff) return false;
  uint64_t low = 0, high = 0;
  kernel_table().sort.key_range[kernel_row(dtype)](in, n, c, &low, &high);
  if (high - low >= uint64_t(1) << kSortDigit) return false;
  const int64_t keys = static_cast<int64_t>(high - low) + 1;
  const auto sort_items = [&](auto item) {
    using K = decltype(item);
    sort_few_keys(reinterpret_cast<K*>(values), index, reinterpret_cast<const K*>(in), n, c, static_cast<K>(low), keys);
  };
  switch (size_of(dtype)) {
    case 1: sort_items(uint8_t{}); break;
    case 2: sort_items(uint16_t{}); break;
    case 4: sort_items(uint32_t{}); break;
    default: sort_items(uint64_t{});
  }
  return true;
}

}  // namespace

bool sort_long_row(DType dtype, char* values, int64_t* index, const char* in, int64_t n, bool descending) {
  const int row = kernel_row(dtype);
  const LongRowKernels& kernels = kernel_table().sort.long_rows[row];
  const SortCoding coding = coding_of(dtype, descending);
  if (sort_few_keys(dtype, values, index, in, n, coding)) return true;
  if (kernels.sort == nullptr || n < kLong || n > 0xffffffff) return false;
  const int64_t item = size_of(dtype), planes = item == 8 ? 2 : 1, capacity = n + kSortSlack;
  const Words<int64_t> memory(planes * capacity);
  int64_t *const words = memory.data, *const positions = planes == 2 ? words + capacity : nullptr;
  const int levels = bucket_levels(n);
  alignas(64) int64_t cuts[kCutBytes / 8];
  kernels.choose(cuts, in, n, coding, levels);
  const int64_t buckets = int64_t{1} << levels, parts = parts_of(n), step = (n + parts - 1) / parts;
  const Words<uint8_t> bucket(n);
  std::vector<int64_t> counts(static_cast<size_t>(parts * buckets)), begins;
  const auto for_parts = [&](auto&& f) {
    parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) f(p * step, std::min(n, (p + 1) * step), counts.data() + p * buckets);
    });
  };
  for_parts([&](int64_t begin, int64_t end, int64_t* count) {
    kernels.count(bucket.data + begin, count, in + begin * item, end - begin, coding, cuts, levels);
  });
  check_interrupt();
  place_parts(counts, parts, buckets, begins);
  for_parts([&](int64_t begin, int64_t end, int64_t* place) {
    kernels.distribute(words, positions, place, bucket.data + begin, in + begin * item, begin, end - begin, coding);
  });
  check_interrupt();
  int64_t most = 0;
  for (size_t b = 0; b < static_cast<size_t>(buckets); ++b) most = std::max(most, begins[b + 1] - begins[b]);
  const Words<int64_t> other(most > kMostInBucket ? planes * capacity : 0);
  parallel_for(0, buckets, parts > 1 ? 1 : buckets, [&](int64_t first, int64_t last) {
    const Words<int64_t> scratch(long_row_words(most));
    for (int64_t b = first; b < last; ++b) {
      const int64_t begin = begins[static_cast<size_t>(b)], count = begins[static_cast<size_t>(b + 1)] - begin;
      kernels.sort(values ? values + begin * item : nullptr, index ? index + begin : nullptr, words + begin,
                   positions ? positions + begin : nullptr, count, in, coding, other.data + planes * begin,
                   scratch.data);
      check_interrupt();
    }
  });
  return true;
}

}  // namespace cpu
}  // namespace strided
