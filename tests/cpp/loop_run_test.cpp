// Running a planned iteration against counting through all positions: random shapes and layouts, operands of other
// dtypes, threads.
#include "cpu/loop_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/parallel.h"
#include "cpu/streaming.h"
#include "tensor/iter.h"

namespace strided {
namespace cpu {
namespace {

// out = a + 2 b, and one more visit. Operands: out, visits, a, b; all double but visits.
void add_loop(char** data, const int64_t* strides, int64_t n0, int64_t n1, const void* params) {
  EXPECT_EQ(params, nullptr);
  for (int64_t j = 0; j < n1; ++j)
    for (int64_t i = 0; i < n0; ++i) {
      auto at = [&](int k) { return data[k] + i * strides[k] + j * strides[4 + k]; };
      *reinterpret_cast<double*>(at(0)) = *reinterpret_cast<double*>(at(2)) + 2 * *reinterpret_cast<double*>(at(3));
      ++*reinterpret_cast<int32_t*>(at(1));
    }
}

constexpr DType kLoopDtypes[] = {DType::Float64, DType::Int32, DType::Float64, DType::Float64};

// A random layout of the shape inside its own buffer: axes in any order, gaps, negative strides, and for inputs axes of
// stride 0 or of size 1 where the shape has more.
template <class T>
struct Random {
  std::vector<T> buffer;
  Layout layout;
  int64_t first = 0;

