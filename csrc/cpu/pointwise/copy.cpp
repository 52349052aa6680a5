// Copies, casts and fills of elements, and streaming stores, for one instruction set.
#include "cpu/pointwise/loops.inc"
#include "cpu/simd.inc"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace strided {
inline namespace STRIDED_ISA {
namespace {

// Between elements of one dtype only bytes move.
template <class T>
using bytes_t =
    std::conditional_t<sizeof(T) == 1, uint8_t,
                       std::conditional_t<sizeof(T) == 2, uint16_t,
                                          std::conditional_t<sizeof(T) == 4, uint32_t,
                                                             std::conditional_t<sizeof(T) == 8, uint64_t, Item16>>>>;

// Line by line, each fetched a KiB before it is read. Four lines at a time took 1.1 times as long from a block in the
// first-level cache, and the same from memory.
void stream_lines(char* to, const char* from, int64_t bytes) {
#if defined(__x86_64__)
#if defined(__AVX512F__)
  using V = __m512i;
  const auto put = [](char* p, V v) { _mm512_stream_si512(reinterpret_cast<V*>(p), v); };
#elif defined(__AVX__)
  using V = __m256i;
  const auto put = [](char* p, V v) { _mm256_stream_si256(reinterpret_cast<V*>(p), v); };
#else
  using V = __m128i;
  const auto put = [](char* p, V v) { _mm_stream_si128(reinterpret_cast<V*>(p), v); };
#endif
  constexpr int64_t kLine = 64, kAhead = 1024, kVector = sizeof(V);
  const auto line = [=](int64_t i) {
#pragma GCC unroll 4
    for (int64_t k = 0; k < kLine; k += kVector) {
      V v;
      std::memcpy(&v, from + i + k, sizeof(V));
      put(to + i + k, v);
    }
  };
  int64_t i = 0;
  for (; i < bytes - kAhead; i += kLine) {
    __builtin_prefetch(from + i + kAhead);
    line(i);
  }
  for (; i < bytes; i += kLine) line(i);
#else
  std::memcpy(to, from, static_cast<size_t>(bytes));
#endif
}

// Rows whose items are a cache line of the result, and few columns, whose rows stay in the first-level cache.
void turn(char* to, int64_t to_column, const char* from, int64_t from_row, int64_t rows, int64_t columns) {
  using U = uint64_t;
  constexpr int64_t size = sizeof(U), kRows = 64 / size, kColumns = 64;
  for (int64_t c = 0; c < columns; c += kColumns)
    for (int64_t r = 0; r < rows; r += kRows)
      transpose_copy(min_of(kRows, rows - r), min_of(kColumns, columns - c),
                     reinterpret_cast<const U*>(from + r * from_row + c * size), from_row / size,
                     reinterpret_cast<U*>(to + c * to_column + r * size), to_column / size);
}

// A dtype without loops of its own has conversions from and to its loop dtype. Others are made of these and of the loop
// dtype's, a block at a time.
struct Conversion {
  ContiguousLoop loop;
  int64_t to_size, from_size;
};
[[maybe_unused]] __attribute__((noinline)) void convert_twice(const Conversion& first, const Conversion& second,
                                                              char* out, const char* in, int64_t n) {
  alignas(64) char buffer[kBlock * 16];
  char* middle[] = {buffer};
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = n - i < kBlock ? n - i : kBlock;
    char* from[] = {const_cast<char*>(in) + i * first.from_size};
    first.loop(buffer, from, m, nullptr);
    second.loop(out + i * second.to_size, middle, m, nullptr);
  }
}
template <class To, class From>
constexpr Conversion kConversion = {convert_loop<To, From>, sizeof(To), sizeof(From)};

template <class To, class Middle, class From>
void convert_through(char* out, char* const* in, int64_t n, const void*) {
  convert_twice(kConversion<Middle, From>, kConversion<To, Middle>, out, in[0], n);
}
template <class To, class Middle, class From>
void copy_through(char** data, const int64_t* strides, int64_t n0, int64_t n1, const void* params) {
  run_blocked(convert_through<To, Middle, From>, 1, data, strides, n0, n1, sizeof(To), sizeof(From), params);
}

template <class To, class From>
constexpr Loop2d copy_loop_of() {
  using ToLoop = typename DTypeTraits<To>::LoopType;
  using FromLoop = typename DTypeTraits<From>::LoopType;
  if constexpr (std::is_same_v<To, From> && !std::is_same_v<To, bool>) return copy_loop<bytes_t<To>, bytes_t<To>>;
  else if constexpr (!std::is_same_v<To, ToLoop> && !std::is_same_v<From, ToLoop>)
    return copy_through<To, ToLoop, From>;
  else if constexpr (!std::is_same_v<From, FromLoop> && !std::is_same_v<To, FromLoop>)
    return copy_through<To, FromLoop, From>;
  else return copy_loop<To, From>;
}

}  // namespace

void fill_copy(KernelTable& table) {
  table.stream = stream_lines;
  table.turn = turn;
  for_each(DTypes{}, [&](auto to, int row) {
    for_each(DTypes{}, [&](auto from, int column) {
      table.copy[row][column] = copy_loop_of<typename decltype(to)::type, typename decltype(from)::type>();
    });
  });
}

}  // namespace STRIDED_ISA
}  // namespace strided
