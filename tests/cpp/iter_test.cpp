// Planning of an iteration: strides of fresh outputs, merged axes, immediate operands.
#include "tensor/iter.h"

#include <gtest/gtest.h>

#include <vector>

namespace strided {
namespace {

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
  std::vector<float> buffer(2 * 3 * 4 * 5);
  TensorIterator iter(Dims{2, 3, 4, 5});
  for (int k = 0; k < 3; ++k)
    iter.add(reinterpret_cast<char*>(buffer.data()), Layout(Dims{2, 3, 4, 5}), DType::Float32);
  iter.plan();
  const LoopPlan plan = iter.loop_plan("test", Device{});
  ASSERT_EQ(plan.ndim, 1);
  EXPECT_EQ(plan.shape[0], 120);
  EXPECT_EQ(plan.numel(), 120);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(plan.operand[k].strides[0], 4);
}

TEST(TensorIterator, NumbersAreImmediateOperandsTensorsAreNot) {
  float one = 1;
  TensorIterator iter(Dims{3});
  iter.add(reinterpret_cast<char*>(&one), Layout(Dims{}), DType::Float32);
  iter.add_scalar(&one, DType::Float32);
  iter.plan();
  const LoopPlan plan = iter.loop_plan("test", Device{});
  EXPECT_FALSE(plan.operand[0].immediate);
  EXPECT_EQ(plan.operand[0].strides[0], 0);
  EXPECT_TRUE(plan.operand[1].immediate);
}

}  // namespace
}  // namespace strided
