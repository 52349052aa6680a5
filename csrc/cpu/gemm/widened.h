// Products of 16-bit floats that are float32.
#pragma once

#include "cpu/kernels.h"

namespace strided {

struct WidenedProducts {
  GemmKernel single = nullptr;
  BatchedGemmKernel batched = nullptr;
};
// Of float16 and of bfloat16: those of the products that were chosen last.
extern WidenedProducts widened_products[2];

}  // namespace strided
