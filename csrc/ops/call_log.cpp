#include "ops/fuse/call_log.h"

#include <string>

#include "ops/copy.h"
#include "ops/index/index.h"

namespace strided {
namespace {
thread_local CallLog* log_of_thread = nullptr;
}

std::atomic<int> call_logs{0};
CallLog* current_call_log() { return log_of_thread; }

CallLogGuard::CallLogGuard(CallLog* log) : before_(log_of_thread) {
  log_of_thread = log;
  ++call_logs;
}
CallLogGuard::~CallLogGuard() {
  log_of_thread = before_;
  --call_logs;
}

const char* LoggedCall::name() const {
  switch (kind) {
    case Kind::Elementwise: return op->info->name;
    case Kind::Reduction: return reduction->info->name;
    case Kind::Where: return "where";
    case Kind::Cast: return "to";
  }
  __builtin_unreachable();
}

bool LoggedCall::reduces_by_row() const {
  if (kind != Kind::Reduction || is_complex(compute) || reduction->info->outputs != 1) return false;
  const Tensor& x = in[0].tensor;
  if (x.dtype() != compute || !x.is_contiguous()) return false;
  const std::string name = reduction->info->name;
  if (name == "amax" || name == "amin" || name == "all" || name == "any" || name == "count_nonzero") return true;
  const bool listed = name == "sum" || name == "mean" || name == "prod" || name == "var" || name == "std";
  return listed && (is_integral(compute) || size_of(compute) >= 4);
}

Tensor call_again(const LoggedCall& call, const Tensor* tensors) {
  std::vector<Operand> in;
  int k = 0;
  for (const LoggedCall::Value& v : call.in)
    if (v.is_tensor) in.emplace_back(tensors[k++]);
    else in.emplace_back(v.number);
  switch (call.kind) {
    case LoggedCall::Kind::Elementwise: return call_elementwise(*call.op, in.data(), call.params);
    case LoggedCall::Kind::Where: return where(*in[0].tensor, in[1], in[2]);
    case LoggedCall::Kind::Cast: return to_dtype(*in[0].tensor, call.compute);
    case LoggedCall::Kind::Reduction: {
      ReduceArguments arguments;
      arguments.keepdim = call.keepdim;
      arguments.param = call.params[0];
      if (call.listed) {
        arguments.dims = Dims();
        for (int i = 0; i < in[0].tensor->ndim(); ++i)
          if (call.axes >> i & 1) arguments.dims->push_back(i);
      }
      return reduced(*call.reduction, *in[0].tensor, arguments);
    }
  }
  __builtin_unreachable();
}

}  // namespace strided
