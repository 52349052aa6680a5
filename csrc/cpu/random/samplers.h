// The CPU's samplers (backend/samplers.h).
#pragma once

#include "backend/samplers.h"

namespace strided::cpu {

void random_gamma(const OpContext& on, DType dtype, void* to, const void* concentration, int64_t n, bool logarithm,
                  RandomSource& source);
void random_binomial(const OpContext& on, DType dtype, void* to, const void* count, const void* probability, int64_t n,
                     RandomSource& source);

}  // namespace strided::cpu
