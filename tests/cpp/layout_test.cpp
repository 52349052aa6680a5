#include "core/layout.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace strided {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();

// The offsets of all elements in row-major order: what a layout means.
std::vector<int64_t> places(const Layout& l) {
  std::vector<int64_t> out;
  if (l.numel() == 0) return out;
  std::vector<int64_t> index(static_cast<size_t>(l.ndim()), 0);
  for (;;) {
    int64_t at = l.offset;
    for (int i = 0; i < l.ndim(); ++i) at += index[static_cast<size_t>(i)] * l.strides[i];
    out.push_back(at);
    int i = l.ndim() - 1;
    for (; i >= 0; --i) {
      if (++index[static_cast<size_t>(i)] < l.shape[i]) break;
      index[static_cast<size_t>(i)] = 0;
    }
    if (i < 0) return out;
  }
}
using Places = std::vector<int64_t>;

// The text of the error f raises; empty when it raises none of that kind.
template <class Kind, class F>
std::string message(F f) {
  try {
    f();
  } catch (const Kind& e) {
    return e.what();
  }
  return "";
}
#define EXPECT_ERROR(Kind, text, ...) \
  EXPECT_NE(message<Kind>([&] { (void)(__VA_ARGS__); }).find(text), std::string::npos) \
      << "got: " << message<Kind>([&] { (void)(__VA_ARGS__); })

