// The engine from C++: threads that share leaves, what is freed when, errors. Python's tests cover what it computes.
#include "autograd/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/allocator.h"
#include "ops/linalg/matmul.h"
#include "ops/operators.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

Tensor leaf(const Tensor& t) {
  autograd_meta(t).requires_grad = true;
  return t;
}
Tensor numbers(int64_t n, DType dtype = DType::Float64) { return leaf(ones({n}, dtype)); }
void backward(const Tensor& out, const Backward& how = {}) { run_backward({out}, {}, {}, how); }
double first(const Tensor& t) { return *t.data_as<double>(); }
const Tensor& grad_of(const Tensor& t) { return t.impl()->autograd->grad; }

// Runs work(k) in n threads at once.
template <class F>
void at_once(int n, F work) {
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < n; ++k)
    threads.emplace_back([&, k] {
      ++ready;
      while (ready < n) std::this_thread::yield();
      work(k);
    });
  for (std::thread& t : threads) t.join();
}

TEST(Autograd, ThreadsAddToTheSameLeaf) {
  constexpr int kThreads = 4, kRounds = 200;
  for (int64_t n : {3, 50000}) {
    const Tensor x = numbers(n), w = numbers(n);
    at_once(kThreads, [&](int k) {
      for (int i = 0; i < kRounds / (n > 3 ? 10 : 1); ++i) backward(sum(x * w * static_cast<double>(k + 1)));
    });
    const double expected = kRounds / (n > 3 ? 10 : 1) * (1 + 2 + 3 + 4);  // whole numbers: any order gives the same
    EXPECT_EQ(first(grad_of(x)), expected);
    EXPECT_EQ(first(grad_of(w)), expected);
    EXPECT_EQ(x.impl()->autograd->accumulator, nullptr);  // no graph is left
  }
}

// Graphs over one leaf begin and end all the time: its accumulator is made, found, and dies while another thread asks
// for it.
TEST(Autograd, AccumulatorsComeAndGo) {
  const Tensor x = numbers(2);
  at_once(4, [&](int k) {
    for (int i = 0; i < 3000; ++i) {
      const Tensor y = x * 2.0;
      if (i % 7 == k) backward(sum(y));
    }
  });
  EXPECT_EQ(x.impl()->use_count(), 1);
  EXPECT_EQ(x.impl()->autograd->accumulator, nullptr);
}

TEST(Autograd, ThreadsShareATrunk) {
  const Tensor x = numbers(100);
  Tensor trunk = x;
  for (int i = 0; i < 10; ++i) trunk = trunk * 1.0;
  at_once(3, [&](int k) {
    Backward how;
    how.retain_graph = true;
    for (int i = 0; i < 50; ++i) backward(sum(trunk * static_cast<double>(k + 1)), how);
  });
  EXPECT_EQ(first(grad_of(x)), 50 * 6);
}

TEST(Autograd, RecordedGradientsFromThreads) {
  const Tensor x = numbers(10);
  at_once(3, [&](int) {
    for (int i = 0; i < 100; ++i) {
      Backward how;
      how.create_graph = how.retain_graph = true;
      const Tensor g = run_backward({sum(x * x * x)}, {}, {x}, how)[0];  // 3 x^2
      EXPECT_TRUE(g.requires_grad());
      Backward keep;
      keep.retain_graph = true;
      const Tensor gg = run_backward({sum(g)}, {}, {x}, keep)[0];
      EXPECT_EQ(first(gg), 6.0);
      backward(sum(g));
    }
  });
  EXPECT_EQ(first(grad_of(x)), 300 * 6.0);
}

TEST(Autograd, ThreadsHaveTheirOwnMode) {
  const Tensor x = numbers(2);
  set_grad_enabled(false);
  at_once(2, [&](int k) {
    EXPECT_TRUE(grad_enabled());
    set_grad_enabled(k == 0);
    for (int i = 0; i < 100; ++i) EXPECT_EQ((x * 2.0).requires_grad(), k == 0);
  });
  EXPECT_FALSE(grad_enabled());
  set_grad_enabled(true);
}

// Saved tensors go as the pass goes on: half way through a chain half of the memory is free.
TEST(Autograd, MemoryIsFreedOnTheWay) {
  constexpr int kLayers = 32;
  constexpr int64_t kItems = 1 << 16;
  const int64_t before = cpu_memory_stats().allocated;
  {
    const Tensor x = numbers(kItems);
    int64_t in_the_middle = 0;
    Tensor y = x;
    for (int i = 0; i < kLayers; ++i) {
      y = elementwise<Exp>(y * 0.5);
      if (i == kLayers / 2) {
        const Tensor z = make_view(y, y.layout());
        set_history(z, make_node("ProbeBackward0", y, [&in_the_middle](const Tensor& g) {
                      in_the_middle = cpu_memory_stats().allocated;
                      return g;
                    }));
        y = z;
      }
    }
    const Tensor out = sum(y);
    y = Tensor();
    const int64_t whole = cpu_memory_stats().allocated - before;
    EXPECT_GE(whole, kLayers * kItems * 8);
    backward(out);
    EXPECT_LT(in_the_middle - before, whole * 2 / 3);
    EXPECT_LE(cpu_memory_stats().allocated - before, 3 * kItems * 8 + 4096);  // x, its gradient, nothing of the layers
  }
  EXPECT_EQ(cpu_memory_stats().allocated, before);
}

TEST(Autograd, LongChainsNeitherRunNorDieRecursively) {
  const Tensor x = numbers(1);
  {
    Tensor y = x;
    for (int i = 0; i < 300000; ++i) y = y * 1.0;
    backward(y);
  }
  EXPECT_EQ(first(grad_of(x)), 1.0);
  {
    Tensor y = x;
    for (int i = 0; i < 300000; ++i) y = y * 1.0;
  }
  EXPECT_EQ(x.impl()->use_count(), 1);
}

TEST(Autograd, ErrorsLeaveNothingBehind) {
  const int64_t before = cpu_memory_stats().allocated;
  {
    const Tensor x = numbers(1000);
    for (int i = 0; i < 20; ++i) {
      const Tensor y = x * 2.0;
      const Tensor z = make_view(y, y.layout());
      const auto fails = [](const Tensor&) -> Tensor { STRIDED_THROW(IndexError, "on purpose"); };
      set_history(z, make_node("FailsBackward0", y, fails));
      EXPECT_THROW(backward(sum(z * 3.0 + x * x)), IndexError);
    }
    EXPECT_THROW(run_backward({x * 2.0}, {}, {}, {}), RuntimeError);  // not a single element
    EXPECT_THROW(run_backward({sum(x)}, {}, {ones({1}, DType::Float64)}, {}), RuntimeError);
    const Tensor twice = sum(x * x);
    backward(twice);
    EXPECT_THROW(backward(twice), RuntimeError);
    x.impl()->autograd->grad = Tensor();
    EXPECT_TRUE(grad_enabled());
  }
  EXPECT_EQ(cpu_memory_stats().allocated, before);
}

TEST(Autograd, NothingIsAllocatedWithoutGradients) {
  const Tensor x = ones({8}, DType::Float64);
  const Tensor y = x * 2.0;
  EXPECT_EQ(y.impl()->autograd, nullptr);
  EXPECT_EQ(reshape(y, {2, 4}).impl()->autograd, nullptr);
  EXPECT_EQ(sum(y).impl()->autograd, nullptr);
}

}  // namespace
}  // namespace strided
