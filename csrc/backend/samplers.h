// Optional functions of a backend: random numbers of laws with parameters in tensors, drawn by rejection.
#pragma once

#include "backend/plans.h"
#include "core/device.h"
#include "core/dtype.h"

namespace strided {

// Null: the numbers are made of other random functions. All elements are contiguous and of the dtype.
struct Samplers {
  // to[i]: a number of the gamma law of rate 1 and this concentration; its logarithm, which is finite where the number
  // is too small for the dtype. Infinite for infinite concentrations, NaN for negative ones and NaN.
  void (*gamma)(const OpContext& on, DType dtype, void* to, const void* concentration, int64_t n, bool logarithm,
                RandomSource& source) = nullptr;
  // to[i]: how many of count[i] trials succeed, each with the probability. NaN for NaN.
  void (*binomial)(const OpContext& on, DType dtype, void* to, const void* count, const void* probability, int64_t n,
                   RandomSource& source) = nullptr;
};
// The table that the backend of a type of device fills.
extern Samplers sampler_tables[kNumDeviceTypes];
inline const Samplers& samplers(Device device) { return sampler_tables[static_cast<int>(device.type)]; }

}  // namespace strided