TEST(Layout, ContiguousStrides) {
  EXPECT_EQ(Layout::contiguous_strides({2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(Layout::contiguous_strides({2, 0, 4}), (Dims{4, 4, 1}));  // a size of 0 counts as 1
  EXPECT_EQ(Layout::contiguous_strides({1, 1}), (Dims{1, 1}));
  EXPECT_EQ(Layout::contiguous_strides({}), Dims());
  EXPECT_EQ(Layout(Dims{2, 3}).numel(), 6);
  EXPECT_EQ(Layout(Dims{}).numel(), 1);
  EXPECT_EQ(Layout(Dims{3, 0}).numel(), 0);
}

TEST(Layout, IsContiguous) {
  EXPECT_TRUE(Layout(Dims{2, 3}).is_contiguous());
  EXPECT_TRUE(Layout(Dims{}).is_contiguous());
  EXPECT_TRUE(Layout({2, 1, 3}, {3, 99, 1}, 5).is_contiguous());  // strides of size-1 axes do not matter
  EXPECT_TRUE(Layout({2, 0, 3}, {7, -1, 9}, 0).is_contiguous());
  EXPECT_TRUE(Layout({0, 3, 2}, {1, 1, 7}, 0).is_contiguous());  // the empty axis comes first
  EXPECT_FALSE(Layout({3, 2}, {1, 3}, 0).is_contiguous());
  EXPECT_FALSE(Layout({3}, {-1}, 2).is_contiguous());
  EXPECT_FALSE(Layout({3}, {0}, 0).is_contiguous());
}

TEST(Layout, IsDense) {
  EXPECT_TRUE(Layout({3, 2}, {1, 3}, 4).is_dense());
  EXPECT_TRUE(Layout({2, 1, 3}, {1, 50, 2}, 0).is_dense());
  EXPECT_TRUE(Layout({0}, {9}, 0).is_dense());
  EXPECT_TRUE(Layout(Dims{}).is_dense());
  EXPECT_FALSE(Layout({3, 2}, {1, 4}, 0).is_dense());  // a gap
  EXPECT_FALSE(Layout({3, 2}, {0, 1}, 0).is_dense());
  EXPECT_FALSE(Layout({3}, {-1}, 2).is_dense());
}

TEST(Layout, HasZeroStride) {
  EXPECT_TRUE(Layout({3, 2}, {0, 1}, 0).has_zero_stride());
  EXPECT_FALSE(Layout({1, 2}, {0, 1}, 0).has_zero_stride());
  EXPECT_FALSE(Layout(Dims{3, 2}).has_zero_stride());
}

TEST(Layout, Extent) {
  int64_t first, last;
  ASSERT_TRUE(Layout({3, 2}, {-2, 1}, 10).extent(&first, &last));
  EXPECT_EQ(first, 6);
  EXPECT_EQ(last, 11);
  ASSERT_TRUE(Layout({}, {}, 7).extent(&first, &last));
  EXPECT_EQ(first, 7);
  EXPECT_EQ(last, 7);
  EXPECT_FALSE(Layout({3, 0}, {1, 1}, 0).extent(&first, &last));
}

TEST(CheckedNumel, CountsAndRefuses) {
  EXPECT_EQ(checked_numel("f", {2, 3}), 6);
  EXPECT_EQ(checked_numel("f", {}), 1);
  EXPECT_EQ(checked_numel("f", {5, 0}), 0);
  EXPECT_ERROR(RuntimeError, "Trying to create tensor with negative dimension -3: [2, -3]",
               checked_numel("f", {2, -3}));
  EXPECT_ERROR(RuntimeError, "does not fit", checked_numel("f", {int64_t(1) << 32, int64_t(1) << 32}));
  EXPECT_ERROR(RuntimeError, "does not fit", checked_numel("f", {kMax, 0}));  // strides are products of sizes, too
  EXPECT_ERROR(RuntimeError, "at most 64", checked_numel("f", Dims(65, 1)));
  EXPECT_EQ(checked_numel("f", Dims(64, 1)), 1);
}

TEST(WrapAxis, CountsFromBothEnds) {
  EXPECT_EQ(wrap_axis("f", 1, 3), 1);
  EXPECT_EQ(wrap_axis("f", -1, 3), 2);
  EXPECT_EQ(wrap_axis("f", -3, 3), 0);
  EXPECT_EQ(wrap_axis("f", -1, 0), 0);  // a 0-d tensor counts as 1-d
  EXPECT_ERROR(IndexError, "Dimension out of range (expected to be in range of [-3, 2], but got 3)",
               wrap_axis("f", 3, 3));
  EXPECT_ERROR(IndexError, "but got -2", wrap_axis("f", -2, 0));
  EXPECT_ERROR(IndexError, "range", wrap_axis("f", kMin, 3));
}

TEST(WrapAxes, UniqueAndInOrder) {
  EXPECT_EQ(wrap_axes("f", {-1, 0}, 3, true), (Dims{2, 0}));
  EXPECT_EQ(wrap_axes("f", {}, 3, true), (Dims{0, 1, 2}));
  EXPECT_EQ(wrap_axes("f", {}, 3, false), Dims());
  EXPECT_EQ(wrap_axes("f", {0}, 0, true), Dims());
  EXPECT_EQ(wrap_axes("f", {63}, 64, true), (Dims{63}));
  EXPECT_ERROR(RuntimeError, "dim 1 appears multiple times in the list of dims", wrap_axes("f", {1, -2}, 3, true));
  EXPECT_ERROR(IndexError, "range", wrap_axes("f", {3}, 3, true));
}

TEST(Broadcast, Shapes) {
  EXPECT_EQ(broadcast_shapes({3, 1}, {4}), (Dims{3, 4}));
  EXPECT_EQ(broadcast_shapes({}, {2, 3}), (Dims{2, 3}));
  EXPECT_EQ(broadcast_shapes({0}, {1}), (Dims{0}));
  EXPECT_EQ(broadcast_shapes({5, 1, 0}, {2, 1}), (Dims{5, 2, 0}));
  EXPECT_ERROR(RuntimeError,
               "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1",
               broadcast_shapes({1, 2}, {3}));
  EXPECT_ERROR(RuntimeError, "(0)", broadcast_shapes({0}, {2}));
}

TEST(Broadcast, Strides) {
  EXPECT_EQ(broadcast_strides(Layout(Dims{3, 1}), {2, 3, 4}), (Dims{0, 1, 0}));
  EXPECT_EQ(broadcast_strides(Layout({}, {}, 3), {2, 2}), (Dims{0, 0}));
  EXPECT_EQ(broadcast_strides(Layout({3}, {-2}, 4), {3}), (Dims{-2}));
}

TEST(InferSize, OneUnknown) {
  EXPECT_EQ(infer_size("f", {2, -1}, 6), (Dims{2, 3}));
  EXPECT_EQ(infer_size("f", {-1}, 0), (Dims{0}));
  EXPECT_EQ(infer_size("f", {}, 1), Dims());
  EXPECT_EQ(infer_size("f", {3, -1}, 0), (Dims{3, 0}));
  EXPECT_ERROR(RuntimeError, "shape '[5, 5]' is invalid for input of size 24", infer_size("f", {5, 5}, 24));
  EXPECT_ERROR(RuntimeError, "shape '[-1, 5]' is invalid for input of size 24", infer_size("f", {-1, 5}, 24));
  EXPECT_ERROR(RuntimeError, "only one dimension can be inferred", infer_size("f", {-1, -1}, 4));
  EXPECT_ERROR(RuntimeError, "invalid shape dimension -2 at index 0 of shape [-2, 12]", infer_size("f", {-2, 12}, 24));
  EXPECT_ERROR(RuntimeError, "because the unspecified dimension size -1 can be any value and is ambiguous",
               infer_size("f", {-1, 0}, 0));
  EXPECT_ERROR(RuntimeError, "is invalid", infer_size("f", {int64_t(1) << 32, int64_t(1) << 32}, 1));
  EXPECT_ERROR(RuntimeError, "is invalid", infer_size("f", {int64_t(1) << 62, 4, -1}, 0));
  EXPECT_ERROR(RuntimeError, "does not fit", infer_size("f", {0, int64_t(1) << 62, int64_t(1) << 62}, 0));
}

TEST(Expand, StridesOfPyTorch) {
  const Layout column({3, 1}, {1, 1}, 2);
  EXPECT_EQ(expand(column, {3, 4}).strides, (Dims{1, 0}));
  EXPECT_EQ(expand(column, {2, 1, 3, 4}).strides, (Dims{0, 3, 1, 0}));
  EXPECT_EQ(expand(column, {1, 1, 3, 1}).strides, (Dims{3, 3, 1, 1}));
  EXPECT_EQ(expand(column, {-1, 4}).shape, (Dims{3, 4}));
  EXPECT_EQ(expand(column, {3, 4}).offset, 2);
  EXPECT_EQ(expand(column, {3, 0}).shape, (Dims{3, 0}));
  EXPECT_EQ(expand(Layout(Dims{2, 3, 4}), {5, 2, 3, 4}).strides, (Dims{0, 12, 4, 1}));
  EXPECT_EQ(expand(Layout(Dims{2, 3, 4}), {1, 2, 3, 4}).strides, (Dims{24, 12, 4, 1}));
  EXPECT_EQ(expand(Layout(Dims{}), {1}).strides, (Dims{0}));
  EXPECT_EQ(expand(Layout(Dims{}), {1, 2}).strides, (Dims{0, 0}));
  EXPECT_EQ(places(expand(Layout({2, 1}, {-3, 1}, 5), {2, 2})), (Places{5, 5, 2, 2}));
  EXPECT_ERROR(
      RuntimeError,
      "The expanded size of the tensor (5) must match the existing size (3) at non-singleton dimension 1.  Target sizes: [2, 5]",
      expand(Layout(Dims{2, 3}), {2, 5}));
  EXPECT_ERROR(RuntimeError, "isn't allowed in a leading, non-existing dimension 0", expand(Layout(Dims{2}), {-1, 2}));
  EXPECT_ERROR(RuntimeError, "must be greater or equal", expand(Layout(Dims{2, 3}), {3}));
  EXPECT_ERROR(RuntimeError, "(-2)", expand(Layout(Dims{1}), {-2}));
  EXPECT_ERROR(RuntimeError, "does not fit", expand(Layout(Dims{1, 1}), {int64_t(1) << 40, int64_t(1) << 40}));
}

TEST(Permute, ReordersAndChecks) {
  const Layout l({2, 3, 4}, {12, 4, 1}, 1);
  EXPECT_EQ(permute(l, {2, 0, -2}).shape, (Dims{4, 2, 3}));
  EXPECT_EQ(permute(l, {2, 0, -2}).strides, (Dims{1, 12, 4}));
  EXPECT_EQ(permute(l, {0, 1, 2}).offset, 1);
  EXPECT_EQ(permute(Layout(Dims{}), {}).ndim(), 0);
  EXPECT_ERROR(RuntimeError, "input.dim() = 3 is not equal to len(dims) = 2", permute(l, {0, 1}));
  EXPECT_ERROR(RuntimeError, "duplicate dims are not allowed", permute(l, {0, 1, -2}));
  EXPECT_ERROR(IndexError, "range", permute(l, {0, 1, 3}));
}

TEST(Transpose, SwapsTwo) {
  const Layout l(Dims{2, 3, 4});
  EXPECT_EQ(transpose(l, 0, -1).shape, (Dims{4, 3, 2}));
  EXPECT_EQ(transpose(l, 0, -1).strides, (Dims{1, 4, 12}));
  EXPECT_EQ(transpose(l, 1, 1).shape, l.shape);
  EXPECT_EQ(transpose(Layout(Dims{}), 0, -1).ndim(), 0);
  EXPECT_ERROR(IndexError, "range", transpose(l, 0, 3));
  EXPECT_ERROR(IndexError, "range", transpose(Layout(Dims{}), 0, 1));
}

TEST(Select, DropsTheAxis) {
  const Layout l({2, 3}, {3, 1}, 10);
  EXPECT_EQ(places(select(l, 0, 1)), (Places{13, 14, 15}));
  EXPECT_EQ(places(select(l, -1, -3)), (Places{10, 13}));
  EXPECT_EQ(places(select(Layout({3}, {-2}, 4), 0, 2)), (Places{0}));
  EXPECT_ERROR(IndexError, "select(): index 3 out of range for tensor of size [2, 3] at dimension 1", select(l, 1, 3));
  EXPECT_ERROR(IndexError, "index -4", select(l, 1, -4));
  EXPECT_ERROR(IndexError, "out of range", select(l, 1, kMin));
  EXPECT_ERROR(IndexError, "select() cannot be applied to a 0-dim tensor.", select(Layout(Dims{}), 0, 0));
  EXPECT_ERROR(IndexError, "out of range", select(Layout(Dims{0}), 0, 0));
}

// Python's own rules, told here once more by a loop.
Places slice_by_hand(int64_t n, int64_t start, int64_t stop, int64_t step) {
  if (start < 0) start += n;
  if (stop < 0) stop += n;
  if (start < 0) start = step > 0 ? 0 : -1;
  if (stop < 0) stop = step > 0 ? 0 : -1;
  if (start > n) start = n;
  if (start >= n && step < 0) start = n - 1;
  if (stop > n) stop = n;
  Places out;
  for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) out.push_back(100 + 7 * i);
  return out;
}

TEST(Slice, IsPythons) {
  for (int64_t n = 0; n <= 4; ++n)
    for (int64_t start = -6; start <= 6; ++start)
      for (int64_t stop = -6; stop <= 6; ++stop)
        for (int64_t step : {-5, -2, -1, 1, 2, 5}) {
          const Layout out = slice(Layout({n}, {7}, 100), 0, start, stop, step);
          EXPECT_EQ(places(out), slice_by_hand(n, start, stop, step))
              << n << ' ' << start << ':' << stop << ':' << step;
          EXPECT_GE(out.offset, 100);
          EXPECT_LE(out.offset, 100 + 7 * n);  // an empty slice too points into the tensor
        }
}

TEST(Slice, Extremes) {
  const Layout l({5}, {1}, 0);
  EXPECT_EQ(places(slice(l, 0, kMin, kMax, 1)), (Places{0, 1, 2, 3, 4}));
  EXPECT_EQ(places(slice(l, 0, kMax, kMin, -1)), (Places{4, 3, 2, 1, 0}));
  EXPECT_EQ(places(slice(l, 0, kMin, kMax, kMax)), (Places{0}));
  EXPECT_EQ(places(slice(l, 0, kMax, kMin, kMin)), (Places{4}));
  EXPECT_EQ(places(slice(Layout({5}, {2}, 0), 0, 1, kMax, kMax)), (Places{2}));  // the new stride would overflow
  EXPECT_EQ(places(slice(Layout({3}, {-4}, 8), 0, 1, 3, 1)), (Places{4, 0}));
  EXPECT_EQ(slice(Layout(Dims{2, 3}), 1, 3, 3, 1).shape, (Dims{2, 0}));
  EXPECT_ERROR(ValueError, "slice step cannot be zero", slice(l, 0, 0, 1, 0));
}

TEST(Narrow, ChecksBothEnds) {
  const Layout l(Dims{2, 3});
  EXPECT_EQ(places(narrow(l, 1, 1, 2)), (Places{1, 2, 4, 5}));
  EXPECT_EQ(places(narrow(l, 1, -1, 1)), (Places{2, 5}));
  EXPECT_EQ(narrow(l, 1, 3, 0).offset, 3);
  EXPECT_ERROR(RuntimeError, "start (2) + length (2) exceeds dimension size (3).", narrow(l, 1, -1, 2));
  EXPECT_ERROR(IndexError, "start out of range (expected to be in range of [-3, 3], but got 4)", narrow(l, 1, 4, 0));
  EXPECT_ERROR(IndexError, "but got -4", narrow(l, 1, -4, 0));
  EXPECT_ERROR(RuntimeError, "narrow(): length must be non-negative.", narrow(l, 1, 0, -1));
  EXPECT_ERROR(RuntimeError, "exceeds", narrow(l, 1, 3, kMax));
  EXPECT_ERROR(RuntimeError, "0-dim", narrow(Layout(Dims{}), 0, 0, 0));
}

TEST(Unsqueeze, Strides) {
  const Layout l(Dims{2, 3, 4});
  EXPECT_EQ(unsqueeze(l, 0).strides, (Dims{24, 12, 4, 1}));
  EXPECT_EQ(unsqueeze(l, 1).strides, (Dims{12, 12, 4, 1}));
  EXPECT_EQ(unsqueeze(l, -1).strides, (Dims{12, 4, 1, 1}));
  EXPECT_EQ(unsqueeze(l, 3).shape, (Dims{2, 3, 4, 1}));
  EXPECT_EQ(unsqueeze(Layout(Dims{}), 0).strides, (Dims{1}));
  EXPECT_ERROR(IndexError, "[-4, 3]", unsqueeze(l, 4));
  EXPECT_ERROR(RuntimeError, "at most 64", unsqueeze(Layout(Dims(64, 1)), 0));
}

TEST(Squeeze, AllOrSome) {
  const Layout l({1, 2, 1}, {7, 1, 5}, 3);
  EXPECT_EQ(squeeze(l).shape, (Dims{2}));
  EXPECT_EQ(squeeze(l).offset, 3);
  EXPECT_EQ(squeeze(l, {0}).strides, (Dims{1, 5}));
  EXPECT_EQ(squeeze(l, {1}).shape, l.shape);
  EXPECT_EQ(squeeze(l, {-1, 0}).shape, (Dims{2}));
  EXPECT_EQ(squeeze(l, {}).shape, l.shape);
  EXPECT_EQ(squeeze(Layout(Dims{}), {0}).ndim(), 0);
  EXPECT_ERROR(RuntimeError, "multiple times", squeeze(l, {0, -3}));
  EXPECT_ERROR(IndexError, "range", squeeze(l, {3}));
}

TEST(Diagonal, Offsets) {
  const Layout l({2, 3}, {3, 1}, 10);
  EXPECT_EQ(places(diagonal(l, 0, 0, 1)), (Places{10, 14}));
  EXPECT_EQ(places(diagonal(l, 1, 0, 1)), (Places{11, 15}));
  EXPECT_EQ(places(diagonal(l, -1, 0, 1)), (Places{13}));
  EXPECT_EQ(places(diagonal(l, 1, 1, 0)), (Places{13}));  // axes exchanged: below and above, too
  for (int64_t offset : {3l, -2l, kMax, kMin}) {
    const Layout none = diagonal(l, offset, 0, 1);
    EXPECT_EQ(none.shape, (Dims{0}));
    EXPECT_EQ(none.strides, (Dims{4}));
    EXPECT_EQ(none.offset, 10);
  }
  EXPECT_EQ(diagonal(Layout(Dims{2, 3, 4}), 0, 0, 2).shape, (Dims{3, 2}));
  EXPECT_EQ(diagonal(Layout(Dims{2, 3, 4}), 0, 0, 2).strides, (Dims{4, 13}));
  EXPECT_EQ(places(diagonal(Layout({2, 2}, {-2, -1}, 3), 0, 0, 1)), (Places{3, 0}));
  EXPECT_ERROR(RuntimeError, "diagonal dimensions cannot be identical 0, -2", diagonal(l, 0, 0, -2));
  EXPECT_ERROR(IndexError, "[-1, 0], but got 1", diagonal(Layout(Dims{3}), 0, 0, 1));
}

TEST(Unfold, Windows) {
  EXPECT_EQ(places(unfold(Layout({5}, {2}, 1), 0, 3, 1)), (Places{1, 3, 5, 3, 5, 7, 5, 7, 9}));
  EXPECT_EQ(unfold(Layout(Dims{2, 4}), 1, 2, 3).shape, (Dims{2, 1, 2}));
  EXPECT_EQ(unfold(Layout(Dims{2, 4}), 1, 2, 3).strides, (Dims{4, 3, 1}));
  EXPECT_EQ(unfold(Layout(Dims{4}), 0, 0, 1).shape, (Dims{5, 0}));
  EXPECT_EQ(unfold(Layout(Dims{}), 0, 1, 1).shape, (Dims{1}));
  EXPECT_EQ(unfold(Layout({4}, {2}, 0), 0, 4, kMax).shape, (Dims{1, 4}));
  EXPECT_ERROR(RuntimeError, "maximum size for tensor at dimension 0 is 4 but size is 5",
               unfold(Layout(Dims{4}), 0, 5, 1));
  EXPECT_ERROR(RuntimeError, "size is -1 but must be >= 0", unfold(Layout(Dims{4}), 0, -1, 1));
  EXPECT_ERROR(RuntimeError, "step is 0 but must be > 0", unfold(Layout(Dims{4}), 0, 1, 0));
  EXPECT_ERROR(RuntimeError, "does not fit", unfold(Layout({int64_t(1) << 58}, {0}, 0), 0, int64_t(1) << 30, 1));
}

TEST(View, KeepsTheOrderOfElements) {
  const std::vector<Layout> sources = {
      Layout(Dims{2, 3, 4}),
      Layout({2, 3, 4}, {24, 8, 2}, 3),  // every second element
      Layout({4, 6}, {1, 4}, 0),         // transposed
      Layout({24}, {-1}, 23),            // reversed
      Layout({2, 3, 4}, {-12, -4, -1}, 23),
      Layout({2, 1, 12}, {12, 99, 1}, 0),
      Layout({2, 12}, {0, 1}, 0),  // expanded
      Layout({24}, {0}, 5),
  };
  const std::vector<Dims> shapes = {{24},    {2, 12}, {12, 2},    {2, 3, 4}, {4, 3, 2},         {2, 3, 2, 2},
                                    {1, 24}, {24, 1}, {2, 1, 12}, {6, 4},    {1, 2, 1, 3, 4, 1}};
  int views = 0;
  for (const Layout& from : sources)
    for (const Dims& shape : shapes) {
      Layout out;
      if (!view(from, shape, &out)) {
        // A contiguous tensor has every view; so has an evenly strided one.
        EXPECT_FALSE(from.is_contiguous() || from.ndim() == 1) << from.strides << shape;
        continue;
      }
      ++views;
      EXPECT_EQ(out.shape, shape);
      EXPECT_EQ(places(out), places(from)) << from.shape << from.strides << " as " << shape;
    }
  EXPECT_GT(views, 60);
  Layout out;
  EXPECT_FALSE(view(Layout({4, 6}, {1, 4}, 0), {24}, &out));
  EXPECT_TRUE(view(Layout({4, 6}, {1, 4}, 0), {2, 2, 6}, &out));
  EXPECT_EQ(out.strides, (Dims{2, 1, 4}));
}

TEST(View, EmptyAndSingle) {
  Layout out;
  ASSERT_TRUE(view(Layout(Dims{2, 0, 3}), {3, 0, 2}, &out));
  EXPECT_EQ(out.strides, (Dims{2, 2, 1}));
  ASSERT_TRUE(view(Layout({3, 0, 2}, {1, 3, 3}, 4), {3, 0, 2}, &out));
  EXPECT_EQ(out.strides, (Dims{1, 3, 3}));
  EXPECT_EQ(out.offset, 4);
  ASSERT_TRUE(view(Layout({}, {}, 9), {1, 1}, &out));
  EXPECT_EQ(out.strides, (Dims{1, 1}));
  EXPECT_EQ(out.offset, 9);
  ASSERT_TRUE(view(Layout({1, 1}, {5, 7}, 2), {}, &out));
  EXPECT_EQ(out.ndim(), 0);
  EXPECT_EQ(out.offset, 2);
}

TEST(ViewAsItemsize, GrowsAndShrinks) {
  const Layout l({2, 4}, {8, 1}, 4);
  const Layout bytes = view_as_itemsize(l, 4, 1, "Float", "Byte");
  EXPECT_EQ(bytes.shape, (Dims{2, 16}));
  EXPECT_EQ(bytes.strides, (Dims{32, 1}));
  EXPECT_EQ(bytes.offset, 16);
  const Layout back = view_as_itemsize(bytes, 1, 4, "Byte", "Float");
  EXPECT_EQ(back.shape, l.shape);
  EXPECT_EQ(back.strides, l.strides);
  EXPECT_EQ(back.offset, l.offset);
  EXPECT_EQ(view_as_itemsize(Layout({2}, {3}, 1), 4, 4, "Float", "Int").strides, (Dims{3}));
  auto as_double = [](Layout from) { return view_as_itemsize(from, 4, 8, "Float", "Double"); };
  EXPECT_ERROR(RuntimeError,
               "self.size(-1) must be divisible by 2 to view Float as Double (different element sizes), but got 3",
               as_double(Layout(Dims{3})));
  EXPECT_ERROR(
      RuntimeError,
      "self.storage_offset() must be divisible by 2 to view Float as Double (different element sizes), but got 1",
      as_double(Layout({2}, {1}, 1)));
  EXPECT_ERROR(RuntimeError,
               "self.stride(0) must be divisible by 2 to view Float as Double (different element sizes), but got 3",
               as_double(Layout({2, 2}, {3, 1}, 0)));
  EXPECT_ERROR(RuntimeError, "self.stride(-1) must be 1 to view Float as Double (different element sizes), but got -1",
               as_double(Layout({2}, {-1}, 1)));
  EXPECT_ERROR(RuntimeError, "self.dim() cannot be 0 to view Float as Double (different element sizes)",
               as_double(Layout(Dims{})));
}

TEST(StridesLike, OrderOfAxes) {
  EXPECT_EQ(strides_like(Layout({3, 2}, {1, 3}, 5)), (Dims{1, 3}));
  EXPECT_EQ(strides_like(Layout({3, 2}, {1, 4}, 0)), (Dims{1, 3}));
  EXPECT_EQ(strides_like(Layout({3, 2, 4}, {1, 3, 0}, 0)), (Dims{4, 12, 1}));
  EXPECT_EQ(strides_like(Layout({3, 2}, {0, 1}, 0)), (Dims{2, 1}));
  EXPECT_EQ(strides_like(Layout({3}, {-1}, 2)), (Dims{1}));
}

TEST(OverlapTest, OfOneStorage) {
  const Layout l(Dims{4, 4});
  EXPECT_EQ(overlap(l, 4, l, 4), Overlap::Same);
  EXPECT_EQ(overlap(l, 4, transpose(l, 0, 1), 4), Overlap::Some);
  EXPECT_EQ(overlap(select(l, 0, 0), 4, select(l, 0, 1), 4), Overlap::None);
  EXPECT_EQ(overlap(select(l, 1, 0), 4, select(l, 1, 1), 4), Overlap::None);  // interleaved
  EXPECT_EQ(overlap(slice(l, 1, 0, 4, 2), 4, slice(l, 1, 1, 4, 2), 4), Overlap::None);
  EXPECT_EQ(overlap(narrow(l, 0, 0, 3), 4, narrow(l, 0, 1, 3), 4), Overlap::Some);
  EXPECT_EQ(overlap(l, 4, narrow(l, 0, 0, 0), 4), Overlap::None);
  EXPECT_EQ(overlap(Layout({4}, {1}, 0), 4, Layout({4}, {-1}, 3), 4), Overlap::Some);
  EXPECT_EQ(overlap(Layout({4}, {1}, 4), 1, Layout({1}, {1}, 1), 4), Overlap::Some);  // bytes 4..7 are element 1
  EXPECT_EQ(overlap(Layout({4}, {1}, 0), 1, Layout({1}, {1}, 1), 4), Overlap::None);
  EXPECT_EQ(overlap(Layout({2, 1}, {1, 9}, 0), 4, Layout({2, 1}, {1, 4}, 0), 4), Overlap::Same);
}

// Whatever is said to be apart is apart.
TEST(OverlapTest, NoneMeansNone) {
  std::vector<Layout> all;
  for (int64_t n : {1, 2, 3})
    for (int64_t a : {-3, -2, 1, 2, 4})
      for (int64_t b : {0, 1, 3})
        for (int64_t offset : {6, 7, 9}) all.push_back(Layout({n, 2}, {a, b}, offset));
  for (const Layout& x : all)
    for (const Layout& y : all) {
      if (overlap(x, 4, y, 4) != Overlap::None) continue;
      for (int64_t p : places(x))
        for (int64_t q : places(y))
          ASSERT_NE(p, q) << x.shape << x.strides << x.offset << " and " << y.shape << y.strides << y.offset;
    }
}

}  // namespace
}  // namespace strided
