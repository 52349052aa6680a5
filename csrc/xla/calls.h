// Calls of slots, recorded as one node for each of their results.
#pragma once

#include <functional>
#include <type_traits>

#include "backend/backend.h"
#include "xla/memory.h"

namespace strided::xla {

struct CallTemplate;

// Note [Calls]
// Steps repeat their calls of slots. What a slot writes follows from its plan: sizes, strides, dtypes, and the places
// of its operands in their storages. A call is found by these numbers. The first such call runs the slot on parameters
// in the place of values, and keeps what it wrote. From then on a call is one node for each storage that it writes,
// whose operands are the values of storages and numbers; run() puts the operations in its place where a program is
// new. So a step that was compiled before costs neither its operations nor their texts.
class Call {
 public:
  // `form` is one address for each slot.
  Call(const void* form, int device) : words_(form), device_(device) {}
  Call& put(int64_t word) {
    words_.put(word);
    return *this;
  }
  Call& put(DType dtype) { return put(static_cast<int64_t>(index_of(dtype))); }
  Call& put(double number);
  Call& put(const int64_t* values, int n) {
    for (int i = 0; i < n; ++i) words_.put(values[i]);
    return *this;
  }
  Call& put(const char* text);
  Call& memory(const void* data, DType dtype);   // of the device, read as that dtype; null: none
  Call& number(const void* bytes, DType dtype);  // one element in host memory
  void record(const std::function<void()>& lower);

 private:
  static constexpr int kMost = 12;
  struct Found {
    Block* block;
    Value value;
  };
  CallTemplate* build(const std::function<void()>& lower) const;

  Words words_;
  int device_;
  bool too_many_ = false;
  int n_blocks_ = 0, n_numbers_ = 0;
  Found block_[kMost];
  struct {
    const void* bytes;
    Value value;
  } number_[kMost];
};

// The same values without calls: `order` is that of the outputs.
std::vector<Value> without_calls(const std::vector<Node*>& order, const std::vector<Node*>& outputs);

// Says what a slot is asked; false where it has nothing to do, or is not recorded as a call.
bool describe(Call& call, const LoopPlan& plan);
bool describe(Call& call, const LoopPlan& plan, int op, DType compute, const double* params);
bool describe(Call& call, const LoopPlan& plan, int64_t diagonal, bool keep_below);
bool describe(Call& call, const ReducePlan& plan, int op, DType compute);
bool describe(Call& call, const ScanPlan& plan, ScanOp op);
bool describe(Call& call, const IndexPlan& plan);
bool describe(Call& call, const IndexPlan& plan, ScatterOp op);
bool describe(Call& call, const GemmPlan& plan);
bool describe(Call& call, const JoinPlan& plan);

}  // namespace strided::xla
