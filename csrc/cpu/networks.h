// The CPU's functions of networks (backend/network_plans.h), and their loops for each instruction set.
#pragma once

#include "backend/network_plans.h"

namespace strided {

// The pieces begin ... end - 1 of what is computed.
struct SamplingKernels {
  void (*taps)(const TapsPlan& plan, int64_t begin, int64_t end) = nullptr;      // outer positions
  void (*sample)(const SamplePlan& plan, int64_t begin, int64_t end) = nullptr;  // blocks of points, SamplePlan::kBlock
  void (*channels)(const ChannelsPlan& plan, int64_t begin, int64_t end) = nullptr;  // planes
};
extern SamplingKernels sampling_kernels[2];                                        // of float32, float64
extern void (*pool_kernels[2])(const PoolPlan& plan, int64_t begin, int64_t end);  // rows of outputs

extern void (*label_sums_kernels[2])(const LabelSumsPlan& plan, int64_t begin, int64_t end);  // sequences
struct PairLossKernels {                                                                      // of pieces
  void (*sums)(const PairLossPlan& plan, int64_t begin, int64_t end) = nullptr;
  void (*gradient)(const PairLossPlan& plan, int64_t begin, int64_t end) = nullptr;
};
extern PairLossKernels pair_loss_kernels[2];
struct GradientKernels {
  void (*softmax)(const SoftmaxGradientPlan& plan, int64_t begin, int64_t end) = nullptr;   // rows
  void (*channels)(const ChannelGradientPlan& plan, int64_t begin, int64_t end) = nullptr;  // channels
};
extern GradientKernels gradient_kernels[2];

namespace cpu {

#define X(name, Plan) void name(const Plan& plan);
STRIDED_NETWORK_FUNCTIONS(X)
#undef X

}  // namespace cpu
}  // namespace strided
