#include "cpu/pointwise/chain.h"

#include <utility>

#include "backend/elementwise.h"
#include "cpu/simd.inc"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

constexpr int kAccumulators = kManyRegisters ? 16 : 8;
constexpr int64_t kStrip = kAccumulators * kVectorBytes;

template <class P>
using BitsOf = std::conditional_t<sizeof(P) == 4, uint32_t, uint64_t>;

// Compilers make one instruction of it.
template <class P>
STRIDED_INLINE Vec<P> root(Vec<P> a) {
  for (int i = 0; i < kLanes<P>; ++i) a[i] = math::sqrt(a[i]);
  return a;
}

template <class P, size_t... I>
struct Strip {
  using V = Vec<P>;
  using Bits = Vec<BitsOf<P>>;
  V acc[sizeof...(I)];

  template <class F>
  STRIDED_INLINE void with(const char* at, F f) {
    ((acc[I] = f(acc[I], load<V>(at + I * sizeof(V)))), ...);
  }
  template <class F>
  STRIDED_INLINE void each(F f) {
    ((acc[I] = f(acc[I])), ...);
  }
  STRIDED_INLINE void put(char* at) const { (store(at + I * sizeof(V), acc[I]), ...); }
};

// The strip at `offset` of all codes. kRest: the last one, of which there are `bytes`.
template <class P, bool kRest, size_t... I>
STRIDED_INLINE void run_strip(const ChainCode* codes, int n_codes, int64_t offset, [[maybe_unused]] size_t bytes,
                              std::index_sequence<I...>) {
  using V = Vec<P>;
  using Bits = Vec<BitsOf<P>>;
  alignas(64) [[maybe_unused]] char rest[kRest ? kStrip : 1] = {};
  Strip<P, I...> s{};
  for (const ChainCode* code = codes; code != codes + n_codes; ++code) {
    char* const place = code->at + (offset & code->mask);
    char* at = place;
    if constexpr (kRest)
      if (code->mask != 0) {
        at = rest;
        if (code->op != ChainOp::Store && reads_operand(code->op)) std::memcpy(rest, place, bytes);
      }
    switch (code->op) {
      case ChainOp::None: break;
      case ChainOp::Load: s.with(at, [](V, V b) { return b; }); break;
      case ChainOp::Store:
        s.put(at);
        if constexpr (kRest)
          if (code->mask != 0) std::memcpy(place, rest, bytes);
        break;
      case ChainOp::Add: s.with(at, [](V a, V b) { return a + b; }); break;
      case ChainOp::Mul: s.with(at, [](V a, V b) { return a * b; }); break;
      case ChainOp::Sub: s.with(at, [](V a, V b) { return a - b; }); break;
      case ChainOp::SubFrom: s.with(at, [](V a, V b) { return b - a; }); break;
      case ChainOp::Div: s.with(at, [](V a, V b) { return a / b; }); break;
      case ChainOp::DivInto: s.with(at, [](V a, V b) { return b / a; }); break;
      case ChainOp::Maximum: s.with(at, [](V a, V b) { return ((a < b) | (b != b)) ? b : a; }); break;
      case ChainOp::MaximumOf: s.with(at, [](V b, V a) { return ((a < b) | (b != b)) ? b : a; }); break;
      case ChainOp::Minimum: s.with(at, [](V a, V b) { return ((b < a) | (b != b)) ? b : a; }); break;
      case ChainOp::MinimumOf: s.with(at, [](V b, V a) { return ((b < a) | (b != b)) ? b : a; }); break;
      case ChainOp::Neg: s.each([](V a) { return -a; }); break;
      case ChainOp::Abs: s.each([](V a) { return (V)((Bits)a & (~BitsOf<P>(0) >> 1)); }); break;
      case ChainOp::Square: s.each([](V a) { return a * a; }); break;
      case ChainOp::Relu: s.each([](V a) { return a < P(0) ? V{} : a; }); break;
      case ChainOp::Reciprocal: s.each([](V a) { return P(1) / a; }); break;
      case ChainOp::Sqrt: s.each([](V a) { return root<P>(a); }); break;
    }
  }
}

template <class P>
void run_chain(const ChainCode* codes, int n_codes, int64_t n) {
  for (const ChainCode* code = codes; code != codes + n_codes; ++code) {
    if (!code->number) continue;
    P number;
    std::memcpy(&number, code->number, sizeof(P));
    for (int i = 0; i < kStrip / static_cast<int>(sizeof(P)); ++i) reinterpret_cast<P*>(code->at)[i] = number;
  }
  constexpr auto accumulators = std::make_index_sequence<kAccumulators>{};
  const int64_t bytes = n * static_cast<int64_t>(sizeof(P));
  int64_t offset = 0;
  for (; offset + kStrip <= bytes; offset += kStrip) run_strip<P, false>(codes, n_codes, offset, 0, accumulators);
  if (offset < bytes) run_strip<P, true>(codes, n_codes, offset, static_cast<size_t>(bytes - offset), accumulators);
}

}  // namespace

void fill_chain(KernelTable& table) {
  ChainKernels& kernels = table.chain;
  kernels.strip = kStrip;
  kernels.run[index_of(DType::Float32)] = run_chain<float>;
  kernels.run[index_of(DType::Float64)] = run_chain<double>;
  kernels.op_of[elementwise_id<Add>] = ChainOp::Add;
  kernels.op_of[elementwise_id<Mul>] = ChainOp::Mul;
  kernels.op_of[elementwise_id<Sub>] = ChainOp::Sub;
  kernels.op_of[elementwise_id<Div>] = ChainOp::Div;
  kernels.op_of[elementwise_id<Maximum>] = ChainOp::Maximum;
  kernels.op_of[elementwise_id<Minimum>] = ChainOp::Minimum;
  kernels.op_of[elementwise_id<Neg>] = ChainOp::Neg;
  kernels.op_of[elementwise_id<Abs>] = ChainOp::Abs;
  kernels.op_of[elementwise_id<Square>] = ChainOp::Square;
  kernels.op_of[elementwise_id<Relu>] = ChainOp::Relu;
  kernels.op_of[elementwise_id<Reciprocal>] = ChainOp::Reciprocal;
  kernels.op_of[elementwise_id<Sqrt>] = ChainOp::Sqrt;
}

}  // namespace STRIDED_ISA
}  // namespace strided
