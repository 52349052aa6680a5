// Planned iteration against counting through all positions: random shapes and layouts, operands of other dtypes,
// threads.
#include "tensor/iter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/parallel.h"

namespace strided {
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

template <class To, class From>
void cast_loop(char** data, const int64_t* strides, int64_t n0, int64_t n1, const void*) {
  for (int64_t j = 0; j < n1; ++j)
    for (int64_t i = 0; i < n0; ++i)
      *reinterpret_cast<To*>(data[0] + i * strides[0] + j * strides[2]) =
          static_cast<To>(*reinterpret_cast<const From*>(data[1] + i * strides[1] + j * strides[3]));
}

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
  iter.add(out.data(), out.layout, sizeof(Out));
  iter.add(visits.data(), visits.layout, sizeof(int32_t));
  iter.add(a.data(), a.layout, sizeof(A));
  iter.add(b.data(), b.layout, sizeof(B));
  if (!std::is_same_v<Out, double>) iter.cast(0, cast_loop<Out, double>, sizeof(double));
  if (!std::is_same_v<A, double>) iter.cast(2, cast_loop<double, A>, sizeof(double));
  if (!std::is_same_v<B, double>) iter.cast(3, cast_loop<double, B>, sizeof(double));
  iter.plan();
  iter.run(add_loop, nullptr, 2, grain);

  int64_t numel = 1;
  for (int64_t s : shape) numel *= s;
  ASSERT_EQ(iter.numel(), numel);
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

TEST(TensorIterator, RandomLayouts) {
  std::mt19937 rng(1);
  for (int i = 0; i < 1500; ++i) check_case<double, double, double>(rng, 7, 32768);
}

TEST(TensorIterator, RandomLayoutsWithCasts) {
  std::mt19937 rng(2);
  for (int i = 0; i < 500; ++i) {
    check_case<float, double, double>(rng, 7, 32768);
    check_case<int8_t, int64_t, float>(rng, 7, 32768);
    check_case<double, int16_t, int64_t>(rng, 7, 32768);
  }
}

// More than one buffer of casts in a row, and ranges that begin and end in the middle of one.
TEST(TensorIterator, LongRowsAndThreads) {
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
    iter.add(reinterpret_cast<char*>(out.data()), line, 4);
    iter.add(reinterpret_cast<char*>(visits.data()), line, 4);
    iter.add(reinterpret_cast<char*>(a.data()), line, 4);
    iter.add_scalar(&two, DType::Float64);
    iter.cast(0, cast_loop<float, double>, 8);
    iter.cast(2, cast_loop<double, float>, 8);
    iter.plan();
    iter.run(add_loop, nullptr, 2, 700);
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(out[i], static_cast<float>(i) + 4);
      ASSERT_EQ(visits[i], 1);
    }
  }
  set_num_threads(before);
}

TEST(TensorIterator, FreshOutputsFollowTheInputs) {
  auto strides = [](const Dims& shape, std::initializer_list<Layout> inputs) {
    static char nothing;
    TensorIterator iter(shape);
    for (const Layout& layout : inputs) iter.add(&nothing, layout, 4);
    return iter.output_strides();
  };
  const Dims shape{2, 3, 4};
  EXPECT_EQ(strides(shape, {Layout(shape)}), Dims({12, 4, 1}));
  EXPECT_EQ(strides(shape, {Layout(shape, Dims{1, 2, 6}, 0)}), Dims({1, 2, 6}));
  EXPECT_EQ(strides(shape, {Layout(shape, Dims{1, 2, 6}, 0), Layout(shape)}),
            Dims({1, 2, 6}));  // the first one decides
  EXPECT_EQ(strides(shape, {Layout(Dims{4}), Layout(shape, Dims{3, 1, 6}, 0)}),
            Dims({3, 1, 6}));                                                         // stride 0 decides nothing
  EXPECT_EQ(strides(shape, {Layout(shape, Dims{-12, 4, -1}, 0)}), Dims({12, 4, 1}));  // fresh memory runs forward
  EXPECT_EQ(strides(Dims{}, {Layout(Dims{})}), Dims{});
  EXPECT_EQ(strides(Dims{3, 0, 2}, {Layout(Dims{3, 0, 2})}), Dims({2, 2, 1}));
}

TEST(TensorIterator, MergesAxesSoThatLoopsAreLong) {
  struct Calls {
    int n = 0;
    int64_t longest = 0;
  } calls;
  auto count = [](char**, const int64_t*, int64_t n0, int64_t, const void* p) {
    auto* c = static_cast<Calls*>(const_cast<void*>(p));
    ++c->n;
    c->longest = std::max(c->longest, n0);
  };
  std::vector<float> buffer(2 * 3 * 4 * 5);
  TensorIterator iter(Dims{2, 3, 4, 5});
  for (int k = 0; k < 3; ++k) iter.add(reinterpret_cast<char*>(buffer.data()), Layout(Dims{2, 3, 4, 5}), 4);
  iter.plan();
  iter.run(count, &calls, 1);
  EXPECT_EQ(calls.n, 1);
  EXPECT_EQ(calls.longest, 120);
}

}  // namespace
}  // namespace strided
