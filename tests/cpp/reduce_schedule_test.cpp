// How a reduction lies in memory: merged axes, their order, the case.
#include "backend/reduce_schedule.h"

#include <gtest/gtest.h>

#include <vector>

namespace strided {
namespace {

struct Given {
  std::vector<int64_t> shape, strides;  // bytes; elements have 4
  uint64_t axes;

  ReduceLayout layout() const {
    ReducePlan plan;
    plan.ndim = static_cast<int>(shape.size());
    plan.shape = shape.data();
    plan.strides = strides.data();
    plan.axes = axes;
    return ReduceLayout(plan);
  }
  ReduceCase innermost(int64_t fewest = 8) const {
    const ReduceLayout l = layout();
    return reduce_case(l, l.kept.at(l.kept.n - 1, 4), l.reduced.at(l.reduced.n - 1, 4), 4, fewest);
  }
};

TEST(ReduceLayout, MergesNeighbours) {
  const ReduceLayout l = Given{{2, 3, 4, 5}, {240, 80, 20, 4}, 0b1100}.layout();
  EXPECT_EQ(l.outputs, 6);
  EXPECT_EQ(l.total, 20);
  ASSERT_EQ(l.kept.n, 1);
  EXPECT_EQ(l.kept.axis[0].size, 6);
  EXPECT_EQ(l.kept.axis[0].stride, 80);
  EXPECT_EQ(l.kept.axis[0].out_stride, 1);
  ASSERT_EQ(l.reduced.n, 1);
  EXPECT_EQ(l.reduced.axis[0].size, 20);
  EXPECT_EQ(l.reduced.axis[0].stride, 4);
}

TEST(ReduceLayout, ReducedAxesAreInTheOrderOfMemoryAndKeptOnesInThatOfTheResult) {
  const ReduceLayout l = Given{{2, 3, 4, 5}, {4, 8, 24, 96}, 0b1010}.layout();  // axes 1 and 3 are reduced
  ASSERT_EQ(l.reduced.n, 2);
  EXPECT_EQ(l.reduced.axis[0].size, 5);
  EXPECT_EQ(l.reduced.axis[1].size, 3);
  ASSERT_EQ(l.kept.n, 2);
  EXPECT_EQ(l.kept.axis[0].size, 2);
  EXPECT_EQ(l.kept.axis[0].out_stride, 4);
  EXPECT_EQ(l.kept.axis[1].size, 4);
}

TEST(ReduceLayout, NothingToReduceHasNoAxes) {
  for (uint64_t axes : {0b01, 0b10, 0b11}) {
    const ReduceLayout l = Given{{0, 3}, {12, 4}, axes}.layout();
    EXPECT_EQ(l.outputs, axes == 0b01 ? 3 : axes == 0b10 ? 0 : 1);
    EXPECT_EQ(l.total, axes == 0b10 ? 3 : 0);
    EXPECT_EQ(l.reduced.n, l.total == 0 ? 0 : 1);
  }
  const ReduceLayout scalar = Given{{}, {}, 0}.layout();
  EXPECT_EQ(scalar.outputs, 1);
  EXPECT_EQ(scalar.total, 1);
}

TEST(ReduceLayout, OffsetsAreThoseOfRowMajorOrder) {
  const Given given{{3, 2, 4}, {4, 100, -1000}, 0};
  const ReduceLayout l = given.layout();
  ASSERT_EQ(l.kept.n, 3);
  for (int64_t i = 0; i < 24; ++i) {
    int64_t in = 0, out = 0;
    l.kept.offsets(i, &in, &out);
    EXPECT_EQ(in, i / 8 * 4 + i / 4 % 2 * 100 - i % 4 * 1000);
    EXPECT_EQ(out, i);
  }
}

TEST(ReduceCases, AreNamedByWhatIsContiguous) {
  EXPECT_EQ((Given{{10, 20}, {80, 4}, 0b11}.innermost()), ReduceCase::AllContiguous);
  EXPECT_EQ((Given{{10, 20}, {80, 4}, 0b10}.innermost()), ReduceCase::Rows);
  EXPECT_EQ((Given{{10, 20}, {80, 4}, 0b01}.innermost()), ReduceCase::Columns);
  EXPECT_EQ((Given{{10, 20}, {80, -4}, 0b01}.innermost()), ReduceCase::Columns);
  EXPECT_EQ((Given{{10, 5}, {20, 4}, 0b01}.innermost()), ReduceCase::General);  // too few neighbours
  EXPECT_EQ((Given{{10, 5}, {20, 4}, 0b01}.innermost(2)), ReduceCase::Columns);
  EXPECT_EQ((Given{{10, 20}, {160, 8}, 0b01}.innermost()), ReduceCase::General);
  EXPECT_EQ((Given{{10, 20}, {0, 0}, 0b10}.innermost()), ReduceCase::General);
  EXPECT_EQ((Given{{10, 20}, {100, 4}, 0b11}.innermost()), ReduceCase::Rows);  // one output, with gaps
}

}  // namespace
}  // namespace strided
