#include "ops/fuse/fused_program.h"

#include <algorithm>

#include "backend/backend.h"
#include "ops/call.h"
#include "ops/fuse/fused_builder.h"
#include "ops/fuse/logged_call.h"

namespace strided {

FusedProgram::FusedProgram(const std::vector<const LoggedCall*>& calls, const std::vector<Tensor>& inputs,
                           const std::vector<Tensor>& outputs) {
  for (const Tensor& t : inputs) inputs_.emplace_back(t);
  for (const Tensor& t : outputs) outputs_.emplace_back(t);
  std::vector<const TensorImpl*> known;
  for (const Tensor& t : inputs) known.push_back(t.impl());
  auto place_of = [&](const Tensor& t) {
    const auto at = std::find(known.rbegin(), known.rend(), t.impl());
    STRIDED_CHECK(at != known.rend(), RuntimeError, "a fused program reads a tensor that nothing in it makes");
    return static_cast<int>(known.rend() - at) - 1;
  };
  for (const LoggedCall* call : calls) {
    std::vector<int> reads;
    for (const LoggedCall::Value& v : call->in)
      if (v.is_tensor) reads.push_back(place_of(v.tensor));
    reads_.push_back(std::move(reads));
    known.push_back(call->out.impl());
    has_gradient_.push_back(!is_integral(call->out.dtype()));
    calls_.push_back(*call);
    for (LoggedCall::Value& v : calls_.back().in) v.tensor = Tensor();  // no memory is kept
    calls_.back().out = Tensor();
  }
  for (const Tensor& t : outputs) results_.push_back(place_of(t));
  FusedBuilder(this, calls, inputs, outputs).build();
}

bool FusedProgram::is_differentiable(int i, const std::vector<char>& wanted) const {
  std::vector<char> reached = wanted;
  for (size_t k = 0; k < calls_.size(); ++k) {
    bool any = false;
    for (int v : reads_[k]) any = any || reached[v];
    reached.push_back(any && has_gradient_[k]);
  }
  return reached[results_[i]];
}

std::vector<Tensor> FusedProgram::run_calls(const Tensor* inputs) const {
  std::vector<Tensor> values(inputs, inputs + inputs_.size());
  for (size_t i = 0; i < calls_.size(); ++i) {
    std::vector<Tensor> in;
    for (int k : reads_[i]) in.push_back(values[k]);
    values.push_back(call_again(calls_[i], in.data()));
  }
  std::vector<Tensor> out;
  for (int k : results_) out.push_back(values[k]);
  return out;
}

bool FusedProgram::fits(const Tensor* inputs) const {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (!inputs_[i].fits(inputs[i])) return false;
  return true;
}

std::vector<Tensor> FusedProgram::run(const Tensor* inputs) const {
  if (!is_fused()) return run_calls(inputs);
  for (size_t i = 0; i < inputs_.size(); ++i)
    STRIDED_CHECK(inputs_[i].fits(inputs[i]), RuntimeError, "a fused program was made for input ", i, " of dtype ",
                  inputs_[i].dtype, ", shape ", inputs_[i].shape, " and strides ", inputs_[i].strides, ", got ",
                  inputs[i].dtype(), ", ", inputs[i].shape(), " and ", inputs[i].strides());
  std::vector<Tensor> outputs;
  outputs.reserve(outputs_.size());
  for (const Spec& spec : outputs_)
    outputs.push_back(spec.contiguous ? empty(spec.shape, spec.dtype, spec.device)
                                      : empty_strided(spec.shape, spec.strides, spec.dtype, spec.device));
  FusedPlan plan;
  plan.name = "compiled function";
  const Device device = outputs_[0].device;
  plan.device = device.index;
  plan.ndim = shape_.ndim();
  plan.shape = shape_.data();
  plan.reduces_rows = reduces_rows_;
  plan.n_steps = static_cast<int>(steps_.size());
  plan.steps = steps_.data();
  plan.values = values_.data();
  FusedPlan::Memory memory[FusedPlan::kMostMemory];
  for (size_t k = 0; k < memory_.size(); ++k) {
    const Memory& m = memory_[k];
    memory[k] = {(m.output ? outputs[m.index] : inputs[m.index]).data(), m.strides.data()};
  }
  plan.memory = memory;
  plan.n_memory = static_cast<int>(memory_.size());
  plan.constants = constant_bytes_.data();
  plan.n_registers = n_registers_;
  plan.n_row_registers = n_row_registers_;
  plan.itemsize = itemsize_;
  if (whole_output_ >= 0) {
    plan.whole_out = outputs[whole_output_].data();
    plan.whole_op = whole_op_;
    plan.whole_dtype = whole_dtype_;
    plan.whole_param = whole_param_;
  }
  backend(device).fused_pointwise(plan);
  return outputs;
}

}  // namespace strided
