// Logged calls as one function of tensors: as a fused program where the device runs such (Note [Fused programs] in
// backend/fused_plan.h), else call by call.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/fused_plan.h"
#include "ops/call_log.h"

namespace strided {

struct FusedGradient;

class FusedProgram {
 public:
  // Every tensor that a call reads is among `inputs`, or the result of an earlier call; outputs are results of calls.
  // Layouts and dtypes are those of the tensors given. RuntimeError where a tensor comes from nowhere.
  FusedProgram(const std::vector<const LoggedCall*>& calls, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& outputs);

  // Not recorded for autograd. RuntimeError if an input has another dtype, layout or device than at first.
  std::vector<Tensor> run(const Tensor* inputs) const;
  // The calls one by one, recorded. Inputs of any layout.
  std::vector<Tensor> run_calls(const Tensor* inputs) const;

  // Whether these have the dtypes, layouts and devices that run() wants.
  bool fits(const Tensor* inputs) const;

  int n_inputs() const { return static_cast<int>(inputs_.size()); }
  int n_outputs() const { return static_cast<int>(outputs_.size()); }
  // Whether output i has a gradient for one of the inputs that are set in `wanted`.
  bool is_differentiable(int i, const std::vector<char>& wanted) const;
  int n_registers() const { return n_registers_ + n_row_registers_; }
  bool is_fused() const { return obstacle_.empty(); }
  const std::string& obstacle() const { return obstacle_; }  // why run() goes call by call
  const LoggedCall& call(size_t i) const { return calls_[i]; }
  size_t n_calls() const { return calls_.size(); }

  // Programs of its gradients, which csrc/autograd/fused_gradient.cpp makes and looks up.
  struct Gradients {
    std::mutex mutex;
    std::vector<std::shared_ptr<const FusedGradient>> made;
  };
  Gradients& gradients() const { return *gradients_; }

 private:
  friend class FusedBuilder;
  struct Spec {
    DType dtype;
    Device device;
    Dims shape, strides;
    bool contiguous;

    explicit Spec(const Tensor& t)
        : dtype(t.dtype()), device(t.device()), shape(t.shape()), strides(t.strides()), contiguous(t.is_contiguous()) {}
    bool fits(const Tensor& t) const {
      return t.dtype() == dtype && t.shape() == shape && t.strides() == strides && t.device() == device;
    }
  };
  struct Memory {
    bool output;
    int index;
    Dims strides;  // bytes, innermost first
  };

  std::shared_ptr<Gradients> gradients_ = std::make_shared<Gradients>();
  std::vector<Spec> inputs_, outputs_;
  // For run_calls: what the tensors of each call are, inputs first, then the results of calls.
  std::vector<LoggedCall> calls_;
  std::vector<std::vector<int>> reads_;
  std::vector<int> results_;
  std::vector<bool> has_gradient_;  // of the results of calls: floating or complex

  std::string obstacle_;
  Dims shape_;  // of the iteration, innermost first
  bool reduces_rows_ = false;
  std::vector<FusedPlan::Step> steps_;
  std::vector<FusedPlan::Value> values_;
  std::vector<Memory> memory_;
  std::vector<std::unique_ptr<Element>> constants_;
  std::vector<const char*> constant_bytes_;
  int n_registers_ = 0, n_row_registers_ = 0, itemsize_ = 1;
  int whole_output_ = -1, whole_op_ = 0;
  DType whole_dtype_ = DType::Float32;
  double whole_param_ = 0;
};

}  // namespace strided
