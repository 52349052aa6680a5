// The nodes that gradients have arrived at and that have not run yet, newest first. A leaf has the number of the first
// node that used it, and runs right after it; leaves of one number run in the order in which their last gradients
// arrived.
#pragma once

#include <algorithm>
#include <vector>

#include "tensor/graph.h"

namespace strided {

// A map from pointers to small integers: open addressing with linear probing, the first entries inside the object.
class PointerMap {
 public:
  // True if the key is new. Value 0 stands for absent.
  bool set(const void* key, int32_t value) {
    if (2 * (size_ + 1) > capacity()) grow();
    Entry& e = entry(key);
    const bool fresh = e.key == nullptr;
    e = {key, value};
    size_ += fresh;
    return fresh;
  }
  int32_t find(const void* key) { return entry(key).value; }
  // Entries that probing would no longer reach past the hole move up (Knuth, TAOCP 6.4, algorithm R).
  void erase(const void* key) {
    size_t hole = static_cast<size_t>(&entry(key) - table());
    for (size_t i = (hole + 1) & mask_; table()[i].key; i = (i + 1) & mask_) {
      const size_t home = hash(table()[i].key);
      if (((i - home) & mask_) < ((i - hole) & mask_)) continue;
      table()[hole] = table()[i];
      hole = i;
    }
    table()[hole] = {};
    --size_;
  }

 private:
  struct Entry {
    const void* key = nullptr;
    int32_t value = 0;
  };
  static constexpr size_t kInside = 16;
  size_t capacity() const { return mask_ + 1; }
  Entry* table() { return more_.empty() ? inside_ : more_.data(); }
  size_t hash(const void* key) const {
    return (reinterpret_cast<uintptr_t>(key) * 0x9E3779B97F4A7C15ull >> 32) & mask_;
  }
  Entry& entry(const void* key) {
    size_t i = hash(key);
    while (table()[i].key && table()[i].key != key) i = (i + 1) & mask_;
    return table()[i];
  }
  void grow() {
    std::vector<Entry> old = more_.empty() ? std::vector<Entry>(inside_, inside_ + kInside) : std::move(more_);
    more_ = std::vector<Entry>(2 * old.size());
    mask_ = more_.size() - 1;
    for (const Entry& e : old)
      if (e.key) entry(e.key) = e;
  }

  Entry inside_[kInside];
  std::vector<Entry> more_;
  size_t mask_ = kInside - 1, size_ = 0;
};

class ReadyQueue {
 public:
  // The incoming gradient `input` of a node, which joins the queue if it is not in it.
  Tensor& slot(const Ref<Node>& node, int input) {
    int32_t at = where_.find(node.get());
    if (at == 0) {
      if (free_.empty()) {
        waiting_.emplace_back();
        free_.push_back(static_cast<int32_t>(waiting_.size()));
      }
      at = free_.back();
      free_.pop_back();
      waiting_[at - 1].node = node;
      waiting_[at - 1].grads.resize(static_cast<size_t>(node->num_outputs()));
      where_.set(node.get(), at);
      const bool is_leaf = node->is_accumulator();
      waiting_[at - 1].is_leaf = is_leaf;
      push({node->sequence << 1 | !is_leaf, waiting_[at - 1].arrival = arrivals_++, at});
    } else if (waiting_[at - 1].is_leaf) {
      waiting_[at - 1].arrival = arrivals_++;
    }
    return waiting_[at - 1].grads[static_cast<size_t>(input)];
  }
  // Takes out the newest node. False when there is none.
  bool pop(Ref<Node>* node, TensorList* grads) {
    if (heap_.empty()) return false;
    Place first = pop_first();
    while (first.arrival != waiting_[first.at - 1].arrival) {  // later gradients arrived
      first.arrival = waiting_[first.at - 1].arrival;
      push(first);
      first = pop_first();
    }
    const int32_t at = first.at;
    Waiting& w = waiting_[at - 1];
    where_.erase(w.node.get());
    *node = std::move(w.node);
    *grads = std::move(w.grads);
    w.grads.clear();
    free_.push_back(at);
    return true;
  }

 private:
  struct Waiting {
    Ref<Node> node;
    TensorList grads;
    uint32_t arrival = 0;
    bool is_leaf = false;
  };
  std::vector<Waiting> waiting_;
  struct Place {
    uint64_t key;
    uint32_t arrival;
    int32_t at;
    bool operator<(const Place& other) const { return key != other.key ? key < other.key : arrival > other.arrival; }
  };
  void push(const Place& place) {
    heap_.push_back(place);
    std::push_heap(heap_.begin(), heap_.end());
  }
  Place pop_first() {
    std::pop_heap(heap_.begin(), heap_.end());
    const Place first = heap_.back();
    heap_.pop_back();
    return first;
  }
  std::vector<Place> heap_;
  uint32_t arrivals_ = 0;
  std::vector<int32_t> free_;
  PointerMap where_;  // node -> index in waiting_, plus one
};

}  // namespace strided
