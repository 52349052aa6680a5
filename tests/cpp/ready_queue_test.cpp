// What the engine keeps its place in: the map from nodes to numbers, and the queue of nodes.
#include "autograd/ready_queue.h"
#include "tensor/graph.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <unordered_map>

#include "ops/factory.h"
#include "ops/record.h"

namespace strided {
namespace {

TEST(PointerMap, BehavesAsMap) {
  // Keys of every kind of distance: neighbours, and those whose low bits are equal, which meet in the table.
  for (const uintptr_t step : {uintptr_t(1), uintptr_t(16), uintptr_t(4096), uintptr_t(1) << 32}) {
    std::mt19937 rng(static_cast<unsigned>(step % 1000003));
    PointerMap table;
    std::unordered_map<uintptr_t, int32_t> model;
    for (int i = 0; i < 40000; ++i) {
      const uintptr_t key = (1 + rng() % (i < 20000 ? 24 : 3000)) * step;
      const void* p = reinterpret_cast<const void*>(key);
      if (rng() % 3 == 0 && model.count(key)) {
        table.erase(p);
        model.erase(key);
      } else if (rng() % 2) {
        const int32_t value = 1 + static_cast<int32_t>(rng() % 1000);
        ASSERT_EQ(table.set(p, value), model.count(key) == 0);
        model[key] = value;
      }
      const uintptr_t asked = (1 + rng() % 3000) * step;
      const auto found = model.find(asked);
      ASSERT_EQ(table.find(reinterpret_cast<const void*>(asked)), found == model.end() ? 0 : found->second);
    }
    for (const auto& [key, value] : model) ASSERT_EQ(table.find(reinterpret_cast<const void*>(key)), value);
  }
}

class Dummy : public Node {
 public:
  explicit Dummy(int outputs, const Tensor& like) {
    for (int i = 0; i < outputs; ++i) set_output(i, like);
  }
  const char* own_name() const override { return "DummyBackward0"; }
  TensorList apply(TensorList&) override { return {}; }
};

TEST(ReadyQueue, NewestFirstAndOneSlotForEachOutput) {
  std::mt19937 rng(5);
  const Tensor like = zeros({2}, DType::Float32);
  std::vector<Ref<Node>> nodes;
  for (int i = 0; i < 300; ++i) nodes.emplace_back(new Dummy(1 + static_cast<int>(rng() % 4), like));
  for (size_t i = 1; i < nodes.size(); ++i) ASSERT_GT(nodes[i]->sequence, nodes[i - 1]->sequence);

  ReadyQueue frontier;
  std::map<size_t, std::set<int>> model;  // number of the node -> outputs that a gradient has arrived at
  Ref<Node> node;
  TensorList grads;
  EXPECT_FALSE(frontier.pop(&node, &grads));
  for (int step = 0; step < 20000; ++step) {
    if (rng() % 3 && model.size() < 100) {
      const size_t n = rng() % nodes.size();
      const int output = static_cast<int>(rng() % static_cast<unsigned>(nodes[n]->num_outputs()));
      Tensor& slot = frontier.slot(nodes[n], output);
      ASSERT_EQ(slot.defined(), model[n].count(output) == 1);
      slot = like;
      model[n].insert(output);
    } else {
      const bool any = !model.empty();
      ASSERT_EQ(frontier.pop(&node, &grads), any);
      if (!any) continue;
      const auto newest = std::prev(model.end());
      ASSERT_EQ(node, nodes[newest->first]);
      ASSERT_EQ(grads.size(), static_cast<size_t>(node->num_outputs()));
      for (int i = 0; i < node->num_outputs(); ++i) {
        ASSERT_EQ(grads[static_cast<size_t>(i)].defined(), newest->second.count(i) == 1);
      }
      model.erase(newest);
    }
  }
  while (frontier.pop(&node, &grads)) model.erase(std::prev(model.end()));
  EXPECT_TRUE(model.empty());
  node = nullptr;
  grads.clear();
  for (const auto& n : nodes) ASSERT_EQ(n->use_count(), 1);  // the frontier holds none any more
  EXPECT_EQ(like.impl()->use_count(), 1);
}

TEST(ReadyQueue, LeavesComeAfterTheNodeThatFirstUsedThemInTheOrderOfTheirGradients) {
  Tensor a = zeros({2}, DType::Float32), b = zeros({2}, DType::Float32);
  for (Tensor* leaf : {&a, &b}) autograd_meta(*leaf).requires_grad = true;
  const Ref<Node> older(new Dummy(1, a)), node(new Dummy(1, a));
  for (const Tensor& leaf : {a, b}) node->add_edge(gradient_edge(leaf));
  const Ref<Node> newer(new Dummy(1, a));
  ReadyQueue queue;
  const Ref<Node> order[] = {newer, node, node->next[1].node, node->next[0].node, older};
  for (const int i : {2, 4, 1, 3, 0}) queue.slot(order[i], 0);
  Ref<Node> next;
  TensorList grads;
  for (const Ref<Node>& expected : order) {
    ASSERT_TRUE(queue.pop(&next, &grads));
    EXPECT_EQ(next, expected);
  }
}

}  // namespace
}  // namespace strided
