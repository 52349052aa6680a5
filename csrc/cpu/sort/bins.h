// Counting in bins, for each instruction set.
#pragma once

#include "backend/bins.h"

namespace strided {

// Adds the counts of elements begin ... end - 1, fewer than 2^31, to `counts`, which has room for one bin more.
using BinsKernel = void (*)(const BinsPlan& plan, int64_t begin, int64_t end, int64_t* counts);
struct BinsKernels {
  BinsKernel of_float = nullptr, of_float_in_double = nullptr, of_double = nullptr;
};
extern BinsKernels bins_kernels;

namespace cpu {

void count_in_bins(const BinsPlan& plan);

}  // namespace cpu

}  // namespace strided
