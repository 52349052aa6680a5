#include "ops/fuse/logged_call.h"

#include <string>
#include <vector>

#include "ops/call.h"
#include "ops/copy.h"
#include "ops/index/index.h"
#include "ops/reduce/reduction.h"

namespace strided {

const char* name_of(const LoggedCall& call) {
  switch (call.kind) {
    case LoggedCall::Kind::Elementwise: return call.op->info->name;
    case LoggedCall::Kind::Reduction: return call.reduction->info->name;
    case LoggedCall::Kind::Where: return "where";
    case LoggedCall::Kind::Cast: return "to";
  }
  __builtin_unreachable();
}

bool reduces_by_row(const LoggedCall& call) {
  const ReductionDef* reduction = call.reduction;
  if (call.kind != LoggedCall::Kind::Reduction || is_complex(call.compute) || reduction->info->outputs != 1)
    return false;
  const Tensor& x = call.in[0].tensor;
  if (x.dtype() != call.compute || !x.is_contiguous()) return false;
  const std::string name = reduction->info->name;
  if (name == "amax" || name == "amin" || name == "all" || name == "any" || name == "count_nonzero") return true;
  const bool listed = name == "sum" || name == "mean" || name == "prod" || name == "var" || name == "std";
  return listed && (is_integral(call.compute) || size_of(call.compute) >= 4);
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
