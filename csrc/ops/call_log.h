// What is needed to run elementwise operations and reductions again: a log of calls, kept while somebody asks for it.
// strided.compile traces functions with it.
#pragma once

#include <atomic>
#include <vector>

#include "core/scalar.h"
#include "tensor/tensor.h"

namespace strided {

struct OpDef;
struct ReductionDef;

struct LoggedCall {
  enum class Kind : uint8_t { Elementwise, Reduction, Where, Cast };
  struct Value {
    Tensor tensor;
    Scalar number;
    bool is_tensor;

    explicit Value(const Tensor& t) : tensor(t), is_tensor(true) {}
    explicit Value(const Scalar& s) : number(s), is_tensor(false) {}
  };

  Kind kind = Kind::Elementwise;
  const OpDef* op = nullptr;    // Elementwise
  const OpDef* loop = nullptr;  // whose loop runs: another op's where that is simpler
  const ReductionDef* reduction = nullptr;
  DType compute = DType::Float32;  // the dtype of the loop
  std::vector<Value> in;
  double params[4] = {};
  uint64_t axes = 0;  // Reduction
  bool keepdim = false, listed = false;
  Tensor out;
  const char* obstacle = nullptr;  // why no program can hold it
};

// Thread-local; calls are logged while there is one. They are logged after they have run.
struct CallLog {
  std::vector<LoggedCall> calls;
  int64_t writes = 0;  // calls that wrote to an operand
};
extern std::atomic<int> call_logs;  // of all threads: what is looked at first
CallLog* current_call_log();
inline CallLog* call_log() { return call_logs.load(std::memory_order_relaxed) == 0 ? nullptr : current_call_log(); }

// Logs the calls of this thread; nested guards log to the innermost.
class CallLogGuard {
 public:
  explicit CallLogGuard(CallLog* log);  // null: nothing is logged
  ~CallLogGuard();
  CallLogGuard(const CallLogGuard&) = delete;

 private:
  CallLog* before_;
};

}  // namespace strided