  Random(const Dims& shape, bool input, std::mt19937& rng) {
    const int n = shape.ndim();
    Dims sizes = shape, strides(n);
    if (input) {
      const int cut = n > 0 && rng() % 4 == 0 ? static_cast<int>(rng() % n) : 0;  // fewer dimensions
      for (int i = 0; i < cut; ++i) sizes.erase(0);
      for (int64_t& s : sizes)
        if (rng() % 4 == 0) s = 1;
      strides.resize(sizes.size());
    }
    std::vector<int> order(sizes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    if (rng() % 2) std::shuffle(order.begin(), order.end(), rng);
    int64_t step = 1, low = 0, high = 0;
    for (int i = static_cast<int>(order.size()) - 1; i >= 0; --i) {
      const int axis = order[i];
      if (rng() % 4 == 0) step += rng() % 3;
      strides[axis] = step * (rng() % 4 == 0 ? -1 : 1);
      if (input && rng() % 6 == 0) strides[axis] = 0;
      step *= std::max<int64_t>(sizes[axis], 1);
      (strides[axis] < 0 ? low : high) += strides[axis] * (std::max<int64_t>(sizes[axis], 1) - 1);
    }
    first = -low;
    buffer.resize(high - low + 1);
    for (T& x : buffer) x = static_cast<T>(static_cast<int>(rng() % 201) - 100);
    layout = Layout(sizes, strides, 0);
  }
  char* data() { return reinterpret_cast<char*>(buffer.data() + first); }
  // The element that stands at a position of the full shape.
  int64_t place(const Dims& index, const Dims& shape) const {
    const Dims strides = broadcast_strides(layout, shape);
    int64_t at = first;
    for (size_t i = 0; i < index.size(); ++i) at += index[i] * strides[i];
    return at;
  }
};

template <class A, class B, class Out>
void check_case(std::mt19937& rng, int64_t largest, int64_t grain) {
  Dims shape(rng() % 6);
  for (int64_t& s : shape) s = static_cast<int64_t>(rng() % largest) + (rng() % 12 != 0);
  Random<A> a(shape, true, rng);
  Random<B> b(shape, true, rng);
  Random<Out> out(shape, false, rng);
  Random<int32_t> visits(shape, false, rng);
  std::fill(visits.buffer.begin(), visits.buffer.end(), 0);
  const std::vector<Out> before = out.buffer;

  TensorIterator iter(shape);
  iter.add(out.data(), out.layout, dtype_of<Out>);
  iter.add(visits.data(), visits.layout, DType::Int32);
  iter.add(a.data(), a.layout, dtype_of<A>);
  iter.add(b.data(), b.layout, dtype_of<B>);
  iter.plan();
  run_loop(iter.loop_plan("test", Device{}), add_loop, nullptr, 2, kLoopDtypes, grain);

  int64_t numel = 1;
  for (int64_t s : shape) numel *= s;
  std::vector<Out> want = before;
  Dims index(shape.size());
  for (int64_t i = 0; i < numel; ++i) {
    int64_t rest = i;
    for (int k = shape.ndim() - 1; k >= 0; --k) index[k] = rest % shape[k], rest /= shape[k];
    const double x = static_cast<double>(a.buffer[a.place(index, shape)]),
                 y = static_cast<double>(b.buffer[b.place(index, shape)]);
    want[out.place(index, shape)] = static_cast<Out>(x + 2 * y);
    ASSERT_EQ(visits.buffer[visits.place(index, shape)], 1) << shape;
  }
  // The gaps between the elements are compared as well.
  ASSERT_TRUE(want == out.buffer) << "shape " << shape << " out " << out.layout.strides << " a " << a.layout.shape
                                  << a.layout.strides << " b " << b.layout.shape << b.layout.strides;
}

TEST(RunLoop, RandomLayouts) {
  std::mt19937 rng(1);
  for (int i = 0; i < 1500; ++i) check_case<double, double, double>(rng, 7, 32768);
}

TEST(RunLoop, RandomLayoutsWithCasts) {
  std::mt19937 rng(2);
  for (int i = 0; i < 500; ++i) {
    check_case<float, double, double>(rng, 7, 32768);
    check_case<int8_t, int64_t, float>(rng, 7, 32768);
    check_case<double, int16_t, int64_t>(rng, 7, 32768);
  }
}

// More than one buffer of casts in a row, and ranges that begin and end in the middle of one.
TEST(RunLoop, LongRowsAndThreads) {
  const int before = num_threads();
  set_num_threads(3);
  std::mt19937 rng(3);
  for (int i = 0; i < 60; ++i) {
    check_case<double, double, double>(rng, 17, 100);
    check_case<int32_t, float, int64_t>(rng, 17, 100);
  }
  for (int64_t n : {1023, 1024, 1025, 5000}) {
    std::vector<float> a(n), out(n);
    std::vector<int32_t> visits(n, 0);
    for (int64_t i = 0; i < n; ++i) a[i] = static_cast<float>(i);
    const double two = 2;
    TensorIterator iter(Dims{n});
    const Layout line(Dims{n});
    iter.add(reinterpret_cast<char*>(out.data()), line, DType::Float32);
    iter.add(reinterpret_cast<char*>(visits.data()), line, DType::Int32);
    iter.add(reinterpret_cast<char*>(a.data()), line, DType::Float32);
    iter.add_scalar(&two, DType::Float64);
    iter.plan();
    run_loop(iter.loop_plan("test", Device{}), add_loop, nullptr, 2, kLoopDtypes, 700);
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(out[i], static_cast<float>(i) + 4);
      ASSERT_EQ(visits[i], 1);
    }
  }
  set_num_threads(before);
}

// out = a + 2 b.
void sum_loop(char** data, const int64_t* strides, int64_t n0, int64_t n1, const void*) {
  for (int64_t j = 0; j < n1; ++j)
    for (int64_t i = 0; i < n0; ++i) {
      auto at = [&](int k) { return reinterpret_cast<double*>(data[k] + i * strides[k] + j * strides[3 + k]); };
      *at(0) = *at(1) + 2 * *at(2);
    }
}

struct Streamed : testing::Test {
  const int64_t before = streamed_from();
  Streamed() { set_streamed_from(0); }
  ~Streamed() override { set_streamed_from(before); }
};

// Results that begin anywhere in a cache line, of any length; rows that are shorter and longer than a block; ranges of
// several threads; operands that are broadcast and cast. Nothing is written before and behind the result.
template <class Out, class A>
void check_streamed(int64_t rows, int64_t columns, int64_t offset, int64_t grain) {
  constexpr DType dtypes[] = {DType::Float64, DType::Float64, DType::Float64};
  const int64_t n = rows * columns;
  std::vector<Out> out(n + offset + 64, Out(-1));
  std::vector<A> a(n);
  std::vector<double> b(columns);
  for (int64_t i = 0; i < n; ++i) a[i] = static_cast<A>(i % 100);
  for (int64_t i = 0; i < columns; ++i) b[i] = static_cast<double>(i % 13);
  const Dims shape{rows, columns};
  TensorIterator iter(shape);
  iter.add(reinterpret_cast<char*>(out.data() + offset), Layout(shape), dtype_of<Out>);
  iter.add(reinterpret_cast<char*>(a.data()), Layout(shape), dtype_of<A>);
  iter.add(reinterpret_cast<char*>(b.data()), Layout(Dims{columns}), DType::Float64);
  iter.plan();
  run_loop(iter.loop_plan("test", Device{}), sum_loop, nullptr, 1, dtypes, grain, true);
  for (int64_t i = 0; i < static_cast<int64_t>(out.size()); ++i) {
    const int64_t at = i - offset;
    const bool inside = at >= 0 && at < n;
    ASSERT_EQ(out[i], inside ? static_cast<Out>(static_cast<double>(a[at]) + 2 * b[at % columns]) : Out(-1))
        << rows << " x " << columns << " at " << i << ", offset " << offset;
  }
}

TEST_F(Streamed, Results) {
  const int before = num_threads();
  set_num_threads(3);
  for (int64_t rows : {1, 2, 7, 40})
    for (int64_t columns : {1, 3, 8, 127, 128, 129, 255, 256, 257, 1000, 3000})
      for (int64_t offset : {0, 1, 5, 8}) {
        check_streamed<double, double>(rows, columns, offset, kSequential);
        check_streamed<double, float>(rows, columns, offset, 1000);
        check_streamed<int16_t, double>(rows, columns, offset, 1000);
      }
  set_num_threads(before);
}

// In place, and over memory that an operand shares with the result: as without streaming.
TEST_F(Streamed, InPlace) {
  constexpr DType dtypes[] = {DType::Float64, DType::Float64, DType::Float64};
  const int64_t n = 5000;
  std::vector<double> a(n, 1), b(n, 2);
  TensorIterator iter(Dims{n});
  for (auto* x : {&a, &a, &b}) iter.add(reinterpret_cast<char*>(x->data()), Layout(Dims{n}), DType::Float64);
  iter.plan();
  run_loop(iter.loop_plan("test", Device{}), sum_loop, nullptr, 1, dtypes, kSequential, true);
  for (double x : a) ASSERT_EQ(x, 5);
}

TEST_F(Streamed, Copies) {
  std::vector<char> from(20000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 % 251);
  for (int64_t bytes : {0, 1, 63, 64, 65, 1000, 4096, 15000})
    for (int64_t first : {0, 1, 17, 63})
      for (int64_t source : {0, 3, 64}) {
        std::vector<char> to(16000, 'x'), want = to;
        stream(to.data() + first, from.data() + source, bytes);
        end_stream();
        std::copy(from.begin() + source, from.begin() + source + bytes, want.begin() + first);
        ASSERT_TRUE(to == want) << bytes << " bytes from " << source << " to " << first;
      }
}

}  // namespace
}  // namespace cpu
}  // namespace strided
