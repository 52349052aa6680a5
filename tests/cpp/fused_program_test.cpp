// Fused programs against the same calls one by one: dtypes, layouts, rows, everything, registers, gradients.
#include "ops/fuse/fused_program.h"

#include <gtest/gtest.h>

#include <cstring>

#include "autograd/fused_gradient.h"
#include "base/parallel.h"
#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/operators.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/join.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

Tensor numbers(const Dims& shape, DType dtype = DType::Float32, double scale = 0.37) {
  const int64_t n = Layout(shape).numel();
  const Tensor t = to_dtype(
      elementwise<Sub>(arange(Scalar(int64_t(0)), Scalar(n), Scalar(int64_t(1)), DType::Float64) * Scalar(scale),
                       Scalar(0.1 * static_cast<double>(n))),
      dtype);
  return reshape(t, shape);
}

// The program of what `f` does with the inputs.
template <class F>
std::shared_ptr<const FusedProgram> program_of(const std::vector<Tensor>& inputs, F&& f) {
  CallLog log;
  std::vector<Tensor> outputs;
  {
    const CallLogGuard guard(&log);
    outputs = f(inputs);
  }
  std::vector<const LoggedCall*> calls;
  for (const LoggedCall& call : log.calls) calls.push_back(&call);
  return std::make_shared<const FusedProgram>(calls, inputs, outputs);
}

void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.dtype(), b.dtype());
  ASSERT_EQ(a.shape(), b.shape());
  ASSERT_EQ(a.strides(), b.strides());
  const Tensor x = contiguous(a), y = contiguous(b);
  EXPECT_EQ(std::memcmp(x.data(), y.data(), static_cast<size_t>(x.numel() * x.itemsize())), 0);
}

template <class F>
void expect_fused(const std::vector<Tensor>& inputs, F&& f, int registers = -1) {
  const auto program = program_of(inputs, f);
  ASSERT_TRUE(program->is_fused()) << program->obstacle();
  if (registers >= 0) {
    EXPECT_EQ(program->n_registers(), registers);
  }
  const std::vector<Tensor> expected = program->run_calls(inputs.data());
  const int before = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const std::vector<Tensor> got = program->run(inputs.data());
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) expect_same_bits(got[i], expected[i]);
  }
  set_num_threads(before);
}

std::vector<Tensor> chain(const std::vector<Tensor>& in) { return {(in[0] * in[1] + in[2]) * in[0] - in[1]}; }

TEST(FusedProgram, ChainsOfManySizesAndDtypes) {
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16, DType::Int32, DType::Complex64})
    for (const int64_t n : {1, 5, 1000, 100000})
      expect_fused({numbers({n}, dtype), numbers({n}, dtype, 0.2), numbers({n}, dtype, -0.4)}, chain, 1);
}

TEST(FusedProgram, LayoutsAndBroadcasts) {
  const Tensor a = numbers({60, 70}), t = transpose(numbers({70, 60}), 0, 1), row = numbers({70}),
               column = numbers({60, 1}), one = numbers({});
  expect_fused({t, t, t}, chain);
  expect_fused({a, t, row}, chain);
  expect_fused({a, column, one}, chain);
  expect_fused({flip(a, {0}), expand(row, {60, 70}), column}, chain);
}

TEST(FusedProgram, DtypesMixAndResultsAreSeveral) {
  expect_fused({numbers({1000}), numbers({1000}, DType::Float64), numbers({1000}, DType::Int64)},
               [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
                 const Tensor a = in[0] * in[1], b = elementwise<Gt>(a, in[2]);
                 return {a, b, b * in[2]};
               });
}

TEST(FusedProgram, RowsAreReducedInTheMiddle) {
  for (const Dims& shape : {Dims{300, 5}, Dims{7, 1000}, Dims{2, 3, 16384}, Dims{33}})
    expect_fused({numbers(shape)}, [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      const Tensor e = elementwise<Exp>(in[0] * Scalar(1e-3) - amax(in[0], {-1}, true) * Scalar(1e-3));
      return {e / sum(e, {-1}, true), sum(e, {-1}) * Scalar(2.0)};
    });
}

TEST(FusedProgram, EverythingIsReducedAtTheEnd) {
  for (const int64_t n : {1, 16384, 16385, 300000})
    expect_fused({numbers({n, 1}), numbers({n, 1}, DType::Float32, 0.01)},
                 [](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {sum(in[0] * in[1] + in[0])}; });
}

TEST(FusedProgram, ObstaclesAreNamed) {
  const std::vector<Tensor> in = {numbers({20, 30})};
  const auto columns = program_of(in, [](const auto& t) -> std::vector<Tensor> { return {sum(t[0] + t[0], {0})}; });
  EXPECT_FALSE(columns->is_fused());
  expect_same_bits(columns->run(in.data())[0], columns->run_calls(in.data())[0]);
  const std::vector<Tensor> ints = {numbers({20}, DType::Int32)};
  const auto divided = program_of(
      ints, [](const auto& t) -> std::vector<Tensor> { return {elementwise<FloorDivide>(t[0], Scalar(int64_t(3)))}; });
  EXPECT_EQ(divided->obstacle(), "looks at values");
}

TEST(FusedProgram, OtherLayoutsAreRefused) {
  const auto program = program_of({numbers({6}), numbers({6}), numbers({6})}, chain);
  const std::vector<Tensor> other = {numbers({7}), numbers({7}), numbers({7})};
  EXPECT_THROW(program->run(other.data()), RuntimeError);
}

TEST(FusedProgram, OneNodeStandsForAllCalls) {
  std::vector<Tensor> in = {numbers({50}, DType::Float64), numbers({50}, DType::Float64, 0.2),
                            numbers({50}, DType::Float64, 0.1)};
  const auto program = program_of(in, chain);
  for (Tensor& t : in) autograd_meta(t).requires_grad = true;
  const Tensor fused = run_recorded(program, in)[0], plain = chain(in)[0];
  EXPECT_STREQ(grad_fn(fused)->name(), "CompiledBackward0");
  const Tensor g = numbers({50}, DType::Float64, 0.3);
  const std::vector<Tensor> a = run_backward({fused}, {g}, in, {}), b = run_backward({plain}, {g}, in, {});
  for (int i = 0; i < 3; ++i) expect_same_bits(a[i], b[i]);
}

}  // namespace
}  // namespace strided
